"""What goes wrong with a database is said in words that lead to what to do, and leaves no half of a change."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from nr_llm.errors import ConfigurationError, StoreError
from nr_llm.records import RunTotals, TranscriptEntry
from nr_llm.secrets import Secret
from nr_llm_store import SqlStore
from nr_llm_store._engines import Bounds, address
from nr_llm_store._faults import fault

from tests.plugins.store.conftest import Make
from tests.plugins.store.runs import begun, change, live, step
from tests.postgres import PostgresServer


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Folder, file and log are for nobody else, whatever the process's mask lets through."""
    before = os.umask(0)
    try:
        store = begun(SqlStore(tmp_path / "new" / "runs.db"))
    finally:
        os.umask(before)

    found = {path.name: mode(path) for path in (tmp_path / "new").iterdir()}
    assert mode(tmp_path / "new") == 0o700
    assert found == {"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600}
    store.close()


def test_a_file_that_is_there_keeps_its_permissions(tmp_path: Path) -> None:
    """Somebody who lets a group read the runs is not overruled."""
    path = tmp_path / "runs.db"
    path.touch()
    path.chmod(0o640)

    begun(SqlStore(path)).close()

    assert mode(path) == 0o640


def test_the_log_is_written_ahead(tmp_path: Path) -> None:
    """The file is in WAL mode, and a commit waits for the disk only where that is wished."""
    for name, number in (("normal", 1), ("full", 2)):
        store = begun(SqlStore(tmp_path / f"{name}.db", bounds=Bounds(synchronous=name)))
        with store._database.reading() as session:
            session._cursor.execute("PRAGMA journal_mode")
            assert session._cursor.fetchone() == ("wal",)
            session._cursor.execute("PRAGMA synchronous")
            assert session._cursor.fetchone() == (number,)
        store.close()


def test_a_file_that_another_process_holds_as_it_is_made(tmp_path: Path) -> None:
    """The change to WAL waits for whoever holds the file, so long and no longer."""
    with closing(sqlite3.connect(tmp_path / "runs.db", check_same_thread=False)) as other:
        other.executescript("CREATE TABLE theirs (x); BEGIN EXCLUSIVE;")
        with pytest.raises(StoreError, match="another process is writing"):
            SqlStore(tmp_path / "runs.db", bounds=Bounds(wait=0.02)).run("r1")
        threading.Timer(0.05, other.rollback).start()
        store = SqlStore(tmp_path / "runs.db", bounds=Bounds(wait=60))
        assert store.run("r1") is None
        store.close()


def test_a_python_with_an_old_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told which is needed."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))

    with pytest.raises(StoreError, match=r"runs are kept from 3\.35 on"):
        SqlStore(tmp_path / "runs.db").run("r1")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """The error names the file, what the system said, and the ways round."""
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=r"file/runs.db cannot be created: .*NR_LLM_STORE_PATH.*--no-store"):
        SqlStore(tmp_path / "file" / "runs.db").run("r1")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """It is left as it was."""
    path = tmp_path / "notes.txt"
    path.write_text("these are notes " * 100, encoding="utf-8")

    with pytest.raises(StoreError, match="no SQLite database: name another in `path`"):
        SqlStore(path).run("r1")

    assert path.read_text(encoding="utf-8") == "these are notes " * 100


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    """A write says that permissions are at fault, and so does SQLite for the store."""
    store = begun(SqlStore(tmp_path / "runs.db"))
    with store._database.reading() as session:
        session._cursor.execute("PRAGMA query_only = ON")  # as of a file that may only be read; root may write any
    with pytest.raises(StoreError, match=r"may not be written: check its permissions .*SQLITE_READONLY"):
        store.write(step(0))
    store.close()


def test_a_disk_that_is_full_leaves_no_half(tmp_path: Path) -> None:
    """A change that does not fit leaves the run as it was, and the next one that fits applies."""
    store = begun(SqlStore(tmp_path / "runs.db"))
    before = store.run("r1")
    with store._database.reading() as session:
        session._cursor.execute("PRAGMA page_count")
        [pages] = session._cursor.fetchone()
        session._cursor.execute(f"PRAGMA max_page_count = {pages + 2}")
    large = TranscriptEntry("x" * 1_000_000)
    with pytest.raises(StoreError, match=r"the disk is full .*SQLITE_FULL"):
        store.write(step(0, transcript=(large,), totals=RunTotals(rounds=9)))

    assert store.run("r1") == before
    assert not store.steps("r1")
    assert store.write(step(0)).applied
    store.close()


def test_a_writer_that_does_not_end(tmp_path: Path) -> None:
    """A write waits for another process's so long and no longer, and says so."""
    store = begun(SqlStore(tmp_path / "runs.db", bounds=Bounds(wait=0.05)))
    with closing(sqlite3.connect(tmp_path / "runs.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another process is writing .*`wait_seconds`"):
            store.write(step(0))
        other.rollback()
    assert store.write(step(0)).applied
    store.close()


def test_a_thread_that_never_gives_the_file_back(tmp_path: Path) -> None:
    """The others of its process are told in the end, rather than standing in line for ever."""
    store = SqlStore(tmp_path / "runs.db", bounds=Bounds(wait=0.01))
    begun(store)
    with store._database.writing(), pytest.raises(StoreError, match="other threads are writing for longer"):
        store.write(step(0))

    assert store.write(step(0)).applied


def test_a_name_that_is_too_long_for_the_server(make: Make, request: pytest.FixtureRequest) -> None:
    """It is said, on the server, which has a bound; a file has none."""
    store, name = make(), os.urandom(4_000).hex()
    if "sqlite" in request.node.name:
        begun(store, name)
        assert store.run(name) is not None
    else:
        with pytest.raises(StoreError, match="a name is too long"):
            begun(store, name)


def test_a_row_that_is_held_for_long(postgres_server: PostgresServer) -> None:
    """PostgreSQL's locks are waited for so long and no longer."""
    store = SqlStore(postgres_server.create_database("held"), bounds=Bounds(wait=0.05))
    store.upgrade()
    begun(store)
    other = sqlalchemy.create_engine(postgres_server.url("held"))
    with other.begin() as connection:
        connection.exec_driver_sql("SELECT * FROM nr_llm_run FOR UPDATE")
        with pytest.raises(StoreError, match="holds the row for longer than `wait_seconds`"):
            store.write(step(0))
    assert store.write(step(0)).applied
    other.dispose()
    store.close()
    postgres_server.drop_database("held")


def test_a_connection_that_broke_is_made_again(postgres_server: PostgresServer) -> None:
    """After the server ended all connections the next call works."""
    store = SqlStore(postgres_server.create_database("broken"))
    store.upgrade()
    begun(store)
    postgres_server.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'broken'", database="postgres"
    )

    assert store.write(step(0)).applied
    store.close()
    postgres_server.drop_database("broken")


def test_a_connection_that_breaks_in_the_middle(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun is undone, the error says so, and the next call has another connection."""
    store = SqlStore(postgres_server.create_database("middle"))
    store.upgrade()
    begun(store)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'middle'"
    with monkeypatch.context() as patched:
        patched.setattr(store, "_add_live", lambda *rest: postgres_server.psql(end))
        with pytest.raises(StoreError, match=r"The store middle on .*: (the server is shutting down|the connection)"):
            store.write(step(0, checkpoint=live("more", start=1)))

    assert not store.steps("r1")
    assert store.write(step(0)).applied
    store.close()
    postgres_server.drop_database("middle")


def test_a_server_that_is_not_there() -> None:
    """The error names the database and never the user or password."""
    store = SqlStore(Secret("postgresql://annabel:hunter22@localhost:1/runs"), bounds=Bounds(wait=1))

    with pytest.raises(StoreError, match=r"^The store runs on localhost: it cannot be reached") as caught:
        store.run("r1")

    assert "hunter22" not in str(caught.value) + repr(store) + store.place
    assert "annabel" not in str(caught.value)


@pytest.mark.parametrize("statement", ["step", "message", "live message"])
def test_a_failure_in_the_middle_leaves_no_half(make: Make, statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a change breaks off, nothing of it is there."""
    store = begun(make())
    before, state = store.run("r1"), store.live("r1")
    if statement == "step":
        monkeypatch.setattr("nr_llm_store._rows.message_rows", lambda change: 1 / 0)
    elif statement == "message":
        monkeypatch.setattr(store, "_add_live", lambda *rest: 1 / 0)
    else:
        monkeypatch.setattr("nr_llm_store.store.Written", lambda **facts: 1 / 0)
        real = store._add_live
        monkeypatch.setattr(store, "_add_live", lambda *rest: (real(*rest), 1 / 0))
    said = (TranscriptEntry("x"),)
    with pytest.raises(ZeroDivisionError):
        store.write(step(0, transcript=said, checkpoint=live("more", start=1), totals=RunTotals(rounds=9)))

    assert (store.run("r1"), store.live("r1")) == (before, state)
    assert not store.steps("r1")
    assert not store.transcript("r1")


def test_a_process_that_is_killed_leaves_no_half(tmp_path: Path) -> None:
    """A process that dies between the statements of a change leaves the run as it was, and no lock."""
    script = (
        "import os, sys\nfrom nr_llm_store import SqlStore\nfrom tests.plugins.store.runs import step\n"
        "store = SqlStore(sys.argv[1])\n"
        "store._add_live = lambda *rest: os.kill(os.getpid(), 9)\n"
        "from tests.plugins.store.runs import live\n"
        "store.write(step(0, checkpoint=live('more', start=1)))\n"
    )
    store = begun(SqlStore(tmp_path / "runs.db"))
    before = store.run("r1")

    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "runs.db")], check=False)

    assert done.returncode == -9
    assert store.run("r1") == before
    assert not store.steps("r1")
    assert store.write(step(0)).applied
    store.close()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://ann:hunter22@host/runs", "is of mysql, and runs are kept in SQLite or PostgreSQL"),
        ("://hunter22", "is no address"),
        ("postgresql://ann:hunter22@host:port/runs", "is no address"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_addresses_of_nothing(url: str, says: str) -> None:
    """What is no address of a database is refused at once, without being shown."""
    with pytest.raises(ConfigurationError, match=says) as caught:
        SqlStore(Secret(url))
    assert "hunter22" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_addresses() -> None:
    """A path is a SQLite file, and PostgreSQL is spoken to through psycopg however it is written."""
    assert address("~/runs.db").database == str(Path("~/runs.db").expanduser())
    assert {address(f"{name}://host/runs").drivername for name in ("postgres", "postgresql", "postgresql+psycopg")} == {
        "postgresql+psycopg"
    }


def test_what_nobody_foresaw_is_still_said() -> None:
    """An error without a known code names its class, and nothing that was stored."""
    assert str(fault(ValueError("secret"), "The store x")) == "The store x: it cannot be reached or used (ValueError)."


def test_a_wrong_step_number_says_which(make: Make) -> None:
    """A gap is refused as a number that is taken is."""
    store = begun(make())

    with pytest.raises(StoreError, match="Run r1 has 0 entries, and 2 was to be the next"):
        store.write(step(2))
    with pytest.raises(StoreError, match="Run r1 has 0 entries, and 1 was to be the next"):
        store.write(change(transcript_start=1, transcript=(TranscriptEntry("x"),)))
    assert store.write(step(0)).sequence == 1
