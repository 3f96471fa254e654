"""What a call would do, in its tool's own words, so that whoever decides about it sees more than its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import attrs

from nr_llm._json import valid_text

if TYPE_CHECKING:
    from nr_llm.toolbox import Toolbox

PREVIEW_LINES = 20
"""Lines a preview may have, beside the note that says how many there were (the reference system's figure, ADR-136)."""

PREVIEW_CHARACTERS = 500
"""Characters of one line of a preview (the reference system's figure, ADR-136)."""

WITHHELD = "The preview is withheld: the tool is not open to you, or is gone."
"""Stands in for a preview that somebody may not see."""


def _lines(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


@attrs.frozen(kw_only=True)
class CallPreview:
    """
    What a call would do; a snapshot of when its turn was held, and no promise of what is there when it runs.

    Attributes:
        index: The call's place in the turn.
        tool: Name of the tool.
        lines: The preview; a single line that says why, where there is none.
        failed: Whether there is none.
    """

    index: int
    tool: str
    lines: tuple[str, ...] = attrs.field(converter=_lines)
    failed: bool = False


def bound_preview(index: int, tool: str, given: object, *, mask: Callable[[str], str]) -> CallPreview:
    """
    Return what a tool gave as a preview within its bounds: each line trimmed, its blanks collapsed, cut.

    Args:
        index: The call's place in the turn.
        tool: Name of the tool.
        given: A text, or a list or tuple of lines.
        mask: Takes secrets out of a text.
    """
    if isinstance(given, str):
        given = given.split("\n")
    if not isinstance(given, (list, tuple)) or not all(isinstance(line, str) for line in given):
        return no_preview(index, tool, f"The preview is a {type(given).__name__[:100]} instead of text.")
    lines = [_line(mask(valid_text(line))) for line in given[:PREVIEW_LINES]]
    if not any(lines) and not any(line.strip() for line in given[PREVIEW_LINES:]):
        return no_preview(index, tool, "The preview is empty.")
    if more := len(given) - len(lines):
        lines.append(f"… {more:,} more {'line' if more == 1 else 'lines'}")
    return CallPreview(index=index, tool=tool, lines=lines)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"


def failed_preview(index: int, tool: str, error: BaseException) -> CallPreview:
    """Return the line that stands in for a preview that raised: the class alone, since its text may hold anything."""
    return no_preview(index, tool, f"The preview failed with {type(error).__name__[:100]}.")


def no_preview(index: int, tool: str, why: str) -> CallPreview:
    """Return the line that says why there is no preview."""
    return CallPreview(index=index, tool=tool, lines=(valid_text(why),), failed=True)


def open_previews(previews: Iterable[CallPreview], toolbox: Toolbox) -> tuple[CallPreview, ...]:
    """
    Return previews as somebody may see them.

    Args:
        previews: What was kept.
        toolbox: The tools that are open to them now; of others, and of those without a preview, it is withheld.
    """

    def seen(preview: CallPreview) -> CallPreview:
        tool = toolbox.get(preview.tool)
        shows = tool is not None and tool.preview is not None
        return preview if shows else no_preview(preview.index, preview.tool, WITHHELD)

    return tuple(map(seen, previews))
