"""A diff as lines of text: what an artifact of type `diff` looks like wherever lines are all there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

KEPT: Final = " "
ADDED: Final = "+"
REMOVED: Final = "-"
PLACE: Final = "@"
NOTE: Final = "\\"

MARKS: Final = frozenset({KEPT, ADDED, REMOVED, PLACE, NOTE})
"""What a line of a diff is: kept, added, removed, the place of what follows, or a note about it."""


def diff_lines(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """
    Yield a diff as lines, each with its mark; the lines that name the files have an empty one.

    Args:
        data: That of an artifact of type `diff`.
    """
    before, after = data["before"], data["after"]
    if before is not None and after is not None and before != after:
        yield "", f"rename from {before}"
        yield "", f"rename to {after}"
    if data["lines"]:
        yield "", f"--- {'/dev/null' if before is None else before}"
        yield "", f"+++ {'/dev/null' if after is None else after}"
    for mark, text in data["lines"]:
        if mark == PLACE:
            yield mark, f"@@ {text} @@"
        else:
            yield mark, f"{mark} {text}" if mark == NOTE else f"{mark}{text}"


def unified(data: Mapping[str, Any]) -> str:
    """Return a diff in the unified form, as programs that apply patches read it."""
    return "".join(f"{text}\n" for _, text in diff_lines(data))
