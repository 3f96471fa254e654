"""
Every way out of reading that is known, tried on both databases.

The model writes no SQL.  Statements are tried all the same, through the connection that the tools use: a guard holds
only if it does not need the one before it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.errors import NrLlmError, RunCancelledError, ToolError
from nr_llm.results import ToolResult
from nr_llm_sql import SqlSettings, sql_tools
from nr_llm_sql import _answers as answers
from nr_llm_sql._conditions import Condition
from nr_llm_sql._stops import Halted, Refused, Unfit

from tests.core.waiting import until
from tests.plugins.sql.databases import Make, Open, ask, cells, column
from tests.plugins.sql.postgres import READER, SHOP, Postgres

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

SQLITE = {
    "attach-file": "ATTACH 'attached.db' AS other",
    "attach-memory": "ATTACH ':memory:' AS other",
    "vacuum-into": "VACUUM INTO 'vacuumed.db'",
    "pragma-query-only-off": "PRAGMA query_only = OFF",
    "pragma-writable-schema": "PRAGMA writable_schema = ON",
    "pragma-journal-mode": "PRAGMA journal_mode = WAL",
    "pragma-user-version": "PRAGMA user_version = 7",
    "pragma-temp-store-directory": "PRAGMA temp_store_directory = '/tmp'",
    "pragma-table-function": "SELECT * FROM pragma_database_list",
    "load-extension": "SELECT load_extension('evil')",
    "read-file": "SELECT readfile('/etc/passwd')",
    "write-file": "SELECT writefile('written', 'x')",
    "edit": "SELECT edit('x', 'touch written')",
    "tokenizer-pointer": "SELECT fts3_tokenizer('simple', x'00')",
    "begin": "BEGIN IMMEDIATE",
    "commit-insert": "COMMIT; INSERT INTO orders (id) VALUES (99)",
    "stacked": "SELECT 1; DELETE FROM orders",
    "stacked-behind-a-comment": "SELECT 1 /* ; */; DELETE FROM orders --",
    "insert": "INSERT INTO orders (id) VALUES (99)",
    "insert-returning": "INSERT INTO orders (id) VALUES (99) RETURNING id",
    "update": "UPDATE orders SET total = 0",
    "delete": "DELETE FROM orders",
    "with-insert": "WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT 99 FROM x",
    "temp-table": "CREATE TEMP TABLE orders (id)",
    "temp-view": "CREATE TEMP VIEW orders AS SELECT 1",
    "temp-trigger": "CREATE TEMP TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM orders; END",
    "virtual-table": "CREATE VIRTUAL TABLE t USING fts5(x)",
    "drop": "DROP TABLE orders",
    "alter": "ALTER TABLE orders RENAME TO gone",
    "reindex": "REINDEX",
    "analyze": "ANALYZE",
    "huge-zeroblob": "SELECT zeroblob(1000000000)",
    "huge-randomblob": "SELECT hex(randomblob(500000000))",
    "huge-printf": "SELECT printf('%.*c', 1000000000, 'x')",
    "huge-replace": "SELECT replace(name, '', 'x') FROM customers",
    "schema-table": "SELECT sql FROM sqlite_master",
    "hidden-table": "SELECT value FROM api_keys",
    "hidden-column": "SELECT password_hash FROM customers",
    "hidden-column-in-where": "SELECT id FROM customers WHERE password_hash LIKE 'f%'",
    "hidden-column-in-order": "SELECT id FROM customers ORDER BY password_hash",
    "hidden-column-by-star": "SELECT * FROM customers",
    "hidden-column-by-union": "SELECT id FROM orders UNION SELECT value FROM api_keys",
}

POSTGRES = {
    "commit-insert": "COMMIT; INSERT INTO public.orders (id) VALUES (99)",
    "set-transaction-read-write": "SET TRANSACTION READ WRITE; INSERT INTO public.orders (id) VALUES (99)",
    "rollback-begin": "ROLLBACK; BEGIN; DELETE FROM public.orders; COMMIT",
    "stacked": "SELECT 1; DELETE FROM public.orders",
    "stacked-behind-a-comment": "SELECT 1 /* ; */; DELETE FROM public.orders --",
    "commit": "COMMIT",
    "set-read-write-alone": "SET TRANSACTION READ WRITE",
    "set-session": "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "set-config-read-write": "SELECT set_config('transaction_read_only', 'off', false)",
    "set-role": "SET ROLE postgres",
    "set-authorization": "SET SESSION AUTHORIZATION postgres",
    "insert": "INSERT INTO public.orders (id) VALUES (99)",
    "insert-returning": "INSERT INTO public.orders (id) VALUES (99) RETURNING id",
    "with-insert": "WITH x AS (INSERT INTO public.orders (id) VALUES (99) RETURNING id) SELECT id FROM x",
    "update": "UPDATE public.orders SET total = 0",
    "delete": "DELETE FROM public.orders",
    "truncate": "TRUNCATE public.orders",
    "drop": "DROP TABLE public.orders",
    "create": "CREATE TABLE public.made (x int)",
    "temp-table": "CREATE TEMP TABLE orders (id int)",
    "select-into": "SELECT 1 AS x INTO made",
    "for-update": "SELECT id FROM public.orders FOR UPDATE",
    "do": "DO $$ BEGIN DELETE FROM public.orders; END $$",
    "call": "CALL nothing()",
    "prepare": "PREPARE p AS DELETE FROM public.orders",
    "explain-analyze": "EXPLAIN ANALYZE DELETE FROM public.orders",
    "lock": "LOCK TABLE public.orders",
    "listen": "LISTEN channel",
    "vacuum": "VACUUM",
    "checkpoint": "CHECKPOINT",
    "load": "LOAD 'auto_explain'",
    "copy-to-file": "COPY public.orders TO '/tmp/nr-llm-copied'",
    "copy-to-stdout": "COPY public.orders TO STDOUT",
    "copy-program": "COPY (SELECT 1) TO PROGRAM 'touch /tmp/nr-llm-copied'",
    "copy-from-program": "COPY public.orders FROM PROGRAM 'id'",
    "read-file": "SELECT pg_read_file('/etc/passwd')",
    "read-binary-file": "SELECT pg_read_binary_file('/etc/passwd')",
    "list-directory": "SELECT pg_ls_dir('/')",
    "stat-file": "SELECT pg_stat_file('/etc/passwd')",
    "large-object-import": "SELECT lo_import('/etc/passwd')",
    "large-object-export": "SELECT lo_export(1, '/tmp/nr-llm-copied')",
    "sequence": "SELECT nextval('public.numbers')",
    "terminate": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> current_user",
    "reload": "SELECT pg_reload_conf()",
    "shadow": "SELECT passwd FROM pg_shadow",
    "authid": "SELECT rolpassword FROM pg_authid",
}


@pytest.mark.parametrize("sql", SQLITE.values(), ids=SQLITE.keys())
def test_sqlite_refuses(sql: str, shop: Path, enter: Open) -> None:
    """The statement reads nothing, and nothing beside the database appears or changes."""
    before = shop.read_bytes()

    with pytest.raises((Refused, sqlite3.Error)):
        ask(enter(shop), sql)
    assert [path.name for path in shop.parent.iterdir()] == [shop.name]
    assert not [name for name in ("attached.db", "vacuumed.db", "written") if Path(name).exists()]
    assert shop.read_bytes() == before


SERVERS = frozenset(
    (
        "read-file",
        "read-binary-file",
        "list-directory",
        "stat-file",
        "terminate",
        "reload",
        "shadow",
        "authid",
        "large-object-import",
    ),
)
"""What a superuser may do in a transaction that only reads: that is why the tools refuse to be one."""

ROLES = [
    pytest.param(role, sql, id=f"{role}-{name}")
    for role in (READER, "postgres")
    for name, sql in POSTGRES.items()
    if role == READER or name not in SERVERS
]


@pytest.mark.parametrize(("role", "sql"), ROLES)
def test_postgres_refuses(role: str, sql: str, pg_shop: Postgres) -> None:
    """One statement that reads, or none: also where nothing but the transaction stands before the data."""
    from sqlalchemy.exc import DBAPIError

    with pytest.raises((Refused, Unfit, DBAPIError)):
        pg_shop.ask(sql, role=role)
    assert unchanged(pg_shop)
    assert not Path("/tmp/nr-llm-copied").exists()


UNDONE = {
    "large-object-create": "SELECT lo_create(0)",
    "large-object-from-bytes": "SELECT lo_from_bytea(0, 'x')",
    "notify": "SELECT pg_notify('channel', 'x')",
    "advisory-lock": "SELECT pg_advisory_lock(7)",
    "session-setting": "SELECT set_config('statement_timeout', '0', false)",
}


@pytest.mark.parametrize("role", [READER, "postgres"])
@pytest.mark.parametrize("sql", UNDONE.values(), ids=UNDONE.keys())
def test_postgres_undoes(sql: str, role: str, pg_shop: Postgres) -> None:
    """What a transaction that reads may do all the same is gone with it, or with its connection."""
    pg_shop.ask(sql, role=role)

    assert unchanged(pg_shop)
    until(lambda: pg_shop.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", grant=False) == "0")


def unchanged(database: Postgres) -> bool:
    """Return whether the shop is as it was made."""
    state = "SELECT count(*), sum(total), to_regclass('public.made'), (SELECT count(*) FROM pg_largeobject_metadata)"
    return database.run(f"{state} FROM orders", grant=False) == "3|34.75||0"


Call = Callable[..., ToolResult]


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest) -> Callable[[str], Call]:
    """Return what makes a database from a script, on each of the databases, and returns what calls a tool on it."""

    def make(script: str) -> Call:
        if request.param == "sqlite":
            settings = SqlSettings(database=request.getfixturevalue("make")(script), seconds=3_600.0)
        else:
            pg: Postgres = request.getfixturevalue("pg")
            pg.run(script)
            settings = pg.settings()
        tools = {each.name: each for each in sql_tools(settings)}
        return lambda name, **arguments: tools[name](context=ToolContext(tool=name), **arguments)

    return make


NAMES = {
    "quote": 'say "hi"',
    "quotes-that-close": 'x" FROM t; DROP TABLE t; --',
    "apostrophe": "it's",
    "backslash": "back\\slash\\",
    "percent": "100%",
    "pyformat": "%(param_1)s",
    "format": "%s",
    "question-mark": "?",
    "colon": ":param_1",
    "dollar": "$1",
    "postcompile": "__[POSTCOMPILE_param_1]",
    "braces": "{x}",
    "dot": "a.b",
    "keyword": "select",
    "capitals": "ORDER",
    "umlaut": "größe",
    "ideograph": "表",
    "semicolon": ";",
    "comment": "--",
    "star": "*",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_name_is_a_name(name: str, opened: Callable[[str], Call]) -> None:
    """Whatever stands in the name of a table or column, it names that one: read, filtered, searched, sorted."""
    quoted = '"' + name.replace('"', '""') + '"'
    call = opened(
        f"CREATE TABLE {quoted} (id int PRIMARY KEY, {quoted} text);INSERT INTO {quoted} VALUES (1, 'one'), (2, 'two')"
    )
    where = [Condition(name, "=", "two"), Condition(name, "contains", "wo")]
    found = call("search_records", table=name, text="tw", where=where, fields=[name], order=name)

    assert cells(found) == (["id", name], [["2", "two"]])
    assert cells(call("count_by", table=name, field=name))[0] == [name, "rows"]
    assert column(call("table_schema", table=name), "field") == ["id", name]


VALUES = {
    "or": "' OR '1'='1",
    "stacked": "'; DROP TABLE t; --",
    "backslash-quote": "\\'; DROP TABLE t; --",
    "dollar-quote": "$$; DROP TABLE t; $$",
    "pyformat": "%(param_1)s",
    "format": "%s%d%%",
    "wildcards": "%_%",
    "escaped-wildcards": "/%\\_",
    "placeholder": "? :x $1",
    "unicode": "ﬀ 表 İı 🦉",
    "cast": "1::int",
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_is_a_value(value: str, opened: Callable[[str], Call]) -> None:
    """Whatever stands in a value, it equals itself, is found as itself and does nothing."""
    stored = value.replace("'", "''")
    call = opened(
        f"CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, '{stored}'), (2, 'ab12'), (3, 'a/b_')"
    )

    assert column(call("read_records", table="t", filters={"v": value}), "id") == ["1"]
    assert column(call("search_records", table="t", text=value), "id") == ["1"]
    assert column(call("search_records", table="t", where=[Condition("v", "starts_with", value)]), "id") == ["1"]
    assert column(call("search_records", table="t", where=[Condition("v", "in", [value, "x"])]), "id") == ["1"]
    assert cells(call("count_by", table="t", where=[Condition("v", "!=", value)]))[1] == [["2"]]
    assert call("read_records", table=value).content == answers.NOT_PERMITTED
    assert call("count_by", table="t", field=value).content.startswith(answers.NO_FIELDS)
    assert call("read_records", table="t", order=value).content.startswith(answers.ORDER_NOT_PERMITTED)


@pytest.mark.parametrize("value", ["a\0b", "\0", "\ud800"], ids=["nul", "nul-alone", "half-a-character"])
def test_a_value_that_no_text_can_hold(value: str, opened: Callable[[str], Call]) -> None:
    """A NUL or half a character in a value is an answer, not an error."""
    call = opened("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")

    assert not call("read_records", table="t", filters={"v": value}).artifacts
    assert not call("search_records", table="t", text=f"a{value}").artifacts
    assert not call("search_records", table="t", where=[Condition("v", "=", value)]).artifacts
    assert not call("count_by", table="t", field="id", where=[Condition("v", "=", value)]).artifacts


PATTERNS = {"many-percents": "%a" * 50, "underscores": "_" * 100, "percents": "%" * 100, "globs": "[!a]*" * 20}


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
def test_a_pattern_is_no_pattern(text: str, opened: Callable[[str], Call]) -> None:
    """A text made to be an expensive pattern is a text that is not there."""
    call = opened(f"CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, '{'a' * 50_000}')")

    assert call("search_records", table="t", text=text).content == answers.NO_ROWS


def test_a_huge_cell_is_cut(opened: Callable[[str], Call]) -> None:
    """What is read of a huge text, and of a page of them, is what is shown."""
    rows = ", ".join(f"({i}, '{'x' * 40_000}')" for i in range(1, 60))
    call = opened(f"CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES {rows}")
    result = call("read_records", table="t", limit=50)

    assert {len(cell) for cell in column(result, "v")} == {301}
    assert len(result.content.encode()) < 50_000
    assert cells(call("count_by", table="t", field="v"))[1] == [["x" * 300 + "…", "59"]]


def test_a_huge_cell_stays_on_the_server(pg: Postgres) -> None:
    """Of a hundred megabytes only the beginning is fetched."""
    import sqlalchemy as sa
    from nr_llm_sql._catalogue import Field
    from nr_llm_sql._postgres.forms import PostgresForms

    pg.run("CREATE TABLE t (v text); INSERT INTO t SELECT repeat('x', 100000000)")
    value = PostgresForms({"v": Field(name="v", type="text", nullable=True, key=0)}).value(sa.column("v"))
    statement = sa.select(value).select_from(sa.table("t", schema="public"))

    assert [len(text) for [text] in pg.ask(str(statement.compile()))] == [4_097]


class TestSqliteFiles:
    def test_a_symlinked_database_is_read_and_nothing_is_written(self, shop: Path, tmp_path: Path) -> None:
        """A link leads to the database it names; neither beside it nor beside the link anything appears."""
        folder = tmp_path / "links"
        folder.mkdir()
        (folder / "linked.db").symlink_to(shop)
        before = shop.read_bytes()
        tools = {each.name: each for each in sql_tools(SqlSettings(database=folder / "linked.db"))}

        assert column(tools["read_records"](context=ToolContext(), table="orders"), "id") == ["4", "9", "11"]
        assert [path.name for path in folder.iterdir()] == ["linked.db"]
        assert shop.read_bytes() == before

    @pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero", "/dev/stdin", "nowhere"])
    def test_a_link_to_something_else_gives_nothing_away(self, target: str, tmp_path: Path) -> None:
        """A link to a device or to a text file is no database, and the message quotes nothing of it."""
        (tmp_path / "linked.db").symlink_to(target)
        tools = {each.name: each for each in sql_tools(SqlSettings(database=tmp_path / "linked.db"))}

        with pytest.raises(ToolError) as caught:
            tools["list_tables"](context=ToolContext())
        assert "root" not in str(caught.value)

    def test_an_endless_view_ends(self, make: Make) -> None:
        """A view that never ends meets the deadline of the call."""
        endless = ENDLESS.replace("SELECT count(*) FROM n", "SELECT i FROM n WHERE i < 0")
        path = make(f"CREATE VIEW v AS {endless}")
        tools = {each.name: each for each in sql_tools(SqlSettings(database=path, seconds=0.2))}

        with pytest.raises(ToolError, match="in time"):
            tools["read_records"](context=ToolContext(), table="v")


SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nr-llm-sql' AND wait_event = 'PgSleep'"


class TestPostgresTime:
    @pytest.mark.parametrize("body", ["SELECT 1 AS x FROM pg_sleep(3600)", ENDLESS], ids=["sleep", "recursion"])
    @pytest.mark.parametrize("tool", ["read_records", "search_records", "count_by"])
    def test_a_slow_view_ends(self, body: str, tool: str, pg: Postgres) -> None:
        """A view that takes for ever meets the deadline of the call."""
        pg.run(f"CREATE VIEW slow AS {body}")

        with pytest.raises(ToolError, match="in time"):
            pg.call(tool, {"table": "slow"}, tables=["slow"], seconds=0.3)

    def test_a_statement_that_ends_nowhere_is_stopped(self, pg_shop: Postgres) -> None:
        """A statement meets the deadline whatever it is."""
        with pytest.raises(Halted):
            pg_shop.ask(ENDLESS, seconds=0.2)

    def test_a_cancelled_run_stops_the_server(self, pg: Postgres) -> None:
        """A cancelled run ends the call as cancelled and the statement on the server."""
        pg.run("CREATE VIEW slow AS SELECT 1 AS x FROM pg_sleep(3600)")
        cancelled = Cancellation()

        def cancel() -> None:
            try:
                until(lambda: pg.run(SLEEPING, grant=False) == "1")
            finally:
                cancelled.cancel("enough")

        other = threading.Thread(target=cancel)
        other.start()
        with pytest.raises(RunCancelledError, match="enough"):
            pg.read("slow", settings={"tables": ["slow"], "seconds": 3600, "context": ToolContext(cancelled=cancelled)})
        other.join()
        until(lambda: pg.run(SLEEPING, grant=False) == "0")

    def test_a_lock_is_not_waited_for(self, pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """A table that another program keeps to itself is given up long before the call's own end."""
        import psycopg
        from nr_llm_sql._postgres import connection

        monkeypatch.setattr(connection, "LOCK_SECONDS", 0.05)
        pg.run("CREATE TABLE t (id int PRIMARY KEY)")
        with psycopg.connect(pg.server.dsn(pg.name)) as other:
            other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(ToolError, match="locked by another program"):
                pg.read("t", settings={"seconds": 3600})
            assert column(pg.call("list_tables", seconds=3600), "rows") == ["not counted"]

    def test_the_server_is_told_when_to_stop(self, pg_shop: Postgres) -> None:
        """Time limits and the rest are the server's, for this transaction."""
        names = ("lock_timeout", "idle_in_transaction_session_timeout", "transaction_read_only", "search_path")
        [found] = pg_shop.ask("SELECT " + ", ".join(f"current_setting('{name}')" for name in names), seconds=9)

        assert found == ("1s", "30s", "on", "pg_catalog, pg_temp")


WRITER = """
CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1);
CREATE FUNCTION sneak() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN {body} RETURN 1; END $$;
CREATE VIEW v AS SELECT sneak() AS x
"""


class TestPostgresCode:
    @pytest.mark.parametrize(
        "body",
        [
            "INSERT INTO public.t VALUES (2);",
            "SET TRANSACTION READ WRITE; INSERT INTO public.t VALUES (2);",
            "PERFORM set_config('transaction_read_only', 'off', false); INSERT INTO public.t VALUES (2);",
            "SET LOCAL transaction_read_only = off; INSERT INTO public.t VALUES (2);",
            "CREATE TABLE public.made (x int);",
            "PERFORM nextval('public.s');",
            "COMMIT;",
        ],
        ids=["insert", "read-write", "set-config", "set-local", "create", "sequence", "commit"],
    )
    def test_a_view_that_writes_writes_nothing(self, body: str, pg: Postgres) -> None:
        """A view is read if the host names it; what its functions try to write is refused by the transaction."""
        pg.run("CREATE SEQUENCE s;" + WRITER.format(body=body))

        assert pg.read("v").content == answers.NOT_PERMITTED
        with suppress(ToolError):
            assert not pg.read("v", settings={"tables": ["v"]}).artifacts
        assert pg.run("SELECT count(*), to_regclass('made'), (SELECT is_called FROM s) FROM t", grant=False) == "1||f"

    def test_a_message_is_never_sent(self, pg: Postgres) -> None:
        """A notification can be made in a transaction that reads; since that is rolled back, nobody hears of it."""
        import psycopg

        pg.run("CREATE VIEW v AS SELECT CAST(pg_notify('channel', 'secret') AS text) AS x")
        with psycopg.connect(pg.server.dsn(pg.name), autocommit=True) as other:
            other.execute("LISTEN channel")
            pg.read("v", settings={"tables": ["v"]})
            other.execute("NOTIFY channel, 'end'")

            assert next(other.notifies(stop_after=1)).payload == "end"

    def test_a_search_path_changes_nothing(self, pg: Postgres) -> None:
        """Neither tables nor functions nor operators of another schema stand in for what is meant."""
        pg.run(
            SHOP + "; CREATE SCHEMA evil; CREATE TABLE evil.orders (id int PRIMARY KEY, total text);"
            "INSERT INTO evil.orders VALUES (666, 'evil');"
            "CREATE FUNCTION evil.left(text, int) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$;"
            "CREATE FUNCTION evil.same(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;"
            "CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.same);"
            f"GRANT USAGE ON SCHEMA evil TO {READER}; GRANT SELECT ON evil.orders TO {READER};"
            f"ALTER ROLE {READER} IN DATABASE {pg.name} SET search_path = evil, pg_catalog, public"
        )

        assert column(pg.read("orders", filters={"status": "sent"}), "id") == ["11"]
        assert pg.read("evil.orders").content == answers.NOT_PERMITTED

    def test_a_role_s_own_settings_change_nothing(self, pg: Postgres) -> None:
        """Whatever a role begins a session with, the transaction begins with ours."""
        theirs = {"row_security": "off", "timezone": "'Asia/Tokyo'", "datestyle": "'German'", "statement_timeout": "0"}
        sets = ";".join(f"ALTER ROLE {READER} IN DATABASE {pg.name} SET {name} = {theirs[name]}" for name in theirs)
        pg.run(
            "CREATE TABLE t (id int PRIMARY KEY, at timestamptz); INSERT INTO t VALUES (1, '2026-01-02 03:00+00');"
            f"ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (id > 0); {sets}"
        )

        assert column(pg.read("t"), "at") == ["2026-01-02 03:00:00+00"]


class TestPostgresRows:
    def test_row_security_holds_for_every_tool(self, pg: Postgres) -> None:
        """Rows that a policy hides are neither read nor found nor counted."""
        pg.run(
            "CREATE TABLE t (id int PRIMARY KEY, owner text, note text);"
            f"INSERT INTO t VALUES (1, '{READER}', 'mine'), (2, 'other', 'theirs');"
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (owner = current_user)"
        )

        assert column(pg.read("t"), "id") == ["1"]
        assert pg.search("t", "theirs").content == answers.NO_ROWS
        assert cells(pg.count("t"))[1] == [["1"]]
        assert column(pg.call("list_tables"), "rows") == ["1"]

    def test_every_statement_is_one(self, pg_shop: Postgres) -> None:
        """Every statement has parameters or is a cursor's, so that none is a simple query, which could hold two."""
        import sqlalchemy as sa

        simple = []

        def look(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            if not parameters and not type(cursor).__name__.startswith("Server"):
                simple.append(statement)

        sa.event.listen(sa.Engine, "before_cursor_execute", look)
        try:
            pg_shop.call("list_tables")
            pg_shop.call("table_schema", {"table": "orders"})
            pg_shop.read("orders")
            pg_shop.search("orders", "open")
            pg_shop.count("orders", "status")
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", look)
        assert {statement.split()[0] for statement in simple} <= {"SAVEPOINT", "RELEASE", "ROLLBACK"}

    def test_nothing_is_left_behind(self, pg_shop: Postgres) -> None:
        """No connection outlives its call."""
        pg_shop.read("orders")
        count = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{pg_shop.name}' AND usename = '{READER}'"

        until(lambda: pg_shop.server.psql(count) == "0")


PASSWORD = "c0rrect-h0rse"
ADDRESSES = {
    "unreachable": f"postgresql://role:{PASSWORD}@127.0.0.1:1/shop",
    "no-such-host": f"postgresql://role:{PASSWORD}@nowhere.invalid/shop",
    "bad-port": f"postgresql://role:{PASSWORD}@host:port/shop",
    "port-is-password": f"postgresql://role@host:{PASSWORD}/shop",
    "bad-option": f"postgresql://role:{PASSWORD}@127.0.0.1:1/shop?nonsense={PASSWORD}",
    "bad-percent": f"postgresql://role:%zz{PASSWORD}@127.0.0.1:1/shop",
    "no-slash": f"postgresql://{PASSWORD}",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_a_password_is_told_to_nobody(address: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the settings nor the error, its traceback or the log show the password."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: psycopg[binary]")
    settings = SqlSettings(url=address, seconds=3)
    tools = {each.name: each for each in sql_tools(settings)}

    with caplog.at_level(logging.DEBUG), pytest.raises(NrLlmError, match="NR_LLM_SQL_URL") as caught:
        tools["list_tables"](context=ToolContext())
    assert PASSWORD not in repr(settings) + str(caught.value) + caplog.text
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
