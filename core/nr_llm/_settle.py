"""What is left of a run that stopped in the middle: a history in which every call has an answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nr_llm._turns import OUTCOME_UNKNOWN, answered
from nr_llm.effects import CallOutcome
from nr_llm.results import ToolResult
from nr_llm.state import PendingCall, RunState, TerminationReason


def settle(
    state: RunState,
    reason: TerminationReason,
    *,
    finished: Mapping[int, CallOutcome] | None = None,
    started: Collection[int] = (),
) -> RunState:
    """
    Return `state` ended, with each open call answered honestly.

    A call that finished gets its result, one that had started is of unknown outcome, and only one that had not is
    called not executed.

    Args:
        state: The last recorded state.
        reason: Why the run stopped.
        finished: Outcomes of the batch that was under way, by index in the turn.
        started: Indices of its calls that had begun.
    """
    if state.ended:
        return state
    known = finished or {}
    outcomes = {p.index: known.get(p.index) or _interrupted(p, reason, started) for p in state.pending}
    return answered(state, state.pending, outcomes, answer="", reason=reason)


def _interrupted(pending: PendingCall, reason: TerminationReason, started: Collection[int]) -> CallOutcome:
    if pending.started or pending.index in started:
        return CallOutcome(ToolResult.error(OUTCOME_UNKNOWN))
    return CallOutcome(ToolResult.error(f"Not executed: the run stopped before ({reason})."), executed=False)
