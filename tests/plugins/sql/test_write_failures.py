"""What ends a write before, while and after it lasts, and what is said of it."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.errors import RunCancelledError, ToolError
from nr_llm_sql import SqlSettings
from nr_llm_sql import _connection as connection
from nr_llm_sql._write_failures import explained, uncertain

from tests.core.waiting import until
from tests.plugins.sql import books
from tests.plugins.sql.books import CREATE, ORDERS, UPDATE, WRITE, Book
from tests.plugins.sql.conftest import MakeBook
from tests.plugins.sql.postgres import Postgres

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "unique": ({"number": "A2"}, "Another record has a value that no two may have."),
    "check": ({"total": 1000}, "A rule of the table does not permit these values."),
    "reference": ({"customer": 77}, "A field refers to a record that does not exist."),
    "not-null": ({"status": None}, "status (text) must have a value."),
    "too-long": ({"number": "123456"}, ""),
}


@pytest.mark.parametrize(("values", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_constraint_is_told(values: dict[str, Any], said: str, book: Book, caplog: pytest.LogCaptureFixture) -> None:
    """In words of ours: what the database says quotes values, other records' too, and goes nowhere."""
    with caplog.at_level(logging.DEBUG):
        heard = book.not_updated({"note": "my own words", **values})

    assert heard.casefold().startswith(said.casefold())
    assert "my own words" not in heard + caplog.text
    assert "A2" not in heard + caplog.text
    assert book.orders("status, note") == [("open", None), ("open", "")]


def test_a_constraint_at_the_end(make_book: MakeBook) -> None:
    """One that is checked when the transaction ends undoes it all the same."""
    script = ORDERS.replace("REFERENCES customers (id)", "REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED")
    book = make_book(script, write=WRITE)

    assert book.not_updated({"customer": 77}).startswith("A field refers to a record that does not exist.")
    assert book.orders("customer") == [(1,), (2,)]


def test_a_run_that_does_not_wait(book: Book) -> None:
    """A call that is cancelled before it lasts changes nothing."""
    cancelled = Cancellation()
    cancelled.cancel("enough")

    for name, more in ((UPDATE, {"key": {"id": 4}}), (CREATE, {})):
        with pytest.raises(RunCancelledError, match="enough"):
            book.call(name, ToolContext(cancelled=cancelled), table="orders", values={"note": "x"}, **more)
    assert book.orders("note") == [(None,), ("",)]


def test_a_call_whose_time_is_up(book: Book) -> None:
    """It changes nothing and says so."""
    with pytest.raises(ToolError, match=r"did not answer in time .* Nothing was changed\."):
        book.call(UPDATE, ToolContext(deadline=0), table="orders", key={"id": 4}, values={"note": "x"})
    assert book.orders("note") == [(None,), ("",)]


def test_nothing_is_left_open(book: Book) -> None:
    """After a write that failed the next one finds the record free."""
    book.not_updated({"number": "A2"})
    book.update({"number": "A3"})

    assert book.orders("number") == [("A3",), ("A2",)]


class TestSqlite:
    @pytest.fixture
    def shop(self, tmp_path: Path) -> Book:
        """Return a shop in a file."""
        return books.sqlite_book(tmp_path / "book.db", ORDERS, write=WRITE)

    @pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
    def test_somebody_else_writes(self, lock: str, shop: Book, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is not waited for long."""
        monkeypatch.setattr(connection, "BUSY_SECONDS", 0.01)
        assert shop.settings.database is not None

        with closing(sqlite3.connect(shop.settings.database, isolation_level=None)) as other:
            other.execute(f"BEGIN {lock}")
            assert "locked by another program" in shop.not_updated({"note": "x"})

    def test_somebody_reads(self, shop: Book, monkeypatch: pytest.MonkeyPatch) -> None:
        """A reader keeps the commit from its end; then the write is undone, and its outcome is known."""
        monkeypatch.setattr(connection, "BUSY_SECONDS", 0.01)
        assert shop.settings.database is not None

        with closing(sqlite3.connect(shop.settings.database, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM orders").fetchall()
            assert "locked by another program" in shop.not_updated({"note": "x"})
        assert shop.orders("note") == [(None,), ("",)]

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        """None is made."""
        book = Book(SqlSettings(database=tmp_path / "none.db", write=WRITE), list, postgres=False)

        assert "There is no database file" in book.not_updated({"note": "x"})
        assert list(tmp_path.iterdir()) == []

    def test_a_full_disk(self, shop: Book) -> None:
        """What does not fit is undone."""
        code = sqlite3.SQLITE_FULL

        assert "no room left" in self._said(shop.settings, code)

    @pytest.mark.parametrize(
        ("code", "said"),
        [(sqlite3.SQLITE_READONLY, "cannot be written"), (sqlite3.SQLITE_ERROR, "could not be written"),
         (3091, "does not fit the type")],
    )  # fmt: skip
    def test_what_sqlite_says(self, code: int, said: str, shop: Book) -> None:
        """Each kind has its sentence; the text of the error is in none."""
        assert said in self._said(shop.settings, code)

    @staticmethod
    def _said(settings: SqlSettings, code: int) -> str:
        with pytest.raises(ToolError) as caught, explained(settings, ToolContext()):
            raise failure(code)
        assert "secret" not in str(caught.value)
        return str(caught.value)

    def test_a_disk_that_fails_at_the_end(self) -> None:
        """Then the outcome is unknown; where SQLite itself refuses to commit, it is not."""
        assert uncertain(failure(sqlite3.SQLITE_IOERR_FSYNC))
        assert not uncertain(failure(sqlite3.SQLITE_BUSY))
        assert not uncertain(failure(sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY))


def failure(code: int) -> sqlite3.OperationalError:
    """Return an error as SQLite's module raises it."""
    error = sqlite3.OperationalError("secret words")
    error.sqlite_errorcode = code
    return error


DYING = """
CREATE FUNCTION dying() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER dies AFTER INSERT OR UPDATE ON orders {when} FOR EACH ROW EXECUTE FUNCTION dying()
"""


class TestPostgres:
    @pytest.fixture
    def shop(self, pg: Postgres) -> Book:
        """Return a shop on the server."""
        return books.postgres_book(pg, ORDERS, write=WRITE, drafts=books.DRAFTS)

    def test_a_lost_answer(self, shop: Book) -> None:
        """Where the connection ends during the commit nobody knows; the model is told not to repeat it."""
        import sqlalchemy as sa

        def end(_: sa.Connection) -> None:
            shop.run(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = '{books.WRITER}'")

        sa.event.listen(sa.Engine, "commit", end)
        try:
            said = shop.refused(CREATE, table="orders", values={"note": "x"})
        finally:
            sa.event.remove(sa.Engine, "commit", end)
        assert "the outcome is unknown. Do not repeat this without checking" in said
        assert "Nothing was changed" not in said

    @pytest.mark.parametrize("when", ["", "DEFERRABLE INITIALLY DEFERRED"])
    def test_a_connection_that_ends_before(self, when: str, shop: Book, pg: Postgres) -> None:
        """Before the commit it is known: nothing was changed."""
        pg.run(DYING.format(when=when), grant=False)

        assert "cannot be reached" in shop.not_updated({"note": "x"})
        assert shop.orders("note") == [(None,), ("",)]

    def test_somebody_else_changes_it_at_the_same_time(self, shop: Book) -> None:
        """A change between the look and the lock is not lost: the call is refused."""
        with before(shop, "FOR NO KEY UPDATE", "UPDATE orders SET status = 'theirs' WHERE id = 4"):
            said = shop.not_updated({"status": "ours"})

        assert "Somebody else changed the record at the same time." in said
        assert shop.orders() == [("theirs",), ("open",)]

    def test_a_lock_is_not_waited_for(self, shop: Book, monkeypatch: pytest.MonkeyPatch) -> None:
        """A record that another program keeps to itself is given up."""
        import psycopg
        from nr_llm_sql._postgres import connection as server

        monkeypatch.setattr(server, "LOCK_SECONDS", 0.05)
        assert shop.settings.write_url is not None
        with psycopg.connect(shop.settings.write_url.reveal()) as other:
            other.execute("SELECT * FROM orders WHERE id = 4 FOR UPDATE")
            assert "locked by another program" in shop.not_updated({"note": "x"})

    def test_a_cancelled_run_stops_the_server(self, shop: Book, pg: Postgres) -> None:
        """A trigger that sleeps is ended, and with it what it belongs to."""
        pg.run(
            "CREATE FUNCTION sleepy() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(3600); RETURN NEW; END $$;"
            "CREATE TRIGGER sleeps BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION sleepy()"
        )
        sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
        cancelled = Cancellation()

        def cancel() -> None:
            try:
                until(lambda: shop.run(sleeping) == [(1,)])
            finally:
                cancelled.cancel("enough")

        other = threading.Thread(target=cancel)
        other.start()
        with pytest.raises(RunCancelledError, match="enough"):
            shop.call(UPDATE, ToolContext(cancelled=cancelled), table="orders", key={"id": 4}, values={"note": "x"})
        other.join()
        assert shop.orders("note") == [(None,), ("",)]

    def test_an_address_is_told_to_nobody(self, pg: Postgres, caplog: pytest.LogCaptureFixture) -> None:
        """Neither the settings nor the error or the log show the password of the role that writes."""
        url = "postgresql://role:c0rrect-h0rse@127.0.0.1:1/shop"
        book = books.postgres_book(pg, ORDERS, write_url=url, write=WRITE)

        with caplog.at_level(logging.DEBUG):
            said = book.not_updated({"note": "x"})
        assert "NR_LLM_SQL_WRITE_URL" in said
        assert "c0rrect" not in said + caplog.text + repr(book.settings)

    def test_nothing_is_left_behind(self, shop: Book) -> None:
        """No connection outlives its call."""
        shop.update({"note": "x"})
        count = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{books.WRITER}'"

        until(lambda: shop.run(count) == [(0,)])


@contextmanager
def before(book: Book, words: str, sql: str) -> Iterator[None]:
    """Run a statement of somebody else's just before the first one of the tools that holds `words`."""
    import sqlalchemy as sa

    waiting = [sql]

    def look(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if words in statement and waiting:
            book.run(waiting.pop())

    sa.event.listen(sa.Engine, "before_cursor_execute", look)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", look)
    assert not waiting
