"""`nr-llm runs`: the runs that a store keeps, listed, shown and exported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.groups import LazyGroup, Place
from nr_llm_cli.options import global_options, json_option

if TYPE_CHECKING:
    from nr_llm_cli.stored import Kept

COLUMNS: Final = ("run", "began", "status", "model", "configuration", "actor", "rounds", "calls", "tokens", "kept")

STATUSES: Final = (
    "queued",
    "running",
    "waiting_for_approval",
    "waiting_for_input",
    "completed",
    "failed",
    "cancelled",
)
"""What a run may be doing; a test holds them equal to the core's."""

_UPKEEP: Final = "nr_llm_cli.commands.upkeep"
_WAITING: Final = "nr_llm_cli.commands.waiting"

runs = LazyGroup(
    name="runs",
    path="runs",
    places={
        "list": Place(f"{__name__}:list_runs", "List the runs that are kept, the newest first."),
        "show": Place(f"{__name__}:show_run", "Show what a run did, as far as it is kept."),
        "export": Place(f"{__name__}:export", "Write the record of runs as JSON."),
        "inbox": Place(f"{_WAITING}:inbox", "List the runs that wait for a person, the oldest first."),
        "approve": Place(f"{_WAITING}:approve", "Approve calls of a run that waits, and go on with it."),
        "deny": Place(f"{_WAITING}:deny", "Decline calls of a run that waits, and go on with it."),
        "input": Place(f"{_WAITING}:fill_in", "Fill in what a run waits for, and go on with it."),
        "cancel": Place(f"{_UPKEEP}:cancel", "Have a run stop, in whichever process it is."),
        "settle": Place(f"{_UPKEEP}:settle_runs", "End the runs whose process is gone."),
        "purge": Place(f"{_UPKEEP}:purge", "Forget runs that ended long ago."),
        "verify": Place(f"{_UPKEEP}:verify", "Check that the record of a run is whole."),
        "replay": Place(f"{_UPKEEP}:replay_run", "Run a stored run once more, asking and calling nobody."),
    },
    help="List, show and export the runs that are kept, decide on those that wait, end or forget them.",
)


@click.command("list")
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Runs of this status (repeatable).")
@click.option("--actor", metavar="ID", help="Runs on behalf of this actor.")
@click.option("--configuration", metavar="NAME", help="Runs of this configuration.")
@click.option("-n", "limit", type=click.IntRange(min=1), default=20, metavar="N", help="At most so many (20).")
@json_option
@global_options()
@click.pass_context
def list_runs(context: click.Context, /, *, status: tuple[str, ...], limit: int, as_json: bool, **rest: Any) -> int:
    """
    List the runs that are kept, the newest first.

    For example: nr-llm runs list --status failed -n 5
    """
    from nr_llm.records import RunStatus
    from nr_llm.stores import RunQuery

    from nr_llm_cli.exported import timed
    from nr_llm_cli.listing import show
    from nr_llm_cli.stored import kept
    from nr_llm_cli.timeline import row_of

    query = RunQuery(
        statuses=frozenset(map(RunStatus, status)) or None,
        actor_id=rest["actor"],
        configuration=rest["configuration"],
        limit=limit,
    )
    with kept(context) as store:
        found = store.history.find(query)
    rows = [timed(run) if as_json else row_of(run) for run in found]
    show(rows, columns=_filled(rows), as_json=as_json, empty="No such run is kept.")
    return 0


def _filled(rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns without those that are empty in each row."""
    return [name for name in COLUMNS if any(row.get(name) is not None for row in rows)]


@click.command("show")
@click.argument("run")
@json_option
@global_options()
@click.pass_context
def show_run(context: click.Context, run: str, *, as_json: bool) -> int:
    """
    Show what a run did, as far as it is kept.

    RUN is a run's name or its beginning.  For example: nr-llm runs show 2f0c
    """
    from nr_llm_cli.exported import timed
    from nr_llm_cli.screen import document
    from nr_llm_cli.stored import kept, named
    from nr_llm_cli.timeline import lines_of

    with kept(context) as store:
        found = named(store.history, run)
        steps = store.history.steps(found.run_id)
    if as_json:
        text = document({**timed(found), "steps": [step.to_dict() for step in steps]})
    else:
        text = "\n".join(lines_of(found, steps))
    click.echo(text, color=False)
    return 0


@click.command()
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="Export all runs.")
@click.option(
    "--format", "form", type=click.Choice(["ndjson", "json"]), default="ndjson", help="Lines, or one document."
)
@global_options()
@click.pass_context
def export(context: click.Context, run: str | None, *, everything: bool, form: str) -> int:
    """
    Write the record of runs as JSON.

    RUN is a run's name or its beginning.  For example: nr-llm runs export --all > runs.ndjson
    """
    import sys

    from nr_llm_cli.stored import kept

    if (run is None) is not everything:
        raise click.UsageError("Name a run, or say --all.")
    out = sys.stdout
    with kept(context) as store:
        for line in _written(store, run, form):
            click.echo(line, out, color=False)
    return 0


def _written(store: Kept, name: str | None, form: str) -> Iterator[str]:
    from nr_llm.stores import RunQuery

    from nr_llm_cli.exported import records, whole
    from nr_llm_cli.screen import document
    from nr_llm_cli.stored import EVERYTHING, named

    chosen = store.history.find(RunQuery(limit=EVERYTHING)) if name is None else [named(store.history, name)]
    if form == "ndjson":
        for run in chosen:
            yield from map(document, records(store.store, run))
    elif name is None:
        yield document([whole(store.store, run) for run in chosen])
    else:
        yield document(whole(store.store, chosen[0]))
