"""
Every way that is known to write more than one permitted field of one record, tried on both databases.

The model writes no SQL.  Statements are tried all the same, through the guard of the one that is ours.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from nr_llm_sql import SqlSettings
from nr_llm_sql import _answers as answers
from nr_llm_sql._access import Access
from nr_llm_sql._catalogue import sources
from nr_llm_sql._connection import Halt, connected_to_write
from nr_llm_sql._pen import Writable, write
from nr_llm_sql._stops import Refused
from nr_llm_sql._written import consequences

from tests.plugins.sql import books
from tests.plugins.sql.books import DRAFTS, ORDERS, UPDATE, WRITE, Book
from tests.plugins.sql.conftest import MakeBook
from tests.plugins.sql.databases import Open, ask
from tests.plugins.sql.postgres import READER, WRITER, Postgres
from tests.plugins.sql.test_attacks import NAMES, VALUES

STATEMENTS = {
    "another-column": "UPDATE orders SET total = 0",
    "the-key": "UPDATE orders SET id = 5 WHERE id = 4",
    "the-row-number": "UPDATE orders SET rowid = 5 WHERE id = 4",
    "another-table": "UPDATE customers SET name = 'x'",
    "a-hidden-table": "UPDATE api_keys SET value = 'x'",
    "the-schema": "UPDATE sqlite_master SET sql = 'x'",
    "delete": "DELETE FROM orders",
    "insert": "INSERT INTO orders (status) VALUES ('x')",
    "insert-or-replace": "INSERT OR REPLACE INTO orders (id, status) VALUES (4, 'x')",
    "insert-elsewhere": "INSERT INTO customers (name) VALUES ('x')",
    "upsert": "INSERT INTO orders (id) VALUES (4) ON CONFLICT DO UPDATE SET status = 'x'",
    "copy-a-hidden-column": "UPDATE orders SET status = (SELECT password_hash FROM customers)",
    "copy-a-hidden-table": "UPDATE orders SET status = (SELECT value FROM api_keys)",
    "update-from": "UPDATE orders SET status = k.value FROM api_keys AS k",
    "guess-a-hidden-column": "UPDATE orders SET status = 'x' WHERE (SELECT password_hash FROM customers)",
    "read-a-file": "UPDATE orders SET status = readfile('/etc/passwd')",
    "load-extension": "UPDATE orders SET status = load_extension('evil')",
    "a-function": "UPDATE orders SET status = hex(randomblob(5))",
    "attach": "ATTACH 'attached.db' AS other",
    "vacuum-into": "VACUUM INTO 'vacuumed.db'",
    "pragma": "PRAGMA foreign_keys = OFF",
    "pragma-schema": "PRAGMA writable_schema = ON",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
    "savepoint": "SAVEPOINT s",
    "stacked": "UPDATE orders SET status = 'x' WHERE id = 4; DELETE FROM orders",
    "drop": "DROP TABLE orders",
    "alter": "ALTER TABLE orders ADD COLUMN x",
    "create": "CREATE TABLE x (y)",
    "temp-trigger": "CREATE TEMP TRIGGER t AFTER UPDATE ON orders BEGIN DELETE FROM orders; END",
    "select": "SELECT status FROM orders",
}

CREATING = {
    name: STATEMENTS[name] for name in ("another-table", "delete", "insert-elsewhere", "upsert", "attach", "commit")
} | {
    "copy-a-hidden-table": "INSERT INTO orders (status) SELECT value FROM api_keys",
    "copy-all": "INSERT INTO orders (status) SELECT status FROM orders",
    "update": "UPDATE orders SET status = 'x'",
}


def through_the_pen(path: Path, sql: str, *columns: str) -> None:
    """Run a statement as if it were the one that writes these columns; none: that creates a record."""
    settings = SqlSettings(database=path, write={"orders": ["status"]})
    with connected_to_write(settings, Halt(lambda: False, deadline=1, clock=lambda: 0)) as connection:
        found = sources(connection)
        [orders] = [source for source in found if source.name == "orders"]
        writable = Writable(
            access=Access(settings, found),
            table="orders",
            columns=columns or None,
            consequences=consequences(connection, orders),
        )
        write(connection, sql, (), writable=writable)
        connection.set_authorizer(None)
        connection.execute("COMMIT")


@pytest.mark.parametrize("sql", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_the_guard_of_a_change(sql: str, shop: Path) -> None:
    """A statement that may change one column changes nothing else, whatever it says."""
    before = shop.read_bytes()

    with pytest.raises((Refused, sqlite3.Error)):
        through_the_pen(shop, sql, "status")
    assert shop.read_bytes() == before
    assert not [name for name in ("attached.db", "vacuumed.db") if Path(name).exists()]


@pytest.mark.parametrize("sql", CREATING.values(), ids=CREATING.keys())
def test_the_guard_of_a_creation(sql: str, shop: Path) -> None:
    """A statement that may create a record copies nothing and changes nothing."""
    before = shop.read_bytes()

    with pytest.raises((Refused, sqlite3.Error)):
        through_the_pen(shop, sql)
    assert shop.read_bytes() == before


def test_the_guard_lets_ours_pass(shop: Path) -> None:
    """What the tools write is what it lets through: else these tests would show nothing."""
    through_the_pen(shop, "UPDATE OR ABORT main.orders SET status = 'x' WHERE id = 4", "status")
    through_the_pen(shop, "INSERT OR ABORT INTO main.orders (status) VALUES ('new')")

    with closing(sqlite3.connect(shop)) as connection:
        assert connection.execute("SELECT status FROM orders ORDER BY id").fetchall() == [
            ("x",), ("open",), ("sent",), ("new",),
        ]  # fmt: skip


def test_readers_stay_readers(shop: Path, enter: Open) -> None:
    """Where writes are permitted, the connection of the reading tools and of previews writes none."""
    guard = enter(shop, write={"orders": ["status"]})

    with pytest.raises((Refused, sqlite3.Error)):
        ask(guard, "UPDATE orders SET status = 'x'")


def test_a_name_is_a_name(make_book: MakeBook) -> None:
    """Whatever stands in the name of a table or column, it names that one: changed, created, previewed, expected."""
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in NAMES.values() if name != "*"}
    script = "".join(
        f"CREATE TABLE {name} (id integer PRIMARY KEY {{counted}}, {name} text, param_1 text, v0 text);"
        f"INSERT INTO {name} (id, {name}) VALUES (1, 'one'), (2, 'two');"
        for name in quoted.values()
    )
    fields = {name: [name, "v0"] for name in quoted}
    drafts = {name: {"fields": each, "set": {"param_1": "draft"}} for name, each in fields.items()}
    book = make_book(script, write=fields, drafts=drafts)
    for name, written in quoted.items():
        values = {name: "new", "v0": "x"}
        [*_, line] = book.preview(UPDATE, table=name, key={"id": 1}, values=values)
        book.update(values, table=name, key=1, expected={name: "one"})
        book.create(values, table=name)

        assert line == 'v0: null → "x"'
        rows = book.run(f"SELECT {written}, param_1, v0 FROM {written} ORDER BY id")
        assert rows == [("new", None, "x"), ("two", None, None), ("new", "draft", "x")], name


def test_a_value_is_a_value(book: Book) -> None:
    """Whatever stands in a value, it is stored as itself, in one record, and does nothing."""
    for value in VALUES.values():
        book.update({"note": value, "status": "open"})
        book.update({"status": "sent"}, expected={"note": value})
        assert book.orders("status, note") == [("sent", value), ("open", "")], value
    for value in VALUES.values():
        book.create({"note": value})
    assert [note for (note,) in book.orders("note")][2:] == [*VALUES.values()]


def test_a_key_is_a_value(book: Book) -> None:
    """Whatever stands in a key, it finds the record that has it, and none has."""
    for value in (*VALUES.values(), "4 OR 1=1", "4; DELETE FROM orders", "4 --", "0x4", "4\0"):
        book.not_updated({"status": "x"}, key=value)

    assert book.orders() == [("open",), ("open",)]


def test_a_value_is_no_name(book: Book) -> None:
    """No text of a model's becomes the name of a table or field that is not there."""
    for value in (*VALUES.values(), "orders WHERE 1=1; --", 'orders"', "main.orders", "temp.orders"):
        assert book.not_updated({"status": "x"}, table=value) == answers.NOT_WRITABLE
        assert book.not_created({"note": "x"}, table=value) == answers.NOT_WRITABLE
        assert "may be written" in book.not_updated({value: "x"})
        assert "may be written" in book.not_created({value: "x"})
        assert "alone: id" in book.not_updated({"status": "x"}, key={value: 4})
        assert "`expected` names" in book.not_updated({"status": "x"}, expected={value: "x"})


@pytest.mark.parametrize("value", ["a\0b", "\0", "\ud800"], ids=["nul", "nul-alone", "half-a-character"])
def test_a_value_that_no_text_can_hold(value: str, book: Book) -> None:
    """A NUL or half a character is refused wherever it stands."""
    assert "no field can hold" in book.not_updated({"note": value})
    assert "no field can hold" in book.not_updated({"note": "x"}, expected={"note": value})
    assert "no field can hold" in book.not_created({"note": value})
    assert "may be written" in book.not_updated({value: "x"})


def test_a_huge_value(book: Book) -> None:
    """Whoever decides has to read what is written: there is a bound on all of it."""
    assert "100,000 at most" in book.not_updated({"note": "ä" * 50_001})
    assert "100,000 at most" in book.not_updated({"note": "a" * 60_000, "status": "b" * 40_001})

    result = book.update({"note": "ä" * 50_000})
    assert len(result.content.encode()) < 50_000
    assert len(str([each.to_dict() for each in result.artifacts]).encode()) < 50_000


def test_a_view_is_not_written(make_book: MakeBook) -> None:
    """Also where the database could write through it, and where the settings name it."""
    book = make_book(
        f"{ORDERS}; CREATE VIEW v AS SELECT id, note FROM orders",
        write={"v": ["note"], "orders": ["note"]},
        tables=["v", "orders"],
    )

    assert book.not_updated({"note": "x"}, table="v").startswith("v is a view, and only tables are written to.")


def test_denied_is_not_written(make_book: MakeBook) -> None:
    """What is not to be seen is not written, and what cannot be seen for other reasons neither."""
    book = make_book(ORDERS, write={"orders": ["note"], "customers": ["name"]}, tables=["customers"])

    assert book.not_updated({"note": "x"}) == answers.NOT_WRITABLE
    assert book.update({"name": "Eve"}, table="customers", key=1).content.startswith("Changed customers:1")


def test_a_hidden_key_names_no_record(make_book: MakeBook) -> None:
    """Where the key is named like a credential nobody guesses at it."""
    book = make_book(
        "CREATE TABLE t (token varchar(9) PRIMARY KEY, v text); INSERT INTO t VALUES ('abc', 'x')", write={"t": ["v"]}
    )

    assert "no primary key that you may see" in book.not_updated({"v": "y"}, table="t", key={"token": "abc"})


def test_a_table_without_a_key(make_book: MakeBook) -> None:
    """A record without a name of its own cannot be meant."""
    book = make_book("CREATE TABLE t (v text); INSERT INTO t VALUES ('x')", write={"t": ["v"]})

    assert "no primary key" in book.not_updated({"v": "y"}, table="t", key={"rowid": 1})


def test_what_others_refer_to_is_not_written(make_book: MakeBook) -> None:
    """Else one change would be many, by a cascade."""
    book = make_book(
        "CREATE TABLE t (id integer PRIMARY KEY, code varchar(9) UNIQUE, v text);"
        "CREATE TABLE u (id integer PRIMARY KEY, code varchar(9) REFERENCES t (code) ON UPDATE CASCADE);"
        "INSERT INTO t VALUES (1, 'a', 'x'); INSERT INTO u VALUES (1, 'a'), (2, 'a')",
        write={"t": ["code", "v"]},
    )

    assert "may be written: v." in book.not_updated({"code": "b"}, table="t", key=1)
    book.update({"v": "y"}, table="t", key=1)
    assert book.run("SELECT code FROM u") == [("a",), ("a",)]


def test_what_is_computed_is_not_written(make_book: MakeBook) -> None:
    """Its value is not anybody's to set; and what it is computed from is read back with it."""
    book = make_book(
        "CREATE TABLE t (id integer PRIMARY KEY, v text, twice text GENERATED ALWAYS AS (v || v) STORED);"
        "INSERT INTO t (id, v) VALUES (1, 'x')",
        write={"t": ["v", "twice"]},
    )

    assert "may be written: v." in book.not_updated({"twice": "zz"}, table="t", key=1)
    assert "\n  twice: yy" in book.update({"v": "y"}, table="t", key=1).content


HOSTILE = {
    "arrow": 'open" → "sent',
    "line": 'open\nstatus: "a" → "b"',
    "override": "\u202egnp.exe\u202c",
    "invisible": "a\u200bb\u00adc",
    "nul-picture": "\x01\x1b[2J",
    "other-blanks": "a\u00a0\u3000b",
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_content_forges_no_preview(value: str, book: Book) -> None:
    """What stands in a record, or is to stand there, stays on its line, in its quotes, and can be seen."""
    arguments = {"table": "orders", "key": {"id": 4}, "values": {"note": value}}
    [*_, line] = book.preview(UPDATE, **arguments)
    result = book.call(UPDATE, **arguments)
    [*_, back] = book.preview(UPDATE, table="orders", key={"id": 4}, values={"note": "x"})

    assert line.startswith('note: null → "')
    assert back.endswith('" → "x"')
    assert (line + back).isprintable()
    quoted = line.removeprefix("note: null → ")
    assert quoted.count('"') - quoted.count('\\"') == 2
    assert all(text.isprintable() for each in result.artifacts for _, text in each.data.get("lines", ()))


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_key_forges_no_preview(value: str, make_book: MakeBook) -> None:
    """The name of a record stays on its line and can be seen."""
    book = make_book("CREATE TABLE t (id varchar(99) PRIMARY KEY, v text)", write={"t": ["v"]})
    quoted = value.replace("'", "''")
    book.run(f"INSERT INTO t VALUES ('{quoted}', 'x');")
    lines = book.preview(UPDATE, table="t", key={"id": value}, values={"v": "y"})

    assert "".join(lines).isprintable()
    assert lines[0].startswith("Changes t:")
    assert book.update({"v": "y"}, table="t", key=value).content.splitlines()[0].isprintable()


def test_a_trigger_with_a_hostile_name(make_book: MakeBook) -> None:
    """It runs as any other, and the preview says that there is one."""
    book = make_book(ORDERS, write=WRITE)
    if book.postgres:
        book.run("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$")
        book.run('CREATE TRIGGER "x\n+ y" BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION f()')
    else:
        book.run('CREATE TRIGGER "x\n+ y" AFTER UPDATE ON orders BEGIN DELETE FROM customers WHERE id < 0; END;')
    lines = book.preview(UPDATE, table="orders", key={"id": 4}, values={"note": "y"})

    assert "Triggers of the table, which may run too: one whose name cannot be shown" in lines


def test_a_long_change_is_shown_where_it_begins(book: Book) -> None:
    """Of two long texts a person sees the place in which they differ, and how long they are."""
    book.run(f"UPDATE orders SET note = '{'x' * 900}one' WHERE id = 4")
    [*_, line] = book.preview(UPDATE, table="orders", key={"id": 4}, values={"note": "x" * 900 + "two"})

    assert line.startswith('note: …"xxx')
    assert 'xone" (903 characters) → …"' in line
    assert line.endswith('xtwo" (903 characters)')


class TestSqliteSchemas:
    def test_a_conflict_deletes_nothing(self, tmp_path: Path) -> None:
        """A table may say that whoever has the value already is replaced; then the write fails instead."""
        script = (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE ON CONFLICT REPLACE,"
            " v TEXT NOT NULL ON CONFLICT IGNORE, d INT);"
            "INSERT INTO t VALUES (1, 'a', 'x', 0), (2, 'b', 'y', 0)"
        )
        book = books.sqlite_book(
            tmp_path / "book.db",
            script,
            write={"t": ["u", "v"]},
            drafts={"t": {"fields": ["u"], "set": {"d": 1}}},
        )

        assert "no two may have" in book.not_updated({"u": "b"}, table="t", key=1)
        assert "must have a value" in book.not_created({"u": "c"}, table="t")
        assert book.run("SELECT id, u FROM t") == [(1, "a"), (2, "b")]

    @pytest.mark.parametrize(
        ("trigger", "said"),
        [
            ("BEFORE UPDATE ON orders BEGIN SELECT RAISE(IGNORE); END", "0 records would have been changed"),
            ("BEFORE UPDATE ON orders BEGIN SELECT RAISE(ABORT, 'f00 ba4'); END", "A trigger of the table"),
            ("BEFORE UPDATE ON orders BEGIN SELECT RAISE(ROLLBACK, 'f00'); END", "A trigger of the table"),
            ("AFTER UPDATE ON orders BEGIN DELETE FROM orders WHERE id = new.id; END", "no such record"),
            ("AFTER UPDATE ON orders BEGIN SELECT load_extension('x'); END", "not open to writing"),
            ("AFTER UPDATE ON orders BEGIN INSERT INTO f VALUES ('x'); END", "not open to writing"),
            ("AFTER UPDATE ON orders BEGIN UPDATE orders SET status = 'evil' WHERE id = new.id; END", "something else"),
        ],
    )
    def test_a_hostile_trigger(self, trigger: str, said: str, tmp_path: Path) -> None:
        """It can prevent the write and be told; what it says is quoted to nobody."""
        script = ORDERS + "CREATE VIRTUAL TABLE f USING fts5 (x);"
        book = books.sqlite_book(tmp_path / "book.db", script, write=WRITE)
        book.run(f"CREATE TRIGGER hostile {trigger};")

        heard = book.not_updated({"status": "sent"})
        assert said in heard
        assert "f00" not in heard
        assert book.orders() == [("open",), ("open",)]

    def test_an_endless_trigger_ends(self, tmp_path: Path) -> None:
        """It meets the deadline of the call, and nothing was changed."""
        book = books.sqlite_book(tmp_path / "book.db", ORDERS, write=WRITE)
        joined = ", ".join(f"orders AS o{i}" for i in range(40))
        book.run(
            "CREATE TRIGGER slow AFTER UPDATE ON orders BEGIN INSERT INTO customers"
            f" SELECT o0.id, 'x', 'x' FROM {joined} WHERE o39.id + o0.id < 0; END;"
        )
        settings = SqlSettings(database=tmp_path / "book.db", write=WRITE, seconds=0.2)

        assert "in time" in Book(settings, book.run, postgres=False).not_updated({"status": "sent"})
        assert book.orders() == [("open",), ("open",)]

    def test_other_tables_are_none(self, tmp_path: Path) -> None:
        """Virtual tables, their shadows and SQLite's own are not written, whatever the settings say."""
        names = ["f", "f_content", "sqlite_sequence", "sqlite_master"]
        script = "CREATE VIRTUAL TABLE f USING fts5 (x); CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT)"
        book = books.sqlite_book(tmp_path / "book.db", script, write={name: ["x", "c0", "seq"] for name in names})

        for name in names:
            assert book.not_updated({"x": "y"}, table=name) == answers.NOT_WRITABLE

    def test_two_records_of_one_key(self, tmp_path: Path) -> None:
        """A column may compare its values otherwise than its key does: then one key can mean two records."""
        script = (
            "CREATE TABLE t (k TEXT COLLATE NOCASE, v TEXT, PRIMARY KEY (k COLLATE BINARY));"
            "INSERT INTO t VALUES ('a', 'x'), ('A', 'y')"
        )
        book = books.sqlite_book(tmp_path / "book.db", script, write={"t": ["v"]})

        assert "Several records" in book.not_updated({"v": "z"}, table="t", key={"k": "a"})
        assert book.run("SELECT v FROM t") == [("x",), ("y",)]

    def test_a_key_that_is_null(self, tmp_path: Path) -> None:
        """SQLite takes a record without a key: nobody could name it again, so none is created."""
        script = "CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT, d INT)"
        drafts = {"t": {"fields": ["v"], "set": {"d": 1}}}
        book = books.sqlite_book(tmp_path / "book.db", script, drafts=drafts)

        assert "gave the record no key" in book.not_created({"v": "x"}, table="t")
        assert book.run("SELECT * FROM t") == []

    @pytest.mark.parametrize("key", ["TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(8))))", "INTEGER PRIMARY KEY"])
    def test_a_key_that_the_database_makes(self, key: str, tmp_path: Path) -> None:
        """However it is made, it is found and told."""
        drafts = {"t": {"fields": ["v"], "set": {"d": 1}}}
        book = books.sqlite_book(tmp_path / "book.db", f"CREATE TABLE t (k {key}, v TEXT, d INT)", drafts=drafts)

        result = book.create({"v": "x"}, table="t")
        [(made,)] = book.run("SELECT k FROM t")
        assert result.content.startswith(f"Created t:{made} as a draft.")

    def test_no_row_number(self, tmp_path: Path) -> None:
        """A table without row numbers gives no key."""
        drafts = {"t": {"fields": ["v"], "set": {"d": 1}}}
        script = "CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT, d INT) WITHOUT ROWID"
        book = books.sqlite_book(tmp_path / "book.db", script, drafts=drafts)

        assert "gives them no key" in book.not_created({"v": "x"}, table="t")

    def test_a_table_without_row_numbers(self, tmp_path: Path) -> None:
        """Its records are changed as any others, by the key and no more."""
        script = (
            "CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID; INSERT INTO t VALUES ('a', 'x'), ('b', 'y')"
        )
        book = books.sqlite_book(tmp_path / "book.db", script, write={"t": ["v"]})
        book.update({"v": "z"}, table="t", key={"k": "a"})

        assert book.run("SELECT v FROM t") == [("z",), ("y",)]

    def test_a_reference_to_nothing_ordinary(self, tmp_path: Path) -> None:
        """A reference to a view, to a virtual table or to nothing at all keeps nobody from changing other fields."""
        script = (
            "CREATE VIEW v AS SELECT * FROM gone; CREATE VIRTUAL TABLE f USING fts5 (x);"
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a REFERENCES v, b REFERENCES f, c REFERENCES nowhere, n TEXT);"
            "INSERT INTO t (id) VALUES (1)"
        )
        book = books.sqlite_book(tmp_path / "book.db", script, write={"t": ["n", "a"]})
        book.update({"n": "x"}, table="t", key=1)

        assert book.run("SELECT n FROM t") == [("x",)]
        book.not_updated({"a": 1}, table="t", key=1)

    def test_references_are_kept(self, tmp_path: Path) -> None:
        """SQLite keeps them only if it is told to; also those to a table that nobody sees."""
        script = ORDERS.replace("REFERENCES customers", "REFERENCES api_keys").replace(
            "TABLE customers", "TABLE api_keys"
        )
        script = script.replace("INTO customers", "INTO api_keys")
        book = books.sqlite_book(tmp_path / "book.db", script, write=WRITE)

        assert "does not exist" in book.not_updated({"customer": 7})
        book.update({"customer": 2})
        assert book.orders("customer")[0] == (2,)


POLICY = (
    "ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY s ON orders FOR SELECT USING (true);"
    "CREATE POLICY p ON orders FOR UPDATE USING (true) WITH CHECK (status = 'open')"
)


class TestPostgresServers:
    def test_every_statement_is_one(self, pg: Postgres) -> None:
        """Every statement has parameters or is a cursor's, so that none is a simple query, which could hold two."""
        import sqlalchemy as sa

        book = books.postgres_book(pg, ORDERS, write=WRITE, drafts=DRAFTS)
        simple = []

        def look(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            if not parameters and not type(cursor).__name__.startswith("Server"):
                simple.append(statement)

        sa.event.listen(sa.Engine, "before_cursor_execute", look)
        try:
            book.update({"note": "x"})
            book.create({"note": "x"})
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", look)
        assert simple == []

    @pytest.mark.parametrize(
        ("made", "said"),
        [
            ("CREATE RULE r AS ON UPDATE TO orders DO ALSO DELETE FROM customers", "has rules"),
            ("CREATE RULE r AS ON UPDATE TO orders DO INSTEAD NOTHING", "has rules"),
            ("CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION nothing()", "0 records would"),
            ("CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION secret()", "A trigger of the"),
            ("CREATE TRIGGER t AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION removing()", "no such record"),
            ("CREATE TRIGGER t AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION ending()", "could not be written"),
            (
                "CREATE TABLE heir () INHERITS (orders); INSERT INTO heir (id, status) VALUES (4, 'x')",
                "Several records",
            ),
            ("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "no such record"),
            (POLICY, "may not write"),
            ("REVOKE UPDATE ON orders FROM nr_llm_writer", "may not open records"),
            (
                "REVOKE UPDATE ON orders FROM nr_llm_writer; GRANT UPDATE (note) ON orders TO nr_llm_writer",
                "may not write",
            ),
            ("REVOKE SELECT ON orders FROM nr_llm_writer", "not open to writing"),
        ],
    )
    def test_a_hostile_table(self, made: str, said: str, pg: Postgres) -> None:
        """It can prevent the write and be told; what it says is quoted to nobody, and nothing was changed."""
        book = books.postgres_book(pg, ORDERS, write=WRITE)
        function = "CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN {} END $$;"
        bodies = {
            "nothing": "RETURN NULL;",
            "secret": "RAISE EXCEPTION 'f00 %', (SELECT password_hash FROM public.customers LIMIT 1);",
            "removing": "DELETE FROM public.orders WHERE id = OLD.id; RETURN NULL;",
            "ending": "COMMIT; RETURN NULL;",
        }
        for name, body in bodies.items():
            pg.run(function.format(name, body), grant=False)
        pg.run(made, grant=False)

        heard = book.not_updated({"status": "sent"})
        assert said in heard
        assert "f00" not in heard
        assert book.run("SELECT status FROM ONLY orders ORDER BY id") == [("open",), ("open",)]

    @pytest.mark.parametrize("power", ["SUPERUSER", "BYPASSRLS", "CREATEROLE"])
    def test_a_role_with_powers_does_not_write(self, power: str, pg: Postgres) -> None:
        """A role that may do more than write is refused, unless that is meant."""
        book = books.postgres_book(pg, ORDERS, write=WRITE)
        pg.run(f"ALTER ROLE {WRITER} {power}", grant=False)
        try:
            assert "not written to with a role that" in book.not_updated({"status": "sent"})
        finally:
            pg.run(f"ALTER ROLE {WRITER} NO{power}", grant=False)

    def test_the_reader_s_role_still_only_reads(self, pg: Postgres) -> None:
        """That somebody may write is no reason for the readers to."""
        book = books.postgres_book(pg, ORDERS, write=WRITE)
        pg.run(f"GRANT UPDATE ON orders TO {READER}", grant=False)

        said = book.refused("read_records", table="orders")
        assert "not read with a role that may write" in said

    def test_what_the_reader_sees_counts(self, pg: Postgres) -> None:
        """The role that writes may be permitted to see more: a model is shown no more for it, nor changes it."""
        book = books.postgres_book(pg, ORDERS, write=WRITE)
        pg.run(
            f"REVOKE SELECT ON orders FROM {READER}; GRANT SELECT (id, status, note) ON orders TO {READER};"
            "ALTER TABLE orders ENABLE ROW LEVEL SECURITY;"
            f"CREATE POLICY r ON orders FOR SELECT TO {READER} USING (id = 4);"
            f"CREATE POLICY w ON orders TO {WRITER} USING (true)",
            grant=False,
        )
        result = book.update({"status": "sent"})

        assert result.content.splitlines()[1:] == ["orders:4", "  status: sent", "  note: null"]
        assert "no such record" in book.not_updated({"status": "sent"}, key=9)
        assert "may be written: status, note." in book.not_updated({"total": 1})
        assert "`expected` names" in book.not_updated({"status": "x"}, expected={"total": "9.50"})

    def test_grants_by_column(self, pg: Postgres) -> None:
        """A role that may read the table, and write the columns that are named, is enough."""
        book = books.postgres_book(pg, ORDERS, write={"orders": ["note"]}, drafts=DRAFTS)
        pg.run(
            f"REVOKE INSERT, UPDATE ON orders FROM {WRITER};"
            f"GRANT UPDATE (note), INSERT (note, status) ON orders TO {WRITER}",
            grant=False,
        )
        book.update({"note": "x"})
        book.create({"note": "y"})

        assert book.orders("status, note") == [("open", "x"), ("open", ""), ("draft", "y")]
        assert "may not write this" in book.not_created({"note": "y", "total": 1})

    def test_what_happens_at_the_end_is_seen(self, pg: Postgres) -> None:
        """A trigger that waits for the end of the transaction is not waited for: what is read back is what lasts."""
        book = books.postgres_book(pg, ORDERS, write=WRITE)
        pg.run(
            "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " UPDATE public.orders SET status = 'evil' WHERE id = NEW.id AND status <> 'evil'; RETURN NULL; END $$;"
            "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION late()",
            grant=False,
        )

        assert "would store something else: status as evil" in book.not_updated({"status": "sent"})
        assert book.orders() == [("open",), ("open",)]

    def test_a_partitioned_table(self, pg: Postgres) -> None:
        """A record is one wherever it is kept."""
        book = books.postgres_book(
            pg,
            "CREATE TABLE t (id int, part int, v text, PRIMARY KEY (id, part)) PARTITION BY LIST (part);"
            "CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2);"
            "INSERT INTO t VALUES (1, 1, 'a'), (1, 2, 'b')",
            write={"t": ["v"]},
        )
        book.update({"v": "x"}, table="t", key={"id": 1, "part": 2})

        assert book.run("SELECT v FROM t ORDER BY part") == [("a",), ("x",)]
        assert book.not_updated({"v": "x"}, table="t1", key={"id": 1, "part": 1}) == answers.NOT_WRITABLE

    def test_a_huge_value_stays_on_the_server(self, pg: Postgres) -> None:
        """What is replaced is shown by its beginning."""
        book = books.postgres_book(pg, ORDERS, write=WRITE)
        pg.run("UPDATE orders SET note = repeat('x', 20000000) WHERE id = 4", grant=False)
        result = book.update({"note": "small"})

        assert len(str([each.to_dict() for each in result.artifacts])) < 10_000
        assert book.orders("note")[0] == ("small",)

    def test_other_schemas(self, pg: Postgres) -> None:
        """A table of the system, or of a schema that is not read, is none; one of a further schema goes by its name."""
        pg.run(
            "CREATE SCHEMA more; CREATE TABLE more.t (id int PRIMARY KEY, v text); INSERT INTO more.t VALUES (1, 'x');"
            f"GRANT USAGE ON SCHEMA more TO {READER}, {WRITER};"
            f"GRANT SELECT ON more.t TO {READER}; GRANT SELECT, UPDATE (v) ON more.t TO {WRITER}"
        )
        grant = {"more.t": ["v"], "pg_catalog.pg_class": ["relname"], "pg_class": ["relname"]}
        closed = books.postgres_book(pg, ORDERS, write=grant)
        opened = books.postgres_book(pg, "SELECT 1", write=grant, schemas=["public", "more"])

        assert closed.not_updated({"v": "y"}, table="more.t", key=1) == answers.NOT_WRITABLE
        assert opened.update({"v": "y"}, table="more.t", key=1).content.startswith("Changed more.t:1")
        for name in ("pg_class", "pg_catalog.pg_class"):
            assert opened.not_updated({"relname": "y"}, table=name, key={"oid": 1}) == answers.NOT_WRITABLE
