"""Leases and fences, with the store in memory; how a lease is kept up, and the names that segments have."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import InvalidValueError, MemoryStore, RunChange, RunHead, Runtime, StoreError
from nr_llm._leases import Lease, Leases
from nr_llm._segments import MACHINE_CHARACTERS, machine, numbered_by, process_of, segment_name
from nr_llm.testing import Harness

from tests.core.lease_cases import LeaseCases
from tests.core.run_cases import Wrapped, face, look, ran
from tests.core.waiting import AGES, until

__all__ = ["TestMemory", "face"]


class TestMemory(LeaseCases):
    """Kept in memory."""


@attrs.define
class Clock:
    """A clock that stands still until it is set."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def lease(store: Any, clock: Callable[[], float], *, owner: str = "me") -> Lease:
    """Return a lease of 900 seconds of a run that is held by ``me``."""
    held = Lease(store=store, run_id="r", owner=owner, seconds=900.0, clock=clock)
    if store.run("r") is None:
        held.until = clock() + 900
        store.create(RunHead(run_id="r", model="m"), RunChange(run_id="r", at=clock(), claim="me", lease=held.until))
    return held


def test_a_lease_is_kept_up() -> None:
    """When a third of it has passed; not before, nor before the run is held at all."""
    store, clock = MemoryStore(), Clock()
    held = lease(store, clock)
    clock.now += 300
    held.keep_up()
    assert (held.until, ran(store, "r").lease) == (1_900, 1_900)
    clock.now += 1
    held.keep_up()
    assert (held.until, ran(store, "r").lease) == (2_201, 2_201)

    lease(store, clock).keep_up()

    assert ran(store, "r").lease == 2_201


def test_a_lease_of_another() -> None:
    """Is not kept up: the run is left to whoever has it."""
    store, clock = MemoryStore(), Clock()
    held = lease(store, clock)
    store.write(RunChange(run_id="r", at=1.0, claim="thief", lease=5.0))
    clock.now += 800
    held.keep_up()

    assert (held.until, ran(store, "r").lease, ran(store, "r").owner) == (1_900, 5.0, "thief")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> Leases:
    """Return leases that are looked at all the time."""
    monkeypatch.setattr("nr_llm._leases.SOONEST", 0.0001)
    return Leases(0.001)


def idle(leases: Leases) -> bool:
    """Say whether nothing is kept up any more."""
    return not leases._awake


def test_the_thread(often: Leases) -> None:
    """Keeps up what is minded, also after the store has failed, and ends when there is nothing more."""
    store, times, renewed = MemoryStore(), iter([True]), threading.Event()

    def fail(change: RunChange) -> None:
        if next(times, False):
            raise StoreError("The disk is full.")
        renewed.set()

    held = [lease(Wrapped(store, before=fail), clock=lambda: 1e9) for _ in range(2)]
    for each in held:
        each.until = 1.0
        often.mind(each)
    assert renewed.wait(AGES)
    for each in held:
        often.leave(each)
    until(lambda: idle(often))
    renewed.clear()
    held[0].until = 1.0
    often.mind(held[0])

    assert renewed.wait(AGES), "it begins again"


def test_what_is_forgotten(often: Leases) -> None:
    """Is not kept up: a run that nobody holds any more, as when its process was told to forget it, ends by itself."""
    looked = threading.Event()
    held = lease(Wrapped(MemoryStore(), before=lambda change: looked.set()), clock=lambda: 1e9)
    held.until = 1.0
    often.mind(held)
    assert looked.wait(AGES)
    del held

    until(lambda: idle(often))


def test_a_call_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run is held all the time, though nothing is recorded."""
    monkeypatch.setattr("nr_llm._leases.SOONEST", 0.0001)
    store, leases = MemoryStore(), []

    def answer(request: object) -> str:
        began = ran(store).lease
        until(lambda: ran(store).lease > began)
        leases.append(ran(store).lease)
        return "done"

    with Harness(tools=[look], store=store, lease_seconds=0.01) as harness:
        harness.run(replies=[answer])

    assert len(leases) == 1


def test_a_fork_keeps_up_nothing_of_its_parents(often: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own runs it does, with a thread of its own."""
    store, other = MemoryStore(), MemoryStore()
    parents, own = lease(store, Clock()), lease(other, Clock(1e6))
    often.mind(parents)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    often.leave(parents)
    own.until = 1.0
    often.mind(own)
    until(lambda: own.until > 1.0)

    assert set(often._held) == {own}


def told_by(folder: Path, boot: str) -> str:
    """Return who numbers processes, where a system tells of a start of its kernel."""
    (folder / "sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (folder / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
    (folder / "self/ns").mkdir(parents=True, exist_ok=True)
    (folder / "self/ns/pid").touch()
    return numbered_by(folder)


def test_machines_of_one_name(tmp_path: Path) -> None:
    """Two starts of a kernel, and two containers on one, number processes each for itself."""
    one, two = told_by(tmp_path / "a", "b00t"), told_by(tmp_path / "b", "b00t")
    again = told_by(tmp_path / "a", "another")

    assert len({one, two, again}) == 3
    assert one.startswith("b00t:")
    assert one == told_by(tmp_path / "a", "b00t")


@pytest.mark.parametrize("told", [True, False])
def test_a_segments_name(told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is short enough, however long the machine's; one of another machine says nothing of processes here."""
    monkeypatch.setattr("socket.gethostname", lambda: "a" * 60)
    monkeypatch.setattr("nr_llm._segments.numbered_by", lambda proc: told_by(tmp_path, "x") if told else "")
    machine.cache_clear()
    try:
        name = segment_name()
        assert len(machine()) == MACHINE_CHARACTERS
        assert len(name) < 64
        assert process_of(name) == os.getpid()
        assert [process_of(other) for other in (None, "", f"b{name[1:]}", "a:b:c")] == [None] * 4
    finally:
        machine.cache_clear()


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    """Nothing is invented."""
    assert numbered_by(tmp_path) == ""


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), True, "900", 1e9])
def test_a_lease_that_is_none(seconds: object) -> None:
    """It is refused by name."""
    with pytest.raises(InvalidValueError, match="lease_seconds"):
        Runtime(lease_seconds=seconds)  # type: ignore[arg-type]
