"""The tools: what a model asks, checked against what may be seen, answered with text and table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
from nr_llm.contexts import ToolContext
from nr_llm.results import ToolResult
from nr_llm.tools import Tool, tool
from nr_llm.zones import DataClass

from nr_llm_sql import _answers as answers
from nr_llm_sql._catalogue import Field
from nr_llm_sql._cells import Value, formatted
from nr_llm_sql._conditions import Ask, Condition, equalities, searchable
from nr_llm_sql._grid import Grid
from nr_llm_sql._limits import MOST_FILTERS
from nr_llm_sql._naming import naming
from nr_llm_sql._stops import Refused
from nr_llm_sql._write_tools import writing_tools
from nr_llm_sql.settings import DATABASE_SETTING, URL_SETTING, SqlSettings

if TYPE_CHECKING:  # whoever merely lists the tools waits for no SQLAlchemy
    from nr_llm_sql._database import Database

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
        "data_class": DataClass.CONTENT,  # an operator has chosen the database for models to read
        "timeout": settings.seconds + _GRACE,
        "enabled": settings.configured,
    }
    reading = map(
        naming(settings), (make(settings, options) for make in (_reading_tool, _searching_tool, _counting_tool))
    )
    tools = (*_listing_tools(settings, options), *reading, *writing_tools(settings, options))
    return tools if settings.configured else tuple(map(_off, tools))


def _off(tool: Tool) -> Tool:
    needs = f"Off: no database is configured. Set {DATABASE_SETTING} to a SQLite file, or {URL_SETTING}."
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
        List or show rows (records) of one database table: all of them, or those with a given value in a field.

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
        ask = Ask(fields=fields, conditions=equalities(filters), limit=limit, offset=offset, order=order)
        return _records(settings, context, table, ask)

    return read_records


def _searching_tool(settings: SqlSettings, options: dict[str, Any]) -> Tool:
    @tool(**options, examples=[{"table": "customers", "text": "lind"}])
    def search_records(
        context: ToolContext,
        table: str,
        text: str = "",
        *,
        where: list[Condition] | None = None,
        fields: list[str] | None = None,
        limit: int = settings.rows,
        offset: int = 0,
        order: str | None = None,
    ) -> ToolResult:
        """
        Search one database table for a text inside its fields, or for values above, below or unlike others.

        Args:
            context: The run.
            table: Name of a table or view, as list_tables gives it.
            text: 2 to 100 characters that some field contains, capital letters or not.
            where: At most 5 conditions that all hold.
            fields: Fields to read; all when left out.
            limit: Records to read.
            offset: Records to skip, up to 10000.
            order: Field to sort by; "price desc" puts the highest first.
        """
        wanted = text.strip()
        if wanted and not searchable(wanted):
            return answers.refusal(answers.TEXT_NOT_PERMITTED)
        conditions = tuple(where or ())
        ask = Ask(fields=fields, conditions=conditions, limit=limit, offset=offset, order=order, text=wanted)
        return _records(settings, context, table, ask)

    return search_records


def _counting_tool(settings: SqlSettings, options: dict[str, Any]) -> Tool:
    @tool(**options, examples=[{"table": "orders", "field": "status"}])
    def count_by(
        context: ToolContext,
        table: str,
        field: str | None = None,
        *,
        where: list[Condition] | None = None,
        limit: int = settings.rows,
    ) -> ToolResult:
        """
        Count the rows of one database table for each value of a field, the most frequent value first.

        Args:
            context: The run.
            table: Name of a table or view, as list_tables gives it.
            field: Field whose values are counted; left out, all rows are counted as one.
            where: At most 5 conditions that all hold of the rows that count; none that looks into texts.
            limit: Values to show.
        """
        conditions = tuple(where or ())
        if len(conditions) > MOST_FILTERS:
            return answers.refusal(answers.TOO_MANY_FILTERS)
        return _answered(settings, context, lambda database: _counts(database, table, field, conditions, limit=limit))

    def _counts(
        database: Database, table: str, field: str | None, conditions: tuple[Condition, ...], *, limit: int
    ) -> ToolResult:
        from nr_llm_sql._counts import counts
        from nr_llm_sql._records import page_size

        return counts(database, table, field, conditions=conditions, limit=page_size(limit, settings))

    return count_by


def _records(settings: SqlSettings, context: ToolContext, table: str, ask: Ask) -> ToolResult:
    if len(ask.conditions) > MOST_FILTERS:
        return answers.refusal(answers.TOO_MANY_FILTERS)

    def work(database: Database) -> ToolResult:
        from nr_llm_sql._records import records

        return records(database, table, ask, settings=settings)

    return _answered(settings, context, work)


def _answered(settings: SqlSettings, context: ToolContext, work: Callable[[Database], ToolResult]) -> ToolResult:
    from nr_llm_sql._session import session

    try:
        with session(settings, context) as database:
            return work(database)
    except Refused as refused:
        context.log.info("refused: %s", refused)
        return answers.refusal(answers.NOT_PERMITTED)


def _tables(database: Database) -> ToolResult:
    rows = tuple((source.name, "view" if source.view else "table", count) for source, count in database.counted())
    if not rows:
        return answers.refusal(answers.NO_TABLES)
    heading = answers.number(len(rows), "table")
    return answers.listing(heading, Grid(("table", "kind", "rows"), rows), label="tables", noun="table")


def _schema(database: Database, name: str) -> ToolResult:
    opened = database.open(name)
    table, fields = opened.table.source.name, opened.visible.fields
    if not fields:
        return answers.refusal(answers.NO_FIELDS)
    rows = tuple(formatted(_described(field, database)) for field in fields)
    grid = Grid(("field", "type", "nullable", "key", "refers to"), rows)
    heading = f"{table}: {answers.number(len(rows), 'field')}"
    return answers.listing(heading, grid, label=f"{table} fields", noun="field")


def _described(field: Field, database: Database) -> tuple[Value, ...]:
    nullable = "yes" if field.nullable else "no"
    return field.name, field.type, nullable, field.key or "", database.reference(field)
