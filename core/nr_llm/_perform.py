"""Performs a run's effects by blocking: the model call, the batch of tools, the record, the pause."""

from __future__ import annotations

import inspect
import queue
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar, cast

import attrs

from nr_llm._calls import CallBatch, Job, Message, Post
from nr_llm._desk import Delivery, Desk
from nr_llm._previews import Previewing
from nr_llm.effects import CallOutcome
from nr_llm.errors import MalformedReplyError, StreamInterruptedError
from nr_llm.events import Delta, Event
from nr_llm.memo import Memo
from nr_llm.previews import CallPreview
from nr_llm.providers import Codec, DirectProvider, HttpProvider
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.state import PendingCall, RunState
from nr_llm.steps import RunStep

T = TypeVar("T")
Pieces: TypeAlias = Generator[Delta | CompletionResponse, None, None]


@attrs.frozen
class Answer(Generic[T]):
    """The last thing a performer yields: the answer the flow waits for."""

    value: T


PATIENCE = 0.5
"""Seconds of one wait: Python misses a Ctrl-C that comes just as a wait begins, until that wait ends."""


def patience(seconds: float | None) -> float:
    """Return how long to wait at once where `seconds` are to be waited in all, or for ever."""
    return PATIENCE if seconds is None else min(seconds, PATIENCE)


class Performer:
    """
    Performs the effects of one run in the calling thread.

    Args:
        desk: The run's bookkeeping.
        transport: Sends HTTP requests, or None for a provider that answers by itself.
        await_in_loop: Waits in a worker thread for an awaitable that an async tool returned.
    """

    def __init__(self, desk: Desk, *, transport: Any = None, await_in_loop: Callable[[Any, Job], Any]) -> None:
        self.desk = desk
        self._transport = transport
        self._await_in_loop = await_in_loop
        self._memo = Memo()

    def complete(self, request: CompletionRequest) -> Iterator[Event | Answer[CompletionResponse]]:
        """Ask the model once, yielding deltas when the answer is streamed."""
        began, deadline = time.monotonic(), self.desk.deadline()
        self.desk.may_ask(deadline)
        delivery = Delivery(request)
        try:
            with closing(self._ask(request, deadline)) as items:
                for item in items:
                    if isinstance(item, CompletionResponse):
                        reply = item
                        break
                    yield from self.desk.shown(delivery.feed(item))
                    self.desk.go_on(deadline)
                else:
                    self.desk.go_on(deadline)  # one that was told to stop has nothing to say
                    raise MalformedReplyError("the answer ended without a reply", provider=self.desk.provider_name)
        except Exception as error:
            delivery.blame(error, self.desk.provider_name)
            self.desk.unanswered(error, began=began, deadline=deadline)
            raise
        self.desk.paid(reply.total_usage)
        if request.stream or request.stages:
            yield from self.desk.shown(delivery.rest(reply))
        yield Answer(attrs.evolve(delivery.filtered(reply), elapsed=time.monotonic() - began))

    def _ask(self, request: CompletionRequest, deadline: float | None) -> Pieces:
        provider = self.desk.provider
        if self._transport is None:
            return self._direct(cast(DirectProvider, provider), request)
        codec = cast(HttpProvider, provider).codec
        within = {} if deadline is None else {"seconds": deadline - time.monotonic()}
        return self._stream(codec, request, within) if request.stream else self._send(codec, request, within)

    def _direct(self, provider: DirectProvider, request: CompletionRequest) -> Pieces:
        yield from provider.complete(request, self.desk.cancelled)

    def _send(self, codec: Codec, request: CompletionRequest, within: Mapping[str, float]) -> Pieces:
        reply = self._transport.send(codec.encode(request, self._memo.of(request)), **within)
        if not 200 <= reply.status < 300:
            raise codec.error(reply)
        yield codec.decode(reply, request)

    def _stream(self, codec: Codec, request: CompletionRequest, within: Mapping[str, float]) -> Pieces:
        with ExitStack() as closing_reply:
            sent = self._transport.stream(codec.encode(request, self._memo.of(request)), **within)
            reply = closing_reply.enter_context(sent)
            if not 200 <= reply.status < 300:
                raise codec.error(reply.read())
            decoder = codec.decoder(request)
            try:
                for data in reply:
                    yield from decoder.feed(data)
                    if decoder.done:
                        closing_reply.pop_all()
                        self.desk.threads.start(reply.drain)
                        break
                    self.desk.go_on()  # pieces may come for ever and add nothing
            except StreamInterruptedError:
                if not getattr(decoder, "ended", False):  # else the answer was complete, and nothing of it is lost
                    raise
            yield decoder.finish()

    def invoke(self, calls: Sequence[PendingCall]) -> Iterator[Event | Answer[tuple[CallOutcome, ...]]]:
        """Run one batch of calls, yielding progress and completions as they come."""
        self.desk.go_on()
        inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        batch = CallBatch(self.desk, calls, inbox.put)
        try:
            yield from batch.admit()
            while not batch.done:
                for item in batch.start():
                    if isinstance(item, Job):
                        self.desk.threads.start(partial(self._work, item, inbox.put))
                    else:
                        yield item
                if self.desk.due():
                    self._keep("record")
                try:
                    message = inbox.get(timeout=patience(self.desk.until_due(batch.wait_seconds())))
                except queue.Empty:
                    message = None
                yield from batch.handle(message)
        finally:
            while not inbox.empty():
                batch.collect(inbox.get())
            batch.abandon()
        yield Answer(batch.answers())

    def _work(self, job: Job, post: Post) -> None:
        """Run a job in a worker thread; whatever it raises is told, or its run would wait for ever."""
        try:
            value = job.call()
            if inspect.isawaitable(value):
                value = self._await_in_loop(value, job)
        except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
            job.end(post, error=error)
        else:
            job.end(post, value)

    def preview(self, calls: Sequence[PendingCall]) -> Iterator[Event | Answer[tuple[CallPreview, ...]]]:
        """Have the tools of calls that wait for a person say what these would do."""
        self.desk.go_on()
        self._keep("record")
        inbox: queue.SimpleQueue[CallPreview | None] = queue.SimpleQueue()
        turn = Previewing(self.desk, calls, inbox.put)
        self.desk.threads.start(turn.work)
        try:
            while not turn.done:
                try:
                    made = inbox.get(timeout=patience(turn.wait_seconds()))
                except queue.Empty:
                    made = None
                turn.take(made)
        finally:
            turn.leave()
        yield Answer(turn.previews())

    def record(self, step: RunStep | None, state: RunState) -> None:
        """
        Note a checkpoint, show its step to the observers, then have both stored.

        The fence before a write is stored first: where that fails, nothing has been started.
        """
        if step is None:
            if self.desk.kept_at_once(step, state):
                self._keep("record")
            self.desk.note(state)
            return
        self.desk.note(state)
        self.desk.observers.tell("step", step)
        if self.desk.kept_at_once(step, state):
            self._keep("record")

    def wait(self, seconds: float, jitter: float) -> None:
        """Pause, or until the run is cancelled."""
        began, deadline = time.monotonic(), self.desk.deadline()
        end = began + seconds + random.random() * jitter  # noqa: S311  # no secret depends on it
        end = end if deadline is None else min(end, deadline)
        while (left := end - time.monotonic()) > 0 and not self.desk.cancelled.wait(patience(left)):
            pass
        self.desk.lost += time.monotonic() - began
        self.desk.go_on(deadline)

    def open(self) -> None:
        """Have the run kept from here on."""
        self._keep("open", self.desk.last)

    def close(self, state: RunState, error: BaseException | None = None) -> None:
        """Tell store and observers how the run ended; a store that fails is told again once the run is settled."""
        try:
            self._keep("close", state, error)
        except BaseException:
            if error is not None:
                self.desk.part(state)
            raise
        self.desk.part(state)

    def _keep(self, method: str, *values: object) -> None:
        if self.desk.keeper is not None:
            try:
                getattr(self.desk.keeper, method)(*values)
            except Exception as error:  # noqa: BLE001  # whatever a store raises
                raise self.desk.not_stored(error, method)  # noqa: B904  # the same, or with its cause
