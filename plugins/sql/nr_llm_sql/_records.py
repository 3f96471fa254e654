"""Answers ``read_records``: what is asked, checked against what there is, read, drawn."""

from __future__ import annotations

from typing import Any

import attrs
from nr_llm.results import ToolResult

from nr_llm_sql import _answers as answers
from nr_llm_sql._cells import formatted
from nr_llm_sql._grid import ROOM, Grid, fitted
from nr_llm_sql._query import MOST_FIELDS, MOST_OFFSET, Names, Scalar, Select, conditions, names, ordering, values
from nr_llm_sql._session import Opened, Session
from nr_llm_sql.settings import SqlSettings


@attrs.frozen(kw_only=True, eq=False)
class Page:
    """What a call of ``read_records`` asks for, as the model gave it."""

    fields: list[str] | None
    filters: dict[str, Scalar]
    limit: int
    offset: int
    order: str | None


def records(database: Session, name: str, page: Page, *, settings: SqlSettings) -> ToolResult:
    """
    Return one page of records.

    Raises:
        Refused: The table is not permitted.
    """
    opened = database.open(name)
    known = names(opened.table, opened.visible)
    columns = known.chosen(page.fields) if opened.visible.fields else ()
    where = conditions(page.filters, known)
    order = None if page.order is None else ordering(page.order, known)
    if not columns:
        return answers.refusal(answers.with_fields(answers.NO_FIELDS, opened.visible.fields))
    if where is None:
        return answers.refusal(answers.with_fields(answers.FILTER_NOT_PERMITTED, opened.visible.fields))
    if order is None and page.order is not None:
        return answers.refusal(answers.with_fields(answers.ORDER_NOT_PERMITTED, opened.visible.fields))
    select = Select(
        table=opened.table.source.name,
        columns=columns[:MOST_FIELDS],
        where=where,
        order=order,
        key=(*known.key, *known.order),
        limit=min(page.limit if page.limit >= 1 else settings.rows, settings.max_rows),
        offset=min(max(page.offset, 0), MOST_OFFSET),
    )
    return _read(opened, select, known, columns)


def _read(opened: Opened, select: Select, known: Names, columns: tuple[str, ...]) -> ToolResult:
    taken = 0

    def taking(row: tuple[Any, ...]) -> tuple[str, ...] | None:
        nonlocal taken
        if taken > ROOM:
            return None  # it cannot fit any more; that it is there is all that counts
        cells = formatted(values(row))
        taken += sum(map(len, cells))
        return cells

    sql, parameters = select.statement()
    rows = opened.reader.select(sql, parameters, cap=select.limit, row=taking)
    if not rows:
        return answers.refusal(answers.NO_ROWS)
    shown = tuple(row for row in rows[: select.limit] if row is not None)
    draw = answers.record(select.table, keyed=len(known.key) == 1, offset=select.offset)
    kept = fitted(Grid(select.columns, shown), draw)
    heading = f"{select.table}: {answers.number(len(kept.rows), 'row')} from offset {select.offset}"
    notes = [
        *answers.fields_left_out(len(columns) - len(kept.columns)),
        *answers.go_on(len(rows) > len(kept.rows), select.offset + len(kept.rows)),
    ]
    return answers.answer(heading, kept, draw=draw, notes=notes, label=f"{select.table} rows")
