"""Builds the statements that write one record: names are quoted, values are bound, a record is found by its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import sqlalchemy as sa
from sqlalchemy.sql import quoted_name

from nr_llm_sql._cells import Value
from nr_llm_sql._forms import Columns, Expression, columns
from nr_llm_sql._query import values
from nr_llm_sql._targets import Target


@attrs.frozen(kw_only=True)
class Look:
    """
    A record to look at, and what is asked about it.

    Args:
        target: The table.
        shown: Columns to show.
        address: Columns and values that find the record.
        asked: Columns and values, as `Types.fit` returned them, of which it is asked whether they are the same.
        keep: Whether others shall not change the record before this transaction ends.
    """

    target: Target
    shown: Sequence[str]
    address: Mapping[str, Any]
    asked: Sequence[tuple[str, Any]]
    keep: bool

    def statement(self) -> sa.Select[Any]:
        """Return the statement; two rows say that there are several such records."""
        opened, types = self.target.opened, self.target.types
        named = (*self.shown, *self.address, *(name for name, _ in self.asked))
        table, known = columns(opened.table.source, named)
        fields = {field.name: field for field in opened.table.fields}
        read = [form(known[name]) for name in self.shown for form in (opened.forms.value, opened.forms.size)]
        tests = [types.same(known[name], fields[name], value) for name, value in self.asked]
        labelled = [expression.label(f"c{i}") for i, expression in enumerate((*read, *tests))]
        found = sa.select(*labelled).select_from(table).where(*found_by(self.target, known, self.address)).limit(2)
        return found.with_for_update(key_share=True) if self.keep else found

    def seen(self, row: Sequence[Any]) -> tuple[Mapping[str, Value], tuple[bool, ...]]:
        """Return the cells of a row that the statement read, and the answers to what was asked."""
        width = 2 * len(self.shown)
        cells = dict(zip(self.shown, values(row[:width]), strict=True))
        return cells, tuple(bool(answer) for answer in row[width:])


def found_by(target: Target, known: Columns, address: Mapping[str, Any]) -> list[Expression]:
    """Return what is true of the record that `address` finds, and of no other."""
    return [target.opened.forms.equal(known[name], value) for name, value in address.items()]


def changing(target: Target, address: Mapping[str, Any], values: Mapping[str, Any]) -> sa.Update:
    """
    Return the statement that changes a record.

    SQLite is told to give up on a conflict: a table may say that whatever else has the value is deleted instead.
    """
    table, names = _written(target, (*address, *values))
    held = _held(names, values)
    statement = sa.update(table).where(*found_by(target, dict(table.c.items()), address)).values(held)
    return statement.prefix_with("OR ABORT", dialect="sqlite")


def creating(target: Target, values: Mapping[str, Any], *, key: Sequence[str] = ()) -> sa.Insert:
    """
    Return the statement that creates a record; as `changing`, it replaces nothing.

    Args:
        target: The table.
        values: Columns and their values.
        key: Columns that the statement returns, as texts.
    """
    table, made = _written(target, (*key, *values))
    statement = sa.insert(table).values(_held(made, values)).prefix_with("OR ABORT", dialect="sqlite")
    return statement.returning(*(sa.cast(made[name], sa.Text) for name in key)) if key else statement


def _written(target: Target, names: Sequence[str]) -> tuple[sa.TableClause, Mapping[str, sa.ColumnClause[Any]]]:
    schema, name = target.opened.table.source.place
    made: dict[str, sa.ColumnClause[Any]] = {
        each: sa.column(quoted_name(each, quote=True)) for each in dict.fromkeys(names)
    }
    table = sa.table(quoted_name(name, quote=True), *made.values(), schema=quoted_name(schema, quote=True))
    return table, made


def _held(names: Mapping[str, sa.ColumnClause[Any]], values: Mapping[str, Any]) -> dict[Any, Any]:
    """Return each column with its value, bound under a name that no column has."""
    mark = "v"
    while any(name.startswith(mark) for name in names):
        mark += "v"
    return {
        names[name]: sa.bindparam(f"{mark}{i}", value, type_=sa.types.NullType())
        for i, (name, value) in enumerate(values.items())
    }
