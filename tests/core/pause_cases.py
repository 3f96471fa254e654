"""
Acceptance cases of turns that wait, written once and tried with every store: subclass `PauseCases`, say `store`.

The numbers are those of the reference, ``a26`` to ``a47`` of the runtime's and ``c77`` to ``c86`` of the tool-calling
cases; those about decisions are in `decision_cases`, those about forms in `input_cases`.
"""

from __future__ import annotations

import logging
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    Checkpoint,
    CompletionResponse,
    Decision,
    MemoryStore,
    RunChange,
    RunHistory,
    RunStatus,
    RunStore,
    StoreError,
    Suspended,
    Toolbox,
    Usage,
    WaitingRun,
    open_previews,
    tool,
)
from nr_llm.approvals import call_digest
from nr_llm.previews import WITHHELD
from nr_llm.testing import Harness, calling

from tests.core.run_cases import Face, Wrapped, kinds, look, ran

ANN, BOB = Actor("ann"), Actor("bob", approver=True)
RAN: list[str] = []


@tool(effect="write")
def change(what: str = "") -> str:
    """Write, with a person's consent."""
    RAN.append(f"change {what}")
    return f"changed {what}"


@tool(effect="write", approval=False)
def put() -> str:
    """Write at once."""
    RAN.append("put")
    return "put"


@tool(effect="idempotent_write", remote=True)
def send() -> str:
    """Write elsewhere."""
    RAN.append("send")
    return "sent"


@tool(effect="idempotent_write", remote=True, approval=False)
def push() -> str:
    """Write elsewhere, at once."""
    RAN.append("push")
    return "pushed"


@tool(remote=True)
def fetch() -> str:
    """Read elsewhere."""
    return "fetched"


@tool(effect="write", preview=lambda: ["x" * 600] * 25)
def tell_all() -> str:
    """Write, with a long preview."""
    return "told"


def fails() -> str:
    """Raise, with what must not be kept."""
    raise RuntimeError("hunter2")


@tool(effect="write", preview=fails)
def tell_nothing() -> str:
    """Write, with a preview that fails."""
    return "told"


@tool(effect="write", preview=lambda: "")
def say_nothing() -> str:
    """Write, with an empty preview."""
    return "said"


TOOLS = [look, change, put, send, push, fetch, tell_all, tell_nothing, say_nothing]
NAMES = [each.name for each in TOOLS]


class PauseCases:
    """The cases; `store` is an empty store."""

    @pytest.fixture
    def store(self) -> RunStore:
        """Return an empty store."""
        return MemoryStore()

    @pytest.fixture(autouse=True)
    def nothing_ran(self) -> None:
        """Forget what ran before."""
        RAN.clear()

    def begin(self, face: Face, store: Any, *replies: Any, tools: Any = NAMES, **settings: Any) -> Any:
        """Run a conversation of Ann's, named ``r``."""
        with Harness(tools=TOOLS, store=store, **settings) as harness:
            return face.run(harness, replies=replies, tools=tools, actor=ANN, run_id="r")

    def waiting(self, store: RunStore) -> WaitingRun:
        """Return the run as Bob sees it, who may decide."""
        found = RunHistory(store, BOB).waiting("r")
        assert found is not None
        return found

    def decide(self, store: Any, *decisions: Decision, replies: Any = ("done",)) -> Any:
        """Decide in another process: with a Runtime of its own."""
        with Harness(tools=TOOLS, store=store) as harness:
            harness.provider.script(*replies)
            return harness.runtime.decide("r", decisions, by=BOB)

    # -- what waits ---------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("name", "waits"),
        [("change", True), ("put", False), ("look", False), ("send", True), ("push", False), ("fetch", False)],
    )
    def test_a26_a27_c86_what_waits(self, face: Face, store: RunStore, name: str, waits: bool) -> None:
        """Each write waits, elsewhere too, where nobody has said that it need not; no read does."""
        outcome = self.begin(face, store, calling((name, {})), "done")

        assert isinstance(outcome, Suspended) is waits
        assert ran(store, "r").status is (RunStatus.WAITING_FOR_APPROVAL if waits else RunStatus.COMPLETED)
        assert not (waits and RAN)

    def test_a28_c81_a_tool_that_is_not_offered(self, face: Face, store: RunStore) -> None:
        """Asks nobody: its call is refused, and the run goes on."""
        outcome = self.begin(face, store, calling(("change", {})), "done", tools=["look"])

        assert outcome.content == "done"
        assert outcome.invocations[0].is_error
        assert kinds(store, "r") == ["request", "llm", "policy", "tool", "request", "llm"]
        assert RAN == []

    @pytest.mark.lesson(72)
    def test_a29_c77_a_turn_that_waits(self, face: Face, store: RunStore) -> None:
        """Nothing of it has run, the read included, and all of it is in the stored state."""
        self.begin(face, store, calling(("look", {}), ("change", {}), ("put", {})))
        state = self.waiting(store).state

        assert state is not None
        assert [message.role for message in state.messages] == ["user", "assistant"]
        assert [pending.call.name for pending in state.pending] == ["look", "change", "put"]
        assert (state.rounds, state.calls, RAN) == (1, 0, [])
        assert kinds(store, "r") == ["request", "llm", "approval"]

    def test_a30_c78_c80_a_second_suspension(self, face: Face, store: RunStore) -> None:
        """Rounds, calls and tokens go on counting over all of it, in the record as in the result."""
        self.begin(face, store, calling(("change", {"what": "a"}), usage=Usage(10, 1)))
        again = calling(("change", {"what": "b"}), usage=Usage(20, 2))
        second = self.decide(store, self.waiting(store).decision(0, approve=True), replies=[again])
        assert isinstance(second, Suspended)
        assert (second.state.rounds, second.state.suspensions, second.state.usage) == (2, 2, Usage(30, 3))
        result = self.decide(
            store,
            self.waiting(store).decision(0, approve=True),
            replies=[CompletionResponse(content="done", usage=Usage(40, 4))],
        )

        assert (result.rounds, result.usage, RAN) == (3, Usage(70, 7), ["change a", "change b"])
        totals = ran(store, "r").totals
        assert (totals.rounds, totals.calls, totals.usage) == (3, 2, Usage(70, 7))

    @pytest.mark.lesson(120)
    def test_a_run_within_a_run_waits_by_itself(self, face: Face, store: RunStore) -> None:
        """Its question outlives the run whose tool began it: another process finds it, and answers."""

        @tool
        def ask_another() -> str:
            """Ask another model."""
            return str(self.begin(Face("sync"), store, calling(("change", {"what": "a"}))).run_id)

        with Harness(tools=[ask_another], store=store) as outer:
            asking = calling(("ask_another", {}))
            result = face.run(outer, replies=[asking, "It waits."], tools=[ask_another], actor=ANN, run_id="outer")

        assert (result.invocations[0].content, ran(store, "outer").status) == ("r", RunStatus.COMPLETED)
        assert ([one.run.run_id for one in RunHistory(store, BOB).inbox()], RAN) == (["r"], [])
        self.decide(store, self.waiting(store).decision(0, approve=True))
        assert RAN == ["change a"]

    # -- what a decision is about -------------------------------------------------------------------------------

    def test_a35_what_a_digest_covers(self, face: Face, store: RunStore) -> None:
        """The call and the turn: nothing that was said, and each argument; the same in memory and from a store."""
        held = self.begin(face, store, calling(("change", {"what": "a", "b": {"z": 1, "y": [None]}}), ("change", {})))
        [shown] = [call for call in self.waiting(store).calls if call.index == 1]
        call, state = held.state.pending[1].call, held.state
        other = attrs.evolve(call, arguments={"what": "b"})

        assert shown.digest == call_digest(state, 1, call)
        assert shown.digest == call_digest(attrs.evolve(state, messages=()), 1, call)
        assert len({shown.digest, call_digest(state, 1, other), call_digest(state, 0, call)}) == 3
        later = attrs.evolve(state, suspensions=state.suspensions + 1)
        assert call_digest(later, 1, call) != shown.digest
        assert call_digest(attrs.evolve(state, run_id="s"), 1, call) != shown.digest

    # -- a store that fails -------------------------------------------------------------------------------------

    def test_a37_unreadable_after_the_claim(self, face: Face, store: RunStore) -> None:
        """The run is ended as failed, and nothing of the turn has run: nobody can say what was decided on."""

        class Unreadable(Wrapped):
            def transcript(self, run_id: str) -> Any:
                raise StoreError("The disk is gone.")

        self.begin(face, store, calling(("change", {})), privacy="full")
        decision = self.waiting(store).decision(0, approve=True)
        with pytest.raises(StoreError, match="disk is gone"):
            self.decide(Unreadable(store), decision)

        assert (ran(store, "r").status, ran(store, "r").error, RAN) == (RunStatus.FAILED, "StoreError", [])
        assert kinds(store, "r") == ["request", "llm", "approval", "approval"]

    @pytest.mark.parametrize("method", ["run", "live"])
    def test_a38_unreadable_before_the_claim(self, face: Face, store: RunStore, method: str) -> None:
        """The decision is refused before anything has changed."""

        def broken(self: Any, run_id: str) -> Any:
            raise StoreError("The disk is gone.")

        self.begin(face, store, calling(("change", {})))
        decision, before = self.waiting(store).decision(0, approve=True), ran(store, "r")
        unreadable = type("Unreadable", (Wrapped,), {method: broken})
        with pytest.raises(StoreError, match="disk is gone"):
            self.decide(unreadable(store), decision)

        assert (ran(store, "r"), RAN) == (before, [])

    def test_a41_a_denial_that_cannot_be_kept(self, face: Face, store: RunStore) -> None:
        """Is no denial yet: who decided what is on record before it counts, whatever it was."""

        def refuse(change: RunChange) -> None:
            raise OSError("disk full")

        self.begin(face, store, calling(("change", {})))
        denial = self.waiting(store).decision(0, approve=False)
        with pytest.raises(StoreError):
            self.decide(Wrapped(store, before=refuse), denial)
        assert ran(store, "r").status is RunStatus.WAITING_FOR_APPROVAL
        result = self.decide(store, denial)

        assert (result.content, RAN) == ("done", [])

    # -- previews -----------------------------------------------------------------------------------------------

    def test_a46_c82_previews(self, face: Face, store: RunStore, caplog: pytest.LogCaptureFixture) -> None:
        """Are cut before they are kept; one that fails or says nothing is a line that says so, and the turn waits."""
        caplog.set_level(logging.CRITICAL, logger="nr_llm")
        self.begin(face, store, calling(("tell_all", {}), ("tell_nothing", {}), ("say_nothing", {})))
        state = self.waiting(store).state

        assert state is not None
        long, failed, empty = state.previews
        assert (len(long.lines), {len(line) for line in long.lines[:20]}) == (21, {500})
        assert (failed.failed, failed.lines) == (True, ("The preview failed with RuntimeError.",))
        assert (empty.failed, empty.lines) == (True, ("The preview is empty.",))
        assert "hunter2" not in str(store.live("r"))

    def test_a47_whose_preview_it_is(self, face: Face, store: RunStore) -> None:
        """To whom the tool is not open, or when it is gone, a stored preview is withheld."""
        self.begin(face, store, calling(("tell_all", {})))
        state = self.waiting(store).state
        assert state is not None

        assert open_previews(state.previews, Toolbox.of(TOOLS)) == state.previews
        for toolbox in (Toolbox.of([]), Toolbox({"tell_all": tell_all}, ())):
            assert [one.lines for one in open_previews(state.previews, toolbox)] == [(WITHHELD,)]

    def test_c85_a_state_without_previews(self, face: Face, store: RunStore) -> None:
        """A run that was kept before there were any goes on."""
        self.begin(face, store, calling(("tell_all", {})))
        live = store.live("r")
        assert live is not None
        older = {key: value for key, value in live.state.items() if key != "previews"}
        assert len(older) < len(live.state)
        waits = frozenset({RunStatus.WAITING_FOR_APPROVAL})
        kept = Checkpoint(state=older, start=len(live.messages))
        assert store.write(RunChange(run_id="r", at=1.0, expect=waits, checkpoint=kept)).applied

        result = self.decide(store, self.waiting(store).decision(0, approve=True))

        assert [call.content for call in result.invocations] == ["told"]
