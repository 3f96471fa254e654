"""Cases of runs that wait for a person to fill in a form, written once and tried with every store."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    Actor,
    InvalidInputError,
    InvalidValueError,
    NotPermittedError,
    NotWaitingError,
    RunClaimedError,
    RunHistory,
    RunNotFoundError,
    RunState,
    RunStatus,
    RunStore,
    StaleDecisionError,
    Submission,
    Suspended,
    Tool,
    WaitingRun,
    replay,
    tool,
)
from nr_llm.errors import InvalidSchemaError
from nr_llm.testing import Harness, calling

from tests.core.run_cases import Face, everything, kinds, look, ran

ANN, BOB = Actor("ann"), Actor("bob", approver=True)
RAN: list[dict[str, Any]] = []
"""What ran, and with what."""


@attrs.frozen
class Trip:
    """Where to go."""

    city: str
    nights: int = 1


@tool(form=Trip)
def book(city: str = "", nights: int = 1, note: str = "") -> str:
    """Book a trip."""
    RAN.append({"city": city, "nights": nights, "note": note})
    return f"booked {city}"


@tool(form={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]})
def confirm(code: str = "") -> str:
    """Confirm."""
    RAN.append({"code": code})
    return "confirmed"


@tool(effect="write", admin_only=True)
def erase() -> str:
    """Write, for administrators."""
    return "erased"


@tool(effect="write")
def put() -> str:
    """Write, with a person's consent."""
    RAN.append({"put": True})
    return "put"


TOOLS = [look, book, confirm, erase, put]
NAMES = [each.name for each in TOOLS]


def named(actor: Actor | None) -> list[str]:
    """Return the names of the tools that are open to somebody."""
    return [name for name in NAMES if name != "erase" or (actor is not None and actor.admin)]


class InputCases:
    """The cases; `store` is an empty store."""

    @pytest.fixture(autouse=True)
    def nothing_ran(self) -> None:
        """Forget what ran before."""
        RAN.clear()

    def held(self, face: Face, store: Any, *calls: Any, actor: Actor = ANN, **settings: Any) -> Harness:
        """Return a harness with a run that waits, begun by Ann."""
        harness = Harness(tools=TOOLS, store=store, **settings)
        outcome = face.run(harness, replies=[calling(*calls)], tools=named(actor), actor=actor, run_id="r")
        assert isinstance(outcome, Suspended)
        return harness

    def waiting(self, store: RunStore, who: Actor = BOB) -> WaitingRun:
        """Return the run as somebody sees it who may fill in its forms."""
        found = RunHistory(store, who).waiting("r")
        assert found is not None
        return found

    def submit(self, face: Face, harness: Harness, *given: Submission, by: Actor = BOB) -> Any:
        """Fill in, in a colour; the model then says that it is done."""
        harness.provider.script("done")
        if face.colour == "sync":
            return harness.runtime.submit("r", given, by=by)
        return asyncio.run(harness.runtime.asubmit("r", given, by=by))

    def test_a48_a50_c83_filled_in(self, face: Face, store: RunStore) -> None:
        """The person's values take the place of the model's for the form's keys, and for these alone."""
        asked = ("book", {"city": "X", "nights": 9, "note": "keep"})
        harness = self.held(face, store, asked, ("look", {}), privacy="full")
        waiting = self.waiting(store)
        [call] = waiting.asked
        result = self.submit(face, harness, waiting.submission(0, {"city": "Berlin", "evil": 1}))

        assert waiting.run.status is RunStatus.WAITING_FOR_INPUT
        assert call.form is not None
        assert call.form["required"] == ["city"]
        assert RAN == [{"city": "Berlin", "nights": 1, "note": "keep"}]
        assert [each.content for each in result.invocations] == ["booked Berlin", "saw "]
        assert kinds(store, "r") == ["request", "llm", "input", "input", "tool", "tool", "request", "llm"]
        step = store.steps("r")[3].step.payload
        assert step["decided_by"] == "bob"
        assert "Berlin" not in str(step)
        assert replay(RunHistory(store, HOST), "r").differences == ()

    def test_a51_several_forms_of_a_turn(self, face: Face, store: RunStore) -> None:
        """Are answered together, or one after the other."""
        harness = self.held(face, store, ("book", {}), ("confirm", {}), privacy="full")
        first = self.waiting(store)
        again = self.submit(face, harness, first.submission(1, {"code": "7"}))
        assert isinstance(again, Suspended)
        second = self.waiting(store)
        assert [call.index for call in second.asked] == [0]
        assert second.calls[1].form is None
        self.submit(face, harness, second.submission(0, {"city": "Rome", "nights": 2}))
        assert sorted(RAN, key=len) == [{"code": "7"}, {"city": "Rome", "nights": 2, "note": ""}]
        assert replay(RunHistory(store, HOST), "r").same

    def test_both_at_once(self, face: Face, store: RunStore) -> None:
        """One submission for each."""
        harness = self.held(face, store, ("book", {}), ("confirm", {}))
        waiting = self.waiting(store)
        self.submit(face, harness, waiting.submission(0, {"city": "Rome"}), waiting.submission(1, {"code": "7"}))

        assert sorted(sorted(each) for each in RAN) == [["city", "nights", "note"], ["code"]]

    def test_declined(self, face: Face, store: RunStore) -> None:
        """The call is not run, and the model is told."""
        harness = self.held(face, store, ("book", {}), privacy="full")
        result = self.submit(face, harness, self.waiting(store).submission(0, None))

        assert RAN == []
        assert "A person declined" in result.invocations[0].content
        assert replay(RunHistory(store, HOST), "r").same

    @pytest.mark.parametrize(
        ("values", "fault"),
        [({}, "city"), ({"city": 7}, "city"), ({"city": "X", "nights": "many"}, "nights"), ({"evil": 1}, "city")],
    )
    def test_a49_values_that_do_not_fit(self, face: Face, store: RunStore, values: dict[str, Any], fault: str) -> None:
        """Each fault is told, nothing is kept or run, and the run waits as it did."""
        harness = self.held(face, store, ("book", {}))
        before = ran(store, "r")
        with pytest.raises(InvalidInputError, match=fault) as caught:
            self.submit(face, harness, self.waiting(store).submission(0, values))

        assert (caught.value.index, ran(store, "r"), RAN) == (0, before, [])
        assert fault in caught.value.faults
        self.submit(face, harness, self.waiting(store).submission(0, {"city": "Rome"}))
        assert len(RAN) == 1

    def test_a52_c84_a_write_beside_a_form(self, face: Face, store: RunStore) -> None:
        """Is approved first, by itself: a form that is filled in approves nothing."""
        harness = self.held(face, store, ("put", {}), ("confirm", {}))
        assert ran(store, "r").status is RunStatus.WAITING_FOR_APPROVAL
        with pytest.raises(NotWaitingError, match="does not wait for input"):
            self.submit(face, harness, Submission(index=1, values={"code": "7"}, digest=""))
        harness.provider.script("done")
        again = harness.runtime.decide("r", [self.waiting(store).decision(0, approve=True)], by=BOB)
        assert isinstance(again, Suspended)
        assert (ran(store, "r").status, RAN) == (RunStatus.WAITING_FOR_INPUT, [])
        self.submit(face, harness, self.waiting(store).submission(1, {"code": "7"}))
        assert RAN == [{"put": True}, {"code": "7"}]

    @pytest.mark.parametrize("change", [{"digest": ""}, {"digest": "0" * 64}, {"index": 1}, {"index": 9}])
    def test_a53_stale(self, face: Face, store: RunStore, change: dict[str, Any]) -> None:
        """A submission is about the call and the form that were seen."""
        harness = self.held(face, store, ("book", {}), ("look", {}))
        given = self.waiting(store).submission(0, {"city": "Rome"})
        with pytest.raises(StaleDecisionError):
            self.submit(face, harness, attrs.evolve(given, **change))

        live = store.live("r")
        assert live is not None
        state = live.load()
        other = attrs.evolve(state.pending[0], form={"type": "object", "properties": {"x": {}}})
        from nr_llm.approvals import call_digest

        assert call_digest(state, 0, other.call, form=other.form) != given.digest
        assert RAN == []

    def test_submissions_that_are_none(self, face: Face, store: RunStore) -> None:
        """None, two about one call, one of a call without a form."""
        harness = self.held(face, store, ("book", {}), ("look", {}))
        given = self.waiting(store).submission(0, {"city": "Rome"})
        for submissions, why in (((), "there is none"), ((given, attrs.evolve(given)), "two are about call 0")):
            with pytest.raises(InvalidValueError, match=why):
                self.submit(face, harness, *submissions)
        with pytest.raises(InvalidValueError, match="no index of a call with a form"):
            self.waiting(store).submission(1, {})

    def test_a54_who_may_fill_in(self, face: Face, store: RunStore) -> None:
        """No stranger, no service account, and nobody to whom a call of the turn is closed."""
        boss = attrs.evolve(ANN, admin=True)
        harness = Harness(tools=[look, book, attrs.evolve(erase, approval=False)], store=store)
        names = ["look", "book", "erase"]
        face.run(harness, replies=[calling(("book", {}), ("erase", {}))], tools=names, actor=boss, run_id="r")
        given = self.waiting(store).submission(0, {"city": "Rome"})
        with pytest.raises(RunNotFoundError):
            self.submit(face, harness, given, by=Actor("eve"))
        with pytest.raises(NotPermittedError, match="'erase'"):
            self.submit(face, harness, given, by=BOB)
        with pytest.raises(NotPermittedError, match="a service account fills in no form"):
            self.submit(face, harness, given, by=Actor.service("bot", scopes=["runs:approve"]))
        result = self.submit(face, harness, given, by=boss)

        assert [each.content for each in result.invocations] == ["booked Rome", "erased"]

    def test_filled_in_once(self, face: Face, store: RunStore) -> None:
        """Whoever comes second is told what the run is now."""
        harness = self.held(face, store, ("book", {}))
        given = self.waiting(store).submission(0, {"city": "Rome"})
        self.submit(face, harness, given)
        with pytest.raises((NotWaitingError, RunClaimedError), match="it is completed"):
            self.submit(face, harness, given)

    def test_below_full(self, face: Face, store: RunStore) -> None:
        """What a person filled in is not in the record."""
        harness = self.held(face, store, ("book", {}))
        self.submit(face, harness, self.waiting(store).submission(0, {"city": "Timbuktu"}))

        assert "Timbuktu" not in everything(store, "r")

    def test_c81_a_tool_that_is_not_offered(self, face: Face, store: RunStore) -> None:
        """Asks nobody; nor does a call that cannot be read."""
        with Harness(tools=TOOLS, store=store) as harness:
            result = face.run(harness, replies=[calling(("book", {})), "done"], tools=["look"])

        assert not isinstance(result, Suspended)
        assert "not permitted" in result.invocations[0].content

    def test_without_a_store(self, face: Face) -> None:
        """The host keeps the state and fills in by index of the call."""
        with Harness(tools=TOOLS, store=None) as harness:
            held = face.run(harness, replies=[calling(("book", {"note": "n"}), ("confirm", {}))], tools=NAMES)
            state = RunState.from_json(held.state.to_json())
            with pytest.raises(InvalidInputError, match="city"):
                face.resume(harness, state, {}, inputs={0: {}})
            with pytest.raises(InvalidValueError, match=r"7 is no index of a call with a form; those are \[0, 1\]"):
                face.resume(harness, state, {}, inputs={7: {}})
            again = face.resume(harness, state, True, replies=["x"])
            result = face.resume(harness, state, {}, inputs={0: {"city": "Rome"}, 1: None}, replies=["done"])

        assert [pending.form is not None for pending in held.waiting] == [True, True]
        assert isinstance(again, Suspended), "an approval fills in no form"
        assert RAN == [{"city": "Rome", "nights": 1, "note": "n"}]
        assert result.content == "done"


def test_a_form_that_asks_for_nothing() -> None:
    """And one that is none, and one beside an approval, are refused when the tool is made."""
    for form in ({"type": "object"}, {"type": "object", "properties": {}}):
        with pytest.raises(InvalidValueError, match="it would ask for nothing"):
            tool(form=form)(lambda_named)
    with pytest.raises(InvalidSchemaError):
        tool(form=7)(lambda_named)
    for approved in ({"approval": True}, {"effect": "write"}):
        with pytest.raises(InvalidValueError, match="has a form and needs an approval"):
            tool(form=Trip, **approved)(lambda_named)  # type: ignore[arg-type]
    assert isinstance(tool(form=Trip, effect="write", approval=False)(lambda_named), Tool)


def lambda_named() -> str:
    """Do nothing."""
    return ""
