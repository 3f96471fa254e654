"""Answers ``count_by``: how many rows there are of each value of a field."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import islice

from nr_llm.results import ToolResult

from nr_llm_sql import _answers as answers
from nr_llm_sql._cells import formatted
from nr_llm_sql._conditions import TEXTUAL, Condition
from nr_llm_sql._database import Database
from nr_llm_sql._grid import Grid
from nr_llm_sql._query import Count, criteria, names, values
from nr_llm_sql._stops import Unfit


def counts(
    database: Database, name: str, field: str | None, *, conditions: Sequence[Condition], limit: int
) -> ToolResult:
    """
    Return the values of a field and how many rows have each; the most frequent first.

    Args:
        database: The database during this call.
        name: The table.
        field: The field; None for the number of rows alone.
        conditions: What holds of the rows that count.
        limit: Values to show.

    Raises:
        Refused: The table is not permitted.
    """
    opened = database.open(name)
    known = names(opened.table, opened.visible)
    found = criteria(conditions, known)
    column = None if field is None else known.find(field)

    def refused(sentence: str) -> ToolResult:
        return answers.refusal(answers.with_fields(sentence, opened.visible.fields))

    if not opened.visible.fields or (field is not None and column is None):
        return refused(answers.NO_FIELDS)
    if found is None:
        return refused(answers.FILTER_NOT_PERMITTED)
    if any(each.operator in TEXTUAL for each in found):
        return refused(answers.COUNT_NOT_PERMITTED)
    source = opened.table.source
    count = Count(source=source, column=column, criteria=found, limit=limit + 1)
    try:
        with closing(opened.reader.rows(count.statement(opened.forms))) as read:
            rows = tuple(formatted((*values(row[:-1]), row[-1])) for row in islice(read, limit + 1))
    except Unfit:
        return refused(answers.UNFIT)
    if column is None:
        return answers.listing(f"{source.name}: count", Grid(("rows",), rows), label=f"{source.name} count", noun="row")
    if not rows:
        return answers.refusal(answers.NO_ROWS)
    shown = rows[:limit]
    return answers.listing(
        f"{source.name} by {column}: {answers.number(len(shown), 'value')}",
        Grid((column, "rows"), shown),
        label=f"{source.name} by {column}",
        noun="value",
        notes=answers.more_values(len(rows) > len(shown)),
    )
