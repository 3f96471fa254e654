"""The two ways out, data on stdout and everything else on stderr, kept apart on screen where both are one terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from nr_llm_cli import render
from nr_llm_cli.screen import Cleaner, visible
from nr_llm_cli.waiting import Waiting


class Console:
    """
    Writes for people and programs; makes visible what it is given.

    Args:
        quiet: Whether nothing but data and errors is written.
        verbose: Whether details are written.
        colour: Whether a terminal may have colours and a moving sign that something goes on.

    Attributes:
        moves: Whether a moving sign shows that something goes on.
        out: The stdout of now, for data alone: later it may be one for whatever plugins print (`aside`).
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False, colour: bool = True) -> None:
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self.out = sys.stdout
        self.live = self.out.isatty()
        self._rich = sys.stderr.isatty() and colour and not os.environ.get("CI")
        self._colour = None if colour else False
        self._cleaner = Cleaner()
        self._open_line = False
        self._waiting = Waiting() if self._rich and not quiet else None
        self.moves = self._waiting is not None

    def say(self, text: str = "", **style: Any) -> None:
        """Write a line for people, unless they want quiet."""
        if not self.quiet:
            self._line(visible(text), **style)

    def say_all(self, lines: Iterable[str], *, indent: str = "", **style: Any) -> None:
        """Write lines for people."""
        for line in lines:
            self.say(indent + line, **style)

    def warn(self, text: str, **style: Any) -> None:
        """Write a line that even those who want quiet have to see."""
        self._line(visible(text), **style)

    def data(self, text: str) -> None:
        """Write a whole text to stdout, ending in a newline."""
        self.settle()
        text = visible(text)
        click.echo(text, self.out, nl=not text.endswith("\n"), color=False)

    def piece(self, text: str) -> None:
        """Write the next piece of a text that arrives bit by bit."""
        self._still()
        self._show(self._cleaner.feed(text))

    def settle(self) -> None:
        """End a line left open by `piece`, and whatever moves."""
        self._still()
        self._show(self._cleaner.rest())
        if self._open_line:
            click.echo(file=self.out)
            self._open_line = False

    def wait(self, text: str) -> None:
        """Show, on a terminal, that something takes its time."""
        if self._waiting is not None and not self._open_line:
            self._waiting.begin(visible(text))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, most: int | None = None) -> None:
        """Draw a table for people, with at most `most` rows."""
        if self.quiet:
            return
        self.settle()
        shown = rows[:most]
        if self._rich:
            from nr_llm_cli.tables import drawn

            click.echo(drawn(columns, shown), err=True, nl=False, color=self._colour)
        else:
            self.say_all(render.table(columns, shown), indent="    ")
        if len(shown) < len(rows):
            self.say("    " + render.more(len(rows), len(shown)), dim=True)

    def _line(self, text: str, **style: Any) -> None:
        self.settle()
        click.echo(click.style(text, **style) if style else text, err=True, color=self._colour)

    def _show(self, text: str) -> None:
        if text:
            click.echo(text, self.out, nl=False, color=False)
            self._open_line = not text.endswith("\n")

    def _still(self) -> None:
        if self._waiting is not None:
            self._waiting.end()
