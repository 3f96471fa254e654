"""Watches runs and keeps what they showed, so that a test asserts on values instead of on calls."""

from __future__ import annotations

from itertools import chain
from typing import Any

import attrs

from nr_llm._observers import RunInfo
from nr_llm.events import Delta, TextDelta
from nr_llm.records import RunChange, RunHead, StoredRun, Written
from nr_llm.state import RunState
from nr_llm.steps import RunStep
from nr_llm.stores import MemoryStore


@attrs.define(eq=False)
class Recording:
    """
    What one run, or one segment of it, showed.

    Attributes:
        info: The run.
        steps: Its steps, artifacts and all.
        deltas: Its deltas, when it was streamed.
        end: The state it ended with, or None while it goes on.
    """

    info: RunInfo
    steps: list[RunStep] = attrs.field(factory=list)
    deltas: list[Delta] = attrs.field(factory=list)
    end: RunState | None = None

    def step(self, step: RunStep) -> None:
        """Keep a step."""
        self.steps.append(step)

    def delta(self, delta: Delta) -> None:
        """Keep a delta."""
        self.deltas.append(delta)

    def close(self, state: RunState) -> None:
        """Keep how it ended."""
        self.end = state


class Recorder:
    """
    Records runs: pass it as ``Runtime(live=[recorder])``.

    Attributes:
        runs: One recording for each run, in the order in which they began.
    """

    def __init__(self) -> None:
        self.runs: list[Recording] = []

    def __call__(self, info: RunInfo) -> Recording:
        """Return the observer of one run."""
        self.runs.append(Recording(info))
        return self.runs[-1]

    @property
    def steps(self) -> list[RunStep]:
        """The steps of all runs."""
        return list(chain.from_iterable(run.steps for run in self.runs))

    @property
    def deltas(self) -> list[Delta]:
        """The deltas of all runs."""
        return list(chain.from_iterable(run.deltas for run in self.runs))

    @property
    def text(self) -> str:
        """The text that was streamed, joined."""
        return "".join(delta.text for delta in self.deltas if isinstance(delta, TextDelta))

    @property
    def ends(self) -> list[RunState]:
        """The states in which runs ended."""
        return [run.end for run in self.runs if run.end is not None]

    @property
    def trace(self) -> list[dict[str, Any]]:
        """The steps of all runs as JSON, without durations: equal runs have equal traces, whatever their colour."""
        found = [step.to_dict() for step in self.steps]
        return [{name: value for name, value in step.items() if name != "duration_ms"} for step in found]


class Checkpoints(MemoryStore):
    """
    A run store in memory: pass it as ``Runtime(store=...)`` and restart a run from any of its states.

    Unlike other stores it lets a run begin anew under its old name.

    Attributes:
        at_once: True: no checkpoint is left out.
        states: Every checkpoint, in order, read back from what was stored.
        ends: What runs, or segments of them, ended as.
    """

    at_once = True

    def __init__(self) -> None:
        super().__init__()
        self.states: list[RunState] = []
        self.ends: list[StoredRun] = []

    def create(self, head: RunHead, change: RunChange) -> None:
        """Keep a run, in place of one of the same name."""
        self._rows.pop(head.run_id, None)
        super().create(head, change)
        self._note(change)

    def write(self, change: RunChange) -> Written:
        """Keep a change, and the state it leads to."""
        written = super().write(change)
        self._note(change)
        return written

    def _note(self, change: RunChange) -> None:
        live, run = self.live(change.run_id), self.run(change.run_id)
        if change.checkpoint is not None and live is not None and change.status is None:
            self.states.append(live.load())
        if change.status is not None and run is not None:
            self.ends.append(run)
