"""
Commands that plugins add.

A plugin's hook ``nr_llm_commands`` returns `click.Command` objects.  A command's name is its path below ``nr-llm``,
with spaces between the words: ``@click.command("models pull")`` makes ``nr-llm models pull``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from nr_llm_cli.aside import asked
from nr_llm_cli.session import host_of

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.plugins import RegisteredCommand

DISTRIBUTION = "nr-llm-cli"


def added_commands(
    context: click.Context, path: str, group: Callable[[str], click.Command]
) -> dict[str, click.Command]:
    """
    Return the commands that plugins add to a group, by the next word of their names; loads all plugins.

    A word that only leads on to further ones is a group of its own.

    Args:
        context: Any of the invocation's.
        path: Names of the groups above and the group's own, joined by spaces; empty for the program.
        group: Makes a group from its names.
    """
    found: dict[str, click.Command] = {}
    for given in asked(host_of(context).commands):
        before, _, word = given.name.rpartition(" ")
        if given.distribution == DISTRIBUTION:
            continue  # its commands are built in
        if before == path:
            found[word] = _named(given.command, word)
        elif before.startswith(f"{path} ".lstrip()):
            following = before.removeprefix(path).split()[0]
            found.setdefault(following, group(f"{path} {following}".strip()))
    return found


def command_of(host: PluginHost, name: str) -> RegisteredCommand | None:
    """Return the command that plugins add under a whole name, or None."""
    return next((given for given in host.commands() if given.name == name), None)


def _named(command: click.Command, word: str) -> click.Command:
    command = copy.copy(command)
    command.name = word
    return command
