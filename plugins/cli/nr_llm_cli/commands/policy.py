"""`nr-llm policy`: which tools a run might use, and why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option, plugin_option

if TYPE_CHECKING:
    from nr_llm.policy import PolicyDecision

COLUMNS: Final = ("tool", "open", "usual", "reason", "data_class", "zone", "ceiling", "effect", "asks")

policy = LazyGroup(
    name="policy",
    path="policy",
    places={"explain": Place(f"{__name__}:explain", "Say which tools a run might use, and why not.")},
    help="Say which tools a run might use, and why not.",
)


@click.command()
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
@click.option("-m", "--model", metavar="MODEL", help="As for run.")
@click.option("-C", "--configuration", metavar="NAME", help="As for run.")
@plugin_option
@json_option
@global_options()
@click.pass_context
def explain(
    context: click.Context,
    *,
    tools: tuple[str, ...],
    model: str | None,
    configuration: str | None,
    files: tuple[Path, ...],
    as_json: bool,
) -> int:
    """
    Say which tools a run might use, and why not.

    It is the very decision that runs are held to.  Each TOOL is a tool's name or PLUGIN:TOOL, whether or not there is
    such; without one all tools are listed.  An open one is offered if it is named, a usual one without that too.  The
    exit code is 5 if one that is named is closed.
    """
    from nr_llm_cli.asking import Asked
    from nr_llm_cli.exits import Exit
    from nr_llm_cli.listing import show
    from nr_llm_cli.options import DEFAULT_MODEL
    from nr_llm_cli.session import opened
    from nr_llm_cli.whoami import me

    asked = Asked(model=model, configuration=configuration)
    with opened(context, files) as (host, runtime):
        local = any(f"{given.name}:" == DEFAULT_MODEL for given in host.providers())
        usual = DEFAULT_MODEL if local and not (host.default_model or asked.configured) else None
        decisions = runtime.explain(*tools, model=asked.named or usual, configuration=asked.configured, actor=me())
    show([row_of(one) for one in decisions], columns=COLUMNS, as_json=as_json, empty="There are no tools.")
    if not as_json:
        for one in decisions if tools else ():
            click.echo(one.text, err=True)
    return int(Exit.TOOL if tools and not all(one.allowed for one in decisions) else Exit.OK)


def row_of(decision: PolicyDecision) -> dict[str, Any]:
    """Return a decision as a JSON object."""
    return {
        **decision.to_dict(),
        "open": decision.allowed,
        "usual": decision.usual,
        "effect": str(decision.effect),
        "asks": decision.asks,
        "text": decision.text,
    }
