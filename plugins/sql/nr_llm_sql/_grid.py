"""Cuts a table to what fits both channels of a result, so that its text and its artifact show the same cells."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

ROOM = 47_000
"""
Bytes of rows in either channel.

Each channel may have 50,000 bytes (`nr_llm.bounds`); the rest is room for the heading, the label and the notes,
which hold names of at most 128 characters.
"""

Draw: TypeAlias = Callable[[Sequence[str], Sequence[str], int], str]
"""Draws one row as text from the column names, its cells and its position."""


@attrs.frozen
class Grid:
    """
    A table of formatted cells.

    Args:
        columns: Names of the columns.
        rows: Rows of cells, each as long as `columns`; at least one.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def cut(self, *, columns: int, rows: int) -> Grid:
        """Return the leading `columns` and `rows`."""
        kept = tuple(row[:columns] for row in self.rows[:rows])
        return Grid(self.columns[:columns], kept)


def fitted(grid: Grid, draw: Draw, *, room: int = ROOM) -> Grid:
    """
    Return the part of `grid` that fits: leading columns until the first row does, then leading rows.

    At least one column and one row stay: a cell and a name are far smaller than the room.
    """
    width = _width(grid, draw, room)
    narrow = grid.cut(columns=width, rows=len(grid.rows))
    return narrow.cut(columns=width, rows=_height(narrow, draw, room))


def _width(grid: Grid, draw: Draw, room: int) -> int:

    def too_wide(width: int) -> bool:
        columns, row = grid.columns[:width], grid.rows[0][:width]
        return max(_encoded(columns) + _encoded(row), _drawn(columns, row, 0, draw=draw)) > room

    widths = range(1, len(grid.columns) + 1)
    return max(1, bisect_left(widths, True, key=too_wide))


def _height(grid: Grid, draw: Draw, room: int) -> int:
    table, text = _encoded(grid.columns), 0
    for position, row in enumerate(grid.rows):
        table += _encoded(row)
        text += _drawn(grid.columns, row, position, draw=draw)
        if max(table, text) > room:
            return max(1, position)
    return len(grid.rows)


def _drawn(columns: Sequence[str], row: Sequence[str], position: int, *, draw: Draw) -> int:
    return len(draw(columns, row, position).encode()) + 1


def _encoded(cells: Sequence[str]) -> int:
    """Return the bytes of `cells` as a JSON array and a comma; cells hold no control characters."""
    return 3 + sum(len(text.encode()) + text.count('"') + text.count("\\") + 3 for text in cells)
