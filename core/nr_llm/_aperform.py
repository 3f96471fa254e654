"""Performs a run's effects by awaiting: the asynchronous twin of `_perform`."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import attrs

from nr_llm._aside import aside
from nr_llm._calls import CallBatch, Job, Message, Post, discard
from nr_llm._desk import Delivery, Desk
from nr_llm._inbox import Inbox
from nr_llm._perform import Answer
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
Pieces: TypeAlias = AsyncGenerator[Delta | CompletionResponse, None]


class AsyncPerformer:
    """
    Performs the effects of one run in the running event loop.

    Args:
        desk: The run's bookkeeping.
        transport: Sends HTTP requests, or None for a provider that answers by itself.
    """

    def __init__(self, desk: Desk, *, transport: Any = None) -> None:
        self.desk = desk
        self._transport = transport
        self._memo = Memo()
        self._drains: set[asyncio.Task[None]] = set()  # a loop keeps no task alive by itself

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[Event | Answer[CompletionResponse], None]:
        """Ask the model once, yielding deltas when the answer is streamed."""
        began, deadline = time.monotonic(), self.desk.deadline()
        self.desk.may_ask(deadline)
        delivery = Delivery(request)
        reply: CompletionResponse | None = None
        try:
            async with aclosing(self._ask(request, deadline)) as items:
                async for item in items:
                    if isinstance(item, CompletionResponse):
                        reply = item
                        break
                    for delta in self.desk.shown(delivery.feed(item)):
                        yield delta
                    self.desk.go_on(deadline)
            if reply is None:
                self.desk.go_on(deadline)  # one that was told to stop has nothing to say
                raise MalformedReplyError("the answer ended without a reply", provider=self.desk.provider_name)
        except Exception as error:
            delivery.blame(error, self.desk.provider_name)
            self.desk.unanswered(error, began=began, deadline=deadline)
            raise
        self.desk.paid(reply.total_usage)
        if request.stream or request.stages:
            for delta in self.desk.shown(delivery.rest(reply)):
                yield delta
        yield Answer(attrs.evolve(delivery.filtered(reply), elapsed=time.monotonic() - began))

    def _ask(self, request: CompletionRequest, deadline: float | None) -> Pieces:
        provider = self.desk.provider
        if self._transport is None:
            pieces = self._direct(cast(DirectProvider, provider), request)
            return pieces if deadline is None else self._within(deadline, pieces)
        codec = cast(HttpProvider, provider).codec
        if request.stream:
            return self._within(deadline, self._stream(codec, request))
        return self._send(codec, request, deadline)

    async def _within(self, deadline: float | None, pieces: Pieces) -> Pieces:
        """Yield the pieces of an answer, as long as the run has time and is not cancelled."""
        async with aclosing(pieces):
            while True:
                try:
                    piece = await self._in_time(anext(pieces), deadline)
                except StopAsyncIteration:
                    return
                yield piece

    async def _in_time(self, awaitable: Awaitable[T], deadline: float | None) -> T:
        """Return what is awaited, as long as the run has time and is not cancelled."""
        clock = asyncio.timeout(None if deadline is None else deadline - time.monotonic())
        unsubscribe = self.desk.cancelled.on_cancel(partial(_ring, asyncio.get_running_loop(), clock))
        try:
            async with clock:
                return await awaitable
        except TimeoutError:
            if not clock.expired():
                raise
            self.desk.go_on()
            assert deadline is not None, "nothing else makes the clock ring"
            raise self.desk.out_of_time(deadline) from None
        finally:
            unsubscribe()

    async def _direct(self, provider: DirectProvider, request: CompletionRequest) -> Pieces:
        """Run a blocking provider in a thread, and stop it when nobody waits any more."""
        inbox, cancelled = Inbox(), self.desk.cancelled.child()
        self.desk.threads.start(partial(_produce, provider, request, cancelled, inbox.post))
        try:
            while isinstance(item := await inbox.get(), Answer):
                yield item.value
        finally:
            cancelled.cancel("nobody waits for the answer")
            cancelled.leave()
        if item is not None:
            raise item

    async def _send(self, codec: Codec, request: CompletionRequest, deadline: float | None) -> Pieces:
        encoded = codec.encode(request, self._memo.of(request))
        reply = await self._in_time(self._transport.send(encoded), deadline)
        if not 200 <= reply.status < 300:
            raise codec.error(reply)
        yield codec.decode(reply, request)

    async def _stream(self, codec: Codec, request: CompletionRequest) -> Pieces:
        async with AsyncExitStack() as closing_reply:
            stream = await self._transport.stream(codec.encode(request, self._memo.of(request)))
            reply = await closing_reply.enter_async_context(stream)
            if not 200 <= reply.status < 300:
                raise codec.error(await reply.aread())
            decoder = codec.decoder(request)
            try:
                async for data in reply:
                    for delta in decoder.feed(data):
                        yield delta
                    if decoder.done:
                        closing_reply.pop_all()
                        self._drains.add(drain := asyncio.create_task(reply.adrain()))
                        drain.add_done_callback(self._drains.discard)
                        break
                    self.desk.go_on()  # pieces may come for ever and add nothing
            except StreamInterruptedError:
                if not getattr(decoder, "ended", False):  # else the answer was complete, and nothing of it is lost
                    raise
            yield decoder.finish()

    async def invoke(
        self, calls: Sequence[PendingCall]
    ) -> AsyncGenerator[Event | Answer[tuple[CallOutcome, ...]], None]:
        """Run one batch of calls, yielding progress and completions as they come."""
        self.desk.go_on()
        inbox = Inbox()
        batch = CallBatch(self.desk, calls, inbox.post)
        try:
            for event in batch.admit():
                yield event
            while not batch.done:
                for item in batch.start():
                    if isinstance(item, Job):
                        self._launch(item, inbox.post)
                    else:
                        yield item
                if self.desk.due():
                    await self._keep("record")
                message: Message | None = await inbox.get(self.desk.until_due(batch.wait_seconds()))
                for event in batch.handle(message):
                    yield event
        finally:
            for message in inbox.drain():
                batch.collect(message)
            batch.abandon()
        yield Answer(batch.answers())

    def _launch(self, job: Job, post: Post) -> None:
        """Start a job: an async function here, any other in a thread, where it may block."""
        loop = asyncio.get_running_loop()
        if not _is_async(job.admitted.tool.function):
            self.desk.threads.start(partial(_work, loop, job, post))
            return
        try:
            awaitable = job.call()
        except Exception as error:  # noqa: BLE001  # its parameters are not those of its schema, for one
            job.end(post, error=error)
        else:
            _start_task(loop, job, awaitable, post)

    async def preview(
        self, calls: Sequence[PendingCall]
    ) -> AsyncGenerator[Event | Answer[tuple[CallPreview, ...]], None]:
        """Have the tools of calls that wait for a person say what these would do, in a thread: they may block."""
        self.desk.go_on()
        await self._keep("record")
        inbox = Inbox()
        turn = Previewing(self.desk, calls, inbox.post)
        self.desk.threads.start(turn.work)
        try:
            while not turn.done:
                turn.take(await inbox.get(turn.wait_seconds()))
        finally:
            turn.leave()
        yield Answer(turn.previews())

    async def record(self, step: RunStep | None, state: RunState) -> None:
        """
        Note a checkpoint, show its step to the observers, then have both stored.

        The fence before a write is stored first: where that fails, nothing has been started.
        """
        if step is None:
            if self.desk.kept_at_once(step, state):
                await self._keep("record")
            self.desk.note(state)
            return
        self.desk.note(state)
        self.desk.observers.tell("step", step)
        if self.desk.kept_at_once(step, state):
            await self._keep("record")

    async def wait(self, seconds: float, jitter: float) -> None:
        """Pause, or until the run is cancelled."""
        began, deadline = time.monotonic(), self.desk.deadline()
        seconds += random.random() * jitter  # noqa: S311  # no secret depends on it
        inbox = Inbox()
        unsubscribe = self.desk.cancelled.on_cancel(lambda: inbox.post(None))
        try:
            await inbox.get(seconds if deadline is None else min(seconds, deadline - began))
        finally:
            unsubscribe()
        self.desk.lost += time.monotonic() - began
        self.desk.go_on(deadline)

    async def open(self) -> None:
        """Have the run kept from here on."""
        await self._keep("open", self.desk.last)

    async def close(self, state: RunState, error: BaseException | None = None) -> None:
        """Tell store and observers how the run ended; a store that fails is told again once the run is settled."""
        try:
            await self._keep("close", state, error)
        except BaseException:
            if error is not None:
                self.desk.part(state)
            raise
        self.desk.part(state)

    async def _keep(self, method: str, *values: object) -> None:
        if self.desk.keeper is not None:
            call = partial(getattr(self.desk.keeper, method), *values)
            try:
                await aside(self.desk.threads, call) if self.desk.keeper.store.blocking else call()
            except Exception as error:  # noqa: BLE001  # whatever a store raises
                raise self.desk.not_stored(error, method)  # noqa: B904  # the same, or with its cause


def _ring(loop: asyncio.AbstractEventLoop, clock: asyncio.Timeout) -> None:
    """Have whatever waits behind a clock broken off, from any thread."""

    def ring() -> None:
        with suppress(RuntimeError):  # it is over already
            clock.reschedule(loop.time())

    with suppress(RuntimeError):  # the loop is gone
        loop.call_soon_threadsafe(ring)


def _produce(provider: DirectProvider, request: CompletionRequest, cancelled: Any, post: Callable[[Any], None]) -> None:
    try:
        for item in provider.complete(request, cancelled):
            post(Answer(item))
            if cancelled.cancelled:
                break
    except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
        post(error if isinstance(error, Exception) else RuntimeError(type(error).__name__))
    else:
        post(None)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _work(loop: asyncio.AbstractEventLoop, job: Job, post: Post) -> None:
    """Run a job in a worker thread; an awaitable it returns is awaited in the loop."""
    try:
        value = job.call()
    except BaseException as error:  # noqa: BLE001  # its waiter must hear of it, or would wait for ever
        job.end(post, error=error)
        return
    if not inspect.isawaitable(value):
        job.end(post, value)
        return
    try:
        loop.call_soon_threadsafe(_start_task, loop, job, value, post)
    except RuntimeError:  # the loop is closed, and nobody waits any more
        discard(value)


def _start_task(loop: asyncio.AbstractEventLoop, job: Job, awaitable: Any, post: Post) -> None:
    task = loop.create_task(_awaited(job, awaitable, post), context=job.context)
    task.add_done_callback(lambda _: discard(awaitable))
    job.give_up = task.cancel
    if job.cancelled.cancelled:
        task.cancel()


async def _awaited(job: Job, awaitable: Any, post: Post) -> None:
    """Await a tool; told as finished unless the run itself has let go of it."""
    try:
        job.make_sure()
        value = await awaitable
    except asyncio.CancelledError as error:
        if job.cancelled.cancelled:
            raise
        job.end(post, error=error)
    except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001  # its waiter must hear of it
        job.end(post, error=error)
    else:
        job.end(post, value)
