"""Cases of decisions on stored runs, written once and tried with every store: subclass `DecisionCases`, say `store`."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    Actor,
    CompletionResponse,
    ConfigurationError,
    Decision,
    DecisionError,
    InvalidInputError,
    InvalidValueError,
    NotPermittedError,
    NotWaitingError,
    PluginHost,
    Policy,
    RunChange,
    RunClaimedError,
    RunHistory,
    RunNotFoundError,
    RunStatus,
    RunStore,
    SelfApprovalError,
    StaleDecisionError,
    StoreError,
    Suspended,
    ToolCall,
    ToolContext,
    WaitingRun,
    replay,
    tool,
)
from nr_llm.config import Config, Table
from nr_llm.testing import Harness, calling

from tests.core.run_cases import Face, Wrapped, kinds, look, ran

ANN, BOB = Actor("ann"), Actor("bob", approver=True)

RAN: list[tuple[str, str]] = []
"""What ran, on whose behalf and with what."""


@tool(effect="write")
def change(context: ToolContext, what: str = "") -> str:
    """Write, with a person's consent."""
    RAN.append((context.actor.id if context.actor else "", what))
    return f"changed {what}"


@tool(effect="write", admin_only=True)
def erase(what: str = "") -> str:
    """Write, for administrators."""
    RAN.append(("admin", what))
    return "erased"


@tool(approval=True)
def peek(what: str = "") -> str:
    """Read, with a person's consent."""
    return f"peeked {what}"


TOOLS = [look, change, erase, peek]
NAMES = ["look", "change", "erase", "peek"]


def named(actor: Actor | None) -> list[str]:
    """Return the names of the tools that are open to somebody."""
    return [name for name in NAMES if name != "erase" or (actor is not None and actor.admin)]


class DecisionCases:
    """The cases; `store` is an empty store."""

    @pytest.fixture(autouse=True)
    def nothing_ran(self) -> None:
        """Forget what ran before."""
        RAN.clear()

    def held(self, face: Face, store: Any, *calls: Any, actor: Actor | None = ANN, **settings: Any) -> Harness:
        """Return a harness with a run that waits, begun by Ann."""
        harness = Harness(settings.pop("host", None), tools=TOOLS, store=store, **settings)
        outcome = face.run(harness, replies=[calling(*calls)], tools=named(actor), actor=actor, run_id="r")
        assert isinstance(outcome, Suspended)
        return harness

    def waiting(self, store: RunStore, who: Actor = BOB) -> WaitingRun:
        """Return the run as somebody sees it who may decide."""
        found = RunHistory(store, who).waiting("r")
        assert found is not None
        return found

    def decide(self, face: Face, harness: Harness, *decisions: Decision, by: Actor = BOB, **settings: Any) -> Any:
        """Decide, in a colour; the model then says that it is done."""
        harness.provider.script(*settings.pop("replies", ["done"]))
        if face.colour == "sync":
            return harness.runtime.decide("r", decisions, by=by, **settings)
        return asyncio.run(harness.runtime.adecide("r", decisions, by=by, **settings))

    # -- deciding -----------------------------------------------------------------------------------------------

    def test_a30_a43_approved(self, face: Face, store: RunStore) -> None:
        """The call runs once, on behalf of the run's owner, and the record says who decided what."""
        harness = self.held(face, store, ("change", {"what": "a"}), ("look", {}), privacy="full")
        waiting = self.waiting(store)
        result = self.decide(face, harness, waiting.decision(0, approve=True))

        assert [(call.index, call.call.name, call.asked) for call in waiting.calls] == [
            (0, "change", True),
            (1, "look", False),
        ]
        assert [one.index for one in waiting.asked] == [0]
        assert RAN == [("ann", "a")]
        assert [call.content for call in result.invocations] == ["changed a", "saw "]
        assert kinds(store, "r") == ["request", "llm", "approval", "approval", "tool", "tool", "request", "llm"]
        step = store.steps("r")[3].step.payload
        assert (step["decided_by"], step["decisions"]) == (
            "bob",
            [
                {
                    "index": 0,
                    "tool": "change",
                    "approved": True,
                    "edited": False,
                    "digest": waiting.calls[0].digest,
                }
            ],
        )
        assert ran(store, "r").status is RunStatus.COMPLETED
        assert replay(RunHistory(store, HOST), "r").differences == ()

    def test_a31_c78_denied(self, face: Face, store: RunStore) -> None:
        """The model is told, the run goes on, and nothing was run."""
        harness = self.held(face, store, ("change", {"what": "a"}), privacy="full")
        result = self.decide(face, harness, self.waiting(store).decision(0, approve=False))

        assert RAN == []
        assert "A person declined" in result.invocations[0].content
        assert result.content == "done"
        assert replay(RunHistory(store, HOST), "r").differences == ()

    @pytest.mark.lesson(39, 73)
    def test_a_verdict_per_call(self, face: Face, store: RunStore) -> None:
        """One call may run and another not; what nobody decided on waits on, under another digest."""
        calls = [("change", {"what": "a"}), ("change", {"what": "b"}), ("change", {"what": "c"})]
        harness = self.held(face, store, *calls, privacy="full")
        first = self.waiting(store)
        decisions = [first.decision(0, approve=True), first.decision(1, approve=False)]
        again = self.decide(face, harness, *decisions)

        assert isinstance(again, Suspended)
        assert RAN == []
        second = self.waiting(store)
        assert [call.index for call in second.asked] == [2]
        assert second.calls[2].digest != first.calls[2].digest
        with pytest.raises(StaleDecisionError):
            self.decide(face, harness, first.decision(2, approve=True))
        result = self.decide(face, harness, second.decision(2, approve=True))
        assert RAN == [("ann", "a"), ("ann", "c")]
        contents = [call.content for call in result.invocations]
        assert (contents[0], contents[2]) == ("changed a", "changed c")
        assert contents[1].startswith("A person declined")
        assert replay(RunHistory(store, HOST), "r").differences == ()

    def test_edited_arguments(self, face: Face, store: RunStore) -> None:
        """The call runs with what the person decided on, and the model reads that; an older digest is stale."""
        harness = self.held(face, store, ("change", {"what": "a"}), privacy="full")
        waiting, before = self.waiting(store), ran(store, "r")
        stale = Decision(index=0, approve=True, digest=waiting.calls[0].digest, arguments={"what": "b"})
        with pytest.raises(StaleDecisionError):
            self.decide(face, harness, stale)
        assert (ran(store, "r"), RAN) == (before, [])
        result = self.decide(face, harness, waiting.decision(0, approve=True, arguments={"what": "b"}))

        assert RAN == [("ann", "b")]
        assert result.invocations[0].content == (
            'A person changed the arguments of this call before it ran: {"what":"b"}\nchanged b'
        )
        payload = store.steps("r")[3].step.payload
        assert payload["edited_arguments"] == [{"index": 0, "arguments": {"what": "b"}}]
        assert replay(RunHistory(store, HOST), "r").differences == ()

    @pytest.mark.lesson(106)
    def test_edited_arguments_that_do_not_fit(self, face: Face, store: RunStore) -> None:
        """Each fault is told, nothing is kept or run, and the run waits as it did: a slip decides nothing."""
        harness = self.held(face, store, ("change", {"what": "a"}), ("look", {}))
        before, waiting = ran(store, "r"), self.waiting(store)
        for arguments, fault in (({"wrong": 1}, "wrong: unknown name"), ({"what": []}, "what: expected text, got []")):
            with pytest.raises(InvalidInputError, match="does not fit tool 'change': ") as caught:
                self.decide(face, harness, waiting.decision(0, approve=True, arguments=arguments))
            assert (caught.value.index, caught.value.tool, caught.value.run_id) == (0, "change", "r")
            assert caught.value.faults.startswith(fault)

        assert (ran(store, "r"), RAN) == (before, [])
        self.decide(face, harness, waiting.decision(0, approve=True, arguments={"what": "b"}))
        assert RAN == [("ann", "b")]

    def test_below_full_the_decision_is_kept_without_arguments(self, face: Face, store: RunStore) -> None:
        """Who, when, and the digest of what."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        self.decide(face, harness, self.waiting(store).decision(0, approve=True, arguments={"what": "secret"}))
        payload = store.steps("r")[3].step.payload

        assert payload["decided_by"] == "bob"
        assert payload["edited_arguments_count"] == 1
        assert "secret" not in str(payload)

    # -- refusing -----------------------------------------------------------------------------------------------

    def test_a32_c79_a_tool_that_is_gone(self, face: Face, store: RunStore) -> None:
        """Its call is refused as no longer permitted, also if approved."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        result = self.decide(face, harness, self.waiting(store).decision(0, approve=True), tools=["look"])

        assert RAN == []
        assert "not permitted" in result.invocations[0].content

    def test_edited_arguments_of_a_tool_that_is_gone(self, face: Face, store: RunStore) -> None:
        """Nobody can say what fits, and its call is refused all the same."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        edited = self.waiting(store).decision(0, approve=True, arguments={"other": 1})
        result = self.decide(face, Harness(tools=[look], store=store), edited, tools=["look"])

        assert harness is not None
        assert (RAN, result.invocations[0].is_error) == ([], True)

    @pytest.mark.parametrize("closed", [{"tools": {"change": False}}, {"restrict": {"change": ["group:editors"]}}])
    def test_a32_a_tool_that_is_closed_meanwhile(self, face: Face, store: RunStore, closed: dict[str, Any]) -> None:
        """A switch counts for what waits: the approved call is refused; what is not theirs the approver is told."""
        harness = self.held(face, store, ("change", {"what": "a"}), ("peek", {"what": "b"}))
        waiting, before = self.waiting(store), ran(store, "r")
        yes = [waiting.decision(0, approve=True), waiting.decision(1, approve=True)]
        later = Harness(tools=TOOLS, store=store, policy=Policy(**closed))
        if "restrict" in closed:
            with pytest.raises(NotPermittedError, match="'change'"):
                self.decide(face, later, *yes)
            assert ran(store, "r") == before
        result = self.decide(face, later, *yes, by=attrs.evolve(BOB, groups=("editors",)))

        assert harness is not None
        assert RAN == []
        assert [call.content for call in result.invocations] == [
            "Tool 'change' is not permitted in this run; it was not called.",
            "peeked b",
        ]

    @pytest.mark.lesson(70, 71)
    def test_repeated_call_ids(self, face: Face, store: RunStore) -> None:
        """A service may name two calls alike: each has its own digest, decision and result."""
        ids = [ToolCall("same", "change", {"what": what}) for what in ("a", "a", "b")]
        harness = Harness(tools=TOOLS, store=store, privacy="full")
        reply = CompletionResponse(tool_calls=ids)
        assert isinstance(face.run(harness, replies=[reply], tools=NAMES[:2], actor=ANN, run_id="r"), Suspended)
        waiting, before = self.waiting(store), ran(store, "r")
        swapped = attrs.evolve(waiting.decision(0, approve=True), index=1)
        with pytest.raises(StaleDecisionError):
            self.decide(face, harness, swapped)
        assert ran(store, "r") == before
        answers = [waiting.decision(one.index, approve=one.index != 1) for one in waiting.asked]
        result = self.decide(face, harness, *answers)

        assert len({call.digest for call in waiting.calls}) == 3
        assert RAN == [("ann", "a"), ("ann", "b")]
        contents = [call.content for call in result.invocations]
        assert (contents[0], contents[2]) == ("changed a", "changed b")
        assert contents[1].startswith("A person declined")
        assert replay(RunHistory(store, HOST), "r").same

    def test_a33_two_at_once(self, face: Face, store: RunStore) -> None:
        """One goes on with the run; the other is told so, and nothing runs twice."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        decision = self.waiting(store).decision(0, approve=True)
        meet = threading.Barrier(2)
        told: list[Any] = []

        def together(change: RunChange) -> None:
            if change.expect == {RunStatus.WAITING_FOR_APPROVAL, RunStatus.WAITING_FOR_INPUT}:
                meet.wait(60)

        def decide() -> None:
            other = Harness(tools=TOOLS, store=Wrapped(store, before=together))
            try:
                told.append(self.decide(face, other, decision))
            except (RunClaimedError, NotWaitingError) as error:
                told.append(error)

        threads = [threading.Thread(target=decide) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert harness is not None
        assert sorted(type(one).__name__ for one in told) == ["RunClaimedError", "RunResult"]
        assert RAN == [("ann", "a")]

    def test_decided_between_look_and_claim(self, face: Face, store: RunStore) -> None:
        """A run that was decided on and waits again is not taken for the one that was looked at."""
        calls = [("change", {"what": "a"}), ("change", {"what": "b"})]
        harness = self.held(face, store, *calls)
        first = self.waiting(store)
        times = iter([True])

        def overtake(change: RunChange) -> None:
            if RunStatus.WAITING_FOR_INPUT in change.expect and next(times, False):
                self.decide(Face("sync"), Harness(tools=TOOLS, store=store), first.decision(0, approve=False))

        late = Harness(tools=TOOLS, store=Wrapped(store, before=overtake))
        with pytest.raises(RunClaimedError, match="waiting_for_approval"):
            self.decide(face, late, first.decision(1, approve=True))
        assert harness is not None
        assert RAN == []

    @pytest.mark.lesson(37)
    @pytest.mark.parametrize(
        "change",
        [
            {"digest": ""},
            {"digest": "0" * 64},
            {"digest": "ü"},
            {"index": 1},
            {"index": -1},
        ],
    )
    def test_a34_c85_a_stale_or_missing_digest(self, face: Face, store: RunStore, change: dict[str, Any]) -> None:
        """Nothing is run, and the run waits as it did."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        before = ran(store, "r")
        with pytest.raises(StaleDecisionError, match="is about another call") as caught:
            self.decide(face, harness, attrs.evolve(self.waiting(store).decision(0, approve=True), **change))

        assert isinstance(caught.value, DecisionError)
        assert (caught.value.run_id, ran(store, "r")) == ("r", before)
        assert kinds(store, "r") == ["request", "llm", "approval"]

    def test_decisions_that_are_none(self, face: Face, store: RunStore) -> None:
        """None, two about one call, a word for a yes, arguments for a denied call."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        yes = self.waiting(store).decision(0, approve=True)
        no = self.waiting(store).decision(0, approve=False)
        for decisions, why in (((), "there is none"), ((yes, no), "two decisions are about call 0")):
            with pytest.raises(InvalidValueError, match=why):
                self.decide(face, harness, *decisions)
        word: Any = "yes"
        with pytest.raises(InvalidValueError, match="must be True or False"):
            Decision(index=0, approve=word, digest="")
        with pytest.raises(InvalidValueError, match="has no arguments"):
            Decision(index=0, approve=False, digest="", arguments={})
        for odd, why in (({"index": True}, "index: must be int, not bool"), ({"digest": None}, "digest: must be str")):
            with pytest.raises(InvalidValueError, match=why):
                attrs.evolve(yes, **odd)
        with pytest.raises(StaleDecisionError):
            self.decide(face, harness, attrs.evolve(yes, digest="\ud800"))
        nobody: Any = None
        with pytest.raises(InvalidValueError, match="by: must be an Actor, not NoneType"):
            self.decide(face, harness, yes, by=nobody)
        for odd_list, told in ((yes, "not Decision"), ([True], "not bool"), (None, "not NoneType")):
            lists: Any = odd_list
            with pytest.raises(InvalidValueError, match=f"decisions: must be a list of Decision, {told}"):
                harness.runtime.decide("r", lists, by=BOB)
        with pytest.raises(InvalidValueError, match="no index of a waiting call"):
            self.waiting(store).decision(7, approve=True)
        with pytest.raises(InvalidValueError, match="on behalf of its owner"):
            self.decide(face, harness, yes, actor=BOB)
        assert ran(store, "r").status is RunStatus.WAITING_FOR_APPROVAL

    def test_a36_a_state_that_cannot_be_read(self, face: Face, store: RunStore) -> None:
        """It is told, in the inbox too, and the row is as it was."""
        harness = self.held(face, store, ("change", {"what": "a"}))
        decision = self.waiting(store).decision(0, approve=True)
        live = store.live("r")
        assert live is not None

        class Corrupt(Wrapped):
            def live(self, run_id: str) -> Any:
                return self.found  # type: ignore[attr-defined]

        for found in (None, attrs.evolve(live, state={"nonsense": 1})):
            broken = Corrupt(store)
            broken.found = found  # type: ignore[attr-defined]
            other = Harness(tools=TOOLS, store=broken)
            with pytest.raises(StoreError, match=r"The state of run r (is not in the store|cannot be read)"):
                self.decide(face, other, decision)
            [shown] = RunHistory(broken, BOB).inbox()  # type: ignore[arg-type]
            assert shown.unreadable is not None
            assert shown.calls == ()
        assert ran(store, "r").status is RunStatus.WAITING_FOR_APPROVAL
        assert self.decide(face, harness, decision).content == "done"

    def test_a39_a_configuration_that_is_gone(self, face: Face, store: RunStore) -> None:
        """It is told before anything happens."""
        host = PluginHost([], config=Config(configurations={"night": (Table({"system": "Be brief."}),)}))
        harness = Harness(host, tools=TOOLS, store=store, configuration="night")
        face.run(harness, replies=[calling(("change", {}))], tools=NAMES, actor=ANN, run_id="r")
        other = Harness(tools=TOOLS, store=store)
        with pytest.raises(ConfigurationError, match="night"):
            self.decide(face, other, self.waiting(store).decision(0, approve=True))

        assert ran(store, "r").status is RunStatus.WAITING_FOR_APPROVAL

    def test_a42_a_write_the_approver_could_not_make(self, face: Face, store: RunStore) -> None:
        """Is not theirs to approve; denying it is, and a read is."""
        harness = self.held(face, store, ("erase", {}), ("peek", {}), actor=attrs.evolve(ANN, admin=True))
        waiting = self.waiting(store)
        with pytest.raises(NotPermittedError, match=r"'erase'.*administrators only"):
            self.decide(face, harness, waiting.decision(0, approve=True))
        assert (ran(store, "r"), RAN) == (waiting.run, [])
        result = self.decide(face, harness, waiting.decision(0, approve=False), waiting.decision(1, approve=True))

        assert RAN == []
        assert result.invocations[1].content == "peeked "

    def test_a42_a_tool_that_is_passed_with_the_decision(self, face: Face, store: RunStore) -> None:
        """It is checked as one of the Runtime's is, though the Runtime does not know it."""
        admin = attrs.evolve(ANN, admin=True)
        harness = Harness(store=store)
        face.run(harness, replies=[calling(("erase", {}))], tools=[erase], actor=admin, run_id="r")
        with pytest.raises(NotPermittedError, match=r"'erase'.*administrators only"):
            self.decide(face, harness, self.waiting(store).decision(0, approve=True), tools=[erase])

        assert (RAN, ran(store, "r").status) == ([], RunStatus.WAITING_FOR_APPROVAL)

    @pytest.mark.lesson(53)
    def test_a44_a_service_account(self, face: Face, store: RunStore) -> None:
        """May approve reads, with its scope, and no write."""
        bot = Actor.service("bot", scopes=["runs:approve"])
        harness = self.held(face, store, ("change", {}), ("peek", {}))
        waiting = self.waiting(store, bot)
        with pytest.raises(NotPermittedError, match="a service account approves no write"):
            self.decide(face, harness, waiting.decision(0, approve=True), by=bot)
        again = self.decide(face, harness, waiting.decision(1, approve=True), by=bot)

        assert isinstance(again, Suspended)

    def test_a45_four_eyes(self, face: Face, store: RunStore) -> None:
        """Where a configuration wants it whoever began a run may deny, not approve, an administrator included."""
        host = PluginHost([], config=Config(configurations={"careful": (Table({"four_eyes": True}),)}))
        boss = Actor("ann", admin=True)
        for by in (ANN, boss):
            harness = Harness(host, tools=TOOLS, store=store, configuration="careful")
            face.run(harness, replies=[calling(("change", {}))], tools=NAMES, actor=ANN, run_id=f"r-{by.admin}")
            waiting = RunHistory(store, by).waiting(f"r-{by.admin}")
            assert waiting is not None
            with pytest.raises(SelfApprovalError, match="somebody else than the one who began it"):
                harness.runtime.decide(waiting.run.run_id, [waiting.decision(0, approve=True)], by=by)
            assert (ran(store, waiting.run.run_id), RAN) == (waiting.run, [])
            harness.provider.script("done")
            harness.runtime.decide(waiting.run.run_id, [waiting.decision(0, approve=False)], by=by)
        harness = self.held(face, store, ("change", {"what": "a"}), host=host, configuration="careful")
        self.decide(face, harness, self.waiting(store).decision(0, approve=True))

        assert RAN == [("ann", "a")]

    def test_a_stranger(self, face: Face, store: RunStore) -> None:
        """Cannot tell a run that waits from one that does not, nor from none."""
        harness = self.held(face, store, ("change", {}))
        decision = self.waiting(store).decision(0, approve=True)
        stranger, before = Actor("eve"), ran(store, "r")
        with pytest.raises(RunNotFoundError):
            self.decide(face, harness, decision, by=stranger)
        assert (ran(store, "r"), RAN) == (before, [])
        assert RunHistory(store, stranger).waiting("r") is None
        assert RunHistory(store, stranger).inbox() == ()
        self.decide(face, harness, decision)
        with pytest.raises(RunNotFoundError):
            self.decide(face, harness, decision, by=stranger)
        with pytest.raises(NotWaitingError, match="it is completed"):
            self.decide(face, harness, decision)

        assert RunHistory(store, BOB).waiting("r") is None
        assert RunHistory(store, BOB).waiting("nothing") is None

    def test_without_a_store(self, face: Face) -> None:
        """There is nothing to decide on."""
        with pytest.raises(ConfigurationError, match="without a store"):
            self.decide(face, Harness(store=None), Decision(index=0, approve=True, digest=""))

    def test_a40_a_decision_that_cannot_be_kept(self, face: Face, store: RunStore) -> None:
        """Is not carried out."""
        harness = self.held(face, store, ("change", {}))

        def refuse(change: RunChange) -> None:
            raise OSError("disk full")

        with pytest.raises(StoreError):
            self.decide(
                face,
                Harness(tools=TOOLS, store=Wrapped(store, before=refuse)),
                self.waiting(store).decision(0, approve=True),
            )

        assert harness is not None
        assert (RAN, ran(store, "r").status) == ([], RunStatus.WAITING_FOR_APPROVAL)

    def test_the_inbox(self, face: Face, store: RunStore) -> None:
        """The oldest first, as many as are wanted."""
        with Harness(tools=TOOLS, store=store) as harness:
            for run_id in ("one", "two", "three"):
                face.run(harness, replies=[calling(("change", {}))], tools=NAMES, actor=ANN, run_id=run_id)
        shown = RunHistory(store, BOB).inbox(limit=2)

        assert [one.run.run_id for one in shown] == ["one", "two"]
