"""A streamed reply gives the same answer as a whole one, and its deltas add up to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.errors import (
    InvalidRequestError,
    MalformedReplyError,
    ProviderError,
    RateLimitError,
    ServiceError,
    StreamInterruptedError,
)
from nr_llm.events import ToolCallDelta
from nr_llm.messages import ChatMessage
from nr_llm.responses import FinishReason, Usage

from tests.plugins.anthropic.replies import (
    CODEC,
    SIGNED,
    START,
    asked,
    block,
    end,
    event,
    payload,
    read,
    said,
    streamed,
    streamed_with,
    text,
    turns_of,
    use,
    written,
)
from tests.plugins.told import calls_of, reasoning_of, text_of

PING = event("ping")
THOUGHT = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "H"},
    {"type": "thinking_delta", "thinking": "m."},
    {"type": "signature_delta", "signature": "c2"},
    {"type": "signature_delta", "signature": "ln"},
)


def test_a_stream_gives_what_the_whole_reply_gives() -> None:
    """Thinking with its signature, text, calls, counts, reason."""
    begun = text("H")
    body = START + PING + THOUGHT + block(1, begun, {"type": "text_delta", "text": "i"})
    body += written("", '{"a"', ": 1}", index=2) + end("tool_use", {"output_tokens": 3})
    deltas, answer = streamed_with(body)

    assert answer == read(payload(SIGNED, text("Hi"), use({"a": 1}), stop="tool_use"))
    assert (text_of(deltas), reasoning_of(deltas)) == ("Hi", "Hm.")
    assert [delta for delta in deltas if isinstance(delta, ToolCallDelta)] == [
        ToolCallDelta("2", "add"),
        ToolCallDelta("2", None, '{"a"'),
        ToolCallDelta("2", None, ": 1}"),
    ]


def test_it_is_the_same_at_every_cut() -> None:
    """And with the other line ends."""
    body = PING + START + THOUGHT + said("Hä", "llo", index=1) + written('{"a":', " 1}", index=2) + end("tool_use")
    whole = streamed(body)

    assert all(streamed(body[:i], body[i:]) == whole for i in range(1, len(body)))
    assert streamed(body.replace(b"\n", b"\r\n")) == whole


def test_the_payload_s_type_is_enough() -> None:
    """And so is the event's name."""
    body = START + said("Hi") + end()
    nameless = b"\n".join(line for line in body.split(b"\n") if not line.startswith(b"event:"))
    typeless = body.replace(b'"type": "message_stop"', b'"x": 1').replace(b'"type": "message_delta", ', b"")

    assert typeless.count(b'"type": "message_') == 1
    assert streamed(nameless) == streamed(typeless) == streamed(body)


@pytest.mark.parametrize("pieces", [(), ("",), ("", None, ""), (" ",)])
def test_a_call_without_input_has_none(pieces: tuple[Any, ...]) -> None:
    """An empty object, never an error."""
    assert calls_of(streamed(START + written(*pieces) + end("tool_use"))) == [("toolu_1", "add", {}, None)]


def test_an_input_given_at_the_start_counts_until_pieces_come() -> None:
    """Pieces replace it; the deltas hold it either way."""
    for pieces, arguments in ((), {"a": 1}), (('{"b": 2}',), {"b": 2}):
        deltas, answer = streamed_with(START + written(*pieces, begun=use({"a": 1})) + end("tool_use"))

        assert calls_of(answer) == [("toolu_1", "add", arguments, None)]
        told = "".join(delta.arguments for delta in deltas if isinstance(delta, ToolCallDelta))
        assert json.loads(told) == arguments


@pytest.mark.parametrize(
    ("pieces", "stop", "malformed", "reason"),
    [
        (('{"a": "ha',), "max_tokens", '{"a": "ha', FinishReason.LENGTH),
        ((), "max_tokens", "null", FinishReason.LENGTH),
        ((), "refusal", "null", FinishReason.TOOL_CALLS),
        (('{"a": 1}',), "max_tokens", None, FinishReason.TOOL_CALLS),
        (("[1]",), "tool_use", "[1]", FinishReason.TOOL_CALLS),
    ],
)
def test_a_cut_call_does_not_run(
    pieces: tuple[str, ...], stop: str, malformed: str | None, reason: FinishReason
) -> None:
    """It is kept as it came, and history stays one the service takes."""
    answer = streamed(START + THOUGHT + written(*pieces, index=1) + end(stop))

    assert [call[3] for call in calls_of(answer)] == [malformed]
    assert answer.finish_reason is reason
    turns = turns_of(ChatMessage.user("Hi"), answer.to_message(), ChatMessage.tool_result("toolu_1", "bad"))
    assert turns[1]["content"][1]["input"] == ({"a": 1} if malformed is None else {"_raw": malformed})


@pytest.mark.lesson(93, 101)
def test_blocks_may_be_interleaved() -> None:
    """Pieces go by number, in the order in which the blocks began."""
    start = [event("content_block_start", index=i, content_block=use(call_id=f"c{i}")) for i in (3, 1)]
    pieces = [
        event("content_block_delta", index=i, delta={"type": "input_json_delta", "partial_json": piece})
        for i, piece in ((1, '{"a"'), (3, '{"b"'), (1, ": 1}"), (3, ": 2}"))
    ]
    answer = streamed(START, *start, *pieces, end("tool_use"))

    assert [call[::2] for call in calls_of(answer)] == [("c3", {"b": 2}), ("c1", {"a": 1})]


@pytest.mark.parametrize("index", [None, 0, [], "x"])
def test_blocks_of_one_number_are_told_apart_by_their_beginning(index: Any) -> None:
    """Gateways number them badly."""
    body = START + written('{"a": 1}', index=index) + written('{"a": 2}', index=index, begun=use(call_id="c"))

    assert [call[2] for call in calls_of(streamed(body + end("tool_use")))] == [{"a": 1}, {"a": 2}]


def test_pieces_without_a_beginning_begin_their_block() -> None:
    """Text and thinking say by themselves what they are."""
    deltas = [
        event("content_block_delta", index=i, delta=delta)
        for i, delta in enumerate(
            [
                {"type": "thinking_delta", "thinking": "Hm"},
                {"type": "text_delta", "text": "Hi"},
                {"type": "input_json_delta", "partial_json": "{}"},
            ]
        )
    ]
    answer = streamed(START, *deltas, event("content_block_stop", index=9), end())

    assert (answer.content, answer.reasoning, answer.tool_calls) == ("Hi", "Hm", None)


def test_blocks_of_the_service_s_own_come_back_whole() -> None:
    """Inputs, citations, and what is to come."""
    cited = block(
        1,
        text("") | {"citations": None},
        {"type": "citations_delta", "citation": {"n": 1}},
        {"type": "citations_delta", "citation": {"n": 2}},
        {"type": "text_delta", "text": "So"},
    )
    odd = block(2, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "short"})
    server = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    bodies = START + written('{"q": "x"}', begun=server) + cited + odd + written("{", index=3, begun=server)
    answer = streamed(bodies + end())

    assert turns_of(ChatMessage.user("?"), answer.to_message())[1]["content"] == [
        server | {"input": {"q": "x"}},
        text("So") | {"citations": [{"n": 1}, {"n": 2}]},
        {"type": "compaction", "content": "short"},
        server,
    ]


def test_text_of_a_block_that_is_none_of_the_answer_is_no_delta() -> None:
    """Deltas add up to the answer."""
    deltas, answer = streamed_with(START + block(0, {"type": "odd", "text": "x"}) + said("Hi", index=1) + end())

    assert text_of(deltas) == answer.content == "Hi"


@pytest.mark.lesson(82)
def test_later_counts_replace_earlier_ones() -> None:
    """They grow; they are not added."""
    first = event("message_start", message=payload(usage={"input_tokens": 5, "cache_read_input_tokens": 7}))
    body = first + said("Hi") + end(usage={"output_tokens": 9, "input_tokens": None, "cache_read_input_tokens": 8})

    assert streamed(body).usage == Usage(13, 9, cached_tokens=8)


def test_a_refusal_in_a_stream_says_why() -> None:
    """The details come with the reason."""
    answer = streamed(START + end("refusal", stop_details={"explanation": "Not that."}))

    assert (answer.content, answer.refusal) == ("", "Not that.")


class TestEnd:
    @pytest.mark.parametrize("body", [b"", START, START + said("Hi"), PING + b"event: message_de"])
    def test_a_stream_that_breaks_off_is_no_success(self, body: bytes) -> None:
        """The error has the text until then, and can be retried."""
        with pytest.raises(StreamInterruptedError) as caught:
            streamed(body)

        assert caught.value.retryable
        assert caught.value.partial == ("Hi" if b"Hi" in body else "")

    def test_a_reason_is_end_enough(self) -> None:
        """Some gateways leave out the last event; nothing behind it counts."""
        body = START + said("Hi") + end()

        assert streamed(body.partition(b"event: message_stop")[0]).content == "Hi"
        assert streamed(body + said("more", index=1)).content == "Hi"

    @pytest.mark.parametrize("body", [event("message_stop"), end()])
    def test_an_end_without_a_beginning_is_no_answer(self, body: bytes) -> None:
        """It held none."""
        with pytest.raises(MalformedReplyError, match="held no answer"):
            streamed(body)

    def test_a_whole_reply_is_read_where_a_stream_was_asked_for(self) -> None:
        """Some servers ignore the wish."""
        assert streamed(json.dumps(payload(text("Hi"))).encode()).content == "Hi"


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "error", "retryable"),
        [
            ("overloaded_error", ServiceError, True),
            ("api_error", ServiceError, True),
            ("rate_limit_error", RateLimitError, True),
            ("invalid_request_error", InvalidRequestError, False),
        ],
    )
    def test_an_error_in_the_middle_is_typed(self, kind: str, error: type[ProviderError], retryable: bool) -> None:
        """Although the status said that all was well."""
        body = START + said("Hi") + event("error", error={"type": kind, "message": "No."})

        with pytest.raises(error, match=r"No\.") as caught:
            streamed(body)

        assert caught.value.retryable is retryable

    @pytest.mark.parametrize(
        "body",
        [
            b'data: {"error": "No."}\n\n',
            b'data: {"error": {"message": "No."}}\n\n',
            b'event: error\ndata: {"message": "No."}\n\n',
            b'event: error\ndata: "No."\n\n',
            b'data: {"type": "error", "message": "No."}\n\n',
        ],
    )
    def test_an_error_is_one_in_any_form(self, body: bytes) -> None:
        """Gateways have their own."""
        with pytest.raises(ServiceError, match=r"No\."):
            streamed(START + body)

    @pytest.mark.parametrize(
        "unknown",
        [PING, event("new_event", error=None), event("keepalive"), b": comment\n\n", b"event: x\ndata: 5\n\n"],
    )
    def test_events_nobody_knows_are_passed_over(self, unknown: bytes) -> None:
        """Wherever they come."""
        assert streamed(unknown + START + unknown + said("Hi") + unknown + end()).content == "Hi"

    def test_an_event_that_is_no_json_shows_what_came(self) -> None:
        """It is no answer."""
        with pytest.raises(MalformedReplyError, match=r"no JSON: '\{x'"):
            streamed(START + b"event: content_block_delta\ndata: {x\n\n")


def test_one_decoder_reads_one_reply() -> None:
    """Another one begins afresh."""
    request = asked()
    for _ in range(2):
        decoder = CODEC.decoder(request)
        decoder.feed(START + said("Hi") + end())
        assert decoder.finish().content == "Hi"
