"""Stores on both databases, each empty."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nr_llm_store import SqlStore

from tests.postgres import PostgresServer

Make = Callable[..., SqlStore]


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Return what makes an empty store on one of the databases."""
    made: list[SqlStore] = []
    numbers = itertools.count()
    databases: list[str] = []

    def sqlite(**options: Any) -> SqlStore:
        return SqlStore(tmp_path / f"runs-{next(numbers)}.db", **options)

    def postgresql(**options: Any) -> SqlStore:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        name = f"store_{abs(hash(tmp_path))}_{next(numbers)}"
        databases.append(name)
        store = SqlStore(server.create_database(name), **options)
        store.upgrade()
        return store

    def create(**options: Any) -> SqlStore:
        store = (sqlite if request.param == "sqlite" else postgresql)(**options)
        made.append(store)
        return store

    yield create
    for store in made:
        store.close()
    for name in databases:
        request.getfixturevalue("postgres_server").drop_database(name)
