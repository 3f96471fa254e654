"""
A schema may look at one value many times; here it is counted how often, before any value is checked.

References to references double the work with each step: twenty lines of ``allOf`` can keep a validator busy for
hours, which nothing can interrupt.  A definition that refers to itself from several alternatives doubles it with
each level a value nests.  So the count is taken level by level: how often is one value looked at when values nest
no deeper than this?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from nr_llm._json import JSON, MAX_DEPTH

MOST: Final = 10_000
"""Looks at one value: below a second of a validator's work if all of them find a fault."""

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_ONES: Final = ("not", "if", "then", "else")
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_NOT_BELOW: Final = frozenset({*_LISTS, *_ONES, *_REFERENCES, "dependentSchemas", "$defs", "definitions"})
_DATA: Final = frozenset({"const", "enum", "default", "examples"})

_Node = Mapping[str, JSON]


def levels(schema: _Node) -> int:
    """
    Return how many levels arguments may nest so that no value in them is looked at more than `MOST` times.

    Args:
        schema: A valid schema without references that leave it.

    Returns:
        1 for the arguments' object alone, up to the 64 of any value.
    """
    nodes = list(_nodes(schema))
    if not any(_REFERENCES & node.keys() for node in nodes):
        return MAX_DEPTH  # as many looks as it has parts, and its size is bounded
    before: dict[int, int] = {}
    for level in range(1, MAX_DEPTH + 1):
        now: dict[int, int] = {}
        for node in nodes:
            _count(node, schema, before=before, now=now)
        if now[id(schema)] > MOST:
            return level - 1
        if now == before:
            break
        before = now
    return MAX_DEPTH


def depth(value: JSON) -> int:
    """Return how many levels a value nests: 1 for a number or text."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, items), default=0)


def _count(node: _Node, root: _Node, *, before: Mapping[int, int], now: dict[int, int]) -> int:
    """Return how often a value, or the one most looked at below it, is looked at for `node`."""
    if id(node) not in now:
        now[id(node)] = 0  # a reference that leads back here looks no further
        below = max((before.get(id(child), 1) for child in _below(node)), default=1)
        same = sum(_count(child, root, before=before, now=now) for child in _same(node, root))
        now[id(node)] = min(below + same, MOST + 1)
    return now[id(node)]


def _same(node: _Node, root: _Node) -> Iterator[_Node]:
    """Yield the schemas that look at the same value as `node`."""
    for key, value in node.items():
        if key in _REFERENCES and isinstance(value, str):
            yield _target(value, root)
        elif key in _LISTS or key in _ONES or key == "dependentSchemas":
            yield from _schemas(key, value)


def _below(node: _Node) -> Iterator[_Node]:
    """Yield the schemas that look at what is in the value `node` looks at."""
    for key, value in node.items():
        if key not in _NOT_BELOW and key not in _DATA:
            yield from _schemas(key, value)


def _nodes(node: _Node) -> Iterator[_Node]:
    yield node
    for key, value in node.items():
        if key not in _DATA:
            for child in _schemas(key, value):
                yield from _nodes(child)


def _schemas(key: str, value: JSON) -> Iterator[_Node]:
    if isinstance(value, dict) and key not in _MAPS:
        yield value
        return
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from (item for item in items if isinstance(item, dict))


def _target(reference: str, root: _Node) -> _Node:
    """Return what a reference means; one that is no place in the whole schema counts as all of it."""
    found: Any = root
    try:
        for step in unquote(reference).removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
    except (LookupError, TypeError, ValueError):  # a place in a part with an `$id` of its own
        return root
    return found if isinstance(found, Mapping) else _ANYTHING


_ANYTHING: Final[_Node] = {}
"""What `true` and `false` stand for here: they look at nothing."""
