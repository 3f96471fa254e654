"""
Strict schemas let a provider enforce a tool's parameters; not every schema can be written as one.

The subset and its limits are OpenAI's, from its guide "Structured Outputs", section "Supported schemas" (2026):
every property required, objects closed, no defaults, at most ten levels, 5,000 properties, 1,000 enum values.
What is merely weaker than ours is left out, for a strict call is validated here all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from nr_llm._json import JSON, copy_object, encode
from nr_llm._schema.faults import join
from nr_llm._schema.nulls import takes_null

MAX_LEVELS = 10
MAX_PROPERTIES = 5_000
MAX_ENUM_VALUES = 1_000

_KEPT = {"type", "description", "$ref", "pattern", "minItems", "maxItems", "multipleOf"}
_KEPT |= {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}
_REWRITTEN = {"properties", "required", "additionalProperties", "items", "anyOf", "$defs"}
_REWRITTEN |= {"enum", "const", "default", "format"}
_DROPPED = {"minLength", "maxLength", "minProperties", "maxProperties", "uniqueItems", "prefixItems"}
_DROPPED |= {"title", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"}
_DROPPED |= {"$comment", "$schema", "$id"}
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


@attrs.define(eq=False)
class _Report:
    """What was counted and what stands in the way, filled while a schema is rewritten."""

    reasons: list[str] = attrs.field(factory=list)
    properties: int = 0
    enum_values: int = 0

    def refuse(self, path: str, reason: str) -> dict[str, JSON]:
        self.reasons.append(f"{path or '(root)'}: {reason}")
        return {}


def strict_schema(parameters: Mapping[str, Any]) -> tuple[dict[str, JSON] | None, tuple[str, ...]]:
    """
    Rewrite a schema into OpenAI's strict form, if it can be.

    Optional properties become required and nullable; `drop_strict_nulls` takes the nulls out again.

    Args:
        parameters: JSON Schema of a tool's arguments.

    Returns:
        The strict schema and no reasons, or None and every reason why there is none, each with its path.

    Raises:
        InvalidValueError: It is no JSON object.
    """
    report = _Report()
    schema = _strict(copy_object(parameters), "", 1, report)
    if schema.get("type") != "object":
        report.refuse("", "the root is no plain object")
    if report.properties > MAX_PROPERTIES:
        report.refuse("", f"more than {MAX_PROPERTIES:,} properties")
    if report.enum_values > MAX_ENUM_VALUES:
        report.refuse("", f"more than {MAX_ENUM_VALUES:,} enum values")
    return (None if report.reasons else schema), tuple(report.reasons)


def _strict(node: JSON, path: str, level: int, report: _Report) -> dict[str, JSON]:
    if not isinstance(node, dict):
        return report.refuse(path, "a schema that is true or false")
    if level > MAX_LEVELS:
        return report.refuse(path, f"nested deeper than {MAX_LEVELS} levels")
    for keyword in sorted(node.keys() - _KEPT - _REWRITTEN - _DROPPED):
        report.refuse(path, f"keyword {keyword} is not supported")
    kept = {key: value for key, value in node.items() if key in _KEPT}
    kept |= _choice(node, report) | _format(node) | _described(node)
    kept |= _parts(node, path, level, report)
    if not {"type", "enum", "anyOf", "$ref"} & kept.keys():
        report.refuse(path, "a value of any type")
    return kept


def _choice(node: dict[str, JSON], report: _Report) -> dict[str, JSON]:
    values = node.get("enum", [node["const"]] if "const" in node else [])
    if not isinstance(values, list) or not values:
        return {}
    report.enum_values += len(values)
    return {"enum": values}


def _format(node: dict[str, JSON]) -> dict[str, JSON]:
    return {"format": node["format"]} if str(node.get("format")) in _FORMATS else {}


def _described(node: dict[str, JSON]) -> dict[str, JSON]:
    """Say the default in the description, the one place left for it."""
    if "default" not in node:
        return {}
    return {"description": f"{node.get('description', '')} Default: {encode(node['default'])}.".strip()}


def _parts(node: dict[str, JSON], path: str, level: int, report: _Report) -> dict[str, JSON]:
    parts: dict[str, JSON] = {}
    if _has_type(node, "object"):
        parts |= _closed(node, path, level, report)
    if "items" in node:
        parts["items"] = _strict(node["items"], f"{path}[]", level, report)
    elif _has_type(node, "array"):
        report.refuse(path, "an array that does not say of what")
    if isinstance(members := node.get("anyOf"), list):
        parts["anyOf"] = [_strict(member, path, level, report) for member in members]
    if isinstance(definitions := node.get("$defs"), dict):
        parts["$defs"] = {k: _strict(v, f"$defs.{k}", level, report) for k, v in definitions.items()}
    return parts


def _closed(node: dict[str, JSON], path: str, level: int, report: _Report) -> dict[str, JSON]:
    if node.get("additionalProperties", False) is not False:
        return report.refuse(path, "an object with free keys")
    properties, required = node.get("properties", {}), node.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return report.refuse(path, "no valid object schema")
    report.properties += len(properties)
    written: dict[str, JSON] = {}
    for key, value in properties.items():
        schema = _strict(value, join(path, key), level + 1, report)
        written[key] = schema if key in required else _nullable(schema)
    return {"properties": written, "required": list(written), "additionalProperties": False}


def _nullable(schema: dict[str, JSON]) -> dict[str, JSON]:
    if takes_null(schema):
        return schema
    kind = schema.get("type")
    if "anyOf" in schema or "$ref" in schema or kind is None:
        return _alternatives(schema)
    kinds: list[JSON] = kind if isinstance(kind, list) else [kind]
    nullable = {**schema, "type": [*kinds, "null"]}
    if isinstance(values := schema.get("enum"), list):
        nullable["enum"] = [*values, None]
    return nullable


def _alternatives(schema: dict[str, JSON]) -> dict[str, JSON]:
    """Return ``anyOf`` with null added, its description outside."""
    inner = {key: value for key, value in schema.items() if key != "description"}
    outer = {key: value for key, value in schema.items() if key == "description"}
    members = inner.get("anyOf")
    flat = members if isinstance(members, list) and len(inner) == 1 else [inner]
    return {**outer, "anyOf": [*flat, {"type": "null"}]}


def _has_type(node: Mapping[str, JSON], kind: str) -> bool:
    named = node.get("type")
    return named == kind or (isinstance(named, list) and kind in named)
