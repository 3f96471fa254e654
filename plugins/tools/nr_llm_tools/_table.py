"""Renders a result's text from the very cells of its table, so that what a model reads and people see is one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from nr_llm import ToolArtifact, ToolResult
from nr_llm._json import encode_bytes

TABLE_BYTES: Final = 40_000
"""Bytes of a table's rows as JSON: with heading and notes it stays below the 50,000 a result may have."""

Cell: TypeAlias = str | int | None
Row: TypeAlias = tuple[Cell, ...]


def piped(row: Row) -> str:
    """Return ``file | 120 | name``; the cell that others choose, the name, stands last, so it cannot fake a cell."""
    return " | ".join("-" if cell is None else str(cell) for cell in row)


def fitting(rows: Iterable[Row], *, limit: int = TABLE_BYTES) -> tuple[Row, ...]:
    """Return as many rows as fit into `limit` bytes of JSON, in order."""
    kept = []
    for row in rows:
        limit -= len(encode_bytes(list(row))) + 1
        if limit < 0:
            break
        kept.append(row)
    return tuple(kept)


def table_result(
    heading: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    label: str,
    render: Callable[[Row], str] = piped,
    header: bool = True,
    notes: Sequence[str] = (),
) -> ToolResult:
    """
    Return a result whose text is the heading, the rows one per line, then the notes; and whose table has the same rows.

    Args:
        heading: First line; it says how many rows there are.
        columns: Names of the columns.
        rows: Cells; already cut to what may be shown.
        label: The table's heading for people.
        render: Turns a row into its line.
        header: Whether the names of the columns are a line too.
        notes: What was left out and why.
    """
    names = [piped(tuple(columns))] if header and rows else []
    lines = [heading, *names, *map(render, rows), *notes]
    return ToolResult.text("\n".join(lines), ToolArtifact.table(label, list(columns), [list(row) for row in rows]))


def showing(shown: int, total: int, noun: str, *, more: bool = False) -> str:
    """Return ``showing 100 of 340 files``, ``at least 340`` when there may be `more`, ``7 files`` when that is all."""
    counted = f"at least {total:,}" if more else f"{total:,}"
    things = noun if total == 1 else f"{noun}s" if not noun.endswith("y") else f"{noun[:-1]}ies"
    return f"{counted} {things}" if shown == total and not more else f"showing {shown:,} of {counted} {things}"
