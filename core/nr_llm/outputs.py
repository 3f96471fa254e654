"""
What an answer has to be, where a program reads it rather than a person: a type, its schema, its reader.

The service is asked for the form in the way it knows best; whatever it promises, the answer is checked here, with
the readers that check a tool's arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from nr_llm._json import JSON, decode
from nr_llm.errors import InvalidSchemaError, InvalidValueError, MalformedJsonError

FENCE = re.compile(r"\s*```[a-zA-Z0-9]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
"""A code fence around the whole answer, as models like to write."""


NAMED = frozenset({"properties", "$defs", "definitions"})
"""Keywords that hold schemas by name."""

VALUES = frozenset({"additionalProperties", "enum", "const", "default", "examples", "uniqueItems"})
"""Keywords that hold no schemas, or one that was looked at."""


@attrs.frozen(eq=False, kw_only=True)
class Output:
    """
    The form of an answer; made by `output_of`.

    Attributes:
        schema: Closed JSON Schema of an object.
        structure: Turns a decoded object into the value, or raises `ArgumentsError` with every fault.
        description: What the type says of itself; may be empty.
    """

    schema: Mapping[str, JSON]
    structure: Callable[[Any], Any] = attrs.field(repr=False)
    description: str = ""

    @property
    def closed(self) -> bool:
        """Whether its objects name all their properties: to a service that closes every object, others are empty."""
        return _is_closed(self.schema)

    def read(self, text: str) -> Any:
        """
        Return the value an answer is.

        Args:
            text: JSON, maybe inside one code fence.

        Raises:
            MalformedJsonError: It is no JSON.
            ArgumentsError: It does not fit; every fault is named with its path.
        """
        fenced = FENCE.fullmatch(text)
        return self.structure(decode(fenced[1] if fenced else text))


def _is_closed(schema: object) -> bool:
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, Mapping):
        return schema is not True
    kind, named = schema.get("type"), schema.get("properties")
    if "object" in (kind if isinstance(kind, list) else [kind]) or named:
        more = schema.get("additionalProperties", not named)  # where nothing is said, what is named is meant
        if more is not False:
            return False
    return bool(schema) and all(
        all(map(_is_closed, value.values())) if name in NAMED and isinstance(value, Mapping) else _is_closed(value)
        for name, value in schema.items()
        if name not in VALUES
    )


def output_of(kind: Any) -> Output:
    """
    Return the form of an answer.

    Args:
        kind: An attrs class, a dataclass, a TypedDict, any other type that a tool's parameter may have, or a JSON
            Schema of an object.

    Raises:
        InvalidSchemaError: It has no JSON form, or is no schema; the text names the fix.
    """
    from nr_llm._schema import compile_schema, value_type

    if isinstance(kind, Output):
        return kind
    if isinstance(kind, Mapping):
        return Output(schema=dict(kind), structure=_objects(compile_schema(kind)), description=_text(kind))
    if kind is None or isinstance(kind, str):
        raise InvalidSchemaError(f"{kind!r} is no type; pass a class or a JSON Schema", path="output")
    form = value_type(kind)
    return Output(schema=form.schema, structure=form.read, description=form.description)


def _objects(structure: Callable[[Mapping[str, JSON]], Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise MalformedJsonError("the answer is no object")
        return structure(value)

    return read


def _text(schema: Mapping[str, Any]) -> str:
    description = schema.get("description")
    return description if isinstance(description, str) else ""


def form_of(tool: str, kind: Any) -> dict[str, JSON]:
    """
    Return the form of a tool as JSON Schema.

    Args:
        tool: The tool's name, for errors.
        kind: A class as for a run's `output`, or a JSON Schema of an object.

    Raises:
        InvalidSchemaError: It cannot be used.
        InvalidValueError: It asks for nothing.
    """
    schema = dict(output_of(kind).schema)
    if schema.get("type") != "object" or not schema.get("properties"):
        raise InvalidValueError(f"the form of tool {tool!r} has no property: it would ask for nothing", path="form")
    return schema
