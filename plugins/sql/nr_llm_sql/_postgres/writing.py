"""One call's transaction that writes to PostgreSQL, with a role of its own, committed or undone behind the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import psycopg
import sqlalchemy as sa
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError

from nr_llm_sql._plans import NOTHING
from nr_llm_sql._postgres.access import Permits
from nr_llm_sql._postgres.catalogue import WRITES, power, relations
from nr_llm_sql._postgres.connection import PostgresReader, connected_to_write
from nr_llm_sql._postgres.session import PostgresSession
from nr_llm_sql._postgres.write_failures import explained, lost
from nr_llm_sql._statements import changing, creating
from nr_llm_sql._stops import Halt, Halted
from nr_llm_sql._targets import Target
from nr_llm_sql._write_failures import not_created, unknown
from nr_llm_sql.settings import SqlSettings


@attrs.frozen(eq=False)
class PostgresInk:
    """A PostgreSQL database during one call that writes."""

    _connection: sa.Connection
    _permits: Permits
    _halt: Halt

    def target(self, name: str) -> Target:
        """
        Look at one table.

        Raises:
            Refused: There is no such table, or it is not permitted.
        """
        return PostgresSession(self._connection, self._permits, self._halt).target(name)

    def reader(self, target: Target) -> PostgresReader:  # noqa: ARG002 - the transaction reads every table
        """Return what reads the table as this transaction sees it."""
        return PostgresReader(self._connection, self._halt)

    def update(self, target: Target, address: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Change the records that have the key and return how many there were."""
        count = self._connection.execute(changing(target, address, values)).rowcount
        self._settle()
        return count

    def insert(self, target: Target, values: Mapping[str, Any]) -> dict[str, Any]:
        """
        Create one record and return its key.

        Raises:
            ToolError: There is none; a trigger may have prevented it.
        """
        key = [field.name for field in target.opened.table.key]
        found = self._connection.execute(creating(target, values, key=key)).all()
        if len(found) != 1:
            raise not_created()
        self._settle()
        return dict(zip(key, found[0], strict=True))

    def _settle(self) -> None:
        """Have the server do now what it would do at the end: what is read back then is what lasts."""
        driver = self._connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        try:
            driver.execute("SET CONSTRAINTS ALL IMMEDIATE", prepare=True)  # so that it is no simple query
        except psycopg.Error as error:
            raise sa.exc.DBAPIError("SET CONSTRAINTS", None, error) from None

    def commit(self) -> None:
        """
        Make what was written last.

        Raises:
            Halted: It was time to stop, and nothing was changed.
            ToolError: Whether it lasts is unknown.
        """
        if self._halt.due():
            raise Halted
        try:
            self._connection.commit()
        except sa.exc.DBAPIError as error:
            if lost(error):
                raise unknown() from None
            raise


@contextmanager
def writing(settings: SqlSettings, context: ToolContext, halt: Halt) -> Iterator[PostgresInk]:
    """
    Begin the transaction of one call; unless it is committed, nothing was changed.

    Raises:
        ToolError: It was not written; or whether it was is unknown.
        RunCancelledError: The run no longer waits for the call.
    """
    with explained(settings, context), connected_to_write(settings, halt, context.cancelled) as connection:
        beside = "" if settings.writable_role else power(connection, settings.schemas)
        if beside not in {"", WRITES}:
            raise ToolError(
                f"The database is not written to with a role that {beside}. Give `write_url` in [plugins.sql] a role"
                f" that may write these fields and no more, or set `writable_role = true` there. {NOTHING}"
            )
        yield PostgresInk(connection, Permits(settings, relations(connection, settings.schemas)), halt)
