"""Reads from SQLite's schema what follows when a record of a table is written."""

from __future__ import annotations

import sqlite3

import attrs

from nr_llm_sql._catalogue import Source
from nr_llm_sql._names import clear, fold

_TRIGGERS = "SELECT name, tbl_name FROM main.sqlite_master WHERE type = 'trigger' ORDER BY name"

# Virtual tables, which have no root page, hold no references, and to describe one runs its module.
_REFERENCES = """
    SELECT o.name, r."from", r."table", r."to", r.seq
    FROM main.sqlite_master AS o, pragma_foreign_key_list(o.name, 'main') AS r
    WHERE o.type = 'table' AND o.rootpage
"""
_KEYS = """
    SELECT o.name, k.name, k.pk FROM main.sqlite_master AS o, pragma_table_info(o.name, 'main') AS k
    WHERE o.type = 'table' AND o.rootpage AND k.pk
"""
_UNNAMED = "one whose name cannot be shown"


@attrs.frozen(kw_only=True)
class Consequences:
    """
    What SQLite does by itself when a record of a table is written.

    Args:
        triggers: The table's triggers.
        every_trigger: All triggers of the database, which may set off each other; as SQLite compares names.
        referenced: Columns of the table that other records refer to.
        looked_up: Tables and columns that are compared to keep references, as SQLite compares names.
    """

    triggers: tuple[str, ...]
    every_trigger: frozenset[str]
    referenced: frozenset[str]
    looked_up: frozenset[tuple[str, str]]


def shown_trigger(name: str) -> str:
    """Return the name of a trigger, or words for one whose name could pass for something else."""
    return name if clear(name) else _UNNAMED


def consequences(connection: sqlite3.Connection, source: Source) -> Consequences:
    """Return what follows when a record of `source` is written."""
    triggers = connection.execute(_TRIGGERS).fetchall()
    ours, looked_up, referenced = fold(source.name), set[tuple[str, str]](), set[str]()
    keys = {(fold(table), place): fold(name) for table, name, place in connection.execute(_KEYS)}
    for table, column, target, to, place in connection.execute(_REFERENCES):
        # A reference that names no column means the other table's key.
        other = keys.get((fold(target), place + 1), "") if to is None else fold(to)
        ends = ((fold(table), fold(column)), (fold(target), other))
        if ours in {ends[0][0], ends[1][0]}:
            looked_up.update(ends)
        if ends[1][0] == ours:
            referenced.add(ends[1][1])
    return Consequences(
        triggers=tuple(shown_trigger(name) for name, table in triggers if fold(table) == ours),
        every_trigger=frozenset(fold(name) for name, _ in triggers),
        referenced=frozenset(referenced),
        looked_up=frozenset(looked_up),
    )
