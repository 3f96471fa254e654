"""A JSON Schema somebody wrote validates a call as strictly as a signature does, and never fetches anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from nr_llm._json import JSON, copy_object
from nr_llm._schema.coercions import coerced
from nr_llm._schema.faults import MAX_FAULTS, ArgumentsError, Fault, join
from nr_llm._schema.findings import faults_of
from nr_llm._schema.looks import MOST, depth, levels
from nr_llm._schema.sizes import check_size
from nr_llm.errors import InvalidSchemaError, InvalidValueError

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DATA = ("const", "enum", "default", "examples")
_OPENERS = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
_OPENERS |= {"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", *_REFERENCES}

_LEVELS = 3
"""Levels arguments must at least be able to nest: their object, a list or an object in it, and what that holds."""

_PASSES = 4
"""How often values are converted and checked again: one for each level of JSON inside text inside JSON."""

Compiled: TypeAlias = Callable[[Mapping[str, JSON]], dict[str, JSON]]


def compile_schema(parameters: Mapping[str, Any]) -> Compiled:
    """
    Compile a JSON Schema into the function that checks a call's arguments.

    A schema that says nothing about further properties is taken as closed at its root, since a name the model
    made up must not vanish silently.  Formats are checked.

    Args:
        parameters: JSON Schema with ``"type": "object"``, of any draft from 4 to 2020-12, without references
            that leave it.

    Returns:
        A function that returns a deep copy of the arguments, converted where that is lossless and needed, or
        raises `ArgumentsError` with every fault.

    Raises:
        InvalidSchemaError: It is no valid schema, refers to something outside, is larger than 65,536 bytes or
            deeper than 64 levels, or its references multiply beyond measure.
    """
    schema = check_size(parameters, "parameters")
    if schema.get("type") != "object":
        raise InvalidSchemaError('must be an object schema; add "type": "object"', path="parameters.type")
    for path in islice(_outside(schema, "parameters"), 1):
        raise InvalidSchemaError("refers to something outside the schema; write it out under $defs", path=path)
    validator, most = _compiled(_closed(schema)), levels(schema)
    if most < _LEVELS:
        raise InvalidSchemaError(
            f"checks one value more than {MOST:,} times; refer to a definition from fewer places", path="parameters"
        )
    return _checker(validator, schema, most)


def _closed(schema: dict[str, JSON]) -> dict[str, JSON]:
    return schema if _OPENERS & schema.keys() else {"properties": {}, **schema, "additionalProperties": False}


def _outside(node: JSON, path: str) -> Iterator[str]:
    """Yield the path of each reference that leaves the schema."""
    if isinstance(node, list):
        for i, item in enumerate(node):
            yield from _outside(item, join(path, i))
    elif isinstance(node, dict):
        for key, item in node.items():
            if key in _REFERENCES and isinstance(item, str) and not item.startswith("#"):
                yield join(path, key)
            elif key not in _DATA:
                yield from _outside(item, join(path, key))


def refuse(uri: str) -> NoReturn:
    """Refuse to fetch a schema: an address in a tool's description must not make this machine call it."""
    raise ValueError(f"{uri} is not fetched")


def _compiled(schema: dict[str, JSON]) -> Validator:
    import jsonschema_rs  # 15 MB that only raw schemas need

    try:
        return jsonschema_rs.validator_for(schema, retriever=refuse, mask="it", validate_formats=True)
    except ValueError as error:
        path = "parameters"
        for step in getattr(error, "instance_path", ()):
            path = join(path, step)
        message = getattr(error, "message", str(error))
        raise InvalidSchemaError(f"is no valid JSON Schema: {message[:200]}", path=path) from None


def _checker(validator: Validator, schema: dict[str, JSON], most: int) -> Compiled:
    def errors_of(arguments: dict[str, JSON]) -> list[Any]:
        if depth(arguments) > most:
            raise ArgumentsError([Fault("", f"nested deeper than {most} levels")])
        return list(islice(validator.iter_errors(arguments), MAX_FAULTS))

    def check(arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        copied = _copied(arguments)
        errors = errors_of(copied)
        for _ in range(_PASSES):
            if not errors or not coerced(copied, errors):
                break
            errors = errors_of(copied)
        if errors:
            raise ArgumentsError(islice(_all(errors, copied, schema), MAX_FAULTS))
        return copied

    return check


def _all(errors: Iterable[Any], arguments: JSON, schema: JSON) -> Iterator[Fault]:
    for error in errors:
        yield from faults_of(error, arguments, schema)


def _copied(arguments: Mapping[str, JSON]) -> dict[str, JSON]:
    try:
        return copy_object(arguments)
    except InvalidValueError as error:
        message = str(error).removeprefix(f"{error.path}: ")
        raise ArgumentsError([Fault(error.path, message)]) from None
