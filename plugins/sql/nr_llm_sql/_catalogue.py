"""Reads which tables and fields exist, before the connection is narrowed to the ones a model may see."""

from __future__ import annotations

import sqlite3
from itertools import groupby

import attrs

from nr_llm_sql._names import fold, folded, quoted

# A virtual table runs the code of its module when it is read, and its shadow tables hold its data under
# neutral column names; neither is offered.  Shadow tables are told by name, since the pragma that lists them
# needs SQLite 3.37 and the module loaded.
_SHADOWS = (
    *("_content", "_data", "_idx", "_docsize", "_config", "_stat", "_segments", "_segdir"),
    *("_node", "_rowid", "_parent", "_chunks", "_rowids"),
)

_OBJECTS = """
    SELECT name, type, rootpage, sql LIKE 'CREATE VIRTUAL%' FROM main.sqlite_master
    WHERE type IN ('table', 'view')
"""
_FIELDS = """
    SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid
"""
_COMPUTED = """
    SELECT o.name, o.sql, c.name, c.hidden > 1 FROM main.sqlite_master AS o, pragma_table_xinfo(o.name, 'main') AS c
    WHERE o.type = 'table' AND o.rootpage AND o.sql LIKE '%AS%(%'
"""
_REFERENCES = """
    SELECT "from", "table", "to" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
"""


@attrs.frozen
class Source:
    """
    Something rows can be read from: an ordinary table or a view.

    Args:
        name: Its exact name.
        view: Whether it is a view.
        computed: Columns that the table computes from others, as SQLite compares names.
        inputs: Columns they may be computed from, by their exact names.
        schema: The schema it is in.
        table: Its name there, if that is not `name`.
    """

    name: str
    view: bool
    computed: frozenset[str] = frozenset()
    inputs: frozenset[str] = frozenset()
    schema: str = "main"
    table: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        """The schema and the name there."""
        return self.schema, self.name if self.table is None else self.table


@attrs.frozen(kw_only=True)
class Field:
    """
    A column.

    Args:
        name: Its exact name.
        type: Its declared type, which SQLite does not enforce; may be empty.
        nullable: Whether it may be null.
        key: Its position in the primary key, from 1; 0 if it is not in it.
        reference: Table and column (None: that table's key) of the row it points to.
        textual: Whether it may hold texts to search in.
        binary: Whether it holds nothing but binary data.
        readable: Whether the database lets us read it.
        category: The letter of its type's category, where types have one.
        base: The name of its type without what narrows it, where types have one.
        inputs: Columns it is computed from.
    """

    name: str
    type: str
    nullable: bool
    key: int
    reference: tuple[str, str | None] | None = None
    textual: bool = True
    binary: bool = False
    readable: bool = True
    category: str = ""
    base: str = ""
    inputs: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class Table:
    """
    One source with its columns.

    Args:
        source: The table or view.
        fields: Its columns as declared.
        rowid: A name under which the row number can be read, if there is one beside the key.
    """

    source: Source
    fields: tuple[Field, ...]
    rowid: str | None

    @property
    def key(self) -> tuple[Field, ...]:
        """The columns of the primary key, in its order."""
        return tuple(sorted((field for field in self.fields if field.key), key=lambda field: field.key))


def sources(connection: sqlite3.Connection) -> tuple[Source, ...]:
    """Return the ordinary tables and the views of the database by name; SQLite's own tables are none."""
    found = connection.execute(_OBJECTS).fetchall()
    virtual = {fold(name) for name, kind, root, created in found if kind == "table" and (created or not root)}
    hidden = virtual | {name + suffix for name in virtual for suffix in _SHADOWS}
    computed = _computed(connection)
    kept = [
        Source(name, kind == "view", *computed.get(name, ()))
        for name, kind, *_ in found
        if fold(name) not in hidden and not fold(name).startswith("sqlite_")
    ]
    return tuple(sorted(kept, key=lambda source: source.name))


def _computed(connection: sqlite3.Connection) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """
    Return the generated columns of tables that have some, and the columns these may be computed from.

    SQLite tells nobody what a generated column reads.  But whatever it reads is named at least twice in the
    definition of the table: where it is declared and where it is used.
    """
    found = {}
    for (name, sql), rows in groupby(connection.execute(_COMPUTED), key=lambda row: row[:2]):
        columns = list(rows)
        generated = folded(*(column for _, _, column, computed in columns if computed))
        if generated:
            named = fold(sql)
            inputs = frozenset(column for _, _, column, _ in columns if named.count(fold(column)) != 1)
            found[name] = generated, inputs
    return found


def table(connection: sqlite3.Connection, source: Source) -> Table:
    """
    Return the columns of `source`.

    Raises:
        sqlite3.Error: A view that reads what no longer exists cannot be described.
    """
    found = connection.execute(_REFERENCES, [source.name])
    references = {fold(name): (other, column) for name, other, column in found}
    fields = tuple(
        Field(
            name=name,
            type=kind,
            nullable=not (required or key),
            key=key,
            reference=references.get(fold(name)),
        )
        for name, kind, required, key in connection.execute(_FIELDS, [source.name])
    )
    return Table(source=source, fields=fields, rowid=_rowid(connection, source, fields))


def _rowid(connection: sqlite3.Connection, source: Source, fields: tuple[Field, ...]) -> str | None:
    key = [field for field in fields if field.key]
    if source.view or (len(key) == 1 and fold(key[0].type) == "integer"):
        return None  # a lone INTEGER key is the row number itself: whoever may not see it may see neither
    taken = {fold(field.name) for field in fields}
    free = [alias for alias in ("rowid", "_rowid_", "oid") if alias not in taken]
    if not free:
        return None
    try:
        connection.execute(f"SELECT r.{free[0]} FROM main.{quoted(source.name)} AS r LIMIT 0")  # noqa: S608
    except sqlite3.OperationalError:
        return None  # a table WITHOUT ROWID
    return free[0]
