"""Checks a value against the type of a column of PostgreSQL, which rounds, cuts and drops some of what it is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from nr_llm_sql._catalogue import Field
from nr_llm_sql._conditions import Scalar
from nr_llm_sql._forms import Expression, bound
from nr_llm_sql._targets import Misfit
from nr_llm_sql._types import number

_WHOLE = {"int2": 2**15, "int4": 2**31, "int8": 2**63}
_NUMBERS = frozenset({*_WHOLE, "numeric", "float4", "float8"})
_EQUAL = frozenset({"date", "timestamp", "timestamptz", "time", "timetz", "jsonb", "uuid", "inet", "cidr", "macaddr"})
"""Types with several texts for one value, of which the server knows that they mean the same."""

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
# What the server reads beside these is dropped by it (a time in a date, a zone in a time without one), or means
# another moment whenever it is read (`now`).
_TIMES: Mapping[str, tuple[re.Pattern[str], str]] = {
    "date": (re.compile(_DAY), "a date such as 2026-01-31"),
    "timestamp": (re.compile(rf"{_DAY}[ T]{_CLOCK}"), "a date and time without a zone, such as 2026-01-31 12:30:00"),
    "timestamptz": (
        re.compile(rf"{_DAY}[ T]{_CLOCK}{_ZONE}"),
        "a date and time with its zone, such as 2026-01-31 12:30:00+00",
    ),
    "time": (re.compile(_CLOCK), "a time such as 12:30:00"),
    "timetz": (re.compile(_CLOCK + _ZONE), "a time with its zone, such as 12:30:00+00"),
}


class PostgresTypes:
    """PostgreSQL reads a text as a value of the column's type: a value travels as the text that says it exactly."""

    def fit(self, field: Field, value: Scalar) -> str | None:
        """
        Return the text of a value.

        Raises:
            Misfit: The column's type is not for it.
        """
        if value is None:
            return None
        if field.binary:
            raise Misfit("holds binary data, which is not written")
        if field.base == "bool":
            if isinstance(value, bool):
                return "true" if value else "false"
            raise Misfit("wants true or false")
        if field.base in _NUMBERS:
            return _number(value, field.base)
        if not isinstance(value, str):
            raise Misfit("wants text")
        form, wanted = _TIMES.get(field.base, (None, ""))
        if form is not None and not form.fullmatch(value):
            raise Misfit(f"wants {wanted}")
        return value

    def same(self, column: Expression, field: Field, value: Any) -> Expression:
        """Return whether a cell holds `value`: as the server shows it, or what means exactly the same."""
        if value is None:
            return column.is_(None)
        if field.base in _EQUAL:
            return column == bound(value)
        shown = sa.cast(column, sa.Text)
        if field.base in _NUMBERS:
            return sa.cast(shown, sa.Numeric) == sa.cast(bound(value), sa.Numeric)
        return shown.collate("C") == bound(value)


def _number(value: Scalar, base: str) -> str:
    found = number(value)
    if found is None:
        raise Misfit("wants a number")
    if base in _WHOLE:
        if found != found.to_integral_value() or not -_WHOLE[base] <= found < _WHOLE[base]:
            raise Misfit(f"wants a whole number from {-_WHOLE[base]} to {_WHOLE[base] - 1}")
        return str(int(found))
    return str(found)
