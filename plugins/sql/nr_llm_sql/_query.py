"""Builds the one statement that reads records: names are quoted, values are bound, the order is total."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from nr_llm_sql._catalogue import Table
from nr_llm_sql._cells import Blob, Value
from nr_llm_sql._names import fold, quoted

MOST_FILTERS = 5
"""Equality filters of one call (the reference system's figure)."""

MOST_OFFSET = 10_000
"""Rows that can be skipped: enough to look around, too few to copy a table page by page (the reference's figure)."""

MOST_FIELDS = 200
"""Columns of one statement; each is read as two, and SQLite's own limit is 2,000."""

Scalar: TypeAlias = str | int | float | bool | None

_LARGEST = 2**63


@attrs.frozen
class Names:
    """
    The columns of a table that a call may name.

    Args:
        key: Columns that identify a row, shown first; empty if a row has no identity.
        fields: Columns by their comparison form.
        order: Columns that order rows of one key: SQLite lets several rows have a key that is null.
    """

    key: tuple[str, ...]
    fields: Mapping[str, str]
    order: tuple[str, ...] = ()

    def find(self, name: str) -> str | None:
        """Return the exact column that `name` means."""
        return self.fields.get(fold(name))

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
    fields = {fold(field.name): field.name for field in visible.fields}
    key = tuple(field.name for field in table.key)
    rowid = () if visible.rowid is None else (visible.rowid,)
    if key and all(fold(name) in fields for name in key):
        return Names(key, fields, order=rowid)
    return Names(rowid, {**dict(zip(rowid, rowid, strict=True)), **fields})


def conditions(filters: Mapping[str, Any], names: Names) -> tuple[tuple[str, Scalar], ...] | None:
    """Return pairs of column and value, or None if a name is unknown or a value cannot be compared."""
    pairs = tuple((names.find(name), value) for name, value in filters.items())
    known = tuple((name, value) for name, value in pairs if name is not None and _comparable(value))
    return known if len(known) == len(pairs) else None


def _comparable(value: object) -> bool:
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


@attrs.frozen(kw_only=True)
class Select:
    """
    One page of records.

    Args:
        table: Name of the table or view.
        columns: Columns to read.
        where: Columns and the values they must equal.
        order: The column to sort by first and whether it descends; None for the order of `key` alone.
        key: Columns that make the order total; empty: all of `columns`, letter by letter.
        limit: Rows wanted.
        offset: Rows to skip.
    """

    table: str
    columns: tuple[str, ...]
    where: tuple[tuple[str, Scalar], ...]
    order: tuple[str, bool] | None
    key: tuple[str, ...]
    limit: int
    offset: int

    def statement(self) -> tuple[str, tuple[Scalar, ...]]:
        """Return the SQL text and the values of its question marks; it reads one row more, to see if there is one."""
        fields = ", ".join(f"{_value(name)}, {_size(name)}" for name in self.columns)
        tests = [f"{_column(name)} IS ?" if value is None else f"{_column(name)} = ?" for name, value in self.where]
        first = [f"{_column(self.order[0])} {'DESC' if self.order[1] else 'ASC'}"] if self.order else []
        rest = map(_column, self.key) if self.key else (f"{_column(name)} COLLATE BINARY" for name in self.columns)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        sql = (
            f"SELECT {fields} FROM main.{quoted(self.table)} AS r{where}"  # noqa: S608 - quoted names, bound values
            f" ORDER BY {', '.join((*first, *rest))} LIMIT ? OFFSET ?"
        )
        return sql, (*(value for _, value in self.where), self.limit + 1, self.offset)


def _column(name: str) -> str:
    # Qualified: SQLite takes an unknown name in double quotes for a string, but never behind a dot.
    return f"r.{quoted(name)}"


def _value(name: str) -> str:
    return f"CASE typeof({_column(name)}) WHEN 'blob' THEN NULL ELSE {_column(name)} END"


def _size(name: str) -> str:
    # SQLite knows the length of a blob without reading it, so that a huge one costs nothing.
    return f"CASE typeof({_column(name)}) WHEN 'blob' THEN length({_column(name)}) END"


def values(row: Sequence[Any]) -> tuple[Value, ...]:
    """Return the values of a row that `Select.statement` read."""
    return tuple(value if size is None else Blob(size) for value, size in zip(row[::2], row[1::2], strict=True))
