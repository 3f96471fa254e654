"""What may be read in PostgreSQL: by the settings, by what lies behind a table, and by the role."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import ToolError
from nr_llm_sql import _answers as answers

from tests.plugins.sql.databases import cells, column
from tests.plugins.sql.postgres import READER, Postgres

STAFF = """
CREATE TABLE staff (id int PRIMARY KEY, name text, salary int, password text);
INSERT INTO staff VALUES (1, 'Ada', 9, 'x');
"""


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "tables"),
        [
            ({}, ["customers", "orders"]),
            ({"tables": ["orders"]}, ["orders"]),
            ({"tables": ["public.orders"]}, ["orders"]),
            ({"tables": ["ORDERS"]}, []),
            ({"tables": ["orders", "api_keys"]}, ["api_keys", "orders"]),
            ({"denied_tables": ["ORDERS"]}, ["customers"]),
            ({"denied_tables": ["public.orders"]}, ["customers"]),
            ({"denied_tables": ["orders"], "tables": ["orders"]}, []),
        ],
    )
    def test_tables(self, settings: dict[str, Any], tables: list[str], pg_shop: Postgres) -> None:
        """An allow is exact, a deny takes no account of capitals and wins."""
        result = pg_shop.call("list_tables", **settings)

        assert (column(result, "table") if tables else result.content) == (tables or answers.NO_TABLES)

    @pytest.mark.parametrize("denied", ["city", "CITY", "customers.city", "public.customers.City"])
    def test_columns(self, denied: str, pg_shop: Postgres) -> None:
        """A denied column is not there: not shown, not filtered, not sorted by, not counted."""
        settings = {"denied_columns": [denied]}

        assert cells(pg_shop.read("customers", settings=settings))[0] == ["id", "name"]
        refused = pg_shop.read("customers", filters={"city": "Leipzig"}, settings=settings)
        assert refused.content.startswith(answers.FILTER_NOT_PERMITTED)
        assert pg_shop.read("customers", order="city", settings=settings).content.startswith(
            answers.ORDER_NOT_PERMITTED
        )
        assert pg_shop.count("customers", "city", **settings).content.startswith(answers.NO_FIELDS)

    def test_a_key_that_nobody_sees_orders_nothing(self, pg: Postgres) -> None:
        """Where the key is hidden its other columns identify nothing."""
        pg.run("CREATE TABLE t (a int, token int, PRIMARY KEY (a, token)); INSERT INTO t VALUES (1, 1), (1, 2)")

        assert pg.read("t").content == "t: 2 rows from offset 0\nt #1\n  a: 1\nt #2\n  a: 1"


class TestViews:
    def test_are_read_if_they_are_named(self, pg: Postgres) -> None:
        """A view can run functions that nobody sees: it is there if the host names it, of whatever it reads."""
        pg.run(STAFF + "CREATE VIEW phones AS SELECT id, name FROM staff; CREATE MATERIALIZED VIEW kept AS TABLE staff")

        assert column(pg.call("list_tables"), "table") == ["staff"]
        named = {"tables": ["phones", "kept"]}
        assert cells(pg.call("list_tables", **named))[1] == [[n, "view", "not counted"] for n in ("kept", "phones")]
        assert column(pg.read("phones", settings=named), "name") == ["Ada"]
        assert cells(pg.read("kept", settings=named))[0] == ["id", "name", "salary"]

    @pytest.mark.parametrize(
        "view",
        [
            "SELECT id, salary AS x FROM staff",
            "SELECT id FROM staff WHERE salary > 5",
            "SELECT id FROM staff ORDER BY salary",
            "SELECT row_to_json(staff)::text AS x FROM staff",
            "SELECT s::text AS x FROM staff AS s",
            "SELECT id FROM inner_view",
        ],
        ids=["renamed", "where", "order", "whole-row", "row-as-text", "view-of-a-view"],
    )
    def test_of_a_denied_column_are_none(self, view: str, pg: Postgres) -> None:
        """A deny holds through every view, however it names the column."""
        pg.run(f"{STAFF}; CREATE VIEW inner_view AS SELECT id, salary FROM staff; CREATE VIEW v AS {view}")
        named = {"tables": ["v"]}

        assert pg.read("v", settings=named).artifacts
        for denied in ("staff.salary", "salary", "PUBLIC.STAFF.SALARY"):
            assert pg.read("v", settings=named | {"denied_columns": [denied]}).content == answers.NOT_PERMITTED

    def test_of_a_denied_table_are_none(self, pg: Postgres) -> None:
        """A deny of a table holds through every view, one that reads no column of it included."""
        pg.run(f"{STAFF}; CREATE VIEW w AS SELECT count(*) AS n FROM staff; CREATE VIEW v AS SELECT n FROM w")

        assert column(pg.read("v", settings={"tables": ["v"]}), "n") == ["1"]
        refused = pg.read("v", settings={"tables": ["v"], "denied_tables": ["staff"]})
        assert refused.content == answers.NOT_PERMITTED

    def test_of_other_columns_are_read(self, pg: Postgres) -> None:
        """A deny of a column hides no view that leaves it alone."""
        pg.run(f"{STAFF}; CREATE VIEW v AS SELECT id, name FROM staff")

        assert column(pg.read("v", settings={"tables": ["v"], "denied_columns": ["staff.salary"]}), "name") == ["Ada"]


FOREIGN = "CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER other FOREIGN DATA WRAPPER elsewhere;"


class TestBehind:
    def test_partitions_are_read_as_one(self, pg: Postgres) -> None:
        """A partitioned table is one table."""
        pg.run(
            "CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);"
            "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (10); INSERT INTO t VALUES (1, 'a')"
        )

        assert cells(pg.call("list_tables"))[1] == [["t", "table", "1"]]
        assert column(pg.read("t"), "v") == ["a"]

    @pytest.mark.parametrize(
        "settings",
        [{"denied_tables": ["t1"]}, {"denied_columns": ["t1.v"]}, {"denied_columns": ["public.T1.v"]}],
        ids=["table", "column", "column-with-schema"],
    )
    def test_what_is_denied_of_a_partition_is_denied(self, settings: dict[str, Any], pg: Postgres) -> None:
        """Whoever reads a table reads its partitions and heirs: a deny of one of them hides it."""
        pg.run(
            "CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);"
            "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (10); INSERT INTO t VALUES (1, 'a')"
        )

        assert pg.read("t", settings=settings).content == answers.NOT_PERMITTED

    def test_foreign_tables_are_not_there(self, pg: Postgres) -> None:
        """A foreign table runs the code that fetches its rows: it is not read, nor is what it is a part of."""
        pg.run(
            f"DROP FOREIGN DATA WRAPPER IF EXISTS elsewhere CASCADE; {FOREIGN}"
            "CREATE FOREIGN TABLE f (id int) SERVER other; CREATE TABLE parent (id int);"
            "CREATE FOREIGN TABLE heir () INHERITS (parent) SERVER other; CREATE VIEW v AS SELECT id FROM f"
        )
        try:
            for name in ("f", "heir", "parent", "v"):
                refused = pg.read(name, settings={"tables": ["f", "heir", "parent", "v"]})
                assert refused.content == answers.NOT_PERMITTED
        finally:
            pg.run("DROP FOREIGN DATA WRAPPER elsewhere CASCADE", grant=False)

    def test_a_generated_column_tells_as_much_as_its_inputs(self, pg: Postgres) -> None:
        """A column that is computed from a hidden one is hidden."""
        pg.run(
            "CREATE TABLE t (id int PRIMARY KEY, a int, password text,"
            " open int GENERATED ALWAYS AS (a * 2) STORED, sly text GENERATED ALWAYS AS (password || 'x') STORED);"
            "INSERT INTO t VALUES (1, 2, 'hidden')"
        )

        assert cells(pg.read("t")) == (["id", "a", "open"], [["1", "2", "4"]])
        assert cells(pg.read("t", settings={"denied_columns": ["a"]}))[0] == ["id"]

    def test_a_row_within_a_row_is_not_read(self, pg: Postgres) -> None:
        """A column of a row type has names inside that nobody can permit: it is not there, alone or in a list."""
        pg.run(
            "CREATE TYPE account AS (name text, password text); CREATE DOMAIN login AS account;"
            "CREATE TABLE t (id int PRIMARY KEY, one account, many account[], own login);"
            "INSERT INTO t VALUES (1, ROW('a', 'hidden'), ARRAY[ROW('a', 'hidden')::account], ROW('a', 'hidden'))"
        )

        assert cells(pg.read("t")) == (["id"], [["1"]])


class TestRole:
    def test_what_is_not_granted_is_not_there(self, pg: Postgres) -> None:
        """Tables and columns that the role may not read are not offered."""
        pg.run(f"{STAFF} CREATE TABLE other (id int); GRANT SELECT (id, name) ON staff TO {READER}", grant=False)

        assert cells(pg.call("list_tables"))[1] == [["staff", "table", "1"]]
        assert column(pg.call("table_schema", {"table": "staff"}), "field") == ["id", "name"]
        assert cells(pg.read("staff")) == (["id", "name"], [["1", "Ada"]])
        assert pg.read("other", settings={"tables": ["other"]}).content == answers.NOT_PERMITTED

    @pytest.mark.parametrize(
        ("grant", "reason", "undo"),
        [
            (f"GRANT INSERT ON staff TO {READER}", "write", ""),
            (f"GRANT UPDATE (name) ON staff TO {READER}", "write", ""),
            (f"GRANT TRUNCATE ON staff TO {READER}", "write", ""),
            (f"ALTER TABLE staff OWNER TO {READER}", "write", ""),
            (f"ALTER ROLE {READER} BYPASSRLS", "bypass row security", f"ALTER ROLE {READER} NOBYPASSRLS"),
            (f"ALTER ROLE {READER} CREATEROLE", "create roles", f"ALTER ROLE {READER} NOCREATEROLE"),
            (
                f"GRANT pg_read_server_files TO {READER}",
                "rights on the server",
                f"REVOKE pg_read_server_files FROM {READER}",
            ),
        ],
        ids=["insert", "update-column", "truncate", "owner", "bypass-rls", "create-role", "server-files"],
    )
    def test_one_that_may_do_more_is_refused(self, grant: str, reason: str, undo: str, pg: Postgres) -> None:
        """A role that may do more than read is refused until the host says that it is meant."""
        pg.run(f"{STAFF} {grant}")
        try:
            with pytest.raises(ToolError, match=reason) as caught:
                pg.read("staff")
            assert "writable_role" in str(caught.value)
            assert column(pg.read("staff", settings={"writable_role": True}), "name") == ["Ada"]
        finally:
            pg.run(undo, grant=False)

    def test_a_superuser_is_refused(self, pg_shop: Postgres) -> None:
        """A superuser reads files and runs programs, whatever the transaction says."""
        with pytest.raises(ToolError, match="superuser"):
            pg_shop.read("orders", settings={"role": "postgres"})
