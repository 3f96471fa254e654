"""Tables are made, brought up to date by whoever may, and left alone where a newer version made them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from nr_llm.errors import StoreError
from nr_llm_store import SqlStore, _schema, _tables

from tests.plugins.store.conftest import Make
from tests.plugins.store.runs import begun, head
from tests.postgres import PostgresServer
from tests.support import ROOT

ADDED = '''"""A later revision, for a test."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.add_column("nr_llm_run", sa.Column("mood", sa.Text()))
'''


def tables(engine: sqlalchemy.Engine) -> dict[str, object]:
    """Return all that the database says of its tables."""
    seen = sqlalchemy.inspect(engine)
    return {
        name: (
            [(each["name"], str(each["type"]), each["nullable"]) for each in seen.get_columns(name)],
            seen.get_pk_constraint(name)["constrained_columns"],
            seen.get_foreign_keys(name),
            sorted(seen.get_indexes(name), key=lambda index: str(index["name"])),
        )
        for name in seen.get_table_names()
    }


def test_migrations_make_the_declared_tables(make: Make, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Revision after revision leads to the same tables as making them at once."""
    store = make()
    store.upgrade()
    made = tables(store._database.engine)
    _tables.METADATA.drop_all(store._database.engine)

    with store._database.engine.begin() as connection:
        _schema.migrate(connection)

    assert tables(store._database.engine) == made
    assert store.revision() == _schema.HEAD


def test_every_revision_is_named() -> None:
    """What a store knows of is what it can migrate to."""
    from alembic.script import ScriptDirectory

    found = ScriptDirectory(str(_schema.MIGRATIONS)).walk_revisions()

    assert [each.revision for each in found][::-1] == list(_tables.REVISIONS)


def test_a_new_file_needs_no_alembic(tmp_path: Path) -> None:
    """Listing plugins imports no database library, and the first run in a new file no Alembic."""
    script = (
        "import sys, nr_llm_store\n"
        "assert not {'sqlalchemy', 'alembic', 'cryptography', 'psycopg', 'sqlite3'} & set(sys.modules)\n"
        f"store = nr_llm_store.SqlStore({str(tmp_path / 'new.db')!r})\n"
        "assert store.run('r1') is None\n"
        "assert 'alembic' not in sys.modules\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)

    assert done.returncode == 0, done.stderr


def newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make the package one revision newer."""
    folder = tmp_path / "migrations"
    shutil.copytree(_schema.MIGRATIONS, folder)
    (folder / "versions" / "0002_mood.py").write_text(ADDED, encoding="utf-8")
    monkeypatch.setattr(_schema, "MIGRATIONS", folder)
    monkeypatch.setattr(_schema, "REVISIONS", ("0001", "0002"))
    monkeypatch.setattr(_schema, "HEAD", "0002")


def test_an_older_file_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older version kept is there after the first use by a newer one."""
    store = begun(SqlStore(tmp_path / "runs.db"))
    store.close()
    newer(monkeypatch, tmp_path)

    store = SqlStore(tmp_path / "runs.db")

    run = store.run("r1")
    assert run is not None
    assert run.head == head()
    assert store.revision() == "0002"
    assert "mood" in [column["name"] for column in sqlalchemy.inspect(store._database.engine).get_columns("nr_llm_run")]
    store.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision applies as a whole or not at all, and the store says so."""
    begun(SqlStore(tmp_path / "runs.db")).close()
    newer(monkeypatch, tmp_path)
    broken = ADDED + '    op.execute("UPDATE nobody SET x = 1")\n'
    (_schema.MIGRATIONS / "versions" / "0002_mood.py").write_text(broken, encoding="utf-8")

    with pytest.raises(StoreError):
        SqlStore(tmp_path / "runs.db").run("r1")

    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        assert connection.execute("SELECT version_num FROM nr_llm_version").fetchall() == [("0001",)]
        assert "mood" not in [row[1] for row in connection.execute("PRAGMA table_info(nr_llm_run)")]


def test_a_server_is_changed_only_when_asked(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A server's database without tables, or with older ones, is refused with the command that mends it."""
    store = SqlStore(postgres_server.create_database("asked"))
    with pytest.raises(StoreError, match=r"has no tables yet\. Run: nr-llm db upgrade"):
        store.run("r1")
    assert store.revision() is None
    assert store.upgrade() == store.upgrade() == "0001"
    begun(store)
    store.close()

    newer(monkeypatch, tmp_path)
    with pytest.raises(StoreError, match=r"of the older revision 0001\. Run: nr-llm db upgrade"):
        store.run("r1")
    assert store.upgrade() == "0002"
    assert store.run("r1") is not None
    store.close()
    postgres_server.drop_database("asked")


def test_a_newer_database_is_refused(make: Make) -> None:
    """What a newer version made is neither read nor changed."""
    store = begun(make())
    with store._database.engine.begin() as connection:
        connection.execute(sqlalchemy.text("UPDATE nr_llm_version SET version_num = '9999'"))
    store.close()

    with pytest.raises(StoreError, match="revision 9999, which a newer nr-llm-store made"):
        store.run("r1")
    with pytest.raises(StoreError, match="pip install --upgrade nr-llm-store"):
        store.upgrade()


def test_two_processes_may_begin_together(tmp_path: Path) -> None:
    """Of processes that use a new file at the same time each finds its tables."""
    script = (
        "import sys\nfrom nr_llm_store import SqlStore\nfrom tests.plugins.store.runs import begun\n"
        "sys.stdin.read(1)\nbegun(SqlStore(sys.argv[1]), sys.argv[2]).close()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "runs.db")]
    started = [subprocess.Popen([*command, f"r{i}"], stdin=subprocess.PIPE, text=True, cwd=ROOT) for i in range(2)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=120)

    assert [process.returncode for process in started] == [0] * 2
    store = SqlStore(tmp_path / "runs.db")
    assert all(store.run(f"r{i}") for i in range(2))
    store.close()
