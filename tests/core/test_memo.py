"""Bytes that were encoded before are kept, and never differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import ChatMessage, CompletionRequest, Options, Role, ToolCall
from nr_llm._json import encode_bytes
from nr_llm.memo import Memo, Segment, encode_messages

from tests.core.test_messages import messages


def plain(sequence: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
    """One segment a message."""
    for i, message in enumerate(sequence[start:], start):
        yield Segment(i + 1, encode_bytes(message.to_wire()))


def merging(sequence: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
    """Merge runs of one role; the last run is open, system messages vanish."""
    i = start
    while i < len(sequence):
        end = i + 1
        while end < len(sequence) and sequence[end].role is sequence[i].role:
            end += 1
        vanishes = sequence[i].role is Role.SYSTEM
        data = b"" if vanishes else encode_bytes([m.content for m in sequence[i:end]])
        yield Segment(end, data, closed=end < len(sequence))
        i = end


def counting(segments, counts: list[int]):
    """Note how many messages are encoded."""

    def counted(sequence: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        counts.append(len(sequence) - start)
        return segments(sequence, start)

    return counted


def test_only_what_is_new_is_encoded() -> None:
    """A longer conversation costs its new messages."""
    counts: list[int] = []
    memo, history = Memo(), tuple(ChatMessage.user(str(n)) for n in range(5))
    for end in (2, 3, 5, 5):
        assert encode_messages(history[:end], plain, None) == memo.messages(history[:end], counting(plain, counts))

    assert [2, 1, 2, 0] == counts


def test_equal_messages_are_not_the_same() -> None:
    """Identity decides: ``1`` equals ``True`` and is encoded differently."""
    memo = Memo()
    one = (ChatMessage.assistant_tool_calls([ToolCall("c", "n", {"x": 1})]),)
    true = (ChatMessage.assistant_tool_calls([ToolCall("c", "n", {"x": True})]),)

    assert one == true
    assert memo.messages(one, plain) != memo.messages(true, plain)


@given(st.lists(messages, max_size=8), st.lists(st.integers(0, 8), max_size=6), st.booleans())
def test_with_and_without_memo_the_bytes_are_equal(pool: list[ChatMessage], cuts: list[int], merge: bool) -> None:
    """Whatever histories follow one another, a memo changes no byte."""
    memo, segments = Memo(), merging if merge else plain
    for i, cut in enumerate(cuts):
        history = tuple(pool[:cut]) + tuple(pool[cut + i % 2 :])

        assert encode_messages(history, segments, None) == memo.messages(history, segments)


def test_a_message_that_cannot_be_encoded_leaves_a_memo_that_holds() -> None:
    """After a failure half way, other messages in the same place are encoded as without a memo."""

    def refusing(sequence: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        for segment in plain(sequence, start):
            if sequence[segment.end - 1].content == "bad":
                raise ValueError("no")
            yield segment

    memo = Memo()
    with pytest.raises(ValueError, match="no"):
        memo.messages([ChatMessage.user(text) for text in ("a", "b", "bad")], refusing)
    others = [ChatMessage.user(text) for text in ("c", "d", "e")]

    assert encode_messages(others, plain, None) == memo.messages(others, plain)


def test_once() -> None:
    """A thing is made again when its key is another object."""
    memo, made = Memo(), []
    first, second = (1,), (2,)
    for key in (first, first, second, first):
        memo.once(key, lambda key=key: made.append(key))  # type: ignore[misc]

    assert [first, second, first] == made


def test_another_model_or_other_options_begin_anew() -> None:
    """What a message is encoded as may depend on both; on nothing else that a request says."""
    counts: list[int] = []
    memo, history = Memo(), (ChatMessage.user("a"), ChatMessage.user("b"))
    cached = Options(provider_options={"acme": {"cache": True}})
    asked = (
        ("one", Options()),
        ("one", Options(tool_choice="none")),
        ("two", Options()),
        ("two", cached),
        ("two", Options(provider_options={"acme": {"cache": True}}, seed=1)),
    )
    for model, options in asked:
        request = CompletionRequest(model=model, messages=history, options=options)
        memo.of(request).messages(history, counting(plain, counts))
        memo.once(history, lambda: counts.append(9))

    assert [2, 9, 0, 2, 9, 2, 9, 0] == counts
