"""
The runs that are under way here, and those that were a moment ago: they run by themselves, whoever watches.

A segment of a run is driven by a task of its own, so that a browser which goes away ends nothing.  What happens is
written once for each view into the view's tail; readers take from there.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

import attrs
from nr_llm._json import JSON
from nr_llm._logs import MaskedLogger
from nr_llm.actors import Actor
from nr_llm.errors import NrLlmError
from nr_llm.feed import Feed
from nr_llm.privacy import PrivacyLevel
from nr_llm.redaction import Redactor
from nr_llm.streams import AsyncRunStream

from nr_llm_playground.caps import Caps
from nr_llm_playground.lines import bounded, line_of, stamped
from nr_llm_playground.refusals import LOG, Refusal
from nr_llm_playground.tail import Tail
from nr_llm_playground.views import View, feed_of, level_of

RETRY_SECONDS: Final = 5
"""After so many seconds somebody may ask again who was refused for a lack of room."""

STOPS: Final = "the server stops"
"""Why a run is cancelled that is under way when the server ends."""

UNTOLD: Final = "What happens cannot be shown any more; the run itself goes on."
"""Stands at the end of a feed that broke."""


@attrs.frozen(kw_only=True, eq=False)
class Watched:
    """One view of a segment: who writes its lines, and where the last of them are."""

    feed: Feed
    tail: Tail


@attrs.define(kw_only=True, eq=False)
class Segment:
    """
    A run from where it began, or went on, to where it ended or waits.

    Attributes:
        stream: What happens.
        number: How often the run had waited before.
        owner: On whose behalf it acts.
        level: How much of it is kept.
        views: What is written of it.
        began: When, by the clock of the runs.
        ended: When it ended, or None.
        task: What drives it.
    """

    stream: AsyncRunStream
    number: int
    owner: Actor | None
    level: PrivacyLevel
    views: Mapping[View, Watched]
    began: float
    ended: float | None = None
    task: asyncio.Task[None] | None = None

    @property
    def run_id(self) -> str:
        """The run."""
        return self.stream.run_id

    @property
    def size(self) -> int:
        """Bytes of the lines that are kept of it."""
        return sum(view.tail.size for view in self.views.values())


def _busy(why: str) -> Refusal:
    return Refusal(429, "busy", f"{why}; try again when one has ended.", headers={"Retry-After": str(RETRY_SECONDS)})


class LiveRuns:
    """
    The segments of this process.

    Args:
        caps: How many there may be, and how much of them is kept.
        redactor: Masks secrets in the texts of errors.
        clock: Seconds, to tell how long ago something was.
    """

    def __init__(self, caps: Caps, redactor: Redactor, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._caps = caps
        self._redactor = redactor
        self._clock = clock
        self._segments: dict[tuple[str, int], Segment] = {}
        self._beginning = Counter[str | None]()  # of whom; None for runs that go on
        self._made = asyncio.Event()  # no segment is about to begin
        self._made.set()
        self._closed = False

    @property
    def size(self) -> int:
        """Bytes of all lines that are kept."""
        return sum(segment.size for segment in self._segments.values())

    @property
    def under_way(self) -> int:
        """How many segments have not ended, those included that are about to begin."""
        return self._beginning.total() + sum(segment.ended is None for segment in self._segments.values())

    def under_way_for(self, owner: Actor) -> int:
        """Return how many of them act on behalf of somebody."""
        owned = (one for one in self._segments.values() if one.owner is not None and one.owner.id == owner.id)
        return self._beginning[owner.id] + sum(segment.ended is None for segment in owned)

    @contextmanager
    def room(self, owner: Actor | None = None) -> Iterator[None]:
        """
        Keep a place for a segment while it is made.

        Args:
            owner: Who begins a run; None for one that goes on, which has waited for that.

        Raises:
            Refusal: There is none.
        """
        if self._closed:
            raise Refusal(503, "stopping", "The server is about to stop and begins no run.")
        if self.under_way >= self._caps.runs:
            raise _busy(f"As many runs are under way as this server takes ({self._caps.runs})")
        if owner is not None and self.under_way_for(owner) >= self._caps.runs_each:
            raise _busy(f"As many runs of yours are under way as one may have ({self._caps.runs_each})")
        name = None if owner is None else owner.id
        self._beginning[name] += 1
        self._made.clear()
        try:
            yield
        finally:
            self._beginning[name] -= 1
            if not self._beginning.total():
                self._beginning.clear()
                self._made.set()

    def begin(
        self,
        stream: AsyncRunStream,
        *,
        owner: Actor | None,
        level: PrivacyLevel,
        views: frozenset[View],
        facts: Mapping[str, JSON],
    ) -> Segment:
        """
        Drive a run from here on.

        Args:
            stream: The run, which has begun.
            owner: On whose behalf it acts.
            level: How much of it is kept.
            views: What is to be written of it.
            facts: What its first line says beside the run and its model.
        """
        self.sweep()
        state = stream.state
        segment = Segment(
            stream=stream,
            number=state.suspensions,
            owner=owner,
            level=level,
            views={
                view: Watched(feed=feed_of(view, level, self._redactor), tail=Tail(self._caps.tail_bytes))
                for view in views
            },
            began=self._clock(),
        )
        for view, watched in segment.views.items():
            seen = level_of(view, level)
            told = {**facts, "segment": segment.number, "source": "live", "filtered": seen is not None}
            told["view_level"] = None if seen is None else str(seen)
            self._write(segment, watched, watched.feed.begin(segment.run_id, model=state.model, **told))
        self._segments[segment.run_id, segment.number] = segment
        segment.task = asyncio.get_running_loop().create_task(self._drive(segment))
        if self._closed:  # it was on its way when the server was told to stop
            stream.cancel(STOPS)
        return segment

    def find(self, run_id: str, number: int | None = None) -> Segment | None:
        """Return a segment of a run, its last one unless a number is given, or None if it is not kept here."""
        self.sweep()
        if number is not None:
            return self._segments.get((run_id, number))
        found = [segment for (name, _), segment in self._segments.items() if name == run_id]
        return max(found, key=lambda segment: segment.number, default=None)

    def sweep(self) -> None:
        """Forget segments that ended long ago, and the oldest of the others while they have too many bytes."""
        ended = sorted(
            (one for one in self._segments.values() if one.ended is not None), key=lambda one: one.ended or 0
        )
        size = sum(segment.size for segment in ended)
        for segment in ended:
            late = self._clock() - (segment.ended or 0) > self._caps.kept_seconds
            if not late and size <= self._caps.kept_bytes:
                break
            size -= segment.size
            del self._segments[segment.run_id, segment.number]

    async def close(self) -> None:
        """Have every run end, and wait for that; what does not in time is broken off, and settled all the same."""
        self._closed = True
        until = asyncio.get_running_loop().time() + self._caps.settle_seconds
        for segment in self._segments.values():
            segment.stream.cancel(STOPS)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._made.wait()
        tasks = [one.task for one in self._segments.values() if one.task is not None and one.ended is None]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=max(0.0, until - asyncio.get_running_loop().time()))
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drive(self, segment: Segment) -> None:
        """Run a segment to its end; its last line says how it ended, whatever that was."""
        try:
            async with segment.stream as stream:
                async for event in stream:
                    self._tell(segment, lambda feed, event=event: feed.event(event))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001  # told, whatever broke
            if not isinstance(error, NrLlmError):  # the line leaves its text out, so the log has it
                MaskedLogger(LOG, self._redactor).error("Run %s failed unexpectedly", segment.run_id, exc_info=error)
            self._tell(segment, lambda feed, error=error: feed.fail(error))  # type: ignore[misc]
        finally:  # a run that was broken off has no last line yet
            self._tell(segment, lambda feed: feed.interrupt(segment.stream.state))
            segment.ended = self._clock()
            for watched in segment.views.values():
                watched.tail.end()

    def _tell(self, segment: Segment, write: Callable[[Feed], str | None]) -> None:
        """Have each view write a line; one that cannot ends there, says so, and does not take the run with it."""
        for watched in (one for one in segment.views.values() if not one.tail.ended):
            try:
                line = write(watched.feed)
            except Exception as error:  # noqa: BLE001  # whatever broke, the run is not its matter
                MaskedLogger(LOG, self._redactor).error("Run %s cannot be told", segment.run_id, exc_info=error)
                told: JSON = {"class": type(error).__name__, "message": UNTOLD}
                watched.tail.add(line_of("error", watched.tail.next, run_id=segment.run_id, error=told))
                watched.tail.end()
                continue
            if line is not None:
                self._write(segment, watched, line)

    def _write(self, segment: Segment, watched: Watched, line: str) -> None:
        milliseconds = 1000 * (self._clock() - segment.began)
        watched.tail.add(bounded(stamped(line, milliseconds), most=self._caps.line_bytes))
