"""Writes down in PostgreSQL's SQL what is said of one column, whose type is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
import sqlalchemy as sa

from nr_llm_sql._catalogue import Field
from nr_llm_sql._forms import SCANNED, Compare, Expression, bound
from nr_llm_sql._stops import Unfit

NUMBERS, TIMES, TEXTS = "N", "DT", "S"
"""Categories of types (`pg_type.typcategory`)."""

_WILDCARD = re.compile(r"[%_/]")


@attrs.frozen
class PostgresForms:
    """
    PostgreSQL gives every column a type, and knows the text of any value exactly.

    Args:
        fields: The fields of the table by name.
    """

    fields: Mapping[str, Field]

    def value(self, column: Expression) -> Expression:
        """Return the beginning of the value's text, which is all that leaves the server; null for binary data."""
        if self._field(column).binary:
            return sa.cast(sa.null(), sa.Text)
        return sa.func.left(sa.cast(column, sa.Text), sa.literal_column(str(SCANNED)))

    def size(self, column: Expression) -> Expression:
        """Return the size of binary data."""
        return sa.func.octet_length(column) if self._field(column).binary else sa.cast(sa.null(), sa.Integer)

    def letters(self, column: Expression) -> Expression:
        """Return the value's text, sorted by its code points."""
        return sa.cast(column, sa.Text).collate("C")

    def equal(self, column: Expression, value: Any) -> Expression:
        """Return whether they are equal as values of the column's type."""
        return column.is_(None) if value is None else column == bound(_text(value))

    def unequal(self, column: Expression, value: Any) -> Expression:
        """Return whether they differ as values of the column's type."""
        return column.is_not(None) if value is None else column.is_distinct_from(bound(_text(value)))

    def compared(self, column: Expression, value: Any, *, by: Compare) -> Expression:
        """
        Return the comparison, for numbers with numbers and for times with times.

        Raises:
            Unfit: The column holds neither.
        """
        category = self._field(column).category
        if isinstance(value, str) and category == TEXTS:
            alike = sa.cast(column, sa.Text).op("~")(sa.literal_column("'^[0-9]{4}-[0-9]'"))
            return sa.and_(alike, by(column.collate("C"), bound(value)))
        if category not in (TIMES if isinstance(value, str) else NUMBERS):
            raise Unfit
        return by(column, bound(_text(value)))

    def containing(self, column: Expression, text: str, *, start: bool) -> Expression:
        """
        Return whether the text is there; each wildcard in it means itself.

        Raises:
            Unfit: The column holds no text.
        """
        if not self._field(column).textual:
            raise Unfit
        literal = _WILDCARD.sub(r"/\g<0>", text)
        pattern = f"{literal}%" if start else f"%{literal}%"
        return sa.cast(column, sa.Text).ilike(bound(pattern), escape="/")

    def _field(self, column: Expression) -> Field:
        return self.fields[str(column.key)]


def _text(value: Any) -> str:
    """Return the text that the server reads as a value of the column's type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
