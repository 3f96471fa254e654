"""
The tool loop: a computation without I/O that asks a model, runs the calls it wants, and stops within bounds.

Why a generator.  A loop that calls models and tools itself comes in two colours, cannot be tested without a
network, and cannot be stopped and resumed.  This one only *says* what it wants: it yields an effect and is sent
the answer (`nr_llm.effects`).  A driver performs effects, in either colour; a test scripts the answers; a
durable engine keeps them.  The loop reads no clock, no randomness and no environment, so the same answers
always give the same run.

What survives.  A generator cannot be stored, so nothing that matters lives in its locals: everything is in one
frozen `RunState`, and each `Record` hands the driver a state that already holds what its step reports.  Three
rules follow, each bought with a bug in some earlier loop:

- *Fold first, then record.*  A store may raise while it records; what ran must be in the state by then.
- *The loop begins by finishing the pending turn.*  A fresh turn, a resumed one and one restarted after a crash are
  the same lines.
- *A run that has ended says so in its state.*  Restarting from the last checkpoint must not ask the model again.

How a turn runs.  The calls of a reply are run in batches, in the model's order: adjacent reads together, each
write and each exclusive call by itself, a record after each batch, so that a checkpoint lies between any two
writes.  Before a write a bare checkpoint marks it as started (the fence): if the process dies in between, nobody
will claim that it was not executed.

The trap for the next editor: never yield in a `finally`, and never catch what a driver throws in merely to go on.
On any exception the driver closes this generator and calls `settle`, which works on the last recorded state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nr_llm._answering import Answering
from nr_llm._budget import broken_off, closing, counted, exhausted, last_text, overdrawn
from nr_llm._json import JSON
from nr_llm._turns import (
    answered,
    asking,
    batches,
    call_ids,
    held,
    past_invocations,
    screened,
    with_forms,
    with_note,
    with_reply,
)
from nr_llm.bounds import bound_result
from nr_llm.effects import CallOutcome, Completer, Flow, Invoke, Preview, Record, ask, complete
from nr_llm.errors import BudgetExceededError
from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.prices import Price
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.runs import Outcome, RunResult, Suspended, ToolInvocation
from nr_llm.specs import ToolSpec
from nr_llm.state import PendingCall, RunState, TerminationReason
from nr_llm.steps import RunStep, StepKind
from nr_llm.toolbox import Toolbox
from nr_llm.window import ContextBudget, Window, calibrated


@attrs.frozen(kw_only=True, eq=False)
class Plan:
    """
    What a run is made with and does not change: rebuilt by the host on resume, so never part of the state.

    Attributes:
        toolbox: The tools it may use.
        completer: How it asks the model; middleware wraps `complete`.
        window: The model's context window, or None when unknown.
        model: The model's name as its provider knows it.
        stream: Whether answers are streamed.
        answering: The form the answer has to have, and the way to it; None for any text.
    """

    toolbox: Toolbox
    completer: Completer = complete
    window: Window | None = None
    model: str = ""
    stream: bool = False
    answering: Answering | None = None


def tool_loop(state: RunState, plan: Plan, invocations: list[ToolInvocation] | None = None) -> Flow[Outcome]:
    """
    Run a conversation until it ends or a person has to decide.

    Args:
        state: Where to begin: a new run, a checkpoint, or a suspended run with verdicts.
        plan: The tools and the model.
        invocations: Where to note the calls; a list of one's own survives when the loop is stopped.

    Returns:
        The result, or `Suspended`.
    """
    invocations = [] if invocations is None else invocations
    invocations.extend(past_invocations(state))
    taken = call_ids(state.messages)  # derived from the state, kept so that a round costs what is new
    if plan.toolbox.judged and not state.ended:
        yield from ask(Record(_policy_step(state.rounds, _judged(plan.toolbox)), state))
    while not state.ended:
        if state.pending:
            if waiting := held(state, plan.toolbox):
                indices = tuple(pending.index for pending in waiting)
                state = attrs.evolve(state, suspensions=state.suspensions + 1, asked=indices)
                state = yield from _previewed(state, waiting, plan.toolbox)
                yield from ask(Record(_approval_step(state, waiting), state))
                return Suspended(state, waiting)
            if waiting := asking(state, plan.toolbox):
                state = with_forms(state, waiting, plan.toolbox)
                yield from ask(Record(_input_step(state, waiting), state))
                return Suspended(state, tuple(p for p in state.pending if p.index in state.asked))
            state = yield from _finish_turn(state, plan.toolbox, invocations)
        elif reason := exhausted(state):
            state = yield from _ended(state, reason)
        else:
            state = yield from _next_reply(state, plan, taken)
    return result_of(state, invocations, plan.answering)


def dry_run(state: RunState, plan: Plan, invocations: Sequence[ToolInvocation] = ()) -> Flow[Outcome]:
    """Record what the first request would hold, and ask nobody."""
    tools, _ = _asked(state, plan, last=False)
    messages, _ = _fitted(state, plan, tools)
    names = tuple(tool.name for tool in tools)
    if plan.toolbox.judged:
        yield from ask(Record(_policy_step(0, _judged(plan.toolbox)), state))
    state = attrs.evolve(state, answer="", reason=TerminationReason.DRY_RUN)
    step = RunStep(kind=StepKind.ASSEMBLED, round=0, messages_sent=messages, tool_specs=names)
    yield from ask(Record(step, state))
    return result_of(state, invocations)


def result_of(state: RunState, invocations: Sequence[ToolInvocation], answering: Answering | None = None) -> RunResult:
    """Return the result an ended `state` stands for."""
    assert state.reason is not None
    return RunResult(
        content=state.answer or "",
        messages=state.messages,
        invocations=tuple(invocations),
        usage=state.usage,
        rounds=state.rounds,
        reason=state.reason,
        truncated=state.truncated,
        run_id=state.run_id,
        output=None if answering is None else answering.value(state),
        cost=None if state.unpriced else state.cost,
        price=state.price,
    )


def _ended(state: RunState, reason: TerminationReason, partial: str = "") -> Flow[RunState]:
    """End a run between two model calls, with what the model had written so far."""
    state = attrs.evolve(state, answer=(partial or last_text(state)) if reason.budget else "", reason=reason)
    yield from ask(Record(None, state))
    return state


def _next_reply(state: RunState, plan: Plan, taken: set[str]) -> Flow[RunState]:
    """Ask the model once and fold its reply in."""
    last = closing(state, plan.toolbox)
    tools, options = _asked(state, plan, last=bool(last))
    messages, budget = _fitted(state, plan, tools)
    withheld = () if tools else _withheld(messages, plan)
    if overdrawn(state, messages, tools):
        return (yield from _ended(state, TerminationReason.TOKENS_EXHAUSTED))
    number = state.rounds + 1
    if budget is not None:
        step = RunStep(kind=StepKind.CONTEXT, round=number, context_budget=attrs.asdict(budget))
        yield from ask(Record(step, state))
        if budget.remaining < 0:
            return (yield from _ended(state, TerminationReason.CONTEXT_OVERFLOW))
    request = CompletionRequest(
        model=plan.model,
        messages=messages,
        tools=tools,
        withheld=withheld,
        options=options,
        stream=plan.stream,
        run_id=state.run_id,
        demanding=plan.answering is None or not plan.answering.forces(options),
    )
    names = tuple(tool.name for tool in tools)
    yield from ask(
        Record(RunStep(kind=StepKind.REQUEST, round=number, messages_sent=messages, tool_specs=names), state)
    )
    try:
        reply = yield from plan.completer(request)
    except BudgetExceededError as error:  # found by the world, which knows clocks and ledgers
        return (yield from _ended(broken_off(state, error), TerminationReason(error.reason), error.partial))
    allowed = () if options.tool_choice == "none" else names
    state = with_reply(state, reply, taken=taken, offered=allowed, last=last)
    unfit = None
    if plan.answering is not None:
        state, unfit = plan.answering.judged(state, last=last)
    state = counted(state, request, reply)
    if budget is not None:
        factor = calibrated(state.calibration, observed=reply.usage.input_tokens, estimated=budget.estimated)
        state = attrs.evolve(state, calibration=factor)
    yield from ask(Record(_llm_step(number, reply, state.price), state))
    if unfit is not None:
        raise unfit
    return state


def _asked(state: RunState, plan: Plan, *, last: bool) -> tuple[tuple[ToolSpec, ...], Options]:
    """Return the tools and options of the next request; the closing one offers no tools but that of the answer."""
    tools: tuple[ToolSpec, ...] = () if last else plan.toolbox.specs
    options = _options(state, tools_offered=bool(tools))
    return (tools, options) if plan.answering is None else plan.answering.asked(tools, options, due=state.answer_due)


def _withheld(messages: Sequence[ChatMessage], plan: Plan) -> tuple[ToolSpec, ...]:
    """Return the tools to declare and not to offer: some services refuse calls of tools that nobody declares."""
    return plan.toolbox.specs if any(message.tool_calls for message in messages) else ()


def _fitted(
    state: RunState, plan: Plan, tools: tuple[ToolSpec, ...]
) -> tuple[tuple[ChatMessage, ...], ContextBudget | None]:
    if plan.window is None:
        return state.messages, None
    return plan.window.fit(state.messages, tools, calibration=state.calibration)


def _options(state: RunState, *, tools_offered: bool) -> Options:
    """Return the options of the next request: a forced choice of tool holds until a tool was called."""
    choice = state.options.tool_choice
    if choice in (None, "auto", "none") or (tools_offered and state.calls == 0):
        return state.options
    return attrs.evolve(state.options, tool_choice=None)


def _previewed(state: RunState, waiting: Sequence[PendingCall], toolbox: Toolbox) -> Flow[RunState]:
    """Have the tools of waiting calls say what these would do, as they see it now."""
    able = tuple(p for p in waiting if (tool := toolbox.get(p.call.name)) is not None and tool.preview is not None)
    previews = (yield from ask(Preview(able))) if able else ()
    return attrs.evolve(state, previews=previews)


def _finish_turn(state: RunState, toolbox: Toolbox, invocations: list[ToolInvocation]) -> Flow[RunState]:
    """Run the pending calls, batch by batch, and answer each."""
    state = attrs.evolve(state, asked=()) if state.asked else state
    for batch in batches(state.pending, toolbox):
        ready, refused = screened(state, batch, toolbox)
        if any(_is_write(pending, toolbox) for pending in ready):
            state = _started(state, ready)
            yield from ask(Record(None, state))
        outcomes = dict(refused)
        if ready:
            answers = yield from ask(Invoke(ready))
            outcomes |= {p.index: _bounded(p, answer) for p, answer in zip(ready, answers, strict=True)}
        state = _folded(state, batch, outcomes, toolbox)
        for pending in batch:
            outcome = outcomes[pending.index]
            invocations.append(_invocation(pending, outcome))
            if outcome.denial is not None:
                yield from ask(Record(_policy_step(state.rounds, (outcome.denial,)), state))
            yield from ask(Record(_tool_step(state.rounds, pending, outcome), state))
    return state


def _is_write(pending: PendingCall, toolbox: Toolbox) -> bool:
    tool = toolbox.get(pending.call.name)
    return tool is not None and tool.writes


def _started(state: RunState, ready: Sequence[PendingCall]) -> RunState:
    indices = {pending.index for pending in ready}
    pending = tuple(attrs.evolve(p, started=True) if p.index in indices else p for p in state.pending)
    return attrs.evolve(state, pending=pending)


def _bounded(pending: PendingCall, outcome: CallOutcome) -> CallOutcome:
    result = bound_result(with_note(pending, outcome.result) if pending.edited else outcome.result)
    return outcome if result is outcome.result else attrs.evolve(outcome, result=result)


def _folded(
    state: RunState, batch: Sequence[PendingCall], outcomes: dict[int, CallOutcome], toolbox: Toolbox
) -> RunState:
    """Answer a batch and count it."""
    ran = [p for p in batch if outcomes[p.index].executed]
    remote = sum(1 for p in ran if (tool := toolbox.get(p.call.name)) is not None and tool.remote)
    seconds = max((outcomes[p.index].seconds for p in batch), default=0.0)
    return answered(
        state,
        batch,
        outcomes,
        calls=state.calls + len(ran),
        remote_calls=state.remote_calls + remote,
        seconds=state.seconds + seconds,
        tool_bytes=state.tool_bytes + sum(len(outcomes[p.index].result.content.encode()) for p in ran),
    )


def _invocation(pending: PendingCall, outcome: CallOutcome) -> ToolInvocation:
    result = outcome.result
    return ToolInvocation(pending.call.name, pending.call.arguments, result.content, result.is_error, result.artifacts)


def _judged(toolbox: Toolbox) -> Sequence[Mapping[str, JSON]]:
    return [decision.to_dict() for decision in toolbox.judged]


def _policy_step(number: int, decisions: Sequence[Mapping[str, JSON]]) -> RunStep:
    return RunStep(kind=StepKind.POLICY, round=number, policy=tuple(decisions))


def _approval_step(state: RunState, waiting: Sequence[PendingCall]) -> RunStep:
    return RunStep(
        kind=StepKind.APPROVAL,
        round=state.rounds,
        requested_tool_calls=tuple(p.call for p in waiting),
        previews=state.previews or None,
    )


def _input_step(state: RunState, waiting: Sequence[PendingCall]) -> RunStep:
    return RunStep(kind=StepKind.INPUT, round=state.rounds, requested_tool_calls=tuple(p.call for p in waiting))


def _llm_step(number: int, reply: CompletionResponse, price: Price | None) -> RunStep:
    usage = reply.total_usage
    return RunStep(
        kind=StepKind.LLM,
        round=number,
        duration_ms=reply.elapsed * 1000,
        content=reply.content or reply.refusal or "",
        reasoning=reply.reasoning,
        finish_reason=str(reply.finish_reason),
        finish_detail=reply.finish_detail,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=usage.cost(price),
        attempts=reply.attempts if reply.attempts > 1 else None,
        requested_tool_calls=reply.tool_calls,
        raw=reply.raw,
    )


def _tool_step(number: int, pending: PendingCall, outcome: CallOutcome) -> RunStep:
    return RunStep(
        kind=StepKind.TOOL,
        round=number,
        duration_ms=outcome.seconds * 1000,
        tool_name=pending.call.name,
        tool_call_id=pending.call.id,
        tool_arguments=pending.call.arguments,
        tool_result=outcome.result.content,
        tool_is_error=outcome.result.is_error,
        tool_executed=outcome.executed,
        tool_artifacts=outcome.result.artifacts or None,
    )
