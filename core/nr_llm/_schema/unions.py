"""A union takes a value by the member it fits exactly before any member may convert it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nr_llm._json import JSON
from nr_llm._schema.faults import Refused
from nr_llm._schema.forms import Form, Reader

_CONTAINERS = {"object": dict, "array": list}


def union_form(members: Sequence[Form]) -> Form:
    """
    Return the form of a union.

    A value goes to the first member, in declared order, that takes it exactly; if there is none, to the first
    that takes it without loss.  So ``"5"`` stays text for ``int | str`` and becomes 5 for ``int | None``.
    """
    expected = _words(list(dict.fromkeys(member.expected for member in members)))
    exact = _exact(members, expected)
    return Form(
        schema=_schema(members),
        expected=expected,
        exact=exact,
        read=_lossless(members, exact),
        hashable=all(member.hashable for member in members),
    )


def _words(names: list[str]) -> str:
    """Join names, null first: it reads badly after an example."""
    *first, last = sorted(names, key=lambda name: name != "null")
    return f"{', '.join(first)} or {last}" if first else last


def _schema(members: Sequence[Form]) -> dict[str, JSON]:
    """Bare types become one list of types, the shortest spelling; anything richer is ``anyOf``."""
    schemas = [member.schema for member in members]
    if all(list(schema) == ["type"] and isinstance(schema["type"], str) for schema in schemas):
        kinds: list[JSON] = list(dict.fromkeys(str(schema["type"]) for schema in schemas))
        return {"type": kinds[0] if len(kinds) == 1 else kinds}
    return {"anyOf": [schema for i, schema in enumerate(schemas) if schema not in schemas[:i]]}


def _exact(members: Sequence[Form], expected: str) -> Reader:
    readers = [member.exact for member in members]

    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except Refused:
                continue
        raise Refused(expected, value)

    return read


def _lossless(members: Sequence[Form], exact: Reader) -> Reader:
    def read(value: Any) -> Any:
        try:
            return exact(value)
        except Refused as refusal:
            best, fewest = refusal, None
        for member in members:
            try:
                return member.read(value)
            except Refused as refusal:
                if _meant(member, value) and (fewest is None or refusal.count() < fewest):
                    best, fewest = refusal, refusal.count()
        raise best

    return read


def _meant(member: Form, value: Any) -> bool:
    """Return whether a refused value was probably meant for this member, so that its faults say most."""
    kind = _CONTAINERS.get(str(member.schema.get("type")))
    return kind is not None and isinstance(value, kind)
