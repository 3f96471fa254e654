"""
Bytes of a conversation that were encoded before: a round costs what is new.

A conversation only grows, yet every request carries all of it.  A memo keeps the encoded messages of one run and
one codec in a growing buffer.  Messages are compared by identity, since equality is too weak (``{"x": 1}`` equals
``{"x": True}``) and too dear.  A codec that merges messages says where a piece can no longer change.  What a message
is encoded as may depend on the model and on the provider's own options too: with others the memo begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import is_
from typing import TypeAlias, TypeVar

import attrs

from nr_llm.messages import ChatMessage
from nr_llm.requests import CompletionRequest

T = TypeVar("T")


@attrs.frozen
class Segment:
    """
    Encoded messages up to, not including, index `end`.

    Attributes:
        end: Index into the messages.
        data: JSON elements, joined by commas; may be empty.
        closed: Whether later messages leave these bytes as they are.
    """

    end: int
    data: bytes
    closed: bool = True


Segments: TypeAlias = Callable[[Sequence[ChatMessage], int], Iterator[Segment]]
"""A codec's `segments`."""


class Memo:
    """The memo of one run and one codec; not for use by two threads at once."""

    __slots__ = ("_buffer", "_marks", "_of", "_once", "_seen")

    def __init__(self) -> None:
        self._of: tuple[object, object] | None = None
        self._forget()

    def of(self, request: CompletionRequest) -> Memo:
        """Return this memo for a request of the run, emptied if another model or other options were asked before."""
        of = (request.model, request.options.provider_options)
        if self._of != of:
            self._of = of
            self._forget()
        return self

    def _forget(self) -> None:
        self._buffer = bytearray()
        self._seen: tuple[ChatMessage, ...] = ()
        self._marks: list[tuple[int, int]] = [(0, 0)]  # (messages, bytes) after each closed segment
        self._once: tuple[Sequence[object], object] | None = None

    def messages(self, messages: Sequence[ChatMessage], segments: Segments) -> bytes:
        """Return the messages as JSON elements joined by commas, encoding only what is new."""
        self._rewind(messages)
        tail = b""
        try:
            for segment in segments(messages, self._marks[-1][0]):
                if not segment.closed:
                    tail = _joined(tail, segment.data)
                    continue
                assert not tail, "a closed segment follows an open one"
                self._append(segment.data)
                self._marks.append((segment.end, len(self._buffer)))
        finally:  # what was marked is of these messages, also when a later one could not be encoded
            self._seen = tuple(messages)
        return _joined(bytes(self._buffer), tail)

    def _append(self, data: bytes) -> None:
        if self._buffer and data:
            self._buffer += b","
        self._buffer += data

    def _rewind(self, messages: Sequence[ChatMessage]) -> None:
        """Drop what no longer holds: what is no prefix of `messages`, and a piece whose next message has changed."""
        seen = self._seen
        if len(messages) >= len(seen) and all(map(is_, seen, messages)):
            return
        same = next(
            (i for i, pair in enumerate(zip(seen, messages, strict=False)) if pair[0] is not pair[1]), len(messages)
        )
        while self._marks[-1][0] >= same and len(self._marks) > 1:
            self._marks.pop()
        del self._buffer[self._marks[-1][1] :]

    def once(self, of: Sequence[object], make: Callable[[], T]) -> T:
        """Return ``make()``, or what it gave last time if what that is made `of` is the same objects."""
        if self._once is None or len(self._once[0]) != len(of) or not all(map(is_, self._once[0], of)):
            self._once = (of, make())
        return self._once[1]  # type: ignore[return-value]


def _joined(first: bytes, second: bytes) -> bytes:
    return first + b"," + second if first and second else first or second


def encode_messages(messages: Sequence[ChatMessage], segments: Segments, memo: Memo | None) -> bytes:
    """Return the messages as JSON elements joined by commas, through `memo` if there is one."""
    return (Memo() if memo is None else memo).messages(messages, segments)
