"""Wherever a run is stopped, and however, its history is valid and tells the truth about what ran."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nr_llm import (
    Cancellation,
    ChatMessage,
    NrLlmError,
    RunChange,
    RunHead,
    RunState,
    TerminationReason,
    Written,
    settle,
)
from nr_llm.testing import Checkpoints, Harness

from tests.integration.depth import tried
from tests.integration.world import Script, World, answers, model, named, scripts

NOT_EXECUTED = "Not executed"
WRITES = {"write", "awrite", "put"}
PLACES = ("consumer", "store", "store, after", "model", "tool", "observer")


@attrs.define(eq=False)
class Trap:
    """
    Stops a run: the time that `place` is passed for the `position`-th time.

    Attributes:
        place: Where.
        how: ``raise`` an error, ``interrupt`` as Ctrl-C does, ``cancel`` the run or ``leave`` the stream.
        position: The how-manieth time, from 1.
        cancel: The run's switch.
        sprung: Whether it was reached.
    """

    place: str
    how: str
    position: int
    cancel: Cancellation = attrs.field(factory=Cancellation)
    sprung: bool = False
    passed: dict[str, int] = attrs.field(factory=dict)

    def __call__(self, place: str) -> bool:
        """Pass a place; return whether the stream is to be left here."""
        self.passed[place] = self.passed.get(place, 0) + 1
        if (place, self.passed[place]) != (self.place, self.position):
            return False
        self.sprung = True
        if self.how == "raise":
            raise ZeroDivisionError(place)
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "cancel":
            self.cancel.cancel("by the test")
        if self.how == "cancel the task":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return self.how == "leave"


class Store(Checkpoints):
    """A store that springs a trap before or after it has kept a checkpoint."""

    def __init__(self, trap: Trap, world: World) -> None:
        super().__init__()
        self.trap = trap
        self.world = world
        self.began: list[int] = []

    def create(self, head: RunHead, change: RunChange) -> None:
        """Keep a run, and that no call had begun by then."""
        with self._trapped(change):
            super().create(head, change)

    def write(self, change: RunChange) -> Written:
        """Keep a checkpoint, and how many calls had begun by then."""
        with self._trapped(change):
            return super().write(change)

    @contextmanager
    def _trapped(self, change: RunChange) -> Iterator[None]:
        if change.status is not None:  # the end of a run is no checkpoint
            yield
            return
        self.trap("store")
        self.began.append(len(self.world.entered))
        yield
        self.trap("store, after")


class Observer:
    """An observer that springs a trap."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def step(self, step: Any) -> None:
        """See a step."""
        self.trap("observer")


@attrs.frozen
class Stopped:
    """What is left of a stopped run."""

    state: RunState
    world: World
    store: Store
    error: BaseException | None


def stopped(script: Script, trap: Trap, *, colour: str) -> Stopped:
    """Run a script into a trap."""
    world = World()
    world.at = lambda number: trap("tool")
    store = Store(trap, world)
    answer = model(script)

    def reply(request: Any) -> Any:
        trap("model")
        return answer(request)

    with Harness(live=[lambda info: Observer(trap)], store=store) as harness:
        settings = {"replies": [reply], "tools": world.tools, "cancel": trap.cancel}
        follow = watched if colour == "sync" else lambda *args: asyncio.run(awatched(*args))
        streams: list[Any] = []
        error: BaseException | None = None
        try:
            follow(harness, settings, trap, streams)
        except BaseException as caught:
            error = caught
        return Stopped(streams[0].state, world, store, error)


def watched(harness: Harness, settings: Any, trap: Trap, streams: list[Any]) -> None:
    """Watch a run in the blocking colour."""
    streams.append(harness.stream(**settings))
    with streams[0]:
        for _ in streams[0]:
            if trap("consumer"):
                return


async def awatched(harness: Harness, settings: Any, trap: Trap, streams: list[Any]) -> None:
    """Watch a run in the awaiting colour."""
    streams.append(harness.astream(**settings))
    async with streams[0]:
        async for _ in streams[0]:
            if trap("consumer"):
                return
            await asyncio.sleep(0)


def check(left: Stopped) -> None:
    """Check that a history is valid, ended, true, and may be gone on with."""
    state = left.state
    told = answers(state.messages)
    lies = [call for call in left.world.entered if told[call].startswith(NOT_EXECUTED)]

    assert [] == lies
    assert state.ended
    assert () == state.pending
    assert told.keys() == named(state.messages).keys()
    with Harness() as harness:
        assert "on" == harness.run([*state.messages, ChatMessage.user("Go on.")], replies=["on"]).content  # type: ignore[union-attr]


def check_kept(left: Stopped) -> None:
    """Check what another process would find if this one had died at any moment."""
    for number, checkpoint in enumerate(left.store.states):
        told = answers(settle(checkpoint, TerminationReason.FAILED).messages)
        by_then = left.store.began[number + 1] if number + 1 < len(left.store.began) else len(left.world.entered)
        names = named(checkpoint.messages)
        begun = [call for call in left.world.entered[:by_then] if names.get(call) in WRITES]

        assert [] == [call for call in begun if told[call].startswith(NOT_EXECUTED)]


TRAPS = [
    pytest.param(place, how, id=f"{place}: {how}")
    for place in PLACES
    for how in ("raise", "interrupt", "cancel", "leave")
    # Only a consumer can leave.  Ctrl-C reaches the thread that runs the program, never a tool's.
    if (how != "leave" or place == "consumer") and (how != "interrupt" or place not in {"tool", "model"})
]
MIXED: Script = [[("read", {}), ("write", {}), ("aread", {}), ("awrite", {"n": 1})], [("put", {}), ("read", {})]]


@pytest.mark.lesson(48, 141)
@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize(("place", "how"), TRAPS)
@tried(25)
@given(scripts, st.integers(1, 14))
@example(MIXED, 2)
@example(MIXED, 4)
@example(MIXED, 6)
def test_stopped_anywhere(place: str, how: str, colour: str, script: Script, position: int) -> None:
    """However a run is stopped, what ran is never called not executed, in the end and in every checkpoint."""
    left = stopped(script, Trap(place, how, position), colour=colour)

    check(left)
    check_kept(left)


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize(("place", "how"), TRAPS)
def test_stopped_everywhere(place: str, how: str, colour: str) -> None:
    """The same at every single event, checkpoint, request and call of one run."""
    for position in count(1):
        trap = Trap(place, how, position)
        left = stopped(MIXED, trap, colour=colour)
        check(left)
        check_kept(left)
        if not trap.sprung:
            break

    assert position > {"model": 3, "tool": 6}.get(place, 10)


@pytest.mark.lesson(141)
@tried(60)
@given(scripts, st.integers(1, 30))
@example(MIXED, 7)
def test_a_cancelled_task_anywhere(script: Script, position: int) -> None:
    """Cancelling the task that watches settles the run, too."""
    left = stopped(script, Trap("consumer", "cancel the task", position), colour="async")

    check(left)
    check_kept(left)


EXPECTED: dict[tuple[str, str], Callable[[BaseException | None], bool]] = {
    ("consumer", "raise"): lambda error: isinstance(error, ZeroDivisionError),
    ("consumer", "interrupt"): lambda error: isinstance(error, KeyboardInterrupt),
    ("consumer", "leave"): lambda error: error is None,
    ("store", "raise"): lambda error: isinstance(error, NrLlmError) and "ZeroDivisionError" in str(error),
    ("model", "raise"): lambda error: isinstance(error, ZeroDivisionError),
    ("tool", "raise"): lambda error: error is None,
    ("observer", "raise"): lambda error: error is None,
    ("store", "cancel"): lambda error: error is None,
}


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize(("place", "how"), EXPECTED)
def test_traps_spring(place: str, how: str, colour: str) -> None:
    """The traps are reached, so that the properties above are about stopped runs; each ends as it should."""
    trap = Trap(place, how, 2)
    left = stopped(MIXED, trap, colour=colour)

    assert trap.sprung
    assert EXPECTED[place, how](left.error)
    failed, goes_on = how == "raise" and place in {"store", "model"}, place in {"tool", "observer"}
    assert ("completed" if goes_on else "failed" if failed else "cancelled") == left.state.reason


def test_a_lie_would_be_found() -> None:
    """The check itself: a history that calls a call not executed which began is refused."""
    left = stopped(MIXED, Trap("store", "raise", 3), colour="sync")
    denied = [name for name, text in answers(left.state.messages).items() if text.startswith(NOT_EXECUTED)]
    left.world.entered.append(denied[0])

    with pytest.raises(AssertionError):
        check(left)
