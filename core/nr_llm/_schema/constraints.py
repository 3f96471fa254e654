"""Constraints narrow a parameter beyond its type, in the schema and in the check alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from nr_llm._json import JSON
from nr_llm._schema.faults import Refused
from nr_llm._schema.forms import Form, Reader
from nr_llm.errors import InvalidValueError


@attrs.frozen(kw_only=True)
class Constraint:
    """
    Limits of a parameter, written as ``Annotated[int, "Rows to read.", Constraint(ge=1, le=100)]``.

    Markers of the annotated-types package carry the same attribute names and are understood too.

    Args:
        ge: Numbers: at least this.
        gt: Numbers: more than this.
        le: Numbers: at most this.
        lt: Numbers: less than this.
        multiple_of: Numbers: a multiple of this.
        min_length: Text: at least so many characters; arrays: items.
        max_length: Text: at most so many characters; arrays: items.

    Raises:
        InvalidValueError: No limit is given.
    """

    ge: int | float | None = None
    gt: int | float | None = None
    le: int | float | None = None
    lt: int | float | None = None
    multiple_of: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None

    def __attrs_post_init__(self) -> None:
        if not limits_of(self):
            raise InvalidValueError("a Constraint needs at least one limit, such as ge=1")


@attrs.frozen
class _Rule:
    """One kind of limit: its JSON Schema keywords, its words, its test."""

    keywords: Mapping[str, str]
    words: str
    holds: Callable[[Any, Any], bool]


def _rule(words: str, holds: Callable[[Any, Any], bool], **keywords: str) -> _Rule:
    return _Rule(keywords, words, holds)


def _number(words: str, holds: Callable[[Any, Any], bool], keyword: str) -> _Rule:
    return _rule(words, holds, integer=keyword, number=keyword)


def _is_multiple(value: float, of: float) -> bool:
    """Divide the numbers as written: 0.3 is a multiple of 0.1, which floats deny."""
    return Fraction(str(value)) % Fraction(str(of)) == 0


_RULES: Mapping[str, _Rule] = {
    "ge": _number("at least {}", lambda v, limit: v >= limit, "minimum"),
    "gt": _number("more than {}", lambda v, limit: v > limit, "exclusiveMinimum"),
    "le": _number("at most {}", lambda v, limit: v <= limit, "maximum"),
    "lt": _number("less than {}", lambda v, limit: v < limit, "exclusiveMaximum"),
    "multiple_of": _number("a multiple of {}", _is_multiple, "multipleOf"),
    "min_length": _rule(
        "of length {} or more",
        lambda v, limit: len(v) >= limit,
        string="minLength",
        array="minItems",
    ),
    "max_length": _rule(
        "of length {} or less",
        lambda v, limit: len(v) <= limit,
        string="maxLength",
        array="maxItems",
    ),
}


_LEAST = {"multiple_of": math.ulp(0.0), "min_length": 0, "max_length": 0}


def limits_of(marker: object) -> dict[str, int | float]:
    """Return the limits a marker in ``Annotated`` carries; empty for a marker of somebody else."""
    found = ((name, getattr(marker, name, None)) for name in _RULES)
    return {name: limit for name, limit in found if isinstance(limit, (int, float))}


def constrained(form: Form, limits: Mapping[str, int | float]) -> Form:
    """
    Return `form` narrowed by `limits`.

    Raises:
        InvalidValueError: A limit does not apply to the form's type, or is none.
    """
    schema = dict(form.schema)
    for name, limit in limits.items():
        if limit < _LEAST.get(name, -math.inf):
            raise InvalidValueError(f"{name} cannot be {limit}")
        schema[_keyword(name, form)] = limit
    words = ", ".join(_RULES[name].words.format(limit) for name, limit in limits.items())
    expected = f"{form.expected}, {words}"
    return attrs.evolve(
        form,
        schema=schema,
        expected=expected,
        exact=_checked(form.exact, limits, expected),
        read=_checked(form.read, limits, expected),
    )


def _keyword(name: str, form: Form) -> str:
    kind = form.schema.get("type")
    written = {"format", "pattern", "enum"} & form.schema.keys()
    keyword = None if written else _RULES[name].keywords.get(str(kind))
    if keyword is None:
        raise InvalidValueError(f"{name} does not apply to {form.expected}")
    return keyword


def _checked(read: Reader, limits: Mapping[str, int | float], expected: str) -> Reader:
    tests: list[tuple[Callable[[Any, Any], bool], JSON]] = [
        (_RULES[name].holds, limit) for name, limit in limits.items()
    ]

    def checked(value: Any) -> Any:
        taken = read(value)
        for holds, limit in tests:
            if not holds(taken, limit):
                raise Refused(expected, value)
        return taken

    return checked
