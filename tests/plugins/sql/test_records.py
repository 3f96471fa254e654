"""What ``read_records`` answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nr_llm.errors import ToolError
from nr_llm_sql import _answers as answers
from nr_llm_sql import _references
from nr_llm_sql._stops import Halted

from tests.plugins.sql.databases import Make, cells, column, read

FIELDS = "The readable fields are: id, name, city."
"""What a refusal says of the table of customers; hidden fields are not among them."""


class TestAnswer:
    def test_text_and_table(self, shop: Path) -> None:
        """A heading, then per record a line that names it and one indented line per field."""
        result = read(shop, "orders", fields=["status", "total"], limit=2)

        assert result.content == (
            "orders: 2 rows from offset 0\n"
            "orders:4\n  status: open\n  total: 9.5\n"
            "orders:9\n  status: open\n  total: 20.0\n"
            "More rows follow: go on with offset 2."
        )
        assert cells(result) == (["id", "status", "total"], [["4", "open", "9.5"], ["9", "open", "20.0"]])
        assert result.artifacts[0].label == "orders rows"

    def test_table_equals_text(self, shop: Path) -> None:
        """The table's columns are the text's fields in order, and each cell equals the text's value."""
        result = read(shop, "customers")

        _, *lines = result.content.splitlines()
        columns, rows = cells(result)
        assert columns == ["id", "name", "city"]
        expected = [
            [f"customers:{row[0]}", *(f"  {name}: {text}" for name, text in zip(columns[1:], row[1:], strict=True))]
            for row in rows
        ]
        assert lines == [line for block in expected for line in block]

    def test_all_kinds_of_values(self, make: Make) -> None:
        """Null, numbers, text and binary data have one form each."""
        rows = [(1, None), (2, 2**63 - 1), (3, 0.1), (4, "a\n b"), (5, b"\0" * 9), (6, ""), (7, float("inf"))]
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, v)", t=rows)

        shown = ["null", "9223372036854775807", "0.1", "a b", "<9 bytes>", "", "inf"]
        assert column(read(path, "t"), "v") == shown

    def test_a_huge_blob_is_measured_and_not_read(self, make: Make) -> None:
        """Binary data above the limit of a value is still told by its size."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, zeroblob(3000000))")

        assert column(read(path, "t", settings={"value_bytes": 1000}), "v") == ["<3000000 bytes>"]

    def test_text_that_is_no_unicode(self, make: Make) -> None:
        """Bytes that are no UTF-8 are shown as such instead of failing."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, CAST(x'61ff62' AS TEXT))")

        assert column(read(path, "t"), "v") == ["a\ufffdb"]

    def test_text_behind_a_nul(self, make: Make) -> None:
        """Text is read past a NUL, where other tools stop."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, v)", t=[(1, "seen\0also")])

        assert column(read(path, "t"), "v") == ["seen\ufffdalso"]

    def test_a_database_in_another_encoding(self, make: Make) -> None:
        """A UTF-16 database reads like any other."""
        path = make("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (id INTEGER PRIMARY KEY, v)", t=[(1, "größe 表")])

        assert column(read(path, "t"), "v") == ["größe 表"]

    def test_generated_columns(self, make: Make) -> None:
        """Computed columns are columns."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, b AS (id * 2)); INSERT INTO t VALUES (2)")

        assert cells(read(path, "t")) == (["id", "b"], [["2", "4"]])


class TestFields:
    def test_unknown_fields_are_dropped_in_silence(self, shop: Path) -> None:
        """Only what exists and may be seen is read, each once, the key first."""
        result = read(shop, "orders", fields=["STATUS", "nowhere", "status", "id", "x; DROP TABLE orders"])

        assert cells(result)[0] == ["id", "status"]

    @pytest.mark.parametrize("fields", [["nowhere"], ["password_hash"], [""], ["\ud800"], ["1) --"]])
    def test_none_left(self, fields: list[str], shop: Path) -> None:
        """If nothing is left of what was asked for, a plain sentence says so."""
        result = read(shop, "customers", fields=fields)

        assert (result.content, result.is_error, result.artifacts) == (f"{answers.NO_FIELDS} {FIELDS}", False, ())

    @pytest.mark.parametrize("fields", [None, [], ["*"], ["name", "*"]])
    def test_everything(self, fields: list[str] | None, shop: Path) -> None:
        """No fields or a star mean all of them."""
        assert cells(read(shop, "customers", fields=fields))[0] == ["id", "name", "city"]

    def test_a_column_named_star(self, make: Make) -> None:
        """A column may be named like the star."""
        path = make('CREATE TABLE t (id INTEGER PRIMARY KEY, "*", b); INSERT INTO t VALUES (1, 2, 3)')

        assert cells(read(path, "t", fields=["*"]))[0] == ["id", "*"]


class TestFilters:
    @pytest.mark.parametrize(
        ("filters", "ids"),
        [
            ({"status": "open"}, ["4", "9"]),
            ({"STATUS": "open", "customer": 1}, ["4"]),
            ({"id": "9"}, ["9"]),
            ({"total": 5.25}, ["11"]),
            ({"paid": True}, ["9", "11"]),
            ({}, ["4", "9", "11"]),
        ],
    )
    def test_rows_equal_every_filter(self, filters: dict[str, Any], ids: list[str], shop: Path) -> None:
        """Values compare as SQLite compares them with the column."""
        assert column(read(shop, "orders", filters=filters), "id") == ids

    def test_null_finds_missing_values(self, shop: Path) -> None:
        """A filter for null finds null."""
        assert column(read(shop, "customers", filters={"city": None}), "name") == ["Ben"]

    @pytest.mark.parametrize(
        "filters",
        [
            *({"nowhere": 1}, {"password_hash": "f00"}, {"city": ["Leipzig"]}, {"city": {"like": "L%"}}),
            *({"id": 2**63}, {"id": float("nan")}, {"id": float("inf")}, {"city": "\ud800"}),
            *({"city": "Leipzig", "nowhere": 1}, {"city = city --": 1}, {"city": b"x"}),
        ],
    )
    def test_other_filters_reject_the_call(self, filters: dict[str, Any], shop: Path) -> None:
        """An unknown or hidden field and a value that is no plain value: one sentence, no table, no error."""
        result = read(shop, "customers", filters=filters)

        expected = f"{answers.FILTER_NOT_PERMITTED} {FIELDS}"
        assert (result.content, result.is_error, result.artifacts) == (expected, False, ())

    def test_five_filters_pass(self, make: Make) -> None:
        """The most filters there may be."""
        path = make("CREATE TABLE t (a, b, c, d, e); INSERT INTO t VALUES (1, 1, 1, 1, 1)")

        assert cells(read(path, "t", filters=dict.fromkeys("abcde", 1)))[1] == [["1"] * 6]

    def test_a_sixth_rejects_before_anything_is_read(self, tmp_path: Path) -> None:
        """Not even the file is looked for."""
        result = read(tmp_path / "missing.db", "t", filters=dict.fromkeys("abcdef", 1))

        assert (result.content, result.is_error, result.artifacts) == (answers.TOO_MANY_FILTERS, False, ())

    @pytest.mark.parametrize("value", ["open' OR '1'='1", "'; DROP TABLE orders; --", 'open" --', "\0open", "?1"])
    def test_values_are_never_read_as_sql(self, value: str, shop: Path) -> None:
        """A filter value is compared and nothing else."""
        assert read(shop, "orders", filters={"status": value}).content == answers.NO_ROWS


class TestPages:
    @pytest.fixture
    def many(self, make: Make) -> Path:
        """A table of 10,100 rows."""
        return make("CREATE TABLE t (id INTEGER PRIMARY KEY, x)", t=[(i, i % 7) for i in range(10_100)])

    @pytest.mark.parametrize(
        ("arguments", "first", "count"),
        [
            ({}, "0", 20),
            ({"limit": 3}, "0", 3),
            ({"limit": 50}, "0", 50),
            ({"limit": 51}, "0", 50),
            ({"limit": 10**30}, "0", 50),
            ({"limit": 0}, "0", 20),
            ({"limit": -5}, "0", 20),
            ({"offset": 7}, "7", 20),
            ({"offset": -7}, "0", 20),
            ({"offset": 10_000}, "10000", 20),
            ({"offset": 10_001}, "10000", 20),
            ({"offset": 10**30}, "10000", 20),
        ],
    )
    def test_numbers_are_clamped(self, arguments: dict[str, int], first: str, count: int, many: Path) -> None:
        """A limit or offset out of range is brought into it instead of refused."""
        ids = column(read(many, "t", **arguments), "id")

        assert (ids[0], len(ids)) == (first, count)

    def test_the_host_may_set_the_numbers(self, many: Path) -> None:
        """Default and largest page are settings."""
        settings = {"rows": 2, "max_rows": 3}

        assert len(cells(read(many, "t", settings=settings, limit=0))[1]) == 2
        assert len(cells(read(many, "t", settings=settings, limit=9))[1]) == 3

    def test_a_last_page_promises_nothing(self, many: Path) -> None:
        """Without a further row there is no note."""
        assert "More rows" not in read(many, "t", filters={"id": 5}).content

    def test_what_lies_beyond_the_offset(self, many: Path) -> None:
        """Where the offset ends the note names another way."""
        assert read(many, "t", offset=10_000).content.endswith("beyond what offset reaches: use filters.")

    def test_nothing_found(self, shop: Path) -> None:
        """No rows: one sentence that also covers what is not permitted, no table, no error."""
        result = read(shop, "orders", offset=100)

        assert (result.content, result.is_error, result.artifacts) == (answers.NO_ROWS, False, ())

    def test_an_empty_table(self, make: Make) -> None:
        """An empty table reads like one whose rows are not found."""
        assert read(make("CREATE TABLE t (x)"), "t").content == answers.NO_ROWS


class TestOrder:
    @pytest.mark.parametrize(
        ("order", "ids"),
        [
            (None, ["4", "9", "11"]),
            ("total", ["11", "4", "9"]),
            ("total asc", ["11", "4", "9"]),
            ("TOTAL DESC", ["9", "4", "11"]),
            ("-total", ["9", "4", "11"]),
            ("status", ["4", "9", "11"]),
            ("-id", ["11", "9", "4"]),
        ],
    )
    def test_by_one_field_then_by_key(self, order: str | None, ids: list[str], shop: Path) -> None:
        """Rows that are equal in the field keep the key's order."""
        assert column(read(shop, "orders", order=order), "id") == ids

    @pytest.mark.parametrize(
        "order", ["nowhere", "password_hash", "-password_hash", "name sideways", "", "1", "name, 1"]
    )
    def test_other_orders_reject_the_call(self, order: str, shop: Path) -> None:
        """An order by something hidden would tell about it."""
        result = read(shop, "customers", order=order)

        expected = f"{answers.ORDER_NOT_PERMITTED} {FIELDS}"
        assert (result.content, result.is_error, result.artifacts) == (expected, False, ())

    def test_an_exact_name_comes_first(self, make: Make) -> None:
        """A column may be named like an order."""
        path = make('CREATE TABLE t (id INTEGER PRIMARY KEY, "x desc", x); INSERT INTO t VALUES (1, 2, 1), (2, 1, 2)')

        assert column(read(path, "t", order="x desc"), "id") == ["2", "1"]

    def test_a_key_of_several_fields(self, make: Make) -> None:
        """Records with a compound key are ordered by it, in the key's own order, and named by position."""
        path = make(
            "CREATE TABLE t (x, b, a, PRIMARY KEY (a, b)) WITHOUT ROWID;"
            "INSERT INTO t VALUES (1, 2, 1), (2, 1, 2), (3, 1, 1)"
        )
        result = read(path, "t", fields=["x"], offset=1)

        assert cells(result) == (["a", "b", "x"], [["1", "2", "1"], ["2", "1", "2"]])
        assert result.content.startswith("t: 2 rows from offset 1\nt #2\n  a: 1\n  b: 2\n  x: 1\nt #3\n")

    def test_keys_that_are_null(self, make: Make) -> None:
        """Rows that share an empty key are still in one order."""
        path = make("CREATE TABLE t (k TEXT PRIMARY KEY, x)", t=[(None, i) for i in range(9)])
        pages = [column(read(path, "t", limit=2, offset=offset, order="-k"), "x") for offset in range(0, 9, 2)]

        assert [cell for page in pages for cell in page] == [str(i) for i in range(9)]

    def test_a_view_without_case_is_ordered_by_letter(self, make: Make) -> None:
        """Values that compare equal but differ have one order."""
        rows = [("b",), ("A",), ("a",), ("B",)]
        path = make("CREATE TABLE t (x COLLATE NOCASE); CREATE VIEW v AS SELECT x FROM t", t=rows)

        assert column(read(path, "v"), "x") == ["A", "B", "a", "b"]

    def test_a_table_without_a_key(self, make: Make) -> None:
        """Records without a key are known by their row number."""
        path = make("CREATE TABLE t (x); INSERT INTO t VALUES ('b'), ('a')")

        assert cells(read(path, "t")) == (["rowid", "x"], [["1", "b"], ["2", "a"]])
        assert column(read(path, "t", filters={"rowid": 2}), "x") == ["a"]

    @pytest.mark.parametrize(
        ("columns", "shown"), [("rowid", ["_rowid_", "rowid"]), ("rowid, _rowid_, oid", ["rowid", "_rowid_", "oid"])]
    )
    def test_columns_named_like_the_row_number(self, columns: str, shown: list[str], make: Make) -> None:
        """A column that takes the row number's name is the column."""
        count = columns.count(",") + 1
        path = make(f"CREATE TABLE t ({columns}); INSERT INTO t VALUES ({', '.join('7' * count)})")

        assert cells(read(path, "t"))[0] == shown

    def test_a_view_is_ordered_by_what_is_read(self, make: Make) -> None:
        """A view has no key, so its columns make the order."""
        path = make(
            "CREATE TABLE t (x, y); INSERT INTO t VALUES (2, 1), (1, 2), (1, 1); CREATE VIEW v AS SELECT * FROM t"
        )

        assert cells(read(path, "v"))[1] == [["1", "1"], ["1", "2"], ["2", "1"]]


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            *(
                'say "hi"',
                "two words",
                "select",
                "größe",
                "表",
                "a'b",
                "a;b",
                "a--b",
                "[a]",
                "`a`",
                "a.b",
                "%",
                "?1",
                ":x",
            ),
            *("Robert'); DROP TABLE orders; --", "0", "r", "rowid"),
        ],
    )
    def test_odd_names_are_names(self, name: str, make: Make) -> None:
        """Any clear name works for a table and a column, in fields, filters and order."""
        quoted = '"' + name.replace('"', '""') + '"'
        path = make(f"CREATE TABLE {quoted} (id INTEGER PRIMARY KEY, {quoted}); INSERT INTO {quoted} VALUES (1, 'x')")

        result = read(path, name, fields=[name], filters={name: "x"}, order=name)

        assert cells(result) == (["id", name], [["1", "x"]])
        assert result.content == f"{name}: 1 row from offset 0\n{name}:1\n  {name}: x"


class TestBounds:
    def test_wide_rows_lose_fields(self, make: Make) -> None:
        """What does not fit is left out with a note, from both channels alike."""
        width = 100
        names = ", ".join(f"c{i:03}" for i in range(width))
        path = make(f"CREATE TABLE t ({names})", t=[("ü" * 400,) * width])
        result = read(path, "t")

        kept = len(cells(result)[0])
        assert 10 < kept < width
        assert result.content.endswith(
            f"{width + 1 - kept} further fields left out for size: ask for the fields you need by name."
        )
        assert result.content.count("\n  c") == kept - 1
        assert len(result.content.encode()) < 50_000

    def test_many_large_rows_lose_rows(self, make: Make) -> None:
        """Rows that do not fit can be read on from."""
        path = make(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c, d)", t=[(i, *("€" * 300,) * 4) for i in range(30)]
        )
        result = read(path, "t", limit=30)

        kept = len(cells(result)[1])
        assert 5 < kept < 30
        assert result.content.endswith(f"More rows follow: go on with offset {kept}.")
        assert column(read(path, "t", limit=1, offset=kept), "id") == [str(kept)]

    def test_rows_far_beyond_the_room_are_only_counted(self, make: Make) -> None:
        """A page of which little fits says so like any other."""
        path = make(
            f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {', '.join(f'c{i}' for i in range(30))})",
            wide=[(i, *["long text " * 500] * 30) for i in range(60)],
        )
        result = read(path, "wide", limit=50)

        kept = len(cells(result)[1])
        assert 2 < kept < 10
        assert result.content.endswith(f"More rows follow: go on with offset {kept}.")

    def test_a_very_wide_table(self, make: Make) -> None:
        """A table of 1,500 columns is read in part and named in full."""
        names = [f"c{i}" for i in range(1500)]
        path = make(f"CREATE TABLE t ({', '.join(names)}); INSERT INTO t (c0, c1499) VALUES (1, 2)")
        result = read(path, "t")

        assert len(cells(result)[0]) == 200
        assert "1301 further fields left out" in result.content
        assert cells(read(path, "t", fields=["c1499"]))[1] == [["1", "2"]]

    def test_a_text_above_the_limit_is_an_error_that_says_so(self, make: Make) -> None:
        """A value too large to read ends the call with what to do."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, v)", t=[(1, "x" * 2000)])

        with pytest.raises(ToolError, match="value_bytes"):
            read(path, "t", settings={"value_bytes": 1000})
        assert column(read(path, "t", fields=["id"], settings={"value_bytes": 1000}), "id") == ["1"]


class TestReferences:
    """Records that a few records point to come with them."""

    def test_what_a_record_points_to_is_told(self, shop: Path) -> None:
        """Its key and its fields, each record once; what may not be seen is not there."""
        content = read(shop, "orders", filters={"status": "open"}).content

        assert content.splitlines()[-2:] == [
            "customer 1 is customers:1 (name: Ada, city: Leipzig)",
            "customer 2 is customers:2 (name: Ben, city: null)",
        ]

    def test_the_table_holds_the_records_alone(self, shop: Path) -> None:
        """One table, of what was asked for."""
        assert cells(read(shop, "orders", filters={"id": 4}, fields=["customer"])) == (["id", "customer"], [["4", "1"]])

    @pytest.mark.parametrize(
        ("asked", "settings"),
        [
            ({"fields": ["status"]}, {}),
            ({}, {"denied_tables": ["customers"]}),
            ({}, {"denied_columns": ["customers.id"]}),
            ({}, {"denied_columns": ["customer"]}),
        ],
    )
    def test_what_may_not_be_seen_is_not_followed(
        self, asked: dict[str, Any], settings: dict[str, Any], shop: Path
    ) -> None:
        """Neither a field that is not shown nor a table or key that is denied."""
        content = read(shop, "orders", settings=settings, filters={"id": 4}, **asked).content

        assert " is customers" not in content

    def test_a_list_is_not_followed(self, make: Make) -> None:
        """From four records on."""
        path = make(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, x); CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a)",
            a=[(1, "one")],
            b=[(n, 1) for n in range(4)],
        )

        assert "is a:1" not in read(path, "b").content
        assert read(path, "b", limit=3).content.splitlines()[-2:] == [
            "a 1 is a:1 (x: one)",
            "More rows follow: go on with offset 3.",
        ]

    def test_references_that_lead_nowhere(self, make: Make) -> None:
        """To nothing, to a record that is gone, and to a table that is gone."""
        path = make(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, x);"
            "CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a, c REFERENCES gone)",
            b=[(1, None, 3), (2, 9, None)],
        )

        assert " is " not in read(path, "b").content

    def test_a_part_of_a_key_is_no_reference(self, make: Make) -> None:
        """Where it points to several records none is told; nor is a null, whatever a key is called."""
        path = make(
            "CREATE TABLE a (t INT, n INT, x, PRIMARY KEY (t, n)); CREATE TABLE c (id TEXT PRIMARY KEY);"
            "CREATE TABLE b (id INTEGER PRIMARY KEY, t INT, n INT, c REFERENCES c,"
            " FOREIGN KEY (t, n) REFERENCES a (t, n))",
            a=[(1, 1, "no"), (2, 1, "yes"), (3, 2, "no")],
            c=[("null",)],
            b=[(1, 2, 1, None)],
        )

        assert read(path, "b").content.splitlines()[4:] == ["  c: null", "t 2 is a:2 (n: 1, x: yes)"]

    def test_a_key_that_is_not_named_is_followed_if_it_is_one_field(self, make: Make) -> None:
        """Neither the first of several fields nor the number of a row stands for it."""
        path = make(
            "CREATE TABLE a (t INT, n INT, x, PRIMARY KEY (t, n)); CREATE TABLE c (code INT PRIMARY KEY, x);"
            "CREATE TABLE b (id INTEGER PRIMARY KEY, n INT, t INT, c REFERENCES c, FOREIGN KEY (t, n) REFERENCES a)",
            a=[(1, 1, "no"), (2, 1, "yes")],
            c=[(7, "no"), (1, "yes")],
            b=[(1, 1, 2, 1)],
        )

        assert read(path, "b").content.splitlines()[5:] == ["c 1 is c:1 (x: yes)"]
        assert read(path, "b", settings={"denied_columns": ["c.code"]}).content.splitlines()[5:] == []

    def test_a_wide_key_is_followed(self, make: Make) -> None:
        """What is pointed to stands first, then the key as far as there is room."""
        key = ", ".join(f"k{n} INT" for n in range(7))
        path = make(
            f"CREATE TABLE a ({key}, u INT UNIQUE, PRIMARY KEY (k0, k1, k2, k3, k4, k5, k6));"
            "CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a (u))",
            a=[(0, 1, 2, 3, 4, 5, 6, 7)],
            b=[(1, 7)],
        )

        assert read(path, "b").content.splitlines()[-1] == "a 7 is a:7 (k0: 0, k1: 1, k2: 2, k3: 3, k4: 4)"

    def test_a_record_of_which_nothing_else_may_be_seen_is_not_told(self, shop: Path) -> None:
        """It would say nothing."""
        settings = {"denied_columns": ["customers.name", "customers.city"]}

        assert " is customers" not in read(shop, "orders", settings=settings, filters={"id": 4}).content

    def test_references_keep_to_their_room(self, make: Make) -> None:
        """Long texts are cut, and lines that do not fit are left out: a page may be full already."""
        path = make(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, x, y, z); CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a)",
            a=[(n, *["漢" * 400] * 3) for n in range(3)],
            b=[(n, n) for n in range(3)],
        )
        told = [line for line in read(path, "b").content.splitlines() if " is a:" in line]

        assert [line[:10] for line in told] == ["a 0 is a:0", "a 1 is a:1"]
        assert told[0].count("漢" * 80 + "…") == 3

    def test_records_are_told_if_what_they_point_to_fails(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """They have been read, and that is what was asked for."""
        path = make(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, x); CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a)",
            a=[(1, "one")],
            b=[(1, 1)],
        )

        def halted(*_: Any, **__: Any) -> Any:
            raise Halted

        monkeypatch.setattr(_references, "_rows", halted)
        assert read(path, "b").content.splitlines() == ["b: 1 row from offset 0", "b:1", "  a: 1"]

    def test_secrets_are_masked_there_too(self, make: Make) -> None:
        """A cell is a cell."""
        token = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
        path = make(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, x); CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a (id))",
            a=[(1, token)],
            b=[(1, 1)],
        )
        content = read(path, "b").content

        assert "a 1 is a:1 (x: " in content
        assert token not in content
