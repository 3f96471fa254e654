"""Makes the tables, brings older ones up to date, and refuses those of a newer version."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nr_llm.errors import StoreError
from sqlalchemy import Connection, insert, inspect, select, text

from nr_llm_store._database import Database
from nr_llm_store._faults import UPGRADE
from nr_llm_store._tables import METADATA, REVISIONS, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD: Final = REVISIONS[-1]
MIGRATIONS: Final = Path(__file__).parent / "migrations"

_LOCK: Final = 0x6E725F6C6C6D  # any number that others are unlikely to lock: "nr_llm"


def prepare(database: Database) -> None:
    """
    Make sure that the tables are those of this version.

    A SQLite file is made or brought up to date; what others depend on, a server's database, is only checked.

    Raises:
        StoreError: They are not, and the text says what to do.
    """
    found = current(database)
    if found == HEAD:
        return
    _refuse_newer(database, found)
    if database.sqlite:
        upgrade(database)
    else:
        what = "has no tables yet" if found is None else f"is of the older revision {found}"
        raise StoreError(f"{database.place} {what}. Run: {UPGRADE}")


def current(database: Database) -> str | None:
    """Return the revision of the tables, or None if there are none."""
    with database.connected() as connection:
        return _revision(connection)


def upgrade(database: Database) -> str:
    """
    Make the tables, or bring them up to date; several processes may do it at once.

    Returns:
        The revision they have now.

    Raises:
        StoreError: They are of a newer version, or it could not be done; then nothing has changed.
    """
    with _alone(database) as connection:
        found = _revision(connection)
        _refuse_newer(database, found)
        if found is None:
            METADATA.create_all(connection)
            connection.execute(insert(VERSION).values(version_num=HEAD))
        elif found != HEAD:
            migrate(connection)
    return HEAD


def migrate(connection: Connection, *, to: str = "head") -> None:
    """Bring tables to a revision, in the transaction of a connection; imports Alembic, which takes most of a second."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, to)


@contextmanager
def _alone(database: Database) -> Iterator[Connection]:
    """Lend a connection for a transaction that no other process changes tables beside."""
    with database.connected() as connection:
        if database.sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield connection


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION.name):
        return None
    found: Any = connection.execute(select(VERSION.c.version_num)).scalar()
    return None if found is None else str(found)


def _refuse_newer(database: Database, found: str | None) -> None:
    if found is not None and found not in REVISIONS:
        raise StoreError(
            f"{database.place} is of revision {found}, which a newer nr-llm-store made; this one knows {HEAD}. "
            "Run: pip install --upgrade nr-llm-store"
        )
