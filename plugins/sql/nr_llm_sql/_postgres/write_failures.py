"""Turns what PostgreSQL reports of a write into a sentence that quotes no value, and says whether anything changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import sqlalchemy as sa
from nr_llm.contexts import ToolContext
from nr_llm.errors import ToolError

from nr_llm_sql._plans import NOTHING
from nr_llm_sql._postgres.failures import HALTED, code_of, unreachable
from nr_llm_sql._stops import Halted
from nr_llm_sql._write_failures import (
    MISSING_VALUE,
    MISTYPED,
    NO_SUCH_RECORD,
    RULE,
    TAKEN,
    TRIGGER,
    halted,
)
from nr_llm_sql.settings import WRITE_URL_SETTING, SqlSettings

_AT_ONCE = "Somebody else changed the record at the same time. Read it again before you write."

# Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html
_REASONS: Mapping[str, str] = {
    "23502": MISSING_VALUE,
    "23505": TAKEN,
    "23503": NO_SUCH_RECORD,
    "23001": NO_SUCH_RECORD,
    "23514": RULE,
    "23P01": TAKEN,
    "44000": RULE,
    "428C9": "A field is computed by the database and cannot be written.",
    "P0001": TRIGGER,
    "40001": _AT_ONCE,
    "40P01": _AT_ONCE,
    "55P03": "The record is locked by another program. Try again later.",
    "42501": f"The role of the database may not write this. Grant it to the one of {WRITE_URL_SETTING}.",
    "25006": f"The database takes no writes. Check {WRITE_URL_SETTING}.",
    "53100": "There is no room left for the database.",
    "53300": "The database has no connection left. Try again later.",
}
_UNREACHABLE = f"The database cannot be reached, or it refuses the login. Check {WRITE_URL_SETTING}."
_OTHERWISE = "The database could not be written. The log says more."
_LOST = ("08", "57P")


def lost(error: sa.exc.DBAPIError) -> bool:
    """Return whether a COMMIT that failed so may have been made: the server did not say that it was not."""
    code = code_of(error)
    return not code or code.startswith(_LOST)


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
    except Halted:
        raise halted(settings, context) from None
    except sa.exc.DBAPIError as error:
        code = code_of(error)
        if code in HALTED:
            raise halted(settings, context) from None
        context.log.warning("PostgreSQL refused to write: %s %s", type(error.orig).__name__, code or "without a code")
        raise ToolError(f"{_reason(error, code)} {NOTHING}") from None
    except sa.exc.ArgumentError:
        raise ToolError(f"The address of the database cannot be read. Check {WRITE_URL_SETTING}. {NOTHING}") from None


def _reason(error: sa.exc.DBAPIError, code: str) -> str:
    if unreachable(error):
        return _UNREACHABLE
    return MISTYPED if code.startswith("22") else _REASONS.get(code, _OTHERWISE)
