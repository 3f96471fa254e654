"""Steps that follow each other at once are kept together, and nothing that takes time or changes something waits."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from nr_llm import MemoryStore, RunChange, RunStore, StepRecorded, Suspended, ToolContext, Written, tool
from nr_llm.testing import Harness, calling

from tests.core.run_cases import NAMES, TOOLS, Face, face, kinds

__all__ = ["face"]


class Noting(MemoryStore):
    """Notes which steps each change brings, and says when the model's reply is among them."""

    def __init__(self, *, blocking: bool = False) -> None:
        super().__init__()
        self.blocking = blocking
        self.at_once = False
        self.changes: list[list[str]] = []
        self.replied = threading.Event()

    def write(self, change: RunChange) -> Written:
        written = super().write(change)
        if change.status is None:
            self.changes.append([step.kind for step in change.steps])
        if any(step.kind == "llm" for step in change.steps):
            self.replied.set()
        return written


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no step kept by itself because the machine is slow."""
    monkeypatch.setattr("nr_llm._keeping.PATIENCE_SECONDS", 3600.0)


@pytest.fixture(params=[False, True], ids=["quick", "blocking"])
def store(request: pytest.FixtureRequest) -> Noting:
    """Return a store of either kind."""
    return Noting(blocking=request.param)


@pytest.mark.usefixtures("patient")
def test_a_round_that_reads(face: Face, store: Noting) -> None:
    """Its reply, its results and the next request are one change."""
    with Harness(tools=TOOLS, store=store) as harness:
        face.run(harness, replies=[calling(("look", {}), ("look", {})), calling(("look", {})), "done"], tools=NAMES)

    assert store.changes == [["request"], ["llm", "tool", "tool", "request"], ["llm", "tool", "request"], ["llm"]]


@pytest.mark.usefixtures("patient")
def test_a_round_that_writes(face: Face, store: Noting) -> None:
    """The reply is kept before the write begins, and its result before anything else does."""
    with Harness(tools=TOOLS, store=store) as harness:
        face.run(harness, replies=[calling(("put", {}), ("put", {}), ("look", {})), "done"], tools=NAMES)

    assert store.changes == [["request"], ["llm"], ["tool"], [], ["tool"], ["tool", "request"], ["llm"]]


def test_a_read_that_takes_time(face: Face, store: Noting) -> None:
    """The reply that asked for it is kept while it runs."""

    @tool
    def wait() -> str:
        """Wait until the reply is in the store."""
        return str(store.replied.wait(30))

    with Harness(tools=[wait], store=store) as harness:
        result = face.run(harness, replies=[calling(("wait", {}), ("wait", {})), "done"], tools=["wait"])

    assert [call.content for call in result.invocations] == ["True", "True"]
    assert store.changes[:2] == [["request"], ["llm"]]


def test_a_step_that_has_waited_long_enough(face: Face, store: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept with the next record, whatever follows that; here none may wait at all."""
    monkeypatch.setattr("nr_llm._keeping.PATIENCE_SECONDS", 0.0)
    with Harness(tools=TOOLS, store=store) as harness:
        face.run(harness, replies=[calling(("look", {})), "done"], tools=NAMES)

    assert store.changes == [["request"], ["llm"], ["tool"], ["request"], ["llm"]]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("watched", [False, True])
def test_a_call_that_a_person_is_asked_about(face: Face, store: Noting, watched: bool) -> None:
    """The reply is kept before its preview is made, which may take time."""
    seen: list[bool] = []

    def preview(context: ToolContext) -> str:
        seen.append(store.replied.is_set())
        return "It would."

    @tool(effect="write", preview=preview)
    def change() -> str:
        """Write, with a person's consent."""
        return "changed"

    store.at_once = watched
    with Harness(tools=[change], store=store) as harness:
        held = face.run(harness, replies=[calling(("change", {}))], tools=["change"])

    assert isinstance(held, Suspended)
    assert seen == [True]
    assert store.changes == [["request"], ["llm"], ["approval"]]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_run_that_is_watched(colour: str, store: Noting) -> None:
    """Whoever is told of a step finds it in the store."""
    told: list[str] = []
    replies = [calling(("look", {})), "done"]

    def look(event: Any, kept: RunStore) -> None:
        if isinstance(event, StepRecorded):
            told.append(event.step.kind)
            assert kinds(kept) == told

    async def watch(harness: Harness) -> None:
        async with harness.astream(replies=replies, run_id="run-1", tools=NAMES) as stream:
            async for event in stream:
                look(event, store)

    with Harness(tools=TOOLS, store=store) as harness:
        if colour == "async":
            asyncio.run(watch(harness))
        else:
            with harness.stream(replies=replies, run_id="run-1", tools=NAMES) as stream:
                for event in stream:
                    look(event, store)

    assert told == ["request", "llm", "tool", "request", "llm"]
