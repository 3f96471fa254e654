"""What goes into a column is what was given, or nothing is: whatever the database would make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm.errors import ToolError
from nr_llm_sql._catalogue import Field
from nr_llm_sql._targets import Misfit
from nr_llm_sql._types import SqliteTypes

from tests.plugins.sql import books
from tests.plugins.sql.postgres import Postgres


def named(value: object) -> str:
    """Return a test's name, in which a text differs from a number."""
    return ascii(value)[:40]


FITS: list[tuple[str, Any, Any]] = [
    ("INTEGER", 5, 5),
    ("INTEGER", -(2**63), -(2**63)),
    ("INTEGER", 5.0, 5),
    ("INTEGER", "-12", -12),
    ("INTEGER", True, 1),
    ("BIGINT", 2**63 - 1, 2**63 - 1),
    ("TEXT", "", ""),
    ("TEXT", "007", "007"),
    ("VARCHAR(3)", "äöü", "äöü"),
    ("REAL", 1, 1.0),
    ("DOUBLE PRECISION", "0.1", 0.1),
    ("FLOAT(24)", 9.5, 9.5),
    ("NUMERIC", "12.50", 12.5),
    ("NUMERIC", "9007199254740993", 9007199254740993),
    ("DECIMAL(5,2)", "999.99", 999.99),
    ("DECIMAL(5)", 12, 12),
    ("DECIMAL(99999,999)", "1e90", float("1e90")),
    ("BOOLEAN", True, 1),
    ("BOOLEAN", 0, 0),
    ("DATE", "2026-02-28", "2026-02-28"),
    ("DATETIME", "2026-02-28 12:30:00", "2026-02-28 12:30:00"),
    ("TIMESTAMP", "2026-02-28T12:30:00+02:00", "2026-02-28T12:30:00+02:00"),
    ("DATETIME", 1_700_000_000, 1_700_000_000),
    ("TIME", "23:59", "23:59"),
    ("UUID", "5f0c", "5f0c"),
    ("JSON", '{"a": 1}', '{"a": 1}'),
    ("", "x", "x"),
    ("", 5, 5),
    ("", False, 0),
]

MISFITS: list[tuple[str, Any]] = [
    *[("INTEGER", value) for value in ("x", "1.5", 1.5, 2**63, "05", " 5", "", "1e3", "٣", 1e30, float("inf"))],
    *[("TEXT", value) for value in (5, 1.5, True)],
    ("VARCHAR(3)", "abcd"),
    *[("REAL", value) for value in ("x", "", 2**53 + 1, "0.1000000000000000000001", "1e999", True, float("nan"))],
    *[("NUMERIC", value) for value in ("x", "1_0", True, "0.12345678901234567890", "9" * 500)],
    *[("DECIMAL(5,2)", value) for value in ("1000", "1.234", 1e-3, "1e300")],
    *[("BOOLEAN", value) for value in ("true", 2, 1.0, -1, "")],
    *[("DATE", value) for value in ("2026-02-30", "28.2.2026", "now", "2026-02-28 12:30", True, "20260228")],
    *[("DATETIME", value) for value in ("2026-02-28 25:00", "soon", "2026-W01-1")],
    *[("TIME", value) for value in ("24:30", "noon")],
    *[("BLOB", value) for value in ("x", 5)],
]


@pytest.mark.parametrize(("declared", "value", "stored"), FITS, ids=named)
def test_sqlite_stores(declared: str, value: Any, stored: Any, tmp_path: Path) -> None:
    """What fits is stored as what it means, of the type that the column declares."""
    script = f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared}); INSERT INTO t (id) VALUES (1)"
    book = books.sqlite_book(tmp_path / "book.db", script, write={"t": ["v"]})
    book.update({"v": value}, table="t", key=1)

    [(found,)] = book.run("SELECT v FROM t")
    assert (found, type(found)) == (stored, type(stored))
    assert book.update({"v": value}, table="t", key=1).content.startswith("t:1 says this already.")
    book.update({"v": None}, table="t", key=1, expected={"v": value})


@pytest.mark.parametrize(("declared", "value"), MISFITS, ids=named)
def test_sqlite_stores_not(declared: str, value: Any) -> None:
    """What does not fit is refused, though SQLite would take it."""
    with pytest.raises(Misfit):
        SqliteTypes().fit(Field(name="v", type=declared, nullable=True, key=0), value)


@pytest.mark.parametrize(
    ("declared", "value"),
    [("STRING", "007"), ("STRING", "1e3"), ("UUID", "12e4"), ("JSON", "5"), ("TEXT COLLATE NOCASE", "A")],
)
def test_sqlite_makes_something_else_of_it(declared: str, value: str, tmp_path: Path) -> None:
    """A type that SQLite does not know turns texts into numbers, and a column may take capitals for small letters."""
    script = f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared}); INSERT INTO t VALUES (1, 'a')"
    book = books.sqlite_book(tmp_path / "book.db", script, write={"t": ["v"]})

    if "NOCASE" in declared:
        book.update({"v": value}, table="t", key=1)
        assert book.run("SELECT v FROM t") == [("A",)]
    else:
        assert "would store something else: v as " in book.not_updated({"v": value}, table="t", key=1)
        assert book.run("SELECT v FROM t") == [("a",)]


def test_strict_tables(tmp_path: Path) -> None:
    """What a strict table takes is what is given."""
    script = (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, r REAL, t TEXT, a ANY) STRICT; INSERT INTO t (id) VALUES (1)"
    )
    book = books.sqlite_book(tmp_path / "book.db", script, write={"t": ["i", "r", "t", "a"]})
    book.update({"i": 1, "r": 2, "t": "3", "a": "007"}, table="t", key=1)

    assert book.run("SELECT i, r, t, a FROM t") == [(1, 2.0, "3", "007")]


DECLARED = ["INTEGER", "TEXT", "VARCHAR(5)", "REAL", "NUMERIC", "DECIMAL(6,2)", "BOOLEAN", "DATE", "STRING", "", "UUID"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{0,25})?(e-?[0-9]{1,3})?", fullmatch=True),
)


@given(values=st.lists(st.tuples(st.sampled_from(range(len(DECLARED))), SCALARS), max_size=6))
@settings(max_examples=25)
def test_sqlite_holds_what_was_given_or_nothing(
    values: list[tuple[int, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is given: after a success the columns hold just that, after a failure what they held."""
    columns = ", ".join(f"c{i} {declared}" for i, declared in enumerate(DECLARED))
    path = tmp_path_factory.mktemp("book") / "book.db"
    names = [f"c{i}" for i in range(len(DECLARED))]
    book = books.sqlite_book(
        path, f"CREATE TABLE t (id INTEGER PRIMARY KEY, {columns}); INSERT INTO t (id) VALUES (1)", write={"t": names}
    )
    for column, value in values:
        before = book.run("SELECT * FROM t")
        try:
            book.update({f"c{column}": value}, table="t", key=1)
        except ToolError:
            assert book.run("SELECT * FROM t") == before
        else:
            [(found,)] = book.run(f"SELECT c{column} FROM t")
            assert found == value or str(found) == value or float(found) == float(value)
            assert (found is None) == (value is None)


POSTGRES_FITS: list[tuple[str, Any, str | None]] = [
    ("int", 5, "5"),
    ("int", "5", "5"),
    ("smallint", -32768, "-32768"),
    ("bigint", 2**63 - 1, "9223372036854775807"),
    ("numeric", "12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"),
    ("numeric(10,2)", "9.50", "9.50"),
    ("numeric(10,2)", 9.5, "9.50"),
    ("double precision", 0.30000000000000004, "0.30000000000000004"),
    ("real", "0.1", "0.1"),
    ("boolean", False, "f"),
    ("text", "", ""),
    ("text", "null", "null"),
    ("varchar(3)", "äöü", "äöü"),
    ("char(4)", "ab", "ab  "),
    ("date", "2026-02-28", "2026-02-28"),
    ("timestamp", "2026-02-28T12:30", "2026-02-28 12:30:00"),
    ("timestamptz", "2026-02-28 12:30:00+02", "2026-02-28 10:30:00+00"),
    ("time", "12:30", "12:30:00"),
    ("interval", "1 day", "1 day"),
    ("uuid", "5F0C0A4E-0000-4000-8000-000000000000", "5f0c0a4e-0000-4000-8000-000000000000"),
    ("jsonb", '{"b":1,"a":[1.50]}', '{"a": [1.50], "b": 1}'),
    ("json", '{"b":1}', '{"b":1}'),
    ("inet", "10.0.0.1", "10.0.0.1"),
    ("mood", "good", "good"),
    ("short", "abc", "abc"),
    ("int[]", "{1,2}", "{1,2}"),
]

POSTGRES_MISFITS: list[tuple[str, Any]] = [
    *[("int", value) for value in (2**31, "x", 1.5, True, "5 ", "")],
    *[("numeric(10,2)", value) for value in ("9.505", "1e9", "NaN", "", True)],
    *[("real", value) for value in ("0.123456789", "1e300")],
    *[("boolean", value) for value in ("yes", 1, "true")],
    *[("text", value) for value in (5, True)],
    *[("varchar(3)", value) for value in ("abcd", "ab    ")],
    ("char(4)", "ab "),
    *[("date", value) for value in ("2026-02-30", "today", "2026-02-28 12:30", 5)],
    *[("timestamp", value) for value in ("2026-02-28 12:30+02", "now", "2026-02-28")],
    *[("timestamp(0)", value) for value in ("2026-02-28 12:30:00.7",)],
    *[("timestamptz", value) for value in ("2026-02-28 12:30", "infinity")],
    ("interval", "P1D"),
    ("uuid", "5f0c"),
    *[("jsonb", value) for value in ("{", "", 5)],
    ("mood", "awful"),
    ("short", "abcdef"),
    ("bytea", "x"),
    ("int[]", "{1, 2}"),
    ("name", "n" * 70),
]


@pytest.fixture
def typed(pg: Postgres) -> books.Book:
    """Return a table with a column of each type, in which every value is null."""
    kinds = dict.fromkeys([kind for kind, *_ in (*POSTGRES_FITS, *POSTGRES_MISFITS)])
    columns = ", ".join(f'"{kind}" {kind}' for kind in kinds)
    script = (
        "CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN short AS varchar(5) CHECK (VALUE <> 'never');"
        f"CREATE TABLE t (id int PRIMARY KEY, {columns}); INSERT INTO t VALUES (1)"
    )
    return books.postgres_book(pg, script, write={"t": [*kinds]})


def test_postgres_stores(typed: books.Book) -> None:
    """What fits is stored as what it means, and found to be the same whichever way it is written."""
    for kind, value, stored in POSTGRES_FITS:
        typed.run("SET timezone = 'UTC'; UPDATE t SET " + f'"{kind}" = NULL')
        typed.update({kind: value}, table="t", key=1)
        assert typed.run(f'SELECT format(\'%s\', "{kind}") FROM t WHERE "{kind}" IS NOT NULL') == [(stored,)], kind
        again = typed.update({kind: value}, table="t", key=1, expected={kind: value})
        assert again.content.startswith("t:1 says this already."), kind


def test_postgres_stores_not(typed: books.Book) -> None:
    """What the server would round, cut, drop or read as of now is refused, and so is what it refuses."""
    for kind, value in POSTGRES_MISFITS:
        typed.not_updated({kind: value}, table="t", key=1)
        assert typed.run(f'SELECT "{kind}" FROM t') == [(None,)], kind
