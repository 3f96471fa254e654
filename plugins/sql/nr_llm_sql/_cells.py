"""Formats each value once, into the one line of text that both the model's text and the table show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

import attrs
from nr_llm.redaction import Redactor

CELL_CHARACTERS = 300
"""Characters of a cell before its ellipsis (the reference system's figure)."""

SCANNED_CHARACTERS = 4_096
"""Characters of a value that are looked at: a key or token that starts in the shown part is seen whole."""

_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CUT_WORD = re.compile(r"(?<=\s)\S+\Z")

_REDACT = Redactor().redact

Redact: TypeAlias = Callable[[str], str]


@attrs.frozen
class Blob:
    """Binary data that was measured and left in the database."""

    size: int


Value: TypeAlias = bool | int | float | str | bytes | Blob | None


def cell(value: Value, redact: Redact) -> str:
    """
    Return the text of one value: a single line of at most 300 characters, then an ellipsis if it was cut.

    Args:
        value: A value as SQLite stores it.
        redact: Masks the secrets in a text; called before anything is cut, so that none escapes in half.
    """
    told = wordless(value)
    return _shortened(str(value), redact) if told is None else told


def wordless(value: Value) -> str | None:
    """Return what stands for a value that has neither words nor digits of its own, or None for any other."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Blob(size):
            return f"<{size} bytes>"
        case bytes():
            return f"<{len(value)} bytes>"
        case _:
            return None


def formatted(row: Iterable[Value]) -> tuple[str, ...]:
    """Return the cells of a row, secrets masked by their shape."""
    return tuple(cell(value, _REDACT) for value in row)


def line(text: str) -> str:
    """Return `text` on one line: runs of whitespace as one space, other control characters as U+FFFD."""
    return _UNSHOWABLE.sub("\ufffd", " ".join(text.split()))


def seen(text: str, redact: Redact = _REDACT) -> str:
    """Return what of `text` is looked at, on one line and without its secrets: nobody is shown, or told of, more."""
    looked_at = text[:SCANNED_CHARACTERS]
    if len(text) > SCANNED_CHARACTERS:
        looked_at = _CUT_WORD.sub("", looked_at)
    masked = redact(looked_at)
    shown = line(masked)
    # Some secrets are known by their line breaks, others only show once these are gone.
    return shown if shown == masked else redact(shown)


def _shortened(text: str, redact: Redact) -> str:
    shown = seen(text, redact)
    if len(shown) <= CELL_CHARACTERS and len(text) <= SCANNED_CHARACTERS:
        return shown
    return shown[:CELL_CHARACTERS] + "…"
