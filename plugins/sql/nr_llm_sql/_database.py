"""Names what a call needs of a database, whichever it is."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import sqlalchemy as sa

from nr_llm_sql._catalogue import Field, Source, Table
from nr_llm_sql._forms import Forms

if TYPE_CHECKING:  # a target is made of what is named here
    from nr_llm_sql._targets import Target

COUNTED_ROWS = 100_000
"""Rows of a table that are counted at most; counting so many takes some milliseconds."""

UNCOUNTED = "not counted"
"""Stands for the number of rows of a view, and of a table when the time is up."""

Rows = Generator[tuple[Any, ...], None, None]


class Reader(Protocol):
    """Runs statements that can only read what is permitted."""

    def rows(self, statement: sa.Select[Any]) -> Rows:
        """
        Run one statement and yield its rows, each as it is read.

        Raises:
            Halted: It was time to stop.
            Refused: It touches something that is not permitted.
            Unfit: A value does not fit its column.
        """


@attrs.frozen(kw_only=True, eq=False)
class Opened:
    """
    A table that may be read.

    Args:
        table: The table as it is.
        visible: The table with the columns that may be seen.
        reader: Reads it and nothing else.
        forms: How this database says what is asked of it.
    """

    table: Table
    visible: Table
    reader: Reader
    forms: Forms


class Database(Protocol):
    """A database during one call."""

    def open(self, name: str) -> Opened:
        """
        Open one table.

        Raises:
            Refused: There is no such table, it is not permitted, or it is a view of what is not.
        """

    def target(self, name: str) -> Target:
        """
        Look at one table that somebody wants to write to.

        Raises:
            Refused: As `open`.
        """

    def reference(self, field: Field) -> str:
        """Return what `field` refers to as ``table.column``; empty if nothing, or nothing that may be seen."""

    def counted(self) -> Iterator[tuple[Source, str]]:
        """Yield each source that may be read, and its number of rows as far as it was counted."""
