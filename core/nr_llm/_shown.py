"""Shows a value by what was set in it, so that a conversation fits a screen."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import attrs


def shown(value: Any) -> str:
    """
    Return an attrs value as the call that makes it, without the fields that have their default.

    Words of an enumeration are shown as the texts they are: constructors take those, too.
    """
    parts = [
        f"{field.name}={_part(field, given)}"
        for field in attrs.fields(type(value))
        if field.repr and (given := getattr(value, field.name)) != _default(field)
    ]
    return f"{type(value).__qualname__}({', '.join(parts)})"


def _default(field: Any) -> Any:
    return field.default.factory() if isinstance(field.default, attrs.Factory) else field.default  # type: ignore[arg-type]


def _part(field: Any, given: object) -> str:
    if callable(field.repr):
        return str(field.repr(given))
    return repr(str(given) if isinstance(given, StrEnum) else given)
