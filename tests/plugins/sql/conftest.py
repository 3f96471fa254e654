"""Databases to read, and the guarded way into them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from nr_llm_sql._connection import Guarded

from tests.plugins.sql import books, postgres
from tests.plugins.sql.books import ORDERS, Book
from tests.plugins.sql.databases import SHOP, Make, Open, entered
from tests.plugins.sql.postgres import Postgres
from tests.postgres import PostgresServer


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


@pytest.fixture(scope="session")
def pg_standing(postgres_server: PostgresServer) -> Iterator[Postgres]:
    """Provide a PostgreSQL database that is emptied for each test that fills it."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: psycopg[binary]")
    with postgres.database(postgres_server, "sql_standing") as made:
        yield made


@pytest.fixture
def pg(pg_standing: Postgres) -> Postgres:
    """Return an empty PostgreSQL database."""
    pg_standing.empty()
    return pg_standing


@pytest.fixture(scope="session")
def pg_shop(postgres_server: PostgresServer) -> Iterator[Postgres]:
    """Provide the shop in PostgreSQL; it stands for all tests, since none may write to it."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: psycopg[binary]")
    with postgres.database(postgres_server, "sql_shop", postgres.SHOP) as made:
        yield made


MakeBook = Callable[..., Book]


@pytest.fixture(params=["sqlite", "postgres"])
def make_book(request: pytest.FixtureRequest, tmp_path: Path) -> MakeBook:
    """Return what makes a database that may be written to from a script, on each of the databases."""

    def make(script: str = ORDERS, **settings: Any) -> Book:
        settings = settings or {"write": books.WRITE, "drafts": books.DRAFTS}
        if request.param == "sqlite":
            return books.sqlite_book(tmp_path / "book.db", script, **settings)
        return books.postgres_book(request.getfixturevalue("pg"), script, **settings)

    return make


@pytest.fixture
def book(make_book: MakeBook) -> Book:
    """Return a shop whose orders may be changed and created."""
    return make_book()
