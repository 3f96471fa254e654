"""Values as lines of text: pure functions, so that what people see is tested without a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from nr_llm._json import encode
from nr_llm.prices import Price
from nr_llm.responses import Usage

from nr_llm_cli.screen import document, one_line, visible

ROWS: Final = 20
"""Rows of an artifact's table that a run shows: enough to see what it is, little enough to see the next step."""

CELL: Final = 48
"""Characters of a cell in a plain table."""

ARGUMENTS: Final = 160
"""Characters of a call's arguments in its line: two lines of a usual terminal."""

LINES: Final = 12
"""Lines of a result's text that are shown beside an answer."""

CHARACTERS: Final = 1_500
"""Characters of a result's text that are shown beside an answer: `LINES` lines of a usual terminal."""

LEAST: Final = Decimal("0.0001")
"""The least amount of money that is shown; what is less is said to be less."""


def size(count: int) -> str:
    """Return a number of bytes for people, such as ``1.2 kB``."""
    amount, units = float(count), iter(("kB", "MB", "GB", "TB"))
    unit = "B"
    while amount >= 1000 and (larger := next(units, None)):
        amount, unit = amount / 1000, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def duration(milliseconds: float) -> str:
    """Return a time for people, such as ``12 ms``, ``1.3 s`` or ``2 min 5 s``."""
    if milliseconds < 1:
        return "<1 ms"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def count(number: int, noun: str) -> str:
    """Return ``1 call`` or ``2 calls``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def tokens(usage: Usage) -> str:
    """Return the tokens read and written, as far as they are reported; empty if none is."""
    parts = ((usage.input_tokens, "in"), (usage.output_tokens, "out"))
    told = [f"{number} {way}" for number, way in parts if number is not None]
    return f"tokens: {', '.join(told)}" if told else ""


def cost(amount: Decimal | None, price: Price | None) -> str:
    """Return what something cost, rounded for people: a dash where nobody knows, which is not nothing."""
    if amount is None or price is None:
        return "cost: –"
    if 0 < amount < LEAST:
        return f"cost: <{LEAST} {price.currency}"
    return f"cost: {amount.quantize(LEAST):f} {price.currency}"


def arguments(values: Mapping[str, Any], most: int = ARGUMENTS) -> str:
    """Return a call's arguments as one line of JSON that has at most `most` characters."""
    return one_line(encode(dict(values)), most)


def excerpt(text: str, *, lines: int = LINES, characters: int = CHARACTERS) -> list[str]:
    """Return the beginning of a text as lines, the last of which says how much more there is."""
    body = visible(text).rstrip("\n")
    whole = body.split("\n")
    shown = "\n".join(whole[:lines])
    if len(shown) > characters:
        return [*shown[:characters].split("\n"), f"… {count(len(body) - characters, 'more character')}"]
    return whole if len(whole) <= lines else [*whole[:lines], f"… {count(len(whole) - lines, 'more line')}"]


def cell(value: object) -> str:
    """Return a table's cell as text in one line: text as it is, everything else as JSON."""
    return one_line(value) if isinstance(value, str) else document(value)


def more(rows: int, shown: int) -> str:
    """Return the line below a table whose rows are not all shown."""
    return f"… {count(rows - shown, 'more row')}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, most: int | None = CELL) -> list[str]:
    """
    Return an aligned table without borders, numbers to the right.

    Args:
        columns: The headings.
        rows: Cells, as many per row as there are columns.
        most: Characters a cell may have, or None.
    """
    headings = [_short(one_line(name), most) for name in columns]
    content = [[_short(cell(value), most) for value in row] for row in rows]
    right = [_numbers(column) for column in zip(*rows, strict=True)] or [False] * len(columns)
    lines = [headings, *content]
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(_padded, line, widths, right)).rstrip() for line in lines]


def width(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _short(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def _numbers(column: Iterable[object]) -> bool:
    told = [value for value in column if value is not None]
    return bool(told) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in told)


def _padded(text: str, size: int, right: bool) -> str:  # noqa: FBT001 - zipped with its column
    gap = " " * (size - width(text))
    return gap + text if right else text + gap


_CLOSED: Final = {
    "not_registered": "nobody has such a tool",
    "policy_unreadable": "the policy cannot be read",
    "tool_disabled": "switched off",
    "requires_admin": "for administrators only",
    "actor_not_permitted": "not open to whoever the run acts for",
    "not_granted": "not among the tools of the run",
}


def policy_lines(decisions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what the policy closed, or let through above a ceiling, one line for each reason."""
    groups: dict[str, list[str]] = {}
    for one in decisions:
        above = f"data of class {one.get('data_class')}; {one.get('zone')} may be told {one.get('ceiling')} at most"
        closed = _CLOSED.get(str(one.get("reason")), above)
        said = f"let through: {{}} ({above})" if one.get("observed") else f"not open: {{}} ({closed})"
        groups.setdefault(said, []).append(str(one.get("tool")))
    return [said.format(", ".join(names)) for said, names in groups.items()]
