"""Turns what SQLite reports of a write into a sentence that quotes no value, and says whether anything was changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError

from nr_llm_sql._failures import REASONS
from nr_llm_sql._plans import NOTHING
from nr_llm_sql._stops import Halted, Missing
from nr_llm_sql.settings import DATABASE_SETTING, SqlSettings

MISSING_VALUE = "A field that must have a value has none, among those that were not given."
TAKEN = "Another record has a value that no two may have."
NO_SUCH_RECORD = "A field refers to a record that does not exist."
RULE = "A rule of the table does not permit these values."
TRIGGER = "A trigger of the table does not permit this."
MISTYPED = "A value does not fit the type of its field."

_CONSTRAINTS = {
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: MISSING_VALUE,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: TAKEN,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: TAKEN,
    sqlite3.SQLITE_CONSTRAINT_ROWID: TAKEN,
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: NO_SUCH_RECORD,
    sqlite3.SQLITE_CONSTRAINT_CHECK: RULE,
    sqlite3.SQLITE_CONSTRAINT_TRIGGER: TRIGGER,
    3091: MISTYPED,  # SQLITE_CONSTRAINT_DATATYPE, which Python 3.11 has no name for
}
_REASONS = {
    **REASONS,
    sqlite3.SQLITE_READONLY: "The database file cannot be written. Check who may write it and its folder.",
    sqlite3.SQLITE_CANTOPEN: "The database file cannot be opened to write. Check who may write it and its folder.",
    sqlite3.SQLITE_FULL: "There is no room left for the database.",
    sqlite3.SQLITE_TOOBIG: "A value is larger than `value_bytes` in [plugins.sql] permits.",
}
_OTHERWISE = "The database could not be written. The log says more."


@contextmanager
def explained(settings: SqlSettings, context: ToolContext) -> Iterator[None]:
    """
    Run the work of a call that writes and explain what stops it; by then the transaction is undone.

    Raises:
        ToolError: Nothing was written.
        RunCancelledError: The run no longer waits for the call.
    """
    try:
        yield
    except Missing as error:
        context.log.warning("there is no database file at %s", error)
        raise ToolError(
            f"There is no database file where the settings say. Set {DATABASE_SETTING}. {NOTHING}"
        ) from error
    except Halted as error:
        raise halted(settings, context) from error
    except sqlite3.Error as error:
        extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if extended & 0xFF == sqlite3.SQLITE_INTERRUPT:
            raise halted(settings, context) from error
        context.log.warning("SQLite refused to write: %s", getattr(error, "sqlite_errorname", "no code"))
        reason = _CONSTRAINTS.get(extended) or _REASONS.get(extended & 0xFF, _OTHERWISE)
        raise ToolError(f"{reason} {NOTHING}") from None  # what SQLite says quotes names, and a trigger anything
    except UnicodeDecodeError as error:
        context.log.warning("SQLite refused to write, in words that are no UTF-8")
        raise ToolError(f"{_OTHERWISE} {NOTHING}") from error


def halted(settings: SqlSettings, context: ToolContext) -> ToolError:
    """
    Return the error of a call whose time was up before it changed anything.

    Raises:
        RunCancelledError: The run no longer waits for the call.
    """
    context.raise_if_cancelled()
    return ToolError(f"The database did not answer in time ({settings.seconds:g} seconds). {NOTHING}")


def not_created() -> ToolError:
    """Return the error of an INSERT that was swallowed, as a trigger can do."""
    return ToolError(f"The database created no record. {NOTHING}")


def unknown() -> ToolError:
    """Return the error of a commit whose answer was lost."""
    return ToolError(
        "The database was told to write, and its answer was lost: the outcome is unknown. Do not repeat this without"
        " checking whether it was written."
    )


def uncertain(error: sqlite3.Error) -> bool:
    """Return whether a COMMIT that failed so may have written all the same: the disk failed, and not SQLite."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF == sqlite3.SQLITE_IOERR
