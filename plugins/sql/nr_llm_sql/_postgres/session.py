"""One call's view of a PostgreSQL database: a transaction that reads, and is rolled back behind the call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import attrs
import sqlalchemy as sa
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError

from nr_llm_sql._catalogue import Field, Source
from nr_llm_sql._database import COUNTED_ROWS, UNCOUNTED, Opened
from nr_llm_sql._forms import columns
from nr_llm_sql._postgres.access import Permits
from nr_llm_sql._postgres.catalogue import described, power, relations
from nr_llm_sql._postgres.connection import PostgresReader, connected
from nr_llm_sql._postgres.failures import explained
from nr_llm_sql._postgres.forms import PostgresForms
from nr_llm_sql._postgres.types import PostgresTypes
from nr_llm_sql._postgres.written import consequences
from nr_llm_sql._stops import Halt, Halted, Refused, Unfit
from nr_llm_sql._targets import Target
from nr_llm_sql.settings import SqlSettings

_SHARE = 0.25
"""The part of the time that is left which the count of one table may take."""


@attrs.frozen(eq=False)
class PostgresSession:
    """The database during one call."""

    _connection: sa.Connection
    _permits: Permits
    _halt: Halt

    def reference(self, field: Field) -> str:
        """Return what `field` refers to as ``table.column``; empty if nothing, or nothing that may be seen."""
        name, column = field.reference or ("", None)
        target = self._permits.find(name)
        if target is None or column is None or not self._permits.field(target.source, column):
            return ""
        return f"{target.source.name}.{column}"

    def open(self, name: str) -> Opened:
        """
        Open one table.

        Raises:
            Refused: There is no such table, or it is not permitted.
        """
        relation = self._permits.find(name)
        if relation is None:
            raise Refused("the table is unknown or denied")
        whole = described(self._connection, relation, self._permits.settings.schemas)
        return Opened(
            table=whole,
            visible=self._permits.visible(whole),
            reader=PostgresReader(self._connection, self._halt),
            forms=PostgresForms({field.name: field for field in whole.fields}),
        )

    def target(self, name: str) -> Target:
        """
        Look at one table that somebody wants to write to.

        Raises:
            Refused: There is no such table, or it is not permitted.
        """
        relation = self._permits.find(name)
        if relation is None:
            raise Refused("the table is unknown or denied")
        follows = consequences(self._connection, relation)
        schema, table = relation.source.place
        return Target(
            opened=self.open(name),
            types=PostgresTypes(),
            names=frozenset({relation.source.name, f"{schema}.{table}"}),
            fold=str,
            fixed=follows.fixed,
            triggers=follows.triggers,
            rules=follows.rules,
        )

    def counted(self) -> Iterator[tuple[Source, str]]:
        """Yield each source that may be read, and its number of rows as far as it was counted."""
        for relation in self._permits.permitted():
            if self._halt.cancelled():
                raise Halted
            yield relation.source, self._count(relation.source)

    def _count(self, source: Source) -> str:
        if source.view or self._halt.due():
            return UNCOUNTED
        table, _ = columns(source, ())
        some = sa.select(sa.literal_column("1")).select_from(table).limit(COUNTED_ROWS + 1).subquery()
        reader = PostgresReader(self._connection, self._halt, share=_SHARE)
        with suppress(Halted, Refused, Unfit, sa.exc.DBAPIError):  # one table that fails is no reason to list none
            with (
                self._connection.begin_nested(),
                closing(reader.rows(sa.select(sa.func.count()).select_from(some))) as rows,
            ):
                [(number,)] = rows
            return str(number) if number <= COUNTED_ROWS else f"more than {COUNTED_ROWS}"
        return UNCOUNTED


@contextmanager
def session(settings: SqlSettings, context: ToolContext, halt: Halt) -> Iterator[PostgresSession]:
    """
    Open the database for one call.

    Raises:
        ToolError: It cannot be read, not in time, or its role may do more than read.
        RunCancelledError: The run no longer waits for the call.
    """
    with explained(settings, context), connected(settings, halt, context.cancelled) as connection:
        beside = "" if settings.writable_role else power(connection, settings.schemas)
        if beside:
            raise ToolError(
                f"The database is not read with a role that {beside}. Give `url` in [plugins.sql] a role with SELECT"
                " alone, or set `writable_role = true` there."
            )
        permits = Permits(settings, relations(connection, settings.schemas))
        yield PostgresSession(connection, permits, halt)
