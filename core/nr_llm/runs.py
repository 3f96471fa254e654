"""How a run ends: with a result, or suspended until somebody decides."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from nr_llm._json import JSON
from nr_llm._shown import shown
from nr_llm.artifacts import ToolArtifact
from nr_llm.messages import ChatMessage
from nr_llm.previews import CallPreview
from nr_llm.prices import Price
from nr_llm.responses import Usage
from nr_llm.state import PendingCall, RunState, TerminationReason, Verdict


@attrs.frozen
class ToolInvocation:
    """
    One call of a run, run or refused.

    Attributes:
        name: The tool, as the model named it.
        arguments: Its arguments.
        content: What the model got to read.
        is_error: Whether the call failed.
        artifacts: What people get to see; empty for calls made before a resume, whose artifacts the store has.
    """

    __hash__ = None  # type: ignore[assignment]  # holds a mapping

    name: str
    arguments: Mapping[str, JSON]
    content: str
    is_error: bool
    artifacts: tuple[ToolArtifact, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True, repr=False)
class RunResult:
    """
    A finished run.

    Attributes:
        content: The answer; empty when the run ended without one.
        messages: The whole conversation, valid as the start of the next run.
        invocations: The calls, in order.
        usage: Tokens of all model calls.
        rounds: Model calls that could have asked for tools.
        reason: Why the run ended.
        truncated: Whether the answer is missing or cut short.
        run_id: The run.
        output: The answer as the value it is, where the run was given a form and came to an answer; else None.
        cost: What all model calls cost, or None where a part of it is not known.
        price: What that was figured with, currency and source included.
    """

    __hash__ = None  # type: ignore[assignment]  # holds messages
    __repr__ = shown

    content: str
    messages: tuple[ChatMessage, ...]
    invocations: tuple[ToolInvocation, ...]
    usage: Usage
    rounds: int
    reason: TerminationReason
    truncated: bool
    run_id: str
    output: Any = None
    cost: Decimal | None = None
    price: Price | None = None


@attrs.frozen
class Suspended:
    """
    A run that waits for a person; `Runtime.resume` goes on with it, in any process.

    Attributes:
        state: The run, free of artifacts; keep it with `state.to_json()`.
        waiting: The calls of the held turn that a person has to decide on.
    """

    __hash__ = None  # type: ignore[assignment]  # holds messages

    state: RunState
    waiting: tuple[PendingCall, ...] = ()

    @property
    def run_id(self) -> str:
        """The run."""
        return self.state.run_id

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls of the held turn, those that need no approval included."""
        return self.state.pending

    @property
    def previews(self) -> tuple[CallPreview, ...]:
        """What the waiting calls would do, as far as their tools say so."""
        return self.state.previews

    if not TYPE_CHECKING:  # pragma: no branch  # a checker tells on its own that a run may be suspended

        def __getattr__(self, name: str) -> Any:
            """Say why a result's attributes are missing; only names nobody has come here."""
            if name not in _RESULT:
                raise AttributeError(f"'Suspended' object has no attribute {name!r}")
            calls = ", ".join(dict.fromkeys(pending.call.name for pending in self.waiting))
            raise AttributeError(
                f"the run has no {name} yet, it waits for a person: look at `waiting` ({calls}) and go on with "
                "Runtime.resume; a run that does ends as a RunResult"
            )


_RESULT = frozenset(attrs.fields_dict(RunResult))


Outcome: TypeAlias = RunResult | Suspended
"""How a run, or a segment of it, ends."""


def decide(state: RunState, verdicts: Mapping[int, Verdict]) -> RunState:
    """Return `state` with what a person said to its pending calls, by index in the turn."""
    return attrs.evolve(
        state, pending=tuple(attrs.evolve(p, verdict=verdicts.get(p.index, p.verdict)) for p in state.pending)
    )
