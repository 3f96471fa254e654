"""Opens the database so that only reads of permitted columns are possible, within bounds and a deadline."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import attrs

from nr_llm_sql._access import Access, authorizer
from nr_llm_sql._stops import Halt, Halted, Missing, Refused
from nr_llm_sql.settings import SqlSettings

STEPS = 1_000
"""SQLite's virtual machine steps between two looks at the clock: some tens of microseconds."""

BUSY_SECONDS = 1.0
"""Time to wait for another program's lock, within the call's own time."""

SQL_BYTES = 500_000
"""Bytes of a statement: enough for every column of a wide table, by name."""

_Row = TypeVar("_Row")
Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]


@contextmanager
def connected(settings: SqlSettings, halt: Halt) -> Iterator[sqlite3.Connection]:
    """
    Open the database for reading; only statements of our own may run on this connection.

    The connection belongs to the calling thread and is always closed.

    Raises:
        Missing: The path leads to no ordinary file.
    """
    mode = f"ro{'&immutable=1' if settings.snapshot else ''}"
    with _opened(settings, halt, mode=mode) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


@contextmanager
def connected_to_write(settings: SqlSettings, halt: Halt) -> Iterator[sqlite3.Connection]:
    """
    Open the database for one transaction that writes, and begin it; what is not committed by then is undone.

    Raises:
        Missing: The path leads to no ordinary file.
        sqlite3.Error: It cannot be written, or somebody else writes to it.
    """
    with _opened(settings, halt, mode="rw") as connection:
        connection.execute("PRAGMA foreign_keys = ON")  # without it SQLite reads references and keeps none
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@contextmanager
def _opened(settings: SqlSettings, halt: Halt, *, mode: str) -> Iterator[sqlite3.Connection]:
    path = settings.database
    if path is None or not _is_file(path):
        raise Missing(str(path))
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    wait = min(settings.seconds, BUSY_SECONDS)
    with closing(sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)) as connection:
        connection.text_factory = _decoded
        connection.set_progress_handler(halt.due, STEPS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
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
        self, sql: str, parameters: Parameters = (), *, cap: int, row: Callable[[tuple[Any, ...]], _Row]
    ) -> list[_Row]:
        """
        Run one statement and return at most `cap` + 1 rows: one more than the cap says that there are more.

        Args:
            sql: One SELECT.
            parameters: Values for its question marks, or for its names.
            cap: Rows wanted.
            row: Called with each row as it is read, so that one row at a time is held in full.

        Raises:
            Halted: It was time to stop.
            Refused: It touches something that is not permitted.
            sqlite3.Error: It failed.
        """
        with closing(self.rows(sql, parameters)) as found:
            return [row(values) for values in islice(found, cap + 1)]

    def rows(self, sql: str, parameters: Parameters = ()) -> Generator[tuple[Any, ...], None, None]:
        """Run one statement and yield its rows, each as it is read; as `select` raises."""
        with closing(self._connection.cursor()) as cursor:
            self._refusals.clear()
            try:
                for values in cursor.execute(sql, parameters):
                    if self._halt.due():
                        raise Halted
                    yield values
            except sqlite3.Error as error:
                if self._refusals:
                    raise Refused(self._refusals[0]) from error
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                    raise Halted from error
                raise


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
