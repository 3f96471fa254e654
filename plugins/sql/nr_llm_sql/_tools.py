"""The three tools: what a model asks, checked against what may be seen, answered with text and table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from nr_llm.results import ToolResult
from nr_llm.tools import Tool, ToolContext, tool

from nr_llm_sql import _answers as answers
from nr_llm_sql._catalogue import Field
from nr_llm_sql._cells import Value, formatted
from nr_llm_sql._connection import Refused
from nr_llm_sql._grid import Grid, fitted
from nr_llm_sql._query import MOST_FILTERS
from nr_llm_sql._records import Page, records
from nr_llm_sql._session import Session, session
from nr_llm_sql.settings import DATABASE_SETTING, SqlSettings

GROUP = "sql"
"""The group the tools are chosen by: ``@sql``."""

_GRACE = 10.0
"""Seconds the runtime waits beyond the database's own deadline, so that this one answers first."""


def sql_tools(settings: SqlSettings) -> tuple[Tool, ...]:
    """
    Return the tools for one database.

    Without a database they are there but off: whoever looks for them finds them and what they need.

    Args:
        settings: The host's settings.
    """
    options: dict[str, Any] = {
        "group": GROUP,
        "timeout": settings.seconds + _GRACE,
        "enabled": settings.database is not None,
    }
    tools = (*_listing_tools(settings, options), _reading_tool(settings, options))
    return tools if settings.database is not None else tuple(map(_off, tools))


def _off(tool: Tool) -> Tool:
    needs = f"Off: no database is configured. Set {DATABASE_SETTING} to a SQLite file."
    return attrs.evolve(tool, description=f"{tool.description}\n\n{needs}")


def _listing_tools(settings: SqlSettings, options: dict[str, Any]) -> tuple[Tool, Tool]:
    @tool(**options)
    def list_tables(context: ToolContext) -> ToolResult:
        """List the tables and views of the database with their number of rows. Call this first."""
        return _answered(settings, context, _tables)

    @tool(**options, examples=[{"table": "orders"}])
    def table_schema(context: ToolContext, table: str) -> ToolResult:
        """
        Describe the fields (columns) of one database table: type, whether it may be null, key, what it refers to.

        Args:
            context: The run.
            table: Name of a table or view, as list_tables gives it.
        """
        return _answered(settings, context, lambda database: _schema(database, table))

    return list_tables, table_schema


def _reading_tool(settings: SqlSettings, options: dict[str, Any]) -> Tool:
    @tool(**options, examples=[{"table": "orders", "filters": {"status": "open"}, "limit": 5}])
    def read_records(
        context: ToolContext,
        table: str,
        *,
        fields: list[str] | None = None,
        filters: dict[str, str | int | float | bool | None] | None = None,
        limit: int = settings.rows,
        offset: int = 0,
        order: str | None = None,
    ) -> ToolResult:
        """
        Read rows (records) of one database table: all of them, or those with given values in some fields.

        They come by key ascending unless an order is given.

        Args:
            context: The run.
            table: Name of a table or view, as list_tables gives it.
            fields: Fields to read; all when left out.
            filters: At most 5 fields and the value each must equal; null finds missing values.
            limit: Records to read.
            offset: Records to skip, up to 10000.
            order: Field to sort by; "price desc" puts the highest first.
        """
        if filters and len(filters) > MOST_FILTERS:
            return answers.refusal(answers.TOO_MANY_FILTERS)
        page = Page(fields=fields, filters=filters or {}, limit=limit, offset=offset, order=order)
        return _answered(settings, context, lambda database: records(database, table, page, settings=settings))

    return read_records


def _answered(settings: SqlSettings, context: ToolContext, work: Callable[[Session], ToolResult]) -> ToolResult:
    try:
        with session(settings, context) as database:
            return work(database)
    except Refused as refused:
        context.log.info("refused: %s", refused)
        return answers.refusal(answers.NOT_PERMITTED)


def _tables(database: Session) -> ToolResult:
    rows = tuple((source.name, "view" if source.view else "table", count) for source, count in database.counted())
    if not rows:
        return answers.refusal(answers.NO_TABLES)
    heading = answers.number(len(rows), "table")
    return _listing(heading, Grid(("table", "kind", "rows"), rows), label="tables", noun="table")


def _schema(database: Session, name: str) -> ToolResult:
    opened = database.open(name)
    table, fields = opened.table.source.name, opened.visible.fields
    if not fields:
        return answers.refusal(answers.NO_FIELDS)
    rows = tuple(formatted(_described(field, database)) for field in fields)
    grid = Grid(("field", "type", "nullable", "key", "refers to"), rows)
    heading = f"{table}: {answers.number(len(rows), 'field')}"
    return _listing(heading, grid, label=f"{table} fields", noun="field")


def _described(field: Field, database: Session) -> tuple[Value, ...]:
    nullable = "yes" if field.nullable else "no"
    return field.name, field.type, nullable, field.key or "", database.reference(field)


def _listing(heading: str, grid: Grid, *, label: str, noun: str) -> ToolResult:
    kept = fitted(grid, answers.listed)
    head = f"{heading}\n{' | '.join(kept.columns)}"
    notes = answers.rows_left_out(len(grid.rows) - len(kept.rows), noun)
    return answers.answer(head, kept, draw=answers.listed, notes=notes, label=label)
