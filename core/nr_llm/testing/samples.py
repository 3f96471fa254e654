"""Replies of a service that the suite for providers reads, and what they must give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, TypeAlias

import attrs

from nr_llm._json import JSON, decode, encode_bytes
from nr_llm.errors import MalformedJsonError, ProviderError
from nr_llm.events import Delta, ReasoningDelta, TextDelta
from nr_llm.providers import Codec
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

Told: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
"""What deltas add up to: text, reasoning, and name and arguments of each call."""

Place: TypeAlias = tuple[str | int, ...]
"""The way to a value in a JSON document."""

EVERY = 2_000
"""Bytes up to which a stream is cut at every one; longer ones are cut at about so many, and so many values are odd."""

ODD: tuple[JSON, ...] = (None, True, 5, -1.5, "", "odd", [], {}, [None], {"odd": None})
"""Values that no service documents, and that some service has sent."""


@attrs.frozen(kw_only=True)
class ProviderSample:
    """
    A reply of a service, and what it must give: record one, or write it after the service's documentation.

    Attributes:
        name: What it is a sample of, for errors.
        reply: The body of a whole reply.
        stream: The body of the streamed reply that says the same.
        request: What was asked, when that matters; else a plain question.
        content: The text it holds.
        reasoning: The thinking it holds.
        tool_calls: Name and arguments of each call it holds, in order.
        usage: What it says of tokens; counts that are None are not compared.
        finish_reason: Why the model stopped; None is not compared.
        error: The kind of error it stands for, if it is none of success.
        status: Its HTTP status.
        headers: Its headers, names in lower case.
        retryable: Whether its error may be asked again; None is not compared.
        retry_after: Seconds its error asks to wait; None is not compared.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    name: str = ""
    reply: bytes | None = attrs.field(default=None, repr=False)
    stream: bytes | None = attrs.field(default=None, repr=False)
    request: CompletionRequest | None = attrs.field(default=None, repr=False)
    content: str = ""
    reasoning: str = ""
    tool_calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    usage: Usage = attrs.field(factory=Usage)
    finish_reason: FinishReason | None = None
    error: type[ProviderError] | None = None
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    retryable: bool | None = None
    retry_after: float | None = None

    def faults(self, answer: CompletionResponse) -> Iterator[str]:
        """Yield each respect in which an answer is not what the sample holds."""
        calls = [(call.name, dict(call.arguments)) for call in answer.tool_calls or ()]
        wanted = [(name, dict(arguments)) for name, arguments in self.tool_calls]
        compared: list[tuple[str, object, object]] = [
            ("content", answer.content, self.content),
            ("reasoning", answer.reasoning or "", self.reasoning),
            ("calls", calls, wanted),
        ]
        if self.finish_reason is not None:
            compared.append(("finish_reason", answer.finish_reason, self.finish_reason))
        counts = ((field.name, getattr(self.usage, field.name)) for field in attrs.fields(Usage))
        compared += [(f"usage.{n}", getattr(answer.usage, n), count) for n, count in counts if count is not None]
        for what, given, expected in compared:
            if given != expected:
                yield f"{what} is {given!r}, not {expected!r}"


def read_stream(codec: Codec, request: CompletionRequest, *pieces: bytes) -> tuple[Told, CompletionResponse]:
    """Feed pieces of a stream; return what its deltas add up to, and its answer."""
    decoder = codec.decoder(request)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return told(deltas), decoder.finish()


def told(deltas: Iterable[Delta]) -> Told:
    """Return what deltas add up to."""
    text, reasoning, calls = "", "", dict[str, tuple[str, str]]()
    for delta in deltas:
        if isinstance(delta, TextDelta):
            text += delta.text
        elif isinstance(delta, ReasoningDelta):
            reasoning += delta.text
        else:
            name, arguments = calls.get(delta.key, ("", ""))
            calls[delta.key] = (name + (delta.name or ""), arguments + delta.arguments)
    return text, reasoning, tuple(calls.values())


def cuts(body: bytes) -> Sequence[int]:
    """Return where to cut a body in two: everywhere, or at samples and around line ends."""
    if len(body) <= EVERY:
        return range(1, len(body))
    ends = [i + d for i, byte in enumerate(body) if byte in b"\r\n" for d in (0, 1)]
    chosen = {*range(1, len(body), len(body) // EVERY), *ends[:: len(ends) // EVERY + 1]}
    return sorted(chosen - {0, len(body)})


def odd_documents(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield variants of a JSON document, each with one value made odd or left out, and where that is."""
    document = decode_or_none(body)
    places = list(_places(document))
    for place, odd in _tried(places):
        yield _shown(place), encode_bytes(_changed(document, place, odd))
    for place in places:
        if isinstance(place[-1], str):
            yield _shown(place), encode_bytes(_changed(document, place, ...))


def odd_streams(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield variants of a stream of JSON, each with one value of one payload made odd, and where that is."""
    lines = body.split(b"\n")
    heads = [b"data: " if line.startswith(b"data:") else b"" for line in lines]
    payloads = [decode_or_none(line.removeprefix(b"data:")) for line in lines]
    for (i, *place), odd in _tried([(i, *place) for i, payload in enumerate(payloads) for place in _places(payload)]):
        changed = heads[int(i)] + encode_bytes(_changed(payloads[int(i)], tuple(place), odd))
        yield f"line {int(i) + 1}, {_shown(place)}", b"\n".join([*lines[: int(i)], changed, *lines[int(i) + 1 :]])


def _tried(places: Sequence[Place]) -> Iterator[tuple[Place, JSON]]:
    """Yield each place with each odd value; where there are many places, with one value each."""
    if len(places) * len(ODD) <= EVERY:
        yield from ((place, odd) for place in places for odd in ODD)
    else:
        yield from zip(places[:EVERY], cycle(ODD), strict=False)


def strings(value: JSON) -> Iterator[str]:
    """Yield every text in a JSON value, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def decode_or_none(body: bytes) -> JSON:
    """Return the JSON document that a body is, or None."""
    try:
        return decode(body)
    except MalformedJsonError:
        return None


def _places(value: JSON) -> Iterator[Place]:
    """Yield the way to every value inside `value`."""
    parts: Iterable[tuple[str | int, JSON]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for step, part in parts:
        yield (step,)
        yield from ((step, *rest) for rest in _places(part))


def _changed(value: Any, place: Place, odd: Any) -> Any:
    """Return `value` with `odd` at a place, or with nothing there when `odd` is an ellipsis."""
    if not place:
        return odd
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if odd is ... and len(place) == 1:
        del copy[place[0]]
    else:
        copy[place[0]] = _changed(copy[place[0]], place[1:], odd)
    return copy


def _shown(place: Iterable[str | int]) -> str:
    return ".".join(map(str, place))
