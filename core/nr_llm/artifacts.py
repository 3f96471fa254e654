"""What a tool hands to people and never to a model: tables, texts and diffs that live only in the run's trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs


class ArtifactType(StrEnum):
    """
    How an artifact is drawn, not what it means.

    A closed set: each member has a shipped producer and a renderer everywhere.
    """

    TABLE = "table"
    TEXT = "text"
    DIFF = "diff"


@attrs.frozen(eq=False, repr=False)
class ToolArtifact:
    """
    One artifact: a type, a label, data.

    Making one never raises on its data: the shape is checked where the result leaves the tool
    (`nr_llm.bounds`), so a bad table costs the table and never the content.

    Args:
        type: ``table`` with data ``{"columns": [str], "rows": [[cell]]}``, a cell being a string, number, boolean
            or null; ``text`` with data ``{"text": str}``; or ``diff`` with data
            ``{"before": str | None, "after": str | None, "lines": [[mark, text]]}``.
        label: A heading for people.
        data: The data, a JSON object.
    """

    type: ArtifactType | str
    label: str
    data: Mapping[str, Any]

    @classmethod
    def table(cls, label: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> ToolArtifact:
        """Return a table; render the result's content from these same cells, so that the two cannot differ."""
        return cls(ArtifactType.TABLE, label, {"columns": columns, "rows": rows})

    @classmethod
    def text(cls, label: str, text: str) -> ToolArtifact:
        """Return a text."""
        return cls(ArtifactType.TEXT, label, {"text": text})

    @classmethod
    def diff(
        cls, label: str, before: str | None, after: str | None, *, lines: Sequence[tuple[str, str]] = ()
    ) -> ToolArtifact:
        """
        Return what changed in one file.

        Args:
            label: A heading for people.
            before: The path it had, or None if it is new.
            after: The path it has now, or None if it is gone; another one if it was moved.
            lines: Mark and text of each line: one of `nr_llm.diffs.MARKS`, and text without a line feed.  The text of a
                place is what a unified diff says between ``@@`` and ``@@``.
        """
        return cls(ArtifactType.DIFF, label, {"before": before, "after": after, "lines": lines})

    def __repr__(self) -> str:
        return f"<ToolArtifact {self.type!s}>"

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"type", "label", "data"}`` for a trace; there is no other way out."""
        return {"type": str(self.type), "label": self.label, "data": self.data}
