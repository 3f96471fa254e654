"""Names the tables in the descriptions of the tools that read them: a model that knows them asks for the right one."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence

import attrs
from nr_llm.tools import Tool

from nr_llm_sql._access import Access, visible
from nr_llm_sql._catalogue import Table, sources, table
from nr_llm_sql._connection import connected
from nr_llm_sql._names import fold, folded
from nr_llm_sql._stops import Halt, Missing
from nr_llm_sql.settings import SqlSettings

MOST_TABLES = 30
"""Tables whose fields are looked at; the names of more hardly ever fit."""

SECONDS = 0.2
"""Time that looking for the names may take: whoever lists tools does not wait for a database."""

LOCKED = 0.02
"""Of it, time to wait for another program's lock."""

_PLAIN = re.compile(r"\w{1,64}(?:\.\w{1,64})?")
"""Names that say nothing else: a model obeys the description of a tool, and strangers may have named the fields."""

ROOM = 300
"""Characters of the names in a description: tables with fields, else tables alone, else none."""


def naming(settings: SqlSettings) -> Callable[[Tool], Tool]:
    """
    Return what names the tables in a tool's description.

    Args:
        settings: The host's settings.  Of a SQLite file the permitted tables are looked up, now; of PostgreSQL those
            that the settings name are named, since a server is not asked before the first call.  So are views: what
            a view reads, and whether it may, takes long to tell.
    """
    said = _sentence(_found(settings) or _stated(settings))

    def named(tool: Tool) -> Tool:
        first, *rest = tool.description.split("\n\n")
        return attrs.evolve(tool, description="\n\n".join([f"{first} {said}", *rest])) if said else tool

    return named


def _sentence(tables: Mapping[str, Sequence[str]]) -> str:
    names = ", ".join(tables)
    fields = ", ".join(f"{name} ({', '.join(fields)})" if fields else name for name, fields in tables.items())
    text = next((text for text in (fields, names) if len(text) <= ROOM), "")
    return f"Tables: {text}." if text else ""


def _stated(settings: SqlSettings) -> dict[str, tuple[str, ...]]:
    """Return the tables that the settings name and do not deny."""
    denied = folded(*settings.denied_tables)
    return {name: () for name in settings.tables if _PLAIN.fullmatch(name) and fold(name) not in denied}


def _found(settings: SqlSettings) -> dict[str, tuple[str, ...]]:
    """Return the permitted tables of a SQLite file, their fields that may be seen, and the views that are stated."""
    if settings.database is None:
        return {}
    halt = Halt(lambda: False, time.monotonic() + SECONDS)
    try:
        with connected(attrs.evolve(settings, seconds=min(settings.seconds, LOCKED)), halt) as connection:
            access = Access(settings, sources(connection))
            if len(permitted := access.permitted()) > MOST_TABLES:
                return {}
            stated, found = folded(*settings.tables), dict[str, tuple[str, ...]]()
            for source in permitted:
                if halt.due():
                    return {}
                if _PLAIN.fullmatch(source.name) and (not source.view or fold(source.name) in stated):
                    found[source.name] = () if source.view else _fields(visible(table(connection, source), access))
            return found
    except (Missing, sqlite3.Error, UnicodeDecodeError):  # the first call says what is wrong
        return {}


def _fields(table: Table) -> tuple[str, ...]:
    return tuple(field.name for field in table.fields if _PLAIN.fullmatch(field.name))
