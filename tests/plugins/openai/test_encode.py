"""A request becomes the body that services take, and what the form cannot say is refused before it is sent."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import attrs
import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.specs import ToolSpec
from nr_llm_openai import COMPATIBLE, OPENAI, OpenAIOptions

from tests.plugins.openai.replies import ADD, CODEC, asked, body_of

TURN = ChatMessage.assistant_tool_calls([ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "add", {"a": 2})])
RESULTS = (ChatMessage.tool_result("c1", "1"), ChatMessage.tool_result("c2", "2"))


def test_a_conversation_in_all_roles() -> None:
    """Each role has its form, in order."""
    request = asked(
        ChatMessage.system("Be brief."), ChatMessage.user("1+1?"), TURN, *RESULTS, ChatMessage.assistant("3")
    )

    assert body_of(request) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "1+1?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}},
                    {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"a":2}'}},
                ],
            },
            {"role": "tool", "content": "1", "tool_call_id": "c1"},
            {"role": "tool", "content": "2", "tool_call_id": "c2"},
            {"role": "assistant", "content": "3"},
        ],
    }


def test_the_request_itself() -> None:
    """Method, address and headers; `messages` is the last field of the body."""
    codec = attrs.evolve(CODEC, headers=(("x-team", "blue"),))

    request = codec.encode(asked(tools=(ADD,), temperature=0.5, stream=True))

    assert (request.method, request.url, request.stream) == ("POST", "http://host/v1/chat/completions", True)
    assert request.headers == (("content-type", "application/json"), ("x-team", "blue"))
    assert request.body.endswith(b',"messages":[{"role":"user","content":"Hello"}]}')
    assert request.body.startswith(b'{"model":"m",')


class TestOptions:
    def test_what_is_not_set_is_not_sent(self) -> None:
        """A bare request has a model and messages."""
        assert body_of(asked()).keys() == {"model", "messages"}

    def test_what_is_set_is_sent(self) -> None:
        """Each option has its field."""
        body = body_of(
            asked(
                temperature=0.0,
                max_tokens=5,
                top_p=0.9,
                stop="END",
                seed=7,
                frequency_penalty=1,
                presence_penalty=-1,
                reasoning_effort="low",
            )
        )

        assert body == {
            "model": "m",
            "temperature": 0.0,
            "max_tokens": 5,
            "top_p": 0.9,
            "stop": ["END"],
            "seed": 7,
            "frequency_penalty": 1,
            "presence_penalty": -1,
            "reasoning_effort": "low",
            "messages": [{"role": "user", "content": "Hello"}],
        }

    @pytest.mark.lesson(86)
    def test_a_stream_asks_for_usage(self) -> None:
        """Unless the dialect says that the service cannot."""
        quiet = attrs.evolve(COMPATIBLE, stream_usage=False)

        assert body_of(asked(stream=True))["stream_options"] == {"include_usage": True}
        assert "stream_options" not in body_of(asked(stream=True), quiet)
        assert "stream" not in body_of(asked())

    @pytest.mark.parametrize("choice", ["auto", "none", "required"])
    def test_a_choice_of_tools_by_word(self, choice: str) -> None:
        """The three words are the form's own."""
        assert body_of(asked(tools=(ADD,), tool_choice=choice))["tool_choice"] == choice

    def test_a_choice_of_tools_by_name(self) -> None:
        """A name forces one tool, which must be on offer."""
        body = body_of(asked(tools=(ADD,), tool_choice="add", parallel_tool_calls=False))

        assert body["tool_choice"] == {"type": "function", "function": {"name": "add"}}
        assert body["parallel_tool_calls"] is False
        with pytest.raises(InvalidRequestError, match="'sub', a tool that is not offered"):
            body_of(asked(tools=(ADD,), tool_choice="sub"))

    def test_raw_fields_come_last_and_touch_neither_conversation_nor_transport(self) -> None:
        """`raw` wins over options, not over messages and the stream."""
        raw = {"temperature": 1, "top_k": 3, "messages": [], "stream": True, "stream_options": {}}
        body = body_of(asked(temperature=0.1, provider_options=OpenAIOptions(raw=raw)))

        assert body == {
            "model": "m",
            "temperature": 1,
            "top_k": 3,
            "messages": [{"role": "user", "content": "Hello"}],
        }

    def test_tools_of_the_service_replace_ours(self) -> None:
        """A raw field `tools` is sent once, as given."""
        own = OpenAIOptions(raw={"tools": [{"type": "web_search"}]})
        body = CODEC.encode(asked(tools=(ADD,), provider_options=own)).body

        assert body.count(b'"tools"') == 1
        assert b"web_search" in body


class TestReasoningModels:
    @pytest.mark.parametrize("model", ["o1", "o3-mini", "gpt-5", "gpt-5.1-mini"])
    def test_sampling_is_left_out_with_a_warning(self, caplog: pytest.LogCaptureFixture, model: str) -> None:
        """They refuse it; the log says so once for each model and setting."""
        request = asked(model=f"{model}-{uuid.uuid4()}", temperature=0.5, stop="x", max_tokens=3)
        with caplog.at_level(logging.WARNING, logger="nr_llm"):
            first, second = body_of(request, OPENAI), body_of(request, OPENAI)

        assert first == second
        assert first.keys() == {"model", "max_completion_tokens", "messages"}
        assert [record.getMessage().partition(" takes ")[2] for record in caplog.records] == [
            "no temperature; it is left out.",
            "no stop; it is left out.",
        ]

    @pytest.mark.parametrize(
        ("model", "dialect", "options"),
        [
            ("gpt-4o", OPENAI, {}),
            ("gpt-5-chat-latest", OPENAI, {}),
            ("gpt-5.1", OPENAI, {"reasoning_effort": "none"}),
            ("o1", COMPATIBLE, {}),
        ],
    )
    def test_sampling_stays_where_it_is_taken(self, model: str, dialect: Any, options: dict[str, Any]) -> None:
        """Chat models, models that do not reason now, and other servers."""
        assert body_of(asked(model=model, temperature=0.5, **options), dialect)["temperature"] == 0.5


class TestStructuredAnswers:
    def test_a_schema_without_optional_properties_is_enforced(self) -> None:
        """It is closed on the way, and named by its title."""
        schema = {
            "title": "Pet",
            "type": "object",
            "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
            "required": ["name", "tags"],
        }

        form = body_of(asked(response_schema=schema))["response_format"]

        assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == (
            "json_schema",
            "Pet",
            True,
        )
        assert form["json_schema"]["schema"]["additionalProperties"] is False

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {}}, "required": ["a"], "oneOf": [{}]},
            {
                "title": "not a name!",
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "object", "properties": {"b": {"type": "null"}}}]}},
                "required": ["a"],
            },
        ],
        ids=["optional", "unsupported", "optional-inside"],
    )
    def test_other_schemas_are_sent_as_they_are(self, schema: dict[str, Any]) -> None:
        """An enforced form would change what they mean."""
        form = body_of(asked(response_schema=schema))["response_format"]["json_schema"]

        assert form == {"name": "answer", "schema": schema, "strict": False}

    @pytest.mark.lesson(99)
    def test_a_dialect_without_strictness_enforces_nothing(self) -> None:
        """Neither answers nor tools."""
        loose = attrs.evolve(COMPATIBLE, strict=False)
        schema = {"type": "object", "properties": {}, "required": []}
        tool = ToolSpec("f", "", schema, strict=True)

        body = body_of(asked(tools=(tool,), response_schema=schema), loose)

        assert body["response_format"]["json_schema"]["strict"] is False
        assert "strict" not in body["tools"][0]["function"]

    def test_a_tool_may_refuse_strictness(self) -> None:
        """False is said as such."""
        tool = ToolSpec("f", "", {}, strict=False)

        assert body_of(asked(tools=(tool,)))["tools"][0]["function"]["strict"] is False


class TestAttachments:
    def test_each_kind_has_its_part(self) -> None:
        """Images by address or bytes, documents and sound by bytes, after the text."""
        message = ChatMessage.user(
            "Look.",
            Attachment("image/png", url="https://host/a.png"),
            Attachment("image/png", b"png"),
            Attachment("application/pdf", b"pdf", name="a.pdf"),
            Attachment("application/pdf", b"pdf"),
            Attachment("audio/wav", b"wav"),
        )

        assert body_of(asked(message))["messages"][0]["content"] == [
            {"type": "text", "text": "Look."},
            {"type": "image_url", "image_url": {"url": "https://host/a.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
            {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
            {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "wav"}},
        ]

    def test_a_message_may_be_attachments_alone(self) -> None:
        """No empty text part is sent."""
        message = ChatMessage.user("", Attachment("image/png", b"png"))

        assert [part["type"] for part in body_of(asked(message))["messages"][0]["content"]] == ["image_url"]

    @pytest.mark.parametrize(
        "attachment",
        [
            Attachment("application/pdf", url="https://host/a.pdf"),
            Attachment("audio/wav", url="https://host/a.wav"),
            Attachment("video/mp4", b"mp4"),
            Attachment("audio/flac", b"flac"),
        ],
        ids=lambda attachment: attachment.media_type + ("-address" if attachment.url else ""),
    )
    def test_what_the_form_has_no_part_for_is_refused(self, attachment: Attachment) -> None:
        """The error comes before anything is sent, and names the kind."""
        with pytest.raises(InvalidRequestError, match=attachment.media_type):
            body_of(asked(ChatMessage.user("Look.", attachment)))


class TestPairs:
    @pytest.mark.parametrize(
        ("messages", "path"),
        [
            ([ChatMessage.user("x"), RESULTS[0]], r"^messages\[1\]: answers 'c1'"),
            ([TURN, RESULTS[0]], r"^messages\[2\]: the calls 'c2' have no result"),
            ([TURN, *RESULTS, RESULTS[1]], r"^messages\[3\]: answers"),
            ([TURN, RESULTS[0], ChatMessage.user("x"), RESULTS[1]], r"^messages\[2\]: the calls 'c2' have no result"),
            ([TURN, TURN, *RESULTS], r"^messages\[1\]: the calls 'c1', 'c2' have no result"),
            (
                [ChatMessage.assistant_tool_calls([ToolCall("c", "a"), ToolCall("c", "b")])],
                r"^messages\[0\]: has two calls of one id",
            ),
        ],
        ids=["orphan", "unanswered", "answered-twice", "late", "two-turns", "one-id"],
    )
    def test_calls_and_answers_that_do_not_match_are_refused(self, messages: list[ChatMessage], path: str) -> None:
        """Every service refuses them; here the error says where, and nothing is sent."""
        with pytest.raises(InvalidValueError, match=path):
            CODEC.encode(asked(*messages))
        with pytest.raises(InvalidValueError, match=path):
            CODEC.encode(asked(*messages), Memo())

    def test_answers_may_come_in_any_order(self) -> None:
        """As long as they come before the next turn."""
        assert len(body_of(asked(TURN, *reversed(RESULTS)))["messages"]) == 3

    def test_a_memo_does_not_hide_a_mismatch(self) -> None:
        """A conversation that goes on wrongly after a good start is refused too."""
        memo = Memo()
        start = (ChatMessage.user("x"), TURN, *RESULTS)
        CODEC.encode(asked(*start), memo)

        with pytest.raises(InvalidValueError, match=r"messages\[4\]"):
            CODEC.encode(asked(*start, RESULTS[0]), memo)
        assert CODEC.encode(asked(*start), memo) == CODEC.encode(asked(*start))

    def test_no_message_is_no_request(self) -> None:
        """Nor is a conversation of empty turns."""
        for messages in ((), (ChatMessage.assistant(""),)):
            with pytest.raises(InvalidValueError, match="no message to send"):
                CODEC.encode(attrs.evolve(asked(), messages=messages))

    def test_a_turn_that_says_nothing_is_skipped(self) -> None:
        """Services refuse it; one with a refusal, or another extra, says something."""
        refusal = ChatMessage.from_wire({"role": "assistant", "content": "", "refusal": "No."})

        messages = body_of(asked(ChatMessage.user("a"), ChatMessage.assistant(""), refusal))["messages"]

        assert messages == [{"role": "user", "content": "a"}, {"role": "assistant", "content": "", "refusal": "No."}]

    def test_ids_are_kept_unless_the_service_bounds_them(self) -> None:
        """A long id of another service becomes a digest, the same for the call and its answer."""
        long_id = "gateway_" + "x" * 60
        turn = ChatMessage.assistant_tool_calls([ToolCall(long_id, "add"), ToolCall(long_id + "y", "add")])
        request = asked(turn, ChatMessage.tool_result(long_id, "1"), ChatMessage.tool_result(long_id + "y", "2"))

        ours, kept = body_of(request, OPENAI)["messages"], body_of(request)["messages"]

        ids = [call["id"] for call in ours[0]["tool_calls"]]
        assert ids == [message["tool_call_id"] for message in ours[1:]]
        assert len(set(ids)) == 2
        assert all(len(call_id) <= 40 for call_id in ids)
        assert kept[1]["tool_call_id"] == long_id


def test_unknown_keys_of_a_message_are_sent_unchanged() -> None:
    """What the caller put there is the caller's."""
    wire = {"role": "user", "content": "Hello", "name": "ann"}

    assert body_of(asked(ChatMessage.from_wire(wire)))["messages"] == [wire]


def test_tools_are_encoded_once_per_run() -> None:
    """The same tools give the same bytes from the memo."""
    memo, tools = Memo(), (ADD,)
    first, second = asked(tools=tools), asked(ChatMessage.user("Again"), tools=tools)

    assert CODEC.encode(first, memo) == CODEC.encode(first)
    assert CODEC.encode(second, memo) == CODEC.encode(second)
    other = asked(tools=(ToolSpec("other", "", {}),))
    assert CODEC.encode(other, memo) == CODEC.encode(other)


def test_what_else_a_request_says_is_encoded_anew_when_it_changes() -> None:
    """The memo of a run gives no bytes of another model, other options or tools, or a whole answer for a stream."""
    memo, plain = Memo(), asked(tools=(ADD,))
    changes: tuple[dict[str, Any], ...] = (
        {"options": Options(seed=7)},
        {"options": Options(tool_choice="required")},
        {"stream": True},
        {"model": "other"},
        {"tools": ()},
    )
    for change in changes:
        other = attrs.evolve(plain, **change)
        assert CODEC.encode(plain, memo) == CODEC.encode(plain)
        assert CODEC.encode(other, memo) == CODEC.encode(other) != CODEC.encode(plain)
