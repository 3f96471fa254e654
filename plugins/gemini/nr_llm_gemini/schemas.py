"""JSON Schema to the older form of the service, which knows fewer keywords; what is lost is reported by its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from nr_llm.codecs.json import JSON

from nr_llm_gemini import rewrites

KNOWN = frozenset(
    {
        "type", "format", "title", "description", "nullable", "enum", "default", "items", "maxItems", "minItems",
        "properties", "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength",
        "pattern", "anyOf",
    }
)  # fmt: skip
"""Keywords of the form: https://ai.google.dev/api/caching#Schema."""

STRUCTURE = frozenset({"properties", "items", "anyOf"})
"""Those that hold further schemas."""

FORMATS = frozenset({"enum", "date-time", "int32", "int64", "float", "double"})
"""Words that `format` takes; any other one is refused by the service."""

SILENT = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$comment"})
"""Keywords that no value depends on, once references are written out."""

MOST_NODES = 5_000
"""Schemas written out for one schema; definitions that name each other many times would have no end else."""

DEEPEST = 64
"""Levels written out."""


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
    """
    Return a JSON Schema in the older form, and what it could not say.

    References are written out, down to where a definition comes back to itself.
    """
    walk = _Walk(root=schema)
    return Translated(walk.node(schema, "", ()), tuple(dict.fromkeys(walk.dropped)))


@attrs.define(kw_only=True, eq=False)
class _Walk:
    """One way through a schema: what was lost so far, how much more may be written out."""

    root: Mapping[str, Any]
    dropped: list[str] = attrs.field(factory=list)
    left: int = MOST_NODES
    depth: int = 0

    def lose(self, path: str, name: str) -> None:
        self.dropped.append(f"{path}.{name}".removeprefix("."))

    def node(self, given: Any, path: str, inside: tuple[str, ...]) -> dict[str, JSON]:
        """Return a schema in the older form; `inside` names the definitions it is a part of."""
        self.left, self.depth = self.left - 1, self.depth + 1
        found, inside, lost = rewrites.resolved(given, self.root, inside)
        if lost:
            self.lose(path, "$ref")
        made: dict[str, JSON] = {"type": "object"}
        if self.left < 0 or self.depth > DEEPEST:
            self.lose(path, "(too large)")
        else:
            made = self._made(found, path, inside)
        self.depth -= 1
        return made

    def _made(self, found: dict[str, Any], path: str, inside: tuple[str, ...]) -> dict[str, JSON]:
        plain, lost = rewrites.plain(found)
        for name in lost:
            self.lose(path, name)
        made: dict[str, JSON] = {}
        for name, value in plain.items():
            made |= self._keyword(name, value, path, inside)
        return self._settled(made, path)

    def _keyword(self, name: str, value: Any, path: str, inside: tuple[str, ...]) -> dict[str, JSON]:
        place = f"{path}.{name}".removeprefix(".")
        if name == "properties" and isinstance(value, dict):
            inner = {key: self.node(part, f"{place}.{key}", inside) for key, part in value.items()}
            return {"properties": dict[str, JSON](inner)} if inner else {}
        if name == "items" and isinstance(value, dict):
            return {"items": self.node(value, place, inside)}
        if name == "anyOf" and isinstance(value, list):
            return self._choice(value, place, inside)
        if name in KNOWN - STRUCTURE and _fits(name, value):
            return {name: value}
        if name not in SILENT and not (name == "additionalProperties" and isinstance(value, bool)):
            self.lose(path, name)
        return {}

    def _choice(self, options: Sequence[Any], place: str, inside: tuple[str, ...]) -> dict[str, JSON]:
        """Return the alternatives; null among them makes the rest nullable."""
        others = [option for option in options if not (isinstance(option, dict) and option.get("type") == "null")]
        nullable: dict[str, JSON] = {"nullable": True} if len(others) < len(options) else {}
        made = [self.node(option, f"{place}[{i}]", inside) for i, option in enumerate(others)]
        if len(made) == 1:
            return {**made[0], **nullable}
        return {"anyOf": list[JSON](made), **nullable} if made else nullable

    def _settled(self, made: dict[str, JSON], path: str) -> dict[str, JSON]:
        """Return the schema with what the service demands: items of a list, names that are properties."""
        properties, required = made.get("properties"), made.get("required")
        if isinstance(required, list):
            known = [name for name in required if isinstance(properties, dict) and name in properties]
            made = {name: value for name, value in made.items() if name != "required"}
            made |= {"required": list[JSON](known)} if known else {}
            if len(known) < len(required):
                self.lose(path, "required")
        if "anyOf" in made and (properties or made.get("type") in ("object", "array")):
            del made["anyOf"]  # it would have to stand alone
            self.lose(path, "anyOf")
        if made.get("type") == "array" and "items" not in made:
            made["items"] = {"type": "string"}
        if "properties" in made:
            made.setdefault("type", "object")
        return made


def _fits(name: str, value: Any) -> bool:
    """Whether the service takes such a value for a keyword it knows."""
    if name in ("required", "enum"):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name in ("type", "format"):
        return isinstance(value, str) and (name == "type" or value in FORMATS)
    return name == "default" or not isinstance(value, (list, dict))
