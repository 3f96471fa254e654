"""What a form asks for, in words, and what a line that is typed into it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nr_llm._json import decode, encode
from nr_llm.errors import MalformedJsonError

from nr_llm_cli.parameters import takes_text
from nr_llm_cli.screen import exact


def keys_of(form: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a form asks for, a line for each key."""
    for name, schema in form.get("properties", {}).items():
        described = description_of(schema)
        facts = ", ".join(facts_of(name, schema, form=form))
        yield exact(f"{name} ({facts})" + (f": {described}" if described else ""))


def description_of(schema: Any) -> str:
    """Return what a form says of a key, in one line."""
    return " ".join(str(schema.get("description", "")).split()) if isinstance(schema, Mapping) else ""


def facts_of(name: str, schema: Any, *, form: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> list[str]:
    """
    Return what is known of a key: what it takes, whether it must be filled in, what stands in it.

    Args:
        name: The key.
        schema: Its schema.
        form: The form.
        given: What was filled in so far, or None.
    """
    facts = [type_of(schema, form), "required" if name in form.get("required", ()) else "may be left empty"]
    if given is not None and name in given:
        facts.append(f"now {encode(given[name])}")
    elif isinstance(schema, Mapping) and "default" in schema:
        facts.append(f"default {encode(schema['default'])}")
    return facts


def value_of(text: str, schema: Any, form: Mapping[str, Any]) -> Any:
    """Return what a line stands for: text where the form takes text, else JSON where it is JSON; ``""`` is empty."""
    if text == '""':
        return ""
    if takes_text(schema, form):
        return text
    try:
        return decode(text)
    except MalformedJsonError:
        return text


def type_of(schema: Any, form: Mapping[str, Any]) -> str:
    """Return what a key takes, in a few words or as its schema."""
    if not isinstance(schema, Mapping):
        return "anything"
    reference = schema.get("$ref", "")
    if reference.startswith("#/$defs/"):
        return type_of(form.get("$defs", {}).get(reference.removeprefix("#/$defs/")), {})
    if "enum" in schema:
        return f"one of {', '.join(one if isinstance(one, str) else encode(one) for one in schema['enum'])}"
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in {"object", "array"}:
        bounds = {key: value for key, value in schema.items() if key in _BOUNDS}
        return f"{kind} {encode(bounds)}" if bounds else kind
    return encode({key: value for key, value in schema.items() if key not in {"description", "title", "default"}})


_BOUNDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "format"}
)
