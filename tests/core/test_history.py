"""What is at the edges of stored runs: processes, states and stores that are not as they should be."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import attrs
import pytest
from nr_llm import (
    HOST,
    Actor,
    ActorKind,
    ChatMessage,
    MemoryStore,
    Policy,
    RunChange,
    RunClaimedError,
    RunHistory,
    RunStatus,
    Scope,
    StoreError,
    Suspended,
    SuspensionError,
)
from nr_llm._aside import aside
from nr_llm._calls import discard
from nr_llm._entries import common
from nr_llm._segments import process_is_there
from nr_llm._threads import DaemonThreads
from nr_llm.actors import Actor as Same
from nr_llm.testing import Harness, StoreContract, calling

from tests.core.run_cases import NAMES, TOOLS, Wrapped


class TestActors:
    def test_through_json(self) -> None:
        """An actor is read back as it was; nobody stays nobody."""
        for actor in (
            Actor("ann", admin=True, groups=("staff", "night"), approver=True),
            Actor.service("bot", scopes=["runs:read", "runs:cancel"]),
            Actor.anonymous(),
        ):
            assert Actor.from_dict(actor.to_dict()) == actor
        assert Actor.from_dict(None) is None
        assert Same is Actor

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("nonsense", Actor.anonymous()),
            ({}, Actor.anonymous()),
            ({"id": "ann", "kind": "robot"}, Actor.anonymous()),
            ({"id": 7, "kind": "user"}, Actor.anonymous()),
            ({"id": "ann", "kind": "user", "admin": "yes", "groups": "staff", "approver": 1}, Actor("ann")),
            ({"id": "ann", "kind": "user", "groups": ["a", 7]}, Actor("ann", groups=("a",))),
            (
                {"id": "bot", "kind": "service", "scopes": ["runs:everything", "runs:read"]},
                Actor.service("bot", scopes=[Scope.READ]),
            ),
        ],
    )
    def test_what_is_malformed_gives_less(self, value: Any, expected: Actor) -> None:
        """Never more."""
        assert Actor.from_dict(value) == expected

    def test_no_kind_and_no_scope(self) -> None:
        """A program that names one that is none is told."""
        with pytest.raises(ValueError, match="robot"):
            Actor("x", kind="robot")
        with pytest.raises(ValueError, match="everything"):
            Actor.service("x", scopes=["everything"])
        assert Actor("x").kind is ActorKind.USER


def test_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is somebody else's, or that cannot be known, counts as there."""
    assert process_is_there(os.getpid())
    assert not process_is_there(2**22 + 1)
    assert process_is_there(2**70)

    def forbidden(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    assert process_is_there(1)


def test_an_abandoned_run_whose_state_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    """It is ended all the same, with what its record says."""

    class Corrupt(MemoryStore):
        def live(self, run_id: str) -> Any:
            live = super().live(run_id)
            return None if live is None else attrs.evolve(live, state={"nonsense": 1})

    suite = StoreContract()
    suite.make = Corrupt
    store = suite.begun()
    assert RunHistory(store, HOST, clock=lambda: 2e9).settle_abandoned() == ("run-1",)

    run = store.run("run-1")
    assert run is not None
    assert run.status is RunStatus.FAILED
    assert "cannot be read" in caplog.text


def test_a_store_that_forgets_nothing() -> None:
    """A purge ends all the same."""

    class Stubborn(MemoryStore):
        def delete(self, run_ids: Any) -> int:
            return 0

    store = Stubborn()
    with Harness(store=store) as harness:
        harness.run(replies=["x"])

    assert RunHistory(store, HOST, clock=lambda: 1e11).purge() == 0


class TestTakingUp:
    def held(self, store: Any) -> tuple[Harness, Suspended]:
        """Return a run that waits."""
        harness = Harness(tools=TOOLS, store=store)
        held = harness.run(replies=[calling(("change_it", {}))], tools=NAMES)
        assert isinstance(held, Suspended)
        return harness, held

    def test_gone_in_between(self) -> None:
        """A run that was there when it was looked for, and then was not, is nobody's."""
        harness, held = self.held(store := MemoryStore())

        class Forgetful(Wrapped):
            def run(self, run_id: str) -> None:
                return None

        with pytest.raises(RunClaimedError, match="it is gone"):
            Harness(tools=TOOLS, store=Forgetful(store)).resume(held, replies=["x"])
        assert harness is not None

    def test_a_store_that_fails_meanwhile(self) -> None:
        """Its own words are told."""
        harness, held = self.held(store := MemoryStore())

        def refuse(change: RunChange) -> None:
            raise StoreError("the disk is full")

        broken = Harness(tools=TOOLS, store=Wrapped(store, before=refuse))
        with pytest.raises(StoreError, match="the disk is full"):
            broken.resume(held, replies=["x"])
        [waiting] = RunHistory(store, HOST).inbox()
        with pytest.raises(StoreError, match="the disk is full"):
            broken.runtime.decide("run-1", [waiting.decision(0, approve=True)], by=HOST)
        assert harness is not None


class TestPlainStates:
    """A store that would keep a waiting run's conversation as it is, although its record keeps less."""

    class Plain(MemoryStore):
        encrypts = False

    class Sealed(MemoryStore):
        encrypts = True

    def wait(self, store: Any, **settings: Any) -> Any:
        """Have a run wait."""
        with Harness(tools=TOOLS, store=store, **settings) as harness:
            return harness.run(replies=[calling(("change_it", {}))], tools=NAMES)

    def test_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """The operator hears of it, and the runs wait."""
        store = self.Plain()
        for _ in range(2):
            assert isinstance(self.wait(store), Suspended)
            store._rows.clear()

        assert caplog.text.count("kept whole and unencrypted") == 1

    def test_refused(self) -> None:
        """Where that is wished nobody is asked."""
        store = self.Plain()
        with pytest.raises(SuspensionError, match="unencrypted; nobody is asked"):
            self.wait(store, on_plain_state="refuse")
        run = store.run("run-1")

        assert run is not None
        assert run.status is RunStatus.FAILED

    @pytest.mark.parametrize(
        ("said", "asked", "waits"),
        [("tell", "tell", True), ("tell", "refuse", False), ("refuse", "tell", False), ("refuse", "refuse", False)],
    )
    def test_the_operator_may_refuse_too(self, said: str, asked: Any, waits: bool) -> None:
        """Of what the policy and the program say the stricter counts."""
        policy, store = Policy(plain_state=said), self.Plain()
        if waits:
            assert isinstance(self.wait(store, policy=policy, on_plain_state=asked), Suspended)
        else:
            with pytest.raises(SuspensionError, match="unencrypted; nobody is asked"):
                self.wait(store, policy=policy, on_plain_state=asked)

    @pytest.mark.parametrize(("make", "level"), [(Plain, "full"), (Sealed, "metadata"), (MemoryStore, "metadata")])
    def test_nothing_to_tell(self, make: Any, level: str, caplog: pytest.LogCaptureFixture) -> None:
        """Where everything is kept anyway, or encrypted, or in memory alone."""
        assert isinstance(self.wait(make(), privacy=level, on_plain_state="refuse"), Suspended)
        assert "unencrypted" not in caplog.text


def test_what_conversations_share() -> None:
    """Their beginning, message by message, also where one was replaced or is gone."""
    a, b, c = (ChatMessage.user(text) for text in "abc")

    assert [common((a, b), now) for now in ((a, b, c), (a, c), (a,), (), (c, a, b))] == [2, 1, 1, 0, 0]


def test_what_is_no_coroutine_is_left_alone() -> None:
    """Only a coroutine complains of having been forgotten."""
    discard(object())


class TestAside:
    def test_what_it_returns_and_raises(self) -> None:
        """As the call does; what would end a program is an error of its own here."""

        def interrupt() -> None:
            raise KeyboardInterrupt

        def fail() -> None:
            raise LookupError("no")

        async def main() -> None:
            threads = DaemonThreads()
            assert await aside(threads, lambda: 7) == 7
            with pytest.raises(LookupError, match="no"):
                await aside(threads, fail)
            with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
                await aside(threads, interrupt)

        asyncio.run(main())

    @pytest.mark.parametrize("fails", [False, True])
    def test_a_task_that_is_cancelled_waits_for_the_end(self, fails: bool) -> None:
        """And is cancelled then."""
        begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

        def call() -> None:
            begun.set()
            go_on.wait(60)
            ended.set()
            if fails:
                raise LookupError

        async def main() -> None:
            task = asyncio.create_task(aside(DaemonThreads(), call))
            await asyncio.to_thread(begun.wait, 60)
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ended.is_set()

        asyncio.run(main())

    def test_a_loop_that_is_gone(self) -> None:
        """Nobody is left to tell."""
        go_on, ended = threading.Event(), threading.Event()

        def call() -> None:
            go_on.wait(60)
            ended.set()

        loop = asyncio.new_event_loop()
        task = loop.create_task(aside(DaemonThreads(), call))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        go_on.set()
        assert ended.wait(60)
        task.get_coro().close()  # type: ignore[union-attr]
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is, and that is the point
