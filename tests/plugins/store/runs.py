"""Runs to keep, and the changes they go through."""

from __future__ import annotations

from typing import Any

from nr_llm.privacy import StepRecord
from nr_llm.records import Checkpoint, RunChange, RunHead, RunStatus, TranscriptEntry
from nr_llm.stores import RunStore

BEGAN = 1_700_000_000.0
DAY = 86_400.0


def head(run_id: str = "r1", **facts: Any) -> RunHead:
    """Return what a run begins with."""
    return RunHead(run_id=run_id, **{"model": "acme:m", "began": BEGAN, "provenance": PROVENANCE, **facts})


PROVENANCE = {"provider": "acme==1", "tools": {"look": {"package": "acme==1", "schema": "ab"}}}


def change(run_id: str = "r1", **facts: Any) -> RunChange:
    """Return a change by the segment ``me``."""
    return RunChange(run_id=run_id, **{"at": BEGAN + 1, "owner": "me", **facts})


def step(sequence: int, **facts: Any) -> RunChange:
    """Return a change that adds one step."""
    record = StepRecord(kind="llm", round=sequence + 1, payload={"content_length": sequence})
    return change(sequence=sequence, steps=(record,), **facts)


def live(*texts: str, start: int = 0) -> Checkpoint:
    """Return a live state that said some texts."""
    return Checkpoint(state={"note": texts[0]}, start=start, messages=tuple({"content": text} for text in texts))


def begun(store: RunStore, run_id: str = "r1", *texts: str, **facts: Any) -> RunStore:
    """Begin a run, held by ``me``."""
    first = change(run_id, owner=None, claim="me", lease=BEGAN + 900, checkpoint=live(*(texts or ("hello",))))
    store.create(head(run_id, **facts), first)
    return store


def ended(store: RunStore, run_id: str = "r1", *, at: float = BEGAN + 5, **facts: Any) -> RunStore:
    """Begin a run and end it."""
    begun(store, run_id, **facts)
    said = (TranscriptEntry({"content": "hello"}),)
    store.write(
        change(run_id, at=at, status=RunStatus.COMPLETED, reason="completed", transcript=said, steps=step(0).steps)
    )
    return store
