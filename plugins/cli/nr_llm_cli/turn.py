"""One run, watched: started, told to a reporter event by event, ended in a way that says how."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs
from nr_llm.errors import StoreError
from nr_llm.events import Finished
from nr_llm.messages import ChatMessage, Role
from nr_llm.runs import Suspended

from nr_llm_cli.exits import REASONS, Exit
from nr_llm_cli.failures import Failure, failure_of
from nr_llm_cli.render import count

if TYPE_CHECKING:
    from nr_llm.approvals import WaitingRun
    from nr_llm.conversation import Prompt
    from nr_llm.events import Event
    from nr_llm.runs import Outcome
    from nr_llm.runtime import Runtime
    from nr_llm.state import RunState


@attrs.frozen(kw_only=True)
class About:
    """
    What is known of a run before it starts.

    Attributes:
        run_id: The run.
        model: ``provider:model``.
        host: Where the model runs, for people.
        local: Whether the conversation stays on this machine.
        notice: What to know of the model, or None.
    """

    run_id: str
    model: str
    host: str
    local: bool
    notice: str | None = None


class Reporter(Protocol):
    """Tells a run to somebody; exactly one of `finish`, `interrupt` and `fail` ends it."""

    def begin(self, about: About) -> None:
        """The run is about to start."""

    def event(self, event: Event) -> None:
        """Something happened."""

    def finish(self, outcome: Outcome) -> None:
        """The run ended by itself, or waits for a person."""

    def interrupt(self, state: RunState) -> None:
        """Somebody interrupted the run; `state` is a valid history."""

    def fail(self, failure: Failure, error: Exception) -> None:
        """The run failed."""


Approver: TypeAlias = "Callable[[Suspended, Reporter], Outcome | None]"
"""Decides about a run that waits, and goes on with it; None when it waits on."""


@attrs.frozen
class Turn:
    """
    How a run ended.

    Attributes:
        messages: The conversation, valid as the start of the next run; None if it cannot be gone on with.
        run_id: The run.
        failure: Why it is not the whole answer, or None.
    """

    messages: Sequence[ChatMessage] | None
    run_id: str
    failure: Failure | None = None


def perform(
    runtime: Runtime,
    prompt: Prompt,
    reporter: Reporter,
    *,
    kept: bool = False,
    files: Sequence[Path] = (),
    approver: Approver | None = None,
    **settings: Any,
) -> Turn:
    """
    Run a conversation and report it.

    Args:
        runtime: What runs it.
        prompt: The question, or the conversation so far.
        reporter: Who is told.
        kept: Whether the run is in a store.
        files: Plugins given as files: whoever goes on with the run names them again.
        approver: Decides when the run waits for a person; None leaves it waiting.
        **settings: Those of `Runtime.stream`.

    Raises:
        NrLlmError: The run failed; the reporter has been told.
    """
    about = _about(runtime, settings.get("model"), settings.get("configuration"))
    stream = runtime.stream(prompt, **settings)
    reporter.begin(attrs.evolve(about, run_id=stream.run_id))

    def first() -> Outcome:
        with stream:
            for event in stream:
                if not isinstance(event, Finished):  # the last event is told when nobody goes on
                    reporter.event(event)
        return stream.outcome

    return _watched(reporter, first, lambda: stream.state, approver=approver, kept=kept, files=files)


def perform_again(
    runtime: Runtime,
    waiting: WaitingRun,
    reporter: Reporter,
    go_on: Callable[[], Outcome],
    *,
    files: Sequence[Path] = (),
    approver: Approver | None,
) -> Turn:
    """
    Go on with a stored run and report it.

    Args:
        runtime: What runs it.
        waiting: The run.
        reporter: Who is told; of the steps somebody else has to tell it.
        go_on: Goes on.
        files: As for `perform`.
        approver: Decides when the run waits again; None leaves it waiting.

    Raises:
        NrLlmError: The decision was refused, or the run failed; the reporter has been told.
    """
    state = waiting.state
    if state is None:
        raise StoreError(str(waiting.unreadable))
    reporter.begin(attrs.evolve(_about(runtime, state.model, None), run_id=state.run_id))
    return _watched(reporter, go_on, lambda: state, approver=approver, kept=True, files=files)


def _watched(
    reporter: Reporter,
    first: Callable[[], Outcome],
    so_far: Callable[[], RunState],
    *,
    approver: Approver | None,
    kept: bool,
    files: Sequence[Path],
) -> Turn:
    try:
        outcome = _decided(first(), reporter, approver)
        reporter.event(Finished(outcome))
    except KeyboardInterrupt as error:
        state = getattr(error, "state", None) or so_far()
        reporter.interrupt(state)
        return Turn(_kept(state), state.run_id, interruption(state))
    except Exception as error:
        reporter.fail(failure_of(error), error)
        raise
    reporter.finish(outcome)
    return _ended(outcome, kept=kept, files=files)


def _decided(outcome: Outcome, reporter: Reporter, approver: Approver | None) -> Outcome:
    """Return what a run came to, decided on as often as it waits and somebody decides."""
    while approver is not None and isinstance(outcome, Suspended):
        later = approver(outcome, reporter)
        if later is None:
            break
        outcome = later
    return outcome


def _about(runtime: Runtime, model: str | None, configuration: str | None) -> About:
    provider, known = runtime.describe(model, configuration=configuration)
    endpoint = provider.endpoint
    name = f"{provider.name}:{known.name}"
    stays = endpoint.local and not known.elsewhere
    return About(run_id="", model=name, host=endpoint.host, local=stays, notice=known.notice)


def _ended(outcome: Outcome, *, kept: bool = False, files: Sequence[Path] = ()) -> Turn:
    if isinstance(outcome, Suspended):
        return Turn(None, outcome.run_id, suspension(outcome, kept=kept, files=files))
    code = REASONS[outcome.reason]
    if code is Exit.OK:
        return Turn(outcome.messages, outcome.run_id)
    message, hint = _REASONS.get(outcome.reason, (f"The run ended early: {outcome.reason}.", ""))
    return Turn(outcome.messages, outcome.run_id, Failure(code, message, hint, outcome.run_id))


_REASONS = {
    "max_rounds": ("The run used up its rounds.", "Allow more with --max-rounds."),
    "length": ("The answer was cut off at the most tokens it may have.", "Allow more with --max-tokens."),
    "context_overflow": (
        "The conversation does not fit the model's context window.",
        "Offer fewer tools with -T, shorten the prompt, or name a larger model with -m.",
    ),
    "content_filter": ("The service's content policy stopped the answer.", "Ask in other words."),
    "tokens_exhausted": ("The run used up its tokens.", "Raise limits.tokens in nr-llm.toml."),
    "cost_exhausted": ("The run cost what it may, or what nobody knows.", "Raise limits.cost in nr-llm.toml."),
    "time_exhausted": ("The run used up its time.", "Raise limits.seconds in nr-llm.toml."),
    "bytes_exhausted": ("The run took in as many bytes as it may.", "Raise limits.tool_bytes in nr-llm.toml."),
    "calls_exhausted": ("The run used up its calls of tools.", "Raise limits.calls in nr-llm.toml."),
    "actor_budget_exhausted": ("The budget of the run's actor is used up.", ""),
}


def suspension(suspended: Suspended, *, kept: bool, files: Sequence[Path] = ()) -> Failure:
    """Return what a suspended run waits for, and how it goes on."""
    run_id, calls = suspended.run_id, ", ".join(one.call.name for one in suspended.waiting)
    what, word = ("fill in", "input") if suspended.state.awaits_input else ("approve", "approve")
    who = f"Run {run_id}" if kept else "The run"
    message = f"{who} waits for a person to {what} {calls}; nothing of this turn was executed."
    named = "".join(f" --plugin {shlex.quote(str(file))}" for file in files)
    ways = " or ".join(f"nr-llm runs {way} {run_id}{named}" for way in (word, "deny"))
    hint = f"Decide: {ways}; or end it: nr-llm runs cancel {run_id}" if kept else _UNKEPT
    return Failure(Exit.SUSPENDED, message, hint, run_id)


_UNKEPT = "Choose other tools with -T, take nr-llm run on a terminal, which asks, or decide in a program."


def interruption(state: RunState) -> Failure:
    """Return what an interrupted run had done."""
    results = [message for message in state.messages[state.start :] if message.role is Role.TOOL]
    unknown = sum(message.is_error for message in results)
    done = f"{count(state.rounds, 'round')} and {count(len(results), 'call')}"
    if unknown:
        done += f", {unknown} of them failed or interrupted"
    return Failure(Exit.INTERRUPTED, f"Interrupted after {done}; the run is cancelled.", run_id=state.run_id)


def _kept(state: RunState) -> Sequence[ChatMessage]:
    """Return the conversation, without a question nobody began to answer."""
    return state.messages[:-1] if len(state.messages) == state.start else state.messages
