"""Opens PostgreSQL so that a statement is one statement, that it only reads, and that it comes to an end."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import attrs
import psycopg
import sqlalchemy as sa
from nr_llm.cancellation import Cancellation
from nr_llm.secrets import Secret
from psycopg.adapt import Loader
from sqlalchemy.pool import NullPool

from nr_llm_sql._database import Rows
from nr_llm_sql._postgres.failures import stopped
from nr_llm_sql._stops import Halt, Halted
from nr_llm_sql.settings import SqlSettings

LOCK_SECONDS = 1.0
"""Time to wait for another program's lock, within the call's own time."""

IDLE_SECONDS = 30.0
"""Time after which the server ends a transaction whose reader has gone."""

BUFFERED_ROWS = 8
"""Rows that are fetched at once: each is at most some megabytes, and one at a time is held in full."""

_CONNECT_SECONDS = 10.0
_CANCEL_SECONDS = 5.0
_TRANSACTION_TIMEOUT = 170_000
"""The server's version that knows `transaction_timeout`."""

_FIXED = {
    # Our own names are complete; operators and functions are the system's, and a temporary table hides nothing.
    "search_path": "pg_catalog, pg_temp",
    "row_security": "on",
    "client_min_messages": "error",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
}


class _Text(Loader):
    """Reads text of any encoding: a database without one holds any bytes."""

    def load(self, data: Any) -> str:
        return bytes(data).decode(errors="replace")


@contextmanager
def connected(settings: SqlSettings, halt: Halt, cancelled: Cancellation) -> Iterator[sa.Connection]:
    """
    Open the database for reading, in a transaction that is always rolled back.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: It cannot be reached.
    """
    assert settings.url is not None
    with _connected(_engine(settings.url, settings.seconds, read_only=True), halt, cancelled) as connection:
        yield connection


@contextmanager
def connected_to_write(settings: SqlSettings, halt: Halt, cancelled: Cancellation) -> Iterator[sa.Connection]:
    """
    Open the database for one transaction that writes; what is not committed by then is rolled back.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: It cannot be reached.
    """
    assert settings.write_url is not None
    with _connected(_engine(settings.write_url, settings.seconds, read_only=False), halt, cancelled) as connection:
        yield connection


@contextmanager
def _connected(engine: sa.Engine, halt: Halt, cancelled: Cancellation) -> Iterator[sa.Connection]:
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        forget = cancelled.on_cancel(lambda: _cancel(driver))
        try:
            read_only = {"transaction_read_only": "on" if driver.read_only else "off"}
            _set(connection, read_only | _FIXED | _encoding(driver) | _times(halt, driver.info.server_version))
            yield connection
        finally:
            forget()


@lru_cache(maxsize=8)
def _engine(url: Secret, seconds: float, *, read_only: bool) -> sa.Engine:
    """Return what opens connections; it holds none, so that a call leaves none behind."""
    try:
        address = sa.make_url(url.reveal()).set(drivername="postgresql+psycopg")
    except ValueError:  # a port that is no number; the error quotes it
        raise sa.exc.ArgumentError("the address cannot be read") from None
    options = {
        "client_encoding": "utf8",
        "connect_timeout": math.ceil(min(max(seconds, 2.0), _CONNECT_SECONDS)),
        "application_name": "nr-llm-sql",
        "tcp_user_timeout": math.ceil((seconds + _CONNECT_SECONDS) * 1_000),
        "prepare_threshold": None,  # nothing is left on a connection that a pooler gives to the next one
    }
    engine = sa.create_engine(
        address, connect_args=options, poolclass=NullPool, hide_parameters=True, use_native_hstore=False
    )

    def prepared(driver: psycopg.Connection[Any], _: object) -> None:
        _prepare(driver)
        driver.read_only = read_only

    sa.event.listen(engine, "connect", prepared)
    return engine


def _prepare(driver: psycopg.Connection[Any]) -> None:
    driver.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # what is checked is what is read
    for kind in ("text", "name"):
        driver.adapters.register_loader(kind, _Text)


def _encoding(driver: psycopg.Connection[Any]) -> dict[str, str]:
    """Return the setting with which a database that has no encoding gives out its bytes as they are."""
    bare = driver.info.parameter_status("server_encoding") == "SQL_ASCII"
    return {"client_encoding": "SQL_ASCII"} if bare else {}


def _times(halt: Halt, version: int) -> dict[str, str]:
    times = {
        "statement_timeout": halt.left(),
        "lock_timeout": min(LOCK_SECONDS, halt.left()),
        "idle_in_transaction_session_timeout": IDLE_SECONDS,
    }
    if version >= _TRANSACTION_TIMEOUT:
        times["transaction_timeout"] = halt.left() + IDLE_SECONDS
    return {name: _milliseconds(seconds) for name, seconds in times.items()}


def _milliseconds(seconds: float) -> str:
    return str(max(1, math.ceil(seconds * 1_000)))  # none at all would mean for ever


def _set(connection: sa.Connection, settings: dict[str, str]) -> None:
    # Values travel beside every statement of ours: with parameters there is no simple query, which could hold two.
    one = sa.func.pg_catalog.set_config
    connection.execute(sa.select(*(one(name, value, True).label(name) for name, value in settings.items())))


def _cancel(driver: psycopg.Connection[Any]) -> None:
    """Ask the server to stop, from a thread that nobody waits for: whoever cancels a run has more to do."""

    def ask() -> None:
        with suppress(psycopg.Error):
            driver.cancel_safe(timeout=_CANCEL_SECONDS)

    threading.Thread(target=ask, name="nr-llm-sql-cancel", daemon=True).start()


@attrs.frozen(eq=False)
class PostgresReader:
    """
    Runs statements through a cursor of the server, which takes one that reads and no other.

    Args:
        connection: The connection.
        halt: Says when to stop.
        share: The part of the time that is left which one statement may take.
    """

    connection: sa.Connection
    halt: Halt
    share: float = 1.0

    def rows(self, statement: sa.Executable) -> Rows:
        """Run one statement and yield its rows, each as it is read."""
        if self.halt.due():
            raise Halted
        options = {"stream_results": True, "max_row_buffer": BUFFERED_ROWS}
        try:
            _set(self.connection, {"statement_timeout": _milliseconds(self.halt.left() * self.share)})
            with self.connection.execute(statement, execution_options=options) as result:
                for row in result:
                    if self.halt.due():
                        raise Halted
                    yield tuple(row)
        except sa.exc.DBAPIError as error:
            raise stopped(error) from None
