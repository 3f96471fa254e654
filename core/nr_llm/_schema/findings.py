"""What a JSON Schema validator finds is said in the same words as what a signature finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nr_llm._json import JSON
from nr_llm._schema.coercions import steps_of, value_at, wanted_types
from nr_llm._schema.faults import Fault, Told, clip, excerpt, join, unknown

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_WORDS = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
_MESSAGE_CHARS = 200


def faults_of(error: ValidationError, arguments: JSON, schema: JSON) -> Iterator[Fault]:
    """
    Yield the faults one finding stands for.

    Args:
        error: The finding.
        arguments: What was checked, as a whole.
        schema: The schema it was checked against.
    """
    kind: Any = error.kind
    path = path_of(steps_of(error, arguments))
    if hasattr(kind, "property"):
        yield Fault(join(path, kind.property), "missing")
    elif hasattr(kind, "unexpected") and error.schema_path[-1] != "unevaluatedItems":
        known = _known(schema, error.schema_path)
        for key in kind.unexpected:
            told = Told("unknown name") if known is None else unknown(key, known)
            yield from told.faults(join(path, key))
    elif branch := _meant(error, kind):
        for inner in branch:
            yield from faults_of(inner, arguments, schema)
    else:
        yield Fault(path, f"{_expectation(error, kind)}, got {excerpt(error.instance)}")


def path_of(steps: Iterable[str | int]) -> str:
    """Return a path as text, such as ``items[2].price``."""
    path = ""
    for step in steps:
        path = join(path, step)
    return path


def _expectation(error: ValidationError, kind: Any) -> str:
    if types := wanted_types(error):
        return f"expected {' or '.join(dict.fromkeys(_WORDS[t] for t in types))}"
    if hasattr(kind, "options"):
        options = [excerpt(option) for option in kind.options]
        return f"expected one of {clip(', '.join(options), _MESSAGE_CHARS)}"
    return clip(error.message, _MESSAGE_CHARS)


def _meant(error: ValidationError, kind: Any) -> list[ValidationError]:
    """Return the findings in the branch of a union that comes closest, unless a type says it shorter."""
    branches: list[list[ValidationError]] = [branch for branch in getattr(kind, "context", ()) if branch]
    return [] if wanted_types(error) else min(branches, key=len, default=[])


def _known(schema: Any, schema_path: list[str | int]) -> list[str] | None:
    """Return the names an object takes, or None where a pattern or another keyword decides."""
    try:
        return list(value_at(schema, schema_path[:-1])["properties"])
    except (KeyError, IndexError, TypeError):
        return None
