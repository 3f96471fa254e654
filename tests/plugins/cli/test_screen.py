"""Text of models and tools reaches a terminal without the power to command it."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nr_llm_cli.screen import Cleaner, document, one_line, visible

HARMFUL = [
    "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\x00", "\x7f", "\r", "\u202e", "\u2066", "\u200f", "\u061c",
    "\u2028", "\ud800", "\U000e0041",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMFUL, ids=ascii)
def test_controls_become_escapes(text: str) -> None:
    """No control, escape, bidi control, hidden tag or lone surrogate is left, and each is still to be seen."""
    shown = visible(f"a{text}b")

    assert shown.isprintable()
    assert shown.startswith("a\\")


@pytest.mark.parametrize("text", ["tab\there", "line\nbreak", "日本語", "é", "👩‍💻", "\u00ad"], ids=ascii)
def test_harmless_text_stays(text: str) -> None:
    """Newlines, tabs and every script stay as they are."""
    assert visible(text) == text


def test_line_ends_become_newlines() -> None:
    """A file with CRLF reads as any other; a lone carriage return would overwrite the line."""
    assert visible("a\r\nb\rc") == "a\nb\\u000dc"


def test_one_line_has_no_breaks_and_its_bound() -> None:
    """What stands in a line stays in it, and a cut is seen."""
    assert one_line("a\nb\tc") == "a\\nb\\tc"
    assert one_line("x" * 9, 5) == "xxxx…"
    assert len(one_line("\x1b" * 9, 8)) == 8


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_documents_mean_the_same_when_made_visible(value: object) -> None:
    """Escaping is JSON's own, so a program reads what was meant and a terminal is safe."""
    line = document(value)

    assert json.loads(line) == value
    assert visible(line) == line
    assert "\n" not in line


def test_a_document_escapes_beyond_the_first_plane() -> None:
    """Hidden tags are escaped as surrogate pairs, the only form JSON has."""
    assert document("\U000e0041") == '"\\udb40\\udc41"'


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="ab\r\n\x1b"), st.integers(1, 3))
def test_pieces_are_cleaned_however_they_are_cut(text: str, size: int) -> None:
    """A text that streams in reads as if it had come at once."""
    cleaner = Cleaner()
    shown = "".join(cleaner.feed(text[i : i + size]) for i in range(0, len(text), size)) + cleaner.rest()

    assert shown == visible(text)
