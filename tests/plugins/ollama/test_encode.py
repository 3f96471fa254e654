"""A conversation becomes messages as the server takes them, tools what it reads of them."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.specs import ToolSpec

from tests.plugins.ollama.replies import ADD, CODEC, asked, body_of, call, called, payload, read, sent

USER = ChatMessage.user("Hello")


class TestMessages:
    def test_each_message_has_its_role_and_its_text(self) -> None:
        """In order, wherever instructions stand."""
        messages = (ChatMessage.system("Be brief."), USER, ChatMessage.assistant("Yes"), ChatMessage.system("Be kind."))

        assert sent(*messages, ChatMessage.user("")) == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Yes"},
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": ""},
        ]

    def test_an_assistant_turn_that_says_nothing_is_left_out(self) -> None:
        """Models take an empty one for an end."""
        assert [message["role"] for message in sent(USER, ChatMessage.assistant(""), USER)] == ["user", "user"]

    def test_a_conversation_of_nothing_is_refused(self) -> None:
        """The server would load the model and answer nothing."""
        with pytest.raises(InvalidValueError, match="no message to send"):
            CODEC.encode(asked(ChatMessage.assistant("")))

    def test_images_are_bare_base64(self) -> None:
        """Without the head of a data URL."""
        image = Attachment("image/PNG", b"x")

        assert sent(ChatMessage.user("What?", image, image)) == [
            {"role": "user", "content": "What?", "images": ["eA==", "eA=="]}
        ]

    @pytest.mark.parametrize(
        ("attachment", "message"),
        [
            (Attachment("application/pdf", b"x"), "no 'application/pdf' can be sent, only images"),
            (Attachment("image/png", url="https://host/a"), "attach the bytes"),
        ],
    )
    def test_other_files_are_refused_with_what_can_be_sent(self, attachment: Attachment, message: str) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidRequestError, match=message):
            CODEC.encode(asked(ChatMessage.user("What?", attachment)))


class TestCalls:
    def test_results_are_in_the_order_of_the_calls_and_name_their_tools(self) -> None:
        """The server knows no ids."""
        turn = called(("c", "add"), ("d", "mul"), content="So")
        results = [ChatMessage.tool_result("d", "two"), ChatMessage.tool_result("c", "one", is_error=True)]

        assert sent(USER, turn, *results)[1:] == [
            {"role": "assistant", "content": "So", "tool_calls": [call({"a": 1}), call({"a": 1}, "mul")]},
            {"role": "tool", "tool_name": "add", "content": "one"},
            {"role": "tool", "tool_name": "mul", "content": "two"},
        ]

    def test_arguments_that_are_none_are_shown_as_they_were(self) -> None:
        """In an object, for the server takes no text; names are made fit, in call and result alike."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "files.read", malformed='{"a": ')])

        [_, asking, result] = sent(USER, turn, ChatMessage.tool_result("c", "bad"))

        function = asking["tool_calls"][0]["function"]
        assert function["arguments"] == {"_raw": '{"a": '}
        assert function["name"] == result["tool_name"] != "files.read"

    def test_a_call_without_a_result_is_refused(self) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidValueError, match="have no result"):
            CODEC.encode(asked(USER, called(("c", "add"))))

    def test_thinking_goes_back_with_its_calls_and_to_nobody_else(self) -> None:
        """Another service's stays behind."""
        turn = read(payload(thinking="Hm.", tool_calls=[call({"a": 1})])).to_message()
        foreign = ChatMessage("assistant", "", tool_calls=turn.tool_calls, reasoning={"other": "Hm."})
        result = ChatMessage.tool_result(turn.tool_calls[0].id if turn.tool_calls else "", "2")

        assert sent(USER, turn, result)[1]["thinking"] == "Hm."
        assert "thinking" not in sent(USER, foreign, result)[1]
        assert "thinking" not in sent(USER, read(payload("Hi", thinking="Hm.")).to_message(), USER)[1]

    def test_results_at_the_end_stay_open(self) -> None:
        """More may follow, and their order is that of the calls."""
        results = [ChatMessage.tool_result(call_id, call_id) for call_id in ("d", "c")]
        messages = (USER, called(("c", "add"), ("d", "mul")), *results, ChatMessage.user("?"))

        assert [segment.closed for segment in CODEC.segments(messages[:4], 0)] == [True, True, False]
        assert all(segment.closed for segment in CODEC.segments(messages, 0))
        memo = Memo()
        for count in (1, 4, 5):
            request = asked(*messages[:count], tools=(ADD,))
            assert CODEC.encode(request, memo) == CODEC.encode(request)


class TestTools:
    def test_a_tool_is_declared_by_what_the_server_reads(self) -> None:
        """Other keywords of its root are dropped there."""
        tool = ToolSpec("f", "Do.", {**ADD.parameters, "additionalProperties": False, "title": "F"})

        assert body_of(asked(tools=(tool,)))["tools"] == [
            {"type": "function", "function": {"name": "f", "description": "Do.", "parameters": ADD.parameters}}
        ]

    def test_a_tool_without_parameters_has_an_empty_object(self) -> None:
        """Never a list, never nothing."""
        [tool] = body_of(asked(tools=(ToolSpec("now", "", {}),)))["tools"]

        assert tool["function"]["parameters"] == {"type": "object", "properties": {}}

    @pytest.mark.parametrize(
        ("schema", "told"),
        [
            ({"type": "integer", "minimum": 1, "description": "N"}, {"type": "integer", "description": "N"}),
            ({"type": ["string", "null"], "enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
            (
                {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
                {"type": ["string", "null"], "enum": ["a"]},
            ),
            ({"oneOf": [{"type": "string"}, {"type": "string"}]}, {"type": "string"}),
            ({"anyOf": [5]}, {}),
            ({"anyOf": 5}, {}),
            (True, {}),
            (
                {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
                {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
            ),
        ],
    )
    def test_a_parameter_is_told_in_words_the_server_reads(self, schema: Any, told: dict[str, Any]) -> None:
        """Several types as a list of them."""
        tool = ToolSpec("f", "", {"type": "object", "properties": {"p": schema}})

        assert body_of(asked(tools=(tool,)))["tools"][0]["function"]["parameters"]["properties"] == {"p": told}

    def test_fields_of_an_object_are_told_by_its_description(self) -> None:
        """The server has no keyword for them, and would not tell the model."""
        place = {
            "type": "object",
            "properties": {"x": {"type": "number"}},
            "required": ["x"],
            "description": "A place.",
        }
        tool = ToolSpec(
            "f",
            "",
            {
                "type": "object",
                "properties": {
                    "at": place,
                    "to": {"$ref": "#/$defs/P"},
                    "many": {"type": "object", "additionalProperties": {"type": "number"}},
                    "list": {"type": "array", "items": {"$ref": "#/$defs/P"}},
                },
                "$defs": {"P": place},
            },
        )  # fmt: skip

        parameters = body_of(asked(tools=(tool,)))["tools"][0]["function"]["parameters"]

        form = 'It has the JSON Schema {"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}'
        assert parameters["$defs"] == {"P": place}
        assert parameters["properties"] == {
            "at": {"type": "object", "description": f"A place. {form}"},
            "to": {"type": "object", "description": f"A place. {form}"},
            "many": {
                "type": "object",
                "description": 'It has the JSON Schema {"type":"object","additionalProperties":{"type":"number"}}',
            },
            "list": {
                "type": "array",
                "items": {"$ref": "#/$defs/P"},
                "description": 'It has the JSON Schema {"type":"array","items":{"$ref":"#/$defs/P"}}',
            },
        }

    def test_a_choice_of_none_is_said_by_offering_none(self) -> None:
        """The server has no field for it."""
        assert "tools" not in body_of(asked(tools=(ADD,), tool_choice="none"))
