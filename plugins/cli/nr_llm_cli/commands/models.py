"""`nr-llm models`: which models there are, as aliases, providers and, when asked, services know them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option

if TYPE_CHECKING:
    from nr_llm import ModelAlias, PluginHost, Runtime
    from nr_llm.plugins import RegisteredProvider
    from nr_llm.providers import Model

COLUMNS: Final = ("model", "alias", "context", "details")

NONE: Final = "No provider lists its models; name one with -m PROVIDER:MODEL, or ask a service with --provider."

models = LazyGroup(
    name="models",
    path="models",
    places={"list": Place(f"{__name__}:list_models", "List models, or ask a service which it offers.")},
    help="List and fetch models.",
)


@click.command("list")
@click.option("--provider", metavar="NAME", help="Ask the service of this provider, over the network.")
@json_option
@global_options()
@click.pass_context
def list_models(context: click.Context, provider: str | None, *, as_json: bool) -> int:
    """
    List models, or ask a service which it offers.

    Without --provider nobody is asked over the network: it lists the aliases of the configuration and what providers
    know by themselves.
    """
    from nr_llm_cli.listing import show
    from nr_llm_cli.session import opened

    with opened(context) as (host, runtime):
        aliases = _aliases(host, provider)
        found = list(_known(host)) if provider is None else list(runtime.models(provider))
        rows = [_row(model, _naming(model, aliases)) for model in found]
        rows += _others(runtime, found, aliases, asked=provider is not None)
    show(rows, columns=COLUMNS, as_json=as_json, empty=NONE)
    return 0


def _aliases(host: PluginHost, provider: str | None) -> tuple[ModelAlias, ...]:
    return tuple(alias for alias in host.models().values() if provider in {None, alias.provider})


def _naming(model: Model, aliases: Iterable[ModelAlias]) -> list[ModelAlias]:
    return [alias for alias in aliases if alias.reference == f"{model.provider}:{model.name}"]


def _known(host: PluginHost) -> Iterator[Model]:
    """Yield the models that providers list without being asked over the network, with what the configuration adds."""
    from nr_llm.aliases import facts_of

    aliases = host.models().values()
    for given in host.providers():
        yield from (facts_of(model, aliases) for model in _declared(given))


def _declared(given: RegisteredProvider) -> Iterable[Model]:
    from nr_llm._listing import declares

    try:
        return declares(given.provider) or ()
    except Exception as error:  # noqa: BLE001 - a provider's error must not hide the models of others
        _tell(f"Provider {given.name!r} cannot list its models", error)
        return ()


def _others(
    runtime: Runtime, found: Iterable[Model], aliases: Iterable[ModelAlias], *, asked: bool
) -> Iterator[dict[str, Any]]:
    """Yield the aliases of models that nobody listed."""
    listed = {f"{model.provider}:{model.name}" for model in found}
    for alias in aliases:
        if alias.reference not in listed:
            try:
                _, model = runtime.describe(alias.name)
            except Exception as error:  # noqa: BLE001 - one alias must not hide the others
                _tell(f"The model {alias.name!r} cannot be used", error)
                continue
            note = {"note": "not in the service's list"} if asked and alias.id else {}
            yield _row(attrs.evolve(model, details={**note, **model.details}), [alias])


def _tell(what: str, error: Exception) -> None:
    from nr_llm_cli.failures import failure_of
    from nr_llm_cli.screen import one_line

    click.echo(one_line(f"{what}: {failure_of(error).message}"), err=True)


def _row(model: Model, aliases: Iterable[ModelAlias]) -> dict[str, Any]:
    return {
        "model": f"{model.provider}:{model.name}",
        "alias": [alias.name for alias in aliases],
        "context": model.context,
        "max_output": model.max_output,
        "max_tools": model.max_tools,
        "attachments": model.attachments,
        "notice": model.notice,
        "details": [f"{fact}: {value}" for fact, value in model.details.items()],
    }
