"""Goes on with runs that wait, as the person at the terminal, or an option in their place, says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
from nr_llm.approvals import NotPermittedError, SelfApprovalError
from nr_llm.events import StepRecorded
from nr_llm.runs import Suspended

from nr_llm_cli.approving import Asker, attended
from nr_llm_cli.failures import failure_of
from nr_llm_cli.forms import submissions
from nr_llm_cli.held import Sight, held_of
from nr_llm_cli.whoami import decider, me

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.approvals import Decision, Submission, WaitingRun
    from nr_llm.runs import Outcome
    from nr_llm.runtime import Runtime
    from nr_llm.steps import RunStep

    from nr_llm_cli.console import Console
    from nr_llm_cli.turn import Reporter


class Relay:
    """Passes the steps of a run that goes on to whoever tells of it; silent about all other runs."""

    def __init__(self) -> None:
        self._reporter: Reporter | None = None

    def __call__(self, _: object) -> Relay:
        """Watch a run: a Runtime asks for an observer of each."""
        return self

    @contextmanager
    def to(self, reporter: Reporter) -> Iterator[None]:
        """Pass them on meanwhile."""
        self._reporter = reporter
        try:
            yield
        finally:
            self._reporter = None

    def step(self, step: RunStep) -> None:
        """Pass a step on."""
        if self._reporter is not None:
            self._reporter.event(StepRecorded(step))


@attrs.frozen(kw_only=True, eq=False)
class Approver:
    """
    Decides about a suspended run, and goes on with it.

    Attributes:
        runtime: What runs it.
        host: Knows where tools are from.
        console: Where a person is asked.
        relay: Tells of what happens then.
        mode: ``ask`` a person, ``deny`` everything, or approve ``reads`` and nothing else.
        kept: Whether the run is in a store.
    """

    runtime: Runtime
    host: PluginHost
    console: Console
    relay: Relay
    mode: str
    kept: bool

    def __call__(self, suspended: Suspended, reporter: Reporter) -> Outcome | None:
        """
        Return how the run goes on, or None if it waits on.

        Raises:
            NrLlmError: It failed, or somebody else has decided in between.
        """
        waiting = held_of(suspended.state)
        self.console.settle()
        said = self._said(waiting)
        if not said:
            return None
        try:
            with self.relay.to(reporter):
                return self._go_on(suspended, said)
        except (SelfApprovalError, NotPermittedError) as error:
            self.console.warn(failure_of(error).line)
            return None

    def _said(self, waiting: WaitingRun) -> tuple[Any, ...] | None:
        inputs = waiting.state is not None and waiting.state.awaits_input
        if self.mode == "deny":
            return declined(waiting)
        if self.mode == "reads":
            return () if inputs else self._reads(waiting)
        asker = Asker(console=self.console, sight=Sight.of(self.host, decider()), edits=self.kept)
        return submissions(asker, waiting) if inputs else asker.decisions(waiting)

    def _reads(self, waiting: WaitingRun) -> tuple[Decision, ...]:
        tools = self.runtime.tools()
        reads = (one for one in waiting.asked if one.call.name in tools and not tools[one.call.name].writes)
        return tuple(waiting.decision(one.index, approve=True) for one in reads)

    def _go_on(self, suspended: Suspended, said: tuple[Any, ...]) -> Outcome:
        if self.kept:
            return going_on(self.runtime, suspended.run_id, said)
        if suspended.state.awaits_input:
            return self.runtime.resume(suspended, {}, inputs={one.index: one.values for one in said}, actor=me())
        return self.runtime.resume(suspended, {one.index: one.approve for one in said}, actor=me())


def declined(waiting: WaitingRun) -> tuple[Decision | Submission, ...]:
    """Return that all calls somebody is asked about are declined."""
    return tuple(
        waiting.decision(one.index, approve=False) if one.form is None else waiting.submission(one.index, None)
        for one in waiting.asked
    )


def going_on(runtime: Runtime, run_id: str, said: tuple[Any, ...], **settings: Any) -> Outcome:
    """
    Go on with a stored run.

    Args:
        runtime: What runs it.
        run_id: The run.
        said: Decisions or submissions, all of one kind.
        **settings: Those of `Runtime.decide`.
    """
    from nr_llm.approvals import Decision

    if isinstance(said[0], Decision):
        return runtime.decide(run_id, said, by=decider(), **settings)
    return runtime.submit(run_id, said, by=decider(), **settings)


def asks(*, as_json: bool = False, ndjson: bool = False, **_: object) -> str | None:
    """Return ``ask`` where a person sits at the terminal and reads along, else None."""
    return "ask" if attended() and not (as_json or ndjson) else None


def approver_of(
    mode: str | None, host: PluginHost, runtime: Runtime, *, console: Console, relay: Relay, kept: bool
) -> Approver | None:
    """Return who decides when a run waits, or None: without a terminal nobody is there to be asked."""
    if mode is None or (mode == "ask" and not attended()):
        return None
    return Approver(runtime=runtime, host=host, console=console, relay=relay, mode=mode, kept=kept)
