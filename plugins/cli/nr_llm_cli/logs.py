"""What the library logs, as lines on stderr: remarks in short, failures with their traceback for those who debug."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from nr_llm_cli.screen import visible


class LogLines(logging.Handler):
    """
    Writes log records to stderr.

    A failure has a traceback, which is for debugging: others read that it happened, and how to see it.

    Args:
        debug: Whether everything is written.
    """

    def __init__(self, *, debug: bool) -> None:
        super().__init__(logging.DEBUG if debug else logging.WARNING)
        self._debug = debug

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        text = visible(self.format(record))
        if self._debug:
            click.echo(f"{record.name}: {text}", err=True)
        else:
            hint = "; run it again with --debug to see where" if record.levelno >= logging.ERROR else ""
            click.echo(text.partition("\n")[0] + hint, err=True)


@contextmanager
def logging_to_stderr(*, debug: bool) -> Iterator[None]:
    """Write what the library logs, and leave the root logger alone."""
    log, handler = logging.getLogger("nr_llm"), LogLines(debug=debug)
    before = log.level, log.propagate
    log.addHandler(handler)
    log.propagate = False
    if debug:
        log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.level, log.propagate = before
