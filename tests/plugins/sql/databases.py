"""A small shop's database and the ways into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nr_llm_sql import SqlSettings
from nr_llm_sql._access import Access
from nr_llm_sql._catalogue import sources
from nr_llm_sql._connection import Guarded, Halt, connected, guarded

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, password_hash TEXT, city TEXT);
INSERT INTO customers VALUES (1, 'Ada', 'f00', 'Leipzig'), (2, 'Ben', 'ba4', NULL), (3, 'Cem', '123', 'Leipzig');
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), status TEXT, total REAL, paid BOOLEAN
);
CREATE INDEX orders_by_status ON orders (status);
INSERT INTO orders VALUES (4, 1, 'open', 9.5, 0), (9, 2, 'open', 20.0, 1), (11, 1, 'sent', 5.25, 1);
CREATE TABLE api_keys (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO api_keys VALUES (1, 'do not show');
"""

Make = Callable[..., Path]
Open = Callable[..., Guarded]


@contextmanager
def entered(path: Path, *, stop: Callable[[], bool] = lambda: False, **settings: Any) -> Iterator[Guarded]:
    """Open a database with the guard on it, as the tools do."""
    host = SqlSettings(database=path, **settings)
    halt = Halt(stop, deadline=1, clock=lambda: 0)
    with connected(host, halt) as connection:
        yield guarded(connection, Access(host, sources(connection)), halt)


def ask(guard: Guarded, sql: str, *parameters: object, cap: int = 50) -> list[tuple[object, ...]]:
    """Run a statement as a model might have written it."""
    return guard.select(sql, parameters, cap=cap, row=tuple)
