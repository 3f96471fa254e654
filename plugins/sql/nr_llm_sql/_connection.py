"""Opens the database so that only reads of permitted columns are possible, within bounds and a deadline."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs

from nr_llm_sql._access import Access, authorizer
from nr_llm_sql.settings import SqlSettings

STEPS = 1_000
"""SQLite's virtual machine steps between two looks at the clock: some tens of microseconds."""

BUSY_SECONDS = 1.0
"""Time to wait for another program's lock, within the call's own time."""

SQL_BYTES = 500_000
"""Bytes of a statement: enough for every column of a wide table, by name."""

_Row = TypeVar("_Row")


class Halted(Exception):  # noqa: N818 - not an error: it was told to stop
    """The call was told to stop, or its time is up."""


class Missing(Exception):  # noqa: N818 - turned into a message at the edge
    """There is no file where the settings say the database is."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer
    """The statement, or a view it reads, touches something that is not permitted."""


@attrs.frozen(eq=False)
class Halt:
    """
    Says when a call has to stop.

    Args:
        cancelled: Whether the run was cancelled.
        deadline: Time of `clock` after which the call stops.
        clock: A monotonic clock, in seconds.
    """

    cancelled: Callable[[], bool]
    deadline: float
    clock: Callable[[], float] = time.monotonic

    def due(self) -> bool:
        """Return whether to stop now."""
        return self.cancelled() or self.clock() >= self.deadline


@contextmanager
def connected(settings: SqlSettings, halt: Halt) -> Iterator[sqlite3.Connection]:
    """
    Open the database for reading; only statements of our own may run on this connection.

    The connection belongs to the calling thread and is always closed.

    Raises:
        Missing: The path leads to no ordinary file.
    """
    path = settings.database
    if path is None or not _is_file(path):
        raise Missing(str(path))
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if settings.snapshot else ''}"
    wait = min(settings.seconds, BUSY_SECONDS)
    with closing(sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)) as connection:
        connection.text_factory = _decoded
        connection.set_progress_handler(halt.due, STEPS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}")
        yield connection


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be entered, a name too long
        return False


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


@attrs.frozen(eq=False)
class Guarded:
    """A connection that reads permitted columns and refuses everything else; made by `guarded`."""

    _connection: sqlite3.Connection
    _halt: Halt
    _refusals: list[str]

    def select(
        self, sql: str, parameters: Sequence[Any] = (), *, cap: int, row: Callable[[tuple[Any, ...]], _Row]
    ) -> list[_Row]:
        """
        Run one statement and return at most `cap` + 1 rows: one more than the cap says that there are more.

        Args:
            sql: One SELECT.
            parameters: Values for its question marks.
            cap: Rows wanted.
            row: Called with each row as it is read, so that one row at a time is held in full.

        Raises:
            Halted: It was time to stop.
            Refused: It touches something that is not permitted.
            sqlite3.Error: It failed.
        """

        def read(_: sqlite3.Cursor, values: tuple[Any, ...]) -> _Row:
            if self._halt.due():
                raise Halted
            return row(values)

        with closing(self._connection.cursor()) as cursor:
            cursor.row_factory = read
            self._refusals.clear()
            try:
                found: list[_Row] = cursor.execute(sql, parameters).fetchmany(cap + 1)
            except sqlite3.Error as error:
                if self._refusals:
                    raise Refused(self._refusals[0]) from error
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                    raise Halted from error
                raise
            return found


def guarded(connection: sqlite3.Connection, access: Access, halt: Halt) -> Guarded:
    """
    Narrow `connection` for good, for statements that nobody has checked.

    Sizes are limited only here: SQLite applies them to the schema it reads, which has been read by now.
    """
    limits = {
        sqlite3.SQLITE_LIMIT_LENGTH: access.settings.value_bytes,
        sqlite3.SQLITE_LIMIT_SQL_LENGTH: SQL_BYTES,
        sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
        sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
        sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 16,
        sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
        sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    }
    for limit, value in limits.items():
        connection.setlimit(limit, value)
    refusals: list[str] = []
    connection.set_authorizer(authorizer(access, refusals.append))
    return Guarded(connection, halt, refusals)
