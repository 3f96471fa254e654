"""`nr-llm models`: which models providers know of; plugins that can fetch theirs add `pull`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.aside import aside
from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option

if TYPE_CHECKING:
    from nr_llm.plugins import RegisteredProvider
    from nr_llm.providers import Model

COLUMNS: Final = ("model", "context", "details")

models = LazyGroup(
    name="models",
    path="models",
    places={"list": Place(f"{__name__}:list_models", "List the models that providers know of.")},
    help="List and fetch models.",
)


@click.command("list")
@click.argument("provider", required=False)
@json_option
@global_options()
@click.pass_context
def list_models(context: click.Context, provider: str | None, *, as_json: bool) -> int:
    """
    List the models that providers know of.

    Nobody is asked over the network.  PROVIDER lists those of one provider.
    """
    from nr_llm_cli.listing import show
    from nr_llm_cli.session import host_of

    host = host_of(context)
    with aside():
        if provider:
            host.provider(provider)  # says what is wrong with it, if anything is
        given = [one for one in host.providers() if provider in {None, one.name}]
        rows = [row for one in given for row in _rows(one)]
    show(rows, columns=COLUMNS, as_json=as_json, empty="No provider lists its models; name one with -m PROVIDER:MODEL.")
    return 0


def _rows(given: RegisteredProvider) -> list[dict[str, Any]]:
    try:
        return [_row(model) for model in _models(given)]
    except Exception as error:  # noqa: BLE001 - a provider's error must not hide the models of others
        from nr_llm_cli.failures import failure_of
        from nr_llm_cli.screen import one_line

        click.echo(one_line(f"Provider {given.name!r} cannot list its models: {failure_of(error).message}"), err=True)
        return []


def _models(given: RegisteredProvider) -> Iterator[Model]:
    """Yield the models of a provider that can list them without being asked over the network."""
    listed = getattr(given.provider, "models", None)
    if callable(listed):
        yield from listed()


def _row(model: Model) -> dict[str, Any]:
    details = [f"{name}: {value}" for name, value in model.details.items()]
    return {
        "model": f"{model.provider}:{model.name}",
        "context": model.context,
        "max_tools": model.max_tools,
        "notice": model.notice,
        "details": details,
    }
