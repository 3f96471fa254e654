"""Stdout belongs to answers: what plugins print while they are loaded, asked or run goes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def aside() -> Iterator[None]:
    """Let whatever prints in here print to stderr; what is data is written to a stdout that was kept before."""
    with redirect_stdout(sys.stderr):
        yield


def asked(ask: Callable[[], T]) -> T:
    """Return what plugins answer; see `aside`."""
    with aside():
        return ask()
