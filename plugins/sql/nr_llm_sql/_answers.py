"""Draws the two channels of an answer from one grid of cells: text for the model, a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from nr_llm.artifacts import ToolArtifact
from nr_llm.results import ToolResult

from nr_llm_sql._catalogue import Field
from nr_llm_sql._grid import Draw, Grid, fitted
from nr_llm_sql._limits import LONGEST_TEXT, MOST_FIELDS, MOST_FILTERS, MOST_OFFSET, SHORTEST_TEXT

NO_TABLES = "No tables are permitted."
NOT_PERMITTED = "This table is not permitted. Ask list_tables for the ones that are."
NOT_WRITABLE = (
    "This is not open to writing: the tool's description says which tables and fields are, and a table's triggers must"
    " keep to what is permitted. Nothing was changed."
)
NO_FIELDS = "There are no readable fields among the requested ones."
FILTER_NOT_PERMITTED = "This filter is not permitted: name readable fields, each with one plain value."
ORDER_NOT_PERMITTED = "This order is not permitted: name one readable field, with ' desc' behind it to descend."
TOO_MANY_FILTERS = f"This filter is not permitted: use at most {MOST_FILTERS} fields."
TEXT_NOT_PERMITTED = f"This text is not permitted: search for {SHORTEST_TEXT} to {LONGEST_TEXT} characters."
NO_TEXTS = "There are no readable fields with text in this table."
COUNT_NOT_PERMITTED = "This filter is not permitted: count_by does not look into texts, search_records does."
UNFIT = "This call is not permitted: a value does not fit its field, or a field cannot be compared or sorted by."
SEARCH_ON = "The search ended before the last row: use more filters."
NO_ROWS = "No rows match, or they are not permitted."


def refusal(sentence: str) -> ToolResult:
    """
    Return an answer without data.

    A success, since the call did what it may: one sentence for "there is none" and "you may not", so that the
    difference tells nothing.
    """
    return ToolResult.text(sentence)


def with_fields(sentence: str, fields: Sequence[Field]) -> str:
    """Return a refusal with the fields that may be named, which saves the question for them."""
    names = ", ".join(field.name for field in fields[:MOST_FIELDS])
    return f"{sentence} The readable fields are: {names}." if names else sentence


def answer(heading: str, grid: Grid, *, draw: Draw, notes: Sequence[str], label: str) -> ToolResult:
    """
    Return text and table of `grid`.

    Args:
        heading: The text's first line.
        grid: What fits (`nr_llm_sql._grid.fitted`).
        draw: Draws a row of the text.
        notes: The text's last lines: what was left out and how to get it.
        label: The table's label.
    """
    drawn = [draw(grid.columns, row, position) for position, row in enumerate(grid.rows)]
    text = "\n".join([heading, *drawn, *notes])
    return ToolResult.text(text, ToolArtifact.table(label, grid.columns, grid.rows))


def listing(heading: str, grid: Grid, *, label: str, noun: str, notes: Sequence[str] = ()) -> ToolResult:
    """Return text and table of a list: a heading, the columns' names, one line for each row that fits."""
    kept = fitted(grid, listed)
    head = f"{heading}\n{' | '.join(kept.columns)}"
    left_out = rows_left_out(len(grid.rows) - len(kept.rows), noun)
    return answer(head, kept, draw=listed, notes=[*left_out, *notes], label=label)


def listed(columns: Sequence[str], row: Sequence[str], position: int) -> str:  # noqa: ARG001
    """Draw a row as one line."""
    return " | ".join(row)


def record(table: str, *, keyed: bool, offset: int) -> Draw:
    """
    Return what draws a row as a line that names it and one indented line for each of its other fields.

    Args:
        table: Name of the table.
        keyed: Whether the first column alone identifies the row; else it is named by its position.
        offset: Rows before the first one.
    """

    def draw(columns: Sequence[str], row: Sequence[str], position: int) -> str:
        name = f"{table}:{row[0]}" if keyed else f"{table} #{offset + position + 1}"
        fields = list(zip(columns, row, strict=True))[keyed:]
        return "\n".join([name, *(f"  {column}: {text}" for column, text in fields)])

    return draw


def number(count: int, noun: str) -> str:
    """Return ``1 row``, ``2 rows``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def fields_left_out(count: int) -> list[str]:
    """Return a note on columns that did not fit, if there are any."""
    if not count:
        return []
    return [f"{number(count, 'further field')} left out for size: ask for the fields you need by name."]


def rows_left_out(count: int, noun: str) -> list[str]:
    """Return a note on rows that did not fit, if there are any."""
    return [f"{number(count, f'further {noun}')} left out for size."] if count else []


def go_on(more: bool, offset: int) -> list[str]:  # noqa: FBT001
    """Return a note on how to read on at `offset`, if there is more."""
    if not more:
        return []
    if offset > MOST_OFFSET:
        return ["More rows follow, beyond what offset reaches: use filters."]
    return [f"More rows follow: go on with offset {offset}."]


def more_values(more: bool) -> list[str]:  # noqa: FBT001
    """Return a note on values beyond the ones shown, if there are any."""
    return ["More values follow: use filters, or a larger limit."] if more else []
