"""
A program that runs one conversation after the other, each kept, until it is killed; not a test itself.

``python -m tests.runs.victim URL SEED CALLS FILE``: its writes add lines to `FILE`; with `CALLS` above 0 it kills
itself at that function call, anywhere in its own code, in the loop, in the store or in the database's driver.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import sys
import threading
from typing import Any

from nr_llm import CompletionResponse, RunChange, RunHead, Suspended, ToolArtifact, ToolContext, ToolResult, Usage, tool
from nr_llm.testing import Harness, calling
from nr_llm_store import SqlStore


@tool
def look(what: str = "") -> ToolResult:
    """Look."""
    return ToolResult.text(f"saw {what}", ToolArtifact.table("Seen", ["what"], [[what]]))


WRITTEN: list[int] = []
"""The file that writes go to, as a descriptor."""


def write(context: ToolContext) -> None:
    """Leave a line that no store undoes."""
    os.write(WRITTEN[0], f"{context.idempotency_key}\n".encode())


@tool(effect="write", approval=False)
def put(context: ToolContext, what: str = "") -> str:
    """Write at once."""
    write(context)
    return f"wrote {what}"


@tool(effect="write")
def change(context: ToolContext, what: str = "") -> str:
    """Write, with a person's consent."""
    write(context)
    return f"changed {what}"


class Telling(SqlStore):
    """Says which runs it has kept, once they are."""

    def create(self, head: RunHead, change: RunChange) -> None:
        """Keep a run, and say so."""
        super().create(head, change)
        sys.stdout.write(f"{head.run_id}\n")
        sys.stdout.flush()


def replies(chance: random.Random) -> list[Any]:
    """Return what the model says in one run."""
    found: list[Any] = []
    for _ in range(chance.randrange(5)):
        names = chance.choices(["look", "put", "change", "nope"], [6, 3, 1, 1], k=chance.randrange(1, 4))
        found.append(calling(*((name, {"what": f"{chance.random():.3f}"}) for name in names)))
    return [*found, CompletionResponse(content="done", usage=Usage(10, 2))]


def die_at(calls: int) -> None:
    """Have this process killed at a function call from now."""
    numbers = itertools.count()

    def count(frame: Any, event: str, argument: Any) -> None:
        if next(numbers) >= calls:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(count)
    sys.setprofile(count)


def main(url: str, seed: int, calls: int, file: str) -> None:
    """Run until killed."""
    WRITTEN.append(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    chance = random.Random(seed)
    tools = ["look", "put", "change"]
    with Harness(tools=[look, put, change], store=Telling(url), privacy="full") as harness:
        harness.run(replies=["warm"], run_id=f"{seed}-warm")
        if calls:
            die_at(calls)
        for number in itertools.count():
            settings: dict[str, Any] = {"replies": replies(chance), "tools": tools, "run_id": f"{seed}-{number}"}
            awaiting = chance.random() < 0.5
            outcome = asyncio.run(harness.arun(**settings)) if awaiting else harness.run(**settings)
            while isinstance(outcome, Suspended) and chance.random() < 0.8:
                outcome = harness.resume(outcome, chance.random() < 0.7, replies=replies(chance))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
