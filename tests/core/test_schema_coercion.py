"""The published table of conversions is the whole truth: each line holds, and nothing else converts."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypedDict
from uuid import UUID

import attrs
import pytest
from nr_llm._json import decode, encode
from nr_llm._schema import ArgumentsError, signature_of

from tests.support import ROOT

PAGE = ROOT / "docs/reference/coercion.md"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Point:
    x: int
    y: int


class Filter(TypedDict):
    since: date


NAMES = {
    c.__name__: c
    for c in (Color, Point, Filter, Mapping, Sequence, datetime, date, time, timedelta, Decimal, Path, UUID)
} | {"Any": Any, "Literal": Literal, "UTC": UTC}

PROBES = """
null true false 0 1 7 -7 7.0 7.5 7.9 1e300 9007199254740993 12.5
"" "text" "7" "-7" "7.0" "7.5" "7.50" "007" "+7" " 7" "1_000" "1e3" "0x7" "true" "True" "yes" "false" "null" "None"
"nan" "Infinity" "red" "RED" "a" "A" "[1, 2]" "1, 2" "{\\"a\\": 1}" "{\\"x\\": 1, \\"y\\": 2}" "2031-05-24" "14:30:00"
"2031-05-24T14:30:00Z" "2031-05-24T00:00:00" "24.05.2031" "P1DT2H30M" "P1M" "12.50" "notes/a.txt"
"123e4567-e89b-12d3-a456-426614174000" "123e4567e89b12d3a456426614174000"
[] [1] [1,1] [1,2] [1,"a"] ["text"] {} {"a":1} {"x":1} {"x":1,"y":2} {"x":1,"y":2,"z":3} {"since":"2031-05-24"}
"""


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section's table; code spans lose their backticks and what follows them."""
    text = PAGE.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.replace("\\|", "\0").strip("|").split("|")] for line in lines]
    return [[cell.replace("\0", "|").split("`")[1] if "`" in cell else cell for cell in row] for row in cells]


def probes() -> Iterator[Any]:
    """Yield values of every JSON kind, chosen to be near to what some type takes."""
    import json

    rest = PROBES.strip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        yield value
        rest = rest[end:].strip()


def meaning(text: str) -> Any:
    return eval(text, dict(NAMES))


def reader(hint: str) -> Any:
    def f(x: Any) -> str:
        return str(x)

    f.__annotations__["x"] = meaning(hint)
    structure = signature_of(f).structure
    return lambda value: structure({"x": value})["x"]


def same(one: Any, other: Any) -> bool:
    return bool(type(one) is type(other) and one == other)


TAKEN = rows("The JSON form of each type") + rows("What is converted") + rows("Unions")


@pytest.mark.parametrize(("hint", "given", "value"), [row[:3] for row in TAKEN], ids=str)
def test_what_is_listed_is_taken(hint: str, given: str, value: str) -> None:
    """Each line of the tables of forms, conversions and unions holds."""
    assert same(reader(hint)(decode(given)), meaning(value))


@pytest.mark.lesson(106, 117)
@pytest.mark.parametrize(("hint", "given"), [row[:2] for row in rows("What is refused")], ids=str)
def test_what_is_listed_as_refused_is_refused(hint: str, given: str) -> None:
    """Each line of the table of refusals holds."""
    with pytest.raises(ArgumentsError):
        reader(hint)(decode(given))


def kind(value: Any) -> str:
    """Return which JSON kind a value is; text that is the canonical spelling of another value says which."""
    if not isinstance(value, str):
        return type(value).__name__
    try:
        spelled = decode(value)
    except ValueError:
        return f"text {value!r}"
    canonical = isinstance(spelled, (dict, list)) or encode(spelled) == value
    return f"text of {kind(spelled)}" if canonical else f"text {value!r}"


@pytest.mark.lesson(106)
@pytest.mark.parametrize("hint", sorted({row[0] for row in rows("What is converted")}))
def test_nothing_converts_that_is_not_listed(hint: str) -> None:
    """The kinds of probes that change their form on the way in are the kinds in the table of conversions."""
    own = {kind(decode(row[1])) for row in rows("The JSON form of each type") if row[0] == hint}
    read, found = reader(hint), set()
    for probe in probes():
        try:
            value = read(probe)
        except ArgumentsError:
            continue
        if not (same(value, probe) or kind(probe) in own or (isinstance(probe, str) and hint == "Decimal")):
            found.add(kind(probe))

    assert found == {kind(decode(row[1])) for row in rows("What is converted") if row[0] == hint}


def test_other_types_convert_nothing() -> None:
    """A type that is not in the table of conversions takes its own form only: text, for all of these."""
    converting = {row[0] for row in rows("What is converted")}
    for hint in ("str", "datetime", "date", "time", "timedelta", "Path", "UUID", "Color"):
        assert hint not in converting
        for probe in probes():
            if not isinstance(probe, str):
                with pytest.raises(ArgumentsError):
                    reader(hint)(probe)


def test_the_sections_are_found() -> None:
    """An empty table would let every test here pass."""
    assert len(rows("What is converted")) > 15
    assert len(rows("What is refused")) > 35
    assert len(list(probes())) > 60
