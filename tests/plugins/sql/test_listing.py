"""What ``list_tables`` and ``table_schema`` answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.errors import RunCancelledError
from nr_llm_sql import _session

from tests.plugins.sql.databases import Make, call, cells, column


class TestListTables:
    def test_text_and_table(self, shop: Path) -> None:
        """One line per table, drawn from the artifact's cells."""
        result = call(shop, "list_tables")

        assert result.content == "2 tables\ntable | kind | rows\ncustomers | table | 3\norders | table | 3"
        assert cells(result) == (["table", "kind", "rows"], [["customers", "table", "3"], ["orders", "table", "3"]])
        assert result.artifacts[0].label == "tables"

    def test_an_empty_database(self, make: Make) -> None:
        """No tables: one sentence, no table, no error."""
        result = call(make(), "list_tables")

        assert (result.content, result.is_error, result.artifacts) == ("No tables are permitted.", False, ())

    def test_an_empty_file(self, tmp_path: Path) -> None:
        """A file of no bytes is a database without tables, as SQLite sees it."""
        (tmp_path / "empty.db").touch()

        assert call(tmp_path / "empty.db", "list_tables").content == "No tables are permitted."

    def test_many_rows_are_counted_up_to_a_bound(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """A large table is not read through only to count it."""
        monkeypatch.setattr(_session, "COUNTED_ROWS", 4)
        path = make("CREATE TABLE a (x); CREATE TABLE b (x)", a=[(1,)] * 4, b=[(1,)] * 5)

        assert column(call(path, "list_tables"), "rows") == ["4", "more than 4"]

    def test_names_without_end_are_cut(self, make: Make) -> None:
        """More tables than fit are announced."""
        path = make(";".join(f'CREATE TABLE "{"x" * 100}{i}" (y)' for i in range(500)))
        result = call(path, "list_tables")

        kept = len(cells(result)[1])
        assert 100 < kept < 500
        assert result.content.startswith("500 tables\n")
        assert result.content.endswith(f"{500 - kept} further tables left out for size.")
        assert len(result.content.encode()) < 50_000

    def test_late_tables_are_listed_uncounted(self, make: Make) -> None:
        """When the time is up the rest is listed without numbers."""
        path = make("CREATE TABLE a (x); CREATE TABLE b (x)", a=[(1,)] * 3000, b=[(1,)] * 3000)
        context = ToolContext(deadline=0.0)

        assert column(call(path, "list_tables", context=context), "rows") == ["not counted", "not counted"]

    def test_a_cancelled_run_is_left(self, make: Make) -> None:
        """A cancelled run gets no list."""
        path = make("CREATE TABLE a (x)", a=[(1,)] * 3000)
        cancelled = Cancellation()
        cancelled.cancel("enough")

        with pytest.raises(RunCancelledError, match="enough"):
            call(path, "list_tables", context=ToolContext(cancelled=cancelled))


class TestTableSchema:
    def test_text_and_table(self, shop: Path) -> None:
        """One line per field: type, nullable, key, reference."""
        result = call(shop, "table_schema", {"table": "ORDERS"})

        assert result.content == (
            "orders: 5 fields\n"
            "field | type | nullable | key | refers to\n"
            "id | INTEGER | no | 1 | \n"
            "customer | INTEGER | yes |  | customers.id\n"
            "status | TEXT | yes |  | \n"
            "total | REAL | yes |  | \n"
            "paid | BOOLEAN | yes |  | "
        )
        assert [" | ".join(row) for row in cells(result)[1]] == result.content.splitlines()[2:]
        assert result.artifacts[0].label == "orders fields"

    def test_nullable(self, make: Make) -> None:
        """A field that is declared so may not be null."""
        path = make("CREATE TABLE t (a, b NOT NULL)")

        assert column(call(path, "table_schema", {"table": "t"}), "nullable") == ["yes", "no"]

    def test_references_to_what_is_hidden_are_hidden(self, make: Make) -> None:
        """A reference does not tell of a table or field that may not be seen."""
        path = make(
            "CREATE TABLE open (id INTEGER PRIMARY KEY, token UNIQUE);"
            "CREATE TABLE t (a REFERENCES secrets (id), b REFERENCES open (token),"
            " c REFERENCES open, d REFERENCES gone)"
        )

        assert column(call(path, "table_schema", {"table": "t"}), "refers to") == ["", "", "open", ""]

    def test_declared_types_are_cells(self, make: Make) -> None:
        """A declared type is any text, so it is formatted and masked like a value."""
        token = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
        path = make(f'CREATE TABLE t (a VARCHAR(20), b "two\nlines", c "{token}")')
        result = call(path, "table_schema", {"table": "t"})

        assert column(result, "type")[:2] == ["VARCHAR(20)", "two lines"]
        assert token not in result.content + str(cells(result))

    def test_many_fields_are_cut(self, make: Make) -> None:
        """More fields than fit are announced."""
        path = make("CREATE TABLE t (" + ", ".join(f'"{"ü" * 100}{i}"' for i in range(600)) + ")")
        result = call(path, "table_schema", {"table": "t"})

        assert "further fields left out for size." in result.content
        assert len(result.content.encode()) < 50_000
