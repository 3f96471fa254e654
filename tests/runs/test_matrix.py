"""
Where a secret and a word that is none end up: eight places × four privacy levels × every sink, as a table.

``pytest -s tests/runs/test_matrix.py`` prints it.  A letter says what is there: S the secret, m the other word.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from nr_llm import (
    HOST,
    CompletionResponse,
    PluginHost,
    RunHistory,
    ServiceError,
    ToolArtifact,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)
from nr_llm._json import encode
from nr_llm.config import Config
from nr_llm.testing import Harness, calling

from tests.postgres import PostgresServer

store_plugin = pytest.importorskip("nr_llm_store", reason="the store plugin is not installed here")

SECRET = "tiger-lily-7781-canary"
MARKER = "plain-marker-3309-canary"
BOTH = f"{MARKER} {SECRET}"
PLACES = ("arguments", "result", "cell", "label", "exception", "provider error", "model text", "log")
KEPT = ("arguments", "result", "cell", "label", "model text")
"""Places whose words belong into a record; the others' stay out of it at every level."""
LEVELS = ("none", "metadata", "redacted", "full")
SINKS = ("sqlite", "sqlite file", "postgresql", "postgresql dump", "ndjson export", "plugin observer", "log")


@tool
def act(place: str, what: str = "") -> ToolResult:
    """Do what is told."""
    if place == "exception":
        raise RuntimeError(BOTH)
    cell = BOTH if place == "cell" else "x"
    label = BOTH if place == "label" else "x"
    return ToolResult.text(BOTH if place == "result" else "x", ToolArtifact.table(label, ["a"], [[cell]]))


@tool
def write_log(context: ToolContext) -> str:
    """Write to the log."""
    context.log.warning("The word is %s", BOTH)
    return "logged"


class Watching:
    """A plugin that notes what it sees."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def nr_llm_observers(self) -> Any:
        """Watch every run."""
        return [lambda info: self]

    def step(self, step: Any) -> None:
        """Note a step."""
        self.seen.append(step.to_dict())

    def delta(self, delta: Any) -> None:
        """Note a piece."""
        self.seen.append(repr(delta))

    def close(self, end: Any) -> None:
        """Note the end."""
        self.seen.append(repr(end))


def replies(place: str) -> list[Any]:
    """Return what the model says so that the words are in one place."""
    match place:
        case "arguments":
            return [calling(("act", {"place": place, "what": BOTH})), "done"]
        case "provider error":
            return [ServiceError(f"the service says {BOTH}", status=500)]
        case "model text":
            return [CompletionResponse(content=BOTH, reasoning=BOTH)]
        case "log":
            return [calling(("write_log", {})), "done"]
    return [calling(("act", {"place": place})), "done"]


def ran(store: Any, place: str, level: str, *, awaiting: bool) -> str:
    """Run with the words in one place, and return what a plugin saw."""
    plugin = Watching()
    host = PluginHost({"watching": plugin}, config=Config(observe=("watching",)))
    settings: dict[str, Any] = {"replies": replies(place), "tools": [act, write_log], "run_id": f"{place}-{level}"}
    with Harness(host, store=store, privacy=level, secrets={"it": SECRET}, middleware=[]) as harness:
        failing = place == "provider error"
        with pytest.raises(ServiceError) if failing else nullcontext():
            asyncio.run(streamed(harness, settings)) if awaiting else harness.run(**settings)
    return encode(plugin.seen)


async def streamed(harness: Harness, settings: Any) -> None:
    """Run as a stream, so that there are pieces."""
    async with harness.astream(**settings) as stream:
        async for _ in stream:
            pass


def read(store: Any, run_id: str) -> str:
    """Return all that a store gives back of a run."""
    history = RunHistory(store, HOST)
    run = history.get(run_id)
    assert run is not None
    assert store.live(run_id) is None
    parts = [run.to_dict(), run.head.setting, [step.to_dict() for step in history.steps(run_id)]]
    return encode([*parts, [entry.message for entry in store.transcript(run_id)]])


def exported(store: Any, run_id: str) -> str:
    """Return what the command line writes of a run."""
    records = pytest.importorskip("nr_llm_cli.exported", reason="the command line is not installed here").records
    return "\n".join(encode(record) for record in records(store, store.run(run_id)))


def letters(text: str) -> str:
    """Say what of the two is in a text."""
    return ("S" if SECRET in text else "") + ("m" if MARKER in text else "") or "-"


def wanted(place: str, level: str, sink: str) -> str:
    """Return what may be there."""
    if sink == "log":
        return "m" if place in ("exception", "log") else "-"
    if place not in KEPT or level in ("none", "metadata"):
        return "-"
    if place == "result":  # a secret a tool gives away is masked before the model, and so before anybody, reads it
        return "m"
    return "m" if level == "redacted" else "Sm"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """Return the server, with the databases of this test removed in the end."""
    server: PostgresServer = request.getfixturevalue("postgres_server")
    yield server
    for place in range(len(PLACES)):
        for level in LEVELS:
            server.drop_database(f"matrix_{os.getpid()}_{place}_{level}")


@pytest.mark.lesson(58)
@pytest.mark.parametrize("place", PLACES)
def test_matrix(place: str, tmp_path: Path, server: PostgresServer, caplog: pytest.LogCaptureFixture) -> None:
    """Each sink holds what its level allows and nothing else, raw files and dumps of whole databases included."""
    caplog.set_level(logging.DEBUG, logger="nr_llm")
    found: dict[tuple[str, str], str] = {}
    for level in LEVELS:
        caplog.clear()
        run_id = f"{place}-{level}"
        sqlite = store_plugin.SqlStore(tmp_path / f"{level}.db")
        name = f"matrix_{os.getpid()}_{PLACES.index(place)}_{level}"
        postgres = store_plugin.SqlStore(server.create_database(name))
        postgres.upgrade()
        seen = ran(sqlite, place, level, awaiting=False) + ran(postgres, place, level, awaiting=True)
        sinks = {
            "sqlite": read(sqlite, run_id),
            "postgresql": read(postgres, run_id),
            "ndjson export": exported(sqlite, run_id),
            "plugin observer": seen,
            "log": caplog.text,
        }
        sqlite.close()
        postgres.close()
        files = b"".join(path.read_bytes() for path in tmp_path.glob(f"{level}.db*"))
        sinks |= {"sqlite file": files.decode("latin-1"), "postgresql dump": dumped(server, name)}
        found |= {(level, sink): letters(text) for sink, text in sinks.items()}
    print(f"\n{place:<16}" + "".join(f"{sink:>17}" for sink in SINKS))
    for level in LEVELS:
        print(f"{level:<16}" + "".join(f"{found[level, sink]:>17}" for sink in SINKS))

    assert found == {(level, sink): wanted(place, level, sink) for level in LEVELS for sink in SINKS}


def dumped(server: PostgresServer, database: str) -> str:
    """Return everything the tables of a database hold."""
    tables = server.psql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database=database).split()
    rows = [server.psql(f'SELECT row_to_json(t) FROM "{table}" t', database=database) for table in tables]
    assert any(rows)
    return json.dumps(rows, ensure_ascii=False)
