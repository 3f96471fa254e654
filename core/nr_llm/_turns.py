"""The pure pieces of a turn: folding a reply in, grouping its calls, refusing some, answering all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import attrs

from nr_llm._json import encode
from nr_llm._seam import admit
from nr_llm.bounds import bound_text
from nr_llm.effects import CallOutcome
from nr_llm.messages import ChatMessage, Role, ToolCall
from nr_llm.responses import CompletionResponse, FinishReason
from nr_llm.results import ToolResult
from nr_llm.runs import ToolInvocation
from nr_llm.state import PendingCall, RunState, TerminationReason, Verdict
from nr_llm.toolbox import Toolbox
from nr_llm.tools import ToolEffect

_REASONS = {
    FinishReason.LENGTH: TerminationReason.LENGTH,
    FinishReason.CONTENT_FILTER: TerminationReason.CONTENT_FILTER,
    FinishReason.ERROR: TerminationReason.FAILED,
}

Batch = tuple[PendingCall, ...]


def with_reply(
    state: RunState,
    reply: CompletionResponse,
    *,
    taken: set[str],
    offered: Collection[str],
    last: TerminationReason | None,
) -> RunState:
    """
    Return `state` with a reply folded in.

    Args:
        state: The run when the request was sent.
        reply: The answer.
        taken: Ids of all calls so far; those of the reply are added.
        offered: Names of the tools that the model might call.  Where it might call none, calls are no calls; nor
            are those of others in the closing request, or a model that calls them for ever would never be through.
        last: Why this was the closing request, if it was.
    """
    made = [call for call in reply.tool_calls or () if call.name in offered or (offered and not last)]
    calls = _unique(made, taken)
    content = reply.content or reply.refusal or ""
    turn = reply.to_message(content=content, tool_calls=calls)
    state = attrs.evolve(
        state,
        messages=(*state.messages, turn),
        usage=state.usage + reply.total_usage,
        seconds=state.seconds + reply.elapsed,
        rounds=state.rounds + (not last),
        pending=tuple(PendingCall(index=i, call=call) for i, call in enumerate(calls)),
    )
    if calls or (reply.finish_reason is FinishReason.PAUSE and not last):
        return state
    reason = last or _REASONS.get(reply.finish_reason, TerminationReason.COMPLETED)
    return attrs.evolve(state, answer=content, reason=reason)


def call_ids(messages: Sequence[ChatMessage]) -> set[str]:
    """Return the ids of all calls in a conversation."""
    return {call.id for message in messages for call in message.tool_calls or ()}


def _unique(calls: Sequence[ToolCall], taken: set[str]) -> tuple[ToolCall, ...]:
    """Give each call an id no other call of the conversation has; providers repeat, omit and invent ids."""
    unique = []
    for call in calls:
        if call.id in taken:
            call = attrs.evolve(call, id=next(name for name in _names(len(taken)) if name not in taken))
        taken.add(call.id)
        unique.append(call)
    return tuple(unique)


def _names(start: int) -> Iterator[str]:
    while True:
        start += 1
        yield f"call_{start}"


def batches(pending: Batch, toolbox: Toolbox) -> Iterator[Batch]:
    """Group the calls in their order: adjacent reads together, each write and exclusive call by itself."""

    def group(entry: PendingCall) -> int:
        tool = toolbox.get(entry.call.name)  # an unknown tool is no write: it will be refused
        return entry.index if tool is not None and tool.alone else -1

    for _, entries in groupby(pending, group):
        yield tuple(entries)


def held(state: RunState, toolbox: Toolbox) -> Batch:
    """Return the calls of the turn that wait for a person; a call that would be refused does not."""

    def waits(pending: PendingCall) -> bool:
        tool = toolbox.get(pending.call.name)
        if state.closing or tool is None or not tool.needs_approval:
            return False
        if pending.verdict is not Verdict.UNASKED or pending.started:
            return False
        return not isinstance(admit(pending.call, toolbox, limits=state.limits), ToolResult)

    return tuple(filter(waits, state.pending))


def asking(state: RunState, toolbox: Toolbox) -> Batch:
    """Return the calls of the turn that a person has to fill in a form for."""

    def asks(pending: PendingCall) -> bool:
        tool = toolbox.get(pending.call.name)
        if state.closing or tool is None or tool.form is None or pending.call.malformed is not None:
            return False
        return not (pending.filled or pending.started or pending.verdict is Verdict.DENIED)

    return tuple(filter(asks, state.pending))


def with_forms(state: RunState, batch: Batch, toolbox: Toolbox) -> RunState:
    """Return a run that is held for a person to fill in the forms of some calls."""
    forms = {p.index: tool.form for p in batch if (tool := toolbox.get(p.call.name)) is not None}
    pending = tuple(attrs.evolve(p, form=forms[p.index]) if p.index in forms else p for p in state.pending)
    return attrs.evolve(state, pending=pending, suspensions=state.suspensions + 1, asked=tuple(forms))


def screened(state: RunState, batch: Batch, toolbox: Toolbox) -> tuple[Batch, dict[int, CallOutcome]]:
    """Return the calls of a batch to be run, and the outcomes of those that are not, by index."""
    ready: list[PendingCall] = []
    refused: dict[int, CallOutcome] = {}
    remote = state.remote_calls
    for pending in batch:
        tool = toolbox.get(pending.call.name)
        if text := _refusal(pending, state, toolbox, ran=len(ready), remote=remote):
            refused[pending.index] = CallOutcome(ToolResult.error(text), executed=False)
            continue
        ready.append(pending)
        remote += tool is not None and tool.remote
    return tuple(ready), refused


def _refusal(pending: PendingCall, state: RunState, toolbox: Toolbox, *, ran: int, remote: int) -> str | None:
    limits, tool = state.limits, toolbox.get(pending.call.name)
    if pending.verdict is Verdict.DENIED:
        return declined(pending.call.name)
    if pending.started and tool is not None and tool.effect is ToolEffect.WRITE:
        return OUTCOME_UNKNOWN
    if pending.index >= limits.calls_per_turn:
        return f"Not executed: one turn may hold {limits.calls_per_turn} calls. Ask for the rest in the next turn."
    if limits.calls is not None and state.calls + ran >= limits.calls:
        return f"Not executed: the run's budget of {limits.calls} tool calls is used up. Answer with what you have."
    if limits.tool_bytes is not None and state.tool_bytes >= limits.tool_bytes:
        return f"Not executed: the run's budget of {limits.tool_bytes:,} bytes of results is used up."
    if tool is not None and tool.remote and remote >= limits.remote_calls:
        return f"Not executed: the run's budget of {limits.remote_calls} remote calls is used up. Go on without them."
    return None


def declined(name: str) -> str:
    """Return what the model reads about a call that a person declined."""
    return f"A person declined this call of {name!r}; it was not executed. Do not repeat it."


EDITED_BYTES = 1_000
"""Of arguments that a person changed the model reads so many bytes."""


def note_of(pending: PendingCall) -> str:
    """Return what stands before the result of a call whose arguments a person changed: what it is the result of."""
    arguments = bound_text(encode(dict(pending.call.arguments)), limit=EDITED_BYTES, noun="arguments")
    return f"A person changed the arguments of this call before it ran: {arguments}\n"


def with_note(pending: PendingCall, result: ToolResult) -> ToolResult:
    """Return the result of a call whose arguments a person changed, with a note of it."""
    text = note_of(pending) + result.content
    return ToolResult.error(text) if result.is_error else ToolResult.text(text, *result.artifacts)


OUTCOME_UNKNOWN = "The call was started and interrupted; its outcome is unknown. Do not repeat it without checking."
"""What the model reads about a call that had begun when the run stopped."""


def answered(
    state: RunState, batch: Sequence[PendingCall], outcomes: Mapping[int, CallOutcome], **changes: Any
) -> RunState:
    """
    Return `state` with calls answered: the one place where a result's content becomes a message.

    Args:
        state: The run.
        batch: The calls, in order.
        outcomes: What became of them, by index in the turn.
        **changes: Further fields to change.
    """
    turns = [
        ChatMessage.tool_result(
            pending.call.id, (result := outcomes[pending.index].result).content, is_error=result.is_error
        )
        for pending in batch
    ]
    done = {pending.index for pending in batch}
    rest = tuple(pending for pending in state.pending if pending.index not in done)
    previews = tuple(preview for preview in state.previews if preview.index not in done)
    return attrs.evolve(state, messages=(*state.messages, *turns), pending=rest, previews=previews, **changes)


def past_invocations(state: RunState) -> Iterator[ToolInvocation]:
    """Yield the calls a run has made before, read back from its messages; artifacts are not kept there."""
    calls: dict[str, ToolCall] = {}
    for message in state.messages[state.start :]:
        calls |= {call.id: call for call in message.tool_calls or ()}
        if message.role is Role.TOOL and (call := calls.get(message.tool_call_id or "")) is not None:
            yield ToolInvocation(call.name, call.arguments, message.content, message.is_error)
