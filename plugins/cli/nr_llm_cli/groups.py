"""Commands are imported when they are asked for; commands of plugins are looked for when no other has the name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import attrs
import click
from nr_llm.errors import similar


@attrs.frozen
class Place:
    """
    Where a command is, and what the list of commands says of it without importing it.

    Attributes:
        address: ``module:attribute``.
        help: One line; a test holds it equal to the command's own.
    """

    address: str
    help: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.address.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


class LazyGroup(click.Group):
    """
    A group of commands, its own and those plugins add.

    Args:
        places: The group's own commands by name, in the order they are listed.
        path: Names of the groups above it and its own, joined by spaces; empty for the program.
        **settings: What `click.Group` takes.
    """

    def __init__(self, *, places: Mapping[str, Place], path: str = "", **settings: Any) -> None:
        super().__init__(invoke_without_command=True, callback=_show_help, **settings)
        self.places = places
        self.path = path

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands; the program's own list loads no plugin."""
        return [*self.places, *(sorted(self._added(ctx)) if self.path else ())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now; a plugin's if the group has none of that name."""
        if cmd_name in self.places:
            return self.places[cmd_name].load()
        return self._added(ctx).get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or say which were meant."""
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            alike = similar(name, self.list_commands(ctx)) or self._below(name)
            hint = f" Did you mean {' or '.join(map(repr, alike))}?" if alike else ""
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without importing those of the program."""
        rows = [(name, place.help) for name, place in self.places.items()]
        if self.path:
            rows += [(name, command.get_short_help_str(100)) for name, command in sorted(self._added(ctx).items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _below(self, name: str) -> tuple[str, ...]:
        """Return the commands of that name that are in groups, as they are typed."""
        groups = ((above, place.load()) for above, place in self.places.items())
        return tuple(
            f"{above} {name}" for above, group in groups if isinstance(group, LazyGroup) and name in group.places
        )

    def _added(self, ctx: click.Context) -> dict[str, click.Command]:
        from nr_llm_cli.extensions import added_commands

        return added_commands(ctx, self.path, _added_group)


def _added_group(path: str) -> LazyGroup:
    return LazyGroup(name=path.rpartition(" ")[2], path=path, places={}, help="Commands of plugins.")


def _show_help() -> int:
    """Without a command there is nothing to do but to say which there are."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        return 2
    return 0
