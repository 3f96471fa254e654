"""What changed between two texts: a diff that makes one of the other, in bounded time and space."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm_tools import _diff
from nr_llm_tools._diff import changes, count_lines, counted, fitting

TEXTS = st.lists(st.sampled_from("abc"), max_size=30).map("\n".join) | st.text(alphabet="ab\n", max_size=40)


def applied(old: str, lines: tuple[tuple[str, str], ...]) -> str:
    """Return what a diff makes of a text, as a program that applies it does."""
    source, made, at = old.split("\n"), list[str](), 0
    ended = old.endswith("\n") or not old
    source = source[:-1] if source[-1] == "" else source
    last = None
    for mark, text in lines:
        if mark == "@":
            start, _, length = text.split(" ")[0].removeprefix("-").partition(",")
            begin = int(start) - (length != "0")
            made += source[at:begin]
            at = begin
        elif mark == "\\":
            ended = last == "-"
        else:
            ended = ended if mark == "-" or last is None else True if mark == "+" else ended
            if mark in "- ":
                assert source[at] == text
                at += 1
            if mark in "+ ":
                made.append(text)
            last = mark
    return "\n".join([*made, *source[at:]])


@given(TEXTS, TEXTS)
def test_it_makes_one_text_of_the_other(old: str, new: str) -> None:
    """Line for line, whatever they are."""
    assert applied(old, changes(old, new)) == new.removesuffix("\n")


@given(TEXTS, TEXTS)
def test_it_is_as_long_as_what_changed(old: str, new: str) -> None:
    """Every added and removed line is one of those that are counted."""
    lines = [mark for mark, _ in changes(old, new)]

    assert (lines.count("+"), lines.count("-")) == counted(old, new)
    assert count_lines(old) + lines.count("+") - lines.count("-") == count_lines(new)


def test_places_and_context() -> None:
    """Three lines around a change, places counted from 1, changes far apart in parts of their own."""
    old = "".join(f"{n}\n" for n in range(1, 31))
    new = old.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n")

    assert changes(old, new) == (
        ("@", "-2,7 +2,7"),
        (" ", "2"),
        (" ", "3"),
        (" ", "4"),
        ("-", "5"),
        ("+", "five"),
        (" ", "6"),
        (" ", "7"),
        (" ", "8"),
        ("@", "-22,7 +22,6"),
        (" ", "22"),
        (" ", "23"),
        (" ", "24"),
        ("-", "25"),
        (" ", "26"),
        (" ", "27"),
        (" ", "28"),
    )


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "a\n", (("@", "-0,0 +1"), ("+", "a"))),
        ("a\n", "", (("@", "-1 +0,0"), ("-", "a"))),
        ("a", "a\n", (("@", "-1 +1"), ("-", "a"), ("\\", "No newline at end of file"), ("+", "a"))),
        ("a\n", "a\n", ()),
        ("", "", ()),
    ],
)
def test_the_ends(old: str, new: str, lines: tuple[tuple[str, str], ...]) -> None:
    """New, emptied, a missing line feed, nothing."""
    assert changes(old, new) == lines


def test_large_changes_are_not_compared_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound all old lines are removed and all new ones added, equal ends but."""
    monkeypatch.setattr(_diff, "COMPARED", 3)
    old, new = "x\na\nb\nc\nd\ny\n", "x\nd\nc\nb\na\ny\n"

    assert [mark for mark, _ in changes(old, new)] == ["@", " ", *"----", *"++++", " "]


def test_what_does_not_fit_is_counted() -> None:
    """The rest is a note, each line is cut, and nothing acts on a terminal."""
    lines = fitting([("+", "x" * 2_000), ("+", "\x1b[2J"), ("-", "y" * 2_000)], limit=1_100)

    assert lines[0][1].endswith("(+1,000 characters)")
    assert lines[1:] == (("+", "\\x1b[2J"), ("\\", "… 1 more line"))
