"""A default is shown to the model when it is a JSON value of the parameter's own type, and kept private if not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from uuid import UUID

from nr_llm._json import JSON, copy_json
from nr_llm._schema.faults import Refused
from nr_llm._schema.forms import Form
from nr_llm.errors import InvalidValueError


def shown_default(default: object, form: Form) -> dict[str, JSON]:
    """
    Return ``{"default": …}``, or ``{}`` for a default that is nobody else's business.

    Left out are sentinels, objects without a JSON form, absolute paths (they describe this machine), and
    whatever the parameter itself would not take, such as None for an ``int``.
    """
    try:
        value = copy_json(_plain(default))
        return {"default": value} if form.read(value) == default else {}
    except (InvalidValueError, Refused):
        return {}


def _plain(value: object) -> object:
    """Return a default in its JSON form; what has none is returned as it is and refused by the copy."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, PurePath):
        return value if value.is_absolute() else str(value)
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=repr)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _duration(value: timedelta) -> str:
    sign, length = ("-", -value) if value < timedelta() else ("", value)
    fraction = f".{length.microseconds:06d}" if length.microseconds else ""
    return f"{sign}P{length.days}DT{length.seconds}{fraction}S"
