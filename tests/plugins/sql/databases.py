"""A small shop's database and the ways into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nr_llm.artifacts import ArtifactType
from nr_llm.contexts import ToolContext
from nr_llm.results import ToolResult
from nr_llm_sql import SqlSettings, sql_tools
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


def call(database: Path | None, name: str, arguments: dict[str, Any] | None = None, **settings: Any) -> ToolResult:
    """Call one tool's function, as the runtime does once the arguments are checked."""
    context = settings.pop("context", None) or ToolContext(tool=name)
    tools = {tool.name: tool for tool in sql_tools(SqlSettings(database=database, **settings))}
    result = tools[name](context=context, **(arguments or {}))
    assert isinstance(result, ToolResult)
    return result


def read(database: Path, table: str, *, settings: dict[str, Any] | None = None, **arguments: Any) -> ToolResult:
    """Read records."""
    return call(database, "read_records", {"table": table, **arguments}, **(settings or {}))


def cells(result: ToolResult) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a result's one table."""
    [artifact] = result.artifacts
    assert artifact.type is ArtifactType.TABLE
    return list(artifact.data["columns"]), [list(row) for row in artifact.data["rows"]]


def column(result: ToolResult, name: str) -> list[str]:
    """Return the cells below one heading of a result's table."""
    columns, rows = cells(result)
    return [row[columns.index(name)] for row in rows]
