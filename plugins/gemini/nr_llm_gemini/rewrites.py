"""Says with the keywords the older form of schemas has what JSON Schema says with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STEPS = 32
"""References followed one after the other."""

Node = dict[str, Any]


def resolved(given: Any, root: Mapping[str, Any], inside: tuple[str, ...]) -> tuple[Node, tuple[str, ...], bool]:
    """
    Follow a reference inside the schema; what stands beside it counts too, and so does a single `allOf`.

    Returns:
        The schema, the references it is inside of, and whether one leads nowhere or back to where it stands.
    """
    found = dict(given) if isinstance(given, Mapping) else {}
    for _ in range(STEPS):
        if "$ref" in found:
            reference = found.pop("$ref")
            target = _at(root, reference)
            if target is None or reference in inside:
                return {"type": (target or {}).get("type", "object"), **found}, inside, True
            found, inside = {**target, **found}, (*inside, reference)
        elif (parts := _objects(found.get("allOf"))) and len(parts) == 1:
            found = {**parts[0], **_without(found, "allOf")}
        else:
            return found, inside, False
    return {"type": "object"}, inside, True


def _objects(value: Any) -> list[Node]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _at(root: Mapping[str, Any], reference: Any) -> Mapping[str, Any] | None:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target: Any = root
    for step in reference[1:].strip("/").split("/") if reference != "#" else ():
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    return target if isinstance(target, Mapping) else None


def plain(node: Node) -> tuple[Node, list[str]]:
    """Return a schema in keywords the older form has, as far as it can be, and the names of those it lost."""
    lost: list[str] = []
    node = _types(_one_of(node))
    node = _words(_constant(node, lost), lost)
    return _tuple(_bounds(node)), lost


def _without(node: Node, *names: str) -> Node:
    return {name: value for name, value in node.items() if name not in names}


def _one_of(node: Node) -> Node:
    if "oneOf" in node and "anyOf" not in node:
        return {("anyOf" if name == "oneOf" else name): value for name, value in node.items()}
    return node


def _types(node: Node) -> Node:
    """There is one type; null beside it is a flag, several are alternatives."""
    kinds = node.get("type")
    if not isinstance(kinds, list):
        return node
    others = [kind for kind in kinds if kind != "null"]
    node = _without(node, "type") | ({"nullable": True} if len(others) < len(kinds) else {})
    if len(others) == 1:
        return node | {"type": others[0]}
    return node | {"anyOf": [{"type": kind} for kind in others]} if others and "anyOf" not in node else node


def _constant(node: Node, lost: list[str]) -> Node:
    if "const" not in node:
        return node
    value, node = node["const"], _without(node, "const")
    if isinstance(value, int) and not isinstance(value, bool):
        return node | {"type": "integer", "minimum": value, "maximum": value}
    if isinstance(value, str):
        return node | {"enum": [value]}
    lost.append("const")
    return node | _type_of([value])


def _words(node: Node, lost: list[str]) -> Node:
    """Only texts can be listed, none of them empty; null among them is a flag."""
    values = node.get("enum")
    if not isinstance(values, list):
        return node
    texts = [value for value in values if isinstance(value, str) and value]
    node = _without(node, "enum") | ({"nullable": True} if None in values else {})
    if len(texts) < sum(value is not None for value in values):
        lost.append("enum")
        return node if "type" in node else node | _type_of(values)
    return node | {"type": "string", "enum": texts} if texts else node


def _type_of(values: list[Any]) -> Node:
    kinds = {type(value) for value in values if value is not None}
    words = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": words[kinds.pop()]} if len(kinds) == 1 and kinds <= words.keys() else {}


def _bounds(node: Node) -> Node:
    """A bound that is itself left out is the next whole number, where whole numbers are asked for."""
    for name, plainly, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
        bound = node.get(name)
        fits = node.get("type") == "integer" and plainly not in node
        if fits and isinstance(bound, int) and not isinstance(bound, bool):
            node = _without(node, name) | {plainly: bound + step}
    return node


def _tuple(node: Node) -> Node:
    """What stands at any place of a tuple may stand at all."""
    places = node.get("prefixItems")
    if not isinstance(places, list) or not places or isinstance(node.get("items"), dict):
        return node
    return node | {"items": {"anyOf": places}}
