"""People a held run may meet: those who decline, those who do not look, and those who must not decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest
from nr_llm import (
    HOST,
    Actor,
    NotPermittedError,
    RunHistory,
    RunNotFoundError,
    RunStatus,
    RunStore,
    Runtime,
    SelfApprovalError,
    StaleDecisionError,
    WaitingRun,
)

from tests.integration.planted import House

ANN, BOB = Actor("ann"), Actor("bob", approver=True)


@attrs.define(eq=False)
class Case:
    """
    A run that waits.

    Attributes:
        house: What it is about.
        runtime: What it goes on with.
        store: Where it is kept.
        run_id: Its name.
        notes: What became of decisions.
        kept: Decisions that somebody kept from before.
    """

    house: House
    runtime: Runtime
    store: RunStore
    run_id: str
    notes: list[str] = attrs.field(factory=list)
    kept: list[Any] = attrs.field(factory=list)

    @property
    def waiting(self) -> WaitingRun:
        """The run as it waits now."""
        found = RunHistory(self.store, HOST).waiting(self.run_id)
        assert found is not None
        return found

    def decide(self, decisions: list[Any], *, by: Actor = BOB) -> Any:
        """Decide."""
        return self.runtime.decide(self.run_id, decisions, by=by)

    def all(self, *, approve: bool) -> list[Any]:
        """Return one answer for all calls that a person is asked about."""
        waiting = self.waiting
        return [waiting.decision(call.index, approve=approve) for call in waiting.asked]

    def note(self, text: str) -> None:
        """Note once what became of a decision."""
        if text not in self.notes:
            self.notes.append(text)


Person: TypeAlias = Callable[[Case], Any]


def declines(case: Case) -> Any:
    """Say no; what a form asks for is filled in all the same."""
    if case.waiting.run.status is RunStatus.WAITING_FOR_INPUT:
        return travels(case)
    before = case.house.all_of_it()
    outcome = case.decide(case.all(approve=False))
    assert case.house.all_of_it() == before
    case.note("approval: a person declines")
    return outcome


def agrees(case: Case) -> Any:
    """Say yes without a look."""
    return case.decide(case.all(approve=True))


def travels(case: Case) -> Any:
    """Fill in the form."""
    return _filled(case, "Rome", "form: a person's value stands in its place")


def brings(case: Case) -> Any:
    """Fill in the form with what somebody has handed to them."""
    return _filled(case, case.house.said, "")


def _filled(case: Case, city: str, note: str) -> Any:
    waiting = case.waiting
    if note:
        case.note(note)
    given = [waiting.submission(call.index, {"city": city, "nights": 99}) for call in waiting.asked]
    return case.runtime.submit(case.run_id, given, by=BOB)


def looks_first(case: Case) -> Any:
    """Say no, having seen that nothing of the turn has run, and what is in it."""
    steps = [one.step.payload.get("tool_name") for one in case.store.steps(case.run_id) if one.step.kind == "tool"]
    assert steps == ["read_file"], "what the question needed, and nothing since"
    assert len(case.waiting.calls) > len(case.waiting.asked)
    case.note("approval: the whole turn waits; a person declines")
    return case.decide(case.all(approve=False))


def replays(case: Case) -> Any:
    """Say no, and try later with what was to be said before."""
    if case.kept:
        with pytest.raises(StaleDecisionError):
            case.decide(case.kept)
        case.note("approval: an old digest is refused")
    case.kept = case.kept or case.all(approve=True)
    return case.decide(case.all(approve=False))


def swaps(case: Case) -> Any:
    """Agree to other arguments under the digest of those that were shown."""
    shown = [attrs.evolve(one, arguments={"path": "notes/b.txt", "content": "b"}) for one in case.all(approve=True)]
    with pytest.raises(StaleDecisionError):
        case.decide(shown)
    case.note("approval: another call's digest is refused")
    return case.decide(case.all(approve=False))


def stranger(case: Case) -> Any:
    """Agree, as somebody whose run it is not and who may not decide for others."""
    return _refused(case, Actor("eve"), RunNotFoundError, "approval: a stranger finds no such run")


def machine(case: Case) -> Any:
    """Agree, as a service account that may decide."""
    service = Actor.service("bot", scopes=["runs:approve"])
    return _refused(case, service, NotPermittedError, "approval: a service account approves no write")


def beginner(case: Case) -> Any:
    """Agree, as the one who began the run, where the configuration wants another."""
    return _refused(case, ANN, SelfApprovalError, "approval: four eyes")


def barred(case: Case) -> Any:
    """Agree, as somebody to whom the tool is closed."""
    return _refused(case, BOB, NotPermittedError, "approval: it is closed to whoever approves")


def _refused(case: Case, by: Actor, error: type[Exception], note: str) -> Any:
    with pytest.raises(error):
        case.decide(case.all(approve=True), by=by)
    case.note(note)
    return case.decide(case.all(approve=False))
