"""Says what went wrong with a database in words that lead to what to do, and never what was being stored."""

from __future__ import annotations

from typing import Final

from nr_llm.errors import StoreError

UPGRADE: Final = "nr-llm db upgrade"

_SQLITE: Final = {
    "SQLITE_BUSY": "another process is writing for longer than `wait_seconds`",
    "SQLITE_CANTOPEN": "it cannot be opened: check that its folder exists and may be written",
    "SQLITE_CORRUPT": "the file is damaged: restore it from a backup",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk cannot be read or written",
    "SQLITE_LOCKED": "another process is writing for longer than `wait_seconds`",
    "SQLITE_NOTADB": "the file is no SQLite database: name another in `path`",
    "SQLITE_PERM": "the file may not be read and written: check its permissions",
    "SQLITE_READONLY": "the file may not be written: check its permissions and those of its folder",
    "SQLITE_CONSTRAINT": "a row of that number is there already: somebody else writes the same run",
}

# By the beginning of an SQLSTATE; the longest that fits counts.
_POSTGRES: Final = {
    "08": "the connection broke",
    "23": "a row of that number is there already: somebody else writes the same run",
    "25006": "it may only be read: connect to the primary server",
    "28": "the server does not accept the user or the password",
    "3D": "there is no such database: create it first",
    "3F": f"its tables are missing: run `{UPGRADE}`",
    "42501": "the role may not do that: grant it the tables nr_llm_*",
    "42P01": f"its tables are missing: run `{UPGRADE}`",
    "53100": "the server's disk is full",
    "54000": "a name is too long for the server: names of runs and actors have at most some 2,000 bytes",
    "53300": "the server has no connection left",
    "55P03": "another process holds the row for longer than `wait_seconds`",
    "57014": "the statement took longer than `statement_seconds`",
    "57P": "the server is shutting down or starting",
}


def fault(error: BaseException, place: str) -> StoreError:
    """
    Return a store error for what a driver or SQLAlchemy raised.

    Args:
        error: What was raised.
        place: Which database, for people.
    """
    original = getattr(error, "orig", None) or error
    return StoreError(f"{place}: {_why(original)} ({_code(original)}).")


def _why(error: BaseException) -> str:
    name = getattr(error, "sqlite_errorname", None)
    if isinstance(name, str):
        return next((text for known, text in _SQLITE.items() if name.startswith(known)), "SQLite failed")
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        fits = [start for start in _POSTGRES if state.startswith(start)]
        return _POSTGRES[max(fits, key=len)] if fits else "the server refused a statement"
    return "it cannot be reached or used"


def _code(error: BaseException) -> str:
    code = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)
    return f"{type(error).__name__}, {code}" if isinstance(code, str) else type(error).__name__
