"""What the tools answer on PostgreSQL."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from nr_llm import Runtime
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.errors import InvalidValueError, RunCancelledError, ToolError
from nr_llm_sql import SqlSettings, sql_tools
from nr_llm_sql import _answers as answers

from tests.plugins.sql.databases import cells, column
from tests.plugins.sql.postgres import READER, SHOP, Postgres, database
from tests.postgres import PostgresServer
from tests.support import ROOT

TOKEN = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
"""A text that is masked by its shape, whatever the column is called."""


class TestListing:
    def test_tables(self, pg_shop: Postgres) -> None:
        """One line per table, drawn from the artifact's cells; a credential's table is none."""
        result = pg_shop.call("list_tables")

        assert result.content == "2 tables\ntable | kind | rows\ncustomers | table | 3\norders | table | 3"
        assert cells(result)[1] == [["customers", "table", "3"], ["orders", "table", "3"]]

    def test_no_tables(self, pg: Postgres) -> None:
        """An empty database is a sentence."""
        assert pg.call("list_tables").content == answers.NO_TABLES

    def test_many_rows_are_counted_up_to_a_bound(self, pg: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """A large table is not read through only to count it."""
        from nr_llm_sql._postgres import session

        monkeypatch.setattr(session, "COUNTED_ROWS", 4)
        pg.run("CREATE TABLE a AS SELECT generate_series(1, 4); CREATE TABLE b AS SELECT generate_series(1, 5)")

        assert column(pg.call("list_tables"), "rows") == ["4", "more than 4"]

    def test_late_tables_are_listed_uncounted(self, pg_shop: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the time is up the rest is listed without numbers."""
        from nr_llm_sql._stops import Halt

        monkeypatch.setattr(Halt, "due", lambda halt: True)

        assert column(pg_shop.call("list_tables"), "rows") == ["not counted", "not counted"]

    def test_a_cancelled_run_gets_no_list(self, pg_shop: Postgres) -> None:
        """A cancelled run ends as cancelled."""
        cancelled = Cancellation()
        cancelled.cancel("enough")

        with pytest.raises(RunCancelledError, match="enough"):
            pg_shop.call("list_tables", context=ToolContext(cancelled=cancelled))

    def test_other_schemas_are_named(self, pg: Postgres) -> None:
        """Tables of the first schema go by their name, those of others by both; what is not named is not there."""
        pg.run(
            "CREATE TABLE a (id int PRIMARY KEY); CREATE SCHEMA sales; CREATE SCHEMA staff;"
            "CREATE TABLE sales.a (id int PRIMARY KEY); CREATE TABLE staff.a (id int PRIMARY KEY);"
            "INSERT INTO sales.a VALUES (7);"
            f"GRANT USAGE ON SCHEMA sales, staff TO {READER}; GRANT SELECT ON sales.a, staff.a TO {READER}"
        )
        settings: dict[str, Any] = {"schemas": ["public", "sales"]}

        assert column(pg.call("list_tables", **settings), "table") == ["a", "sales.a"]
        assert column(pg.read("sales.a", settings=settings), "id") == ["7"]
        assert pg.read("staff.a", settings=settings).content == answers.NOT_PERMITTED
        assert pg.read("sales.a").content == answers.NOT_PERMITTED

    def test_fields(self, pg: Postgres) -> None:
        """Type, nullable, key and reference come from the server; references to what is hidden are hidden."""
        pg.run(
            "CREATE TABLE people (id int PRIMARY KEY, token text UNIQUE); CREATE TABLE secrets (id int PRIMARY KEY);"
            "CREATE TABLE t (a int, b int REFERENCES people, c text REFERENCES people (token),"
            " d int REFERENCES secrets, e varchar(20) NOT NULL, PRIMARY KEY (b, a))"
        )
        result = pg.call("table_schema", {"table": "t"})

        assert [" | ".join(row) for row in cells(result)[1]] == [
            "a | integer | no | 2 | ",
            "b | integer | no | 1 | people.id",
            "c | text | yes |  | ",
            "d | integer | yes |  | ",
            "e | character varying(20) | no |  | ",
        ]


class TestValues:
    @pytest.mark.parametrize(
        ("kind", "value", "shown"),
        [
            ("numeric(30,10)", "12345678901234567890.1", "12345678901234567890.1000000000"),
            ("numeric", "'NaN'", "NaN"),
            ("double precision", "0.1", "0.1"),
            ("bigint", "9223372036854775807", "9223372036854775807"),
            ("timestamptz", "'2026-01-31 10:00:00.123456+02'", "2026-01-31 08:00:00.123456+00"),
            ("timestamp", "'2026-01-31 10:00'", "2026-01-31 10:00:00"),
            ("timestamptz", "'infinity'", "infinity"),
            ("date", "'0044-03-15 BC'", "0044-03-15 BC"),
            ("interval", "'1 day 2 hours'", "1 day 02:00:00"),
            ("boolean", "true", "true"),
            ("bytea", "'\\x00ff00'", "<3 bytes>"),
            ("blob", "'\\x00ff00'", "<3 bytes>"),
            ("text", "NULL", "null"),
            ("bytea", "NULL", "null"),
            ("text", "''", ""),
            ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            ("jsonb", """'{"a": [1, null]}'""", '{"a": [1, null]}'),
            ("text[]", "'{a,NULL,\"b c\"}'", '{a,NULL,"b c"}'),
            ("mood", "'glad'", "glad"),
            ("int4range", "'[1,5)'", "[1,5)"),
            ("text", "E'two\\n lines\\x01'", "two lines\ufffd"),
        ],
    )
    def test_are_shown_exactly(self, kind: str, value: str, shown: str, pg: Postgres) -> None:
        """Each value is the server's own text of it; binary data is told by its size; null is not empty."""
        pg.run(
            "CREATE TYPE mood AS ENUM ('glad'); CREATE DOMAIN inner_blob AS bytea; CREATE DOMAIN blob AS inner_blob;"
            f"CREATE TABLE t (id int PRIMARY KEY, v {kind}); INSERT INTO t VALUES (1, {value})"
        )

        assert column(pg.read("t"), "v") == [shown]

    def test_of_a_database_without_an_encoding(self, postgres_server: PostgresServer) -> None:
        """Bytes that are no UTF-8 are shown as such instead of failing."""
        pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: psycopg[binary]")
        table = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, E'a\\xffb'), (2, 'ü')"
        with database(postgres_server, "sql_ascii", table, encoding="SQL_ASCII") as pg:
            assert column(pg.read("t"), "v") == ["a\ufffdb", "ü"]
            assert column(pg.read("t", filters={"v": "ü"}), "id") == ["2"]

    def test_a_secret_is_masked(self, pg: Postgres) -> None:
        """Credentials in cells are masked by their shape, in text and table."""
        pg.run(f"CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'login {TOKEN}')")
        result = pg.read("t")

        assert TOKEN not in result.content + str(cells(result))


FITTING = """
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TABLE t (
    id int PRIMARY KEY, size numeric, ratio float8, day date, at timestamptz, yes boolean, mood mood, data json,
    word text, span int4range
);
INSERT INTO t VALUES
    (1, 10, 0.5, '2026-01-31', '2026-01-31 10:00+00', true, 'glad', '{}', '2026-01-31'),
    (2, 20.50, 1.5, '2026-02-01', NULL, false, 'sad', '{}', 'soon'),
    (3, NULL, NULL, NULL, '2026-02-01 00:00+00', NULL, NULL, NULL, NULL)
"""


class TestConditions:
    @pytest.mark.parametrize(
        ("where", "ids"),
        [
            (("id", "=", "2"), ["2"]),
            (("id", "=", 2.0), ["2"]),
            (("size", "=", 20.5), ["2"]),
            (("size", "!=", 10), ["2", "3"]),
            (("size", "!=", None), ["1", "2"]),
            (("size", "=", None), ["3"]),
            (("yes", "=", True), ["1"]),
            (("yes", "=", "f"), ["2"]),
            (("mood", "=", "sad"), ["2"]),
            (("mood", "contains", "GLA"), ["1"]),
            (("day", "=", "2026-02-01"), ["2"]),
            (("id", "in", [1, "3", 99]), ["1", "3"]),
            (("size", ">", 10), ["2"]),
            (("ratio", "<=", 0.5), ["1"]),
            (("day", ">", "2026-01-31"), ["2"]),
            (("at", ">=", "2026-02-01T00:00Z"), ["3"]),
            (("word", "<", "2027-01"), ["1"]),
            (("word", "starts_with", "SO"), ["2"]),
        ],
    )
    def test_compare_as_the_column_does(self, where: tuple[Any, ...], ids: list[str], pg: Postgres) -> None:
        """A value is read as one of the column's type."""
        pg.run(FITTING)

        assert column(pg.search("t", "", where), "id") == ids

    @pytest.mark.parametrize(
        "where",
        [
            ("id", "=", "two"),
            ("id", "=", 1.5),
            ("id", "=", 2**40),
            ("id", ">", "2026-01-01"),
            ("id", "contains", "12"),
            ("yes", ">", 1),
            ("word", ">", 1),
            ("day", ">", 1),
            ("day", ">", "2026-13"),
            ("mood", "=", "angry"),
            ("data", "=", "{}"),
            ("span", "=", "x"),
        ],
    )
    def test_that_do_not_fit_are_an_answer(self, where: tuple[Any, ...], pg: Postgres) -> None:
        """A value that is none of the column's type is said to be so, with the fields there are."""
        pg.run(FITTING)

        for result in (pg.search("t", "", where), pg.count("t", None, where)):
            assert result.content.startswith((answers.UNFIT, answers.COUNT_NOT_PERMITTED))
            assert "The readable fields are: id, size" in result.content

    def test_an_order_that_does_not_exist(self, pg: Postgres) -> None:
        """A column without an order cannot be sorted by."""
        pg.run(FITTING)

        assert pg.read("t", order="data").content.startswith(answers.UNFIT)
        assert column(pg.read("t", order="size desc", filters={"data": None}), "id") == ["3"]

    def test_texts_alone_are_searched(self, pg: Postgres) -> None:
        """A text is looked for in columns of text, and a table may have none."""
        pg.run(f"{FITTING}; CREATE TABLE n (id int PRIMARY KEY); INSERT INTO n VALUES (10)")

        assert column(pg.search("t", "2026-01"), "id") == ["1"]
        assert pg.search("n", "10").content.startswith(answers.NO_TEXTS)

    @pytest.mark.parametrize("length", [4, 10, len(TOKEN)])
    def test_a_masked_secret_cannot_be_guessed(self, length: int, pg: Postgres) -> None:
        """A right and a wrong beginning of a secret give the same answer."""
        pg.run(f"CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, '{TOKEN}')")
        guesses = (TOKEN[:length], TOKEN[: length - 1] + "~")

        found = {pg.search("t", guess).content for guess in guesses}
        found |= {pg.search("t", "", ("v", "starts_with", guess)).content for guess in guesses}
        assert found == {answers.NO_ROWS}


class TestPages:
    def test_follow_each_other(self, pg: Postgres) -> None:
        """Rows come by their key, page by page, whatever order they were written in."""
        pg.run("CREATE TABLE t (a int, b text, PRIMARY KEY (b, a)); INSERT INTO t VALUES (2, 'x'), (1, 'y'), (1, 'x')")
        first, second = pg.read("t", limit=2), pg.read("t", limit=2, offset=2)

        assert (cells(first), cells(second)[1]) == ((["b", "a"], [["x", "1"], ["x", "2"]]), [["y", "1"]])
        assert first.content.endswith("go on with offset 2.")

    def test_of_a_table_without_a_key(self, pg: Postgres) -> None:
        """Without a key rows are sorted letter by letter, so that none comes twice."""
        pg.run("CREATE TABLE t (a text, b json); INSERT INTO t VALUES ('b', '1'), ('B', '2'), ('a', '1'), ('b', '0')")

        assert cells(pg.read("t"))[1] == [["B", "2"], ["a", "1"], ["b", "0"], ["b", "1"]]

    def test_counts(self, pg: Postgres) -> None:
        """Values are counted as they are shown; binary data by its size, null apart from empty."""
        pg.run(
            "CREATE TABLE t (v text, d bytea); INSERT INTO t VALUES"
            " ('a', '\\x00'), ('a', '\\x01'), ('', NULL), (NULL, NULL), ('b', '\\x0102')"
        )

        assert cells(pg.count("t", "v"))[1] == [["a", "2"], ["", "1"], ["b", "1"], ["null", "1"]]
        assert sorted(cells(pg.count("t", "d"))[1]) == [["<1 bytes>", "2"], ["<2 bytes>", "1"], ["null", "2"]]
        assert cells(pg.count("t", None, ("v", "=", "a")))[1] == [["2"]]


class TestNames:
    def test_capitals_may_be_left_out_where_that_is_clear(self, pg: Postgres) -> None:
        """A name is taken exactly, else without regard to capitals if only one is meant."""
        pg.run(
            """
            CREATE TABLE "Orders" (id int PRIMARY KEY, "Word" text, word text);
            CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE "Other" (id int PRIMARY KEY);
            INSERT INTO "Orders" VALUES (1, 'x', 'y'); INSERT INTO orders VALUES (2); INSERT INTO "Other" VALUES (3)
            """
        )

        assert [column(pg.read(name), "id") for name in ("Orders", "orders", "OTHER")] == [["1"], ["2"], ["3"]]
        assert pg.read("ORDERS").content == answers.NOT_PERMITTED
        assert cells(pg.read("Orders", filters={"Word": "x", "word": "y"}, fields=["word"])) == (
            ["id", "word"],
            [["1", "y"]],
        )

    def test_names_that_do_not_read_the_same_are_not_there(self, pg: Postgres) -> None:
        """A name that draws rows of its own or hides characters is offered to nobody."""
        pg.run('CREATE TABLE "two\nlines" (id int); CREATE TABLE t (id int PRIMARY KEY, "zero\u200bwidth" text)')

        assert column(pg.call("list_tables"), "table") == ["t"]
        assert column(pg.call("table_schema", {"table": "t"}), "field") == ["id"]


class TestReferences:
    """Records that a few records point to come with them."""

    def test_what_a_record_points_to_is_told(self, pg_shop: Postgres) -> None:
        """Its key and the fields that may be seen."""
        content = pg_shop.read("orders", filters={"id": 9}).content

        assert content.splitlines()[-1] == "customer 2 is customers:2 (name: Ben, city: null)"

    def test_nothing_and_what_fails_leave_the_record(self, pg: Postgres) -> None:
        """A null is not asked for, and what fails ends neither the answer nor what was told before."""
        pg.run(
            "CREATE TABLE a (id int PRIMARY KEY, x text); INSERT INTO a VALUES (1, 'one');"
            "CREATE TABLE c (id text PRIMARY KEY); INSERT INTO c VALUES ('long' || repeat('x', 400));"
            "CREATE TABLE b (id int PRIMARY KEY, n int REFERENCES a, t text REFERENCES c, m int REFERENCES a);"
            "INSERT INTO b SELECT 1, null, id, 1 FROM c"
        )

        content = pg.read("b").content

        assert content.splitlines()[-1] == "m 1 is a:1 (x: one)"
        assert content.count(" is ") == 1

    def test_what_may_not_be_seen_is_not_followed(self, pg_shop: Postgres) -> None:
        """A denied table is none."""
        content = pg_shop.read("orders", filters={"id": 9}, settings={"denied_tables": ["customers"]}).content

        assert " is customers" not in content


class TestFailures:
    def test_a_database_that_is_not_there(self, pg_shop: Postgres, caplog: pytest.LogCaptureFixture) -> None:
        """The message names the setting, not the address."""
        tools = {tool.name: tool for tool in sql_tools(SqlSettings(url=pg_shop.server.dsn("nowhere", role=READER)))}

        with caplog.at_level(logging.WARNING), pytest.raises(ToolError, match="cannot be reached") as caught:
            tools["list_tables"](context=ToolContext())
        assert "NR_LLM_SQL_URL" in str(caught.value)
        assert "nowhere" not in str(caught.value) + caplog.text

    def test_a_driver_that_is_not_there(self, pg_shop: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the driver the message says how to get it."""
        monkeypatch.setitem(sys.modules, "psycopg", None)

        with pytest.raises(ToolError, match=r"nr-llm-sql\[postgresql\]"):
            pg_shop.read("orders")

    def test_a_policy_that_fails_is_no_answer(self, pg: Postgres) -> None:
        """What nobody foresaw is one plain sentence; the log has the server's code."""
        pg.run("CREATE VIEW v AS SELECT CAST(current_setting('nowhere.at_all') AS text) AS x")

        with pytest.raises(ToolError, match=r"^The database could not be read\. The log says more\.$"):
            pg.read("v", settings={"tables": ["v"]})

    def test_a_table_that_fails_is_listed_uncounted(self, pg: Postgres) -> None:
        """One table that cannot be counted takes no other with it."""
        pg.run(
            "CREATE TABLE a (x int); CREATE TABLE b (x int); INSERT INTO a VALUES (0); INSERT INTO b VALUES (1);"
            "ALTER TABLE a ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON a USING (1 / x > 0)"
        )

        assert cells(pg.call("list_tables"))[1] == [["a", "table", "not counted"], ["b", "table", "1"]]

    def test_a_list_that_is_cancelled_halfway_ends(self, pg_shop: Postgres) -> None:
        """Between two tables a cancelled run ends."""
        from nr_llm_sql._session import session

        cancelled = Cancellation()
        context = ToolContext(cancelled=cancelled)
        with pytest.raises(RunCancelledError), session(pg_shop.settings(), context) as opened:
            for _ in opened.counted():
                cancelled.cancel()

    def test_slow_rows_are_stopped_between_rows(self, pg_shop: Postgres) -> None:
        """Rows that the server has sent already are not read past the end of the call, nor is a statement begun."""
        import sqlalchemy as sa
        from nr_llm_sql._postgres.connection import PostgresReader, connected
        from nr_llm_sql._stops import Halt, Halted

        times = [0.0]
        halt = Halt(lambda: False, deadline=9, clock=lambda: times[0])
        with connected(pg_shop.settings(), halt, Cancellation()) as connection:
            reader = PostgresReader(connection, halt)
            with pytest.raises(Halted):
                for _ in reader.rows(sa.text("SELECT id FROM public.orders")):
                    times[0] = 10.0
            with pytest.raises(Halted):
                next(reader.rows(sa.text("SELECT 1")))

    def test_a_newer_server_bounds_the_transaction_too(self) -> None:
        """From PostgreSQL 17 on the whole transaction has an end."""
        pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: psycopg[binary]")
        from nr_llm_sql._postgres.connection import _times
        from nr_llm_sql._stops import Halt

        halt = Halt(lambda: False, deadline=9, clock=lambda: 0.0)
        assert (_times(halt, 169_999).get("transaction_timeout"), _times(halt, 170_000)["transaction_timeout"]) == (
            None,
            "39000",
        )

    def test_time_that_is_up_before_the_call(self, pg_shop: Postgres) -> None:
        """A call past its time says so."""
        with pytest.raises(ToolError, match="in time"):
            pg_shop.read("orders", settings={"context": ToolContext(deadline=0.0)})


class TestReadme:
    def test_the_role_it_makes_reads_and_does_nothing_else(self, pg: Postgres) -> None:
        """The statements that the page shows make a role that the tools accept."""
        page = (ROOT / "plugins/sql/README.md").read_text(encoding="utf-8")
        shown = page.split("```text\n")[1].split("```")[0]
        pg.run(SHOP)
        pg.run(f"DROP ROLE IF EXISTS shop_reader; {shown}", grant=False)
        try:
            settings: dict[str, Any] = {"role": "shop_reader"}
            assert column(pg.call("list_tables", **settings), "table") == ["customers", "orders"]
            assert column(pg.read("orders", settings=settings), "id") == ["4", "9", "11"]
        finally:
            pg.run("DROP OWNED BY shop_reader; DROP ROLE shop_reader", grant=False)


class TestSettings:
    def test_a_variable_sets_it_up(self, pg_shop: Postgres) -> None:
        """In a host one variable is enough."""
        import nr_llm_sql
        from nr_llm._host import PluginHost

        environ = {"NR_LLM_SQL_URL": pg_shop.server.dsn(pg_shop.name, role=READER), "NR_LLM_SQL_SECONDS": "3600"}
        with PluginHost({"sql": nr_llm_sql}, environ=environ) as host:
            with Runtime(tools=[registered.tool for registered in host.tools()]) as runtime:
                result = runtime.call("read_records", {"table": "customers", "filters": {"city": "Leipzig"}})

        assert cells(result) == (["id", "name", "city"], [["1", "Ada", "Leipzig"], ["3", "Cem", "Leipzig"]])

    @pytest.mark.parametrize(
        ("settings", "path"),
        [
            ({"url": "mysql://role:secret@host/db"}, "url"),
            ({"url": "role:secret@host/db"}, "url"),
            ({"url": "postgresql://host/db", "database": "shop.db"}, "url"),
            ({"schemas": []}, "schemas"),
            ({"schemas": ["public", ""]}, r"schemas\[1\]"),
            ({"schemas": ["pg_catalog"]}, r"schemas\[0\]"),
            ({"schemas": ["information_schema"]}, r"schemas\[0\]"),
        ],
    )
    def test_that_cannot_be(self, settings: dict[str, Any], path: str) -> None:
        """Another kind of address, two databases, schemas of the system: refused by the setting's name."""
        with pytest.raises(InvalidValueError, match=path) as caught:
            SqlSettings(**settings)
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize("url", [None, ""])
    def test_no_address_is_none(self, url: str | None) -> None:
        """An empty address is a missing one."""
        assert SqlSettings(url=url).url is None
