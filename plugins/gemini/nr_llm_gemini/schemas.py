"""JSON Schema to the older form of the service, which knows fewer keywords; what is lost is reported by its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from nr_llm.codecs.json import JSON

KNOWN = frozenset(
    {
        "type", "format", "title", "description", "nullable", "enum", "default", "items", "maxItems", "minItems",
        "properties", "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength",
        "pattern", "anyOf",
    }
)  # fmt: skip
"""Keywords of the form: https://ai.google.dev/api/caching#Schema."""

FORMATS = frozenset({"enum", "date-time", "int32", "int64", "float", "double"})
"""Words that `format` takes; any other one is refused by the service."""

DEEPEST = 32
"""Levels a definition is written out; one that refers to itself ends there."""


@attrs.frozen
class Translated:
    """
    A schema in the older form.

    Attributes:
        schema: The schema.
        dropped: Places of what it cannot say, such as ``properties.a.multipleOf``.
    """

    schema: dict[str, JSON]
    dropped: tuple[str, ...]


def openapi_schema(schema: Mapping[str, Any]) -> Translated:
    """Return a JSON Schema in the older form, and what it could not say."""
    dropped: list[str] = []
    return Translated(_node(schema, schema, "", dropped, DEEPEST), tuple(dropped))


def _node(node: Any, root: Mapping[str, Any], path: str, dropped: list[str], depth: int) -> dict[str, JSON]:
    node = _resolved(node, root, path, dropped)
    if depth == 0:
        dropped.append(path or "(root)")
        return {"type": "object"} if node.get("type") == "object" else {"type": "string"}
    made: dict[str, JSON] = {}
    for name, value in _renamed(node).items():
        place = f"{path}.{name}".removeprefix(".")
        if name == "properties" and isinstance(value, dict):
            inner = {key: _node(part, root, f"{place}.{key}", dropped, depth - 1) for key, part in value.items()}
            made |= {"properties": dict[str, JSON](inner)} if inner else {}
        elif name == "items" and isinstance(value, dict):
            made["items"] = _node(value, root, place, dropped, depth - 1)
        elif name == "anyOf" and isinstance(value, list):
            made |= _choice(value, root, place, dropped, depth)
        elif name == "format" and value not in FORMATS:
            dropped.append(place)
        elif name in KNOWN:
            made[name] = value
        elif name not in ("additionalProperties", "$defs", "definitions"):
            dropped.append(place)
    if made.get("type") == "array" and "items" not in made:
        made["items"] = {"type": "string"}
    if "enum" in made:
        made |= {"type": "string", "enum": [str(value) for value in _list(made["enum"])]}
    return made


def _resolved(node: Any, root: Mapping[str, Any], path: str, dropped: list[str]) -> dict[str, Any]:
    """Follow a reference inside the schema; what stands beside it counts too."""
    found = dict(node) if isinstance(node, Mapping) else {}
    for _ in range(DEEPEST):
        reference = found.pop("$ref", None)
        if not isinstance(reference, str):
            break
        target: Any = root
        for step in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            dropped.append(f"{path}.$ref".removeprefix("."))
            break
        found = {**target, **found}
    return found


def _renamed(node: dict[str, Any]) -> dict[str, Any]:
    """Say with known keywords what others say: one type and null, a constant, one of several."""
    kinds = node.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        node = node | ({"nullable": True} if len(others) < len(kinds) else {})
        if len(others) == 1:
            node["type"] = others[0]
        else:
            del node["type"]
            node["anyOf"] = [{"type": kind} for kind in others]
    if isinstance(node.get("const"), str):
        node = {name: value for name, value in node.items() if name != "const"} | {"enum": [node["const"]]}
    if "oneOf" in node and "anyOf" not in node:
        node = {("anyOf" if name == "oneOf" else name): value for name, value in node.items()}
    return node


def _choice(
    options: list[Any], root: Mapping[str, Any], place: str, dropped: list[str], depth: int
) -> Mapping[str, JSON]:
    """Return the alternatives; null among them makes the rest nullable."""
    others = [option for option in options if not (isinstance(option, dict) and option.get("type") == "null")]
    nullable: dict[str, JSON] = {"nullable": True} if len(others) < len(options) else {}
    made = [_node(option, root, f"{place}[{i}]", dropped, depth - 1) for i, option in enumerate(others)]
    return {**made[0], **nullable} if len(made) == 1 else {"anyOf": list[JSON](made), **nullable}


def _list(value: JSON) -> Iterator[JSON]:
    yield from value if isinstance(value, list) else ()
