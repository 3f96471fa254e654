"""What becomes of the runs that `run` and `chat` begin: what is kept of them, what they go on with, who decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click
from click.core import ParameterSource

from nr_llm_cli.options import LEVELS, parted, with_options
from nr_llm_cli.stored import continued, kept_of, no_store, settle

if TYPE_CHECKING:
    from nr_llm import ChatMessage, PluginHost

    from nr_llm_cli.asking import Asked
    from nr_llm_cli.stored import Kept

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

MODES: Final = ("ask", "deny", "reads")
"""What may become of calls that need a person."""


@attrs.frozen(kw_only=True)
class Keeping:
    """
    What the command line says of the record.

    Attributes:
        last: Whether the conversation of the last run is gone on with.
        run_id: The run whose conversation is gone on with, or None.
        privacy: How much is kept, or None.
        no_store: Whether nothing is.
        approve: What becomes of calls that need a person, one of `MODES`; None asks where somebody is there.
    """

    last: bool = False
    run_id: str | None = None
    privacy: str | None = None
    no_store: bool = False
    approve: str | None = None

    @property
    def goes_on(self) -> bool:
        """Whether there was a conversation before."""
        return self.last or self.run_id is not None


def keeping_options(command: Decorated) -> Decorated:
    """Add the options that make a `Keeping` together."""
    return with_options(command, _OPTIONS)


_OPTIONS: Final = (
    click.option("-c", "last", is_flag=True, help="Go on with the conversation of the last run."),
    click.option("--continue", "run_id", metavar="RUN", help="Go on with the conversation of this run."),
    click.option(
        "--privacy",
        type=click.Choice(LEVELS, case_sensitive=False),
        envvar="NR_LLM_PRIVACY",
        help="How much of a run is kept (metadata).",
    ),
    click.option("--no-store", is_flag=True, help="Keep nothing."),
    click.option(
        "--approve",
        type=click.Choice(MODES, case_sensitive=False),
        help="What becomes of calls that need a person: ask (on a terminal), deny them, or approve reads alone.",
    ),
)


def keeping_of(options: Mapping[str, Any], asked: Asked) -> tuple[Keeping, dict[str, Any]]:
    """
    Split a command's options into those of the record and the others.

    Raises:
        UsageError: An instruction is given to a conversation that has begun.
    """
    keeping, rest = parted(Keeping, options)
    if keeping.goes_on and asked.system is not None:
        raise click.UsageError("-s belongs to the first question of a conversation; leave it out when you go on.")
    return keeping, rest


def taken_up(
    context: click.Context, host: PluginHost, keeping: Keeping, *, asked: Asked, keep: bool
) -> tuple[tuple[ChatMessage, ...], dict[str, Any], bool]:
    """
    Return the conversation before, the settings of runs that go on with it, and whether runs are kept.

    Args:
        context: The command's.
        host: Knows whether a store is installed.
        keeping: What the command line says of the record.
        asked: What it says of the conversation.
        keep: Whether runs are to be kept.

    Raises:
        ConfigurationError: There is no such conversation; the text says why.
    """
    kept = kept_of(host) if keep or keeping.goes_on else None
    if keep:
        _prepare(context, kept)
    before, settings = _gone_on_with(keeping, kept, asked) if keeping.goes_on else ((), {})
    return before, settings, kept is not None and keep


def _prepare(context: click.Context, kept: Kept | None) -> None:
    """Settle what was abandoned; say to whoever chose a level for the record that there will be none."""
    if kept is not None:
        settle(kept.history)
    elif context.get_parameter_source("privacy") is ParameterSource.COMMANDLINE:
        click.echo("No store is installed: nothing of the run is kept, at whatever level.", err=True)


def _gone_on_with(keeping: Keeping, kept: Kept | None, asked: Asked) -> tuple[tuple[ChatMessage, ...], dict[str, Any]]:
    """
    Return the conversation that is gone on with, and the settings of runs that do: those of the run before.

    Args:
        keeping: Which conversation.
        kept: Where it is.
        asked: What the command line names goes before what the run before had.

    Raises:
        ConfigurationError: There is no such conversation; the text says why.
    """
    if kept is None:
        raise no_store()
    run, messages = continued(kept.history, keeping.run_id)
    return messages, {
        "configuration": asked.configured or run.head.configuration,
        "model": asked.model or (None if asked.configuration else run.head.model),
        "privacy": keeping.privacy or run.head.privacy,
        "continues": run.run_id,
    }
