"""One call's transaction that writes: begun for it, committed or undone behind it, in whichever database it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import sqlalchemy as sa
from nr_llm.contexts import ToolContext

from nr_llm_sql._access import Access
from nr_llm_sql._catalogue import sources
from nr_llm_sql._connection import connected_to_write, guarded
from nr_llm_sql._pen import Writable, write
from nr_llm_sql._session import DIALECT, Session, SqliteReader, check_driver, halt_of
from nr_llm_sql._statements import changing, creating
from nr_llm_sql._stops import Halt, Halted
from nr_llm_sql._targets import Ink, Target
from nr_llm_sql._write_failures import explained, not_created, uncertain, unknown
from nr_llm_sql._written import consequences
from nr_llm_sql.settings import SqlSettings


@attrs.frozen(eq=False)
class SqliteInk:
    """A SQLite database during one call that writes."""

    _connection: sqlite3.Connection
    _access: Access
    _halt: Halt

    def target(self, name: str) -> Target:
        """
        Narrow the call to one table.

        Raises:
            Refused: There is no such table, or it is not permitted.
        """
        return Session(self._connection, self._access, self._halt).target(name)

    def reader(self, target: Target) -> SqliteReader:
        """Return what reads the table as this transaction sees it."""
        passing = self._access.passing(target.opened.table.source)
        return SqliteReader(guarded(self._connection, passing, self._halt))

    def update(self, target: Target, address: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Change the records that have the key and return how many there were."""
        count, _ = self._write(target, changing(target, address, values), columns=(*values,))
        return count

    def insert(self, target: Target, values: Mapping[str, Any]) -> dict[str, Any]:
        """
        Create one record and return the column and value that find it.

        Raises:
            ToolError: There is none; a trigger may have prevented it.
        """
        table = target.opened.table
        count, row = self._write(target, creating(target, values), columns=None)
        if count != 1 or row is None:
            raise not_created()
        return {table.rowid or table.key[0].name: row}

    def commit(self) -> None:
        """
        Make what was written last.

        Raises:
            Halted: It was time to stop, and nothing was changed.
            ToolError: Whether it lasts is unknown.
        """
        if self._halt.due():
            raise Halted
        self._connection.set_authorizer(None)
        self._connection.set_progress_handler(None, 0)  # from here on there is one outcome, and no stop between two
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if uncertain(error):
                raise unknown() from error
            raise

    def _write(
        self, target: Target, statement: sa.Update | sa.Insert, *, columns: tuple[str, ...] | None
    ) -> tuple[int, int | None]:
        self._connection.set_authorizer(None)
        source = target.opened.table.source
        follows = consequences(self._connection, source)
        writable = Writable(access=self._access, table=source.name, columns=columns, consequences=follows)
        compiled = statement.compile(dialect=DIALECT)
        return write(self._connection, str(compiled), compiled.params, writable=writable)


@contextmanager
def writing(settings: SqlSettings, context: ToolContext) -> Iterator[Ink]:
    """
    Begin the transaction of one call; unless it is committed, nothing was changed.

    Raises:
        ToolError: It was not written; or whether it was is unknown.
        RunCancelledError: The run no longer waits for the call.
    """
    halt = halt_of(settings, context)
    if settings.url is not None:
        check_driver()
        from nr_llm_sql._postgres.writing import writing as postgres_writing

        with postgres_writing(settings, context, halt) as ink:
            yield ink
        return
    with explained(settings, context), connected_to_write(settings, halt) as connection:
        yield SqliteInk(connection, Access(settings, sources(connection)), halt)
