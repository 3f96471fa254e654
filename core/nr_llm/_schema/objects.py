"""Objects with named members: all of a call's arguments, and every class inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from nr_llm._json import JSON
from nr_llm._schema.containers import spelled
from nr_llm._schema.faults import MAX_FAULTS, Refused, Step, Told, Within, clip, unknown
from nr_llm._schema.forms import Form, Reader

_REASON_CHARS = 200


@attrs.frozen(eq=False)
class Member:
    """
    A named part of an object.

    Args:
        key: Its name in JSON.
        form: Its form; the schema already holds description and default.
        required: Whether it has to be given.
    """

    key: str
    form: Form
    required: bool


def object_schema(members: Sequence[Member]) -> dict[str, JSON]:
    """Return the closed schema of an object; ``required`` is left out when nothing is."""
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {member.key: member.form.schema for member in members},
        "additionalProperties": False,
    }
    required: list[JSON] = [member.key for member in members if member.required]
    return schema | {"required": required} if required else schema


def object_form(members: Sequence[Member], make: Callable[..., Any], *, name: str, hashable: bool) -> Form:
    """
    Return the form of a class whose instances `make` builds from its members.

    Args:
        members: The parts, in order.
        make: Called with the members given, by name.
        name: Name of the class, for messages.
        hashable: Whether instances can be members of a set.
    """
    expected = f"an object ({name})"
    exact = _builder(members_reader(members, lossless=False), make, name)
    read = _builder(members_reader(members, lossless=True), make, name)
    return Form(
        schema=object_schema(members),
        expected=expected,
        exact=exact,
        read=spelled(dict, read),
        hashable=hashable and all(member.form.hashable for member in members),
    )


def _builder(read_members: Reader, make: Callable[..., Any], name: str) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Refused(f"an object ({name})", value)
        values = read_members(value)
        try:
            return make(**values)
        except ValueError as error:  # a class's own check says to whoever gave the value what is wrong
            raise Told(f"refused by {name}: {_reason(error)}") from None
        except Exception as error:  # noqa: BLE001 - whatever a constructor raises, the call is answered
            raise Told(f"refused by {name} ({type(error).__name__})") from None

    return read


def _reason(error: ValueError) -> str:
    """Return the sentence of a validation error; attrs puts it first and the objects involved after it."""
    return clip(str(error.args[0] if error.args else type(error).__name__), _REASON_CHARS)


def members_reader(members: Sequence[Member], *, lossless: bool) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """
    Return the reader of a mapping into the members that were given, by name.

    Args:
        members: The parts, in order.
        lossless: Whether members may be converted without loss, or must have their exact form.
    """
    readers = [(m.key, m.form.read if lossless else m.form.exact) for m in members]
    missing = {m.key: Told(f"missing; expected {m.form.expected}") for m in members if m.required}

    def read(given: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        refused: list[tuple[Step, Refused]] = []
        for key, reader in readers:
            if key in given:
                try:
                    values[key] = reader(given[key])
                except Refused as refusal:
                    refused.append((key, refusal))
            elif key in missing:
                refused.append((key, missing[key]))
        if refused or len(values) != len(given):
            raise Within([*refused, *_unknown(given, [key for key, _ in readers])])
        return values

    return read


def _unknown(given: Mapping[str, Any], known: Sequence[str]) -> Iterator[tuple[Step, Refused]]:
    strange = (str(key) for key in given if key not in known)
    return ((key, unknown(key, known)) for key in islice(strange, MAX_FAULTS))
