"""What a model says of the rows it wants: fields, operators and values, never SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from nr_llm_sql._limits import LONGEST_TEXT, MOST_CHOICES, SHORTEST_TEXT

Scalar: TypeAlias = str | int | float | bool | None

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "in"]

TEXTUAL = frozenset({"contains", "starts_with"})
"""Operators that look into a text, of which a masked secret may be a part."""

ORDERED = frozenset({"<", "<=", ">", ">="})
"""Operators for numbers and times.  Between texts they would sort secrets among guesses, letter by letter."""

_BROKEN = re.compile("[\0\ud800-\udfff]")

_TIME = re.compile(r"\d{4}-\d\d(-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?)?")


@attrs.frozen
class Condition:
    """
    Something a field must be.

    Args:
        field: Name of a field.
        operator: < <= > >= compare numbers and dates; contains and starts_with look into texts; in takes a list.
        value: The value; null finds missing values.
    """

    field: str
    operator: Operator
    value: Scalar | list[Scalar] = None

    def sound(self) -> bool:
        """Return whether the operator can be used with this kind of value."""
        value = self.value
        if self.operator == "in":
            return isinstance(value, list) and 0 < len(value) <= MOST_CHOICES
        if isinstance(value, list):
            return False
        if self.operator in TEXTUAL:
            return isinstance(value, str) and searchable(value)
        if self.operator in ORDERED:
            return ordered(value)
        return True


@attrs.frozen(kw_only=True)
class Ask:
    """
    The rows that a call asks for, as the model gave it.

    Args:
        fields: Fields to show; None for all.
        conditions: What holds of each row.
        limit: Rows wanted.
        offset: Rows to skip.
        order: The field to sort by; None for the order of the key.
        text: A text that some field contains; empty for any row.
    """

    fields: list[str] | None
    conditions: tuple[Condition, ...]
    limit: int
    offset: int
    order: str | None
    text: str = ""


def equalities(filters: Mapping[str, Scalar] | None) -> tuple[Condition, ...]:
    """Return the conditions that fields equal values."""
    return tuple(Condition(name, "=", value) for name, value in (filters or {}).items())


def searchable(text: str) -> bool:
    """Return whether `text` is long enough to find something, short enough to look for, and whole characters."""
    return SHORTEST_TEXT <= len(text) <= LONGEST_TEXT and not _BROKEN.search(text)


def ordered(value: Scalar) -> bool:
    """Return whether `value` is a number, or a date or time as ISO 8601 writes it."""
    if isinstance(value, str):
        return _TIME.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)
