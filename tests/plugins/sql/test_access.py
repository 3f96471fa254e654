"""Which tables, views and columns may be seen, and that nothing else can be reached through the ones that may."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from nr_llm.errors import ToolError
from nr_llm_sql import _answers as answers

from tests.plugins.sql.databases import Make, call, cells, column, read

STAFF = """
CREATE TABLE staff (id INTEGER PRIMARY KEY, name, salary, token);
INSERT INTO staff VALUES (1, 'Ada', 900, 'shh');
CREATE VIEW phone_book AS SELECT id, name FROM staff;
CREATE VIEW pay AS SELECT name, salary FROM staff;
CREATE VIEW leak AS SELECT id, token AS note FROM staff;
CREATE VIEW all_staff AS SELECT * FROM staff;
CREATE VIEW nested AS SELECT note FROM leak;
CREATE VIEW noise AS SELECT id, randomblob(8) AS bytes FROM staff;
CREATE VIEW settings AS SELECT name, type AS kind FROM pragma_table_info('staff');
CREATE VIEW listed AS SELECT value AS item FROM json_each('[1, 2]');
CREATE VIEW catalogue AS SELECT name, sql AS text FROM sqlite_master;
"""


class TestTables:
    def test_credential_like_tables_are_hidden(self, shop: Path) -> None:
        """Without an allow-list a table whose name is a credential's is as if it were not there."""
        assert column(call(shop, "list_tables"), "table") == ["customers", "orders"]
        assert read(shop, "api_keys").content == answers.NOT_PERMITTED

    def test_an_allow_list_opens_exactly_what_it_names(self, shop: Path) -> None:
        """With an allow-list that is what there is, credential-like names included."""
        listed = call(shop, "list_tables", tables=["API_KEYS", "orders", "nowhere"])

        assert column(listed, "table") == ["api_keys", "orders"]

    def test_a_deny_wins(self, shop: Path) -> None:
        """A table both allowed and denied is denied."""
        result = read(shop, "orders", settings={"tables": ["orders"], "denied_tables": ["ORDERS"]})

        assert result.content == answers.NOT_PERMITTED

    @pytest.mark.parametrize(
        "name",
        [
            *("nowhere", "api_keys", "sqlite_master", "sqlite_schema", "SQLITE_MASTER", "sqlite_sequence", ""),
            *("main.orders", '"orders"', "orders;", "orders--", "orders) UNION SELECT 1,2--", "pragma_table_info"),
            *("temp.sqlite_temp_master", "json_each", "orders\0", "orders AS r, customers", "\ud800", "r"),
        ],
    )
    @pytest.mark.parametrize("tool", ["table_schema", "read_records"])
    def test_unknown_and_denied_read_the_same(self, name: str, tool: str, shop: Path) -> None:
        """Not there, not permitted and not a name: one sentence, no artifact, no error."""
        result = call(shop, tool, {"table": name}, tables=(), denied_tables=("sqlite_sequence",))

        assert (result.content, result.is_error, result.artifacts) == (answers.NOT_PERMITTED, False, ())

    def test_system_tables_cannot_be_allowed(self, make: Make) -> None:
        """The schema itself is not data, whatever the settings say."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO t VALUES (1)")
        names = ["sqlite_master", "sqlite_sequence"]

        assert [read(path, name, settings={"tables": names}).content for name in names] == [answers.NOT_PERMITTED] * 2
        assert call(path, "list_tables", tables=names).content == answers.NO_TABLES

    def test_virtual_tables_and_their_shadows_are_hidden(self, make: Make) -> None:
        """Tables that run code when read are not offered, nor is the storage behind them."""
        path = make("CREATE TABLE docs (id INTEGER PRIMARY KEY, t); CREATE VIRTUAL TABLE docs_fts USING fts5(t)")

        assert column(call(path, "list_tables"), "table") == ["docs"]
        assert read(path, "docs_fts_content").content == answers.NOT_PERMITTED

    def test_names_that_do_not_read_the_same_are_hidden(self, make: Make) -> None:
        """A name with a line break cannot draw a line of its own into the list."""
        path = make('CREATE TABLE "a\nsecond" (x); CREATE TABLE b (x, "y\nz")')

        assert column(call(path, "list_tables"), "table") == ["b"]
        assert column(call(path, "table_schema", {"table": "b"}), "field") == ["x"]


class TestColumns:
    def test_credential_like_columns_are_nowhere(self, shop: Path) -> None:
        """Neither schema nor records show them, whether asked for or not."""
        schema = call(shop, "table_schema", {"table": "customers"})
        records = read(shop, "customers", fields=["name", "password_hash"])

        assert column(schema, "field") == ["id", "name", "city"]
        assert cells(records)[0] == ["id", "name"]
        assert "f00" not in read(shop, "customers").content

    @pytest.mark.parametrize("denied", ["city", "customers.city", "CUSTOMERS.City"])
    def test_denied_columns_are_nowhere(self, denied: str, shop: Path) -> None:
        """A column the host denied is dropped like a credential."""
        result = read(shop, "customers", settings={"denied_columns": [denied]})

        assert cells(result)[0] == ["id", "name"]

    def test_a_deny_for_one_table_leaves_others(self, shop: Path) -> None:
        """A deny with a table's name is about that table."""
        assert cells(read(shop, "customers", settings={"denied_columns": ["orders.city"]}))[0] == ["id", "name", "city"]

    def test_a_key_that_is_hidden_does_not_order(self, make: Make) -> None:
        """Without its key a record is named by its row number, and ordered by it."""
        path = make("CREATE TABLE t (token TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('b', 1), ('a', 2)")

        assert cells(read(path, "t")) == (["rowid", "x"], [["1", "1"], ["2", "2"]])

    def test_a_hidden_number_key_hides_the_row_number(self, make: Make) -> None:
        """A key that is the row number cannot be read under the row number's name."""
        path = make("CREATE TABLE t (pin INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (4711, 1)")

        assert cells(read(path, "t")) == (["x"], [["1"]])
        assert read(path, "t", fields=["rowid"]).content == f"{answers.NO_FIELDS} The readable fields are: x."
        assert read(path, "t", filters={"rowid": 4711}).content.startswith(answers.FILTER_NOT_PERMITTED)

    def test_a_denied_row_number(self, make: Make) -> None:
        """The row number can be denied like a column."""
        path = make("CREATE TABLE t (x); INSERT INTO t VALUES (2), (1)")

        assert cells(read(path, "t", settings={"denied_columns": ["rowid"]})) == (["x"], [["1"], ["2"]])

    def test_a_table_of_hidden_columns(self, make: Make) -> None:
        """A table without readable columns has nothing to show, not even how many rows there are."""
        path = make("CREATE TABLE t (token, salt); INSERT INTO t VALUES (1, 2)")

        assert read(path, "t").content == answers.NO_FIELDS
        assert call(path, "table_schema", {"table": "t"}).content == answers.NO_FIELDS


class TestGeneratedColumns:
    """A column computed from hidden ones tells what they hold, whatever it is called."""

    ACCOUNTS = """
    CREATE TABLE accounts (
        id INTEGER PRIMARY KEY, name TEXT, userToken TEXT, salary INTEGER,
        shown TEXT AS (name || '!'), hint TEXT AS (substr("USERTOKEN", 1)), pay INTEGER AS (salary * 2) STORED
    );
    INSERT INTO accounts (id, name, userToken, salary) VALUES (1, 'Ada', 'shh', 900);
    CREATE VIEW hints AS SELECT name, hint FROM accounts;
    CREATE VIEW pays AS SELECT name, pay FROM accounts;
    """
    PLAIN = "CREATE TABLE prices (net INTEGER, gross INTEGER AS (net + 1)); INSERT INTO prices (net) VALUES (1);"

    def test_of_a_credential(self, make: Make) -> None:
        """Virtual or stored, in the table or through a view, it is as hidden as what it is computed from."""
        accounts = make(self.ACCOUNTS)

        assert cells(read(accounts, "accounts"))[0] == ["id", "name", "salary"]
        assert column(call(accounts, "table_schema", {"table": "accounts"}), "field") == ["id", "name", "salary"]
        refused = read(accounts, "accounts", fields=["hint"])
        assert refused.content == f"{answers.NO_FIELDS} The readable fields are: id, name, salary."
        assert read(accounts, "hints").content == answers.NOT_PERMITTED

    def test_of_a_denied_column(self, make: Make) -> None:
        """A host's deny reaches through it, for views that may read everything else too."""
        settings = {"denied_columns": ["accounts.SALARY"], "tables": ["pays", "hints"]}
        accounts = make(self.ACCOUNTS)

        assert read(accounts, "pays", settings=settings).content == answers.NOT_PERMITTED

    def test_of_open_columns(self, make: Make) -> None:
        """Where nothing is hidden it is a column like others."""
        assert cells(read(make(self.PLAIN), "prices"))[0] == ["rowid", "net", "gross"]


class TestViews:
    def test_a_view_of_readable_columns_is_read(self, make: Make) -> None:
        """A view shows what its tables would."""
        assert cells(read(make(STAFF), "phone_book")) == (["id", "name"], [["1", "Ada"]])

    @pytest.mark.parametrize("view", ["leak", "all_staff", "nested", "noise", "settings", "listed", "catalogue"])
    def test_a_view_of_anything_else_is_not(self, view: str, make: Make) -> None:
        """A view that reads a hidden column, another engine or an unsafe function is as if it were not there."""
        path = make(STAFF)

        assert read(path, view).content == answers.NOT_PERMITTED
        assert call(path, "table_schema", {"table": view}).content == answers.NOT_PERMITTED
        assert view not in column(call(path, "list_tables"), "table")

    def test_a_denied_table_is_denied_through_views(self, make: Make) -> None:
        """A deny reaches through views, allowed ones too."""
        settings = {"tables": ["phone_book"], "denied_tables": ["staff"]}

        assert read(make(STAFF), "phone_book", settings=settings).content == answers.NOT_PERMITTED

    def test_a_denied_column_is_denied_through_views(self, make: Make) -> None:
        """So does a column's deny."""
        settings = {"tables": ["pay"], "denied_columns": ["staff.salary"]}

        assert read(make(STAFF), "pay", settings=settings).content == answers.NOT_PERMITTED

    def test_an_allowed_view_opens_what_it_reads(self, make: Make) -> None:
        """The host that names a view means what the view shows, credentials under other names included."""
        path = make(STAFF)
        settings = {"tables": ["pay", "leak"]}

        assert column(read(path, "pay", settings=settings), "salary") == ["900"]
        assert column(read(path, "leak", settings=settings), "note") == ["shh"]
        assert read(path, "staff", settings=settings).content == answers.NOT_PERMITTED

    def test_an_allowed_view_of_an_allowed_view(self, make: Make) -> None:
        """Views may stand on each other if each is named."""
        path = make(STAFF)

        assert column(read(path, "nested", settings={"tables": ["nested", "leak"]}), "note") == ["shh"]
        assert read(path, "nested", settings={"tables": ["nested"]}).content == answers.NOT_PERMITTED

    def test_an_allowed_view_does_not_open_engines(self, make: Make) -> None:
        """Not even a named view reads the schema or another engine."""
        path, names = make(STAFF), ["settings", "listed", "catalogue", "noise"]

        assert [read(path, name, settings={"tables": names}).content for name in names] == [answers.NOT_PERMITTED] * 4

    def test_views_are_not_counted(self, make: Make) -> None:
        """Counting a view may run anything, so it is left."""
        rows = cells(call(make(STAFF), "list_tables"))[1]

        assert ["phone_book", "view", "not counted"] in rows
        assert ["staff", "table", "1"] in rows

    def test_a_view_of_what_is_gone(self, make: Make) -> None:
        """A broken view costs itself and not the list."""
        path = make("CREATE TABLE a (x); CREATE VIEW v AS SELECT x FROM a; CREATE TABLE b (x); DROP TABLE a")

        assert column(call(path, "list_tables"), "table") == ["b"]
        assert read(path, "v").content == answers.NOT_PERMITTED

    def test_a_broken_view_with_a_name_that_is_no_text(self, make: Make) -> None:
        """Python cannot even say what SQLite says of it; it costs itself and not the list."""
        path = make(
            "CREATE TABLE b (x); CREATE VIEW v AS SELECT missing FROM b; CREATE VIEW w AS SELECT * FROM missing"
        )
        path.write_bytes(path.read_bytes().replace(b"missing", b"m\xff\xfesing"))

        assert column(call(path, "list_tables"), "table") == ["b"]
        assert read(path, "v").content == read(path, "w").content == answers.NOT_PERMITTED

    def test_a_view_without_an_end_is_stopped(self, make: Make) -> None:
        """A view that never ends runs into the deadline like any statement."""
        path = make(
            "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i FROM n WHERE i < 0"
        )

        with pytest.raises(ToolError, match="in time"):
            read(path, "endless", settings={"seconds": 0.05})

    def test_a_virtual_table_behind_a_neutral_statement(self, make: Make) -> None:
        """A virtual table is told by having no storage, not by the text that made it."""
        path = make("CREATE VIRTUAL TABLE v USING fts5(x)")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, 'CREATE ', 'CREATE /**/ ') WHERE name = 'v'"
            )

        assert call(path, "list_tables").content == answers.NO_TABLES
