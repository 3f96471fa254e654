"""Every way out of reading that was thought of, tried through the guarded connection."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm_sql import SqlSettings
from nr_llm_sql._connection import Halt, Halted, Missing, Refused, connected

from tests.plugins.sql.databases import Make, Open, ask, entered

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"


class TestPermitted:
    def test_reads(self, shop: Path, enter: Open) -> None:
        """Selecting permitted columns works."""
        assert ask(enter(shop), "SELECT name FROM customers WHERE id = ?", 2) == [("Ben",)]

    def test_counts_without_naming_a_column(self, shop: Path, enter: Open) -> None:
        """Counting rows of a permitted table works."""
        assert ask(enter(shop), "SELECT count(*) FROM orders") == [(3,)]

    def test_recursion_with_an_end(self, shop: Path, enter: Open) -> None:
        """A recursive query is no attack by itself."""
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"

        assert ask(enter(shop), sql) == [(1,), (2,), (3,)]

    def test_one_row_more_than_wanted_is_read(self, shop: Path, enter: Open) -> None:
        """A cap of two reads three rows: the third says that there are more."""
        assert len(ask(enter(shop), "SELECT a.id FROM orders AS a, orders AS b", cap=2)) == 3


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'attached.db' AS other",
        "ATTACH ':memory:' AS other",
        "VACUUM INTO 'vacuumed.db'",
        "VACUUM",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "PRAGMA table_info(customers)",
        "SELECT * FROM pragma_table_info('customers')",
        "SELECT * FROM pragma_database_list",
        "BEGIN",
        "SAVEPOINT s",
        "INSERT INTO orders (id) VALUES (99)",
        "UPDATE orders SET total = 0",
        "DELETE FROM orders",
        "REPLACE INTO orders (id) VALUES (4)",
        "WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT 99 FROM x",
        "DROP TABLE orders",
        "ALTER TABLE orders ADD COLUMN x",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t (x)",
        "CREATE TEMP VIEW t AS SELECT 1",
        "CREATE TEMP TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE t USING fts5(x)",
        "ANALYZE",
        "REINDEX orders",
        "DETACH main",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM main.sqlite_master",
        "SELECT * FROM sqlite_temp_master",
        "SELECT * FROM SQLITE_MASTER",
        "SELECT (SELECT sql FROM sqlite_master LIMIT 1) FROM orders",
        "SELECT load_extension('evil')",
        "SELECT zeroblob(1000000000)",
        "SELECT randomblob(1000000000)",
        "SELECT hex(randomblob(10))",
        "SELECT printf('%1000000000d', 1)",
        "SELECT replace(name, 'A', 'B') FROM customers",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('written', 'x')",
        "SELECT fts3_tokenizer('x')",
        "SELECT sqlite_version()",
        "SELECT password_hash FROM customers",
        "SELECT * FROM customers",
        "SELECT id FROM customers WHERE password_hash LIKE 'f%'",
        "SELECT id FROM customers ORDER BY password_hash",
        "SELECT max(password_hash) FROM customers",
        "SELECT c.id FROM customers AS c JOIN orders ON orders.status = c.password_hash",
        "WITH c AS (SELECT password_hash AS x FROM customers) SELECT x FROM c",
        "SELECT value FROM api_keys",
        "SELECT count(*) FROM api_keys",
        "SELECT id FROM orders UNION SELECT value FROM api_keys",
        "SELECT value FROM json_each('[1]')",
        "SELECT * FROM nowhere",
        "SELECT",
        "nonsense",
    ],
)
def test_refused(sql: str, shop: Path, enter: Open) -> None:
    """The statement reads nothing, and nothing beside the database appears or changes."""
    before = shop.read_bytes()
    guard = enter(shop)

    with pytest.raises((Refused, sqlite3.Error)):
        ask(guard, sql)
    assert sorted(path.name for path in shop.parent.iterdir()) == [shop.name]
    assert not [name for name in ("attached.db", "vacuumed.db", "written") if Path(name).exists()]
    assert shop.read_bytes() == before


@pytest.mark.parametrize("sql", ["", ";", "-- nothing", "/* nothing"])
def test_nothing_is_nothing(sql: str, shop: Path, enter: Open) -> None:
    """A text without a statement gives no rows."""
    assert ask(enter(shop), sql) == []


class TestHowItIsRefused:
    def test_by_name(self, shop: Path, enter: Open) -> None:
        """A refusal says in the log's words what was touched."""
        with pytest.raises(Refused, match=r"customers\.password_hash"):
            ask(enter(shop), "SELECT password_hash FROM customers")

    def test_a_refused_function_counts_as_a_refusal(self, shop: Path, enter: Open) -> None:
        """SQLite reports a refused function with an ordinary error; here it is a refusal."""
        with pytest.raises(Refused, match="zeroblob"):
            ask(enter(shop), "SELECT zeroblob(9)")

    def test_the_next_statement_starts_afresh(self, shop: Path, enter: Open) -> None:
        """A refusal leaves nothing behind: what fails next is no refusal, what is permitted works."""
        guard = enter(shop)
        with pytest.raises(Refused):
            ask(guard, "PRAGMA user_version")

        with pytest.raises(sqlite3.OperationalError):
            ask(guard, "nonsense")
        assert ask(guard, "SELECT 1") == [(1,)]

    def test_two_statements_are_none(self, shop: Path, enter: Open) -> None:
        """Of stacked statements not even the first runs."""
        with pytest.raises(sqlite3.Error, match="one statement"):
            ask(enter(shop), "SELECT 1; DELETE FROM orders")

    def test_a_with_table_cannot_borrow_a_views_name(self, make: Make, enter: Open) -> None:
        """SQLite reports reads inside a WITH table under its name, which the statement chose."""
        path = make(
            "CREATE TABLE staff (name, salary); INSERT INTO staff VALUES ('Ada', 9);"
            "CREATE VIEW phones AS SELECT name FROM staff"
        )
        guard = enter(path, tables=["phones"])

        with pytest.raises(Refused, match="staff"):
            ask(guard, "WITH phones AS (SELECT salary FROM staff) SELECT * FROM phones")


class TestSizes:
    def test_a_giant_blob_ends_the_statement(self, make: Make, enter: Open) -> None:
        """A value above the limit is not read."""
        path = make("CREATE TABLE files (data); INSERT INTO files VALUES (zeroblob(5000))")

        with pytest.raises(sqlite3.DataError, match="too big"):
            ask(enter(path, value_bytes=4000), "SELECT data FROM files")

    def test_a_value_cannot_be_grown(self, make: Make, enter: Open) -> None:
        """Joining values ends where the limit is."""
        path = make("CREATE TABLE words (w); INSERT INTO words VALUES ('0123456789')")
        doubled = "group_concat(w)"
        sql = f"SELECT {doubled} FROM words, " + ", ".join(f"words AS w{i}" for i in range(3))
        grown = "SELECT " + " || ".join(["hex(hex(hex(hex(w))))"] * 20) + " FROM words"

        with pytest.raises(sqlite3.Error):
            ask(enter(path, value_bytes=2000), grown)
        with pytest.raises(sqlite3.Error):
            ask(enter(path, value_bytes=2000), sql)

    def test_a_long_statement_is_not_compiled(self, shop: Path, enter: Open) -> None:
        """A statement above the limit is refused by its length."""
        with pytest.raises(sqlite3.DataError):
            ask(enter(shop), "SELECT " + "1," * 300_000 + "1")

    def test_rows_are_read_one_at_a_time(self, shop: Path, enter: Open) -> None:
        """Each row is turned into what is kept before the next one is read."""
        sizes = enter(shop).select("SELECT name FROM customers", cap=5, row=lambda row: len(row[0]))

        assert sizes == [3, 3, 3]


class TestTime:
    def test_an_endless_query_is_stopped(self, shop: Path, enter: Open) -> None:
        """A query without an end stops when it is told to."""
        looks = iter([False] * 20)

        with pytest.raises(Halted):
            ask(enter(shop, stop=lambda: next(looks, True)), ENDLESS)

    def test_slow_rows_are_stopped_between_rows(self, shop: Path, enter: Open) -> None:
        """Rows that cost no steps but time are stopped too."""
        due = threading.Event()
        guard = enter(shop, stop=due.is_set)

        with pytest.raises(Halted):
            guard.select("SELECT id FROM orders", cap=5, row=lambda row: due.set())

    def test_the_clock_stops(self) -> None:
        """A call is due when its deadline has come."""
        halt = Halt(lambda: False, deadline=5, clock=iter([4.9, 5.0]).__next__)

        assert [halt.due(), halt.due()] == [False, True]

    def test_cancelling_stops(self) -> None:
        """A call is due when its run is cancelled, whatever the time."""
        assert Halt(lambda: True, deadline=5, clock=lambda: 0).due()


class TestOpening:
    @pytest.mark.parametrize("database", [None, "missing.db", ".", "x" * 5000])
    def test_what_is_no_file_is_missing(self, database: str | None, tmp_path: Path) -> None:
        """No file is made where there is none, and folders are no databases."""
        path = None if database is None else tmp_path / database
        halt = Halt(lambda: False, deadline=1, clock=lambda: 0)

        with pytest.raises(Missing), connected(SqlSettings(database=path), halt):
            pytest.fail("opened")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "name", ["with space.db", "a?mode=rwc&x=y.db", "100%.db", "%41.db", "hash#.db", "ü表.db", "semi;quote'\".db"]
    )
    def test_any_file_name_opens_that_file(self, name: str, make: Make, enter: Open) -> None:
        """Nothing in a path is taken for a part of the address, so none can open for writing."""
        path = make("CREATE TABLE t (x); INSERT INTO t VALUES (1)", name=name)
        guard = enter(path)

        assert ask(guard, "SELECT x FROM t") == [(1,)]
        assert [entry.name for entry in path.parent.iterdir()] == [name]

    def test_a_database_being_written_is_read(self, make: Make, enter: Open) -> None:
        """A database in WAL mode is read at its last commit while another program holds it open."""
        path = make("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
        with closing(sqlite3.connect(path)) as writer:
            writer.execute("INSERT INTO t VALUES (1)")
            writer.commit()
            writer.execute("INSERT INTO t VALUES (2)")

            assert ask(enter(path), "SELECT x FROM t") == [(1,)]

    def test_a_wal_database_that_nobody_holds_is_read(self, make: Make, enter: Open) -> None:
        """A database in WAL mode is read although only readers are there."""
        path = make("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")

        assert ask(enter(path), "SELECT x FROM t") == [(1,)]

    def test_a_snapshot_leaves_no_trace(self, make: Make, enter: Open) -> None:
        """As a snapshot even a WAL database is read without any file beside it."""
        path = make("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")

        assert ask(enter(path, snapshot=True), "SELECT x FROM t") == [(1,)]
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@settings(max_examples=300, deadline=None)
@given(st.text("abcde'\";-()* ,%\n", max_size=30))
def test_no_text_escapes(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever stands behind a SELECT, the file is unchanged."""
    path = tmp_path_factory.getbasetemp() / "escape.db"
    if not path.exists():
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("CREATE TABLE a (b, c); INSERT INTO a VALUES (1, 2)")
    before = path.read_bytes()
    with entered(path) as guard, suppress(Refused, sqlite3.Error, ValueError):
        ask(guard, f"SELECT b FROM a WHERE c = {text}")

    assert path.read_bytes() == before
