"""What a model is told about a tool: name, description, parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from nr_llm._json import JSON, copy_object, valid_text
from nr_llm.errors import InvalidValueError

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
"""Names every provider accepts: a letter or underscore, then up to 63 letters, digits, underscores, hyphens."""


def check_tool_name(name: object) -> str:
    """
    Return `name` if every provider accepts it as a tool's name.

    Raises:
        InvalidValueError: It is no string, or holds other characters, or is too long.
    """
    if not isinstance(name, str) or not TOOL_NAME.match(name):
        raise InvalidValueError(
            f"{name!r} is no tool name; use a letter or underscore, then up to 63 letters, digits, '_' or '-'",
            path="name",
        )
    return name


def _parameters(value: object) -> dict[str, JSON]:
    schema = copy_object(value, path="parameters")
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    return schema


def _description(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(f"must be a string, not a {type(value).__name__}", path="description")
    return valid_text(value)


@attrs.frozen
class ToolSpec:
    """
    A tool as offered to a model.

    Args:
        name: Matches ``[A-Za-z_][A-Za-z0-9_-]{0,63}``.
        description: What the tool does and when to use it; may be empty.
        parameters: JSON Schema of the arguments, an object; ``{}`` means no parameters. Copied on the way in.
        strict: Whether the provider shall enforce the schema; None leaves it to the provider plugin.
        writes: Whether running it changes something; never sent, but a provider that steers its model may heed it.

    Raises:
        InvalidValueError: A field breaks its rule.
    """

    __hash__ = None  # type: ignore[assignment]  # holds a mapping

    name: str = attrs.field(converter=check_tool_name)
    description: str = attrs.field(converter=_description)
    parameters: Mapping[str, JSON] = attrs.field(converter=_parameters)
    strict: bool | None = attrs.field(default=None, kw_only=True)
    writes: bool = attrs.field(default=False, kw_only=True, eq=False)  # two that are sent alike are equal

    def to_wire(self) -> dict[str, JSON]:
        """Return the OpenAI function form, ``{"type": "function", "function": {...}}``."""
        function: dict[str, JSON] = {
            "name": self.name,
            "description": self.description,
            "parameters": copy_object(self.parameters),
        }
        if self.strict is not None:
            function["strict"] = self.strict
        return {"type": "function", "function": function}

    @classmethod
    def from_wire(cls, wire: Mapping[str, object]) -> ToolSpec:
        """
        Read the OpenAI function form.

        Raises:
            InvalidValueError: ``function`` is missing or no mapping, or its name is missing or no string.
        """
        if not isinstance(wire, Mapping):
            raise InvalidValueError(f"a tool must be a mapping, not a {type(wire).__name__}")
        if "function" not in wire:
            raise InvalidValueError("is missing", path="function")
        function = wire["function"]
        if not isinstance(function, Mapping):
            raise InvalidValueError(f"must be a mapping, not a {type(function).__name__}", path="function")
        name = function.get("name")
        if not isinstance(name, str):
            raise InvalidValueError("is missing or no string", path="function.name")
        strict = function.get("strict")
        return cls(
            name,
            function.get("description") or "",
            function.get("parameters") or {},
            strict=strict if isinstance(strict, bool) else None,
        )
