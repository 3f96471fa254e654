"""What changed between two texts, line by line, in bounded time and space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, TypeAlias

from nr_llm._json import encode_bytes
from nr_llm.diffs import ADDED, KEPT, NOTE, PLACE, REMOVED

from nr_llm_tools._text import MAX_LINE, cut, visible_line

CONTEXT: Final = 3
"""Lines that are kept and shown around a change, as everywhere."""

COMPARED: Final = 1_000
"""Lines of each side that are compared one with another, beside equal beginnings and ends; the cost is quadratic."""

DIFF_BYTES: Final = 40_000
"""Bytes of a diff's lines as JSON: with paths and label it stays below the 50,000 a result may have."""

Line: TypeAlias = tuple[str, str]
"""A mark of `nr_llm.diffs`, and the text."""

_Span: TypeAlias = tuple[bool, int, int, int, int]
"""Whether a stretch is equal; where it begins and ends in the old text and in the new one."""

_UNENDED: Final = "No newline at end of file"


def changes(old: str, new: str) -> tuple[Line, ...]:
    """Return what to change in `old` to have `new`, cut to what may be shown; nothing if they are the same."""
    return fitting(_hunks(_lines(old), _lines(new)))


def counted(old: str, new: str) -> tuple[int, int]:
    """Return how many lines are added, and how many are removed."""
    spans = [span for span in _spans(_lines(old), _lines(new)) if not span[0]]
    return sum(j2 - j1 for *_, j1, j2 in spans), sum(i2 - i1 for _, i1, i2, _, _ in spans)


def count_lines(text: str) -> int:
    """Return how many lines a text has."""
    return len(_lines(text))


def fitting(lines: Iterable[Line], *, limit: int = DIFF_BYTES) -> tuple[Line, ...]:
    """Return as many lines as fit into `limit` bytes of JSON, made visible and cut, and a note of how many do not."""
    kept: list[Line] = []
    more = 0
    for mark, text in lines:
        line = (mark, cut(visible_line(text), MAX_LINE))
        limit -= len(encode_bytes(list(line))) + 1
        if limit < 0:
            more += 1
        else:
            kept.append(line)
    return (*kept, *([(NOTE, f"… {more:,} more {'line' if more == 1 else 'lines'}")] if more else ()))


def _lines(text: str) -> list[str]:
    """Return the lines of a text, each with its line feed, which the last one may lack."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _spans(old: Sequence[str], new: Sequence[str]) -> Iterator[_Span]:
    """Yield the stretches of two texts, equal or not, in order."""
    pairs = list(zip(old, new, strict=False))
    head = sum(1 for _ in takewhile(_equal, pairs))
    left = min(len(old), len(new)) - head
    tail = sum(1 for _ in takewhile(_equal, zip(reversed(old), reversed(new), strict=False)))
    tail = min(tail, left)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if head:
        yield True, 0, head, 0, head
    if max(len(a), len(b)) > COMPARED:
        yield False, head, head + len(a), head, head + len(b)
    else:
        for kind, i1, i2, j1, j2 in SequenceMatcher(None, a, b).get_opcodes():
            yield kind == "equal", head + i1, head + i2, head + j1, head + j2
    if tail:
        yield True, len(old) - tail, len(old), len(new) - tail, len(new)


def _equal(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    for spans in _grouped(list(_spans(old, new))):
        first, last = spans[0], spans[-1]
        yield PLACE, f"-{_place(first[1], last[2])} +{_place(first[3], last[4])}"
        for equal, i1, i2, j1, j2 in spans:
            if equal:
                yield from _marked(KEPT, old[i1:i2])
            else:
                yield from _marked(REMOVED, old[i1:i2])
                yield from _marked(ADDED, new[j1:j2])


def _grouped(spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """Yield the changes with the equal lines around them, those near each other together."""
    group: list[_Span] = []
    for equal, i1, i2, j1, j2 in spans:
        if not equal or (group and i2 - i1 <= 2 * CONTEXT and spans[-1] != (equal, i1, i2, j1, j2)):
            group.append((equal, i1, i2, j1, j2))
        else:
            if group:
                yield [*group, (equal, i1, min(i2, i1 + CONTEXT), j1, min(j2, j1 + CONTEXT))]
            group = [(equal, max(i1, i2 - CONTEXT), i2, max(j1, j2 - CONTEXT), j2)]
    if any(not equal for equal, *_ in group):
        yield group


def _place(start: int, end: int) -> str:
    """Return where lines are, counted from 1; of none, the line they come after."""
    if end - start == 1:
        return str(end)
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(mark: str, lines: Iterable[str]) -> Iterator[Line]:
    for line in lines:
        yield mark, line.removesuffix("\n")
        if not line.endswith("\n"):
            yield NOTE, _UNENDED
