"""Laws that hold for any contents of a database and any arguments."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm.bounds import bound_result
from nr_llm.results import ToolResult
from nr_llm_sql._conditions import Condition, Operator
from nr_llm_sql._credentials import credential_like
from nr_llm_sql._names import clear, fold, quoted

from tests.plugins.sql.databases import SHOP, call, cells, column, read
from tests.plugins.sql.postgres import Postgres

stored = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.binary(max_size=40).map(lambda data: ("blob", data)),
    st.binary(max_size=400).map(lambda data: ("text", data)),
    st.text(max_size=400).map(lambda text: ("text", text.encode("utf-8", "replace"))),
)
"""A value as SQLite may hold it; text may be any bytes."""

names = st.text(max_size=12).filter(
    lambda name: clear(name) and not credential_like(name) and not fold(name).startswith("sqlite_")
)


def fill(path: Path, table: str, columns: list[str], rows: list[list[Any]], *, kind: str = "") -> None:
    """Create a table with these rows, types as given."""
    marks = {"text": "CAST(? AS TEXT)", "blob": "?"}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        fields = ", ".join(quoted(name) for name in columns)
        connection.execute(f"CREATE TABLE {quoted(table)} ({fields}{kind})")
        for row in rows:
            tagged = [value if isinstance(value, tuple) else ("blob", value) for value in row]
            places = ", ".join(marks[tag] for tag, _ in tagged)
            connection.execute(f"INSERT INTO {quoted(table)} VALUES ({places})", [value for _, value in tagged])
        connection.commit()


def check(result: ToolResult) -> None:
    """Check that the bounds change nothing, and that every sink can encode the table."""
    assert len(result.content.encode()) < 50_000
    bounded = bound_result(result)
    assert bounded.content == result.content
    before, after = ([artifact.to_dict() for artifact in one.artifacts] for one in (result, bounded))
    assert json.dumps(before) == json.dumps(after)


def drawn(table: str, result: ToolResult, *, keyed: bool) -> list[str]:
    """Return the lines that the result's table alone would give."""
    columns, rows = cells(result)
    lines = []
    for i, row in enumerate(rows):
        lines.append(f"{table}:{row[0]}" if keyed else f"{table} #{i + 1}")
        lines += [f"  {name}: {text}" for name, text in list(zip(columns, row, strict=True))[keyed:]]
    return lines


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[str], list[list[Any]]]:
    """Draw a table's name, columns and rows."""
    columns = draw(st.lists(names, min_size=1, max_size=4, unique_by=fold))
    row = st.lists(stored, min_size=len(columns), max_size=len(columns))
    return draw(names), columns, draw(st.lists(row, min_size=1, max_size=6))


@given(tables())
def test_text_and_table_are_one(drawing: tuple[str, list[str], list[list[Any]]]) -> None:
    """Whatever a table holds, the text is what its artifact gives, and both pass every bound unchanged."""
    table, columns, rows = drawing
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "any.db")
        fill(path, table, columns, rows)
        result = read(path, table)
        listed, schema = call(path, "list_tables"), call(path, "table_schema", {"table": table})

    shown, cell_rows = cells(result)
    assert shown[-len(columns) :] == columns
    assert len(cell_rows) == len(rows)
    assert result.content.split("\n")[1:] == drawn(table, result, keyed=len(shown) > len(columns))
    assert [row[0] for row in cells(schema)[1]] == columns
    assert cells(listed)[1] == [[table, "table", str(len(rows))]]
    for one in (result, listed, schema):
        check(one)


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([" ", "\n", ": ", '"', "=", "\t\t", ","]))
def test_a_secret_is_in_neither_channel(before: str, after: str, edge: str) -> None:
    """A credential in a cell is masked in the text and in the table, whatever stands around it."""
    secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
    text = f"{before}{edge}{secret}{edge}{after}".encode("utf-8", "replace")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "any.db")
        fill(path, "notes", ["note"], [[("text", text)]])
        result = read(path, "notes")

    assert secret not in result.content
    assert secret not in json.dumps(cells(result))


@pytest.fixture(scope="module")
def standing_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a shop's database that stands for all examples, since nothing writes to it."""
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SHOP)
    return path


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    table=st.sampled_from(["orders", "customers", "api_keys"]) | st.text(max_size=20),
    fields=st.none() | st.lists(st.sampled_from(["id", "status", "password_hash"]) | st.text(max_size=20), max_size=4),
    filters=st.none() | st.dictionaries(st.sampled_from(["id", "status"]) | st.text(max_size=10), anything, max_size=6),
    limit=st.integers(),
    offset=st.integers(),
    order=st.none() | st.sampled_from(["id", "-id", "status desc"]) | st.text(max_size=20),
)
def test_any_arguments_are_answered(standing_shop: Path, **arguments: Any) -> None:
    """Whatever a model asks, there is an answer without an error, a trace of a hidden table or a secret."""
    result = read(standing_shop, **arguments)

    assert not result.is_error
    assert "do not show" not in result.content
    assert "f00" not in result.content
    check(result)


DATES = ["2026-01-31", "2026-01", "2026-13-45", "2026-01-31T10:00:00Z"]
operands = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(DATES)
conditions = st.builds(
    Condition,
    st.sampled_from(["id", "status", "total", "paid", "password_hash"]) | st.text(max_size=10),
    st.sampled_from(get_args(Operator)),
    operands | st.lists(operands, max_size=4),
)
asked = st.fixed_dictionaries(
    {
        "table": st.sampled_from(["orders", "customers", "api_keys"]) | st.text(max_size=20),
        "where": st.none() | st.lists(conditions, max_size=6),
        "limit": st.integers(),
    }
)
searched = st.fixed_dictionaries(
    {"text": st.text(max_size=20), "offset": st.integers(), "order": st.none() | st.sampled_from(["id", "status desc"])}
)
field = st.none() | st.sampled_from(["id", "status", "password_hash"]) | st.text(max_size=10)


def settled(result: ToolResult) -> None:
    """Check that an answer is one, that it fits, and that it tells nothing of what is hidden."""
    assert not result.is_error
    assert "do not show" not in result.content
    assert "f00" not in result.content
    check(result)


@given(asked, searched, field)
def test_any_search_and_count_is_answered(
    standing_shop: Path, common: dict[str, Any], search: dict[str, Any], field: str | None
) -> None:
    """Whatever a model searches for or counts, there is an answer without an error or a trace of what is hidden."""
    settled(call(standing_shop, "search_records", common | search))
    settled(call(standing_shop, "count_by", common | {"field": field}))


@settings(max_examples=40)
@given(asked, searched, field)
def test_any_search_and_count_is_answered_by_postgresql(
    pg_shop: Postgres, common: dict[str, Any], search: dict[str, Any], field: str | None
) -> None:
    """So there is on PostgreSQL, which knows types and refuses more values."""
    settled(pg_shop.call("search_records", common | search))
    settled(pg_shop.call("count_by", common | {"field": field}))


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_a_value_of_postgresql_equals_itself(pg_standing: Postgres, value: str) -> None:
    """Any text is bound as it is: a cell that holds it is found by it, and only that one."""
    literal = value.replace("'", "''")
    pg_standing.run(
        f"DROP TABLE IF EXISTS words; CREATE TABLE words (id int PRIMARY KEY, v text);"
        f"INSERT INTO words VALUES (1, '{literal}'), (2, 'x' || '{literal}')"
    )
    try:
        assert column(pg_standing.read("words", filters={"v": value}), "id") == ["1"]
    finally:
        pg_standing.run("DROP TABLE words")
