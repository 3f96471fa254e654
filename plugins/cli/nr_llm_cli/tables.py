"""Tables on a terminal, drawn by rich: cells are text and never markup."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.box import ROUNDED
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nr_llm_cli.render import cell


def drawn(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as wide as the terminal, as text with colours."""
    console = Console(file=sys.stderr, markup=False, highlight=False, emoji=False, soft_wrap=False)
    made = Table(box=ROUNDED, header_style="bold", pad_edge=True)
    for name in columns:
        made.add_column(Text(cell(name)), overflow="fold")
    for row in rows:
        made.add_row(*(_text(value) for value in row))
    with console.capture() as capture:
        console.print(made)
    return capture.get()


def _text(value: object) -> Text:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Text(cell(value), justify="right" if number else "left")
