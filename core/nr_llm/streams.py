"""A run under way: iterate over its events, leave it whenever you like, read its outcome or what it came to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from types import TracebackType
from typing import Self

from nr_llm._desk import Desk
from nr_llm._drive import Begun
from nr_llm.events import Event, Finished
from nr_llm.runs import Outcome
from nr_llm.state import RunState


class _Progress:
    """What both colours of a stream can be asked."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._outcome: Outcome | None = None
        self._begun = False
        self._first: Event | None = None  # what came in place of a beginning

    @property
    def run_id(self) -> str:
        """The run."""
        return self._desk.run_id

    @property
    def state(self) -> RunState:
        """The run so far; after the stream was left or interrupted, settled: a valid history."""
        return self._desk.last

    @property
    def outcome(self) -> Outcome:
        """
        The result, or `Suspended`.

        Raises:
            RuntimeError: The run has not ended; iterate to its end first.
        """
        if self._outcome is None:
            raise RuntimeError("the run has no outcome yet; iterate over the stream to its end")
        return self._outcome

    def __repr__(self) -> str:
        ended = self._outcome is not None
        return f"<{type(self).__name__} of run {self.run_id}, {'ended' if ended else 'not ended'}>"

    def cancel(self, reason: str = "cancelled") -> None:
        """Ask the run to stop, from any thread; the stream goes on to its `Finished` event."""
        self._desk.cancelled.cancel(reason)

    def _begin(self) -> bool:
        """Return whether it is still to begin, and let it do so once."""
        begun, self._begun = self._begun, True
        return not begun

    def _came(self, event: Event | Begun) -> None:
        if not isinstance(event, Begun):
            self._first = event

    def _held(self) -> Event | None:
        event, self._first = self._first, None
        return event

    def _note(self, event: Event | Begun) -> Event:
        assert not isinstance(event, Begun)  # told once, and taken by `begin`
        if isinstance(event, Finished):
            self._outcome = event.outcome
        return event


class RunStream(_Progress):
    """Events of a run, pulled by iterating; use it in a ``with`` statement, which ends the run when it is left."""

    def __init__(self, events: Generator[Event | Begun, None, Outcome], desk: Desk) -> None:
        super().__init__(desk)
        self._events = events

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        self.begin()
        held = self._held()
        return self._note(next(self._events) if held is None else held)

    def begin(self) -> None:
        """
        Begin the run without waiting for its first event; a second call does nothing.

        From here on a run with a store is kept there, so whatever refuses that is raised here: a server can answer with
        a status before it writes a line.

        Raises:
            RunClaimedError: The run was to go on, and somebody else has decided in between.
            RunExistsError: A new run has the name of a stored one.
            StoreError: It could not be kept.
        """
        if self._begin():
            self._came(next(self._events))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """
        End the run if it has not ended: nothing further is called, and every open call gets an answer.

        While another thread waits for the next event, the run is cancelled and ends there.
        """
        if getattr(self._events, "gi_running", False):
            self.cancel("the stream was closed")
        else:
            self._events.close()


class AsyncRunStream(_Progress):
    """Events of a run, pulled by ``async for``; use it in an ``async with`` statement."""

    def __init__(self, events: AsyncGenerator[Event | Begun, None], desk: Desk) -> None:
        super().__init__(desk)
        self._events = events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        await self.begin()
        held = self._held()
        return self._note(await anext(self._events) if held is None else held)

    async def begin(self) -> None:
        """Begin the run without waiting for its first event; see `RunStream.begin`."""
        if self._begin():
            self._came(await anext(self._events))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the run if it has not ended; see `RunStream.close`."""
        if getattr(self._events, "ag_running", False):
            self.cancel("the stream was closed")
        else:
            await self._events.aclose()
