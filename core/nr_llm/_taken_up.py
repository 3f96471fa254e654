"""Stored runs that go on as somebody decided: checked and put together here, claimed when they are performed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, Unpack

from nr_llm._assembly import Assembly, Setting
from nr_llm._checks import check_settings
from nr_llm._configured import configured_again
from nr_llm._deciding import (
    Held,
    check_decider,
    check_edits,
    check_filler,
    decision_step,
    input_step,
    permit_calls,
    permit_writes,
    waiting_run,
)
from nr_llm._keeping import Taking
from nr_llm._run_settings import ResumeSettings
from nr_llm.actors import Actor
from nr_llm.approvals import Decision, Decisions, Submission, Submissions, decided
from nr_llm.errors import ConfigurationError, InvalidValueError
from nr_llm.inputs import submitted
from nr_llm.records import RunStatus

Said = TypeVar("Said", Decision, Submission)


def as_decided(
    assembly: Assembly,
    run_id: str,
    decisions: Decisions,
    *,
    by: Actor,
    streamed: bool,
    **settings: Unpack[ResumeSettings],
) -> Setting:
    """Return a stored run that waits with what somebody decided; it acts on behalf of its owner."""
    held = _held(assembly, run_id, RunStatus.WAITING_FOR_APPROVAL, by=by, settings=settings)
    decisions = _each(decisions, Decision, path="decisions")
    check_decider(held, decisions, by=by, configuration=configured_again(held.state, assembly.host))
    state = decided(held.state, decisions)
    taking = Taking(held.run, decision_step(held.state, decisions, by=by))
    setting = assembly.resumed(state, settings, actor=held.run.head.actor, streamed=streamed, taking=taking)
    permit_writes(held, decisions, by=by, tools=setting.desk.toolbox)
    check_edits(held, decisions, tools=setting.desk.toolbox)
    return setting


def as_submitted(
    assembly: Assembly,
    run_id: str,
    submissions: Submissions,
    *,
    by: Actor,
    streamed: bool,
    **settings: Unpack[ResumeSettings],
) -> Setting:
    """Return a stored run that waits with what somebody filled in; it acts on behalf of its owner."""
    held = _held(assembly, run_id, RunStatus.WAITING_FOR_INPUT, by=by, settings=settings)
    submissions = _each(submissions, Submission, path="submissions")
    state = submitted(held.state, submissions)
    taking = Taking(held.run, input_step(held.state, submissions, by=by))
    setting = assembly.resumed(state, settings, actor=held.run.head.actor, streamed=streamed, taking=taking)
    tools, configuration = setting.desk.toolbox, configured_again(held.state, assembly.host)
    permit_calls(held, by=by, tools=tools)
    check_filler(held, submissions, by=by, tools=tools, configuration=configuration)
    return setting


def _each(given: Any, kind: type[Said], *, path: str) -> tuple[Said, ...]:
    """Return what is said to the calls of a turn, refused by name where it is something else."""
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    wrong = [one for one in found if not isinstance(one, kind)] if isinstance(given, Iterable) else [given]
    if wrong:
        raise InvalidValueError(f"must be a list of {kind.__name__}, not {type(wrong[0]).__name__}", path=path)
    return found


def _held(assembly: Assembly, run_id: str, status: RunStatus, *, by: Actor, settings: ResumeSettings) -> Held:
    check_settings(settings, ResumeSettings)
    if not isinstance(by, Actor):
        raise InvalidValueError(f"must be an Actor, not {type(by).__name__}", path="by")
    if "actor" in settings:
        raise InvalidValueError("a decided run acts on behalf of its owner; who decides is `by`", path="actor")
    if assembly.store is None:
        raise ConfigurationError(
            f"Run {run_id} cannot be decided on without a store.", remedy="Pass the store to the Runtime."
        )
    return waiting_run(assembly.store, run_id, by=by, status=status)
