"""Writes down in SQL what is said of one column: names are quoted, values are bound, and each database has its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import sqlalchemy as sa
from sqlalchemy.sql import quoted_name

from nr_llm_sql._catalogue import Source
from nr_llm_sql._cells import SCANNED_CHARACTERS

Expression: TypeAlias = sa.ColumnElement[Any]
Columns: TypeAlias = Mapping[str, Expression]
Compare: TypeAlias = Callable[[Expression, Expression], Expression]

SCANNED = SCANNED_CHARACTERS + 1
"""Characters of a text that leave the database: those that are looked at, and one that says there are more."""


class Forms(Protocol):
    """How one database writes what is asked of a column."""

    def value(self, column: Expression) -> Expression:
        """Return what is shown of a cell; null for binary data."""

    def size(self, column: Expression) -> Expression:
        """Return the bytes of binary data, which stays where it is; null for anything else."""

    def letters(self, column: Expression) -> Expression:
        """Return what sorts any two values that differ, letter by letter."""

    def equal(self, column: Expression, value: Any) -> Expression:
        """Return whether a cell equals a value; nothing equals null but null."""

    def unequal(self, column: Expression, value: Any) -> Expression:
        """Return whether a cell differs from a value; null differs from all but null."""

    def compared(self, column: Expression, value: Any, *, by: Compare) -> Expression:
        """Return whether a number or time is on one side of another; other cells are on neither."""

    def containing(self, column: Expression, text: str, *, start: bool) -> Expression:
        """Return whether a text holds another, or starts with it, capital letters or not."""


def columns(source: Source, names: Sequence[str]) -> tuple[sa.FromClause, Columns]:
    """
    Return a table and its columns, every name in quotes.

    Columns are qualified: SQLite takes an unknown name in double quotes for a string, but never behind a dot.

    Args:
        source: Where rows are read from.
        names: Columns that exist there.
    """
    quoted: list[sa.ColumnClause[Any]] = [sa.column(quoted_name(name, quote=True)) for name in dict.fromkeys(names)]
    schema, name = source.place
    table = sa.table(quoted_name(name, quote=True), *quoted, schema=quoted_name(schema, quote=True)).alias("r")
    return table, dict(table.c.items())


def bound(value: Any) -> Expression:
    """Return a value that travels beside the statement, of no type but what the database makes of it."""
    return sa.bindparam(None, value, type_=sa.types.NullType(), unique=True)


class SqliteForms:
    """SQLite gives every value a type of its own, whatever its column declares."""

    def value(self, column: Expression) -> Expression:
        """Return the value, or null for binary data."""
        return sa.case((_stored_as(column, "blob"), sa.null()), else_=column)

    def size(self, column: Expression) -> Expression:
        """Return the size of binary data, which SQLite knows without reading it: a huge one costs nothing."""
        return sa.case((_stored_as(column, "blob"), sa.func.length(column)))

    def letters(self, column: Expression) -> Expression:
        """Return the value, texts by their code points."""
        return column.collate("BINARY")

    def equal(self, column: Expression, value: Any) -> Expression:
        """Return whether they are equal once SQLite has given the value the column's affinity."""
        return column.is_(None) if value is None else column == bound(value)

    def unequal(self, column: Expression, value: Any) -> Expression:
        """Return whether they differ, once SQLite has given the value the column's affinity."""
        return column.is_distinct_from(bound(value))

    def compared(self, column: Expression, value: Any, *, by: Compare) -> Expression:
        """Return the comparison, for numbers among numbers and for times among what begins like a year and month."""
        if isinstance(value, str):
            alike = _stored_as(column, "text") & column.op("GLOB")(sa.literal_column("'[0-9][0-9][0-9][0-9]-[0-9]*'"))
        else:
            alike = _stored_as(column, "integer") | _stored_as(column, "real")
        return sa.and_(alike, by(column, bound(value)))

    def containing(self, column: Expression, text: str, *, start: bool) -> Expression:
        """Return whether the text is there; `instr` knows no wildcard."""
        place = sa.func.instr(sa.func.lower(column), sa.func.lower(bound(text)))
        return _stored_as(column, "text") & (
            place == sa.literal_column("1") if start else place > sa.literal_column("0")
        )


def _stored_as(column: Expression, kind: str) -> Expression:
    return sa.func.typeof(column) == sa.literal_column(f"'{kind}'")
