"""Stores on both databases, each empty."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from nr_llm_store import SqlStore

from tests.postgres import PostgresServer

Make = Callable[..., SqlStore]

_EMPTY = "TRUNCATE nr_llm_run, nr_llm_event, nr_llm_message, nr_llm_live_message, nr_llm_usage"


@pytest.fixture(scope="session")
def free_databases() -> list[str]:
    """Return addresses of databases with empty tables that no test uses now: to make one takes long."""
    return []


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path, free_databases: list[str]) -> Iterator[Make]:
    """Return what makes an empty store on one of the databases."""
    made: list[SqlStore] = []
    used: list[str] = []
    numbers = itertools.count()

    def sqlite(**options: Any) -> SqlStore:
        return SqlStore(tmp_path / f"runs-{next(numbers)}.db", **options)

    def postgresql(**options: Any) -> SqlStore:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        fresh = not free_databases
        used.append(server.create_database(f"store_{uuid.uuid4().hex[:12]}") if fresh else free_databases.pop())
        store = SqlStore(used[-1], **options)
        if fresh:
            store.upgrade()
        return store

    def create(**options: Any) -> SqlStore:
        store = (sqlite if request.param == "sqlite" else postgresql)(**options)
        made.append(store)
        return store

    yield create
    for store in made:
        store.close()
    free_databases += filter(_emptied, used)


def _emptied(address: str) -> bool:
    """Empty a database for the next test; False if its tables are no longer as they were made."""
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("SET lock_timeout = '10s'")
        connection.exec_driver_sql(_EMPTY)
        return connection.exec_driver_sql("SELECT version_num FROM nr_llm_version").scalars().all() == ["0001"]
