"""Who may decide on a stored run that waits, and what its record says of it: checked before anything changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nr_llm._json import JSON
from nr_llm.actors import Actor, ActorKind, Scope
from nr_llm.approvals import (
    Decision,
    NotPermittedError,
    NotWaitingError,
    SelfApprovalError,
    Submission,
    edited,
)
from nr_llm.configurations import Configuration
from nr_llm.errors import InvalidValueError, NrLlmError, RunNotFoundError, StoreError
from nr_llm.inputs import InvalidInputError, faults_of
from nr_llm.policy import PERSONAL
from nr_llm.records import RunStatus, StoredRun
from nr_llm.state import RunState
from nr_llm.steps import RunStep, StepKind
from nr_llm.stores import RunStore
from nr_llm.toolbox import Toolbox


@attrs.frozen
class Held:
    """A stored run that waits, and its state."""

    run: StoredRun
    state: RunState


def waiting_run(store: RunStore, run_id: str, *, by: Actor, status: RunStatus) -> Held:
    """
    Return a run that waits in a status.

    Raises:
        RunNotFoundError: There is none, or it is not for `by` to decide on: a stranger learns nothing of it.
        NotWaitingError: It waits for nobody.
        StoreError: Its state cannot be read.
    """
    run = store.run(run_id)
    if run is None or not by.may(Scope.APPROVE, owner=run.head.actor):
        raise RunNotFoundError(run_id)
    if run.status is not status:
        raise NotWaitingError(run_id, run.raw_status, wanted=str(status))
    return Held(run, live_state(store, run_id))


def live_state(store: RunStore, run_id: str) -> RunState:
    """
    Return the live state of a run.

    Raises:
        StoreError: It is not there, or cannot be read.
    """
    live = store.live(run_id)
    if live is None:
        raise StoreError(f"The state of run {run_id} is not in the store.")
    try:
        return live.load()
    except NrLlmError as error:
        raise StoreError(f"The state of run {run_id} cannot be read: {type(error).__name__}.") from error


def check_decider(held: Held, decisions: Sequence[Decision], *, by: Actor, configuration: Configuration | None) -> None:
    """
    Refuse whoever began a run and approves it alone, where its configuration wants another.

    Raises:
        SelfApprovalError: So it is; an administrator is no exception, and denying is always open.
    """
    wanted = configuration is not None and configuration.four_eyes
    if wanted and any(decision.approve for decision in decisions) and by.began(held.run.head.actor):
        raise SelfApprovalError(held.run.run_id)


def check_filler(
    held: Held, submissions: Sequence[Submission], *, by: Actor, tools: Toolbox, configuration: Configuration | None
) -> None:
    """
    Refuse whoever began a run and lets it write by filling in a form alone, where its configuration wants another.

    Raises:
        SelfApprovalError: So it is; a form of a read, and declining, are open to them.
    """
    if configuration is None or not configuration.four_eyes or not by.began(held.run.head.actor):
        return
    names = {pending.index: pending.call.name for pending in held.state.pending}
    for submission in submissions:
        tool = tools.registered.get(names[submission.index])
        if submission.values is not None and tool is not None and tool.writes:
            raise SelfApprovalError(held.run.run_id)


def permit_writes(held: Held, decisions: Sequence[Decision], *, by: Actor, tools: Toolbox) -> None:
    """
    Refuse whoever approves a write that they could not make themselves.

    A call of a tool that is gone is refused when the run goes on; reads and denials are open to whoever may decide.

    Raises:
        NotPermittedError: So it is.
    """
    names = {pending.index: pending.call.name for pending in held.state.pending}
    for decision in decisions:
        tool = tools.registered.get(names.get(decision.index, ""))
        if not decision.approve or tool is None or not tool.writes:
            continue
        if by.kind is not ActorKind.USER:
            raise NotPermittedError(held.run.run_id, tool.name, "a service account approves no write")
        _permit(held, tool.name, by=by, tools=tools)


def check_edits(held: Held, decisions: Sequence[Decision], *, tools: Toolbox) -> None:
    """
    Refuse changed arguments that the tool does not take: a slip of whoever changed them is no decision yet.

    Raises:
        InvalidInputError: So it is.
    """
    names = {pending.index: pending.call.name for pending in held.state.pending}
    for decision in decisions:
        tool = tools.registered.get(names.get(decision.index, ""))
        if tool is None or decision.arguments is None:
            continue
        try:
            tool.structure(decision.arguments)
        except InvalidValueError as error:
            raise InvalidInputError(held.run.run_id, decision.index, faults_of(error), tool=tool.name) from error


def permit_calls(held: Held, *, by: Actor, tools: Toolbox) -> None:
    """
    Refuse whoever fills in a form of a turn with a call that is not open to them.

    Raises:
        NotPermittedError: So it is; a service account fills in no form.
    """
    for pending in held.state.pending:
        if by.kind is not ActorKind.USER:
            raise NotPermittedError(held.run.run_id, pending.call.name, "a service account fills in no form")
        _permit(held, pending.call.name, by=by, tools=tools)


def _permit(held: Held, name: str, *, by: Actor, tools: Toolbox) -> None:
    """Refuse whoever the policy would not let use a tool themselves; one that is gone is refused later."""
    tool = tools.registered.get(name)
    decision = None if tool is None else tools.gate.of(by).decide(name, tool)
    if decision is not None and decision.reason in PERSONAL:
        raise NotPermittedError(held.run.run_id, name, decision.text.removesuffix("."))


def input_step(state: RunState, submissions: Sequence[Submission], *, by: Actor) -> RunStep:
    """Return what the record says of forms that were filled in: who did, and of which calls; never what with."""
    calls = {pending.index: pending.call for pending in state.pending}
    told: list[Mapping[str, JSON]] = [
        {
            "index": one.index,
            "tool": calls[one.index].name,
            "approved": one.values is not None,
            "edited": False,
            "digest": one.digest,
        }
        for one in submissions
    ]
    return RunStep(kind=StepKind.INPUT, round=state.rounds, decided_by=by.id, decisions=tuple(told))


def decision_step(state: RunState, decisions: Sequence[Decision], *, by: Actor) -> RunStep:
    """Return what the record says of a decision."""
    calls = {pending.index: pending.call for pending in state.pending}
    told: list[Mapping[str, JSON]] = [
        {
            "index": one.index,
            "tool": calls[one.index].name,
            "approved": one.approve,
            "edited": one.arguments is not None,
            "digest": one.digest,
        }
        for one in decisions
    ]
    changed: list[Mapping[str, JSON]] = [
        {"index": one.index, "arguments": dict(edited(calls[one.index], one).arguments)}
        for one in decisions
        if one.arguments is not None
    ]
    return RunStep(
        kind=StepKind.APPROVAL,
        round=state.rounds,
        decided_by=by.id,
        decisions=tuple(told),
        edited_arguments=tuple(changed) or None,
    )
