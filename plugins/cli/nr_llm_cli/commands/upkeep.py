"""What is done to stored runs: stopped, settled, forgotten, checked, run once more."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

import click

from nr_llm_cli.exits import Exit
from nr_llm_cli.options import global_options, json_option
from nr_llm_cli.screen import document, one_line

if TYPE_CHECKING:
    from nr_llm.stores import RunStore

_DAY: Final = 86_400.0


def _tell(text: str) -> None:
    """Write a line for people, whatever a run is called."""
    click.echo(one_line(text), err=True)


@click.command()
@click.argument("run")
@global_options()
@click.pass_context
def cancel(context: click.Context, run: str) -> int:
    """
    Have a run stop, in whichever process it is.

    A run that waits for a person ends at once, one that is under way at its next step.
    """
    from nr_llm_cli.stored import kept, named

    with kept(context) as store:
        found = named(store.history, run)
        now = store.history.cancel(found.run_id)
    if found.ended is not None:
        _tell(f"Run {found.run_id} has ended before: it is {found.raw_status}.")
    elif now is not None and now.terminal:
        _tell(f"Run {found.run_id} is {now}.")
    else:
        _tell(f"Run {found.run_id} is told to stop, and does at its next step.")
    return 0


@click.command("settle")
@json_option
@global_options()
@click.pass_context
def settle_runs(context: click.Context, *, as_json: bool) -> int:
    """
    End the runs whose process is gone.

    Their open calls are answered, so that their conversations can be gone on with.  Each nr-llm run does it too.
    """
    from nr_llm_cli.listing import show
    from nr_llm_cli.stored import kept, settle

    with kept(context) as store:
        ended = settle(store.history)
    show([{"run": run_id} for run_id in ended], columns=["run"], as_json=as_json, empty="No run was abandoned.")
    return 0


@click.command()
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Runs that ended so many days ago (30).")
@click.option("--configuration", metavar="NAME", help="Runs of this configuration alone.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@global_options()
@click.pass_context
def purge(context: click.Context, *, days: int | None, configuration: str | None, yes: bool) -> int:
    """
    Forget runs that ended long ago.

    It says first how many there are.  Runs that wait for a person are never forgotten, and what was used stays
    counted.  For example: nr-llm runs purge --days 90
    """
    from nr_llm.history import RETENTION_DAYS
    from nr_llm.records import TERMINAL
    from nr_llm.stores import RunQuery

    from nr_llm_cli.render import count
    from nr_llm_cli.stored import EVERYTHING, kept
    from nr_llm_cli.times import local

    until = time.time() - (days or RETENTION_DAYS) * _DAY
    query = RunQuery(statuses=TERMINAL, ended_before=until, configuration=configuration, limit=EVERYTHING)
    with kept(context) as store:
        number = len(store.history.find(query))
        click.echo(f"{count(number, 'run')} ended before {local(until)}.", err=True)
        if number and (yes or _agreed()):
            gone = store.history.purge(days=days, configuration=configuration)
            click.echo(f"{count(gone, 'run')} forgotten; what was used stays counted.", err=True)
    return 0


def _agreed() -> bool:
    if sys.stdin.isatty():
        return click.confirm("Forget them?", err=True)
    click.echo("Add --yes to forget them.", err=True)
    return False


@click.command()
@click.argument("run")
@json_option
@global_options()
@click.pass_context
def verify(context: click.Context, run: str, *, as_json: bool) -> int:
    """
    Check that the record of a run is whole.

    The exit code is 1 if something is wrong with it.
    """
    from nr_llm_cli.failures import Failure, Stop
    from nr_llm_cli.render import count
    from nr_llm_cli.stored import kept, named

    with kept(context) as store:
        found = named(store.history, run)
        wrong = _findings(store.store, found.run_id)
    if as_json:
        click.echo(document([{"code": finding.code, "text": finding.text} for finding in wrong]), color=False)
    else:
        for finding in wrong:
            click.echo(one_line(f"{finding.code}: {finding.text}"), color=False)
    if wrong:
        problems = count(len(wrong), "fault")
        raise Stop(Failure(Exit.UNEXPECTED, f"The record of run {found.run_id} has {problems}.", run_id=found.run_id))
    if not as_json:
        _tell(f"The record of run {found.run_id} is whole.")
    return 0


def _findings(store: RunStore, run_id: str) -> Any:
    from nr_llm.errors import ConfigurationError

    check = getattr(store, "verify", None)
    if check is None:
        raise ConfigurationError(f"This store ({type(store).__name__}) cannot check its records.")
    return check(run_id)


@click.command("replay")
@click.argument("run")
@json_option
@global_options()
@click.pass_context
def replay_run(context: click.Context, run: str, *, as_json: bool) -> int:
    """
    Run a stored run once more, asking and calling nobody.

    Each step is compared with the stored one.  It takes a run of level full; the exit code is 1 if it comes out
    otherwise.
    """
    from nr_llm.replays import replay

    from nr_llm_cli.failures import Failure, Stop
    from nr_llm_cli.render import count
    from nr_llm_cli.stored import kept, named

    with kept(context) as store:
        found = replay(store.history, named(store.history, run).run_id)
    run_id, differences = found.run.run_id, found.differences
    if as_json:
        told = [{"sequence": one.sequence, "fields": list(one.fields)} for one in differences]
        click.echo(document({"run_id": run_id, "same": found.same, "differences": told}), color=False)
    else:
        for one in differences:
            click.echo(one_line(f"step {one.sequence}: {', '.join(one.fields)}"), color=False)
    if not found.same:
        message = f"Run {run_id} comes out otherwise in {count(len(differences), 'step')}."
        raise Stop(Failure(Exit.UNEXPECTED, message, run_id=run_id))
    if not as_json:
        _tell(f"Run {run_id} comes out the same in {count(len(found.steps), 'step')}.")
    return 0
