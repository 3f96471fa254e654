"""Leaves out what a small model fills in because there is room for it: the tool's own default is the better guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nr_llm._json import JSON

STEM = 4
"""Letters by which words are compared, so that endings do not matter."""

HERE = "."
"""The default of an argument that is a folder."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMERALS = (
    "none zero;one first once single;two second twice both pair;three third;four;five;six;seven;eight;nine;ten;eleven;"
    "twelve dozen"
)
_NAMED = {word: float(number) for number, words in enumerate(_NUMERALS.split(";")) for word in words.split()}


def trimmed(arguments: Mapping[str, JSON], parameters: Mapping[str, JSON], *, said: str) -> dict[str, JSON]:
    """
    Return a call's arguments without the optional ones that say nothing, and what of them nobody mentioned.

    A number, a switch and a folder are mentioned or invented; a name or a choice may follow from what was said.

    Args:
        arguments: As the model wrote them.
        parameters: The tool's schema; what it requires stays.
        said: All that was said: requests and results.
    """
    required, schemas = parameters.get("required"), parameters.get("properties")
    needed = required if isinstance(required, list) else []
    known = schemas if isinstance(schemas, Mapping) else {}
    text = said.casefold()
    return {
        name: value
        for name, value in arguments.items()
        if name in needed or not (_says_nothing(value, known.get(name)) or _is_invented(name, value, known, said=text))
    }


def _says_nothing(value: JSON, schema: JSON) -> bool:
    default = schema.get("default", ...) if isinstance(schema, Mapping) else ...
    return value is None or value in ("", [], {}) or (type(value) is type(default) and value == default)


def _is_invented(name: str, value: JSON, schemas: Mapping[str, JSON], *, said: str) -> bool:
    """Return whether a number or a folder was not said, or a switch is set that is none of the words."""
    if isinstance(value, bool):
        return not any(word[:STEM] in said for word in _WORD.findall(name.casefold()))
    if isinstance(value, (int, float)):
        return value not in set(_numbers(said))
    schema = schemas.get(name)
    if not isinstance(value, str) or not isinstance(schema, Mapping) or schema.get("default") != HERE:
        return False
    folder = value.casefold()
    return folder.strip("./") not in said and not any(word in said for word in _WORD.findall(folder))


def _numbers(said: str) -> Iterator[float]:
    yield from map(float, _NUMBER.findall(said))
    yield from (_NAMED[word] for word in _WORD.findall(said) if word in _NAMED)
