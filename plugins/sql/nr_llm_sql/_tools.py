"""The three tools: what a model asks, checked against what may be seen, answered with text and table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from nr_llm.redaction import Redactor
from nr_llm.results import ToolResult
from nr_llm.tools import Tool, ToolContext, tool

from nr_llm_sql import _answers as answers
from nr_llm_sql._catalogue import Field
from nr_llm_sql._cells import Value, cell
from nr_llm_sql._connection import Refused
from nr_llm_sql._grid import Grid, fitted
from nr_llm_sql._query import (
    MOST_FIELDS,
    MOST_FILTERS,
    MOST_OFFSET,
    Names,
    Scalar,
    Select,
    conditions,
    names,
    ordering,
    values,
)
from nr_llm_sql._session import Opened, Session, session
from nr_llm_sql.settings import DATABASE_SETTING, SqlSettings

GROUP = "sql"
"""The group the tools are chosen by: ``@sql``."""

_GRACE = 10.0
"""Seconds the runtime waits beyond the database's own deadline, so that this one answers first."""

_REDACT = Redactor().redact


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

    @tool(**options)
    def list_tables(context: ToolContext) -> ToolResult:
        """List the tables and views of the database with their number of rows. Ask this first."""
        return _answered(settings, context, _tables)

    @tool(**options, examples=[{"table": "orders"}])
    def table_schema(context: ToolContext, table: str) -> ToolResult:
        """
        Describe the fields of one table: type, whether it may be null, key, and what it refers to.

        Args:
            context: The run.
            table: Name of a table or view, as list_tables gives it.
        """
        return _answered(settings, context, lambda database: _schema(database, table))

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
        Read records of one table, by key ascending unless an order is given.

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
        return _answered(settings, context, lambda database: _records(database, table, page, settings))

    tools = (list_tables, table_schema, read_records)
    return tools if settings.database is not None else tuple(map(_off, tools))


def _off(tool: Tool) -> Tool:
    needs = f"Off: no database is configured. Set {DATABASE_SETTING} to a SQLite file."
    return attrs.evolve(tool, description=f"{tool.description}\n\n{needs}")


@attrs.frozen(kw_only=True, eq=False)
class Page:
    """What a call of ``read_records`` asks for, as the model gave it."""

    fields: list[str] | None
    filters: dict[str, Scalar]
    limit: int
    offset: int
    order: str | None


def _answered(settings: SqlSettings, context: ToolContext, work: Callable[[Session], ToolResult]) -> ToolResult:
    try:
        with session(settings, context) as database:
            return work(database)
    except Refused as refused:
        context.log.info("refused: %s", refused)
        return answers.refusal(answers.NOT_PERMITTED)


def _cells(row: tuple[Value, ...]) -> tuple[str, ...]:
    return tuple(cell(value, _REDACT) for value in row)


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
    rows = tuple(_cells(_described(field, database)) for field in fields)
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


def _records(database: Session, name: str, page: Page, settings: SqlSettings) -> ToolResult:
    opened = database.open(name)
    known = names(opened.table, opened.visible)
    columns = known.chosen(page.fields) if opened.visible.fields else ()
    where = conditions(page.filters, known)
    order = None if page.order is None else ordering(page.order, known)
    if not columns:
        return answers.refusal(answers.NO_FIELDS)
    if where is None:
        return answers.refusal(answers.FILTER_NOT_PERMITTED)
    if order is None and page.order is not None:
        return answers.refusal(answers.ORDER_NOT_PERMITTED)
    select = Select(
        table=opened.table.source.name,
        columns=columns[:MOST_FIELDS],
        where=where,
        order=order,
        key=known.key,
        limit=min(page.limit if page.limit >= 1 else settings.rows, settings.max_rows),
        offset=min(max(page.offset, 0), MOST_OFFSET),
    )
    return _read(opened, select, known, columns)


def _read(opened: Opened, select: Select, known: Names, columns: tuple[str, ...]) -> ToolResult:
    sql, parameters = select.statement()
    rows = opened.reader.select(sql, parameters, cap=select.limit, row=lambda row: _cells(values(row)))
    if not rows:
        return answers.refusal(answers.NO_ROWS)
    draw = answers.record(select.table, keyed=len(known.key) == 1, offset=select.offset)
    kept = fitted(Grid(select.columns, tuple(rows[: select.limit])), draw)
    heading = f"{select.table}: {answers.number(len(kept.rows), 'row')} from offset {select.offset}"
    notes = [
        *answers.fields_left_out(len(columns) - len(kept.columns)),
        *answers.go_on(len(rows) > len(kept.rows), select.offset + len(kept.rows)),
    ]
    return answers.answer(heading, kept, draw=draw, notes=notes, label=f"{select.table} rows")
