"""`nr-llm plugins`: what is installed, in which state, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.aside import asked
from nr_llm_cli.exits import Exit
from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option

if TYPE_CHECKING:
    from nr_llm.plugins import Finding, PluginRecord

COLUMNS: Final = ("name", "package", "origin", "state", "reason")
LOADED_COLUMNS: Final = ("name", "package", "origin", "state", "ms", "tools", "providers", "commands", "reason")

plugins = LazyGroup(
    name="plugins",
    path="plugins",
    places={
        "list": Place(f"{__name__}:list_plugins", "List the installed plugins, without loading them."),
        "doctor": Place(f"{__name__}:doctor", "Load all plugins and say what is wrong with them."),
    },
    help="List and check installed plugins.",
)


@click.command("list")
@click.option("--load", is_flag=True, help="Load the plugins, and list what each offers.")
@json_option
@global_options()
@click.pass_context
def list_plugins(context: click.Context, *, load: bool, as_json: bool) -> int:
    """List the installed plugins, without loading them."""
    from nr_llm_cli.listing import show
    from nr_llm_cli.session import host_of

    host = host_of(context)
    rows = [_row(record) for record in asked(host.load if load else host.records)]
    columns = LOADED_COLUMNS if load else COLUMNS
    show(rows, columns=columns, as_json=as_json, empty="No plugin is installed; try pip install 'nr-llm[all]'.")
    return 0


@click.command()
@click.option("--strict", is_flag=True, help="Let remarks count as problems.")
@json_option
@global_options()
@click.pass_context
def doctor(context: click.Context, *, strict: bool, as_json: bool) -> int:
    """
    Load all plugins and say what is wrong with them.

    Each finding has its reason and what to do.  The exit code is 8 if something is wrong.
    """
    from nr_llm_cli.failures import Failure, Stop
    from nr_llm_cli.session import host_of

    host = host_of(context)
    findings = asked(host.doctor)
    tell(findings, as_json=as_json)
    bad = sum(finding.serious or strict for finding in findings)
    if bad:
        problems = "1 problem" if bad == 1 else f"{bad} problems"
        raise Stop(Failure(Exit.PLUGIN, f"{problems} with plugins.", "What to do stands with each."))
    if not as_json:
        click.echo(f"{len(host.records())} plugins, no problems{remarks(findings)}.", err=True)
    return 0


def tell(findings: tuple[Finding, ...], *, as_json: bool) -> None:
    """Write findings: what, why and what to do."""
    import attrs

    from nr_llm_cli.screen import document

    if as_json:
        click.echo(document([attrs.asdict(finding) for finding in findings]), color=False)
        return
    for finding in findings:
        for line in lines_of(finding):
            click.echo(line, color=False)


def lines_of(finding: Finding) -> tuple[str, ...]:
    """Return a finding as lines: what, why and what to do."""
    from nr_llm_cli.screen import one_line

    sign = "✗" if finding.serious else "·"
    lines = (f"{sign} {finding.what}", f"  why: {finding.why}", f"  fix: {finding.fix}")
    return tuple(one_line(line) for line in lines)


def remarks(findings: Sequence[Finding]) -> str:
    """Return how many findings there are that are no problem, as the end of a sentence."""
    from nr_llm_cli.render import count

    return f", {count(len(findings), 'remark')}" if findings else ""


def _row(record: PluginRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "package": f"{record.distribution} {record.version}" if record.distribution else None,
        "origin": record.origin,
        "value": record.value,
        "requires": record.requires,
        "state": str(record.state),
        "reason": record.reason,
        "ms": None if record.seconds is None else round(record.seconds * 1000, 1),
        "tools": record.tools,
        "providers": record.providers,
        "commands": record.commands,
    }
