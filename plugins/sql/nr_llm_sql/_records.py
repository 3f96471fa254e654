"""Answers ``read_records`` and ``search_records``: what is asked, checked against what there is, read, drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import TypeAlias

import attrs
from nr_llm.results import ToolResult

from nr_llm_sql import _answers as answers
from nr_llm_sql._cells import Value, formatted, line, seen
from nr_llm_sql._conditions import TEXTUAL, Ask
from nr_llm_sql._database import Database, Opened, Rows
from nr_llm_sql._grid import ROOM, Grid, fitted
from nr_llm_sql._limits import MOST_CANDIDATES, MOST_FIELDS, MOST_OFFSET
from nr_llm_sql._query import Criterion, Names, Page, criteria, names, ordering, values
from nr_llm_sql._references import followed
from nr_llm_sql._stops import Unfit
from nr_llm_sql.settings import SqlSettings

Cells: TypeAlias = tuple[str, ...]


@attrs.frozen
class Look:
    """A text that one of some columns has to show; what is masked there is not found."""

    columns: tuple[str, ...]
    text: str
    start: bool = False

    def finds(self, row: dict[str, Value]) -> bool:
        """Return whether one of the cells shows the text."""
        wanted = line(self.text).casefold()
        texts = (seen(value).casefold() for name in self.columns if isinstance(value := row[name], str))
        return any(text.startswith(wanted) if self.start else wanted in text for text in texts)


def records(database: Database, name: str, ask: Ask, *, settings: SqlSettings) -> ToolResult:
    """
    Return one page of records.

    Raises:
        Refused: The table is not permitted.
    """
    opened = database.open(name)
    known = names(opened.table, opened.visible)
    columns = known.chosen(ask.fields) if opened.visible.fields else ()
    found = criteria(ask.conditions, known)
    order = None if ask.order is None else ordering(ask.order, known)
    among = tuple(field.name for field in opened.visible.fields if field.textual)[:MOST_FIELDS] if ask.text else ()

    def refused(sentence: str) -> ToolResult:
        return answers.refusal(answers.with_fields(sentence, opened.visible.fields))

    if not columns:
        return refused(answers.NO_FIELDS)
    if found is None:
        return refused(answers.FILTER_NOT_PERMITTED)
    if order is None and ask.order is not None:
        return refused(answers.ORDER_NOT_PERMITTED)
    if ask.text and not among:
        return refused(answers.NO_TEXTS)
    page = Page(
        source=opened.table.source,
        columns=columns[:MOST_FIELDS],
        criteria=found,
        anywhere=ask.text,
        among=among,
        order=order,
        key=(*known.key, *known.order),
        limit=page_size(ask.limit, settings),
        offset=min(max(ask.offset, 0), MOST_OFFSET),
    )
    try:
        return _answered(database, opened, page, known, left_out=len(columns) - len(page.columns))
    except Unfit:
        return refused(answers.UNFIT)


def page_size(limit: int, settings: SqlSettings) -> int:
    """Return the rows to show of the number a model asks for."""
    return min(limit if limit >= 1 else settings.rows, settings.max_rows)


def _answered(database: Database, opened: Opened, page: Page, known: Names, *, left_out: int) -> ToolResult:
    looks = [Look((each.column,), each.value, each.operator != "contains") for each in page.criteria if _looks(each)]
    if page.anywhere:
        looks.append(Look(page.among, page.anywhere))
    rows, ended = _searched(opened, page, looks) if looks else (_read(opened, page), False)
    if not rows:
        return answers.refusal(answers.SEARCH_ON if ended else answers.NO_ROWS)
    shown = tuple(row for row in rows[: page.limit] if row is not None)
    draw = answers.record(page.source.name, keyed=len(known.key) == 1, offset=page.offset)
    kept = fitted(Grid(page.columns, shown), draw)
    heading = f"{page.source.name}: {answers.number(len(kept.rows), 'row')} from offset {page.offset}"
    more = len(rows) > len(kept.rows)
    notes = [
        *followed(database, opened.visible.fields, kept.columns, kept.rows),
        *answers.fields_left_out(left_out + len(page.columns) - len(kept.columns)),
        *answers.go_on(more, page.offset + len(kept.rows)),
        *([answers.SEARCH_ON] if ended and not more else []),
    ]
    return answers.answer(heading, kept, draw=draw, notes=notes, label=f"{page.source.name} rows")


def _looks(criterion: Criterion) -> bool:
    return criterion.operator in TEXTUAL


def _read(opened: Opened, page: Page) -> list[Cells | None]:
    """Return the rows of the page and one more, if there is one."""
    statement = attrs.evolve(page, limit=page.limit + 1).statement(opened.forms)
    with closing(opened.reader.rows(statement)) as found:
        return _formatted(map(values, found))


def _searched(opened: Opened, page: Page, looks: Sequence[Look]) -> tuple[list[Cells | None], bool]:
    """
    Return the rows of the page and one more, of those that show what was searched for.

    Rows are skipped here and not by the database: the number of those that it finds and nobody may see would tell,
    guess by guess, what is masked in them.

    Returns:
        The rows, and whether the search ended before the last candidate.
    """
    width = len(page.columns)
    columns = tuple(dict.fromkeys((*page.columns, *(name for look in looks for name in look.columns))))
    wide = attrs.evolve(page, columns=columns, limit=MOST_CANDIDATES + 1, offset=0)
    seen_rows = 0

    def shown(found: Rows) -> Iterator[tuple[Value, ...]]:
        nonlocal seen_rows
        for seen_rows, raw in enumerate(found, start=1):
            row = values(raw)
            named = dict(zip(columns, row, strict=True))
            if seen_rows <= MOST_CANDIDATES and all(look.finds(named) for look in looks):
                yield row[:width]

    with closing(opened.reader.rows(wide.statement(opened.forms))) as found:
        rows = _formatted(islice(shown(found), page.offset, page.offset + page.limit + 1))
    return rows, seen_rows > MOST_CANDIDATES


def _formatted(rows: Iterator[tuple[Value, ...]]) -> list[Cells | None]:
    """Return the cells of each row, or None for one that cannot fit any more: that it is there is all that counts."""
    taken, found = 0, list[Cells | None]()
    for row in rows:
        cells = formatted(row) if taken <= ROOM else None
        taken += sum(map(len, cells or ()))
        found.append(cells)
    return found
