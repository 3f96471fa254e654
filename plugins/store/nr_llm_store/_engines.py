"""Makes the engine of a database: which dialects there are, and how each connection is set up."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from nr_llm.errors import ConfigurationError, StoreError

from nr_llm_store._forks import watch

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

_SCHEMES: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
}
_LEAST_SQLITE: Final = (3, 35)  # RETURNING
_PAUSE: Final = 0.01


@attrs.frozen(kw_only=True)
class Bounds:
    """
    How long a database may keep its caller waiting, in seconds.

    Attributes:
        wait: For locks and connections.
        statement: For one statement (PostgreSQL).
        synchronous: How a commit reaches the disk (SQLite): ``normal`` or ``full``.
    """

    wait: float = 5.0
    statement: float = 30.0
    synchronous: str = "normal"


def address(given: str | Path) -> URL:
    """
    Return the address of a database; what has no ``://`` is the path of a SQLite file.

    Raises:
        ConfigurationError: It is no address, of another database, or of a SQLite database in memory.
    """
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    text = str(given)
    if "://" not in text:
        return URL.create("sqlite+pysqlite", database=str(Path(text).expanduser().absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            "The store's `url` is no address.", remedy="Write postgresql://user@host/database or sqlite:///file.db."
        ) from None  # the cause may show a password
    if url.drivername not in _SCHEMES:
        raise ConfigurationError(
            f"The store's `url` is of {url.drivername}, and runs are kept in SQLite or PostgreSQL.",
            remedy="Write postgresql://user@host/database or sqlite:///file.db.",
        )
    if url.get_backend_name() == "sqlite" and (not url.database or ":memory:" in url.database):
        raise ConfigurationError(
            "The store's `url` is a SQLite database in memory.", remedy="Name a file, or use nr_llm.stores.MemoryStore."
        )
    return url.set(drivername=_SCHEMES[url.drivername])


def named(url: URL) -> str:
    """Return how errors name a database: never its user, password or options."""
    if url.get_backend_name() == "sqlite":
        return f"The store {url.database}"
    return f"The store {url.database or ''} on {url.host or 'the local server'}"


def engine_for(url: URL, bounds: Bounds) -> Engine:
    """
    Return an engine that connects when it is first used.

    Raises:
        ConfigurationError: The driver is not installed.
    """
    from sqlalchemy import create_engine, event

    sqlite = url.get_backend_name() == "sqlite"
    options: dict[str, Any] = {"pool_use_lifo": True, "pool_timeout": bounds.wait, "max_overflow": 20}
    if sqlite:
        options |= {"connect_args": {"timeout": bounds.wait}}
    else:
        connecting = max(2, round(bounds.wait))  # libpq takes whole seconds, and 1 for 2
        options |= {"pool_pre_ping": True, "connect_args": {"connect_timeout": connecting}}
    try:
        engine = create_engine(url, **options)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "The store's `url` is of PostgreSQL, and its driver is missing.",
            remedy='Install it with: pip install "nr-llm-store[postgresql]"',
        ) from error
    event.listen(engine, "connect", _sqlite(bounds) if sqlite else _postgresql(bounds))
    return engine


class _Making:
    """Lets one thread at a time create a file."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def before_fork(self) -> None:
        """Have no other thread hold the lock, which the child could not release."""
        self.lock.acquire()

    def after_fork(self) -> None:
        """Go on, in the parent."""
        self.lock.release()

    in_child = after_fork


_MAKING: Final = _Making()
watch(_MAKING)


def _sqlite(bounds: Bounds) -> Any:
    def prepare(connection: Any, _: Any) -> None:
        _log_ahead(connection, bounds.wait)
        # With a log written ahead, NORMAL loses no commit when a process dies, and never damages the file; the last
        # commits before a power failure may be missing.
        connection.execute(f"PRAGMA synchronous = {'FULL' if bounds.synchronous == 'full' else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what a run no longer needs is overwritten, not unlinked

    return prepare


def _log_ahead(connection: Any, wait: float) -> None:
    """Switch a file to WAL, which SQLite refuses at once, without waiting, while another process does."""
    deadline = time.monotonic() + wait
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except Exception as error:
            busy = str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def _postgresql(bounds: Bounds) -> Any:
    settings = {
        "application_name": "nr-llm",
        "statement_timeout": f"{round(bounds.statement * 1000)}ms",
        "lock_timeout": f"{round(bounds.wait * 1000)}ms",
        "idle_in_transaction_session_timeout": f"{round(2 * bounds.statement * 1000)}ms",
    }
    text = "SELECT " + ", ".join(f"set_config('{name}', %({name})s, false)" for name in settings)

    def prepare(connection: Any, _: Any) -> None:
        connection.execute(text, settings)
        connection.commit()

    return prepare


def make_file(path: Path) -> None:
    """
    Create an empty file for a database that only its owner may read, and its folder; what is there stays as it is.

    SQLite gives its log the permissions of the file. A file that is there is not opened: to close it would take the
    locks from the connections that this process has to it, and another process would remove the log under them.

    Raises:
        StoreError: It cannot be created, or this Python's SQLite is too old.
    """
    import sqlite3

    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        least = ".".join(map(str, _LEAST_SQLITE))
        raise StoreError(f"This Python has SQLite {sqlite3.sqlite_version}, and runs are kept from {least} on.")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # No thread connects to a file that another has yet to close.
        with _MAKING.lock, suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StoreError(
            f"The store {path} cannot be created: {error.strerror}. Name another file by the store's setting path "
            "(NR_LLM_STORE_PATH), another folder by NR_LLM_HOME, or keep nothing (--no-store)."
        ) from error
