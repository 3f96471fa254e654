"""Strict calls say null for what was left out; here those nulls are taken out again, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from nr_llm._json import JSON, copy_object

_REFERENCES = 8
"""References followed in a row; a chain any longer is a circle."""

_Node: TypeAlias = Mapping[str, Any]


def drop_strict_nulls(arguments: Mapping[str, JSON], parameters: Mapping[str, Any]) -> dict[str, JSON]:
    """
    Return a copy of a strict call's arguments as the tool's own schema has them.

    A null is taken out where the property is optional and does not take null, at every depth; arguments that
    fit the schema as they are come back equal.

    Args:
        arguments: Decoded arguments.
        parameters: The tool's own schema, the one `strict_schema` was given.
    """
    return _object(copy_object(arguments), parameters, parameters)


def takes_null(schema: Mapping[str, Any]) -> bool:
    """Return whether null is a value of a schema, references aside."""
    members = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(members, list):
        return any(takes_null(member) for member in members if isinstance(member, dict))
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list):
        return None in values
    kind = schema.get("type")
    if kind is None:
        return "$ref" not in schema
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def _value(value: JSON, schema: object, root: _Node) -> JSON:
    if isinstance(value, dict):
        return _object(value, _meant(value, _resolved(schema, root), root), root)
    if isinstance(value, list):
        return _array(value, _meant(value, _resolved(schema, root), root), root)
    return value


def _object(value: dict[str, JSON], schema: _Node, root: _Node) -> dict[str, JSON]:
    properties, required = _part(schema, "properties", {}), _part(schema, "required", [])
    return {
        key: _value(item, properties.get(key), root)
        for key, item in value.items()
        if not (
            item is None
            and key in properties
            and key not in required
            and not takes_null(_resolved(properties[key], root))
        )
    }


def _array(value: list[JSON], schema: _Node, root: _Node) -> list[JSON]:
    places = _part(schema, "prefixItems", [])
    return [_value(item, places[i] if i < len(places) else schema.get("items"), root) for i, item in enumerate(value)]


def _meant(value: JSON, schema: _Node, root: _Node) -> _Node:
    """Return the member of a union that a container belongs to: the first whose shape it has."""
    members = _part(schema, "anyOf", []) or _part(schema, "oneOf", [])
    resolved = (_resolved(member, root) for member in members)
    return next((member for member in resolved if _has_shape(value, member)), schema)


def _has_shape(value: JSON, schema: _Node) -> bool:
    if isinstance(value, list):
        return "array" in _kinds(schema)
    assert isinstance(value, dict)
    properties = _part(schema, "properties", {})
    return (
        "object" in _kinds(schema)
        and (value.keys() <= properties.keys() or schema.get("additionalProperties", True) is not False)
        and all(_allowed(value.get(key), part) for key, part in properties.items())
    )


def _allowed(value: JSON, schema: Any) -> bool:
    """Return whether a tag such as ``{"const": "circle"}`` does not speak against a value."""
    if value is None or not isinstance(schema, Mapping):
        return True
    values = _part(schema, "enum", [schema["const"]] if "const" in schema else [])
    return not values or value in values


def _part(schema: _Node, keyword: str, default: Any) -> Any:
    """Return what a keyword says, or the default if it says something of another kind: nobody checked the schema."""
    part = schema.get(keyword, default)
    return part if isinstance(part, type(default)) else default


def _kinds(schema: _Node) -> list[str]:
    kind = schema.get("type", [])
    return kind if isinstance(kind, list) else [kind]


def _resolved(schema: object, root: _Node) -> _Node:
    """Return the schema behind local references; nothing is known of one that leads nowhere."""
    for _ in range(_REFERENCES):
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" not in schema:
            return schema
        schema = _pointed(str(schema["$ref"]), root)
    return {}


def _pointed(reference: str, root: _Node) -> Any:
    node: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if isinstance(node, Mapping) else None
    return node
