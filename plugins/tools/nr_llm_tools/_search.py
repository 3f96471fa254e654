"""Finds lines in texts for a query that came from a model, and counts what was found, skipped and cut."""

from __future__ import annotations

from typing import Final

import attrs
from nr_llm import ToolError
from nr_llm.redaction import WITHHELD
from nr_llm.secrets import MASK

from nr_llm_tools._automaton import Matcher, PatternError
from nr_llm_tools._regex import parse_regex, required_text
from nr_llm_tools._scan import Scan
from nr_llm_tools._table import Row
from nr_llm_tools._text import excerpt, split_lines, visible_line

MAX_QUERY: Final = 300
"""Characters of a query."""

MAX_MATCHED: Final = 2_000
"""Characters of a line a regular expression is tried on: with a pattern's size it bounds the work for a line."""

EXCERPT: Final = 200
"""Characters of a line that are shown."""


@attrs.frozen
class Query:
    """
    What to look for.

    Attributes:
        needle: Text every hit contains; the query itself when it is no pattern.
        matcher: The pattern, or None.
    """

    needle: str
    matcher: Matcher | None

    @classmethod
    def of(cls, text: str, *, regex: bool) -> Query:
        """
        Return the query a model asked.

        Raises:
            ToolError: It is empty, too long, of several lines, or no pattern that may be used.
        """
        text = text if regex else text.strip()
        if not text.strip():
            raise ToolError("The text to search is empty.")
        if len(text) > MAX_QUERY or "\n" in text:
            raise ToolError(f"Search one line of at most {MAX_QUERY} characters.")
        if not regex:
            return cls(text, None)
        try:
            node = parse_regex(text)
            return cls(required_text(node), Matcher(node))
        except PatternError as error:
            raise ToolError(f"Not searched: {error}. Use regex=false for a plain text.") from None

    def rules_out(self, unmasked: str) -> bool:
        """
        Return whether no line can match once `unmasked` is masked, so that the costly masking can be left out.

        Masking takes text away and puts `MASK` in its place.  A needle that neither is a part of a mask nor has one
        of its brackets is therefore in the masked text only if it was in the text before: the answer is
        the same as without this look, and tells nothing of what is masked.
        """
        if "[" in self.needle or "]" in self.needle or self.needle in f"{MASK} {WITHHELD}":
            return False
        return self.needle not in unmasked

    def find(self, line: str) -> int:
        """Return where a match is, or near where; -1 when there is none."""
        at = line.find(self.needle)
        if at < 0 or self.matcher is None:
            return at
        return at if self.matcher.search(line[:MAX_MATCHED]) else -1


@attrs.define(kw_only=True)
class Hits:
    """
    What a search found.

    Attributes:
        limit: Rows to keep.
        rows: Path, line number and excerpt of the first hits.
        total: All hits.
        files: Files with a hit.
        searched: Files that were read.
        long: Lines of which a pattern saw only the beginning.
        skipped: Files not searched, by reason.
    """

    limit: int
    rows: list[Row] = attrs.field(factory=list, init=False)
    total: int = attrs.field(default=0, init=False)
    files: int = attrs.field(default=0, init=False)
    searched: int = attrs.field(default=0, init=False)
    long: int = attrs.field(default=0, init=False)
    skipped: dict[str, int] = attrs.field(factory=dict, init=False)

    def skip(self, reason: str) -> None:
        """Count a file that was not searched."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def add(self, path: str, number: int, line: str) -> None:
        """Count a hit, and keep it when there is room."""
        self.total += 1
        if len(self.rows) < self.limit:
            self.rows.append((path, number, line))

    def notes(self) -> list[str]:
        """Return a line for each thing that was left out."""
        notes = [f"Files not searched, {reason}: {count:,}." for reason, count in sorted(self.skipped.items())]
        if self.long:
            notes.append(f"Lines matched in their first {MAX_MATCHED:,} characters only: {self.long:,}.")
        return notes


def search_text(query: Query, text: str, path: str, *, hits: Hits, scan: Scan) -> None:
    """Add the lines of a text, redacted before, that match the query, until the time is over."""
    hits.searched += 1
    if query.needle not in text:
        return
    before = hits.total
    for number, line in enumerate(split_lines(text), 1):
        if not scan.on_time():
            break
        at = query.find(line)
        hits.long += query.matcher is not None and len(line) > MAX_MATCHED
        if at >= 0:
            hits.add(path, number, visible_line(excerpt(line, at, width=EXCERPT)))
    hits.files += hits.total > before
