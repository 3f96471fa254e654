"""Databases to read, and the guarded way into them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from nr_llm_sql._connection import Guarded

from tests.plugins.sql.databases import SHOP, Make, Open, entered


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return what creates a database file from an SQL script and rows."""

    def create(script: str = "", *, name: str = "test.db", **inserts: list[tuple[Any, ...]]) -> Path:
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(script)
            for table, rows in inserts.items():
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            connection.commit()
        return path

    return create


@pytest.fixture
def shop(make: Make) -> Path:
    """Return a small shop's database."""
    return make(SHOP, name="shop.db")


@pytest.fixture
def enter() -> Iterator[Open]:
    """Return what opens a database with the guard on it until the test ends."""
    with ExitStack() as stack:

        def guard(path: Path, **options: Any) -> Guarded:
            return stack.enter_context(entered(path, **options))

        yield guard
