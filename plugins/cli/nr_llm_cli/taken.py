"""A run that waits, found and opened to be gone on with: what is shown of it is what is decided on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import click
from nr_llm.approvals import NotWaitingError
from nr_llm.errors import StoreError, UnknownNameError
from nr_llm.history import RunHistory

from nr_llm_cli.commands.run import REPORTING, reporter_of
from nr_llm_cli.console import Console
from nr_llm_cli.failures import Stop
from nr_llm_cli.going_on import Relay, approver_of, asks, going_on
from nr_llm_cli.held import Sight
from nr_llm_cli.options import globals_of
from nr_llm_cli.screen import one_line
from nr_llm_cli.session import opened
from nr_llm_cli.stored import kept_of, named, no_store
from nr_llm_cli.turn import perform_again
from nr_llm_cli.whoami import decider

if TYPE_CHECKING:
    from pathlib import Path

    from nr_llm import PluginHost
    from nr_llm.approvals import WaitingCall, WaitingRun
    from nr_llm.runtime import Runtime

    from nr_llm_cli.turn import Reporter


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
        files: Plugins given as files.
    """

    waiting: WaitingRun
    host: PluginHost
    runtime: Runtime
    console: Console
    sight: Sight
    relay: Relay
    reporter: Reporter
    asking: str | None
    files: tuple[Path, ...] = ()

    def chosen(self, indices: tuple[int, ...]) -> tuple[WaitingCall, ...]:
        """
        Return the calls of these numbers; all that a person is asked about for none.

        Raises:
            UsageError: A number is of no such call.
        """
        asked = {one.index: one for one in self.waiting.asked}
        for index in indices:
            if index not in asked:
                raise click.UsageError(f"Call {index} waits for nobody; those that do: {listed(asked.values())}.")
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
        settings = self._without_gone() if narrowed else {}
        approver = approver_of(self.asking, self.host, self.runtime, console=self.console, relay=self.relay, kept=True)

        def first() -> Any:
            with self.relay.to(self.reporter):
                return going_on(self.runtime, self.waiting.run.run_id, said, **settings)

        try:
            turn = perform_again(self.runtime, self.waiting, self.reporter, first, files=self.files, approver=approver)
        except UnknownNameError as error:
            raise self._without_model(error) if error.kind in ("provider", "model") else error from None
        if turn.failure is not None:
            raise Stop(turn.failure)
        return 0

    def _without_model(self, error: UnknownNameError) -> UnknownNameError:
        """Return the error with what to do about a run whose model is not here: no other goes on with it."""
        run = self.waiting.run.head
        remedy = (
            f"Run {run.run_id} goes on with {run.model} and nothing was decided: install the package that has it, "
            f"name its file with --plugin, or end the run: nr-llm runs cancel {run.run_id}."
        )
        return UnknownNameError(error.kind, error.name, known=error.suggestions, remedy=remedy)

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
            files=tuple(options["files"]),
        )


def listed(calls: Iterable[WaitingCall]) -> str:
    """Return calls with their numbers, as they are named with `--call`."""
    return ", ".join(f"{one.index} {one_line(one.call.name, 80)}" for one in calls)
