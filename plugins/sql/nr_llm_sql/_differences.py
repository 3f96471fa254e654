"""Shows people what changes in a record, one line for each field, so that whatever differs looks different."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from nr_llm.artifacts import ToolArtifact
from nr_llm.diffs import ADDED, REMOVED

from nr_llm_sql._cells import Redact, Value, cell, wordless
from nr_llm_sql._limits import WRITTEN_BYTES

PREVIEW_CHARACTERS: Final = 160
"""Characters of a value in a preview, whose lines hold two of them (`nr_llm.previews.PREVIEW_CHARACTERS`)."""

_DIFF_CHARACTERS: Final = 3_000
"""Characters of all values in a diff together, each at most four bytes: a result with a table beside has 50,000."""

_LEAD = 40
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CUT_WORD = re.compile(r"(?<=\s)\S+\Z")
_BLANKS = re.compile(" {2,}")

Draw = Callable[[Value, Value], str]


def drawing(redact: Redact, characters: int) -> Draw:
    """
    Return what draws a value beside the one it is compared with.

    Texts stand in quotes, with what cannot be seen written out; numbers, true, false and null do not.  Of long texts
    the part is drawn in which they begin to differ.

    Args:
        redact: Masks secrets; called before anything is cut.
        characters: Characters of a value that are drawn.
    """

    def draw(value: Value, other: Value) -> str:
        if isinstance(value, str):
            theirs = _masked(other, redact) if isinstance(other, str) else ""
            return _excerpt(_masked(value, redact), theirs, characters=characters, of=len(value))
        told = wordless(value)
        return str(value) if told is None else told

    return draw


def preview_line(name: str, before: Value, after: Value, *, draw: Draw) -> str:
    """Return the line of one field in a preview, where blanks are collapsed: several are written out."""
    line = f"{name}: {draw(before, after)} → {draw(after, before)}"
    return _BLANKS.sub(lambda found: "·" * len(found[0]), line)


def record_diff(
    name: str, before: Mapping[str, Value] | None, after: Mapping[str, Value], *, fields: Iterable[str], redact: Redact
) -> ToolArtifact:
    """
    Return what changed in a record.

    Args:
        name: The record, as ``orders:4``.
        before: Its cells before; None if it is new.
        after: Its cells now.
        fields: Fields of which a line is drawn on each side.
        redact: Masks secrets.
    """
    changed = [*fields]
    draw = drawing(redact, _DIFF_CHARACTERS // max(2 * len(changed), 3))
    lines = []
    for field in changed:
        old, new = None if before is None else before[field], after[field]
        if before is not None:
            lines.append((REMOVED, f"{field}: {draw(old, new)}"))
        lines.append((ADDED, f"{field}: {draw(new, old)}"))
    return ToolArtifact.diff(f"Changes to {name}", None if before is None else name, name, lines=lines)


def key_name(table: str, key: Iterable[Value], redact: Redact) -> str:
    """Return the name of a record, as ``orders:4``, with what cannot be seen in its key written out."""
    cells = ",".join(cell(value, redact) for value in key)
    return f"{table}:{''.join(map(_seen, cells))}"


def _seen(char: str) -> str:
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def _masked(text: str, redact: Redact) -> str:
    """Return what of a text is looked at, without its secrets; of one that is cut without a last word cut in half."""
    looked_at = text[:WRITTEN_BYTES]
    return redact(looked_at if len(text) <= WRITTEN_BYTES else _CUT_WORD.sub("", looked_at))


def _excerpt(text: str, other: str, *, characters: int, of: int) -> str:
    same = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    start = max(0, same - _LEAD) if len(text) > characters else 0
    drawn, length = [], 0
    for char in text[start:]:
        shown = _ESCAPES.get(char) or _seen(char)
        length += len(shown)
        if length > characters:
            break
        drawn.append(shown)
    cut = start + len(drawn) < len(text) or of > WRITTEN_BYTES
    whole = f'{"…" if start else ""}"{"".join(drawn)}"{"…" if cut else ""}'
    return f"{whole} ({of:,} characters)" if start or cut else whole
