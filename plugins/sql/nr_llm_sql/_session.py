"""One call's view of the database: opened for it, narrowed to what it asks for, closed behind it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import sqlalchemy as sa
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError
from sqlalchemy.dialects import sqlite

from nr_llm_sql._access import Access, visible
from nr_llm_sql._catalogue import Field, Source, Table, sources, table
from nr_llm_sql._connection import Guarded, connected, guarded
from nr_llm_sql._database import COUNTED_ROWS, UNCOUNTED, Database, Opened, Rows
from nr_llm_sql._failures import explained
from nr_llm_sql._forms import SqliteForms
from nr_llm_sql._names import fold, quoted
from nr_llm_sql._stops import Halt, Halted, Refused
from nr_llm_sql._targets import Target
from nr_llm_sql._types import SqliteTypes
from nr_llm_sql._written import Consequences, consequences
from nr_llm_sql.settings import SqlSettings

DIALECT = sqlite.dialect(paramstyle="named")
"""Parameters by name: for question marks SQLAlchemy searches the text, and might find one in a quoted name."""


@attrs.frozen(eq=False)
class SqliteReader:
    """Runs statements through the guarded connection."""

    _guarded: Guarded

    def rows(self, statement: sa.Select[Any]) -> Rows:
        """Run one statement and yield its rows, each as it is read."""
        compiled = statement.compile(dialect=DIALECT)
        return self._guarded.rows(str(compiled), compiled.params)


@attrs.frozen(eq=False)
class Session:
    """The database during one call."""

    _connection: sqlite3.Connection
    _access: Access
    _halt: Halt

    def reference(self, field: Field) -> str:
        """Return what `field` refers to as ``table.column``; empty if nothing, or nothing that may be seen."""
        name, column = field.reference or ("", None)
        target = self._access.find(name)
        if target is None or (column is not None and not self._access.field(name, column)):
            return ""
        return target.name if column is None else f"{target.name}.{column}"

    def open(self, name: str) -> Opened:
        """
        Narrow the session to one table.

        Raises:
            Refused: There is no such table, it is not permitted, or it is a view of what is not.
        """
        source = self._access.find(name)
        if source is None:
            raise Refused("the table is unknown or denied")
        self._connection.set_authorizer(None)  # of a table that was open before; what follows here is our own
        whole = _described(self._connection, source)
        reader = guarded(self._connection, self._access.passing(source), self._halt)
        _probe(reader, source)
        return Opened(
            table=whole, visible=visible(whole, self._access), reader=SqliteReader(reader), forms=SqliteForms()
        )

    def target(self, name: str) -> Target:
        """
        Narrow the session to one table that somebody wants to write to.

        Raises:
            Refused: There is no such table, or it is not permitted.
        """
        source = self._access.find(name)
        if source is None:
            raise Refused("the table is unknown or denied")
        return self.targeted(name, consequences(self._connection, source))

    def targeted(self, name: str, follows: Consequences) -> Target:
        """Return the target once it is known what follows from writing to it."""
        opened = self.open(name)
        fields, key = opened.table.fields, opened.table.key
        computed = opened.table.source.computed
        lone = len(key) == 1 and fold(key[0].type) == "integer"
        return Target(
            opened=opened,
            types=SqliteTypes(),
            names=frozenset({fold(opened.table.source.name)}),
            fold=fold,
            fixed=frozenset(f.name for f in fields if fold(f.name) in computed | follows.referenced),
            triggers=follows.triggers,
            generates=lone or opened.table.rowid is not None,
        )

    def counted(self) -> Iterator[tuple[Source, str]]:
        """Yield each source that may be read, and its number of rows as far as it was counted."""
        for source in self._access.permitted():
            reader = guarded(self._connection, self._access.passing(source), self._halt)
            try:
                _probe(reader, source)
            except (Refused, sqlite3.OperationalError, UnicodeDecodeError) as error:
                if _broken(error):
                    continue
                raise
            yield source, self._count(reader, source)

    def _count(self, reader: Guarded, source: Source) -> str:
        if source.view:
            return UNCOUNTED
        sql = f"SELECT count(*) FROM (SELECT 1 FROM main.{quoted(source.name)} LIMIT ?)"  # noqa: S608
        try:
            [number] = reader.select(sql, [COUNTED_ROWS + 1], cap=1, row=lambda row: int(row[0]))
        except Halted:
            if self._halt.cancelled():
                raise
            return UNCOUNTED
        return str(number) if number <= COUNTED_ROWS else f"more than {COUNTED_ROWS}"


@contextmanager
def session(settings: SqlSettings, context: ToolContext) -> Iterator[Database]:
    """
    Open the database for one call.

    Raises:
        ToolError: It cannot be read, or not in time.
        RunCancelledError: The run no longer waits for the call.
    """
    halt = halt_of(settings, context)
    if settings.url is not None:
        check_driver()
        from nr_llm_sql._postgres.session import session as postgres_session

        with postgres_session(settings, context, halt) as database:
            yield database
            return
    with explained(settings, context), connected(settings, halt) as connection:
        yield Session(connection, Access(settings, sources(connection)), halt)


def halt_of(settings: SqlSettings, context: ToolContext) -> Halt:
    """Return what says when a call has to stop."""
    deadline = time.monotonic() + settings.seconds
    if context.deadline is not None:
        deadline = min(deadline, context.deadline)
    return Halt(lambda: context.cancelled.cancelled, deadline)


def check_driver() -> None:
    """
    Say that PostgreSQL's driver is missing before anything else does.

    Raises:
        ToolError: It is.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise ToolError('PostgreSQL needs a driver: pip install "nr-llm-sql[postgresql]".') from error


def _described(connection: sqlite3.Connection, source: Source) -> Table:
    try:
        return table(connection, source)
    except (sqlite3.OperationalError, UnicodeDecodeError) as error:
        if _broken(error):
            raise Refused("the view reads what does not exist") from error
        raise


def _broken(error: Exception) -> bool:
    """Return whether `error` means that a view cannot be read at all, now or later."""
    # What SQLite reports may quote a name that is no UTF-8; then Python has no other error of it.
    unknown = isinstance(error, Refused | UnicodeDecodeError)
    return unknown or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR


def _probe(reader: Guarded, source: Source) -> None:
    reader.select(f"SELECT 1 FROM main.{quoted(source.name)} LIMIT 0", cap=0, row=tuple)  # noqa: S608
