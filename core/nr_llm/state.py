"""
Everything a run needs to go on, as one frozen value that survives as JSON.

Artifacts are not part of it and cannot be: they are for the trace, and a run that goes on does not need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

import attrs

from nr_llm._json import JSON, dump_value, load_value
from nr_llm._shown import shown
from nr_llm.limits import Limits
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.options import Options, member
from nr_llm.previews import CallPreview
from nr_llm.prices import Price
from nr_llm.privacy import PrivacyLevel
from nr_llm.responses import Usage


class TerminationReason(StrEnum):
    """Why a run ended; anything but `COMPLETED` means that the answer is not the whole one."""

    COMPLETED = "completed"
    MAX_ROUNDS = "max_rounds"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOKENS_EXHAUSTED = "tokens_exhausted"
    COST_EXHAUSTED = "cost_exhausted"
    TIME_EXHAUSTED = "time_exhausted"
    BYTES_EXHAUSTED = "bytes_exhausted"
    CALLS_EXHAUSTED = "calls_exhausted"
    ACTOR_BUDGET_EXHAUSTED = "actor_budget_exhausted"
    CONTEXT_OVERFLOW = "context_overflow"
    DRY_RUN = "dry_run"
    CANCELLED = "cancelled"
    FAILED = "failed"
    POLICY_DENIED = "policy_denied"
    APPROVAL_DENIED = "approval_denied"

    @property
    def budget(self) -> bool:
        """Whether a budget ran out: to go on takes a larger one."""
        return self.value.endswith("_exhausted")


class Verdict(StrEnum):
    """What a person said to a call that needs an approval."""

    UNASKED = "unasked"
    APPROVED = "approved"
    DENIED = "denied"


def _verdict(value: Verdict | str) -> Verdict:
    return member(Verdict, value, path="verdict")


def _reason(value: TerminationReason | str | None) -> TerminationReason | None:
    return None if value is None else member(TerminationReason, value, path="reason")


def _level(value: PrivacyLevel | str | None) -> PrivacyLevel | None:
    return None if value is None else member(PrivacyLevel, value, path="privacy")


@attrs.frozen(kw_only=True, repr=False)
class PendingCall:
    """
    A call of the current turn that has no answer yet.

    Attributes:
        index: Its place in the turn; ids may repeat, indices do not.
        call: What the model asked for.
        started: Whether it may have begun; set before a write, so that a crash cannot hide it.
        verdict: What a person said.
        edited: Whether a person has changed its arguments.
        form: JSON Schema of what a person has to fill in, once they were asked; else None.
        filled: Whether they have.
    """

    __hash__ = None  # type: ignore[assignment]  # holds a call
    __repr__ = shown

    index: int
    call: ToolCall
    started: bool = False
    verdict: Verdict = attrs.field(default=Verdict.UNASKED, converter=_verdict)
    edited: bool = False
    form: Mapping[str, JSON] | None = None
    filled: bool = False


@attrs.frozen(kw_only=True, repr=False)
class RunState:
    """
    A run between two effects.

    Attributes:
        run_id: The run.
        model: ``provider:model``.
        messages: The whole conversation so far.
        start: How many of `messages` were there when the run began.
        allowed: Names of the tools the run may use, or None when the host's default set was meant.
        options: What the caller set for model calls.
        limits: The run's bounds; they hold across resumes.
        rounds: Replies folded in that could have asked for tools.
        calls: Calls that were run.
        remote_calls: Those of them that worked elsewhere.
        closing: Whether the budget of calls left a turn nothing to run: the next request offers no tools.
        tool_bytes: UTF-8 bytes of all results of tools.
        usage: Tokens of all model calls.
        estimated_tokens: Tokens of those that nothing was reported of, estimated.
        price: What the model's tokens cost, or None if nobody knew when the run began.
        cost: What the model calls cost, as far as it is known.
        unpriced: Whether some of them cost what nobody knows.
        seconds: Time spent in effects.
        calibration: Factor by which token estimates were found too low.
        output: JSON Schema of the answer, where the run's answer has to have a form.
        answer_due: Whether nothing but that answer is left to ask for.
        repairs: How often an answer was handed back because it lacked that form.
        pending: Calls of the current turn without an answer, in the turn's order.
        previews: What those that wait for a person would do, as their tools said when the turn was held.
        answer: The final text, once there is one.
        reason: Why the run ended, or None while it goes on.
        configuration: Name of the configuration the run began with, or None.
        privacy: How much of the run may be kept at most, or None where nobody named a level.
        suspensions: How often the run has been held for a person.
        asked: Indices of the pending calls that a person is asked about.
    """

    __hash__ = None  # type: ignore[assignment]  # holds messages
    __repr__ = shown

    run_id: str
    model: str
    messages: tuple[ChatMessage, ...] = ()
    start: int = 0
    allowed: tuple[str, ...] | None = None
    options: Options = attrs.field(factory=Options)
    limits: Limits = attrs.field(factory=Limits)
    rounds: int = 0
    calls: int = 0
    remote_calls: int = 0
    closing: bool = False
    tool_bytes: int = 0
    usage: Usage = attrs.field(factory=Usage)
    estimated_tokens: int = 0
    price: Price | None = None
    cost: Decimal = Decimal(0)
    unpriced: bool = False
    seconds: float = attrs.field(default=0.0, eq=False)
    calibration: float = 1.15
    output: Mapping[str, JSON] | None = None
    answer_due: bool = False
    repairs: int = 0
    pending: tuple[PendingCall, ...] = ()
    previews: tuple[CallPreview, ...] = ()
    answer: str | None = None
    reason: TerminationReason | None = attrs.field(default=None, converter=_reason)
    configuration: str | None = None
    privacy: PrivacyLevel | None = attrs.field(default=None, converter=_level)
    suspensions: int = 0
    asked: tuple[int, ...] = ()

    @property
    def awaits_input(self) -> bool:
        """Whether a person is asked to fill in forms, as against to approve calls."""
        return any(p.form is not None and not p.filled for p in self.pending if p.index in self.asked)

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.reason is not None

    @property
    def truncated(self) -> bool:
        """Whether the answer is missing or cut short."""
        return self.reason not in (TerminationReason.COMPLETED, TerminationReason.DRY_RUN)

    def to_json(self) -> dict[str, JSON]:
        """Return the state as a JSON object, lossless."""
        return dump_value(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunState:
        """
        Read what `to_json` gave, in this or another process.

        Raises:
            InvalidValueError: The object is no run state; `path` says where.
        """
        state = load_value(value, cls)
        return attrs.evolve(state, previews=_own(state)) if state.previews else state


def _own(state: RunState) -> tuple[CallPreview, ...]:
    """Return the previews that are of a call they stand beside: one of another tool would speak for the wrong call."""
    named = {(pending.index, pending.call.name) for pending in state.pending}
    return tuple(preview for preview in state.previews if (preview.index, preview.tool) in named)
