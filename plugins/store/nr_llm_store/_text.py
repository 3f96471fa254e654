"""Text as every database takes it."""

from __future__ import annotations

from typing import overload

from nr_llm.codecs.json import encode, valid_text


@overload
def plain(text: str) -> str: ...
@overload
def plain(text: None) -> None: ...
def plain(text: str | None) -> str | None:
    """Return a name without what a database refuses: lone surrogates, and NUL, which PostgreSQL has no place for."""
    return None if text is None else valid_text(text).replace("\0", "\ufffd")


def written(value: object) -> str:
    """Return a JSON value as it is stored."""
    return valid_text(encode(value))
