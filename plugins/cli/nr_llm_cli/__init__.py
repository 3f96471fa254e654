"""The command `nr-llm`; as a plugin it offers its own commands, so that nobody else takes their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nr_llm.hookspecs import hookimpl

if TYPE_CHECKING:
    from click import Command


@hookimpl
def nr_llm_commands() -> Iterable[Command]:
    """Offer the built-in commands; other plugins add theirs by the same hook."""
    from nr_llm_cli.root import COMMANDS

    return [place.load() for place in COMMANDS.values()]
