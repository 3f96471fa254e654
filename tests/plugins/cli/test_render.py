"""What people see, line by line."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nr_llm.prices import Price
from nr_llm.responses import Usage
from nr_llm_cli import render


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1200, "1.2 kB"),
        (2_500_000, "2.5 MB"),
        (3 * 10**9, "3.0 GB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_sizes(number: int, text: str) -> None:
    """Bytes are told in the unit that fits."""
    assert render.size(number) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0.2, "<1 ms"), (12.4, "12 ms"), (1300, "1.3 s"), (125_000, "2 min 5 s")]
)
def test_durations(milliseconds: float, text: str) -> None:
    """Times are told in the unit that fits."""
    assert render.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), ""),
        (Usage(10, 5), "tokens: 10 in, 5 out"),
        (Usage(10), "tokens: 10 in"),
        (Usage(0, 0), "tokens: 0 in, 0 out"),
    ],
)
def test_tokens(usage: Usage, text: str) -> None:
    """Tokens that are not reported are not told as none."""
    assert render.tokens(usage) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "cost: –"),
        (Decimal(0), "cost: 0.0000 USD"),
        (Decimal("0.00001"), "cost: <0.0001 USD"),
        (Decimal("12.34567"), "cost: 12.3457 USD"),
    ],
)
def test_cost(amount: Decimal | None, text: str) -> None:
    """A cost that is not known is a dash, and a small one is not nothing."""
    assert render.cost(amount, Price(input=1, output=1)) == text


def test_cost_without_a_price() -> None:
    """What was not figured with a price is not known."""
    assert render.cost(Decimal(0), None) == "cost: –"


def test_arguments_are_one_bounded_line() -> None:
    """A call's arguments never break the line, never command the terminal, never flood it."""
    line = render.arguments({"text": "a\n\x1b[2J" + "x" * 900})

    assert len(line) == render.ARGUMENTS
    assert line.isprintable()
    assert line.startswith('{"text":"a\\n\\u001b[2J')


def test_excerpts_say_what_is_left_out() -> None:
    """A text is cut at lines or characters, whichever comes first, and says how much is missing."""
    assert render.excerpt("a\nb\n") == ["a", "b"]
    assert render.excerpt("a\nb\nc\nd", lines=2) == ["a", "b", "… 2 more lines"]
    assert render.excerpt("a\nb\nc", lines=2) == ["a", "b", "… 1 more line"]
    assert render.excerpt("abcdef\ng", characters=4) == ["abcd", "… 4 more characters"]


def test_a_table_is_aligned() -> None:
    """Numbers stand to the right, text to the left, wide characters take two columns."""
    lines = render.table(["n", "name", "ok"], [[1, "日本", True], [12.5, "a", None]])

    assert lines == ["   n  name  ok", "   1  日本  true", "12.5  a     null"]


def test_a_table_without_rows_has_its_headings() -> None:
    """Nothing found is still a table."""
    assert render.table(["a", "b"], []) == ["a  b"]


def test_a_cell_is_bounded_and_harmless() -> None:
    """A cell cannot break the table."""
    (_, line) = render.table(["a"], [["x\n\x1b" + "y" * 99]])

    assert line.startswith("x\\n\\u001byyy")
    assert line.endswith("…")
    assert len(line) == render.CELL


def test_combining_marks_take_no_column() -> None:
    """An accent written apart does not shift what follows."""
    assert render.width("e\u0301") == 1


def test_rows_that_are_left_out_are_counted() -> None:
    """One never takes a cut table for a whole one."""
    assert render.more(25, 20) == "… 5 more rows"


CELLS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(CELLS, CELLS)), st.text(), st.text())
def test_any_table_is_drawn(rows: list[tuple[object, object]], first: str, second: str) -> None:
    """Whatever cells hold, each row is one printable line."""
    lines = render.table([first, second], rows)

    assert len(lines) == len(rows) + 1
    assert all("\n" not in line and "\x1b" not in line for line in lines)
