"""Gives each message of a run's record a number of its own, so that a request can say which of them it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

import attrs

from nr_llm._json import JSON
from nr_llm.messages import ChatMessage
from nr_llm.privacy import StepFilter
from nr_llm.records import TranscriptEntry


@attrs.define(eq=False)
class Entries:
    """The messages that a record adds to those kept before, each with its number."""

    known: dict[int, tuple[int, ChatMessage]]
    first: int
    filter: StepFilter
    new: list[TranscriptEntry] = attrs.field(factory=list)
    numbers: dict[int, tuple[int, ChatMessage]] = attrs.field(factory=dict)

    def number(self, message: ChatMessage, *, said: bool = True) -> int:
        """Return the number of a message, which is new if nobody knows it."""
        found = self.numbers.get(id(message)) or self.known.get(id(message))
        if found is not None:
            return found[0]
        number = self.first + len(self.new)
        self.new.append(TranscriptEntry(self.filter.kept(message), said))
        self.numbers[id(message)] = (number, message)  # with the message, whose identity is its name
        return number


def spans(numbers: Sequence[int]) -> list[JSON]:
    """Return numbers as ``[first, end]`` pairs, `end` not included; a conversation is one pair."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1][1] = number + 1
        else:
            found.append([number, number + 1])
    return [list(pair) for pair in found]


def common(before: Sequence[ChatMessage], now: Sequence[ChatMessage]) -> int:
    """Return how many messages two conversations share at their beginning, by identity."""
    if len(now) >= len(before) and all(map(is_, before, now)):
        return len(before)
    return next((i for i, pair in enumerate(zip(before, now, strict=False)) if pair[0] is not pair[1]), len(now))
