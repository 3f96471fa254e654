"""Arrays and maps: an item is read by its own form, and every item at fault is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nr_llm._json import JSON, decode
from nr_llm._schema.faults import MAX_FAULTS, Refused, Step, Told, Within
from nr_llm._schema.forms import Form, Reader
from nr_llm.errors import InvalidValueError


def list_form(item: Form) -> Form:
    """Return the form of ``list[item]``."""
    return Form(
        schema={"type": "array", "items": item.schema},
        expected="an array",
        exact=_array_reader(item.exact, list),
        read=spelled(list, _array_reader(item.read, list)),
        hashable=False,
    )


def variadic_tuple_form(item: Form) -> Form:
    """Return the form of ``tuple[item, ...]``."""
    return Form(
        schema={"type": "array", "items": item.schema},
        expected="an array",
        exact=_array_reader(item.exact, tuple),
        read=spelled(list, _array_reader(item.read, tuple)),
        hashable=item.hashable,
    )


def tuple_form(items: Sequence[Form]) -> Form:
    """
    Return the form of a tuple with one type for each place.

    Its schema says `items` beside `prefixItems`, for the providers that know only the former.
    """
    schemas = [item.schema for item in items]
    length = len(schemas)
    schema: dict[str, JSON] = {"type": "array", "minItems": length, "maxItems": length}
    if all(other == schemas[0] for other in schemas):
        schema["items"] = schemas[0]
    else:
        distinct = [s for i, s in enumerate(schemas) if s not in schemas[:i]]
        schema |= {"prefixItems": [*schemas], "items": {"anyOf": [*distinct]}}
    return Form(
        schema=schema,
        expected=f"an array of exactly {length} items",
        exact=_tuple_reader([item.exact for item in items]),
        read=spelled(list, _tuple_reader([item.read for item in items])),
        hashable=all(item.hashable for item in items),
    )


def set_form(item: Form, make: type[set[Any] | frozenset[Any]]) -> Form:
    """Return the form of ``set[item]`` or ``frozenset[item]``; a repeated item is refused, not dropped."""
    return Form(
        schema={"type": "array", "items": item.schema, "uniqueItems": True},
        expected="an array without repeated items",
        exact=_set_reader(item.exact, make),
        read=spelled(list, _set_reader(item.read, make)),
        hashable=make is frozenset,
    )


def map_form(item: Form) -> Form:
    """Return the form of ``dict[str, item]``."""
    return Form(
        schema={"type": "object", "additionalProperties": item.schema or True},
        expected="an object",
        exact=_map_reader(item.exact),
        read=spelled(dict, _map_reader(item.read)),
        hashable=False,
    )


def spelled(kind: type, reader: Reader) -> Reader:
    """
    Let a reader also take text that spells a JSON array or object, as `kind` says.

    Models now and then encode a nested value twice.  Where only an array or an object fits, such text cannot
    mean anything else, so this is no guess; scalars have their own, narrower rules.
    """

    def read(value: Any) -> Any:
        return reader(_decoded(value, kind) if type(value) is str else value)

    return read


def _decoded(text: str, kind: type) -> Any:
    try:
        value = decode(text)
    except InvalidValueError:
        return text
    return value if type(value) is kind else text


def read_each(entries: Iterable[tuple[Step, Reader, Any]]) -> list[Any]:
    """Read every entry; the refused ones are gathered, each with its step, and raised together."""
    values: list[Any] = []
    refused: list[tuple[Step, Refused]] = []
    for step, read, entry in entries:
        try:
            values.append(read(entry))
        except Refused as refusal:
            refused.append((step, refusal))
            if len(refused) == MAX_FAULTS:
                break
    if refused:
        raise Within(refused)
    return values


def _array_reader(item: Reader, make: Callable[[list[Any]], Any]) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise Refused("an array", value)
        items = read_each((index, item, entry) for index, entry in enumerate(value))
        return items if make is list else make(items)

    return read


def _tuple_reader(items: Sequence[Reader]) -> Reader:
    places = range(len(items))

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(items):
            raise Refused(f"an array of exactly {len(items)} items", value)
        return tuple(read_each(zip(places, items, value, strict=True)))

    return read


def _set_reader(item: Reader, make: type[set[Any] | frozenset[Any]]) -> Reader:
    array = _array_reader(item, list)

    def read(value: Any) -> set[Any] | frozenset[Any]:
        items = array(value)
        members = make(items)
        if len(members) != len(items):
            repeated = next(i for i in range(len(items)) if items[i] in items[:i])
            raise Within([(repeated, Told("repeats an earlier item; each may occur once"))])
        return members

    return read


def _map_reader(item: Reader) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Refused("an object", value)
        items = read_each((key, item, entry) for key, entry in value.items())
        return dict(zip(value, items, strict=True))

    return read
