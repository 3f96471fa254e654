"""What was streamed and what was called, as plain values: the same for every provider."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nr_llm.events import Delta, ReasoningDelta, TextDelta
from nr_llm.providers import Codec
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse


def text_of(deltas: Iterable[Delta]) -> str:
    """Return the joined text of deltas."""
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def reasoning_of(deltas: Iterable[Delta]) -> str:
    """Return the joined reasoning of deltas."""
    return "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def calls_of(answer: CompletionResponse) -> list[tuple[str, str, dict[str, Any], str | None]]:
    """Return the calls of an answer as plain values."""
    return [(call.id, call.name, dict(call.arguments), call.malformed) for call in answer.tool_calls or ()]


def fed(codec: Codec, request: CompletionRequest, pieces: Iterable[bytes]) -> tuple[list[Delta], CompletionResponse]:
    """Return the deltas and the answer that a codec makes of a stream."""
    decoder = codec.decoder(request)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas, decoder.finish()
