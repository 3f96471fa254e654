"""Results of a turn are one piece of a request, everything else is a piece by itself, and no id comes twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm.codecs.turns import distinct, spans
from nr_llm.conversation import check_pairs
from nr_llm.messages import ChatMessage, ToolCall

TURN = ChatMessage.assistant_tool_calls([ToolCall("a", "f"), ToolCall("b", "f")])
RESULTS = (ChatMessage.tool_result("a", "1"), ChatMessage.tool_result("b", "2"))
MESSAGES = (ChatMessage.user("x"), TURN, *RESULTS, ChatMessage.assistant("y"))


def test_results_stand_together() -> None:
    """Each piece with its end; closed, since something follows them."""
    assert list(spans(MESSAGES, 0)) == [(0, 1, True), (1, 2, True), (2, 4, True), (4, 5, True)]
    assert list(spans(MESSAGES, 2)) == [(2, 4, True), (4, 5, True)]
    assert list(spans(MESSAGES, 5)) == []


def test_results_at_the_end_stay_open() -> None:
    """Others may join them."""
    assert list(spans(MESSAGES[:3], 1)) == [(1, 2, True), (2, 3, False)]
    assert list(spans(MESSAGES[:4], 2)) == [(2, 4, False)]


def turn(*ids: str) -> list[ChatMessage]:
    """Return a turn of calls and their results, the last first, each saying which call it answers."""
    calls = [ToolCall(call_id, "f", {"at": i}) for i, call_id in enumerate(ids)]
    results = [ChatMessage.tool_result(call_id, str(i)) for i, call_id in enumerate(ids)]
    return [ChatMessage.assistant_tool_calls(calls), *reversed(results)]


def ids_in(messages: Sequence[ChatMessage]) -> list[str]:
    """Return the ids of all calls."""
    return [call.id for message in messages for call in message.tool_calls or ()]


def paired(messages: Sequence[ChatMessage]) -> list[tuple[Any, str]]:
    """Return what each call was and what it was answered, in the order of the results."""
    check_pairs(messages)
    found: list[tuple[Any, str]] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        calls |= {call.id: call for call in message.tool_calls or ()}
        if message.tool_call_id is not None:
            found.append((calls[message.tool_call_id].arguments["at"], message.content))
    return found


def test_a_conversation_without_repeated_ids_stays_as_it_is() -> None:
    """The very object."""
    messages = [ChatMessage.user("x"), *turn("a", "b"), *turn("c")]

    assert all(distinct(messages, start) is messages for start in range(len(messages) + 1))


def test_repeated_ids_become_others_with_their_results() -> None:
    """The first keeps its own."""
    messages = [*turn("a", "b"), ChatMessage.user("x"), *turn("b", "c"), *turn("a", "b")]

    made = distinct(messages, 0)

    ids = ids_in(made)
    assert (ids[0], ids[1], ids[3]) == ("a", "b", "c")
    assert len(set(ids)) == len(ids)
    assert paired(made) == paired(messages)


@pytest.mark.parametrize("start", range(10))
def test_ids_are_the_same_wherever_one_begins(start: int) -> None:
    """Also between the results of a turn, and of a turn that repeats no id itself."""
    messages = [ChatMessage.user("x"), *turn("a", "b"), *turn("b", "c"), *turn("d"), ChatMessage.user("y")]

    assert list(distinct(messages, start))[start:] == list(distinct(messages, 0))[start:]


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True), max_size=5), st.data())
def test_what_follows_changes_no_id(turns: list[list[str]], data: st.DataObject) -> None:
    """And what is encoded piece by piece is what is encoded at once."""
    messages = [message for ids in turns for message in turn(*ids)]
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(messages))] * 2)))

    whole = list(distinct(messages, 0))

    assert len(set(ids_in(whole))) == len(ids_in(messages))
    assert paired(whole) == paired(messages)
    assert list(distinct(messages[:end], start))[start:] == whole[start:end]
