"""Options that every command takes, before its name or after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click

if TYPE_CHECKING:
    from nr_llm.redaction import Redactor

_META: Final = "nr_llm_cli.globals"
_REDACTOR: Final = "nr_llm_cli.redactor"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Parted = TypeVar("Parted", bound=attrs.AttrsInstance)


DEFAULT_MODEL: Final = "local:"
"""The model nobody named: the embedded one, so that a key in the environment alone sends nothing out."""

PLAIN_TERMINALS: Final = frozenset({"dumb", "unknown"})
"""Values of TERM whose terminals know no colours and no cursor."""


def wants_colour(environ: Mapping[str, str]) -> bool:
    """Return whether the environment lets a terminal have colours; see https://no-color.org."""
    return not environ.get("NO_COLOR") and environ.get("TERM") not in PLAIN_TERMINALS


def _colour() -> bool:
    return wants_colour(os.environ)


def _debug() -> bool:
    return os.environ.get("NR_LLM_DEBUG", "") not in {"", "0"}


@attrs.define
class Globals:
    """
    What the global options say.

    Attributes:
        colour: Whether a terminal may have colours.
        debug: Whether errors show where they were raised.
        plugins: Whether installed plugins are used.
        allow: Distributions that may load, or empty for all that the configuration lets.
        config: A configuration file of the user's own, or None.
    """

    colour: bool = attrs.field(factory=_colour)
    debug: bool = attrs.field(factory=_debug)
    plugins: bool = True
    allow: tuple[str, ...] = ()
    config: Path | None = None


def globals_of(context: click.Context | None = None) -> Globals:
    """Return what the global options of this invocation say so far."""
    found: Globals = (context or click.get_current_context()).find_root().meta.setdefault(_META, Globals())
    return found


def redactor_of(context: click.Context | None) -> Redactor:
    """Return what masks secrets in this invocation; a host teaches it those that settings hold."""
    from nr_llm.redaction import Redactor

    meta = context.find_root().meta if context is not None else {}
    found: Redactor = meta.setdefault(_REDACTOR, Redactor())
    return found


def _note(name: str, convert: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            setattr(globals_of(context), name, convert(value))

    return callback


def global_options(*, hidden: bool = True) -> Callable[[Decorated], Decorated]:
    """
    Return a decorator that adds the global options to a command.

    Args:
        hidden: Whether the command's help leaves them out, since the program's own help has them.
    """
    kept: dict[str, Any] = {"expose_value": False, "hidden": hidden}
    added = (
        click.option("--no-color", is_flag=True, help="Write without colours.", callback=_note("colour", _no), **kept),
        click.option(
            "--no-plugins", is_flag=True, help="Use no installed plugin.", callback=_note("plugins", _no), **kept
        ),
        click.option(
            "--allow",
            multiple=True,
            metavar="DIST",
            help="Use only the plugins of this distribution (repeatable).",
            callback=_note("allow", tuple),
            **kept,
        ),
        click.option(
            "--config",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Read the configuration from this file.",
            callback=_note("config", Path),
            **kept,
        ),
        click.option(
            "--debug", is_flag=True, help="Show where an error was raised.", callback=_note("debug", bool), **kept
        ),
    )

    def decorate(function: Decorated) -> Decorated:
        # A command takes options in their order, a function from the last to the first.
        for option in added if isinstance(function, click.Command) else reversed(added):
            function = option(function)
        return function

    return decorate


def _no(_: object) -> bool:
    return False


LEVELS: Final = ("none", "metadata", "redacted", "full")
"""How much of a run may be kept, strictest first; a test holds them equal to the core's."""

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""Adds ``--json`` to a command, passed as ``as_json``."""

plugin_option: Final = click.option(
    "--plugin",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A Python file with tools or hooks (repeatable).",
)
"""Adds ``--plugin`` to a command, passed as ``files``."""


def with_options(command: Decorated, options: Sequence[Callable[[Decorated], Decorated]]) -> Decorated:
    """Add options to a command, which its help lists in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def parted(kind: type[Parted], options: Mapping[str, Any]) -> tuple[Parted, dict[str, Any]]:
    """Return those of a command's options that a class has fields for, as one of it, and the others."""
    names = {field.name for field in attrs.fields(kind)}
    taken = kind(**{name: value for name, value in options.items() if name in names})
    return taken, {name: value for name, value in options.items() if name not in names}


def output_options(command: Decorated) -> Decorated:
    """Add the options that say how a run is told: ``as_json``, ``ndjson``, ``quiet`` and ``verbose``."""
    return with_options(command, _OUTPUT)


_OUTPUT: Final = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document in the end."),
    click.option("--ndjson", is_flag=True, help="Print one JSON object per event, as it happens."),
    click.option("-q", "--quiet", is_flag=True, help="Print the answer alone."),
    click.option("-v", "--verbose", is_flag=True, help="Print requests, thinking and progress too."),
)
