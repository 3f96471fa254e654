"""`nr-llm providers`: who offers models, and where they would send a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.aside import aside
from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option
from nr_llm_cli.screen import one_line

if TYPE_CHECKING:
    from nr_llm.plugins import RegisteredProvider

COLUMNS: Final = ("name", "endpoint", "local", "plugin", "package", "source")

providers = LazyGroup(
    name="providers",
    path="providers",
    places={"list": Place(f"{__name__}:list_providers", "List who offers models.")},
    help="List who offers models.",
)


@click.command("list")
@json_option
@global_options()
@click.pass_context
def list_providers(context: click.Context, *, as_json: bool) -> int:
    """
    List who offers models.

    The source is the file or plugin whose table describes the provider.  What is wrong with a table is said on stderr.
    """
    from nr_llm_cli.listing import show
    from nr_llm_cli.session import host_of

    host = host_of(context)
    with aside():
        rows = [_row(given) for given in host.providers()]
        for finding in host.config_findings():
            click.echo(one_line(f"{finding.what} {finding.why} {finding.fix}"), err=True)
    show(rows, columns=COLUMNS, as_json=as_json, empty="No provider is installed; try pip install 'nr-llm[local]'.")
    return 0


def _row(given: RegisteredProvider) -> dict[str, Any]:
    endpoint = given.provider.endpoint
    return {
        "name": given.name,
        "endpoint": endpoint.host,
        "local": endpoint.local,
        "plugin": given.plugin,
        "package": f"{given.distribution} {given.version}" if given.distribution else None,
        "source": given.source,
    }
