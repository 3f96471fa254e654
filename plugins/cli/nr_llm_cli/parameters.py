"""Arguments of a tool from the command line: ``k=v`` pairs read as the tool's schema wants them, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from nr_llm._json import decode
from nr_llm.errors import MalformedJsonError


def from_pairs(pairs: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the arguments that ``k=v`` pairs stand for.

    A value is text where the schema admits text, else JSON where it is JSON (``3``, ``true``, ``["a"]``), else text.

    Raises:
        UsageError: A pair has no ``=``, or a name stands twice.
    """
    known: Mapping[str, Any] = schema.get("properties", {})
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or not name:
            raise click.UsageError(f"--arg takes NAME=VALUE, not {pair!r}.")
        if name in found:
            raise click.UsageError(f"--arg {name}=… stands twice; pass a list as JSON, as in {name}='[1, 2]'.")
        found[name] = text if takes_text(known.get(name, {}), schema) else _value(text)
    return found


def from_json(text: str, *, option: str = "--json") -> dict[str, Any]:
    """
    Return the arguments in a JSON object: the text itself, ``@FILE``, or ``-`` for stdin.

    Args:
        text: It, or where it is.
        option: The option that has it, for errors.

    Raises:
        UsageError: The file cannot be read, or the text is no JSON object.
    """
    try:
        value = decode(_source(text, option))
    except MalformedJsonError as error:
        raise click.UsageError(f'{option}: {error}. Write an object, such as \'{{"path": "."}}\'.') from error
    if not isinstance(value, dict):
        raise click.UsageError(f"{option} takes an object, not {type(value).__name__}.")
    return value


def takes_text(schema: Any, root: Mapping[str, Any]) -> bool:
    """Say whether a parameter's schema admits a text; one that says nothing does not ask for one."""
    if not isinstance(schema, Mapping):
        return False
    reference = schema.get("$ref", "")
    if reference.startswith("#/$defs/"):
        return takes_text(root.get("$defs", {}).get(reference.removeprefix("#/$defs/")), {})
    kinds = schema.get("type", ())
    choices = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    branches = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    return (
        "string" in ((kinds,) if isinstance(kinds, str) else kinds)
        or any(isinstance(choice, str) for choice in choices)
        or any(takes_text(branch, root) for branch in branches)
    )


def _value(text: str) -> Any:
    try:
        return decode(text)
    except MalformedJsonError:
        return text


def _source(text: str, option: str) -> str | bytes:
    if text == "-":
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{option}: {text[1:]} cannot be read: {error.strerror}.") from error
