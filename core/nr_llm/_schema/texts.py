"""Types that JSON has no form for and that are written as text: time, paths, identifiers, decimals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from nr_llm._json import JSON
from nr_llm._schema.faults import Refused
from nr_llm._schema.forms import Form, Reader

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?"
_DATE = re.compile(_DAY)
_TIME = re.compile(_CLOCK)
_DATETIME = re.compile(f"{_DAY}[Tt ]{_CLOCK}")
_DURATION = re.compile(
    r"(?P<sign>-?)P(?=[0-9T])(?:(?P<weeks>[0-9]{1,9})W)?(?:(?P<days>[0-9]{1,9})D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
    r"(?:(?P<seconds>[0-9]{1,9})(?:\.(?P<fraction>[0-9]{1,6}))?S)?)?"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"
_DECIMAL_TEXT = re.compile(_DECIMAL[1:-1])


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError("other spelling")
    return match


def _datetime(text: str) -> datetime:
    """Read ISO 8601 in the form of RFC 3339; without an offset it stays naive, since any zone would be a guess."""
    return datetime.fromisoformat(_matched(_DATETIME, text)[0].upper())


def _date(text: str) -> date:
    return date.fromisoformat(_matched(_DATE, text)[0])


def _time(text: str) -> time:
    return time.fromisoformat(_matched(_TIME, text)[0].upper())


def _duration(text: str) -> timedelta:
    """Read an ISO 8601 duration; years and months are refused, they have no fixed length."""
    parts = _matched(_DURATION, text).groupdict(default="0")
    sign, fraction = parts.pop("sign"), parts.pop("fraction")
    length = timedelta(microseconds=int(fraction.ljust(6, "0")), **{unit: int(n) for unit, n in parts.items()})
    return -length if sign == "-" else length


def _path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError("no path")
    return Path(text)


def _uuid(text: str) -> UUID:
    return UUID(_matched(_UUID, text)[0])


def _decimal(text: str) -> Decimal:
    return Decimal(_matched(_DECIMAL_TEXT, text)[0])


def _read_integral_decimal(read: Reader) -> Reader:
    def reader(value: Any) -> Decimal:
        if type(value) is int:
            return Decimal(value)
        decimal: Decimal = read(value)
        return decimal

    return reader


def _reader(parse: Callable[[str], object], expected: str) -> Reader:
    def read(value: Any) -> object:
        if type(value) is str:
            try:
                return parse(value)
            except (ValueError, OverflowError):
                pass
        raise Refused(expected, value)

    return read


def _form(parse: Callable[[str], object], expected: str, **schema: JSON) -> Form:
    read = _reader(parse, expected)
    return Form(schema={"type": "string", **schema}, expected=expected, exact=read, read=read)


def _decimal_form() -> Form:
    expected = 'a decimal number as text, such as "12.50"'
    exact = _reader(_decimal, expected)
    return Form(
        schema={"type": "string", "pattern": _DECIMAL},
        expected=expected,
        exact=exact,
        read=_read_integral_decimal(exact),
    )


_PATH = _form(_path, "a path as text", minLength=1)

TEXT_FORMS: Mapping[object, Form] = {
    datetime: _form(
        _datetime,
        'a date and time in ISO 8601, such as "2031-05-24T14:30:00Z"',
        format="date-time",
    ),
    date: _form(_date, 'a date in ISO 8601, such as "2031-05-24"', format="date"),
    time: _form(_time, 'a time of day in ISO 8601, such as "14:30:00"', format="time"),
    timedelta: _form(
        _duration,
        'an ISO 8601 duration in weeks, days, hours, minutes and seconds, such as "P1DT2H30M"',
        format="duration",
    ),
    Path: _PATH,
    PurePath: _PATH,
    UUID: _form(_uuid, 'a UUID, such as "123e4567-e89b-12d3-a456-426614174000"', format="uuid"),
    Decimal: _decimal_form(),
}
"""Every type that is read from text, with its form."""
