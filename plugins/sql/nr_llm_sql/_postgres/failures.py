"""Turns what PostgreSQL reports into a sentence that says what to do and gives nothing away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError

from nr_llm_sql._failures import halted
from nr_llm_sql._stops import Halted, Refused, Unfit
from nr_llm_sql.settings import URL_SETTING, SqlSettings

# Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html
HALTED = frozenset({"57014", "25P04"})
"""Codes of what ends because we or the server's clock asked for it."""

_REFUSED = frozenset({"25006", "42501", "42P01", "3F000"})
_UNFIT = frozenset({"42804", "42883", "42725", "42846", "42P18", "42P22", "42P21"})
_UNFIT_CLASS = "22"

_LOCKED = "The database is locked by another program. Try again later."
_REASONS = {
    "55P03": _LOCKED,
    "40P01": _LOCKED,
    "53300": "The database has no connection left. Try again later.",
    "54000": "The database cannot read so much at once. Ask for other fields or fewer rows.",
}
_UNREACHABLE = f"The database cannot be reached, or it refuses the login. Check {URL_SETTING}."
_OTHERWISE = "The database could not be read. The log says more."


def stopped(error: sa.exc.DBAPIError) -> Exception:
    """Return why a statement ended: a reason of ours, or `error` itself."""
    code = code_of(error)
    if code in HALTED:
        return Halted()
    if code in _REFUSED:
        return Refused(f"the server refuses with code {code}")
    unsent = code == "" and isinstance(error.orig, psycopg.DataError)  # such as a NUL, which no text can hold
    return Unfit() if unsent or code in _UNFIT or code.startswith(_UNFIT_CLASS) else error


def code_of(error: sa.exc.DBAPIError) -> str:
    """Return the server's code of an error; empty if it did not say one."""
    return getattr(error.orig, "sqlstate", None) or ""


@contextmanager
def explained(settings: SqlSettings, context: ToolContext) -> Iterator[None]:
    """
    Run a call's work and explain what stops it.

    What the driver says may hold the address and is kept from the log, too: only its code gets there.

    Raises:
        ToolError: The database could not be read, or not in time.
        RunCancelledError: The run no longer waits for the call.
    """
    try:
        yield
    except Halted:
        raise halted(settings, context) from None
    except sa.exc.DBAPIError as error:
        code = code_of(error)
        if code in HALTED:
            raise halted(settings, context) from None
        context.log.warning("PostgreSQL refused to read: %s %s", type(error.orig).__name__, code or "without a code")
        raise ToolError(_reason(error, code)) from None
    except sa.exc.ArgumentError:
        raise ToolError(f"The address of the database cannot be read. Check {URL_SETTING}.") from None


def unreachable(error: sa.exc.DBAPIError) -> bool:
    """Return whether no server was there to ask, or it let nobody in."""
    code = code_of(error)
    return code.startswith(("08", "28", "57P", "3D")) or (not code and not isinstance(error.orig, psycopg.DataError))


def _reason(error: sa.exc.DBAPIError, code: str) -> str:
    return _UNREACHABLE if unreachable(error) else _REASONS.get(code, _OTHERWISE)
