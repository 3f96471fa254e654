"""Segments that run by themselves: one that does not listen is broken off, and its readers are told."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from nr_llm import PrivacyLevel, Redactor, RunState
from nr_llm_playground import Caps
from nr_llm_playground.live import LiveRuns
from nr_llm_playground.views import View


class Deaf:
    """A stream that tells nothing, and goes on though it is asked to stop."""

    run_id = "r"
    state = RunState(run_id="r", model="m:m")

    def __init__(self) -> None:
        self.asked = 0
        self.left = False

    def cancel(self, reason: str) -> None:
        self.asked += 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left = True

    def __aiter__(self) -> Deaf:
        return self

    async def __anext__(self) -> Any:
        await asyncio.Event().wait()


class Obedient(Deaf):
    """A stream that ends once it is asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def cancel(self, reason: str) -> None:
        super().cancel(reason)
        self.told.set()

    async def __anext__(self) -> Any:
        await self.told.wait()
        raise StopAsyncIteration


def test_a_run_that_does_not_listen() -> None:
    """It is asked, given its time, broken off, and left, so that it is settled; its lines end."""

    async def main() -> None:
        live, deaf = LiveRuns(Caps(settle_seconds=0.001), Redactor()), Deaf()
        views = frozenset({View.WHOLE, View.LEVEL})
        segment = live.begin(deaf, owner=None, level=PrivacyLevel.METADATA, views=views, facts={})  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await live.close()
        assert (deaf.asked, deaf.left, live.under_way) == (1, True, 0)
        for watched in segment.views.values():
            lines = b"".join([piece async for piece in watched.tail.read(-1, heartbeat=60)]).splitlines()
            assert [json.loads(line)["event"] for line in lines] == ["context", "cancelled"]

    asyncio.run(main())


def test_a_run_that_begins_while_the_server_stops() -> None:
    """The server waits for it to be there, has it end like the others, and leaves nothing under way."""

    async def main() -> None:
        live, late = LiveRuns(Caps(), Redactor()), Obedient()
        with live.room():
            closing = asyncio.ensure_future(live.close())
            await asyncio.sleep(0)
            assert not closing.done()
            live.begin(late, owner=None, level=PrivacyLevel.FULL, views=frozenset({View.WHOLE}), facts={})  # type: ignore[arg-type]
        await closing
        assert (late.asked, late.left, live.under_way) == (1, True, 0)

    asyncio.run(main())
