"""What fits both channels."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from nr_llm_sql._answers import listed, record
from nr_llm_sql._cells import line
from nr_llm_sql._grid import ROOM, Grid, fitted

texts = st.text(max_size=40).map(line)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Draw any rectangular grid of cells."""
    width = draw(st.integers(1, 6))
    row = st.tuples(*[texts] * width)
    return Grid(draw(row), tuple(draw(st.lists(row, min_size=1, max_size=8))))


def test_all_of_a_small_grid_is_kept() -> None:
    """What fits stays as it is."""
    grid = Grid(("a", "b"), (("1", "2"), ("3", "4")))

    assert fitted(grid, listed) == grid


def test_columns_go_until_the_first_row_fits() -> None:
    """A row wider than the room loses its last columns."""
    grid = Grid(tuple("abc"), (("x" * 20, "y" * 20, "z" * 20),))

    assert fitted(grid, listed, room=60) == Grid(("a", "b"), (("x" * 20, "y" * 20),))


def test_rows_go_from_the_end() -> None:
    """Rows that do not fit are left out, never the first ones."""
    grid = Grid(("a",), (("x" * 20,), ("y" * 20,), ("z" * 20,)))

    assert fitted(grid, listed, room=60).rows == grid.rows[:2]


@given(grids(), st.integers(400, 900))
def test_what_is_kept_is_a_beginning_that_fits(grid: Grid, room: int) -> None:
    """Both channels of the kept part are within the room, and one more row would not be."""
    draw = record("t", keyed=False, offset=0)
    kept = fitted(grid, draw, room=room)

    width, height = len(kept.columns), len(kept.rows)
    assert kept == grid.cut(columns=width, rows=height)
    assert _size(kept, draw) <= room
    assert height == len(grid.rows) or _size(grid.cut(columns=width, rows=height + 1), draw) > room


def _size(grid: Grid, draw) -> int:
    table = json.dumps([grid.columns, *grid.rows], ensure_ascii=False, separators=(",", ":"))
    text = "".join(draw(grid.columns, row, i) + "\n" for i, row in enumerate(grid.rows))
    return max(len(table.encode()) - 1, len(text.encode()))


def test_the_room_leaves_space_for_names() -> None:
    """Heading, label and notes with the longest names fit beside the room."""
    assert ROOM + 3 * 128 * 4 + 500 < 50_000
