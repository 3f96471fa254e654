"""Finds lines in texts for a query that came from a model, and counts what was found, skipped and cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

FEW: Final = 3
"""Hits that are shown with the lines around them: what was looked for often stands just beside."""

AROUND: Final = 2
"""Lines before and behind such a hit."""


@attrs.frozen
class Query:
    """
    What to look for.

    Attributes:
        needle: Text every hit contains; the query itself when it is no pattern.
        matcher: The pattern, or None.
        any_case: Whether capital and small letters are one; the needle is small then.
    """

    needle: str
    matcher: Matcher | None
    any_case: bool = False

    @property
    def cased(self) -> bool:
        """Whether it is a text in which capital and small letters differ."""
        return self.matcher is None and not self.any_case

    def in_any_case(self) -> Query:
        """Return the same text, capital and small letters being one."""
        return Query(self.needle.casefold(), None, any_case=True)

    def within(self, text: str) -> bool:
        """Return whether a text has the needle."""
        return self.needle in (text.casefold() if self.any_case else text)

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
        if "[" in self.needle or "]" in self.needle or self.within(f"{MASK} {WITHHELD}"):
            return False
        return not self.within(unmasked)

    def find(self, line: str) -> int:
        """Return where a match is, or near where; -1 when there is none."""
        at = (line.casefold() if self.any_case else line).find(self.needle)
        if self.any_case:
            return min(at, len(line) - 1)  # a letter may become two small ones
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
        beside: Such rows of the first few hits and of the lines around them, by path and number.
        total: All hits.
        files: Files with a hit.
        searched: Files that were read.
        long: Lines of which a pattern saw only the beginning.
        skipped: Files not searched, by reason.
    """

    limit: int
    rows: list[Row] = attrs.field(factory=list, init=False)
    beside: dict[Row, Row] = attrs.field(factory=dict, init=False)
    total: int = attrs.field(default=0, init=False)
    files: int = attrs.field(default=0, init=False)
    searched: int = attrs.field(default=0, init=False)
    long: int = attrs.field(default=0, init=False)
    skipped: dict[str, int] = attrs.field(factory=dict, init=False)

    def skip(self, reason: str) -> None:
        """Count a file that was not searched."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def add(self, path: str, number: int, line: str, *, around: Sequence[Row] = ()) -> None:
        """Count a hit, and keep it when there is room; of the first few keep the lines `around` it too."""
        self.total += 1
        if len(self.rows) < self.limit:
            self.rows.append((path, number, line))
        self.beside.update({row[:2]: row for row in around})

    def shown(self) -> list[Row]:
        """Return the hits; if they are few, between the lines that are around them."""
        if self.total > min(FEW, self.limit):
            return self.rows
        return list((self.beside | {row[:2]: row for row in self.rows}).values())

    def lines(self) -> Callable[[Row], str]:
        """Return what draws a row as a line: ``path:12: text`` for a hit, ``path-13- text`` for a line beside one."""
        hits = {row[:2] for row in self.rows}

        def drawn(row: Row) -> str:
            path, number, text = row
            mark = ":" if row[:2] in hits else "-"
            return f"{path}{mark}{number}{mark} {text}"

        return drawn

    def notes(self) -> list[str]:
        """Return a line for each thing that was left out."""
        notes = [f"Files not searched, {reason}: {count:,}." for reason, count in sorted(self.skipped.items())]
        if self.long:
            notes.append(f"Lines matched in their first {MAX_MATCHED:,} characters only: {self.long:,}.")
        return notes


def search_text(query: Query, text: str, path: str, *, hits: Hits, scan: Scan) -> None:
    """Add the lines of a text, redacted before, that match the query, until the time is over."""
    hits.searched += 1
    if not query.within(text):
        return
    before, lines = hits.total, split_lines(text)
    for number, line in enumerate(lines, 1):
        if not scan.on_time():
            break
        at = query.find(line)
        hits.long += query.matcher is not None and len(line) > MAX_MATCHED
        if at >= 0:
            around = _around(path, lines, number) if hits.total < FEW else ()
            hits.add(path, number, visible_line(excerpt(line, at, width=EXCERPT)), around=around)
    hits.files += hits.total > before


def _around(path: str, lines: Sequence[str], number: int) -> list[Row]:
    """Return a line, counted from 1, and the ones beside it as rows."""
    first = max(number - AROUND, 1)
    return [
        (path, at, visible_line(excerpt(line, 0, width=EXCERPT)))
        for at, line in enumerate(lines[first - 1 : number + AROUND], first)
    ]
