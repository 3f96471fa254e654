"""JSON's own scalars, and choices among them: what each takes exactly, and what converts without loss."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from nr_llm._json import JSON, copy_json
from nr_llm._schema.faults import Refused, Told, clip, excerpt
from nr_llm._schema.forms import Form, Reader
from nr_llm.errors import InvalidValueError

EXACT_FLOAT = 2**53
"""Beyond this a float no longer tells neighbouring integers apart (IEEE 754, binary64)."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,999}")
_NUMBER_CHARS = 40
_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_CHOICE_CHARS = 300


def read_text(value: Any) -> str:
    """Take text; a number is no text, since the model would not know how it was spelled."""
    if type(value) is str:
        return value
    raise Refused("text", value)


def exact_integer(value: Any) -> int:
    """Take an integer; true and false are none."""
    if type(value) is int:
        return value
    raise Refused("an integer", value)


def read_integer(value: Any) -> int:
    """Take an integer, an integral number such as 1.0, or the canonical spelling of one such as ``"1"``."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer() and abs(value) <= EXACT_FLOAT:
        return int(value)
    if type(value) is str and _INTEGER.fullmatch(value):
        return int(value)
    raise Refused("an integer", value)


def exact_number(value: Any) -> float:
    """Take a finite number that is written with a fraction or exponent."""
    if type(value) is float and math.isfinite(value):
        return value
    raise Refused("a number", value)


def read_number(value: Any) -> float:
    """Take a finite number, an integer a float holds exactly, or the canonical spelling of either."""
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and (number := _float(value)) == value:
        return number
    if type(value) is str and len(value) <= _NUMBER_CHARS:
        number = _float(value)
        if math.isfinite(number) and (repr(number) == value or _spells_integer(value, number)):
            return number
    raise Refused("a number", value)


def _float(value: int | str) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _spells_integer(text: str, number: float) -> bool:
    return _INTEGER.fullmatch(text) is not None and int(text) == number


def exact_boolean(value: Any) -> bool:
    """Take true or false; 0 and 1 are numbers."""
    if type(value) is bool:
        return value
    raise Refused("true or false", value)


def read_boolean(value: Any) -> bool:
    """Take true or false, or the same as text in JSON's spelling."""
    if type(value) is bool:
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise Refused("true or false", value)


def exact_null(value: Any) -> None:
    """Take null."""
    if value is not None:
        raise Refused("null", value)


def read_null(value: Any) -> None:
    """Take null, or the same as text in JSON's spelling."""
    if value is not None and value != "null":
        raise Refused("null", value)


def read_anything(value: Any) -> JSON:
    """Take any JSON value, as a copy the tool may change."""
    try:
        return copy_json(value)
    except InvalidValueError as error:
        raise Told(f"expected a JSON value: {clip(str(error), 200)}") from None


TEXT = Form(schema={"type": "string"}, expected="text", exact=read_text, read=read_text)
INTEGER = Form(schema={"type": "integer"}, expected="an integer", exact=exact_integer, read=read_integer)
NUMBER = Form(schema={"type": "number"}, expected="a number", exact=exact_number, read=read_number)
BOOLEAN = Form(schema={"type": "boolean"}, expected="true or false", exact=exact_boolean, read=read_boolean)
NULL = Form(schema={"type": "null"}, expected="null", exact=exact_null, read=read_null)
ANYTHING = Form(schema={}, expected="any value", exact=read_anything, read=read_anything, hashable=False)


def is_choice(value: object) -> bool:
    """Return whether a value can be offered as a choice: a JSON scalar, finite, of the exact type."""
    return type(value) in _KINDS and not (isinstance(value, float) and not math.isfinite(value))


def choice_form(choices: Mapping[tuple[type, Any], object]) -> Form:
    """
    Return the form of a closed set, taken exactly: nothing is converted and case matters.

    Args:
        choices: For each JSON scalar, with its type (1 and true are equal in Python), the value to give.
    """
    values: list[JSON] = [value for _, value in choices]
    kinds: list[JSON] = list(dict.fromkeys(_KINDS[kind] for kind, _ in choices))
    schema: dict[str, JSON] = {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}
    expected = clip(", ".join(map(excerpt, values)), _CHOICE_CHARS)
    expected = f"one of {expected}" if len(values) > 1 else expected
    read = _chooser(choices, expected)
    return Form(schema=schema, expected=expected, exact=read, read=read)


def _chooser(choices: Mapping[tuple[type, Any], object], expected: str) -> Reader:
    def read(value: Any) -> object:
        try:
            return choices[type(value), value]
        except (KeyError, TypeError):  # no choice, or a list or object, which no key can be
            raise Refused(expected, value) from None

    return read
