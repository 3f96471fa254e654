"""`nr-llm models pull`: says what fetching a model means, then fetches it; imported only where click is."""

from __future__ import annotations

import sys
from typing import Any

import click

from nr_llm_local import _said
from nr_llm_local._progress import Progress
from nr_llm_local._pull import Plan, pull
from nr_llm_local.catalogue import DEFAULT


@click.command("models pull")
@click.argument("name", required=False, default=DEFAULT)
@click.option("-q", "--quiet", is_flag=True, help="Write nothing but errors.")
@click.pass_context
def pull_model(context: click.Context, name: str, *, quiet: bool) -> int:
    """
    Fetch the weights of an embedded model, verified by their hash.

    NAME is qwen2.5-coder-1.5b (unless given) or qwen2.5-coder-0.5b.  Size, licence and disk space are said first.
    What is fetched is data: nothing is installed, and nothing of it is run.
    """
    teller = Teller(quiet=quiet or _quiet_around(context))
    try:
        pull(name.removeprefix("local:"), announce=teller.plan, note=teller.say, progress=teller.progress)
    finally:
        teller.end_line()
    return 0


class Teller:
    """
    Tells people on stderr how a pull goes: a line that moves on a terminal, a line per tenth elsewhere.

    Args:
        quiet: Whether it tells nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._moving = sys.stderr.isatty()
        self._width = 0
        self._told = -1

    def plan(self, plan: Plan) -> None:
        """Say what will be done."""
        for line in _said.plan(plan):
            self.say(line)

    def say(self, line: str) -> None:
        """Say a sentence on a line of its own."""
        self.end_line()
        self._told = -1
        if not self._quiet:
            click.echo(line, err=True)

    def progress(self, progress: Progress) -> None:
        """Say how far it is, if that is news."""
        if self._quiet:
            return
        line = _said.progress(progress)
        if self._moving:
            click.echo("\r" + line.ljust(self._width), err=True, nl=False)
            self._width = len(line)
        elif (tenth := 10 * progress.done // progress.total) > self._told:
            self._told = tenth
            click.echo(line, err=True)

    def end_line(self) -> None:
        """Leave the line that moves."""
        if self._width:
            click.echo(err=True)
            self._width = 0


def _quiet_around(context: click.Context) -> bool:
    """Return whether a command that fetches its model this way, such as ``run --pull``, was told to be quiet."""
    around: dict[str, Any] = context.parent.params if context.parent is not None else {}
    return bool(around.get("quiet"))
