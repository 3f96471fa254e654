"""Arguments that miss a raw schema only by their type are converted by the rules that signatures follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nr_llm._json import JSON
from nr_llm._schema.containers import spelled
from nr_llm._schema.faults import Refused
from nr_llm._schema.forms import Reader
from nr_llm._schema.scalars import read_boolean, read_integer, read_null, read_number

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError


_DIGITS = 1_000
"""Digits of a key that is compared with a number, below Python's limit of 4,300."""


def _only(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise Refused("", value)
        return value

    return spelled(kind, read)


_READERS: Mapping[str, Reader] = {
    "integer": read_integer,
    "number": read_number,
    "boolean": read_boolean,
    "null": read_null,
    "array": _only(list),
    "object": _only(dict),
}


def coerced(arguments: dict[str, JSON], errors: Iterable[ValidationError]) -> bool:
    """Convert, in place, each value refused for its type alone; return whether any was."""
    changed = [_convert(arguments, error) for error in errors]
    return any(changed)


def _convert(arguments: dict[str, JSON], error: ValidationError) -> bool:
    steps, wanted = steps_of(error, arguments), wanted_types(error)
    if not steps or len(steps) < len(error.instance_path):
        return False
    parent, last = value_at(arguments, steps[:-1]), steps[-1]
    for read in (reader for kind, reader in _READERS.items() if kind in wanted):
        try:
            parent[last] = read(parent[last])
        except Refused:
            continue
        return True
    return False


def steps_of(error: ValidationError, arguments: Any) -> list[str | int]:
    """
    Return the path of a finding as the arguments have it.

    The validator reports the keys ``"7"`` and ``"007"`` as the number 7, so a number that leads into an object
    is looked up among its keys; where several could be meant, the path ends before them.
    """
    steps: list[str | int] = []
    for step in error.instance_path:
        if isinstance(arguments, dict) and isinstance(step, int):
            keys = [key for key in arguments if _number(key) == step]
            if len(keys) != 1:
                break
            step = keys[0]
        steps.append(step)
        arguments = arguments[step]
    return steps


def _number(key: str) -> int | None:
    digits = key.removeprefix("+")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else None


def value_at(value: Any, steps: Iterable[str | int]) -> Any:
    """Return the part of a JSON value at the end of a path."""
    for step in steps:
        value = value[step]
    return value


def wanted_types(error: ValidationError) -> list[str]:
    """Return the JSON types one of which would have been taken here; empty if type was not all that is wrong."""
    kind: Any = error.kind
    if hasattr(kind, "types"):
        return list(kind.types)
    return [
        wanted
        for branch in getattr(kind, "context", ())
        if len(branch) == 1 and branch[0].instance_path == error.instance_path
        for wanted in wanted_types(branch[0])
    ]
