"""Both colours behind one face, so that a test is written once and holds for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm import Event, Runtime

Watch = Callable[[Event], None]


class Sync:
    """The blocking colour."""

    name = "sync"

    def run(self, runtime: Runtime, prompt: Any = "hi", **settings: Any) -> Any:
        """Run to the end."""
        return runtime.run(prompt, **settings)

    def stream(self, runtime: Runtime, prompt: Any = "hi", *, watch: Watch = lambda _: None, **settings: Any) -> Any:
        """Run to the end, showing each event; return the stream."""
        with runtime.stream(prompt, **settings) as stream:
            for event in stream:
                watch(event)
        return stream

    def broken(self, runtime: Runtime, *, watch: Watch, **settings: Any) -> tuple[Any, BaseException]:
        """Run with a consumer that raises; return the stream and what it raised."""
        stream = runtime.stream("hi", **settings)
        with pytest.raises(BaseException) as caught, stream:
            for event in stream:
                watch(event)
        return stream, caught.value

    def left(self, runtime: Runtime, *, after: Callable[[Event], bool], **settings: Any) -> Any:
        """Leave the stream after an event."""
        with runtime.stream("hi", **settings) as stream:
            for event in stream:
                if after(event):
                    break
        return stream

    def call(self, runtime: Runtime, tool: Any, arguments: Any) -> Any:
        """Call one tool."""
        return runtime.call(tool, arguments)

    def complete(self, runtime: Runtime, prompt: Any, **settings: Any) -> Any:
        """Ask once."""
        return runtime.complete(prompt, **settings)

    def resume(self, runtime: Runtime, *args: Any, **settings: Any) -> Any:
        """Resume."""
        return runtime.resume(*args, **settings)


class Async:
    """The awaiting colour."""

    name = "async"

    def run(self, runtime: Runtime, prompt: Any = "hi", **settings: Any) -> Any:
        """Run to the end."""
        return asyncio.run(runtime.arun(prompt, **settings))

    def stream(self, runtime: Runtime, prompt: Any = "hi", *, watch: Watch = lambda _: None, **settings: Any) -> Any:
        """Run to the end, showing each event; return the stream."""

        async def main() -> Any:
            async with runtime.astream(prompt, **settings) as stream:
                async for event in stream:
                    watch(event)
            return stream

        return asyncio.run(main())

    def broken(self, runtime: Runtime, *, watch: Watch, **settings: Any) -> tuple[Any, BaseException]:
        """Run with a consumer that raises; return the stream and what it raised."""
        streams = []

        async def main() -> None:
            streams.append(runtime.astream("hi", **settings))
            async with streams[0]:
                async for event in streams[0]:
                    watch(event)

        with pytest.raises(BaseException) as caught:
            asyncio.run(main())
        return streams[0], caught.value

    def left(self, runtime: Runtime, *, after: Callable[[Event], bool], **settings: Any) -> Any:
        """Leave the stream after an event."""

        async def main() -> Any:
            async with runtime.astream("hi", **settings) as stream:
                async for event in stream:
                    if after(event):
                        break
            return stream

        return asyncio.run(main())

    def call(self, runtime: Runtime, tool: Any, arguments: Any) -> Any:
        """Call one tool."""
        return asyncio.run(runtime.acall(tool, arguments))

    def complete(self, runtime: Runtime, prompt: Any, **settings: Any) -> Any:
        """Ask once."""
        return asyncio.run(runtime.acomplete(prompt, **settings))

    def resume(self, runtime: Runtime, *args: Any, **settings: Any) -> Any:
        """Resume."""
        return asyncio.run(runtime.aresume(*args, **settings))


COLOURS = [pytest.param(Sync(), id="sync"), pytest.param(Async(), id="async")]
"""For ``@pytest.mark.parametrize("colour", COLOURS)``."""
