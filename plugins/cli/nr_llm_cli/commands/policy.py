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
@click.option("--actor", "user", metavar="ID", help="For a run of this user instead of you.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="A group they are in (repeatable).")
@click.option("--admin", is_flag=True, help="For a run of an administrator.")
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
    user: str | None,
    groups: tuple[str, ...],
    admin: bool,
    files: tuple[Path, ...],
    as_json: bool,
) -> int:
    """
    Say which tools a run might use, and why not.

    It is the very decision that runs are held to.  Each TOOL is a tool's name or PLUGIN:TOOL, whether or not there is
    such; without one all tools are listed.  An open one is offered if it is named, a usual one without that too.  The
    exit code is 5 if one that is named is closed.
    """
    import attrs
    from nr_llm.actors import Actor

    from nr_llm_cli.asking import Asked
    from nr_llm_cli.exits import Exit
    from nr_llm_cli.listing import show
    from nr_llm_cli.options import DEFAULT_MODEL
    from nr_llm_cli.session import opened
    from nr_llm_cli.whoami import me

    asked, actor = Asked(model=model, configuration=configuration), me() if user is None else Actor(user)
    actor = attrs.evolve(actor, groups=groups, admin=admin)
    with opened(context, files) as (host, runtime):
        local = any(f"{given.name}:" == DEFAULT_MODEL for given in host.providers())
        usual = DEFAULT_MODEL if local and not (host.default_model or asked.configured) else None
        decisions = runtime.explain(*tools, model=asked.named or usual, configuration=asked.configured, actor=actor)
    rows = [row_of(one) if as_json else cells_of(one) for one in decisions]
    show(rows, columns=COLUMNS, as_json=as_json, empty="There are no tools.")
    if not as_json:
        for one in decisions if tools else ():
            click.echo(sentence_of(one), err=True)
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


def sentence_of(decision: PolicyDecision) -> str:
    """Return a decision as people read it, with what it takes to be offered a tool that is not usual."""
    named = f" It is offered if it is named: -T {decision.tool}." if decision.allowed and not decision.usual else ""
    return decision.text + named


def cells_of(decision: PolicyDecision) -> dict[str, Any]:
    """Return a decision as a row for people: what says nothing is left empty, as all of a tool that there is not."""
    from nr_llm.policy import PolicyReason

    row = row_of(decision)
    if decision.reason is PolicyReason.NONE:
        row["reason"] = None
    if decision.reason is PolicyReason.NOT_REGISTERED:
        row["data_class"] = row["effect"] = None
    return row
