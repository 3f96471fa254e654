"""Which bound of a run is used up, judged by its state alone, and what the model had written until then."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nr_llm.errors import BudgetExceededError
from nr_llm.messages import ChatMessage, Role
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, Usage
from nr_llm.specs import ToolSpec
from nr_llm.state import RunState, TerminationReason
from nr_llm.toolbox import Toolbox
from nr_llm.window import estimated


def exhausted(state: RunState) -> TerminationReason | None:
    """Return why the model may not be asked again, with tools or without, or None if it may."""
    limits = state.limits
    if limits.tokens is not None and _tokens(state) >= limits.tokens:
        return TerminationReason.TOKENS_EXHAUSTED
    if limits.cost is not None and (state.unpriced or state.cost >= limits.cost):
        return TerminationReason.COST_EXHAUSTED
    if limits.seconds is not None and state.seconds >= limits.seconds:
        return TerminationReason.TIME_EXHAUSTED
    if limits.tool_bytes is not None and state.tool_bytes >= limits.tool_bytes:
        return TerminationReason.BYTES_EXHAUSTED
    return None


def overdrawn(state: RunState, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> bool:
    """Return whether reading a request would by itself take more tokens than are left."""
    most = state.limits.tokens
    return most is not None and _tokens(state) + estimated(messages, tools) > most


def closing(state: RunState, toolbox: Toolbox) -> TerminationReason | None:
    """Return why the next request is the closing one, without tools, or None if it is not."""
    # A run without tools is one round, whatever the bound; only pauses of the model make it more.
    if state.rounds >= (state.limits.rounds if toolbox.offered else max(1, state.limits.rounds)):
        return TerminationReason.MAX_ROUNDS
    return TerminationReason.CALLS_EXHAUSTED if state.closing else None


def counted(state: RunState, request: CompletionRequest, reply: CompletionResponse) -> RunState:
    """
    Return `state`, a reply folded in, with what the reply means for its budgets.

    A turn of calls that come after the budget of calls was used up has nothing to run: the next request is the last.
    Tokens that nobody reported are estimated where they are bounded, or the bound would hold nobody.
    """
    state = _charged(state, reply.total_usage)
    most = state.limits.calls
    if state.pending and most is not None and state.calls >= most:
        state = attrs.evolve(state, closing=True)
    if state.limits.tokens is not None and reply.total_usage.total_tokens is None:
        tokens = estimated((*request.messages, reply.to_message()), request.tools)
        state = attrs.evolve(state, estimated_tokens=state.estimated_tokens + tokens)
    return state


def failed_call(state: RunState, usage: Usage | None) -> RunState:
    """Return `state` with what a model call used that failed, where the service told."""
    if usage is None or state.ended:
        return state
    return _charged(attrs.evolve(state, usage=state.usage + usage), usage)


def _charged(state: RunState, usage: Usage) -> RunState:
    cost = usage.cost(state.price)
    if cost is None and state.unpriced:
        return state
    return attrs.evolve(state, cost=state.cost + (cost or 0), unpriced=state.unpriced or cost is None)


def broken_off(state: RunState, error: BudgetExceededError) -> RunState:
    """Return `state` after a call that was not made, or broken off as time ran out, at a cost nobody knows."""
    if error.reason != TerminationReason.TIME_EXHAUSTED:
        return state
    return attrs.evolve(state, seconds=max(state.seconds, float(error.spent)), unpriced=True)


def last_text(state: RunState) -> str:
    """Return the last thing the model wrote in this run; empty if it wrote nothing."""
    turns = reversed(state.messages[state.start :])
    return next((turn.content for turn in turns if turn.role is Role.ASSISTANT and turn.content), "")


def _tokens(state: RunState) -> int:
    return (state.usage.total_tokens or 0) + state.estimated_tokens
