"""How one value becomes one line of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm.redaction import Redactor
from nr_llm_sql._cells import CELL_CHARACTERS, SCANNED_CHARACTERS, Blob, Value, cell, line

SECRET = "sk-proj-A1b2C3d4E5f6G7h8I9j0"


def plain(text: str) -> str:
    """Mask nothing."""
    return text


class TestForms:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            *((None, "null"), (True, "true"), (False, "false"), (0, "0"), (-(2**63), "-9223372036854775808")),
            *((1.5, "1.5"), (float("inf"), "inf"), (b"", "<0 bytes>"), (b"abc", "<3 bytes>"), (Blob(7), "<7 bytes>")),
            *(("", ""), (" a \n\t b\u2028c\x85 ", "a b c"), ("bell\x07\x1b[2J", "bell\ufffd\ufffd[2J")),
            ("half \ud83d pair", "half \ufffd pair"),
        ],
    )
    def test_each_kind_of_value(self, value: Value, expected: str) -> None:
        """Every value SQLite can store has one form."""
        assert cell(value, plain) == expected

    def test_exactly_300_characters_pass(self) -> None:
        """The bound itself is not cut."""
        assert cell("x" * 300, plain) == "x" * 300

    def test_301_characters_are_cut(self) -> None:
        """One more is, with an ellipsis."""
        assert cell("x" * 301, plain) == "x" * 300 + "…"

    def test_an_unseen_rest_is_announced(self) -> None:
        """A long value whose beginning is short once its blanks are gone still says that it goes on."""
        assert cell("a" + " " * SCANNED_CHARACTERS + "b", plain) == "a…"

    def test_a_long_value_without_blanks_shows_its_beginning(self) -> None:
        """A word longer than the window is not lost."""
        assert cell("x" * 10_000, plain) == "x" * 300 + "…"


class TestSecrets:
    def test_a_secret_is_masked(self) -> None:
        """A credential's shape in a value does not get through."""
        assert SECRET not in cell(f"use {SECRET} now", Redactor().redact)

    def test_masking_comes_before_cutting(self) -> None:
        """A secret across the cut is masked whole instead of shown in half."""
        text = cell("x" * 290 + " " + SECRET, Redactor([SECRET]).redact)

        assert SECRET[:6] not in text

    def test_a_secret_of_several_lines_is_masked(self) -> None:
        """A private key is recognised although its lines are joined for display."""
        key = "-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBgkq\nQWxsIGdvb2Q=\n-----END PRIVATE KEY-----"

        assert "MIIB" not in cell(key, Redactor().redact)

    def test_a_secret_at_the_edge_of_the_window_is_dropped(self) -> None:
        """The word the window cuts is left out, since half a secret has no shape."""
        text = "a" + " " * (SCANNED_CHARACTERS - 9) + SECRET

        assert cell(text, Redactor().redact) == "a…"


class TestLaws:
    @given(st.text(st.characters(), max_size=700))
    def test_a_cell_is_one_bounded_encodable_line(self, text: str) -> None:
        """Whatever the text: one line, at most 300 characters and an ellipsis, valid Unicode, no controls."""
        shown = cell(text, Redactor().redact)

        shown.encode()
        assert len(shown) <= CELL_CHARACTERS + 1
        assert len(shown.splitlines()) <= 1
        assert all(char >= " " and not "\x7f" <= char <= "\x9f" for char in shown)

    @given(st.text(st.characters(), max_size=300))
    def test_lines_are_stable(self, text: str) -> None:
        """Putting a line on one line changes nothing."""
        assert line(line(text)) == line(text)
