"""
What a thousand runs that wait for a person cost: memory of the process, bytes of the store, time to go on with one.

    python -m tests.bench.suspended_runs [--runs 1000] [--level metadata]

The runs are held with one write each and kept in a SQLite store in a folder of their own; each is approved in the end.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from nr_llm import HOST, Actor, RunHistory, Runtime, Suspended, tool
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_store import SqlStore

ANN = Actor("ann")


@tool(effect="write", data_class="content")
def put(what: str) -> str:
    """Put something."""
    return f"put {what}"


def main() -> None:
    """Hold the runs, look at them, approve each, and print what that took."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=1_000)
    asked.add_argument("--level", default="metadata")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(given.runs, given.level, Path(folder) / "runs.db")


def measure(runs: int, level: str, path: Path) -> None:
    """Print the figures for a number of runs at a privacy level."""
    provider = ScriptedProvider(calling(("put", {"what": "x" * 200})))
    store = SqlStore(f"sqlite:///{path}")
    with Runtime(tools=[put], providers=[provider], model="scripted:m", store=store, privacy=level) as runtime:
        hold(runtime, "warm")
        gc.collect()
        tracemalloc.start()
        before = resident()
        names = [f"run-{number}" for number in range(runs)]
        spent = [timed(lambda name=name: hold(runtime, name)) for name in names]  # type: ignore[misc]
        gc.collect()
        objects, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        told("held", spent)
        more = resident() - before
        print(f"stay in memory: objects of {objects / runs:,.0f} B a run, of {more / runs:,.0f} B resident")
        print(f"the store's file: {sum(p.stat().st_size for p in path.parent.iterdir()) / runs:,.0f} B a run")
        history = RunHistory(store, HOST)
        print(f"the inbox of {runs}: {timed(lambda: tuple(history.inbox(limit=runs))) * 1e3:,.0f} ms")
        provider.script("done")
        told("approved and gone on with", [timed(lambda name=name: go_on(runtime, history, name)) for name in names])  # type: ignore[misc]
    store.close()


def hold(runtime: Runtime, name: str) -> None:
    """Begin a run that waits."""
    assert isinstance(runtime.run("hi", tools=["put"], actor=ANN, run_id=name), Suspended)


def go_on(runtime: Runtime, history: RunHistory, name: str) -> None:
    """Approve its call and have it end."""
    waiting = history.waiting(name)
    assert waiting is not None
    runtime.decide(name, [waiting.decision(0, approve=True)], by=ANN)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def told(what: str, seconds: list[float]) -> None:
    """Print the spread of some times."""
    ordered = sorted(seconds)
    last = ordered[int(len(ordered) * 0.95)]
    print(f"{what}: median {statistics.median(ordered) * 1e3:.1f} ms, 95 % within {last * 1e3:.1f} ms")


def resident() -> int:
    """Return the bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
