"""What ``search_records`` finds, and what it must not let anybody guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nr_llm.results import ToolResult
from nr_llm_sql import _answers as answers
from nr_llm_sql import _records
from nr_llm_sql._conditions import Condition

from tests.plugins.sql.databases import Make, call, cells, column

TOKEN = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
"""A text that is masked by its shape, whatever the column is called."""


def search(database: Path, table: str, text: str = "", *where: tuple[Any, ...], **arguments: Any) -> ToolResult:
    """Search a table; conditions are field, operator, value."""
    conditions = [Condition(*each) for each in where]
    return call(database, "search_records", {"table": table, "text": text, "where": conditions, **arguments})


@pytest.fixture
def notes(make: Make) -> Path:
    """Return a database of notes, one of which holds a credential."""
    rows = [
        (1, "Alpha beta", 10, "2026-01-31"),
        (2, "100% sure_thing", 20.5, "2026-02-01 10:00"),
        (3, f"login {TOKEN} beta", None, "soon"),
        (4, b"beta", 30, None),
        (5, "", -1, ""),
    ]
    return make("CREATE TABLE notes (id INTEGER PRIMARY KEY, note, size, day)", notes=rows)


class TestText:
    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("ALPHA", ["1"]),
            ("beta", ["1", "3"]),
            ("  beta ", ["1", "3"]),
            ("100%", ["2"]),
            ("e_t", ["2"]),
            ("%%", []),
            ("__", []),
            ("a%b", []),
            ("a' OR '1'='1", []),
            ("2026-02", ["2"]),
        ],
    )
    def test_is_found_anywhere_and_means_itself(self, text: str, ids: list[str], notes: Path) -> None:
        """Texts are found in any field, without regard to capitals; no character is a wildcard."""
        result = search(notes, "notes", text)

        assert (column(result, "id") if ids else result.content) == (ids or answers.NO_ROWS)

    @pytest.mark.parametrize("text", ["x", "x" * 101, "a\0b"])
    def test_of_a_useless_length_is_refused(self, text: str, notes: Path) -> None:
        """A text that finds everything, or that nobody would type, is not searched for."""
        assert search(notes, "notes", text).content == answers.TEXT_NOT_PERMITTED

    def test_no_text_and_no_condition_is_every_row(self, notes: Path) -> None:
        """Without anything to look for, rows are read as they are."""
        assert column(search(notes, "notes"), "id") == ["1", "2", "3", "4", "5"]

    def test_fields_that_are_not_shown_are_searched(self, notes: Path) -> None:
        """What is shown does not limit what is searched."""
        assert cells(search(notes, "notes", "alpha", fields=["size"])) == (["id", "size"], [["1", "10"]])

    def test_pages_follow_each_other(self, make: Make) -> None:
        """A search goes on where it ended."""
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, x)", t=[(i, f"word {i}") for i in range(1, 6)])
        first, second = (search(path, "t", "word", limit=3, offset=offset) for offset in (0, 3))

        assert (column(first, "id"), column(second, "id")) == (["1", "2", "3"], ["4", "5"])
        assert first.content.endswith("go on with offset 3.")
        assert not second.content.endswith("go on with offset 5.")

    def test_a_search_looks_at_so_many_rows(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """A search that finds without end is ended, and says so."""
        monkeypatch.setattr(_records, "MOST_CANDIDATES", 3)
        path = make("CREATE TABLE t (id INTEGER PRIMARY KEY, x)", t=[(i, "word") for i in range(9)])

        assert search(path, "t", "word", limit=5).content.endswith(answers.SEARCH_ON)
        assert search(path, "t", "word", offset=5).content == answers.SEARCH_ON


class TestSecrets:
    @pytest.mark.parametrize("length", [4, 5, 10, len(TOKEN)])
    def test_a_masked_secret_cannot_be_guessed_piece_by_piece(self, length: int, notes: Path) -> None:
        """A right and a wrong beginning of a secret give the same answer."""
        right, wrong = TOKEN[:length], TOKEN[: length - 1] + "~"
        asked = [search(notes, "notes", text).content for text in (right, wrong)]
        asked += [
            search(notes, "notes", "", ("note", operator, f"{prefix}{text}")).content
            for operator, prefix in (("contains", ""), ("starts_with", "login "))
            for text in (right, wrong)
        ]

        assert set(asked) == {answers.NO_ROWS}

    def test_what_is_hidden_counts_for_nothing(self, notes: Path) -> None:
        """Rows that only match below a mask shift no offset: what follows is numbered as if they were not there."""
        result = search(notes, "notes", "", ("note", "contains", "beta"), ("size", "=", None))

        assert column(result, "id") == ["3"]
        assert search(notes, "notes", TOKEN[:6], offset=1).content == answers.NO_ROWS

    @pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
    @pytest.mark.parametrize("value", ["login g", "", "20", True, None, "2026-1-1", float("nan")])
    def test_texts_are_not_sorted_among_guesses(self, operator: str, value: object, notes: Path) -> None:
        """Above and below are for numbers and times: between texts they would tell a secret, letter by letter."""
        assert search(notes, "notes", "", ("note", operator, value)).content.startswith(answers.FILTER_NOT_PERMITTED)

    def test_credential_columns_are_not_searched(self, shop: Path) -> None:
        """A column that nobody sees is neither searched nor filtered."""
        assert search(shop, "customers", "ba4").content == answers.NO_ROWS
        refused = search(shop, "customers", "", ("password_hash", "=", "ba4"))
        assert refused.content.startswith(answers.FILTER_NOT_PERMITTED)


class TestWhere:
    @pytest.mark.parametrize(
        ("where", "ids"),
        [
            (("size", ">", 10), ["2", "4"]),
            (("size", ">=", 10), ["1", "2", "4"]),
            (("size", "<", 0), ["5"]),
            (("size", "<=", 20.5), ["1", "2", "5"]),
            (("day", ">", "2026-01-31"), ["2"]),
            (("day", "<=", "2026-01-31T00:00:00Z"), ["1"]),
            (("note", "=", ""), ["5"]),
            (("day", "=", None), ["4"]),
            (("day", "!=", None), ["1", "2", "3", "5"]),
            (("day", "!=", ""), ["1", "2", "3", "4"]),
            (("id", "in", [1, 5, 99]), ["1", "5"]),
            (("note", "contains", "SURE_"), ["2"]),
            (("note", "starts_with", "alpha"), ["1"]),
            (("note", "starts_with", "beta"), []),
        ],
    )
    def test_each_operator(self, where: tuple[Any, ...], ids: list[str], notes: Path) -> None:
        """Each operator finds what it says; numbers compare among numbers and times among times."""
        result = search(notes, "notes", "", where)

        assert (column(result, "id") if ids else result.content) == (ids or answers.NO_ROWS)

    def test_all_hold(self, notes: Path) -> None:
        """Conditions and text hold together."""
        assert column(search(notes, "notes", "sure", ("size", ">", 10)), "id") == ["2"]
        assert search(notes, "notes", "sure", ("size", ">", 30)).content == answers.NO_ROWS

    @pytest.mark.parametrize(
        "where",
        [
            ("id", "in", []),
            ("id", "in", list(range(51))),
            ("id", "in", 5),
            ("id", "=", [5]),
            ("note", "contains", 12),
            ("note", "contains", "x"),
            ("nowhere", "=", 1),
            ("id; DROP TABLE notes", "=", 1),
            ("id", "=", 2**63),
            ("note", "=", "\ud800"),
        ],
    )
    def test_what_cannot_be_asked(self, where: tuple[Any, ...], notes: Path) -> None:
        """A condition that makes no sense is refused, with the fields there are."""
        assert search(notes, "notes", "", where).content.startswith(answers.FILTER_NOT_PERMITTED)

    def test_at_most_five(self, notes: Path) -> None:
        """A sixth condition is refused before anything is read."""
        assert search(notes, "notes", "", *[("id", "=", 1)] * 6).content == answers.TOO_MANY_FILTERS

    def test_operators_are_a_closed_list(self, notes: Path) -> None:
        """The schema refuses an operator that is none, before the tool runs."""
        from nr_llm.errors import InvalidValueError
        from nr_llm_sql import SqlSettings, sql_tools

        tool = {tool.name: tool for tool in sql_tools(SqlSettings(database=notes))}["search_records"]
        with pytest.raises(InvalidValueError, match="operator"):
            tool.structure({"table": "notes", "where": [{"field": "id", "operator": "= 1 OR 1 =", "value": 1}]})
