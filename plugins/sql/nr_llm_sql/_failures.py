"""Turns what SQLite reports into a sentence that says what to do and gives nothing away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError

from nr_llm_sql._stops import Halted, Missing
from nr_llm_sql.settings import DATABASE_SETTING, SqlSettings

REASONS = {
    sqlite3.SQLITE_BUSY: "The database is locked by another program. Try again later.",
    sqlite3.SQLITE_LOCKED: "The database is locked by another program. Try again later.",
    sqlite3.SQLITE_NOTADB: f"The file is not a SQLite database. Set {DATABASE_SETTING} to one.",
    sqlite3.SQLITE_CORRUPT: "The database file is damaged. Restore it from a backup.",
    sqlite3.SQLITE_CANTOPEN: (
        "The database file cannot be opened. Check who may read it and its folder; for a copy that never changes"
        " set `snapshot = true` in [plugins.sql]."
    ),
    sqlite3.SQLITE_TOOBIG: (
        "A value is larger than may be read. Ask for other fields or rows, or raise `value_bytes` in [plugins.sql]."
    ),
}
_OTHERWISE = "The database could not be read. The log says more."


@contextmanager
def explained(settings: SqlSettings, context: ToolContext) -> Iterator[None]:
    """
    Run a call's work and explain what stops it.

    Raises:
        ToolError: The database could not be read, or not in time.
        RunCancelledError: The run no longer waits for the call.
    """
    try:
        yield
    except Missing as error:
        context.log.warning("there is no database file at %s", error)
        raise ToolError(_missing(settings)) from error
    except Halted as error:
        raise halted(settings, context) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            raise halted(settings, context) from error
        context.log.warning("SQLite refused to read: %s", getattr(error, "sqlite_errorname", "no code"))
        raise ToolError(REASONS.get(code, _OTHERWISE)) from error
    except UnicodeDecodeError as error:  # what SQLite reports quotes a name that is no UTF-8
        context.log.warning("SQLite refused to read, in words that are no UTF-8")
        raise ToolError(_OTHERWISE) from error


def _missing(settings: SqlSettings) -> str:
    if settings.database is None:
        return f"No database is configured. Set {DATABASE_SETTING} to a SQLite file."
    return f"There is no database file where the settings say. Set {DATABASE_SETTING} to an existing SQLite file."


def halted(settings: SqlSettings, context: ToolContext) -> ToolError:
    """
    Return the error of a call whose time is up.

    Raises:
        RunCancelledError: The run no longer waits for the call.
    """
    context.raise_if_cancelled()
    return ToolError(
        f"The database did not answer in time ({settings.seconds:g} seconds). Ask for fewer rows, filter on an"
        " indexed field, or leave out the order."
    )
