"""
Gathers what a run's record does not hold yet, so that what happens in one go is one change of the store.

A round costs what is new: each message is kept once, and a request says by number which of them it was made of.
Numbers grow only when the store has taken a change, so a failed one leaves no gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from nr_llm._entries import Entries, common, spans
from nr_llm._json import dump_value
from nr_llm._leases import Lease
from nr_llm._live import LiveState
from nr_llm.messages import ChatMessage
from nr_llm.privacy import StepFilter, StepRecord
from nr_llm.records import Checkpoint, RunChange, RunTotals
from nr_llm.state import RunState
from nr_llm.steps import RunStep


@attrs.define(eq=False)
class Draft:
    """
    What the next change of one run's record will hold.

    Attributes:
        lease: What the run is held by.
        filter: What may be kept of it.
        sequence: The number of the next step, as far as the store has taken them.
        entries: The number of its next message.
    """

    lease: Lease
    filter: StepFilter
    sequence: int = attrs.field(default=0, init=False)
    entries: int = attrs.field(default=0, init=False)
    _added: list[tuple[RunStep | None, RunState]] = attrs.field(factory=list, init=False)
    _live: tuple[ChatMessage, ...] = attrs.field(default=(), init=False)
    _numbers: dict[int, tuple[int, ChatMessage]] = attrs.field(factory=dict, init=False)  # by identity
    _state: LiveState = attrs.field(factory=LiveState, init=False)

    def __bool__(self) -> bool:
        """Whether anything waits for the next change."""
        return bool(self._added)

    @property
    def latest(self) -> RunState | None:
        """The run as what waits for the next change left it; None if nothing does."""
        return self._added[-1][1] if self._added else None

    def add(self, step: RunStep | None, state: RunState) -> None:
        """Take in a step, if there is one; `state` is the run as it left it."""
        self._added.append((step, state))

    def forget(self) -> None:
        """Take nothing of what was added into the next change."""
        self._added = []

    def change(self, state: RunState, at: float) -> tuple[RunChange, Callable[[], None]]:
        """
        Return all that was added as one change, and what to call once it is kept; what is not is forgotten.

        Args:
            state: The run as it is now.
            at: The time, in seconds since 1970.
        """
        added, self._added = self._added, []
        entries, start = Entries(self._numbers, self.entries, self.filter), common(self._live, state.messages)
        steps = tuple([self._filtered(step, left, entries) for step, left in added if step is not None])
        self._number_said(state, entries)
        change = RunChange(
            run_id=self.lease.run_id,
            at=at,
            owner=self.lease.owner,
            lease=at + self.lease.seconds,
            sequence=self.sequence,
            steps=steps,
            transcript_start=self.entries,
            transcript=tuple(entries.new),
            checkpoint=Checkpoint(
                state=self._state.dump(state),
                start=start,
                messages=tuple([dump_value(message) for message in state.messages[start:]]),
            ),
            totals=RunTotals.of(state),
        )

        def done() -> None:
            self.sequence += len(steps)
            self.entries += len(entries.new)
            self._numbers.update(entries.numbers)
            self._live, self.lease.until = state.messages, at + self.lease.seconds

        return change, done

    def _number_said(self, state: RunState, entries: Entries) -> None:
        if self.filter.level.keeps_content:
            for message in state.messages[common(self._live, state.messages) :]:
                entries.number(message)

    def _filtered(self, step: RunStep, state: RunState, entries: Entries) -> StepRecord:
        sent = step.messages_sent
        if sent is None or not self.filter.level.keeps_content:
            return self.filter.record(step)
        self._number_said(state, entries)
        record = self.filter.record(attrs.evolve(step, messages_sent=None))
        numbers = [entries.number(message, said=False) for message in sent]
        return attrs.evolve(record, payload={**record.payload, "messages_sent": spans(numbers)})

    def whole(self, state: RunState) -> Checkpoint:
        """Return the live state of a run whose messages the store has."""
        return Checkpoint(state=self._state.dump(state), start=len(state.messages))

    def go_on(self, said: Iterable[int], state: RunState) -> None:
        """
        Go on with a record that is in the store.

        Args:
            said: The numbers of its messages that are part of the conversation.
            state: The run as it is now.
        """
        self._numbers = {id(message): (number, message) for number, message in zip(said, state.messages, strict=False)}
