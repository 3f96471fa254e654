"""What both colours of a run share: its bookkeeping and its watchers, without any waiting."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from nr_llm._budget import failed_call
from nr_llm._keeping import Keeper
from nr_llm._logs import MaskedLogger
from nr_llm._observers import Observers
from nr_llm._purse import Purse
from nr_llm._seam import Admitted
from nr_llm._settle import settle
from nr_llm._slots import Slots
from nr_llm._threads import DaemonThreads
from nr_llm._turns import past_invocations
from nr_llm.actors import Actor
from nr_llm.cancellation import Cancellation
from nr_llm.contexts import ToolContext
from nr_llm.effects import CallOutcome
from nr_llm.errors import (
    BudgetExceededError,
    ProviderError,
    RunCancelledError,
    StoreError,
    StreamInterruptedError,
    ToolError,
)
from nr_llm.events import Delta, StepRecorded, TextDelta
from nr_llm.limits import Limits
from nr_llm.middleware import GuardrailError
from nr_llm.providers import Provider
from nr_llm.redaction import Redactor
from nr_llm.requests import CompletionRequest, TextStage
from nr_llm.responses import CompletionResponse, Usage
from nr_llm.runs import ToolInvocation
from nr_llm.state import PendingCall, RunState, TerminationReason
from nr_llm.steps import RunStep
from nr_llm.toolbox import Toolbox
from nr_llm.tools import Tool


@attrs.define(kw_only=True, eq=False)
class Desk:
    """
    The bookkeeping of one run.

    Attributes:
        run_id: The run.
        toolbox: The tools it may use.
        limits: Its bounds.
        cancelled: Thrown when it shall stop.
        provider: Who answers, or None where nobody is asked.
        threads: Where blocking tools run.
        slots: Concurrency of tools, shared between runs.
        observers: Who watches.
        keeper: Who keeps it, or None; no observer, since its failure stops the run.
        redactor: Masks secrets in the log.
        log: The log.
        last: The last recorded state.
        finished: Outcomes of the batch under way, by index in the turn.
        started: Indices of its calls that began.
        lost: Seconds since the last checkpoint that no answer has reported yet.
        purse: What the run's actor may still spend, or None where nothing bounds them.
        abandoned: Calls that timed out and may still run.
        invocations: The calls of the run so far, artifacts and all.
    """

    run_id: str
    toolbox: Toolbox
    limits: Limits
    threads: DaemonThreads
    slots: Slots
    observers: Observers
    last: RunState
    provider: Provider | None = None
    cancelled: Cancellation = attrs.field(factory=Cancellation)
    keeper: Keeper | None = None
    redactor: Redactor = attrs.field(factory=Redactor)
    log: logging.Logger = attrs.field(factory=lambda: logging.getLogger("nr_llm"))
    actor: Actor | None = None
    deps: Any = None
    secret_of: Callable[[str], str] | None = None
    finished: dict[int, CallOutcome] = attrs.field(factory=dict)
    started: set[int] = attrs.field(factory=set)
    lost: float = 0.0
    purse: Purse | None = None
    abandoned: int = 0
    invocations: list[ToolInvocation] = attrs.field(factory=list)

    @property
    def provider_name(self) -> str:
        """The provider's name, for errors."""
        return self.provider.name if self.provider is not None else ""

    def deadline(self) -> float | None:
        """Return when the run's time is up, by the monotonic clock, if what begins now is all that takes time."""
        most = self.limits.seconds
        return None if most is None else time.monotonic() + most - self.last.seconds - self.lost

    def go_on(self, deadline: float | None = None) -> None:
        """
        Return if the run shall go on.

        Args:
            deadline: When its time is up, or None where that is not looked at.

        Raises:
            RunCancelledError: It was cancelled.
            BudgetExceededError: Its time is up.
        """
        if self.cancelled.cancelled:
            raise RunCancelledError(self.cancelled.reason)
        if deadline is not None and time.monotonic() >= deadline:
            raise self.out_of_time(deadline)

    def out_of_time(self, deadline: float) -> BudgetExceededError:
        """Return the error for a run whose time was up at a deadline."""
        most = self.limits.seconds or 0.0
        return BudgetExceededError(
            f"Run {self.run_id} has used up its {most:g} seconds.",
            measure="seconds",
            limit=most,
            spent=most + max(0.0, time.monotonic() - deadline),
            reason=str(TerminationReason.TIME_EXHAUSTED),
        )

    def may_ask(self, deadline: float | None) -> None:
        """
        Return if the model may be asked.

        Raises:
            RunCancelledError: The run was cancelled.
            BudgetExceededError: The run's time is up, or its actor has no budget left.
        """
        self.go_on(deadline)
        if self.purse is not None:
            self.purse.check()

    def unanswered(self, error: Exception, *, began: float, deadline: float | None) -> None:
        """
        Take in a model call that failed: the time it took, which no answer reports, and what it used.

        Raises:
            BudgetExceededError: The run's time was up meanwhile, which is why it failed.
        """
        elapsed = time.monotonic() - began
        self.lost += elapsed
        if isinstance(error, ProviderError):
            error.elapsed = elapsed
            self.paid(error.usage)
            if deadline is not None and time.monotonic() >= deadline:
                late = self.out_of_time(deadline)
                late.partial = getattr(error, "partial", "")
                raise late from error

    def paid(self, usage: Usage | None) -> None:
        """Take in what a model call used, however it ended."""
        if self.purse is not None and usage is not None:
            self.purse.note(usage)

    def note(self, state: RunState) -> None:
        """Take in a checkpoint; it holds all that has finished, and the next turn counts its calls from 0 again."""
        self.last, self.finished, self.started, self.lost = state, {}, set(), 0.0

    def part(self, state: RunState) -> None:
        """Tell the observers how the run ended, and the log if a budget is spent."""
        self.observers.tell("close", state)
        if self.last.reason is not None and self.last.reason.budget:
            spent = self.last.usage.total_tokens
            text = "Run %s stopped with %s: its budget is spent (%s tokens, %.1f seconds)"
            known = "unknown" if spent is None else spent
            self.log.warning(text, self.run_id, self.last.reason, known, self.last.seconds)

    def taken(self) -> Iterator[StepRecorded]:
        """Show the step that a stored run is taken up with, what somebody decided, which the store has by now."""
        taking = None if self.keeper is None else self.keeper.taking
        if taking is not None:
            self.observers.tell("step", taking.step)
            yield StepRecorded(taking.step)

    def kept_at_once(self, step: RunStep | None, state: RunState) -> bool:
        """Note what is to be stored, and return whether that has to happen at once."""
        return self.keeper is not None and self.keeper.note(step, state)

    def due(self) -> bool:
        """Return whether steps that wait to be stored may wait no longer."""
        seconds = None if self.keeper is None else self.keeper.due()
        return seconds is not None and seconds <= 0

    def until_due(self, seconds: float | None) -> float | None:
        """Return how long to wait where `seconds` were to be waited, None for ever, so that no step is stored late."""
        due = None if self.keeper is None else self.keeper.due()
        if due is None:
            return seconds
        return max(0.0, due if seconds is None else min(seconds, due))

    def not_stored(self, error: Exception, method: str) -> Exception:
        """Return a `StoreError` for whatever a store raised, but for that the run shall stop."""
        if isinstance(error, (StoreError, RunCancelledError)):
            return error
        failure = StoreError(f"The store failed at {method!r} of run {self.run_id}: {type(error).__name__}.")
        failure.__cause__ = error
        return failure

    def holding(self, tool: Tool) -> Callable[[], None] | None:
        """
        Return what makes sure, as a call begins, that the run is still held here; None where nothing depends on it.

        It raises a `StoreError` if the run is not, or nobody can say.
        """
        keeper = self.keeper
        if keeper is None or not tool.writes:
            return None

        def hold() -> None:
            try:
                keeper.hold()
            except Exception as error:  # noqa: BLE001  # whatever a store raises
                raise self.not_stored(error, "hold")  # noqa: B904  # the same, or with its cause

        return hold

    def context(
        self,
        pending: PendingCall,
        admitted: Admitted,
        *,
        deadline: float | None,
        cancelled: Cancellation,
        report: Callable[[str], None],
    ) -> ToolContext:
        """Return what the tool of a call may know of the run."""
        settings: dict[str, Any] = {} if self.secret_of is None else {"secret_of": self.secret_of}
        return ToolContext(
            run_id=self.run_id,
            call_id=pending.call.id,
            tool=admitted.tool.name,
            actor=self.actor,
            deps=self.deps,
            deadline=deadline,
            cancelled=cancelled,
            idempotency_key=f"{self.run_id}:{self.last.rounds}:{pending.index}",
            log=MaskedLogger(self.log.getChild("tools"), self.redactor),
            redactor=self.redactor,
            report=report,
            **settings,
        )

    def log_failure(self, tool: object, error: BaseException) -> None:
        """
        Log what a tool raised, with its traceback, secrets masked: the only place its text goes.

        What a tool says to the model on purpose is no failure of the tool.
        """
        if isinstance(error, (ToolError, RunCancelledError)):
            self.log.debug("Tool %r refused in run %s", getattr(tool, "name", tool), self.run_id)
            return
        text = self.redactor.redact("".join(traceback.format_exception(error)))
        self.log.error("Tool %r failed in run %s\n%s", getattr(tool, "name", tool), self.run_id, text)

    def shown(self, delta: Delta | None) -> Iterator[Delta]:
        """Show a piece of the answer to the observers and yield it, if there is one."""
        if delta is not None:
            self.observers.tell("delta", delta)
            yield delta

    def give_up(self, tool: Tool) -> None:
        """Count a call that timed out and may still run, and log it."""
        self.abandoned += 1
        text = "Tool %r timed out in run %s and may still run; %d calls of the run do"
        self.log.warning(text, tool.name, self.run_id, self.abandoned)

    def all_invocations(self) -> tuple[ToolInvocation, ...]:
        """Return the calls of the run, those included that were answered while it was settled."""
        return (*self.invocations, *tuple(past_invocations(self.last))[len(self.invocations) :])

    def settled(self, error: BaseException | None) -> RunState:
        """Return the last state, every call of it answered."""
        cancelled = self.cancelled.cancelled or not isinstance(error, Exception)
        reason = TerminationReason.CANCELLED if cancelled else TerminationReason.FAILED
        if isinstance(error, GuardrailError):
            reason = TerminationReason(error.reason)
        spent = failed_call(self.last, error.usage if isinstance(error, ProviderError) else None)
        self.last = settle(spent, reason, finished=self.finished, started=self.started)
        return self.last


class Delivery:
    """One reply on its way to the consumer: filters its text and remembers whether any of it has left."""

    def __init__(self, request: CompletionRequest) -> None:
        self._stages: list[TextStage] = [make() for make in request.stages]
        self._pieces: list[str] = []
        self._received = 0
        self.delivered = False

    def feed(self, delta: Delta) -> Delta | None:
        """Return what may leave of `delta`, or None when it is held back."""
        if isinstance(delta, TextDelta):
            self._received += len(delta.text)
            return self._text(self._through(delta.text, 0))
        self.delivered = True
        return delta

    def _text(self, text: str) -> TextDelta | None:
        if not text:
            return None
        self._pieces.append(text)
        self.delivered = True
        return TextDelta(text)

    def _through(self, text: str, first: int) -> str:
        for stage in self._stages[first:]:
            text = stage.feed(text) if text else ""
        return text

    def rest(self, reply: CompletionResponse) -> TextDelta | None:
        """Return the text still to leave when `reply` is complete: what of it was not streamed."""
        text = self._through((reply.content or reply.refusal or "")[self._received :], 0)
        for i, stage in enumerate(self._stages):
            text += self._through(stage.finish(), i + 1)
        return self._text(text)

    def filtered(self, reply: CompletionResponse) -> CompletionResponse:
        """Return `reply` with the content that left, where filters may have changed it."""
        if not self._stages:
            return reply
        text = "".join(self._pieces)
        return attrs.evolve(reply, content=text, refusal=text if reply.refusal else None)  # people read either

    def blame(self, error: Exception, provider: str) -> None:
        """Say in `error` whose reply it was and whether a part had left already, and note that part."""
        if isinstance(error, ProviderError):
            error.provider = error.provider or provider
            error.delivered = error.delivered or self.delivered
        if isinstance(error, (BudgetExceededError, StreamInterruptedError)):
            error.partial = error.partial or "".join(self._pieces)
