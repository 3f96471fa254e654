"""A JSON Schema somebody wrote validates a call as strictly as a signature does, and never fetches anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from nr_llm._json import JSON, copy_object
from nr_llm._schema.coercions import coerced
from nr_llm._schema.faults import MAX_FAULTS, ArgumentsError, Fault, join
from nr_llm._schema.findings import faults_of
from nr_llm._schema.sizes import check_size
from nr_llm.errors import InvalidSchemaError, InvalidValueError

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DATA = ("const", "enum", "default", "examples")
_OPENERS = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
_OPENERS |= {"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", *_REFERENCES}

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
        InvalidSchemaError: It is no valid schema, refers to something outside, or is larger than 65,536 bytes
            or deeper than 64 levels.
    """
    schema = check_size(parameters, "parameters")
    if schema.get("type") != "object":
        raise InvalidSchemaError('must be an object schema; add "type": "object"', path="parameters.type")
    for path in islice(_outside(schema, "parameters"), 1):
        raise InvalidSchemaError("refers to something outside the schema; write it out under $defs", path=path)
    return _checker(_compiled(_closed(schema)), schema)


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


def _checker(validator: Validator, schema: dict[str, JSON]) -> Compiled:
    def check(arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        copied = _copied(arguments)
        errors = list(islice(validator.iter_errors(copied), MAX_FAULTS))
        for _ in range(_PASSES):
            if not errors or not coerced(copied, errors):
                break
            errors = list(islice(validator.iter_errors(copied), MAX_FAULTS))
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
