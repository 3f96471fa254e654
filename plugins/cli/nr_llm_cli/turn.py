"""One run, watched: started, told to a reporter event by event, ended in a way that says how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs
from nr_llm.events import StepRecorded
from nr_llm.messages import ChatMessage, Role
from nr_llm.runs import Suspended
from nr_llm.steps import StepKind

from nr_llm_cli.exits import REASONS, Exit
from nr_llm_cli.failures import Failure, failure_of
from nr_llm_cli.render import count

if TYPE_CHECKING:
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


@attrs.frozen
class Turn:
    """
    How a run ended.

    Attributes:
        messages: The conversation, valid as the start of the next run; None if it cannot be gone on with.
        failure: Why it is not the whole answer, or None.
    """

    messages: Sequence[ChatMessage] | None
    failure: Failure | None = None


def perform(runtime: Runtime, prompt: Prompt, reporter: Reporter, *, kept: bool = False, **settings: Any) -> Turn:
    """
    Run a conversation and report it.

    Args:
        runtime: What runs it.
        prompt: The question, or the conversation so far.
        reporter: Who is told.
        kept: Whether the run is in a store.
        **settings: Those of `Runtime.stream`.

    Raises:
        NrLlmError: The run failed; the reporter has been told.
    """
    about = _about(runtime, settings.get("model"), settings.get("configuration"))
    stream = runtime.stream(prompt, **settings)
    reporter.begin(attrs.evolve(about, run_id=stream.run_id))
    waiting: tuple[str, ...] = ()
    try:
        with stream:
            for event in stream:
                reporter.event(event)
                waiting = _waiting(event) or waiting
    except KeyboardInterrupt:
        reporter.interrupt(stream.state)
        return Turn(_kept(stream.state), interruption(stream.state))
    except Exception as error:
        reporter.fail(failure_of(error), error)
        raise
    reporter.finish(stream.outcome)
    return _ended(stream.outcome, waiting, kept=kept)


def _waiting(event: Event) -> tuple[str, ...]:
    """Return the tools whose calls a person has to approve, if the event says so."""
    if isinstance(event, StepRecorded) and event.step.kind is StepKind.APPROVAL:
        return tuple(call.name for call in event.step.requested_tool_calls or ())
    return ()


def _about(runtime: Runtime, model: str | None, configuration: str | None) -> About:
    provider, known = runtime.describe(model, configuration=configuration)
    endpoint = provider.endpoint
    name = f"{provider.name}:{known.name}"
    return About(run_id="", model=name, host=endpoint.host, local=endpoint.local, notice=known.notice)


def _ended(outcome: Outcome, waiting: Sequence[str], *, kept: bool = False) -> Turn:
    if isinstance(outcome, Suspended):
        return Turn(None, suspension(outcome.run_id, waiting, kept=kept))
    code = REASONS[outcome.reason]
    if code is Exit.OK:
        return Turn(outcome.messages)
    message, hint = _REASONS.get(outcome.reason, (f"The run ended early: {outcome.reason}.", ""))
    return Turn(outcome.messages, Failure(code, message, hint, outcome.run_id))


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


def suspension(run_id: str, waiting: Sequence[str], *, kept: bool) -> Failure:
    """Return what a suspended run waits for, and how it goes on."""
    who, calls = f"Run {run_id}" if kept else "The run", ", ".join(waiting)
    message = f"{who} waits for a person to approve {calls}; nothing of this turn was executed."
    hint = f"Approve it in a program, or end it: nr-llm runs cancel {run_id}." if kept else _UNKEPT
    return Failure(Exit.SUSPENDED, message, hint, run_id)


_UNKEPT = "Choose other tools with -T, or approve in a program."


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
