"""The JSON Schema that decoding is held to: a small model writes a valid call only when it can write nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from nr_llm._json import JSON
from nr_llm.specs import ToolSpec

REPLY = "reply"
"""The pseudo-tool that stands for an answer in words."""

REPLY_CHARACTERS = 800
ARGUMENT_CHARACTERS = 300
"""Longest strings the model may write; a small model that loses its way otherwise repeats itself to the end."""

ITEMS = 12
DEPTH = 6
FORMATS = frozenset({"date", "date-time", "time", "uuid"})
NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

Schema = dict[str, JSON]


def choice_schema(tools: Sequence[ToolSpec], *, reply: Mapping[str, JSON] | bool = True) -> Schema:
    """
    Return the schema of one answer: a call of one of `tools`, or a reply.

    Args:
        tools: The tools that may be called.
        reply: Whether a reply is allowed; a schema makes the reply match it instead of being text.
    """
    answers: list[JSON] = [_answer(tool.name, simplify(tool.parameters)) for tool in tools]
    if reply:
        answers.append(_answer(REPLY, _reply_arguments(reply)))
    guidance: Schema = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return {"x-guidance": guidance, "anyOf": answers}


def _reply_arguments(reply: Mapping[str, JSON] | bool) -> Schema:  # noqa: FBT001 - a schema may be a bool
    if isinstance(reply, Mapping):
        return simplify(reply)
    return _closed({"text": {"type": "string", "minLength": 1, "maxLength": REPLY_CHARACTERS}}, ["text"])


def _answer(name: str, arguments: Schema) -> Schema:
    return _closed({"tool": {"const": name}, "arguments": arguments}, ["tool", "arguments"])


def _closed(properties: Schema, required: Iterable[str]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def simplify(schema: Mapping[str, JSON]) -> Schema:
    """
    Return `schema` without what grammars cannot hold: references, patterns, open objects, endless strings and lists.

    The result allows a subset of what `schema` describes structurally; values it still lets through wrongly (a
    pattern, a bound) are refused by the validation before the tool runs.
    """
    return _simplify(schema, _Scope(schema, DEPTH))


class _Scope:
    """Where references lead, and how much deeper the schema may go."""

    def __init__(self, root: Mapping[str, JSON], depth: int) -> None:
        self.root = root
        self.depth = depth

    def deeper(self) -> _Scope:
        return _Scope(self.root, self.depth - 1)

    def resolve(self, reference: str) -> Mapping[str, JSON] | None:
        node: Any = self.root
        for step in reference.removeprefix("#").strip("/").split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if step:
                node = node.get(step) if isinstance(node, Mapping) else None
        return node if isinstance(node, Mapping) and reference.startswith("#") else None


def _simplify(schema: object, scope: _Scope) -> Schema:
    if not isinstance(schema, Mapping) or scope.depth <= 0:
        return _anything()
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _simplify(scope.resolve(reference), scope.deeper())
    for key in ("const", "enum"):
        if key in schema:
            return {key: schema[key]}
    for key in ("anyOf", "oneOf"):
        if isinstance(variants := schema.get(key), list) and variants:
            return _any_of([_simplify(variant, scope.deeper()) for variant in variants])
    if isinstance(parts := schema.get("allOf"), list) and parts:
        return _simplify(_merged(schema, parts, scope), scope.deeper())
    kind = schema.get("type")
    if isinstance(kind, list):
        return _any_of([_simplify({**schema, "type": one}, scope) for one in kind])
    return _typed(kind, schema, scope)


def _typed(kind: JSON, schema: Mapping[str, JSON], scope: _Scope) -> Schema:
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, scope.deeper())
    if kind == "array":
        return _array(schema, scope.deeper())
    if kind == "string":
        return _string(schema)
    if kind in ("integer", "number"):
        return {"type": kind, **{key: schema[key] for key in NUMBERS if _is_number(schema.get(key))}}
    return {"type": kind} if kind in ("boolean", "null") else _anything()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _anything() -> Schema:
    return _any_of([_string({}), {"type": "number"}, {"type": "boolean"}])


def _any_of(variants: list[Schema]) -> Schema:
    return variants[0] if len(variants) == 1 else {"anyOf": cast(JSON, variants)}


def _merged(schema: Mapping[str, JSON], parts: list[JSON], scope: _Scope) -> Schema:
    merged: Schema = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts:
        if isinstance(part, Mapping) and isinstance(reference := part.get("$ref"), str):
            part = cast(JSON, scope.resolve(reference) or {})
        if not isinstance(part, Mapping):
            continue
        for key, value in part.items():
            mine = merged.get(key)
            if isinstance(mine, dict) and isinstance(value, dict):
                merged[key] = {**mine, **value}
            elif isinstance(mine, list) and isinstance(value, list):
                merged[key] = [*mine, *value]
            else:
                merged[key] = value
    return merged


def _object(schema: Mapping[str, JSON], scope: _Scope) -> Schema:
    known = schema.get("properties")
    if isinstance(known, Mapping) and known:
        names = schema.get("required")
        required = [name for name in known if isinstance(names, list) and name in names]
        properties: dict[str, JSON] = {
            name: _property(part, scope, required=name in required) for name, part in known.items()
        }
        return _closed(properties, required)
    values = schema.get("additionalProperties", True)
    if values is False or isinstance(known, Mapping):
        return _closed({}, [])
    return {"type": "object", "additionalProperties": _simplify(values, scope)}


def _property(schema: object, scope: _Scope, *, required: bool) -> Schema:
    simple = _simplify(schema, scope)
    variants = simple.get("anyOf")
    if required or not isinstance(variants, list):
        return simple
    # Leaving an optional argument out says the same as null, and one way to say it is easier to learn than two.
    return _any_of([cast(Schema, one) for one in variants if one != {"type": "null"}] or [simple])


def _array(schema: Mapping[str, JSON], scope: _Scope) -> Schema:
    array: Schema = {"type": "array"}
    least, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(prefix := schema.get("prefixItems"), list):
        array["prefixItems"] = [_simplify(item, scope) for item in prefix]
    array["items"] = False if schema.get("items") is False else _simplify(schema.get("items"), scope)
    if isinstance(least, int):
        array["minItems"] = least
    array["maxItems"] = max(
        min(most, ITEMS) if isinstance(most, int) else ITEMS, least if isinstance(least, int) else 0
    )
    return array


def _string(schema: Mapping[str, JSON]) -> Schema:
    most, least = schema.get("maxLength"), schema.get("minLength")
    string: Schema = {"type": "string"}
    if schema.get("format") in FORMATS:
        return {**string, "format": schema["format"]}
    if isinstance(least, int):
        string["minLength"] = least
    cap = min(most, ARGUMENT_CHARACTERS) if isinstance(most, int) else ARGUMENT_CHARACTERS
    string["maxLength"] = max(cap, least if isinstance(least, int) else 0)
    return string
