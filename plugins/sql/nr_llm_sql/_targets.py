"""Names what a call needs to know of a table before it writes to it, whichever database it is in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import attrs

from nr_llm_sql._catalogue import Field
from nr_llm_sql._conditions import Scalar
from nr_llm_sql._database import Opened, Reader
from nr_llm_sql._forms import Expression


class Misfit(Exception):  # noqa: N818 - turned into a message that names the field
    """A value cannot be stored in a column as what it is; the text says what the column wants."""


class Types(Protocol):
    """What the columns of one database can hold."""

    def fit(self, field: Field, value: Scalar) -> Any:
        """
        Return a value as it travels to a column.

        Raises:
            Misfit: The column cannot hold it exactly.
        """

    def same(self, column: Expression, field: Field, value: Any) -> Expression:
        """Return whether a cell holds exactly what `fit` returned: null apart from empty, text apart from numbers."""


@attrs.frozen(kw_only=True, eq=False)
class Target:
    """
    A table that a call wants to write to.

    Args:
        opened: The table, and what reads it.
        types: What its columns can hold.
        names: The names by which settings may mean it, as `fold` returns them.
        fold: Returns the form in which the database compares names.
        fixed: Columns that nobody writes: they are computed, or other records refer to them.
        triggers: Names of what the database does by itself when a record is written.
        generates: Whether the database may make a new record's key; else it would have to be written.
        rules: Whether the database rewrites statements on this table into others.
    """

    opened: Opened
    types: Types
    names: frozenset[str]
    fold: Callable[[str], str]
    fixed: frozenset[str]
    triggers: tuple[str, ...]
    generates: bool = True
    rules: bool = False

    def within(self, names: Collection[str]) -> Target:
        """Return the table with those of its columns alone that `names` has: what a reader may see counts."""
        seen = tuple(field for field in self.opened.visible.fields if field.name in names)
        return attrs.evolve(
            self, opened=attrs.evolve(self.opened, visible=attrs.evolve(self.opened.visible, fields=seen))
        )


class Desk(Protocol):
    """A database in which a table can be looked at with the eyes of somebody who wants to write to it."""

    def target(self, name: str) -> Target:
        """
        Look at one table.

        Raises:
            Refused: There is no such table, or it is not permitted.
        """


class Ink(Desk, Protocol):
    """A database during one call that writes, in one transaction: unless it is committed, nothing was changed."""

    def reader(self, target: Target) -> Reader:
        """Return what reads the table as this transaction sees it."""

    def update(self, target: Target, address: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Change the records that have the key and return how many there were."""

    def insert(self, target: Target, values: Mapping[str, Any]) -> dict[str, Any]:
        """
        Create one record and return the columns and values that find it.

        Raises:
            ToolError: There is none.
        """

    def commit(self) -> None:
        """
        Make what was written last.

        Raises:
            Halted: It was time to stop, and nothing was changed.
            ToolError: Whether it lasts is unknown.
        """
