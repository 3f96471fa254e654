"""Names compare and quote as in SQLite, and only clear ones are offered."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm.redaction import Redactor
from nr_llm_sql._cells import cell
from nr_llm_sql._names import clear, fold, quoted

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


class TestFold:
    def test_lowers_ascii_letters_alone(self) -> None:
        """Only A to Z lose their case, as in SQLite."""
        assert fold("ÄBC İd") == "Äbc İd"

    @given(names, names)
    def test_agrees_with_sqlite(self, one: str, other: str) -> None:
        """Two names fold to one exactly when SQLite takes them for one table."""
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f"CREATE TEMP TABLE {quoted('t' + one)} (x)")
            query = "SELECT count(*) FROM sqlite_temp_master WHERE name = ? COLLATE NOCASE"
            [same] = connection.execute(query, ["t" + other]).fetchone()

        assert (fold(one) == fold(other)) == bool(same)


class TestQuoted:
    @given(names)
    def test_names_exactly_that_column(self, name: str) -> None:
        """Whatever stands in a name, the quoted form is that name and nothing more."""
        with closing(sqlite3.connect(":memory:")) as connection:
            cursor = connection.execute(f"SELECT 1 AS {quoted(name)}")

        assert cursor.description[0][0] == name


class TestClear:
    @pytest.mark.parametrize(
        "name", ["orders", "order lines", 'say "hi"', "select", "größe", "表", "a;drop table b", "x" * 128]
    )
    def test_accepts_what_reads_the_same(self, name: str) -> None:
        """Odd but visible names are offered."""
        assert clear(name)

    @pytest.mark.parametrize(
        "name",
        [
            *("", "x" * 129, "two\nlines", "tab\there", " padded", "two  blanks", "no\u00a0break", "zero\u200bwidth"),
            *("\u202eturned", "bad\ufffdbytes", "\x1b[2J", "sk-" + "A1b2" * 8),
        ],
    )
    def test_refuses_what_does_not(self, name: str) -> None:
        """Names that are invisible, too long, broken or secrets are not."""
        assert not clear(name)

    @given(names)
    def test_clear_names_are_their_own_cells(self, name: str) -> None:
        """A name that is offered is shown as it has to be asked for."""
        assert not clear(name) or cell(name, Redactor().redact) == name
