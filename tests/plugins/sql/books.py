"""A database of either kind that may be written to, and the ways into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
from nr_llm import Tool
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError
from nr_llm.results import ToolResult
from nr_llm_sql import SqlSettings, sql_tools

from tests.plugins.sql.postgres import WRITER, Postgres

UPDATE = "update_record_fields"
CREATE = "create_record_draft"

ORDERS = """
CREATE TABLE customers (id int PRIMARY KEY, name varchar(20) NOT NULL, password_hash varchar(20));
INSERT INTO customers VALUES (1, 'Ada', 'f00'), (2, 'Ben', 'ba4');
CREATE TABLE orders (
    id integer PRIMARY KEY {counted}, customer int REFERENCES customers (id), status text NOT NULL,
    total numeric(10, 2) CHECK (total < 1000), note text, number varchar(5) UNIQUE, paid boolean
);
INSERT INTO orders (id, customer, status, total, note, number, paid) VALUES
    (4, 1, 'open', 9.5, NULL, 'A1', false), (9, 2, 'open', 20, '', 'A2', true);
"""
"""A shop in the words of both databases, but for what counts up a key."""

WRITE = {"orders": ["customer", "status", "total", "note", "number", "paid"]}
DRAFTS = {"orders": {"fields": ["customer", "total", "note", "number"], "set": {"status": "draft"}}}


@attrs.frozen
class Book:
    """
    A database that may be written to.

    Args:
        settings: The settings of the tools.
        run: Runs statements outside of the tools and returns the rows of a query.
        postgres: Whether it is PostgreSQL.
    """

    settings: SqlSettings
    run: Callable[[str], list[tuple[Any, ...]]]
    postgres: bool

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
        return {each.name: each for each in sql_tools(self.settings)}

    def call(self, name: str, context: ToolContext | None = None, **arguments: Any) -> ToolResult:
        """Call one tool's function, as the runtime does once the arguments are checked."""
        result = self.tools[name](context=context or ToolContext(tool=name), **arguments)
        assert isinstance(result, ToolResult)
        return result

    def update(self, values: Mapping[str, Any], *, key: Any = 4, **more: Any) -> ToolResult:
        """Change a record; of `orders` unless told otherwise."""
        named = key if isinstance(key, dict) else {"id": key}
        return self.call(UPDATE, **{"table": "orders", "key": named, "values": values, **more})

    def create(self, values: Mapping[str, Any], **more: Any) -> ToolResult:
        """Create a record; of `orders` unless told otherwise."""
        return self.call(CREATE, **{"table": "orders", "values": values, **more})

    def refused(self, name: str, **arguments: Any) -> str:
        """Call a tool that must fail, and return what it says."""
        try:
            result = self.call(name, **arguments)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"it did not fail: {result.content}")

    def not_updated(self, values: Mapping[str, Any], *, key: Any = 4, **more: Any) -> str:
        """Fail to change a record, and return what the tool says; it says that nothing was changed."""
        named = key if isinstance(key, dict) else {"id": key}
        said = self.refused(UPDATE, **{"table": "orders", "key": named, "values": values, **more})
        assert said.endswith("Nothing was changed.")
        return said

    def not_created(self, values: Mapping[str, Any], **more: Any) -> str:
        """Fail to create a record, and return what the tool says; it says that nothing was changed."""
        said = self.refused(CREATE, **{"table": "orders", "values": values, **more})
        assert said.endswith("Nothing was changed.")
        return said

    def preview(self, name: str, **arguments: Any) -> list[str]:
        """Return what a person sees before they decide."""
        previewer = self.tools[name].previewer
        assert previewer is not None
        lines = previewer(arguments, ToolContext(tool=name))
        assert isinstance(lines, list)
        return lines

    def orders(self, columns: str = "status") -> list[tuple[Any, ...]]:
        """Return what the orders hold."""
        return self.run(f"SELECT {columns} FROM orders ORDER BY id")


def sqlite_book(path: Path, script: str, **settings: Any) -> Book:
    """Make a SQLite database from a script."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path)) as connection, connection:
            if sql.startswith("SELECT"):
                return connection.execute(sql).fetchall()
            connection.executescript(f"PRAGMA synchronous = OFF; {sql}")
            return []

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(script.replace("{counted}", ""))
        connection.commit()
    return Book(SqlSettings(database=path, seconds=3_600.0, **settings), run, postgres=False)


def postgres_book(pg: Postgres, script: str, **settings: Any) -> Book:
    """Make the tables of a PostgreSQL database from a script, which only the writing role may write to."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(pg.server.dsn(pg.name), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    pg.run(script.replace("{counted}", "GENERATED BY DEFAULT AS IDENTITY (START WITH 10)"))
    pg.open_to_writing()
    written = {"write_url": pg.server.dsn(pg.name, role=WRITER), **settings}
    return Book(pg.settings(**written), run, postgres=True)
