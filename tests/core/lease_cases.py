"""
Acceptance cases of leases and fences, written once and tried with every store: subclass `LeaseCases`.

The numbers are those of the reference: ``a61`` to ``a66``. a65 and a66 are in `run_cases`, which wants c62 to hold.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    Cancellation,
    MemoryStore,
    Role,
    RunCancelledError,
    RunChange,
    RunClaimedError,
    RunHead,
    RunHistory,
    RunResult,
    RunStatus,
    RunStore,
    StepRecord,
    StoreError,
    Suspended,
    ToolContext,
    tool,
)
from nr_llm._abandoned import ABANDONED
from nr_llm.records import WAITING
from nr_llm.testing import Harness, calling

from tests.core.run_cases import NAMES, TOOLS, Face, Wrapped, everything, fences, kinds, look, ran

SHORT = 0.001
"""A lease that has ended when a write begins, since `tarry` comes before."""

RAN: list[str] = []


@tool(effect="write", approval=False)
def put(context: ToolContext) -> str:
    """Write at once."""
    RAN.append(context.call_id)
    return "wrote"


@tool(effect="idempotent_write", approval=False)
async def mark() -> str:
    """Write at once, in the event loop."""
    RAN.append("mark")
    return "marked"


@tool(effect="write", approval=False)
def plan() -> str:
    """Return what is written when it is awaited, a while later."""
    time.sleep(2 * SHORT)
    written: Any = mark.function()
    return written  # type: ignore[no-any-return]


WRITERS = ["put", "mark", "plan"]


def later() -> float:
    """Return the time when every lease has ended."""
    return time.time() + 1e6


def settled(store: RunStore) -> tuple[str, ...]:
    """Do as a program does that starts when every lease has ended."""
    return RunHistory(store, HOST, clock=later).settle_abandoned()


def asks(change: RunChange) -> bool:
    """Say whether a change only asks whether the run is still held."""
    return change.checkpoint is None and change.status is None and not change.steps


def tarry(change: RunChange) -> None:
    """Let a process be paused for longer than a lease, right after the fence."""
    if fences(change):
        time.sleep(2 * SHORT)


class LeaseCases:
    """The cases; `make` returns an empty store."""

    @pytest.fixture
    def store(self) -> RunStore:
        """Return an empty store."""
        return MemoryStore()

    @pytest.fixture(autouse=True)
    def nothing_ran(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Forget what ran before, and have no step kept by itself because the machine is slow."""
        monkeypatch.setattr("nr_llm._keeping.PATIENCE_SECONDS", 3600.0)
        RAN.clear()

    def harness(self, store: Any, **settings: Any) -> Harness:
        """Return a harness whose leases end at once."""
        paused = Wrapped(store, after=tarry)
        return Harness(
            tools=[look, put, mark, plan], store=paused, privacy="full", **{"lease_seconds": SHORT, **settings}
        )

    # -- who holds a run ----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("place", ["request", "fence", "tool", "end"])
    def test_a61_a_run_that_was_taken_over(self, face: Face, store: RunStore, place: str) -> None:
        """A process that was taken for dead stops at its next step, and leaves the record as it finds it."""
        left: list[str] = []

        def take_over(change: RunChange) -> None:
            kinds = ["end"] if change.status else ["fence"] if fences(change) else [step.kind for step in change.steps]
            if place in kinds and not left:
                assert settled(store) == ("run-1",)
                left.append(everything(store))

        with self.harness(Wrapped(store, before=take_over)) as harness, pytest.raises(RunClaimedError) as caught:
            face.run(harness, replies=[calling(("look", {}), ("put", {})), "done"], tools=["look", "put"])

        assert left == [everything(store)]
        assert caught.value.status == ran(store).raw_status
        assert store.live("run-1") is None
        assert len(RAN) == (place in ("tool", "end"))

    def test_a62_a_renewal_that_changes_nothing(self, store: RunStore) -> None:
        """A segment that renews its lease twice in a moment still holds the run."""
        with self.harness(store) as harness:
            harness.run(replies=[calling(("look", {})), "x"], tools=["look"], run_id="other")
        head = attrs.evolve(ran(store, "other").head, run_id="run-1")
        store.create(head, RunChange(run_id="run-1", at=5.0, claim="me", lease=9.0))
        renewal = RunChange(run_id="run-1", at=5.0, owner="me", lease=9.0)

        assert [store.write(renewal).applied for _ in range(2)] == [True, True]

    def test_a63_a64_a_fence(self, face: Face, store: RunStore) -> None:
        """Before a write it is kept that it starts, under a lease, and its step takes that back; not so of a read."""
        seen: list[Any] = []

        def look_up(change: RunChange) -> None:
            state, run = store.live("run-1"), ran(store)
            started = [p.started for p in state.load().pending] if state is not None else None
            seen.append(([step.kind for step in change.steps], started, run.lease is not None))

        with Harness(tools=TOOLS, store=Wrapped(store, after=look_up)) as harness:
            face.run(harness, replies=[calling(("look", {}), ("put", {}), ("look", {})), "done"], tools=NAMES)

        assert seen[:4] == [
            (["request"], [], True),
            (["llm", "tool"], [True, False], True),
            (["tool"], [False], True),
            (["tool", "request"], [], True),
        ]

    # -- between the fence and the write ------------------------------------------------------------------------

    @pytest.mark.parametrize("name", WRITERS)
    def test_a_write_after_a_takeover(self, face: Face, store: RunStore, name: str) -> None:
        """A process that was paused between the fence and the write finds the run taken, and does not write."""

        def take_over(change: RunChange) -> None:
            if asks(change):
                assert settled(store) == ("run-1",)

        with self.harness(Wrapped(store, before=take_over)) as harness, pytest.raises(RunClaimedError) as caught:
            face.run(harness, replies=[calling((name, {}))], tools=[name])

        assert RAN == []
        assert (caught.value.status, ran(store).error) == ("failed", ABANDONED)
        answers = [m.content for m in RunHistory(store, HOST).conversation("run-1") if m.role is Role.TOOL]
        assert "outcome is unknown" in answers[0]

    def test_a_coroutine_begins_when_it_is_awaited(self, face: Face, store: RunStore) -> None:
        """So a takeover between its making and its beginning is noticed, too."""
        times = iter([True])

        def take_over(change: RunChange) -> None:
            if asks(change) and not next(times, False):
                assert settled(store) == ("run-1",)

        with self.harness(Wrapped(store, before=take_over)) as harness, pytest.raises(RunClaimedError):
            face.run(harness, replies=[calling(("plan", {}))], tools=["plan"])

        assert RAN == []

    @pytest.mark.parametrize("name", WRITERS)
    def test_a_write_after_a_lease_that_nobody_took(self, face: Face, store: RunStore, name: str) -> None:
        """It is renewed, and the write is made."""
        leases: list[float | None] = []

        def note(change: RunChange) -> None:
            leases.append(ran(store).lease)

        with self.harness(Wrapped(store, after=note)) as harness:
            result = face.run(harness, replies=[calling((name, {})), "done"], tools=[name])

        assert result.content == "done"
        assert len(RAN) == 1
        assert None not in leases[:-1]
        assert leases[:-1] == sorted(leases[:-1])  # type: ignore[type-var]

    @pytest.mark.parametrize("name", WRITERS)
    def test_a_write_within_its_lease(self, face: Face, store: RunStore, name: str) -> None:
        """Costs no further question; a read never does."""
        asked: list[RunChange] = []
        wrapped = Wrapped(store, before=lambda change: asked.append(change) if asks(change) else None)
        with self.harness(wrapped, lease_seconds=900) as harness:
            face.run(harness, replies=[calling((name, {})), "done"], tools=[name])
        with self.harness(wrapped) as harness:
            face.run(harness, replies=[calling(("look", {})), "done"], tools=["look"], run_id="run-2")

        assert (len(RAN), asked) == (1, [])

    @pytest.mark.parametrize("name", WRITERS)
    def test_a_store_that_fails_as_a_write_begins(self, face: Face, store: RunStore, name: str) -> None:
        """The write is not made, and the record says so: it is known, unlike after the fence alone."""

        def fail(change: RunChange) -> None:
            if asks(change):
                raise OSError("the disk is gone")

        with (
            self.harness(Wrapped(store, before=fail), on_store_failure="continue") as harness,
            pytest.raises(StoreError, match="failed at 'hold' of run run-1: OSError"),
        ):
            face.run(harness, replies=[calling((name, {}))], tools=[name])

        assert RAN == []
        assert (ran(store).status, ran(store).error) == (RunStatus.FAILED, "StoreError")
        answers = [m.content for m in RunHistory(store, HOST).conversation("run-1") if m.role is Role.TOOL]
        assert answers == ["Not executed: the run was not held any more."]

    def test_cancelled_as_a_write_is_refused(self, store: RunStore) -> None:
        """Nobody waits for it any more, and what became of it is known all the same."""
        cancel = Cancellation()

        def fail(change: RunChange) -> None:
            if asks(change):
                cancel.cancel("enough")
                raise OSError("the disk is gone")

        with self.harness(Wrapped(store, before=fail)) as harness:
            try:
                result = harness.run(replies=[calling(("put", {}))], tools=["put"], cancel=cancel)
            except (StoreError, RunCancelledError) as error:  # whichever was noticed first
                result = error.state  # type: ignore[union-attr]

        assert RAN == []
        assert isinstance(result, RunResult) or result.ended

    # -- who may take it up -------------------------------------------------------------------------------------

    def test_taken_up_between_look_and_claim(self, face: Face, store: RunStore) -> None:
        """A run that went on and waits again meanwhile is not taken up from the state before: no write is repeated."""
        later_turn: list[Any] = []

        def overtake(change: RunChange) -> None:
            if change.expect == WAITING and not later_turn:
                later_turn.append(None)
                with Harness(tools=TOOLS, store=store) as other:
                    later_turn.append(other.resume(first, replies=[calling(("change_it", {"what": "b"}))]))

        with Harness(tools=TOOLS, store=store) as harness:
            first = face.run(harness, replies=[calling(("change_it", {"what": "a"}))], tools=NAMES)
        with Harness(tools=TOOLS, store=Wrapped(store, before=overtake)) as late:
            with pytest.raises(RunClaimedError, match="waiting_for_approval"):
                face.resume(late, first, replies=["again"])
            assert isinstance(later_turn[1], Suspended)
            face.resume(late, later_turn[1], replies=["done"])

        assert kinds(store).count("tool") == 2
        assert ran(store).status is RunStatus.COMPLETED

    @pytest.mark.parametrize("renewed", ["lease", "step"])
    def test_a73_renewed_between_look_and_end(self, store: RunStore, renewed: str) -> None:
        """A run whose process turns out to be there is left alone."""

        def renew(change: RunChange) -> None:
            if change.status is RunStatus.FAILED:
                steps = (StepRecord(kind="tool", round=1),) if renewed == "step" else ()
                lease = 1.0 if steps else 2e9
                store.write(RunChange(run_id="run-1", at=1.0, owner="me", lease=lease, sequence=0, steps=steps))

        head = RunHead(run_id="run-1", model="m")
        store.create(head, RunChange(run_id="run-1", at=1.0, claim="me", lease=1.0))
        held: Any = Wrapped(store, before=renew)

        assert RunHistory(held, HOST, clock=lambda: 1e9).settle_abandoned() == ()
        assert (ran(store).status, ran(store).owner) == (RunStatus.RUNNING, "me")

    def test_one_that_cannot_be_settled(self, store: RunStore, caplog: pytest.LogCaptureFixture) -> None:
        """It costs none of the others their end, and is told of; as when a paused process holds its row."""

        def leave(change: RunChange) -> None:
            if any(step.kind == "llm" for step in change.steps):
                store.write(RunChange(run_id=change.run_id, at=change.at, claim="elsewhere:1:x", lease=1.0))

        def fail(change: RunChange) -> None:
            if change.run_id == "run-1":
                raise StoreError("The row is locked.")

        with self.harness(Wrapped(store, after=leave)) as harness:
            for _ in range(2):
                with pytest.raises(RunClaimedError):
                    harness.run(replies=[calling(("look", {}))], tools=["look"])
        caplog.set_level(logging.WARNING)
        held: Any = Wrapped(store, before=fail)

        assert settled(held) == ("run-2",)
        assert "run-1 was abandoned and cannot be settled now: The row is locked." in caplog.text
        assert settled(store) == ("run-1",)
