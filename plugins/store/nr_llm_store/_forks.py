"""Keeps connections out of child processes: two that share one destroy each other's transactions, or the file."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What holds connections."""

    def before_fork(self) -> None:
        """Let nothing be under way, and no connection be open that must not be inherited."""

    def after_fork(self) -> None:
        """Go on, in the parent."""

    def in_child(self) -> None:
        """Forget what was inherited, without touching it."""


_KNOWN: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(one: Forkable) -> None:
    """Tell one of every fork while it lives."""
    _KNOWN.add(one)


def _before() -> None:
    for one in tuple(_KNOWN):
        one.before_fork()


def _after() -> None:
    for one in tuple(_KNOWN):
        one.after_fork()


def _child() -> None:
    for one in tuple(_KNOWN):
        one.in_child()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_child)
