"""Generated arguments fit the schema they were made from, whatever it demands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from nr_llm import ConfigurationError, Constraint, InvalidSchemaError, Tool
from nr_llm._schema import compile_schema
from nr_llm.testing import arguments_for
from nr_llm.testing.arguments import fuzz


class Colour(Enum):
    """Some values."""

    RED = "red"
    TWO = 2


@attrs.frozen
class Point:
    """A class in a signature."""

    x: int
    y: float = 1.0
    names: list[str] | None = None


def everything(
    number: int,
    text: str,
    share: float,
    flag: bool,
    choice: Literal["x", 1] | None,
    colour: Colour,
    items: list[int],
    points: dict[str, Point],
    pair: tuple[int, str],
    row: tuple[int, ...],
    members: set[int],
    at: datetime,
    day: date,
    clock: time,
    length: timedelta,
    path: Path,
    key: UUID,
    price: Decimal,
    anything: Any,
    several: int | list[str] | None,
    even: Annotated[int, Constraint(ge=1, le=9, multiple_of=2)] = 2,
    short: Annotated[str, Constraint(min_length=2, max_length=4)] = "ab",
    above: Annotated[float, Constraint(gt=0.5)] = 1.0,
    steps: Annotated[float, Constraint(multiple_of=0.5, lt=3)] = 1.0,
) -> str:
    """Take everything."""
    return ""


def drawn(schema: Mapping[str, Any], *, most: int = 20) -> list[dict[str, Any]]:
    """Return arguments made for a schema."""
    found: list[dict[str, Any]] = []

    @settings(max_examples=most, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(arguments_for(schema))
    def each(arguments: dict[str, Any]) -> None:
        found.append(arguments)

    each()
    return found


def parameter(schema: Any, **root: Any) -> dict[str, Any]:
    """Return the schema of one required parameter."""
    return {"type": "object", "properties": {"it": schema}, "required": ["it"], **root}


def values(schema: Any, **root: Any) -> list[Any]:
    """Return values made for one parameter."""
    return [arguments["it"] for arguments in drawn(parameter(schema, **root))]


def test_every_type_of_a_signature_is_made() -> None:
    """What is made from a signature's schema is read by the signature."""
    tool = Tool.from_function(everything)
    found = drawn(tool.parameters, most=50)

    assert len(found) > 10
    for arguments in found:
        tool.structure(arguments | {"path": arguments["path"].replace("\0", "0")})  # no schema says: no path


TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}

SCHEMAS = [
    pytest.param({"type": ["integer", "null"], "minimum": 3, "exclusiveMaximum": 4.5}, {}, id="types and bounds"),
    pytest.param({"type": "integer", "exclusiveMinimum": 2, "maximum": 3.9}, {}, id="exclusive bounds"),
    pytest.param({"minimum": 1}, {}, id="told by keyword"),
    pytest.param({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, {}, id="open interval"),
    pytest.param({"type": "number", "multipleOf": 0.25, "minimum": 0, "maximum": 1}, {}, id="multiples"),
    pytest.param({"$ref": "#/$defs/tree"}, {"$defs": {"tree": TREE}}, id="holds itself"),
    pytest.param({"$ref": "#/$defs/a~1b/anyOf/0"}, {"$defs": {"a/b": {"anyOf": [{"const": 1}]}}}, id="pointer"),
    pytest.param({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 4}]}, {}, id="exactly one"),
    pytest.param({"type": "string", "anyOf": [{"minLength": 3}, {"const": "x"}]}, {}, id="beside a union"),
    pytest.param({"not": {"type": "string"}}, {}, id="unknown keyword"),
    pytest.param({"type": "string", "pattern": "^[a-c]+$", "maxLength": 5}, {}, id="pattern"),
    *[
        pytest.param({"type": "string", "format": form}, {}, id=form)
        for form in (
            *("date-time", "date", "time", "duration", "email", "uri", "uuid", "ipv4", "ipv6"),
            "made-up",
        )
    ],
    pytest.param({"items": {"type": "integer"}, "uniqueItems": True, "minItems": 2}, {}, id="no repeats"),
    pytest.param({"prefixItems": [{"const": 1}, {"type": "string"}], "minItems": 1}, {}, id="places"),
    pytest.param({"prefixItems": [{"const": 1}], "items": False, "minItems": 1}, {}, id="places only"),
    pytest.param(
        {"type": "array", "items": [{"type": "integer"}], "minItems": 2},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        id="places of an older draft",
    ),
    pytest.param({"type": "object", "additionalProperties": {"type": "boolean"}}, {}, id="free keys"),
    pytest.param({"properties": {"a": False, "b": True}, "required": ["b", "c"]}, {}, id="required and undeclared"),
    pytest.param({"type": "null"}, {}, id="null"),
    pytest.param({}, {}, id="anything"),
]


@pytest.mark.parametrize(("schema", "root"), SCHEMAS)
def test_a_schema_people_write_is_made(schema: dict[str, Any], root: dict[str, Any]) -> None:
    """Every value fits as it stands: the schema's own check takes it and converts nothing."""
    check = compile_schema(parameter(schema, **root))
    found = drawn(parameter(schema, **root))

    assert found
    assert found == [check(arguments) for arguments in found]


def test_values_differ() -> None:
    """Bounds are reached, and optional parts come and go."""
    assert {3, 4} == set(values({"type": "integer", "minimum": 3, "maximum": 4}))
    assert {0, 1} == {len(a) for a in drawn({"type": "object", "properties": {"a": {"type": "null"}}})}


def test_a_schema_that_nothing_fits() -> None:
    """What cannot be made is told by Hypothesis, not by an endless search."""
    with pytest.raises(Unsatisfiable):
        values({"type": "string", "allOf": [{"type": "integer"}]})


def test_a_schema_no_tool_could_use_is_refused() -> None:
    """A broken schema is the schema's fault."""
    with pytest.raises(InvalidSchemaError):
        arguments_for({"type": "nonsense"})


def test_without_hypothesis_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package works without Hypothesis, and says how to get it."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    with pytest.raises(ConfigurationError, match="pip install hypothesis"):
        arguments_for({"type": "object"})
    with pytest.raises(ConfigurationError, match="not installed"):
        fuzz({"type": "object"}, print, calls=1)


PERCENT = {"type": "integer", "minimum": 0, "maximum": 99}


def test_fuzz_gives_arguments_of_both_kinds() -> None:
    """Arguments that fit come, and arguments that do not."""
    seen: list[dict[str, Any]] = []
    fuzz(parameter(PERCENT), seen.append, calls=200)

    assert {True, False} == {"nr_llm_unknown" in arguments for arguments in seen}


def test_fuzz_gives_the_simplest_offender() -> None:
    """The simplest arguments that break the check are shown."""

    def check(arguments: dict[str, Any]) -> None:
        if isinstance(arguments.get("it"), int) and arguments["it"] > 41:
            raise ZeroDivisionError(arguments["it"])

    with pytest.raises(ZeroDivisionError, match=r"\A42\b"):
        fuzz(parameter(PERCENT), check, calls=200)


def test_fuzz_gives_one_offence_of_several() -> None:
    """A check that is broken in two ways tells one of them, in its own words."""

    def check(arguments: dict[str, Any]) -> None:
        if isinstance(it := arguments.get("it"), int) and it > 41:
            raise (ZeroDivisionError if it % 2 else KeyError)("broken")

    with pytest.raises((ZeroDivisionError, KeyError), match="broken"):
        fuzz(parameter(PERCENT), check, calls=200)


@given(st.data())
@settings(max_examples=5)
def test_a_strategy_can_be_drawn_from(data: st.DataObject) -> None:
    """It is an ordinary strategy, to be combined with others."""
    assert {"it"} == data.draw(arguments_for(parameter({"type": "boolean"}))).keys()
