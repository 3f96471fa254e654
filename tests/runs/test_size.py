"""What a round adds to a store is the same at its beginning and after two hundred rounds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from nr_llm import Limits, RunChange, Written
from nr_llm.testing import Harness, calling

from tests.runs.victim import look

store_plugin = pytest.importorskip("nr_llm_store", reason="the store plugin is not installed here")

ROUNDS = 200


def held(path: Path) -> int:
    """Return the bytes of all values in a database, the live state included."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        total = 0
        for table in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            lengths = " + ".join(f"coalesce(length(CAST({column} AS BLOB)), 0)" for column in columns)
            total += connection.execute(f"SELECT coalesce(sum({lengths}), 0) FROM {table}").fetchone()[0]
    connection.close()
    return total


@pytest.mark.parametrize("level", ["metadata", "redacted", "full"])
def test_a_round_adds_what_is_new(level: str, tmp_path: Path) -> None:
    """Over two hundred rounds of one run, within one part in fifty, and so does each single write."""
    path = tmp_path / "runs.db"
    sizes: list[int] = []
    written: list[int] = []

    class Measured(store_plugin.SqlStore):  # type: ignore[misc,name-defined]
        def write(self, change: RunChange) -> Written:
            done: Written = super().write(change)
            if any(step.kind == "llm" for step in change.steps):
                sizes.append(held(path))
            written.append(len(change.transcript) + len(change.checkpoint.messages if change.checkpoint else ()))
            return done

    replies = [*(calling(("look", {"what": "x" * 100})) for _ in range(ROUNDS - 1)), "done"]
    with Harness(tools=[look], store=Measured(path), privacy=level) as harness:
        harness.run(replies=replies, limits=Limits(rounds=ROUNDS))

    early, late = sizes[60] - sizes[20], sizes[190] - sizes[150]
    assert len(sizes) == ROUNDS
    assert abs(late - early) < early / 50  # numbers get longer
    assert max(written) <= 4  # what a round says and what it is answered, as record and as live state
