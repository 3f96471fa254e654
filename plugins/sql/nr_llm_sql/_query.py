"""Builds the statements that read records: names are quoted, values are bound, the order is total."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import sqlalchemy as sa

from nr_llm_sql._catalogue import Source, Table
from nr_llm_sql._cells import Blob, Value
from nr_llm_sql._conditions import Condition
from nr_llm_sql._forms import Columns, Expression, Forms, columns
from nr_llm_sql._names import fold

_LARGEST = 2**63


@attrs.frozen
class Names:
    """
    The columns of a table that a call may name.

    Args:
        key: Columns that identify a row, shown first; empty if a row has no identity.
        fields: Columns by their exact name and by their comparison form.
        order: Columns that order rows of one key: SQLite lets several rows have a key that is null.
    """

    key: tuple[str, ...]
    fields: Mapping[str, str]
    order: tuple[str, ...] = ()

    def find(self, name: str) -> str | None:
        """Return the exact column that `name` means."""
        return self.fields.get(name) or self.fields.get(fold(name))

    def chosen(self, requested: Sequence[str] | None) -> tuple[str, ...]:
        """
        Return the columns to read: the key, then those of `requested` that exist, each once.

        Returns:
            No column at all if none of the requested ones exists; every column if none or ``*`` is requested.
        """
        everything = not requested or ("*" in requested and self.find("*") is None)
        wanted = self.fields.values() if everything else map(self.find, requested or ())
        found = [name for name in wanted if name is not None]
        return tuple(dict.fromkeys((*self.key, *found))) if found else ()


def names(table: Table, visible: Table) -> Names:
    """
    Return what a call may name in `table`.

    Args:
        table: The table as it is.
        visible: The table without the columns that nobody sees.
    """
    exact = {field.name: field.name for field in visible.fields}
    fields = {fold(name): name for name in exact} | exact
    key = tuple(field.name for field in table.key)
    rowid = () if visible.rowid is None else (visible.rowid,)
    if key and all(fold(name) in fields for name in key):
        return Names(key, fields, order=rowid)
    return Names(rowid, dict(zip(rowid, rowid, strict=True)) | fields)


def criteria(conditions: Sequence[Condition], names: Names) -> tuple[Criterion, ...] | None:
    """Return what is to hold of each row, or None if a name is unknown or a value cannot be compared."""
    found = [Criterion(name, each.operator, each.value) for each in conditions if (name := _testable(each, names))]
    return tuple(found) if len(found) == len(conditions) else None


def _testable(condition: Condition, names: Names) -> str | None:
    given = condition.value if isinstance(condition.value, list) else [condition.value]
    return names.find(condition.field) if condition.sound() and all(map(comparable, given)) else None


def comparable(value: object) -> bool:
    """Return whether a value can travel to any database: a plain one, a number of 64 bits, whole characters."""
    match value:
        case None | bool():
            return True
        case int():
            return -_LARGEST <= value < _LARGEST
        case float():
            return math.isfinite(value)
        case str():
            return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
        case _:
            return False


def ordering(order: str, names: Names) -> tuple[str, bool] | None:
    """
    Return the column that `order` means and whether it descends, or None if there is none.

    ``-name`` and ``name desc`` descend, ``name`` and ``name asc`` ascend; a column of exactly that name comes first.
    """
    exact = names.find(order)
    if exact is not None:
        return exact, False
    name, _, direction = order.rpartition(" ")
    if order.startswith("-"):
        name, direction = order[1:], "desc"
    found = names.find(name)
    return None if found is None or fold(direction) not in {"asc", "desc"} else (found, fold(direction) == "desc")


@attrs.frozen
class Criterion:
    """A condition whose column exists and whose value can travel."""

    column: str
    operator: str
    value: Any

    def written(self, columns: Columns, forms: Forms) -> Expression:
        """Return the condition as SQL."""
        column = columns[self.column]
        match self.operator:
            case "=":
                return forms.equal(column, self.value)
            case "!=":
                return forms.unequal(column, self.value)
            case "in":
                return sa.or_(*(forms.equal(column, value) for value in self.value))
            case "contains" | "starts_with":
                return forms.containing(column, self.value, start=self.operator == "starts_with")
            case _:
                return forms.compared(column, self.value, by=_COMPARISONS[self.operator])


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@attrs.frozen(kw_only=True)
class Page:
    """
    The rows of one table that are wanted, in an order that is total.

    Args:
        source: The table or view.
        columns: Columns to read.
        criteria: What holds of each row.
        anywhere: A text that one of `among` contains; empty: no such test.
        among: The columns that are searched for it.
        order: The column to sort by first and whether it descends; None for the order of `key` alone.
        key: Columns that make the order total; empty: all of `columns`, letter by letter.
        limit: Rows wanted at most.
        offset: Rows to skip.
    """

    source: Source
    columns: tuple[str, ...]
    criteria: tuple[Criterion, ...] = ()
    anywhere: str = ""
    among: tuple[str, ...] = ()
    order: tuple[str, bool] | None = None
    key: tuple[str, ...] = ()
    limit: int
    offset: int = 0

    def statement(self, forms: Forms) -> sa.Select[Any]:
        """Return the statement; each of `columns` is read as a value and a size."""
        ordered = () if self.order is None else self.order[:1]
        tested = (each.column for each in self.criteria)
        table, known = columns(self.source, (*self.columns, *self.among, *self.key, *ordered, *tested))
        read = [form(known[name]) for name in self.columns for form in (forms.value, forms.size)]
        rest = [known[name] for name in self.key] or [forms.letters(known[name]) for name in self.columns]
        first = [known[self.order[0]].desc() if self.order[1] else known[self.order[0]].asc()] if self.order else []
        named = [expression.label(f"c{i}") for i, expression in enumerate(read)]
        found = sa.select(*named).select_from(table).where(*self._where(known, forms)).order_by(*first, *rest)
        return found.limit(self.limit).offset(self.offset)

    def _where(self, known: Columns, forms: Forms) -> list[Expression]:
        tests = [each.written(known, forms) for each in self.criteria]
        if not self.anywhere:
            return tests
        return [*tests, sa.or_(*(forms.containing(known[name], self.anywhere, start=False) for name in self.among))]


@attrs.frozen(kw_only=True)
class Count:
    """
    The number of rows of each value of a column.

    Args:
        source: The table or view.
        column: The column; None for the number of rows alone.
        criteria: What holds of the rows that count.
        limit: Values wanted at most.
    """

    source: Source
    column: str | None
    criteria: tuple[Criterion, ...]
    limit: int

    def statement(self, forms: Forms) -> sa.Select[Any]:
        """Return the statement: a value, a size and a number in each row, or the number alone."""
        named = () if self.column is None else (self.column,)
        table, known = columns(self.source, (*named, *(each.column for each in self.criteria)))
        where = [each.written(known, forms) for each in self.criteria]
        number = sa.func.count().label("n")
        if self.column is None:
            return sa.select(number).select_from(table).where(*where).limit(self.limit)
        column = known[self.column]
        # Grouped by what would be shown: of a long text that is its beginning.
        shown = (
            sa.select(forms.value(column).label("v"), forms.size(column).label("s")).select_from(table).where(*where)
        )
        cells = shown.subquery("g")
        grouped = sa.select(cells.c.v, cells.c.s, number).group_by(cells.c.v, cells.c.s)
        return grouped.order_by(number.desc(), cells.c.v, cells.c.s).limit(self.limit)


def values(row: Sequence[Any]) -> tuple[Value, ...]:
    """Return the values of a row that `Page.statement` read."""
    return tuple(value if size is None else Blob(size) for value, size in zip(row[::2], row[1::2], strict=True))
