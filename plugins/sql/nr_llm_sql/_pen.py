"""Lets one statement of ours write to one table of SQLite, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import attrs

from nr_llm_sql._access import FUNCTIONS, Access, Authorizer
from nr_llm_sql._connection import Parameters
from nr_llm_sql._names import fold, folded
from nr_llm_sql._stops import Refused
from nr_llm_sql._written import Consequences

TRIGGER_FUNCTIONS = FUNCTIONS | {
    *("changes", "char", "format", "last_insert_rowid", "printf", "quote", "random", "randomblob", "replace"),
}
"""Functions that a trigger may call: what the owner of a database wrote may make more of little than a model may."""


@attrs.frozen(kw_only=True)
class Writable:
    """
    What one statement may write.

    Args:
        access: What may be read.
        table: The table.
        columns: The columns that may be changed; None: one record may be created instead.
        consequences: What SQLite does by itself.
    """

    access: Access
    table: str
    columns: tuple[str, ...] | None
    consequences: Consequences


def write_authorizer(writable: Writable, refused: Callable[[str], None]) -> Authorizer:
    """
    Return the function SQLite asks before it compiles a statement that writes.

    SQLite does not tell which columns an INSERT fills: that statement is ours, and so are its columns.

    Args:
        writable: What is permitted.
        refused: Told the name of each thing that was refused.
    """
    columns = frozenset[str]() if writable.columns is None else folded(*writable.columns)
    own = fold(writable.table)

    def permitted(action: int, first: str, second: str, via: str | None) -> bool:
        if via is not None and fold(via) in writable.consequences.every_trigger:
            return _by_trigger(action, first, second)
        match action:
            case sqlite3.SQLITE_UPDATE:
                return fold(first) == own and fold(second) in columns
            case sqlite3.SQLITE_INSERT:
                return fold(first) == own and writable.columns is None
            case sqlite3.SQLITE_READ:
                looked_up = (fold(first), fold(second)) in writable.consequences.looked_up
                return looked_up or (fold(first) == own and writable.access.readable(first, second, None))
            case _:
                return False

    def authorize(action: int, first: str | None, second: str | None, database: str | None, via: str | None) -> int:
        if database in {None, "main"} and permitted(action, first or "", second or "", via):
            return sqlite3.SQLITE_OK
        refused(f"action {action} on {'.'.join(name for name in (first, second) if name)!r}")
        return sqlite3.SQLITE_DENY

    return authorize


def _by_trigger(action: int, first: str, second: str) -> bool:
    match action:
        case sqlite3.SQLITE_FUNCTION:
            return fold(second) in TRIGGER_FUNCTIONS
        case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_READ:
            return True
        case sqlite3.SQLITE_INSERT | sqlite3.SQLITE_UPDATE | sqlite3.SQLITE_DELETE:
            return not fold(first).startswith("sqlite_")
        case _:
            return False


def write(
    connection: sqlite3.Connection, sql: str, parameters: Parameters, *, writable: Writable
) -> tuple[int, int | None]:
    """
    Run one statement that writes.

    Returns:
        The records it wrote, without what triggers did, and the row number of the last one it created.

    Raises:
        Refused: It, or a trigger, does what is not permitted.
        sqlite3.Error: It failed.
    """
    refusals: list[str] = []
    connection.set_authorizer(write_authorizer(writable, refusals.append))
    try:
        cursor = connection.execute(sql, parameters)
    except sqlite3.Error as error:
        if refusals:
            raise Refused(refusals[0]) from error
        raise
    return cursor.rowcount, cursor.lastrowid
