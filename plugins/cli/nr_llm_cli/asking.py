"""What `run` and `chat` have in common: options of the conversation, and what they mean to a Runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click
from nr_llm.errors import ConfigurationError, PluginError, UnknownNameError

from nr_llm_cli.options import DEFAULT_MODEL, parted, plugin_option, with_options

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.effects import Completer, Flow
    from nr_llm.requests import CompletionRequest
    from nr_llm.responses import CompletionResponse
    from nr_llm.runtime import Runtime

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

WAYS: Final = (
    "Take one of three ways: (1) the embedded model: pip install 'nr-llm[local]', then `nr-llm models pull` or "
    "`nr-llm run --pull`; (2) a key, such as OPENAI_API_KEY, and its provider's model: -m openai:gpt-5-mini; "
    "(3) a server: NR_LLM_OPENAI_BASE_URL=http://127.0.0.1:8080/v1 and -m openai:MODEL (both with nr-llm[openai])."
)
"""The ways to a model, for those who have none."""

NOT_INSTALLED: Final = "No model is named (-m, NR_LLM_MODEL or default_model), and the embedded one is not installed."


@attrs.frozen(kw_only=True)
class Asked:
    """
    What the command line says of a conversation.

    Attributes:
        model: An alias or ``provider:model``, or None.
        configuration: Name of a configuration, or None.
        system: An instruction in front of the conversation, or None.
        tools: Names of tools, ``none`` alone for none; empty for the default set.
        files: Files with plugins.
        max_rounds: Model calls that may ask for tools, or None.
        temperature: 0 to 2, or None.
        max_tokens: Most tokens of an answer, or None.
        pull: Whether the model is fetched first.
        whole: Whether answers are asked for as a whole.
    """

    model: str | None = None
    configuration: str | None = None
    system: str | None = None
    tools: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    max_rounds: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    pull: bool = False
    whole: bool = False

    @property
    def named(self) -> str | None:
        """The model that the command line or ``NR_LLM_MODEL`` names, an alias or ``provider:model``, or None."""
        return self.model or os.environ.get("NR_LLM_MODEL") or None

    @property
    def configured(self) -> str | None:
        """The configuration that the command line or ``NR_LLM_CONFIGURATION`` names, or None."""
        return self.configuration or os.environ.get("NR_LLM_CONFIGURATION") or None

    def settings(self) -> dict[str, Any]:
        """
        Return the settings of a run.

        Raises:
            InvalidValueError: One of them is out of its range.
            UsageError: ``none`` stands beside other tools.
        """
        from nr_llm.limits import Limits
        from nr_llm.options import Options

        limits = None if self.max_rounds is None else Limits(rounds=self.max_rounds)
        options = Options(temperature=self.temperature, max_tokens=self.max_tokens)
        return {
            "model": self.named,
            "configuration": self.configured,
            "tools": chosen_tools(self.tools),
            "limits": limits,
            "options": options,
        }


def chosen_tools(names: Sequence[str]) -> list[str] | None:
    """Return the tools of a run as a Runtime takes them: None for the default set, an empty list for none."""
    if "none" not in names:
        return list(names) or None
    if len(names) > 1:
        raise click.UsageError("-T none means no tools at all; leave the other -T out.")
    return []


def conversation_options(command: Decorated) -> Decorated:
    """Add the options that `run` and `chat` share; they make an `Asked` together."""
    return with_options(command, _OPTIONS)


_OPTIONS: Final = (
    click.option(
        "-m",
        "--model",
        metavar="MODEL",
        help="PROVIDER:MODEL or an alias; else NR_LLM_MODEL, the file's default, the local one.",
    ),
    click.option(
        "-C",
        "--configuration",
        metavar="NAME",
        help="What to begin with and stay within, by name; else NR_LLM_CONFIGURATION or the file's default.",
    ),
    click.option("-s", "--system", metavar="TEXT", help="An instruction in front of the conversation."),
    click.option(
        "-T",
        "--tool",
        "tools",
        multiple=True,
        metavar="TOOL",
        help="A tool to offer: NAME, PLUGIN:TOOL, @GROUP, or none (repeatable). Default: all enabled reads.",
    ),
    plugin_option,
    click.option("--max-rounds", type=int, metavar="N", help="Model calls that may ask for tools (default 5)."),
    click.option("--temperature", type=float, metavar="X", help="0 to 2."),
    click.option("--max-tokens", type=int, metavar="N", help="Most tokens of an answer."),
    click.option("--pull", is_flag=True, help="Fetch the model first if it can be fetched and is not here."),
    click.option("--no-stream", "whole", is_flag=True, help="Ask for whole answers."),
)


@contextmanager
def conversation(
    context: click.Context, asked: Asked, *, keep: bool = False, goes_on: bool = False, live: Sequence[Any] = ()
) -> Iterator[tuple[PluginHost, Runtime]]:
    """
    Open a Runtime for a conversation, the model fetched if that was asked for.

    Args:
        context: The command's.
        asked: What the command line says of the conversation.
        keep: Whether its runs are kept, where a store is installed.
        goes_on: Whether there was a conversation before, whose model is taken unless another is named.
        live: Further observers of its runs.
    """
    from nr_llm.middleware import Retry

    from nr_llm_cli.session import opened

    layers: tuple[Any, ...] = (Retry(),) if not asked.whole else (Retry(), whole_answers)
    with opened(context, asked.files, fallback=DEFAULT_MODEL, keep=keep, middleware=layers, live=live) as (
        host,
        runtime,
    ):
        named = asked.named or _configured_model(host, asked.configured) or host.default_model
        with ways(by_default=named is None and not goes_on):
            if asked.pull:
                pull(context, host, named or DEFAULT_MODEL)
            yield host, runtime


def left_out(host: PluginHost) -> Iterator[str]:
    """Yield of each plugin that failed a line, since a run goes on without its tools and models."""
    from nr_llm.plugins import PluginState

    host.tools()
    for record in host.records():
        if record.state is PluginState.FAILED:
            named = "" if record.reason.startswith("Plugin ") else f"Plugin {record.name!r}: "
            yield f"Left out: {named}{record.reason.rstrip('.')}. See nr-llm plugins doctor."


def _configured_model(host: PluginHost, name: str | None) -> str | None:
    name = name or host.default_configuration
    return None if name is None else host.configuration(name).model


@contextmanager
def ways(*, by_default: bool) -> Iterator[None]:
    """Say to whoever named no model and has none which ways there are to one."""
    try:
        yield
    except (ConfigurationError, PluginError) as error:
        said = _without_model(error) if by_default else None
        if said is None:
            raise
        told = ConfigurationError(said, remedy=WAYS)
        told.state = error.state
        raise told from error


def _without_model(error: ConfigurationError | PluginError) -> str | None:
    """Return why there is no embedded model, or None if something else is wrong."""
    if isinstance(error, PluginError):
        return str(error) if error.plugin == DEFAULT_MODEL.removesuffix(":") else None
    if isinstance(error, UnknownNameError):
        return NOT_INSTALLED if error.kind in {"provider", "plugin", "model"} else None
    return str(error).removesuffix(error.remedy).rstrip()


def pull(context: click.Context, host: PluginHost, reference: str) -> None:
    """
    Fetch a model by the command ``models pull`` of the plugin that offers it; others need no fetching.

    Args:
        context: The command's.
        host: The plugins.
        reference: An alias or ``provider:model``.
    """
    from nr_llm_cli.extensions import command_of

    alias = host.model(reference)
    provider, _, model = (reference if alias is None else alias.reference).partition(":")
    found = command_of(host, "models pull")
    if found is not None and found.plugin == provider:
        arguments = [model] if model else []
        with found.command.make_context("models pull", arguments, parent=context) as inner:
            found.command.invoke(inner)


def whole_answers(inner: Completer) -> Completer:
    """Ask for an answer as a whole: a middleware for services and people that do not stream."""

    def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
        return inner(attrs.evolve(request, stream=False))

    return completer


def asked_of(options: Mapping[str, Any]) -> tuple[Asked, dict[str, Any]]:
    """Split a command's options into those of the conversation and the others."""
    return parted(Asked, options)
