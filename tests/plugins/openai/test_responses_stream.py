"""Events of a Responses stream: deltas as they come, one answer, honest ends."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import MalformedReplyError, RateLimitError, ServiceError, StreamInterruptedError
from nr_llm.events import ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.responses import FinishReason

from tests.plugins.openai.outputs import called, completed, happened, payload, read, refused, said, streamed, thought
from tests.plugins.openai.replies import event
from tests.plugins.told import calls_of, reasoning_of, text_of

OPENED = called("", status="in_progress")


def text(piece: str, place: int = 0) -> bytes:
    """Return a piece of text."""
    return happened("output_text.delta", output_index=place, item_id="msg_1", delta=piece)


def arguments(piece: str, place: int | None = 0, **more: Any) -> bytes:
    """Return a piece of arguments."""
    fields = {} if place is None else {"output_index": place}
    return happened("function_call_arguments.delta", delta=piece, **fields, **more)


def added(item: dict[str, Any], place: int | None = 0) -> bytes:
    """Return the beginning of an item."""
    return happened("output_item.added", item=item, **({} if place is None else {"output_index": place}))


def done(item: dict[str, Any], place: int | None = 0) -> bytes:
    """Return the end of an item."""
    return happened("output_item.done", item=item, **({} if place is None else {"output_index": place}))


def test_deltas_are_those_of_the_whole_answer() -> None:
    """Text, thinking and calls under keys of ours."""
    items = (thought("One."), said("Hi"), called())
    deltas, answer = streamed(
        happened("created", response=payload(status="in_progress")),
        added(thought(""), 0),
        happened("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="One."),
        done(items[0], 0),
        added(said(""), 1),
        text("H", 1),
        text("i", 1),
        text("", 1),
        done(items[1], 1),
        added(OPENED, 2),
        arguments('{"a"', 2),
        arguments(": 1}", 2),
        done(items[2], 2),
        completed(*items),
    )

    assert answer == read(*items)
    assert deltas == [
        ReasoningDelta("One."),
        TextDelta("H"),
        TextDelta("i"),
        ToolCallDelta("2", "add"),
        ToolCallDelta("2", None, '{"a"'),
        ToolCallDelta("2", None, ": 1}"),
    ]


def test_parts_of_thinking_stand_apart() -> None:
    """As in the whole answer."""
    item = thought("", summary=[{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}])
    deltas, answer = streamed(
        happened("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="One."),
        happened("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="Two."),
        completed(item, said("x")),
    )

    assert reasoning_of(deltas) == answer.reasoning == "One.\n\nTwo."


def test_the_finished_response_wins_where_deltas_were_lost() -> None:
    """Nothing is missing that it has."""
    _, answer = streamed(text("Hel"), completed(said("Hello"), called()))

    assert (answer.content, calls_of(answer)) == ("Hello", [("call_1", "add", {"a": 1}, None)])


@pytest.mark.parametrize("end", [completed(), happened("completed"), happened("done", response={"output": []})])
def test_an_end_without_items_leaves_what_was_streamed(end: bytes) -> None:
    """Whether the items came whole or in pieces only."""
    _, whole = streamed(added(OPENED), arguments('{"a": 1}'), done(called()), text("x", 1), done(said("xy"), 1), end)
    _, pieces = streamed(added(OPENED), arguments('{"a": 1}'), text("xy", 1), end)

    assert calls_of(whole) == calls_of(pieces) == [("call_1", "add", {"a": 1}, None)]
    assert whole.content == pieces.content == "xy"


@pytest.mark.parametrize(
    "events",
    [
        (added(OPENED), done(called())),
        (added(OPENED), happened("function_call_arguments.done", output_index=0, arguments='{"a": 1}')),
        (added(OPENED), arguments('{"a"'), done(called())),
        (
            added(OPENED),
            arguments('{"a"'),
            happened("function_call_arguments.done", output_index=0, arguments='{"a": 1}'),
        ),
        (done(called()),),
        (added(OPENED), arguments('{"a": 1}'), done(called(""))),
    ],
)
def test_arguments_that_lost_pieces_are_made_whole(events: tuple[bytes, ...]) -> None:
    """In the deltas as in the answer."""
    deltas, answer = streamed(*events, completed())

    assert "".join(delta.arguments for delta in deltas if isinstance(delta, ToolCallDelta)) == '{"a": 1}'
    assert calls_of(answer) == [("call_1", "add", {"a": 1}, None)]


def test_arguments_that_the_end_lost_are_those_of_the_pieces() -> None:
    """A call of the finished response that has none is not run without; one that has some keeps its own."""
    pieces = (added(OPENED), arguments('{"a": 1}'))
    other = called("", "call_2")

    assert calls_of(streamed(*pieces, completed(called("")))[1]) == [("call_1", "add", {"a": 1}, None)]
    assert calls_of(streamed(*pieces, completed(called('{"a": 2}')))[1]) == [("call_1", "add", {"a": 2}, None)]
    assert calls_of(streamed(*pieces, completed(other))[1]) == [("call_2", "add", {}, None)]


def test_text_that_lost_pieces_is_made_whole() -> None:
    """Unless it tells of something else than the pieces."""
    deltas, answer = streamed(text("Hel"), happened("output_text.done", output_index=0, text="Hello"), completed())
    other, _ = streamed(text("Hel"), happened("output_text.done", output_index=0, text="Bye"), completed())

    assert text_of(deltas) == answer.content == "Hello"
    assert text_of(other) == "Hel"


def test_calls_are_told_apart_without_places() -> None:
    """By the item's id, by the call's id where the finished item has lost its own."""
    first, second = called("", "c1"), called("", "c2")
    deltas, answer = streamed(
        added(first, None),
        added(second, None),
        arguments('{"a": 1}', None, item_id="fc_c1"),
        arguments('{"a": 2}', None, item_id="fc_c2"),
        done(called('{"a": 1}', "c1", id=None), None),
        completed(),
    )

    assert [(call_id, read_as) for call_id, _, read_as, _ in calls_of(answer)] == [("c1", {"a": 1}), ("c2", {"a": 2})]
    assert [delta.key for delta in deltas if isinstance(delta, ToolCallDelta)] == ["0", "1", "0", "1"]


def test_a_piece_that_names_nothing_goes_on_with_the_last_item() -> None:
    """There is no other it could belong to."""
    _, answer = streamed(added(OPENED, None), arguments('{"a": 1}', None), completed())

    assert calls_of(answer)[0][2] == {"a": 1}


def test_a_refusal_is_gathered_where_the_end_has_none() -> None:
    """And not doubled where an item has it."""
    piece = happened("refusal.delta", output_index=0, delta="No.")

    assert streamed(piece, completed())[1].refusal == "No."
    assert streamed(piece, done(refused("No.")), completed())[1].refusal == "No."
    assert streamed(text("x", 1), piece, completed())[1].refusal == "No."
    assert streamed(piece, completed(refused("No.")))[1].finish_reason is FinishReason.CONTENT_FILTER


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (
            happened("incomplete", response=payload(said("x"), incomplete_details={"reason": "max_output_tokens"})),
            FinishReason.LENGTH,
        ),
        (happened("incomplete"), FinishReason.OTHER),
    ],
)
def test_an_incomplete_answer_says_so(end: bytes, reason: FinishReason) -> None:
    """It is an answer, and no success."""
    answer = streamed(text("x"), end)[1]

    assert (answer.content, answer.finish_reason) == ("x", reason)


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    """The text until then is on the error."""
    with pytest.raises(StreamInterruptedError) as caught:
        streamed(text("Hel"))

    assert caught.value.partial == "Hel"


def test_a_stream_of_nothing_is_malformed() -> None:
    """An end alone is no answer."""
    with pytest.raises(MalformedReplyError, match="held no answer"):
        streamed(event("[DONE]"))


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (event({"type": "error", "code": "rate_limit_exceeded", "message": "Rate limit"}, "error"), RateLimitError),
        (event({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "x"}}), RateLimitError),
        (happened("failed", response=payload(error={"code": "server_error", "message": "x"})), ServiceError),
        (happened("failed"), ServiceError),
    ],
)
def test_failures_are_raised_at_once(failing: bytes, error: type[Exception]) -> None:
    """Later events are not awaited."""
    with pytest.raises(error):
        streamed(text("x"), failing, completed(said("x")))


def test_unknown_events_are_passed_over() -> None:
    """Pings, new kinds, events without a type."""
    deltas, answer = streamed(
        event({"type": "keepalive"}),
        event({"n": 1}),
        happened("new_thing.delta", delta="?", output_index=0),
        happened("in_progress", error=None),
        text("x"),
        completed(said("x")),
    )

    assert (text_of(deltas), answer.content) == ("x", "x")


def test_a_whole_reply_in_place_of_a_stream_is_read() -> None:
    """Some servers ignore the wish for one."""
    import json

    assert streamed(json.dumps(payload(said("x"))).encode())[1].content == "x"
