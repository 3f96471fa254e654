"""Runs whose provider is reached over HTTP, on a made-up wire format, in both colours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import httpx
import pytest
from nr_llm import (
    Cancellation,
    ChatMessage,
    CompletionRequest,
    CompletionResponse,
    Limits,
    Runtime,
    ServiceError,
    StreamInterruptedError,
    TerminationReason,
    TextDelta,
    ToolCall,
    tool,
)
from nr_llm._json import decode, encode_bytes
from nr_llm.effects import Completer
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.providers import Endpoint, HttpReply, HttpRequest, Model, TransportOptions

from tests.core.colours import COLOURS
from tests.core.waiting import until


@tool
def echo(what: str = "") -> str:
    """Say it back."""
    return what


class LineCodec:
    """One JSON object out; one word a line back, or ``!tool`` to call it."""

    provider = "lines"

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        body = b'{"messages":[' + encode_messages(request.messages, self.segments, memo) + b"]}"
        return HttpRequest("POST", "http://lines.test/ask", body=body, stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        for i, message in enumerate(messages[start:], start):
            yield Segment(i + 1, encode_bytes(message.to_wire()))

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        return self._response(reply.body.decode())

    def _response(self, text: str) -> CompletionResponse:
        if text.startswith("!"):
            return CompletionResponse(tool_calls=(ToolCall("c", text[1:].strip()),))
        return CompletionResponse(content=text.replace("\n", " ").strip())

    def decoder(self, request: CompletionRequest) -> Any:
        return LineDecoder(self)

    def error(self, reply: HttpReply) -> ServiceError:
        return ServiceError(reply.body.decode(), status=reply.status)


class LineDecoder:
    """Collects the text."""

    def __init__(self, codec: LineCodec) -> None:
        self._codec = codec
        self._text = ""
        self.done = False
        self.ended: bool

    def feed(self, data: bytes) -> list[TextDelta]:
        self._text += data.decode().removesuffix("[END]")
        self.done = data.endswith(b"[END]")
        return (
            [TextDelta(data.decode().removesuffix("[END]").replace("\n", " "))]
            if not self._text.startswith("!")
            else []
        )

    def finish(self) -> CompletionResponse:
        reply = self._codec._response(self._text)
        return reply if reply.tool_calls else CompletionResponse(content=self._text.replace("\n", " "))


class LineProvider:
    """A provider with a codec."""

    name = "lines"
    endpoint = Endpoint("lines.test")
    codec = LineCodec()
    transport = TransportOptions()

    def describe(self, model: str) -> Model:
        return Model(provider="lines", name=model)


def runtime(answers: list[Any], seen: list[Any], *, provider: Any = None, **more: Any) -> Runtime:
    """Return a Runtime whose service answers from a list."""
    replies = iter(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(decode(request.content))
        status, text = next(replies)
        return httpx.Response(status, text=text)

    transport = httpx.MockTransport(handle)
    return Runtime(
        tools=[echo],
        providers=[provider or LineProvider()],
        model="lines:m",
        http=httpx.Client(transport=transport),
        async_http=httpx.AsyncClient(transport=transport),
        **more,
    )


@pytest.mark.parametrize("colour", COLOURS)
class TestHttpRuns:
    """The whole way, to the bytes and back."""

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_run(self, colour: Any, streamed: bool) -> None:
        """Two requests, the second with both typed turns; the answer is decoded either way."""
        seen: list[Any] = []
        own = runtime([(200, "!echo"), (200, "all\ndone")], seen)
        result = colour.stream(own).outcome if streamed else colour.run(own)

        assert "all done" == result.content
        assert ["user", "assistant", "tool"] == [m["role"] for m in seen[1]["messages"]]

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_run_of_bounded_time(self, colour: Any, streamed: bool) -> None:
        """A run with a bound of time sends and reads as any other."""
        own = runtime([(200, "!echo"), (200, "all\ndone")], [], limits=Limits(seconds=1_000))
        result = colour.stream(own).outcome if streamed else colour.run(own)

        assert "all done" == result.content

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_failure(self, colour: Any, streamed: bool) -> None:
        """A status that is none of success raises what the codec makes of it."""
        own = runtime([(500, "down")], [])
        with pytest.raises(ServiceError, match="down") as caught:
            colour.stream(own) if streamed else colour.run(own)

        assert 500 == caught.value.status
        assert caught.value.state is not None

    def test_another_model_in_the_middle(self, colour: Any) -> None:
        """Middleware may ask another model in a later round: what the first one was sent is no part of it."""

        class Naming(LineCodec):
            def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
                def named(sequence: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
                    for i in range(start, len(sequence)):
                        yield Segment(i + 1, encode_bytes([request.model, i]))

                body = b"[" + encode_messages(request.messages, named, memo) + b"]"
                return HttpRequest("POST", "http://lines.test/ask", body=body)

        def other(inner: Completer) -> Completer:
            return lambda request: inner(attrs.evolve(request, model=f"m{len(request.messages)}"))

        seen: list[Any] = []
        provider = LineProvider()
        provider.codec = Naming()
        colour.run(runtime([(200, "!echo"), (200, "done")], seen, provider=provider, middleware=[other]))

        assert seen == [[["m1", 0]], [["m3", 0], ["m3", 1], ["m3", 2]]]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("pieces", [3, 40])
def test_nothing_is_waited_for_after_the_end(colour: Any, pieces: int) -> None:
    """A stream that has said its last word ends the reply; what the service still sends is read aside."""
    sent: list[int] = []

    class Endless(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"all done[END]"
            for n in range(pieces):
                sent.append(n)
                yield b"more"

        async def __aiter__(self) -> Any:
            for piece in self:
                yield piece

        def close(self) -> None:
            sent.append(-1)

        async def aclose(self) -> None:
            sent.append(-1)

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Endless()))
    own = Runtime(
        providers=[LineProvider()],
        model="lines:m",
        http=httpx.Client(transport=transport),
        async_http=httpx.AsyncClient(transport=transport),
    )
    stream = colour.stream(own)
    until(lambda: -1 in sent)

    assert "all done" == stream.outcome.content
    assert sent == [*range(min(pieces, 16)), -1]


@pytest.mark.parametrize("colour", COLOURS)
def test_a_run_is_cancelled_while_pieces_add_nothing(colour: Any) -> None:
    """Such as the comments with which a busy service keeps a connection open."""
    cancel, sent = Cancellation(), list[int]()

    class Busy(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"!echo"
            for n in range(40):
                sent.append(n)
                if n == 2:
                    cancel.cancel("by the test")
                yield b" "

        async def __aiter__(self) -> Any:
            for piece in self:
                yield piece

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Busy()))
    own = Runtime(
        providers=[LineProvider()],
        model="lines:m",
        http=httpx.Client(transport=transport),
        async_http=httpx.AsyncClient(transport=transport),
    )
    stream = colour.stream(own, cancel=cancel)

    assert "cancelled" == stream.outcome.reason
    assert [0, 1, 2] == sent


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("ended", [True, False, None])
def test_a_connection_that_breaks_behind_the_answer_takes_nothing(colour: Any, ended: bool | None) -> None:
    """Whether it is complete, a decoder may know."""

    class Breaking(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"all done"
            raise httpx.ReadError("cut")

        async def __aiter__(self) -> Any:
            for piece in self:
                yield piece

    class Knowing(LineCodec):
        def decoder(self, request: CompletionRequest) -> Any:
            decoder = LineDecoder(self)
            if ended is not None:
                decoder.ended = ended
            return decoder

    provider = LineProvider()
    provider.codec = Knowing()
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Breaking()))
    own = Runtime(
        providers=[provider],
        model="lines:m",
        http=httpx.Client(transport=transport),
        async_http=httpx.AsyncClient(transport=transport),
    )
    if ended:
        assert "all done" == colour.stream(own).outcome.content
    else:
        with pytest.raises(StreamInterruptedError, match="broke: cut"):
            colour.stream(own)


def test_transports_are_kept_and_closed() -> None:
    """One transport per provider and colour serves all runs; closing a Runtime closes them."""

    async def main() -> None:
        async with runtime([(200, "a"), (200, "b"), (200, "c")], []) as own:
            await own.arun("hi")
            await own.arun("hi")
            await asyncio.to_thread(own.run, "hi")
            assert 2 == len(own._transports)
        assert 0 == len(own._transports)

    asyncio.run(main())


def test_a_plugins_provider_answers() -> None:
    """A Runtime over a host asks the provider a plugin brought."""
    from nr_llm import PluginHost
    from nr_llm.testing import ScriptedProvider

    host = PluginHost(plugins=[ScriptedProvider("from a plugin")])

    assert "from a plugin" == Runtime(host, model="scripted:").run("hi").content


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("silent", ["before the answer", "within it"])
def test_an_awaited_answer_is_broken_off(streamed: bool, silent: str) -> None:
    """A run that is cancelled from another thread does not wait for a service that says nothing."""
    cancel = Cancellation()

    class Silent(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b"some"
            await wait_for_ever()

    async def wait_for_ever() -> None:
        threading.Thread(target=cancel.cancel, args=("by the test",)).start()
        await asyncio.Event().wait()

    async def handle(request: httpx.Request) -> httpx.Response:
        if silent == "before the answer":
            await wait_for_ever()
        return httpx.Response(200, stream=Silent())

    async def main() -> Any:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
            own = Runtime(providers=[LineProvider()], model="lines:m", async_http=client)
            if not streamed:
                return await own.arun("hi", cancel=cancel, tools=[])
            async with own.astream("hi", cancel=cancel, tools=[]) as stream:
                async for _ in stream:
                    pass
            return stream.outcome

    assert asyncio.run(main()).reason is TerminationReason.CANCELLED


def test_a_switch_that_is_thrown_too_late() -> None:
    """Nothing happens when the answer is there, or the loop is gone."""
    cancel = Cancellation()
    own = runtime([(200, "done")], [])

    assert asyncio.run(own.arun("hi", cancel=cancel)).reason is TerminationReason.COMPLETED
    cancel.cancel()


def test_a_time_out_of_the_client_s_own() -> None:
    """It is no cancellation, and none of the run's time."""

    async def handle(request: httpx.Request) -> httpx.Response:
        raise TimeoutError("mine")

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
            await Runtime(providers=[LineProvider()], model="lines:m", async_http=client).arun("hi", tools=[])

    with pytest.raises(TimeoutError, match="mine"):
        asyncio.run(main())
