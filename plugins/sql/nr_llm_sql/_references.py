"""Says which record a field points to: who reads an order by its number wants the customer's name, not the number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from nr_llm_sql._catalogue import Field
from nr_llm_sql._cells import formatted
from nr_llm_sql._database import Database, Opened
from nr_llm_sql._query import Criterion, Page, names, values
from nr_llm_sql._stops import Refused, Unfit

FEW = 3
"""Records of a page that are followed; a longer page is a list, and its reader wants no more of each."""

MOST_REFERENCES = 4
"""Fields that are followed."""

MOST_SHOWN = 6
"""Fields that are shown of a record that another one points to."""


def followed(
    database: Database, fields: Sequence[Field], columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """
    Return a line for each record that a few records point to: ``customer 3 is customers:3 (name: Ada, city: Kiel)``.

    What may not be seen is not there: the table and fields of such a record are those that a call could read.

    Args:
        database: The database; it is narrowed to other tables.
        fields: The fields of the table that may be seen.
        columns: The fields that are shown.
        rows: The cells of the records that are shown.
    """
    if not 0 < len(rows) <= FEW:
        return []
    pointing = [field for field in fields if field.name in columns and database.reference(field)]
    found = (
        _lines(database, field, list(dict.fromkeys(row[columns.index(field.name)] for row in rows)))
        for field in pointing[:MOST_REFERENCES]
    )
    return [line for lines in found for line in lines]


def _lines(database: Database, field: Field, cells: list[str]) -> list[str]:
    name, column = field.reference or ("", None)
    try:
        target = database.open(name)
        known = names(target.table, target.visible)
        to = known.find(column) if column else next(iter(known.key), None)
        if to is None:
            return []
        rows = list(_rows(target, known.chosen([to, *known.fields.values()])[:MOST_SHOWN], to=to, cells=cells))
    except (Refused, Unfit):
        return []
    source = target.table.source.name
    return [f"{field.name} {at} is {source}:{at} ({', '.join(told)})" for at, told in rows]


def _rows(target: Opened, columns: tuple[str, ...], *, to: str, cells: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield what is pointed to and the fields of it that are shown."""
    page = Page(
        source=target.table.source, columns=columns, criteria=(Criterion(to, "in", cells),), key=(to,), limit=len(cells)
    )
    with closing(target.reader.rows(page.statement(target.forms))) as found:
        for row in map(formatted, map(values, found)):
            named = dict(zip(columns, row, strict=True))
            yield named.pop(to), [f"{name}: {text}" for name, text in named.items()]
