"""Runs that go on and are watched, with the store in memory: what is refused is refused before anything is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm import (
    Actor,
    Event,
    Finished,
    InvalidInputError,
    InvalidValueError,
    MemoryStore,
    RunCancelledError,
    RunClaimedError,
    RunExistsError,
    RunHistory,
    RunResult,
    RunStatus,
    RunStep,
    StaleDecisionError,
    StepKind,
    StepRecorded,
    Suspended,
    TextDelta,
    WaitingRun,
    tool,
)
from nr_llm.feed import Feed, lines
from nr_llm.testing import Harness, calling

from tests.core.run_cases import Face, Wrapped, face, kinds, ran

__all__ = ["face"]

ANN = Actor("ann")
RAN: list[str] = []


@tool(effect="write")
def change(what: str = "") -> str:
    """Write, with a person's consent."""
    RAN.append(what)
    return f"changed {what}"


@tool(form={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]})
def confirm(code: str = "") -> str:
    """Confirm."""
    RAN.append(code)
    return "confirmed"


TOOLS, NAMES = [change, confirm], ["change", "confirm"]


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Forget what ran before."""
    RAN.clear()


def held(store: Any, *calls: Any, **settings: Any) -> Harness:
    """Return a harness with a run that waits, which is to answer that it is done."""
    harness = Harness(tools=TOOLS, store=store, **settings)
    assert isinstance(harness.run(replies=[calling(*calls)], tools=NAMES, actor=ANN, run_id="r"), Suspended)
    harness.provider.script("all done")
    return harness


def waiting(store: Any) -> WaitingRun:
    """Return the run that waits."""
    found = RunHistory(store, ANN).waiting("r")
    assert found is not None
    return found


def stream(face: Face, harness: Harness, what: str, *args: Any, begin: bool = False, **settings: Any) -> Any:
    """Stream in a colour; return the events and the stream."""
    runtime = harness.runtime
    if face.colour == "sync":
        with getattr(runtime, what)(*args, **settings) as watched:
            if begin:
                watched.begin()
            return list(watched), watched

    async def main() -> Any:
        made = getattr(runtime, f"a{what}")(*args, **settings)
        async with await made if asyncio.iscoroutine(made) else made as watched:
            if begin:
                await watched.begin()
            return [event async for event in watched], watched

    return asyncio.run(main())


class Watcher:
    """Notes the steps it sees."""

    def __init__(self, seen: list[RunStep]) -> None:
        self._seen = seen

    def step(self, step: RunStep) -> None:
        self._seen.append(step)


def text(events: list[Event]) -> str:
    """Return what the model wrote, piece by piece."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize("begin", [False, True])
class TestWatched:
    """What goes on is streamed like what begins."""

    def test_decided(self, face: Face, begin: bool) -> None:
        """The call runs and the answer comes in pieces; the last event is the end."""
        store = MemoryStore()
        harness = held(store, ("change", {"what": "a"}))
        decision = waiting(store).decision(0, approve=True)
        events, watched = stream(face, harness, "stream_decide", "r", [decision], by=ANN, begin=begin)

        assert RAN == ["a"]
        assert text(events) == "all done"
        assert harness.requests[-1].run_id == watched.run_id == "r"
        assert isinstance(events[-1], Finished)
        assert events[-1].outcome is watched.outcome
        assert isinstance(watched.outcome, RunResult)
        assert ran(store, "r").status is RunStatus.COMPLETED

    def test_who_decided_is_told_first(self, face: Face, begin: bool) -> None:
        """Whoever watches, live or by the stream, sees what was decided before what came of it, as the record does."""
        store, seen = MemoryStore(), list[RunStep]()
        harness = held(store, ("change", {"what": "a"}), live=[lambda _: Watcher(seen)])
        del seen[:]
        decision = waiting(store).decision(0, approve=True)
        events, _ = stream(face, harness, "stream_decide", "r", [decision], by=ANN, begin=begin)
        steps = [event.step for event in events if isinstance(event, StepRecorded)]

        assert (steps[0].kind, steps[0].decided_by) == (StepKind.APPROVAL, ANN.id)
        assert steps == seen
        kept = [one.step.kind for one in store.steps("r")]
        assert [str(step.kind) for step in steps] == kept[-len(steps) :]

    def test_submitted(self, face: Face, begin: bool) -> None:
        """As of a decision."""
        store = MemoryStore()
        harness = held(store, ("confirm", {}))
        given = waiting(store).submission(0, {"code": "7"})
        events, watched = stream(face, harness, "stream_submit", "r", [given], by=ANN, begin=begin)

        assert (RAN, text(events), watched.outcome.content) == (["7"], "all done", "all done")

    def test_resumed(self, face: Face, begin: bool) -> None:
        """A run whose state the host keeps."""
        harness = Harness(tools=TOOLS, store=None)
        kept = harness.run(replies=[calling(("change", {"what": "a"}))], tools=NAMES)
        harness.provider.script("all done")
        events, watched = stream(face, harness, "stream_resume", kept, True, begin=begin)

        assert (RAN, text(events), watched.outcome.content) == (["a"], "all done", "all done")

    def test_it_may_wait_again(self, face: Face, begin: bool) -> None:
        """What nobody decided on waits on, and the last event says so."""
        store = MemoryStore()
        harness = held(store, ("change", {"what": "a"}), ("change", {"what": "b"}))
        decision = waiting(store).decision(0, approve=True)
        events, _ = stream(face, harness, "stream_decide", "r", [decision], by=ANN, begin=begin)

        assert RAN == []
        assert isinstance(events[-1], Finished)
        assert isinstance(events[-1].outcome, Suspended)


class TestRefused:
    """What is refused is raised where the stream is asked for, or where it begins."""

    @pytest.mark.parametrize("form", [False, True])
    def test_stale(self, face: Face, form: bool) -> None:
        """No stream is made of a stale decision or submission, and the run waits as it did."""
        store = MemoryStore()
        harness = held(store, ("confirm", {}) if form else ("change", {}))
        seen = waiting(store)
        given: Any = seen.submission(0, {"code": "7"}) if form else seen.decision(0, approve=True)
        stale = attrs.evolve(given, digest="0" * 64)
        with pytest.raises(StaleDecisionError):
            stream(face, harness, "stream_submit" if form else "stream_decide", "r", [stale], by=ANN)

        assert RAN == []
        assert ran(store, "r") == seen.run

    def test_what_does_not_fit(self, face: Face) -> None:
        """Nor of values that do not fit the form, or of verdicts about calls that are not there."""
        store = MemoryStore()
        harness = held(store, ("confirm", {}))
        seen = waiting(store)
        with pytest.raises(InvalidInputError):
            stream(face, harness, "stream_submit", "r", [seen.submission(0, {"code": 7})], by=ANN)
        with pytest.raises(InvalidValueError, match="no index of a pending call"):
            stream(face, harness, "stream_resume", seen.state, {9: True})

        assert RAN == []
        assert ran(store, "r") == seen.run

    def test_nothing_happens_before(self, face: Face) -> None:
        """A stream nobody begins leaves the run as it waits."""
        store = MemoryStore()
        harness = held(store, ("change", {"what": "a"}))
        decision = waiting(store).decision(0, approve=True)
        if face.colour == "sync":
            harness.runtime.stream_decide("r", [decision], by=ANN).close()
        else:

            async def leave() -> None:
                await (await harness.runtime.astream_decide("r", [decision], by=ANN)).aclose()

            asyncio.run(leave())

        assert RAN == []
        assert ran(store, "r").status is RunStatus.WAITING_FOR_APPROVAL

    def test_claimed_by_another(self, face: Face) -> None:
        """Of two streams of one decision the first to begin has the run; the other raises before any event."""
        store = MemoryStore()
        harness = held(store, ("change", {"what": "a"}))
        decision = waiting(store).decision(0, approve=True)
        if face.colour == "sync":
            first, second = (harness.runtime.stream_decide("r", [decision], by=ANN) for _ in range(2))
            first.begin()
            first.begin()
            with pytest.raises(RunClaimedError):
                second.begin()
            assert isinstance(list(first)[-1], Finished)
            assert list(second) == []
        else:
            asyncio.run(self.race(harness, decision))

        assert RAN == ["a"]

    async def race(self, harness: Harness, decision: Any) -> None:
        """Begin twice, the second time in vain."""
        first, second = [await harness.runtime.astream_decide("r", [decision], by=ANN) for _ in range(2)]
        await first.begin()
        await first.begin()
        with pytest.raises(RunClaimedError):
            await second.begin()
        assert isinstance([event async for event in first][-1], Finished)
        assert [event async for event in second] == []

    def test_a_new_run_of_a_name_that_is_taken(self, face: Face) -> None:
        """Whoever begins it knows before its first event."""
        harness = Harness(store=MemoryStore())
        harness.run(replies=["hi"], run_id="r")
        with pytest.raises(RunExistsError):
            stream(face, harness, "stream", "again", run_id="r", begin=True)

    def test_left_once_begun(self, face: Face) -> None:
        """The run is settled, and its record says so."""
        store = MemoryStore()
        harness = held(store, ("change", {"what": "a"}))
        decision = waiting(store).decision(0, approve=True)
        if face.colour == "sync":
            with harness.runtime.stream_decide("r", [decision], by=ANN) as watched:
                watched.begin()
        else:

            async def leave() -> None:
                async with await harness.runtime.astream_decide("r", [decision], by=ANN) as watched:
                    await watched.begin()

            asyncio.run(leave())

        assert RAN == []
        assert ran(store, "r").status is RunStatus.CANCELLED
        assert kinds(store, "r") == ["request", "llm", "approval", "approval"]

    def test_cancelled_as_it_begins(self, face: Face) -> None:
        """The end is the first event, and not lost."""
        stop: list[Callable[[], None]] = []

        class Stopping(Wrapped):
            def create(self, head: Any, change: Any) -> None:
                super().create(head, change)
                stop[0]()
                raise RunCancelledError("stopped while it was written")

        harness = Harness(store=Stopping(MemoryStore()))
        harness.provider.script("hi")
        if face.colour == "sync":
            watched: Any = harness.runtime.stream("hi")
            stop.append(watched.cancel)
            watched.begin()
            events = list(watched)
        else:

            async def main() -> list[Event]:
                watched = harness.runtime.astream("hi")
                stop.append(watched.cancel)
                await watched.begin()
                return [event async for event in watched]

            events = asyncio.run(main())

        [end] = events
        assert isinstance(end, Finished)
        assert isinstance(end.outcome, RunResult)
        assert str(end.outcome.reason) == "cancelled"


def test_a_feed_of_a_segment() -> None:
    """Its lines begin and end like those of any run, also where it has begun before."""
    store = MemoryStore()
    harness = held(store, ("change", {"what": "a"}))
    decision = waiting(store).decision(0, approve=True)
    watched = harness.runtime.stream_decide("r", [decision], by=ANN)
    watched.begin()
    told = list(lines(watched, Feed()))

    assert told[0].startswith('{"event":"context","seq":0,"run_id":"r"')
    assert told[-1].startswith('{"event":"done"')
