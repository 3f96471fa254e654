"""`nr-llm runs inbox`, `approve`, `deny`, `input`: the runs that wait for a person, and what one says to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click

from nr_llm_cli.asking import PLUGIN_FILE
from nr_llm_cli.commands.run import REPORTING, reporter_of
from nr_llm_cli.exits import Exit
from nr_llm_cli.options import global_options, globals_of, json_option

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.approvals import WaitingCall, WaitingRun
    from nr_llm.runtime import Runtime

    from nr_llm_cli.console import Console
    from nr_llm_cli.going_on import Relay
    from nr_llm_cli.held import Sight
    from nr_llm_cli.turn import Reporter

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
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    click.option(
        "--plugin",
        "files",
        multiple=True,
        type=PLUGIN_FILE,
        metavar="FILE",
        help="A Python file with tools or hooks (repeatable).",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document in the end."),
    click.option("--ndjson", is_flag=True, help="Print one JSON object per event, as it happens."),
    click.option("-q", "--quiet", is_flag=True, help="Print the answer alone."),
    click.option("-v", "--verbose", is_flag=True, help="Print requests, thinking and progress too."),
)
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
    with taking_up(context, run, options, wanted="waiting_for_approval") as taken:
        chosen = taken.chosen(options["indices"])
        arguments = _arguments(options["arguments"], chosen)
        taken.show(chosen, arguments)
        taken.demand_tools()
        if not (options["yes"] or _agreed(f"Approve {_listed(chosen)}?")):
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
    from nr_llm_cli.parameters import from_json

    with taking_up(context, run, options, wanted="waiting_for_input") as taken:
        chosen = taken.chosen(options["indices"])
        taken.demand_tools()
        if options["values"] is not None:
            if len(chosen) > 1:
                raise click.UsageError(f"--values is for one call: name it with --call ({_listed(chosen)}).")
            values = from_json(options["values"], option="--values")
            return taken.go_on((taken.waiting.submission(chosen[0].index, values),))
        if not attended():
            taken.show(chosen)
            raise _undecided(taken, "--values has what is filled in.")
        asker = Asker(console=taken.console, sight=taken.sight)
        said = asker.submissions(attrs.evolve(taken.waiting, calls=chosen))
        if said is None:
            raise _undecided(taken)
        return taken.go_on(said)


@attrs.frozen(kw_only=True, eq=False)
class Taken:
    """
    A run that waits, as it was found.

    Attributes:
        waiting: The run, whose digests are those of what is shown.
        host: The plugins.
        runtime: What goes on with it.
        console: Where it is shown.
        sight: What may be seen of its calls.
        relay: Tells of what happens.
        reporter: Who is told of what happens.
        asking: What becomes of calls it waits with next, as `approver_of` takes it.
    """

    waiting: WaitingRun
    host: PluginHost
    runtime: Runtime
    console: Console
    sight: Sight
    relay: Relay
    reporter: Reporter
    asking: str | None

    def chosen(self, indices: tuple[int, ...]) -> tuple[WaitingCall, ...]:
        """
        Return the calls of these numbers; all that a person is asked about for none.

        Raises:
            UsageError: A number is of no such call.
        """
        asked = {one.index: one for one in self.waiting.asked}
        for index in indices:
            if index not in asked:
                raise click.UsageError(f"Call {index} waits for nobody; those that do: {_listed(asked.values())}.")
        return tuple(asked[index] for index in dict.fromkeys(indices)) or tuple(asked.values())

    def show(self, calls: tuple[WaitingCall, ...], arguments: Mapping[str, Any] | None = None) -> None:
        """Show calls whole, since they are decided on as they are shown; on stderr, to those who want quiet too."""
        for call in calls:
            for line, style in self.sight.lines(self.waiting, call, arguments=arguments, whole=True):
                self.console.warn(line, **style)

    def demand_tools(self) -> None:
        """
        Refuse to go on without a tool that the run has.

        Raises:
            UnknownNameError: One is gone.
        """
        from nr_llm.errors import UnknownNameError

        run_id, there = self.waiting.run.run_id, self.runtime.tools()
        for name in self._needed():
            if name not in there:
                brought = self.sight.began_with(self.waiting, name)
                way = f"Install {brought}" if brought else "Name the file that has it with --plugin"
                raise UnknownNameError(
                    "tool", name, known=there, remedy=f"Run {run_id} needs it. {way}, or nr-llm runs deny {run_id}."
                )

    def _needed(self) -> list[str]:
        state = self.waiting.state
        allowed = () if state is None or state.allowed is None else state.allowed
        return list(dict.fromkeys([*(one.call.name for one in self.waiting.asked), *allowed]))

    def go_on(self, said: tuple[Any, ...], *, narrowed: bool = False) -> int:
        """
        Go on with the run and tell it.

        Args:
            said: What is said to its calls.
            narrowed: Whether it goes on without tools that are gone.

        Raises:
            Stop: It did not come to the whole answer.
            NrLlmError: It was refused, or the run failed.
        """
        from nr_llm_cli.failures import Stop
        from nr_llm_cli.going_on import approver_of, going_on
        from nr_llm_cli.turn import perform_again

        settings = self._without_gone() if narrowed else {}
        approver = approver_of(self.asking, self.host, self.runtime, console=self.console, relay=self.relay, kept=True)

        def first() -> Any:
            with self.relay.to(self.reporter):
                return going_on(self.runtime, self.waiting.run.run_id, said, **settings)

        turn = perform_again(self.runtime, self.waiting, self.reporter, first, approver=approver)
        if turn.failure is not None:
            raise Stop(turn.failure)
        return 0

    def _without_gone(self) -> dict[str, Any]:
        state, there = self.waiting.state, self.runtime.tools()
        if state is None or state.allowed is None or all(name in there for name in state.allowed):
            return {}
        return {"tools": [name for name in state.allowed if name in there]}


@contextmanager
def taking_up(
    context: click.Context, name: str, options: Mapping[str, Any], *, wanted: str | None = None
) -> Iterator[Taken]:
    """
    Find a run that waits, and open what goes on with it.

    Args:
        context: The command's.
        name: The run's name or its beginning.
        options: The command's.
        wanted: What it has to wait for, as a status; None for either.

    Raises:
        NotWaitingError: It waits for something else, or for nobody.
        StoreError: Its state cannot be read.
    """
    from nr_llm.approvals import NotWaitingError
    from nr_llm.errors import StoreError
    from nr_llm.history import RunHistory

    from nr_llm_cli.console import Console
    from nr_llm_cli.going_on import Relay, asks
    from nr_llm_cli.held import Sight
    from nr_llm_cli.session import opened
    from nr_llm_cli.stored import kept_of, named, no_store
    from nr_llm_cli.whoami import decider

    telling = {key: value for key, value in options.items() if key in REPORTING}
    if telling["as_json"] and telling["ndjson"]:
        raise click.UsageError("--json and --ndjson exclude each other.")
    console = Console(quiet=telling["quiet"], verbose=telling["verbose"], colour=globals_of(context).colour)
    reporter, relay = reporter_of(context, console, stream=False, **telling), Relay()  # data goes to the stdout of now
    with opened(context, options["files"], keep=True, live=[relay]) as (host, runtime):
        kept = kept_of(host)
        if kept is None:
            raise no_store()
        run = named(kept.history, name)
        waiting = RunHistory(kept.store, decider()).waiting(run.run_id)
        if waiting is None or run.raw_status != (wanted or run.raw_status):
            raise NotWaitingError(run.run_id, run.raw_status, wanted=wanted or "waiting_for_approval")
        if waiting.unreadable is not None:
            raise StoreError(waiting.unreadable)
        yield Taken(
            waiting=waiting,
            host=host,
            runtime=runtime,
            console=console,
            sight=Sight.of(host, decider()),
            relay=relay,
            reporter=reporter,
            asking=asks(**telling),
        )


def _arguments(text: str | None, chosen: tuple[WaitingCall, ...]) -> dict[str, Any] | None:
    from nr_llm_cli.parameters import from_json

    if text is None:
        return None
    if len(chosen) > 1:
        raise click.UsageError(f"--arguments is for one call: name it with --call ({_listed(chosen)}).")
    return from_json(text, option="--arguments")


def _agreed(question: str) -> bool:
    from nr_llm_cli.approving import attended, forget_typed

    if not attended():
        return False
    forget_typed()
    return click.confirm(question, err=True)


def _listed(calls: Any) -> str:
    from nr_llm_cli.screen import one_line

    return ", ".join(f"{one.index} {one_line(one.call.name, 80)}" for one in calls)


def _undecided(taken: Taken, hint: str = "") -> Exception:
    from nr_llm_cli.failures import Failure, Stop

    run_id = taken.waiting.run.run_id
    return Stop(Failure(Exit.SUSPENDED, f"Run {run_id} waits on: nothing was decided.", hint, run_id))
