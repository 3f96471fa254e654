"""Says which record a field points to: who reads an order by its number wants the customer's name, not the number."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import sqlalchemy as sa

from nr_llm_sql._catalogue import Field
from nr_llm_sql._cells import formatted, wordless
from nr_llm_sql._database import Database, Opened
from nr_llm_sql._query import Criterion, Page, names, values
from nr_llm_sql._stops import Halted, Refused, Unfit

FEW = 3
"""Records of a page that are followed; a longer page is a list, and its reader wants no more of each."""

MOST_REFERENCES = 4
"""Fields that are followed."""

MOST_SHOWN = 6
"""Fields that are shown of a record that another one points to."""


LONGEST = 80
"""Characters of a field that are shown there."""

ROOM = 2_000
"""Bytes of all lines, which stand behind a page of records that may have used up what an answer may have."""


def followed(
    database: Database, fields: Sequence[Field], columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """
    Return a line for each record that a few records point to: ``customer 3 is customers:3 (name: Ada, city: Kiel)``.

    What may not be seen is not there: the table and fields of such a record are those that a call could read.
    Nor is what fails or takes too long, since the records themselves have been read.

    Args:
        database: The database; it is narrowed to other tables.
        fields: The fields of the table that may be seen.
        columns: The fields that are shown.
        rows: The cells of the records that are shown.
    """
    if not 0 < len(rows) <= FEW:
        return []
    pointing = [field for field in fields if field.name in columns and database.reference(field)]
    lines, room = list[str](), ROOM
    for field in pointing[:MOST_REFERENCES]:
        cells = dict.fromkeys(row[columns.index(field.name)] for row in rows)
        try:
            found = _lines(database, field, [cell for cell in cells if cell != wordless(None)])
        except (Refused, Unfit, Halted, sqlite3.Error, sa.exc.DBAPIError):
            break  # of what has failed in a transaction of PostgreSQL nothing more can be asked
        for line in found:
            room -= len(line.encode()) + 1
            if room >= 0:
                lines.append(line)
    return lines


def _lines(database: Database, field: Field, cells: list[str]) -> list[str]:
    name, column = field.reference or ("", None)
    target = database.open(name)
    known = names(target.table, target.visible)
    key = [each.name for each in target.table.key]
    to = known.find(column or key[0]) if column or len(key) == 1 else None
    if to is None or not cells:
        return []
    columns = tuple(dict.fromkeys((to, *known.chosen(None))))[:MOST_SHOWN]
    rows = list(_rows(target, columns, to=to, cells=cells))
    source = target.table.source.name
    return [f"{field.name} {at} is {source}:{at} ({', '.join(told)})" for at, told in rows if told]


def _rows(target: Opened, columns: tuple[str, ...], *, to: str, cells: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield what is pointed to and the fields of it that are shown; nothing where a part of a key points to several."""
    page = Page(
        source=target.table.source,
        columns=columns,
        criteria=(Criterion(to, "in", cells),),
        key=(to,),
        limit=len(cells) + 1,
    )
    with closing(target.reader.rows(page.statement(target.forms))) as found:
        rows = [dict(zip(columns, formatted(values(row)), strict=True)) for row in found]
    told = {named.pop(to): [f"{name}: {_cut(text)}" for name, text in named.items()] for named in rows}
    if len(told) == len(rows) <= len(cells):
        yield from told.items()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
