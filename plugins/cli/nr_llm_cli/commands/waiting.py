"""`nr-llm runs inbox`, `approve`, `deny`, `input`: the runs that wait for a person, and what one says to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click

from nr_llm_cli.exits import Exit
from nr_llm_cli.options import global_options, json_option, output_options, plugin_option

if TYPE_CHECKING:
    from nr_llm.approvals import WaitingCall

    from nr_llm_cli.taken import Taken

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

COLUMNS: Final = ("run", "since", "actor", "waits for", "calls")


@click.command()
@click.option("-n", "limit", type=click.IntRange(min=1), default=100, metavar="N", help="At most so many (100).")
@json_option
@global_options()
@click.pass_context
def inbox(context: click.Context, *, limit: int, as_json: bool) -> int:
    """
    List the runs that wait for a person, the oldest first.

    See what one waits for, and decide: nr-llm runs approve RUN
    """
    from nr_llm.history import RunHistory

    from nr_llm_cli.inbox import row_of, told
    from nr_llm_cli.listing import show
    from nr_llm_cli.stored import kept
    from nr_llm_cli.whoami import decider

    with kept(context) as store:
        found = RunHistory(store.store, decider()).inbox(limit=limit)
    rows = [told(waiting) if as_json else row_of(waiting) for waiting in found]
    show(rows, columns=COLUMNS, as_json=as_json, empty="No run waits for a person.")
    return 0


def going_on_options(command: Decorated) -> Decorated:
    """Add the options of commands that go on with a run."""
    return plugin_option(output_options(command))


_CALLS: Final = click.option(
    "--call", "indices", type=int, multiple=True, metavar="N", help="A call, by its number (repeatable); else all."
)


@click.command()
@click.argument("run")
@_CALLS
@click.option("--arguments", metavar="OBJECT|@FILE|-", help="Arguments to run the call with instead of the model's.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@going_on_options
@global_options()
@click.pass_context
def approve(context: click.Context, /, run: str, **options: Any) -> int:
    """
    Approve calls of a run that waits, and go on with it.

    It prints what it is about to approve, and approves exactly that.  RUN is a run's name or its beginning.  Calls that
    are not named wait on.
    """
    from nr_llm_cli.taken import listed, taking_up

    with taking_up(context, run, options, wanted="waiting_for_approval") as taken:
        chosen = taken.chosen(options["indices"])
        arguments = _arguments(options["arguments"], chosen)
        taken.show(chosen, arguments)
        taken.demand_tools()
        if not (options["yes"] or _agreed(f"Approve {listed(chosen)}?")):
            raise _undecided(taken, "--yes approves it without asking.")
        said = tuple(taken.waiting.decision(one.index, approve=True, arguments=arguments) for one in chosen)
        return taken.go_on(said)


@click.command()
@click.argument("run")
@_CALLS
@going_on_options
@global_options()
@click.pass_context
def deny(context: click.Context, /, run: str, **options: Any) -> int:
    """
    Decline calls of a run that waits, and go on with it.

    The model is told, and answers without them.  RUN is a run's name or its beginning.
    """
    from nr_llm_cli.taken import taking_up

    with taking_up(context, run, options) as taken:
        chosen = taken.chosen(options["indices"])
        taken.show(chosen)
        waiting = taken.waiting
        said = tuple(
            waiting.decision(one.index, approve=False) if one.form is None else waiting.submission(one.index, None)
            for one in chosen
        )
        return taken.go_on(said, narrowed=True)


@click.command("input")
@click.argument("run")
@click.option("--call", "indices", type=int, multiple=True, metavar="N", help="The call, by its number.")
@click.option("--values", metavar="OBJECT|@FILE|-", help="The form's keys with their values; else they are asked for.")
@going_on_options
@global_options()
@click.pass_context
def fill_in(context: click.Context, /, run: str, **options: Any) -> int:
    """
    Fill in what a run waits for, and go on with it.

    What does not fit the form is refused, and the run waits on.  RUN is a run's name or its beginning.
    """
    from nr_llm_cli.approving import Asker, attended
    from nr_llm_cli.forms import submissions
    from nr_llm_cli.parameters import from_json
    from nr_llm_cli.taken import listed, taking_up

    with taking_up(context, run, options, wanted="waiting_for_input") as taken:
        chosen = taken.chosen(options["indices"])
        taken.demand_tools()
        if options["values"] is not None:
            if len(chosen) > 1:
                raise click.UsageError(f"--values is for one call: name it with --call ({listed(chosen)}).")
            values = from_json(options["values"], option="--values")
            return taken.go_on((taken.waiting.submission(chosen[0].index, values),))
        if not attended():
            taken.show(chosen)
            raise _undecided(taken, "--values has what is filled in.")
        asker = Asker(console=taken.console, sight=taken.sight)
        said = submissions(asker, attrs.evolve(taken.waiting, calls=chosen))
        if said is None:
            raise _undecided(taken)
        return taken.go_on(said)


def _arguments(text: str | None, chosen: tuple[WaitingCall, ...]) -> dict[str, Any] | None:
    from nr_llm_cli.parameters import from_json
    from nr_llm_cli.taken import listed

    if text is None:
        return None
    if len(chosen) > 1:
        raise click.UsageError(f"--arguments is for one call: name it with --call ({listed(chosen)}).")
    return from_json(text, option="--arguments")


def _agreed(question: str) -> bool:
    from nr_llm_cli.approving import attended, forget_typed

    if not attended():
        return False
    forget_typed()
    return click.confirm(question, err=True)


def _undecided(taken: Taken, hint: str = "") -> Exception:
    from nr_llm_cli.failures import Failure, Stop

    run_id = taken.waiting.run.run_id
    return Stop(Failure(Exit.SUSPENDED, f"Run {run_id} waits on: nothing was decided.", hint, run_id))
