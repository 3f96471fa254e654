"""Laws of schemas and readers, tried on types and values that nobody thought of."""

from __future__ import annotations

import enum
import string
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import attrs
import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from nr_llm._json import JSON, decode, encode
from nr_llm._schema import (
    ArgumentsError,
    Constraint,
    Signature,
    compile_schema,
    drop_strict_nulls,
    signature_of,
    strict_schema,
)
from nr_llm._schema.faults import MODEL_BYTES
from nr_llm.errors import InvalidSchemaError

LAW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)


class Color(enum.Enum):
    RED = "red"
    ONE = 1


def _record(first: Any, second: Any) -> Any:
    fields = {"first": attrs.field(type=first), "second": attrs.field(type=second, default=object())}
    return attrs.make_class("Record", fields, frozen=True)


HASHABLE = st.sampled_from(
    [
        str,
        int,
        float,
        bool,
        type(None),
        date,
        datetime,
        time,
        timedelta,
        Path,
        UUID,
        Decimal,
        Color,
        Literal["a", 2, None],  # noqa: PYI061
    ]
)
LEAVES = HASHABLE | st.just(Any)


def _nested(hints: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        hints.map(lambda hint: list[hint]),
        hints.map(lambda hint: dict[str, hint]),
        hints.map(lambda hint: tuple[hint, ...]),
        st.tuples(hints, hints).map(lambda pair: tuple[pair]),
        HASHABLE.map(lambda hint: set[hint]),
        st.tuples(hints, hints).map(lambda pair: _either(*pair)),
        st.tuples(hints, hints).map(lambda pair: _record(*pair)),
    )


def _either(one: Any, other: Any) -> Any:
    from typing import Union

    return Union[one, other]  # noqa: UP007 - for types known at run time only


HINTS = st.recursive(LEAVES, _nested, max_leaves=5)

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=12,
)


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    """Draw the signature of a function with one required and one optional parameter."""

    def f(first: Any, second: Any = None) -> str:
        return f"{first}{second}"

    f.__annotations__ |= {"first": draw(HINTS), "second": draw(HINTS)}
    return signature_of(f)


FORMATS: dict[Any, st.SearchStrategy[str]] = {
    "date": st.dates().map(date.isoformat),
    "date-time": st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    "time": st.times(timezones=st.just(UTC)).map(time.isoformat),
    "duration": st.integers(0, 10**6).map("PT{}S".format),
    "uuid": st.uuids().map(str),
}


def values_of(schema: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a schema of the subset that signatures use."""
    if "anyOf" in schema:
        return st.one_of([values_of(member) for member in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "type" not in schema:
        return JSON_VALUES
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([_values_of_kind(kind, schema) for kind in kinds])


def _values_of_kind(kind: str, schema: Any) -> st.SearchStrategy[Any]:
    match kind:
        case "string" if "format" in schema:
            return FORMATS[schema["format"]]
        case "string" if "pattern" in schema:
            return st.integers(-(10**6), 10**6).map("{}.5".format)
        case "string":
            return st.text(string.ascii_letters, min_size=schema.get("minLength", 0))
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            return st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return _arrays_of(schema)
    return _objects_of(schema)


def _arrays_of(schema: Any) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*map(values_of, schema["prefixItems"])).map(list)
    unique = comparable if schema.get("uniqueItems") else None
    sizes = {"min_size": schema.get("minItems", 0), "max_size": schema.get("maxItems", 4)}
    return st.lists(values_of(schema["items"]), unique_by=unique, **sizes)


def comparable(value: Any) -> Any:
    return tuple(map(comparable, value)) if isinstance(value, list) else value


def _objects_of(schema: Any) -> st.SearchStrategy[Any]:
    if "properties" not in schema:
        item = schema["additionalProperties"]
        return st.dictionaries(st.text(max_size=5), JSON_VALUES if item is True else values_of(item), max_size=3)
    parts = {key: values_of(part) for key, part in schema["properties"].items()}
    required = schema.get("required", [])
    optional = {key: part for key, part in parts.items() if key not in required}
    return st.fixed_dictionaries({key: parts[key] for key in required}, optional=optional)


@LAW
@given(st.data(), signatures())
def test_what_the_schema_describes_is_taken(data: st.DataObject, signature: Signature) -> None:
    """A model that keeps to the schema is never refused."""
    arguments = data.draw(values_of(signature.parameters))

    assert signature.structure(arguments).keys() == arguments.keys()


@LAW
@given(st.data(), signatures())
def test_a_raw_schema_takes_what_the_signature_takes(data: st.DataObject, signature: Signature) -> None:
    """The same schema, given as JSON, is no stricter."""
    arguments = data.draw(values_of(signature.parameters))

    assert compile_schema(signature.parameters)(arguments) == arguments


@LAW
@given(st.data(), signatures(), st.text(min_size=1))
def test_an_unknown_name_is_always_refused(data: st.DataObject, signature: Signature, name: str) -> None:
    """Whatever else is right, a made-up argument is told."""
    arguments = data.draw(values_of(signature.parameters))
    if name in ("first", "second"):
        name += "_"

    with pytest.raises(ArgumentsError) as caught:
        signature.structure({**arguments, name: 1})
    assert len(caught.value.faults) == 1


@LAW
@given(signatures())
def test_a_schema_is_json_and_a_json_schema(signature: Signature) -> None:
    """Every sink can encode it and every validator read it."""
    assert decode(encode(signature.parameters)) == signature.parameters
    assert jsonschema_rs.meta.is_valid(signature.parameters)


@LAW
@given(signatures(), st.dictionaries(st.sampled_from(["first", "second", "third"]), JSON_VALUES) | JSON_VALUES)
def test_whatever_a_model_sends_is_taken_or_refused(signature: Signature, arguments: Any) -> None:
    """Nothing but `ArgumentsError` is raised, and its text is bounded; the raw path behaves alike."""
    for check in (signature.structure, compile_schema(signature.parameters)):
        refused = refusal_of(check, arguments)
        assert refused is None or (refused.faults and len(refused.for_model().encode()) <= MODEL_BYTES)


def refusal_of(check: Callable[[Any], Any], arguments: Any) -> ArgumentsError | None:
    try:
        check(arguments)
    except ArgumentsError as error:
        return error
    return None


@LAW
@given(st.data(), signatures())
def test_a_strict_call_is_taken_without_its_nulls(data: st.DataObject, signature: Signature) -> None:
    """What the provider enforces fits the tool, but for the three keywords that the strict subset lacks."""
    strict, reasons = strict_schema(signature.parameters)
    assert (strict is None) == bool(reasons)
    assume(strict is not None)
    arguments: dict[str, JSON] = data.draw(values_of(strict))
    offered = encode(signature.parameters)
    assume(not any(word in offered for word in ("uniqueItems", "prefixItems", "minLength")))

    signature.structure(drop_strict_nulls(arguments, signature.parameters))


WORDS = """type properties required items anyOf oneOf enum const format default $defs $ref additionalProperties
description minimum pattern prefixItems patternProperties $schema $id object string a"""
KEYWORDS = st.sampled_from(WORDS.split())
JUNK = st.recursive(
    JSON_VALUES | KEYWORDS,
    lambda values: st.lists(values, max_size=4) | st.dictionaries(KEYWORDS, values, max_size=4),
    max_leaves=12,
)
JUNK_OBJECTS = st.dictionaries(KEYWORDS, JUNK, max_size=6)


@LAW
@given(JUNK_OBJECTS, JUNK_OBJECTS)
def test_a_schema_is_usable_or_refused(parts: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Whatever a stranger calls a schema, it compiles or is refused with a path, and strictness has its reasons."""
    schema = {**parts, "type": "object"}
    with suppress(InvalidSchemaError):
        compile_schema(schema)
    strict, reasons = strict_schema(schema)
    assert (strict is None) == bool(reasons)
    assert drop_strict_nulls(arguments, schema).keys() <= arguments.keys()


@LAW
@given(st.integers(-50, 50))
def test_a_constraint_and_its_schema_agree(number: int) -> None:
    """The reader takes an integer exactly if the validator does."""

    def f(n: int) -> str:
        return str(n)

    from typing import Annotated

    f.__annotations__["n"] = Annotated[int, Constraint(ge=-20, lt=20, multiple_of=3)]
    signature = signature_of(f)

    assert (refusal_of(signature.structure, {"n": number}) is None) == jsonschema_rs.is_valid(
        signature.parameters, {"n": number}
    )
