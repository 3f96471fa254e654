"""Checks a value against the declared type of a column of SQLite, which itself checks next to nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

import sqlalchemy as sa

from nr_llm_sql._catalogue import Field
from nr_llm_sql._conditions import Scalar
from nr_llm_sql._forms import Expression, bound
from nr_llm_sql._targets import Misfit

Stored: TypeAlias = str | int | float | None

NUMBER = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?")
"""A number as databases read it, short enough to count with."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_SIZE = re.compile(r"\(\s*([0-9]{1,5})\s*(?:,\s*([0-9]{1,3})\s*)?\)")
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T]{_CLOCK}(Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?")
_TIME = re.compile(_CLOCK)
_LARGEST = 2**63

# How SQLite reads a declared type, first match first: https://www.sqlite.org/datatype3.html section 3.1; and, before
# that, words that it stores as numbers or as whatever they are, which mean more to people.
_KINDS = (
    ("INT", "integer"),
    ("CHAR", "text"),
    ("CLOB", "text"),
    ("TEXT", "text"),
    ("BLOB", "binary"),
    ("REAL", "real"),
    ("FLOA", "real"),
    ("DOUB", "real"),
    ("BOOL", "flag"),
    ("DATETIME", "moment"),
    ("TIMESTAMP", "moment"),
    ("DATE", "day"),
    ("TIME", "time"),
    ("NUM", "numeric"),
    ("DEC", "numeric"),
    ("MONEY", "numeric"),
)


class SqliteTypes:
    """SQLite stores what it is given, turned into another type where it can: what goes in is checked before."""

    def fit(self, field: Field, value: Scalar) -> Stored:
        """
        Return a value as it is to be stored.

        Raises:
            Misfit: The declared type is not for it.
        """
        if value is None:
            return None
        return _FITS[_kind(field.type)](value, field.type)

    def same(self, column: Expression, field: Field, value: Any) -> Expression:  # noqa: ARG002 - SQLite's cells say it
        """Return whether a cell is stored as `value`, letter by letter."""
        if value is None:
            return column.is_(None)
        if isinstance(value, str):
            return _stored_as(column, "text") & (column.collate("BINARY") == bound(value))
        return (_stored_as(column, "integer") | _stored_as(column, "real")) & (column == bound(value))


def _stored_as(column: Expression, kind: str) -> Expression:
    return sa.func.typeof(column) == sa.literal_column(f"'{kind}'")


def _kind(declared: str) -> str:
    name = declared.upper()
    return next((kind for word, kind in _KINDS if word in name), "other") if name else "any"


def number(value: Scalar) -> Decimal | None:
    """Return the number that a value is or says, exactly; None if there is none."""
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) and NUMBER.fullmatch(value) else None


def _numeric(value: Scalar, declared: str) -> Stored:
    found = number(value)
    if found is None:
        raise Misfit("wants a number")
    _check_digits(found, declared)
    if found == found.to_integral_value() and abs(found) < _LARGEST:
        return int(found)
    nearest = float(found)
    if not math.isfinite(nearest) or Decimal(repr(nearest)) != found:
        raise Misfit("cannot store this number exactly")
    return nearest


def _check_digits(found: Decimal, declared: str) -> None:
    size = _SIZE.search(declared)
    if size is None or (size[2] is None and _kind(declared) == "real"):  # one number alone counts bits there
        return
    digits, places = int(size[1]), int(size[2] or 0)
    scaled = found.scaleb(places) if abs(found.adjusted()) < 1_000 else found
    if scaled != scaled.to_integral_value() or abs(found) >= Decimal(10) ** max(digits - places, 0):
        raise Misfit(f"wants a number of {digits} digits, {places} of them behind the point")


def _integer(value: Scalar, declared: str) -> Stored:  # noqa: ARG001 - all have the same size
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise Misfit("wants a whole number")
    found = Decimal(value) if isinstance(value, bool) else number(value)
    if found is None or found != found.to_integral_value() or not -_LARGEST <= found < _LARGEST:
        raise Misfit("wants a whole number")
    return int(found)


def _real(value: Scalar, declared: str) -> Stored:
    found = number(value)
    if found is None:
        raise Misfit("wants a number")
    _check_digits(found, declared)
    nearest = float(found)
    exact = Decimal(repr(nearest)) if math.isfinite(nearest) else None
    if exact != found:
        raise Misfit("cannot store this number exactly")
    return nearest


def _text(value: Scalar, declared: str) -> Stored:
    if not isinstance(value, str):
        raise Misfit("wants text")
    size = _SIZE.search(declared)
    if size is not None and len(value) > int(size[1]):
        raise Misfit(f"holds {int(size[1]):,} characters at most, not {len(value):,}")
    return value


def _flag(value: Scalar, declared: str) -> Stored:  # noqa: ARG001
    if isinstance(value, bool | int) and value in {0, 1}:
        return int(value)
    raise Misfit("wants true or false")


def _binary(value: Scalar, declared: str) -> Stored:  # noqa: ARG001
    raise Misfit("holds binary data, which is not written")


def _any(value: Scalar, declared: str) -> Stored:  # noqa: ARG001
    return value if isinstance(value, str) else _numeric(int(value) if isinstance(value, bool) else value, "")


def _temporal(form: re.Pattern[str], read: Callable[[str], object], wanted: str) -> Callable[[Scalar, str], Stored]:
    def fit(value: Scalar, declared: str) -> Stored:  # noqa: ARG001
        if isinstance(value, str):
            with suppress(ValueError):
                if form.fullmatch(value) and read(value):
                    return value
        elif not isinstance(value, bool):
            return _numeric(value, "")  # seconds, or days: many keep times so
        raise Misfit(f"wants {wanted}")

    return fit


_FITS: Mapping[str, Callable[[Scalar, str], Stored]] = {
    "integer": _integer,
    "text": _text,
    "binary": _binary,
    "real": _real,
    "flag": _flag,
    "numeric": _numeric,
    "day": _temporal(_DAY, date.fromisoformat, "a date such as 2026-01-31"),
    "moment": _temporal(_MOMENT, datetime.fromisoformat, "a date and time such as 2026-01-31 12:30:00"),
    "time": _temporal(_TIME, time.fromisoformat, "a time such as 12:30:00"),
    "other": _any,
    "any": _any,
}
