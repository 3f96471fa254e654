"""Answers as they leave: JSON that nobody keeps, and feeds that a slow reader cannot hold up for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from nr_llm._json import JSON, encode_bytes
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

NO_STORE: Final = {"Cache-Control": "no-store"}

FEED: Final = {
    "Content-Type": "application/x-ndjson; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}
"""Headers of a feed: nothing on the way may keep it, change it or hold its lines back."""


def json_reply(body: JSON, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer in JSON that nobody keeps."""
    more = {**NO_STORE, **(headers or {})}
    return Response(encode_bytes(body), status, headers=more, media_type="application/json")


class Lines:
    """
    A feed on its way to one reader.

    It ends when the lines do, when the reader goes away, or when they take nothing for too long.

    Args:
        lines: What is sent.
        stalled_seconds: How long one piece may take.
        headers: Of the answer.
        done: Called in the end, however it ended.
    """

    def __init__(
        self,
        lines: AsyncIterator[bytes],
        *,
        stalled_seconds: float,
        done: Callable[[], None],
        headers: Mapping[str, str] = FEED,
    ) -> None:
        self._lines = lines
        self._seconds = stalled_seconds
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        del scope
        sending = asyncio.ensure_future(self._sent(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._done()
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _sent(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        async for piece in self._lines:
            async with asyncio.timeout(self._seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    """Return once the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
