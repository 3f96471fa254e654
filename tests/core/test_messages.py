"""Messages, calls and attachments, and their OpenAI form."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import Attachment, ChatMessage, InvalidValueError, Role, ToolCall
from nr_llm._json import decode, encode_bytes

CALL = ToolCall("c1", "count", {"status": "open"})


class TestConstruction:
    """Rules of the one message class."""

    def test_unknown_role(self) -> None:
        """Case 1: the error names the four roles."""
        with pytest.raises(InvalidValueError, match="system, user, assistant, tool") as caught:
            ChatMessage("robot", "x")
        assert "role" == caught.value.path

    def test_role_as_enum_or_string(self) -> None:
        """Case 2: both spellings give the enum, which is its string."""
        assert ChatMessage(Role.USER, "x") == ChatMessage("user", "x")
        assert "user" == ChatMessage("user", "x").role

    @pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER, Role.ASSISTANT])
    def test_empty_content(self, role: Role) -> None:
        """Case 3: content may be empty for every role."""
        assert "" == ChatMessage(role, "").content
        assert "" == ChatMessage.tool_result("c", "").content

    @pytest.mark.parametrize(
        ("fields", "path", "rule"),
        [
            ({"role": "user", "tool_calls": [CALL]}, "tool_calls", "only an assistant"),
            ({"role": "user", "tool_calls": []}, "tool_calls", "only an assistant"),
            ({"role": "assistant", "tool_calls": []}, "tool_calls", "must not be empty"),
            ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "tool_calls[0]", "must be a ToolCall, not a dict"),
            ({"role": "assistant", "tool_calls": "abc"}, "tool_calls", "must be a sequence"),
            ({"role": "assistant", "tool_calls": {CALL.id: CALL}}, "tool_calls", "must be a sequence"),
            ({"role": "assistant", "tool_call_id": "c"}, "tool_call_id", "only a tool message"),
            ({"role": "tool", "tool_call_id": ""}, "tool_call_id", "non-empty"),
            ({"role": "tool"}, "tool_call_id", "non-empty"),
            ({"role": "tool", "tool_call_id": 7}, "tool_call_id", "non-empty"),
            ({"role": "user", "is_error": True}, "is_error", "only a tool message"),
            ({"role": "assistant", "attachments": [Attachment("image/png", b"x")]}, "attachments", "only a user"),
            ({"role": "user", "attachments": ["x"]}, "attachments[0]", "must be an Attachment"),
            ({"role": "user", "reasoning": {"p": "t"}}, "reasoning", "only an assistant"),
            ({"role": "assistant", "reasoning": {"p": 1}}, "reasoning.p", "must be a string"),
            ({"role": "user", "provider_state": {"p": 1}}, "provider_state", "only an assistant"),
            ({"role": "assistant", "provider_state": {"p": {1}}}, "provider_state.p", "is no JSON value"),
            ({"role": "user", "extra": {"role": "x"}}, "extra", "have fields"),
            ({"role": "user", "content": None}, "content", "must be a string, not a NoneType"),
        ],
    )
    def test_refusals(self, fields: dict[str, Any], path: str, rule: str) -> None:
        """Cases 4 to 7: wrong combinations are refused where they are made, by path."""
        with pytest.raises(InvalidValueError) as caught:
            ChatMessage(**({"content": "x"} | fields))

        assert path == caught.value.path
        assert rule in str(caught.value)

    def test_calls_without_content(self) -> None:
        """Case 8: missing content beside calls is an empty text."""
        assert "" == ChatMessage.assistant_tool_calls([CALL]).content
        assert "t" == ChatMessage.assistant_tool_calls([CALL], "t").content

    def test_constructors(self) -> None:
        """Each role has a constructor."""
        image = Attachment("image/png", b"x")

        assert [Role.SYSTEM, Role.USER, Role.ASSISTANT] == [
            m.role for m in (ChatMessage.system("a"), ChatMessage.user("b", image), ChatMessage.assistant("c"))
        ]
        assert (image,) == ChatMessage.user("b", image).attachments
        assert ChatMessage.tool_result("c", "x", is_error=True).is_error

    def test_values_are_frozen_and_unhashable(self) -> None:
        """A message that holds mappings can be neither changed nor hashed."""
        message = ChatMessage.assistant_tool_calls([CALL])
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            message.content = "y"  # type: ignore[misc]
        for value in (message, CALL):
            with pytest.raises(TypeError, match="unhashable"):
                hash(value)
        assert message == copy.deepcopy(message) == pickle.loads(pickle.dumps(message))

    def test_what_goes_in_is_copied(self) -> None:
        """Changing what was passed in changes no message."""
        arguments = {"a": [1]}
        state = {"p": [1]}
        call = ToolCall("c", "n", arguments)
        message = ChatMessage("assistant", "", tool_calls=[call], provider_state=state)
        arguments["a"].append(2)
        state["p"].append(2)

        assert ({"a": [1]}, {"p": [1]}) == (call.arguments, message.provider_state)

    def test_text_is_made_valid(self) -> None:
        """Lone surrogates become visible replacements; pairs become their character."""
        assert "a\ufffdb" == ChatMessage.user("a\ud800b").content
        assert "\U0001f600" == ChatMessage.user("\ud83d\ude00").content
        assert {"k\ufffd": "v\ufffd"} == ToolCall("c", "n", {"k\udc00": "v\udc00"}).arguments


class TestWire:
    """The OpenAI-compatible form."""

    def test_calls(self) -> None:
        """Case 9: arguments are a JSON string, and there are no further keys."""
        assert {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "count", "arguments": '{"status":"open"}'}}
            ],
        } == ChatMessage.assistant_tool_calls([CALL]).to_wire()

    def test_no_arguments_are_an_object(self) -> None:
        """Case 10: no arguments are exactly ``{}``."""
        assert "{}" == ToolCall("c", "n").arguments_json == ToolCall("c", "n", {}, "broken").arguments_json

    def test_tool_result(self) -> None:
        """Case 11: a tool's turn has three keys; the error flag is no part of this form."""
        wire = {"role": "tool", "content": "12", "tool_call_id": "c1"}

        assert wire == ChatMessage.tool_result("c1", "12").to_wire()
        assert wire == ChatMessage.tool_result("c1", "12", is_error=True).to_wire()

    @pytest.mark.parametrize(
        "message",
        [
            ChatMessage.system("s"),
            ChatMessage.user("u"),
            ChatMessage.assistant("a"),
            ChatMessage.assistant_tool_calls([CALL, ToolCall("c2", "n")], "text"),
            ChatMessage.tool_result("c1", "r"),
            ChatMessage("user", "u", extra={"name": "me"}),
            ChatMessage.user(
                "look", Attachment("image/png", b"\x00\xff"), Attachment("application/pdf", b"%", name="a.pdf")
            ),
            ChatMessage.user("", Attachment("image/*", url="https://host/a.png"), Attachment("application/pdf", b"%")),
        ],
        ids=["system", "user", "assistant", "calls", "tool", "extra", "attachments", "address"],
    )
    def test_round_trip(self, message: ChatMessage) -> None:
        """Cases 12 and 15: written and read again, a message is the same, and so are its bytes."""
        wire = message.to_wire()

        assert message == ChatMessage.from_wire(wire)
        assert encode_bytes(wire) == encode_bytes(ChatMessage.from_wire(decode(encode_bytes(wire))).to_wire())  # type: ignore[arg-type]

    def test_plain_messages_have_two_keys(self) -> None:
        """Case 15: a plain message is exactly role and content."""
        assert {"role": "user", "content": "x"} == ChatMessage.user("x").to_wire()

    def test_null_content(self) -> None:
        """Case 13: null content is an empty text beside calls, and refused elsewhere."""
        calls = [CALL.to_wire()]

        assert "" == ChatMessage.from_wire({"role": "assistant", "content": None, "tool_calls": calls}).content
        assert "" == ChatMessage.from_wire({"role": "assistant", "tool_calls": calls}).content
        with pytest.raises(InvalidValueError, match="content: is missing"):
            ChatMessage.from_wire({"role": "assistant", "content": None})

    @pytest.mark.parametrize(
        ("wire", "text"),
        [
            ({"role": "assistant", "content": "", "tool_calls": "x"}, "tool_calls: must be a list"),
            ({"role": "assistant", "content": "", "tool_calls": ["x"]}, "tool_calls[0]: must be a mapping"),
            (
                {"role": "assistant", "content": "", "tool_calls": [{"id": "x"}]},
                "tool_calls[0]: name: must not be empty",
            ),
            ({"role": "tool", "content": "", "tool_call_id": 5}, "tool_call_id: must be a string"),
            ({"content": "x"}, "role: is missing"),
            ({"role": 5, "content": "x"}, "role: is missing"),
            ({"role": "user", "content": 5}, "content: must be a string or a list"),
            ({"role": "user", "content": ["x"]}, "content[0]: is no text"),
            ({"role": "user", "content": [{"type": "text"}]}, "content[0]: is no text"),
            ({"role": "user", "content": [{"type": "audio"}]}, "content[0]: is no text"),
            ({"role": "user", "content": [{"type": "image_url"}]}, "content[0]: has no address"),
            ({"role": "user", "content": [{"type": "file", "file": 5}]}, "content[0]: is no text"),
            ({"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,?"}]}, "no base64"),
            ({"role": "system", "content": [{"type": "image_url", "image_url": "https://h"}]}, "only a user message"),
            ("hi", "must be a mapping, not a str"),
        ],
    )
    def test_refusals(self, wire: Any, text: str) -> None:
        """Case 14: each malformed message is refused with a text of its own."""
        with pytest.raises(InvalidValueError) as caught:
            ChatMessage.from_wire(wire)

        assert text in str(caught.value)

    def test_call_objects_are_taken_beside_maps(self) -> None:
        """A message in OpenAI form may hold `ToolCall` objects."""
        assert (CALL,) == ChatMessage.from_wire({"role": "assistant", "tool_calls": [CALL]}).tool_calls

    def test_lists_of_text(self) -> None:
        """Text parts become one text; null keys and missing file names are nothing."""
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

        assert "a\nb" == ChatMessage.from_wire({"role": "user", "content": parts, "name": None}).content
        assert "ab" == ChatMessage.from_wire({"role": "assistant", "content": parts}).content
        read = ChatMessage.from_wire(
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:;base64,eA=="}}]}
        )
        assert (Attachment("application/octet-stream", b"x"),) == read.attachments

    def test_unknown_keys(self) -> None:
        """Unknown keys are kept and sent unchanged, or refused by name when asked to."""
        wire = {"role": "user", "content": "x", "name": "me", "refusal": None}

        assert {"role": "user", "content": "x", "name": "me"} == ChatMessage.from_wire(wire).to_wire()
        with pytest.raises(InvalidValueError, match="unknown keys 'name'"):
            ChatMessage.from_wire(wire, strict=True)


class TestToolCall:
    """Calls and their arguments."""

    @pytest.mark.parametrize("arguments", [None, "", "  \n", {}, "{}", '"{}"'])
    def test_nothing_is_no_arguments(self, arguments: Any) -> None:
        """Case 16: missing, empty and blank arguments are an empty object."""
        call = ToolCall.from_wire({"id": "c", "function": {"name": "n", "arguments": arguments}})

        assert ({}, None) == (call.arguments, call.malformed)

    @pytest.mark.parametrize("arguments", ["{", "5", '"x"', "[]", "null", '{"a":NaN}', "[" * 2000, "{}x"])
    def test_what_is_no_object_is_kept_as_malformed(self, arguments: str) -> None:
        """A text that is no JSON object is kept, so that a tool never runs on what the model did not send."""
        call = ToolCall.from_wire({"id": "c", "function": {"name": "n", "arguments": arguments}})

        assert ({}, arguments) == (call.arguments, call.malformed)
        assert "{}" == call.to_wire()["function"]["arguments"]  # type: ignore[index,call-overload]

    @pytest.mark.parametrize(("arguments", "kept"), [([1], "[1]"), (5, "5"), ({1}, "{1}"), ({"a": {1}}, "{'a': {1}}")])
    def test_decoded_values_that_are_no_object(self, arguments: Any, kept: str) -> None:
        """Decoded arguments of another type are shown as they were."""
        assert kept == ToolCall.from_wire({"id": "c", "function": {"name": "n", "arguments": arguments}}).malformed

    def test_decoded_arguments(self) -> None:
        """Case 17: a map is taken as it is; the dictionary form keeps it one."""
        call = ToolCall.from_wire({"id": "c", "function": {"name": "n", "arguments": {"a": 1}}})

        assert {"a": 1} == call.arguments
        assert {"id": "c", "type": "function", "function": {"name": "n", "arguments": {"a": 1}}} == call.to_dict()
        assert call == ToolCall.from_wire(call.to_dict()) == ToolCall.from_wire(call.to_wire())

    def test_control_characters_and_double_encoding(self) -> None:
        """Raw newlines inside strings are read, and a doubly encoded object is unwrapped once."""
        assert {"a": "x\ny"} == ToolCall.from_wire(
            {"id": "c", "function": {"name": "n", "arguments": '{"a":"x\ny"}'}}
        ).arguments
        assert {"a": 1} == ToolCall.from_wire(
            {"id": "c", "function": {"name": "n", "arguments": '"{\\"a\\":1}"'}}
        ).arguments

    def test_unusable_calls(self) -> None:
        """Case 18: a call without id or name raises, or is None where asked so."""
        with pytest.raises(InvalidValueError, match="id"):
            ToolCall.from_wire({})
        assert ToolCall.try_from_wire({"function": {"name": "n"}}) is None
        assert ToolCall.try_from_wire({"id": "c", "function": {"name": ""}}) is None
        assert ToolCall("c", "n") == ToolCall.try_from_wire({"id": "c", "function": {"name": "n"}})

    @pytest.mark.parametrize("arguments", [5, {"a": float("nan")}, {1: 2}])
    def test_arguments_must_be_a_json_object(self, arguments: Any) -> None:
        """In code, what is no JSON object is refused by path."""
        with pytest.raises(InvalidValueError, match=r"^arguments"):
            ToolCall("c", "n", arguments)


class TestAttachment:
    """Images and documents."""

    def test_data_url(self) -> None:
        """Bytes are sent inline, addresses as they are."""
        assert "data:image/png;base64,eA==" == Attachment("image/png", b"x").data_url
        assert "https://h/a" == Attachment("image/png", url="https://h/a").data_url

    def test_repr_has_no_data(self) -> None:
        """The bytes stay out of the repr."""
        assert "<3 bytes>" in repr(Attachment("image/png", b"abc"))
        assert "data=None" in repr(Attachment("image/png", url="https://h/a"))

    @pytest.mark.parametrize("fields", [{}, {"data": b"x", "url": "https://h"}, {"data": "text"}])
    def test_exactly_one_source(self, fields: dict[str, Any]) -> None:
        """Neither, both, or data that is no bytes is refused."""
        with pytest.raises(InvalidValueError, match="attachment"):
            Attachment("image/png", **fields)

    def test_media_type(self) -> None:
        """A word without a slash is no media type."""
        with pytest.raises(InvalidValueError, match="media_type"):
            Attachment("png", b"x")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(
    ToolCall, st.text(min_size=1), st.text(min_size=1), st.dictionaries(st.text(), json_values, max_size=3)
)
messages = st.one_of(
    st.builds(ChatMessage, st.sampled_from(["system", "user", "assistant"]), st.text()),
    st.builds(ChatMessage.assistant_tool_calls, st.lists(calls, min_size=1, max_size=3), st.text()),
    st.builds(ChatMessage.tool_result, st.text(min_size=1), st.text()),
)


@given(messages)
def test_wire_form_loses_nothing(message: ChatMessage) -> None:
    """Any message without side fields survives its wire form, through bytes."""
    assert message == ChatMessage.from_wire(decode(encode_bytes(message.to_wire())))  # type: ignore[arg-type]
