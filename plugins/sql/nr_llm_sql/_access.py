"""Decides what may be read: once for the names a model uses, once more for what SQLite is about to touch."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

import attrs

from nr_llm_sql._catalogue import Source, Table
from nr_llm_sql._credentials import credential_like
from nr_llm_sql._names import clear, fold, folded
from nr_llm_sql.settings import SqlSettings

FUNCTIONS = frozenset(
    {
        *("abs", "avg", "ceil", "ceiling", "count", "floor", "max", "min", "round", "sign", "sum", "total"),
        *("coalesce", "iif", "ifnull", "nullif", "typeof"),
        *("glob", "group_concat", "hex", "instr", "length", "like", "lower", "ltrim", "octet_length", "rtrim"),
        *("string_agg", "substr", "substring", "trim", "unicode", "upper"),
        *("current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime"),
        *("time", "unixepoch"),
        *("json", "json_array", "json_array_length", "json_extract", "json_object", "json_type", "json_valid"),
        *("->", "->>"),
        *("cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile"),
        *("percent_rank", "rank", "row_number"),
    }
)
"""Functions a statement or a view may call: none loads code, reads files or makes much out of little."""


@attrs.frozen
class Access:
    """
    What the settings permit in one database.

    Args:
        settings: The host's settings.
        sources: Tables and views of the database.
        through: Whether views named in `settings.tables` may read what is not named there.  Only for statements
            of our own: SQLite reports a WITH table under the name the statement gave it, so a model's statement
            could borrow a view's name.
    """

    settings: SqlSettings
    sources: tuple[Source, ...]
    through: bool = False
    _known: Mapping[str, Source] = attrs.field(init=False, repr=False)

    @_known.default
    def _fold_sources(self) -> Mapping[str, Source]:
        return {fold(source.name): source for source in self.sources}

    def permitted(self) -> tuple[Source, ...]:
        """Return the sources a model may see."""
        return tuple(source for source in self.sources if self.source(source.name))

    def find(self, name: str) -> Source | None:
        """Return the permitted source that `name` means, or None: not there and not permitted are one."""
        source = self._known.get(fold(name))
        return source if source is not None and self.source(source.name) else None

    def source(self, name: str) -> bool:
        """Return whether the table or view `name` may be seen, if there is one."""
        settings = self.settings
        if not clear(name) or fold(name) in folded(*settings.denied_tables):
            return False
        if settings.tables:
            return fold(name) in folded(*settings.tables)
        return not credential_like(name)

    def field(self, source: str, name: str) -> bool:
        """Return whether the column `name` of a permitted `source` may be seen."""
        return self._shown(source, name) and all(self._shown(source, other) for other in self._inputs(source, name))

    def readable(self, source: str, name: str, via: str | None) -> bool:
        """
        Return whether SQLite may read one column.

        Args:
            source: The table or view.
            name: The column; empty when rows are merely counted.
            via: The view that reads, None for the statement itself.
        """
        if fold(source) not in self._known:
            return False
        # SQLite reports a table of which no column is read without the view that reads it.
        if self.through and (not name or self._named(via)):
            names = (name, *self._inputs(source, name))
            return fold(source) not in folded(*self.settings.denied_tables) and not self._denied(source, *names)
        return self.source(source) and (not name or self.field(source, name))

    def passing(self, source: Source) -> Access:
        """Return the access for a statement of ours that reads `source`."""
        return attrs.evolve(self, through=source.view and self._named(source.name))

    def _named(self, name: str | None) -> bool:
        return name is not None and fold(name) in folded(*self.settings.tables)

    def _shown(self, source: str, name: str) -> bool:
        return clear(name) and not credential_like(name) and not self._denied(source, name)

    def _inputs(self, source: str, name: str) -> frozenset[str]:
        """Return what a generated column may be computed from: it tells as much as these."""
        known = self._known.get(fold(source))
        return known.inputs if known is not None and fold(name) in known.computed else frozenset()

    def _denied(self, source: str, *names: str) -> bool:
        meant = folded(*names, *(f"{source}.{name}" for name in names))
        return not meant.isdisjoint(folded(*self.settings.denied_columns))


def visible(table: Table, access: Access) -> Table:
    """Return `table` with the columns a model may see."""
    name = table.source.name
    return attrs.evolve(
        table,
        fields=tuple(field for field in table.fields if access.field(name, field.name)),
        rowid=table.rowid if access.field(name, "rowid") else None,
    )


Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def authorizer(access: Access, refused: Callable[[str], None]) -> Authorizer:
    """
    Return the function SQLite asks before it compiles anything: reads of permitted columns, nothing else.

    Args:
        access: What is permitted.
        refused: Told the name of each thing that was refused.
    """

    def permitted(action: int, first: str, second: str, *, database: str | None, via: str | None) -> bool:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return True
            case sqlite3.SQLITE_FUNCTION:
                return fold(second) in FUNCTIONS
            case sqlite3.SQLITE_READ:
                return database in {None, "main"} and access.readable(first, second, via)
            case _:
                return False

    def authorize(action: int, first: str | None, second: str | None, database: str | None, via: str | None) -> int:
        if permitted(action, first or "", second or "", database=database, via=via):
            return sqlite3.SQLITE_OK
        refused(f"action {action} on {'.'.join(name for name in (first, second) if name)!r}")
        return sqlite3.SQLITE_DENY

    return authorize
