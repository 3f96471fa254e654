"""
What a run leaves behind, as plain values between the loop and whatever store keeps them.

A store decides nothing: the rules of a run's life are the guards of each `RunChange`, and a store applies a change
as one conditional update whose row count decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import attrs

from nr_llm._json import JSON
from nr_llm.actors import Actor
from nr_llm.privacy import PrivacyLevel, StepRecord
from nr_llm.responses import Usage
from nr_llm.state import RunState


class RunStatus(StrEnum):
    """What a run is doing; `TerminationReason` says why it ended."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_INPUT = "waiting_for_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether nothing follows."""
        return self in TERMINAL

    @property
    def waiting(self) -> bool:
        """Whether a person has to decide."""
        return self in WAITING


TERMINAL: Final = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})
WAITING: Final = frozenset({RunStatus.WAITING_FOR_APPROVAL, RunStatus.WAITING_FOR_INPUT})
OPEN: Final = frozenset(RunStatus) - TERMINAL
"""The statuses of a run that has not ended."""


@attrs.frozen(kw_only=True)
class RunHead:
    """
    What is known of a run when it begins, and does not change.

    Attributes:
        run_id: The run.
        model: ``provider:model``.
        configuration: The configuration it was run by, or None.
        actor: On whose behalf, or None.
        privacy: How much of it is kept.
        began: When, in seconds since 1970.
        continues: The run whose conversation it goes on with, or None.
        provenance: Which packages offered the model and the tools, in which version, with a digest of each schema.
        setting: The state, the tools and the window it began with, at level `full` alone: what a replay starts from.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    run_id: str
    model: str
    configuration: str | None = None
    actor: Actor | None = None
    privacy: PrivacyLevel = attrs.field(default=PrivacyLevel.METADATA, converter=PrivacyLevel)
    began: float = 0.0
    continues: str | None = None
    provenance: Mapping[str, JSON] = attrs.field(factory=dict)
    setting: Mapping[str, JSON] | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class RunTotals:
    """
    What a run has used so far.

    Attributes:
        rounds: Replies folded in.
        calls: Tool calls that were run.
        usage: Tokens.
        cost: What the model calls cost, as far as it is known.
        unpriced: Whether some of them cost what nobody knows.
        seconds: Time in model calls and tools.
        truncated: Whether the answer is missing or cut short.
    """

    rounds: int = 0
    calls: int = 0
    usage: Usage = attrs.field(factory=Usage)
    cost: Decimal = Decimal(0)
    unpriced: bool = False
    seconds: float = 0.0
    truncated: bool = False

    @classmethod
    def of(cls, state: RunState) -> RunTotals:
        """Return what a run has used so far."""
        return cls(
            rounds=state.rounds,
            calls=state.calls,
            usage=state.usage,
            cost=state.cost,
            unpriced=state.unpriced,
            seconds=state.seconds,
            truncated=state.ended and state.truncated,
        )

    def to_dict(self) -> dict[str, JSON]:
        """Return the totals as one JSON object; the cost is None where it is not known whole."""
        return {
            "rounds": self.rounds,
            "calls": self.calls,
            "usage": self.usage.to_dict(),
            "cost": None if self.unpriced else str(self.cost),
            "seconds": round(self.seconds, 3),
            "truncated": self.truncated,
        }


@attrs.frozen(kw_only=True)
class Checkpoint:
    """
    The live state of a run, unfiltered: what it needs to go on, and no longer kept once it has ended.

    Attributes:
        state: `RunState.to_json` without the messages.
        start: Messages before this index are kept already.
        messages: Those from `start` on.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    state: Mapping[str, Any] = attrs.field(repr=False)
    start: int = 0
    messages: tuple[Mapping[str, Any], ...] = attrs.field(default=(), repr=False)

    def load(self) -> RunState:
        """
        Return the state, of a checkpoint that holds all messages.

        Raises:
            InvalidValueError: It is no state; the text says where.
        """
        return RunState.from_json({**self.state, "messages": list(self.messages)})


@attrs.frozen
class TranscriptEntry:
    """
    A message as it may be kept.

    Attributes:
        message: The message, filtered.
        said: Whether it is part of the conversation; one that was only sent (a result cut to fit the window) is not.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    message: JSON = attrs.field(repr=False)
    said: bool = True


@attrs.frozen(kw_only=True)
class RunChange:
    """
    One step of a run's record, applied as a whole or not at all.

    Attributes:
        run_id: The run.
        at: When, in seconds since 1970.
        expect: Applies only to a run in one of these statuses.
        owner: Applies only to a run that this segment holds; None for any.
        expired: Applies only to a run whose lease has ended before this time; None for any.
        after_steps: Applies only to a run that has so many steps; None for any.
        unless_stopped: Applies only to a run that nobody asked to stop.
        status: What the run becomes; None to leave it as it is.  A terminal one wipes the live state and the claim.
        claim: The segment that holds it from now on; None to leave it, empty to give it up.
        lease: Until when; None to leave it.
        sequence: The number of the first of `steps`.
        steps: New steps, filtered.
        transcript_start: The number of the first of `transcript`.
        transcript: New messages, filtered.
        checkpoint: The live state, or None to leave it.
        totals: What was used so far, or None to leave it.
        reason: Why the run ended.
        error: Name of the error's class, never its text.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    run_id: str
    at: float
    expect: frozenset[RunStatus] = frozenset({RunStatus.RUNNING})
    owner: str | None = None
    expired: float | None = None
    after_steps: int | None = None
    unless_stopped: bool = False
    status: RunStatus | None = None
    claim: str | None = None
    lease: float | None = None
    sequence: int = 0
    steps: tuple[StepRecord, ...] = ()
    transcript_start: int = 0
    transcript: tuple[TranscriptEntry, ...] = ()
    checkpoint: Checkpoint | None = None
    totals: RunTotals | None = None
    reason: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class Written:
    """
    What became of a change.

    Attributes:
        applied: Whether it was applied.
        status: The run's status now, as text; None if there is no such run.
        stop: Whether somebody asked the run to stop.
        sequence: The number of the run's next step.
        transcript: The number of its next message.
    """

    applied: bool
    status: str | None = None
    stop: bool = False
    sequence: int = 0
    transcript: int = 0


@attrs.frozen(kw_only=True)
class StoredRun:
    """
    A run as a store knows it.

    Attributes:
        head: What it began with.
        raw_status: Its status, as stored.
        raw_reason: Why it ended, as stored; None while it goes on.
        error: Name of the class of the error that ended it, or None.
        totals: What it used.
        updated: When it last changed, in seconds since 1970.
        ended: When it ended, or None.
        owner: The segment that holds it, or None.
        lease: Until when, or None.
        stop: Whether somebody asked it to stop.
        steps: How many steps are kept.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    head: RunHead
    raw_status: str
    raw_reason: str | None = None
    error: str | None = None
    totals: RunTotals = attrs.field(factory=RunTotals)
    updated: float = 0.0
    ended: float | None = None
    owner: str | None = None
    lease: float | None = None
    stop: bool = False
    steps: int = 0

    @property
    def run_id(self) -> str:
        """The run."""
        return self.head.run_id

    @property
    def status(self) -> RunStatus | None:
        """Its status, or None for a word of a newer version."""
        return next((status for status in RunStatus if status == self.raw_status), None)

    def to_dict(self) -> dict[str, JSON]:
        """Return the run as JSON, without its live state."""
        head = self.head
        return {
            "run_id": head.run_id,
            "status": self.raw_status,
            "reason": self.raw_reason,
            "error": self.error,
            "model": head.model,
            "configuration": head.configuration,
            "actor": None if head.actor is None else head.actor.to_dict(),
            "privacy": str(head.privacy),
            "began": head.began,
            "updated": self.updated,
            "ended": self.ended,
            "continues": head.continues,
            **self.totals.to_dict(),
            "steps": self.steps,
            "stop_requested": self.stop,
            "provenance": dict(head.provenance),
        }


@attrs.frozen(kw_only=True)
class StoredStep:
    """
    A step as a store keeps it.

    Attributes:
        sequence: Its number in the run, from 0, without gaps.
        at: When it was kept, in seconds since 1970.
        step: The step.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    sequence: int
    at: float
    step: StepRecord

    def to_dict(self) -> dict[str, JSON]:
        """Return the step as one JSON object."""
        return {"sequence": self.sequence, "at": self.at, **self.step.to_dict()}
