"""Names the tables in the descriptions of the tools that read them: a model that knows them asks for the right one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence

import attrs
from nr_llm.tools import Tool

from nr_llm_sql._access import Access, visible
from nr_llm_sql._catalogue import sources, table
from nr_llm_sql._connection import connected
from nr_llm_sql._names import clear, fold, folded
from nr_llm_sql._stops import Halt, Missing
from nr_llm_sql.settings import SqlSettings

MOST_TABLES = 30
"""Tables whose fields are looked at; the names of more hardly ever fit."""

SECONDS = 0.5
"""Time that looking for the names may take: whoever lists tools does not wait for a database."""

ROOM = 300
"""Characters of the names in a description: tables with fields, else tables alone, else none."""


def naming(settings: SqlSettings) -> Callable[[Tool], Tool]:
    """
    Return what names the tables in a tool's description.

    Args:
        settings: The host's settings.  Of a SQLite file the permitted tables are looked up, now; of PostgreSQL those
            that the settings name are named, since a server is not asked before the first call.
    """
    denied = folded(*settings.denied_tables)
    stated = dict.fromkeys((name for name in settings.tables if clear(name) and fold(name) not in denied), ())
    said = _sentence(_found(settings) or stated)

    def named(tool: Tool) -> Tool:
        first, *rest = tool.description.split("\n\n")
        return attrs.evolve(tool, description="\n\n".join([f"{first} {said}", *rest])) if said else tool

    return named


def _sentence(tables: Mapping[str, Sequence[str]]) -> str:
    names = ", ".join(tables)
    fields = ", ".join(f"{name} ({', '.join(fields)})" if fields else name for name, fields in tables.items())
    text = next((text for text in (fields, names) if len(text) <= ROOM), "")
    return f"Tables: {text}." if text else ""


def _found(settings: SqlSettings) -> dict[str, tuple[str, ...]]:
    """Return the permitted tables of a SQLite file and their fields that may be seen."""
    if settings.database is None:
        return {}
    halt = Halt(lambda: False, time.monotonic() + SECONDS)
    try:
        with connected(attrs.evolve(settings, seconds=min(settings.seconds, SECONDS)), halt) as connection:
            access = Access(settings, sources(connection))
            if len(permitted := access.permitted()) > MOST_TABLES:
                return {}
            tables = [visible(table(connection, source), access) for source in permitted]
    except (Missing, sqlite3.Error, UnicodeDecodeError):  # the first call says what is wrong
        return {}
    return {each.source.name: tuple(field.name for field in each.fields) for each in tables}
