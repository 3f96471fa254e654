"""
One batch of calls under way: which may start, which run, which are done, in either colour.

The batch is a state machine fed with messages.  Threads and tasks post what happened to them; whoever waits for
the messages (a queue in one colour, an asyncio queue in the other) hands them in.  So limits, time-outs and
bookkeeping are written once and need no lock.
"""

from __future__ import annotations

import contextvars
import inspect
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import attrs

from nr_llm._desk import Desk
from nr_llm._seam import Admitted, admit, failed, not_permitted, out_of_time, received, timed_out
from nr_llm.cancellation import Cancellation
from nr_llm.effects import CallOutcome
from nr_llm.errors import RunCancelledError
from nr_llm.events import Event, ToolFinished, ToolProgress
from nr_llm.messages import ToolCall
from nr_llm.policy import PolicyDecision
from nr_llm.results import ToolResult
from nr_llm.state import PendingCall


@attrs.frozen
class Done:
    """A tool returned or raised."""

    index: int
    value: Any = None
    error: BaseException | None = None


@attrs.frozen
class Progress:
    """A tool reported progress."""

    index: int
    event: ToolProgress


@attrs.frozen
class Wake:
    """A slot may be free, or the run was cancelled."""


LONGEST_WAIT = 3600.0
"""Seconds after which a wait looks up: one that ends early does no harm, one of centuries is an error of the clock."""

Message: TypeAlias = Done | Progress | Wake
Post: TypeAlias = Callable[[Message], None]


@attrs.define(eq=False)
class Job:
    """A call that runs."""

    index: int
    admitted: Admitted
    cancelled: Cancellation
    started: float
    deadline: float | None
    arguments: dict[str, Any]
    context: contextvars.Context = attrs.field(factory=contextvars.copy_context)
    give_up: Callable[[], object] = lambda: None
    ended: float | None = None
    hold: Callable[[], None] | None = None
    refused: Exception | None = None

    def call(self) -> Any:
        """Call the tool's function, in the caller's context variables."""
        self.make_sure()
        return self.context.run(self.admitted.tool.function, **self.arguments)

    def make_sure(self) -> None:
        """
        Make sure, in the last moment before a write begins, that the run is still this process's.

        A coroutine begins when it is awaited, so that comes before as well. It asks the store only where the lease has
        ended, and then at once, in an event loop too: nothing may come between.
        """
        if self.hold is not None:
            try:
                self.hold()
            except Exception as error:
                self.refused = error
                raise

    def end(self, post: Post, value: Any = None, *, error: BaseException | None = None) -> None:
        """Tell what the call came to; it cannot time out any more, however late the message is read."""
        self.ended = time.monotonic()
        post(Done(self.index, value, error))

    def let_go(self, reason: str) -> None:
        """Tell the tool that nobody waits for it any more."""
        self.cancelled.cancel(reason)
        with suppress(RuntimeError):  # the event loop it ran in is closed
            self.give_up()


class CallBatch:
    """A batch of calls; `post` hands a message to whoever waits, from any thread."""

    def __init__(self, desk: Desk, calls: Sequence[PendingCall], post: Post) -> None:
        self._desk = desk
        self._calls = calls
        self._post = post
        self._running: dict[int, Job] = {}
        self._waiting: list[tuple[PendingCall, Admitted]] = []
        self._began, self._deadline = time.monotonic(), desk.deadline()
        self._wake = lambda: post(Wake())
        self._unsubscribe = desk.cancelled.on_cancel(self._wake)
        desk.finished, desk.started = {}, set()
        self._asked = False

    def admit(self) -> Iterator[Event]:
        """Answer the calls that may not run, and queue the others."""
        for pending in self._calls:
            toolbox, call = self._desk.toolbox, pending.call
            denial = toolbox.denial(call.name)  # here and not in the loop, which does not ask the world
            if denial is not None:
                yield from self._deny(pending, denial)
                continue
            verdict = admit(call, toolbox, limits=self._desk.limits)
            if isinstance(verdict, ToolResult):
                yield from self._finish(pending.index, call, CallOutcome(verdict, executed=False))
            else:
                self._waiting.append((pending, verdict))
        self._asked = True

    @property
    def done(self) -> bool:
        """Whether every call has an outcome."""
        return len(self._desk.finished) == len(self._calls)

    def answers(self) -> tuple[CallOutcome, ...]:
        """Return the outcomes in the order of the calls."""
        return tuple(self._desk.finished[pending.index] for pending in self._calls)

    def start(self) -> Iterator[Job | Event]:
        """
        Yield the jobs that may start now, which the caller launches, and what becomes of those that may no longer run.

        A call that had to wait for others may have waited for long, so the policy is asked again.
        """
        asked, self._asked = self._asked, False
        waiting, self._waiting = self._waiting, []
        for pending, admitted in waiting:
            free = len(self._running) < self._desk.limits.parallel_calls
            if not free or not self._desk.slots.take(admitted.tool, self._wake):
                self._waiting.append((pending, admitted))
            elif not asked and (denial := self._desk.toolbox.denial(admitted.call.name)) is not None:
                self._desk.slots.give_back(admitted.tool)
                yield from self._deny(pending, denial)
                self._post(Wake())  # it may have been the last one
            else:
                yield self._start(pending, admitted)

    def _deny(self, pending: PendingCall, denial: PolicyDecision) -> Iterator[Event]:
        outcome = CallOutcome(not_permitted(pending.call.name), executed=False, denial=denial.to_dict())
        yield from self._finish(pending.index, pending.call, outcome)

    def _start(self, pending: PendingCall, admitted: Admitted) -> Job:
        now = time.monotonic()
        tool = admitted.tool
        deadline = _sooner(self._deadline, None if tool.timeout is None else now + tool.timeout)
        cancelled = self._desk.cancelled.child()
        arguments = admitted.arguments
        if tool.context is not None:
            report = self._reporter(pending)
            context = self._desk.context(pending, admitted, deadline=deadline, cancelled=cancelled, report=report)
            arguments = arguments | {tool.context: context}
        job = Job(pending.index, admitted, cancelled, now, deadline, arguments)
        job.hold = self._desk.holding(tool)
        self._running[pending.index] = job
        self._desk.started.add(pending.index)
        return job

    def _reporter(self, pending: PendingCall) -> Callable[[str], None]:
        index, call = pending.index, pending.call
        return lambda message: self._post(Progress(index, ToolProgress(call.id, call.name, str(message)[:500])))

    def wait_seconds(self) -> float | None:
        """Return how long nothing can happen but a message; None for as long as it takes."""
        deadlines = [job.deadline for job in self._running.values() if job.deadline is not None and job.ended is None]
        deadlines += [self._deadline] if self._waiting and self._deadline is not None else []
        return min(max(0.0, min(deadlines) - time.monotonic()), LONGEST_WAIT) if deadlines else None

    def handle(self, message: Message | None) -> Iterator[Event]:
        """
        Take a message in, or None when time has passed.

        Raises:
            RunCancelledError: The run was cancelled.
            StoreError: A write was not begun, since the run is no longer this process's, or nobody can say.
        """
        if isinstance(message, Done) and message.index in self._running:
            job = self._running[message.index]
            yield from self._end(job, self._judge(message))
            if job.refused is not None:
                raise job.refused
        elif isinstance(message, Progress) and message.index in self._running:
            yield message.event
        if self._desk.cancelled.cancelled and not self.done:
            raise RunCancelledError(self._desk.cancelled.reason)
        yield from self._expire()

    def _judge(self, message: Done) -> ToolResult:
        job, desk = self._running[message.index], self._desk
        admitted = job.admitted
        if job.refused is not None:
            return ToolResult.error("Not executed: the run was not held any more.")
        mask = desk.redactor.mask_known
        try:
            if message.error is not None:
                desk.log_failure(admitted.tool, message.error)
                return failed(admitted, message.error, mask=mask, limits=desk.limits, run_id=desk.run_id)
            return received(admitted, message.value, mask=mask, limits=desk.limits)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a foreign exception or text type may raise anything
            text = RuntimeError(type(error).__name__)
            return failed(admitted, text, mask=mask, limits=desk.limits, run_id=desk.run_id)

    def _expire(self) -> Iterator[Event]:
        now = time.monotonic()
        for job in tuple(self._running.values()):
            if job.ended is None and job.deadline is not None and job.deadline <= now:
                job.let_go("timed out")
                self._desk.give_up(job.admitted.tool)
                late = self._deadline is not None and job.deadline >= self._deadline
                tool = job.admitted.tool
                yield from self._end(job, out_of_time(tool) if late else timed_out(tool))
        if self._deadline is not None and self._deadline <= now:
            waiting, self._waiting = self._waiting, []
            for pending, _ in waiting:
                result = ToolResult.error("Not executed: the run's time is used up.")
                outcome = CallOutcome(result, now - self._began, executed=False)
                yield from self._finish(pending.index, pending.call, outcome)

    def _end(self, job: Job, result: ToolResult) -> Iterator[Event]:
        del self._running[job.index]
        job.cancelled.leave()
        self._desk.slots.give_back(job.admitted.tool)
        seconds = (job.ended or time.monotonic()) - job.started
        outcome = CallOutcome(result, seconds, executed=job.refused is None)
        yield from self._finish(job.index, job.admitted.call, outcome)

    def _finish(self, index: int, call: ToolCall, outcome: CallOutcome) -> Iterator[Event]:
        self._desk.finished[index] = outcome
        yield ToolFinished(call.id, call.name, outcome.result.is_error, outcome.seconds)

    def collect(self, message: Message) -> None:
        """Take in what happened after nobody waited any more, so that what ran is not lost."""
        if isinstance(message, Done) and message.index in self._running:
            deque(self._end(self._running[message.index], self._judge(message)), maxlen=0)

    def abandon(self) -> None:
        """Let go of everything that still runs; nobody waits for it any more."""
        self._unsubscribe()
        self._desk.slots.forget(self._wake)
        for job in self._running.values():
            job.let_go(self._desk.cancelled.reason or "the run stopped")
            job.cancelled.leave()
            self._desk.slots.give_back(job.admitted.tool)
        self._running.clear()


def _sooner(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)


def discard(awaitable: object) -> None:
    """Close a coroutine, so that one that was cancelled before its first step does not complain."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()
