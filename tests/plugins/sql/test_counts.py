"""What ``count_by`` counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nr_llm.results import ToolResult
from nr_llm_sql import _answers as answers
from nr_llm_sql._conditions import Condition

from tests.plugins.sql.databases import Make, call, cells


def count(database: Path, table: str, field: str | None, *where: tuple[Any, ...], **arguments: Any) -> ToolResult:
    """Count rows; conditions are field, operator, value."""
    conditions = [Condition(*each) for each in where]
    return call(database, "count_by", {"table": table, "field": field, "where": conditions, **arguments})


def test_text_and_table(shop: Path) -> None:
    """One line for each value, the most frequent first, drawn from the artifact's cells."""
    result = count(shop, "orders", "status")

    assert result.content == "orders by status: 2 values\nstatus | rows\nopen | 2\nsent | 1"
    assert cells(result) == (["status", "rows"], [["open", "2"], ["sent", "1"]])
    assert result.artifacts[0].label == "orders by status"


def test_all_rows(shop: Path) -> None:
    """Without a field all rows are counted as one, also when there are none."""
    assert count(shop, "orders", None).content == "orders: count\nrows\n3"
    assert cells(count(shop, "orders", None, ("id", "=", 99)))[1] == [["0"]]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (("total", ">", 6), [["open", "2"]]),
        (("total", "<=", 9.5), [["open", "1"], ["sent", "1"]]),
        (("status", "!=", "open"), [["sent", "1"]]),
        (("customer", "in", [1, 3]), [["open", "1"], ["sent", "1"]]),
    ],
)
def test_conditions(where: tuple[Any, ...], rows: list[list[str]], shop: Path) -> None:
    """Only rows count for which the conditions hold."""
    assert cells(count(shop, "orders", "status", where))[1] == rows


def test_null_is_not_empty_and_binary_data_is_measured(make: Make) -> None:
    """Each kind of value is a value of its own; binary data is grouped by its size."""
    path = make("CREATE TABLE t (x)", t=[(None,), ("",), (b"ab",), (b"cd",), (1,), (1.0,), ("1",)])

    rows = cells(count(path, "t", "x"))[1]
    assert sorted(rows) == [["", "1"], ["1", "1"], ["1", "2"], ["<2 bytes>", "2"], ["null", "1"]]


def test_rows_of_one_beginning_count_as_shown(make: Make) -> None:
    """Secrets are masked in values, too."""
    token = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
    path = make("CREATE TABLE t (x)", t=[(token,), ("plain",)])

    assert token not in count(path, "t", "x").content


def test_more_values_than_asked_for(make: Make) -> None:
    """What does not fit the page is announced."""
    path = make("CREATE TABLE t (x)", t=[(i,) for i in range(5)])
    result = count(path, "t", "x", limit=2)

    assert len(cells(result)[1]) == 2
    assert result.content.endswith("More values follow: use filters, or a larger limit.")
    assert "follow" not in count(path, "t", "x", limit=5).content


@pytest.mark.parametrize("operator", ["contains", "starts_with"])
def test_texts_are_not_looked_into(operator: str, shop: Path) -> None:
    """A number of rows would tell what a masked text begins with."""
    result = count(shop, "customers", None, ("name", operator, "Ad"))

    assert result.content.startswith(answers.COUNT_NOT_PERMITTED)


@pytest.mark.parametrize("field", ["nowhere", "password_hash", "", "1) --"])
def test_fields_that_nobody_sees(field: str, shop: Path) -> None:
    """An unknown field and one that is hidden are one."""
    assert count(shop, "customers", field).content.startswith(answers.NO_FIELDS)


def test_refusals(shop: Path) -> None:
    """Too much, too odd, nothing there."""
    assert count(shop, "orders", None, *[("id", "=", 1)] * 6).content == answers.TOO_MANY_FILTERS
    assert count(shop, "orders", None, ("id", "<", "x")).content.startswith(answers.FILTER_NOT_PERMITTED)
    assert count(shop, "orders", "status", ("id", "=", 99)).content == answers.NO_ROWS
    assert count(shop, "api_keys", None).content == answers.NOT_PERMITTED
