"""Content blocks to the answer: one way for whole replies and streams, so that they cannot differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from nr_llm.codecs.calls import CallParts, demand_calls, tool_calls
from nr_llm.codecs.json import JSON, valid_text
from nr_llm.codecs.reading import count_of, filled, kept, object_of, text_of
from nr_llm.messages import ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
    "pause_turn": FinishReason.PAUSE,
}
"""The service's words; any other is `OTHER`, kept as it came."""

PLAIN: Mapping[Any, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""Blocks, and their fields, that a message says by itself: a turn of nothing else needs no state."""


@attrs.define(kw_only=True, eq=False)
class Parts:
    """
    What a reply, or a stream up to its end, was found to hold.

    Attributes:
        blocks: Its content blocks, each call's input decoded.
        inputs: For blocks whose input came as text, that text by the block's index.
        stop: The service's word for why it stopped.
        details: More about that.
        usage: Token counts.
        model: The model that answered.
        id: The service's id of the answer.
    """

    blocks: Sequence[dict[str, Any]] = ()
    inputs: Mapping[int, str] = attrs.field(factory=dict)
    stop: JSON = None
    details: JSON = None
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    model: str = ""
    id: str | None = None


def answer(parts: Parts, request: CompletionRequest, provider: str) -> CompletionResponse:
    """
    Return the answer.

    Raises:
        MissingToolCallError: A call was required and none came.
        MalformedReplyError: What the service wants back nests too deeply.
    """
    cut = parts.stop in ("max_tokens", "model_context_window_exceeded", "refusal")
    calls = tool_calls(_calls(parts, cut=cut), request, cut=cut)
    if parts.stop not in ("refusal", "pause_turn"):
        demand_calls(calls, request, provider=provider, finish=parts.stop)
    content = "".join(text_of(block.get("text")) for block in parts.blocks if block.get("type") == "text")
    thinking = "".join(text_of(block.get("thinking")) for block in parts.blocks if block.get("type") == "thinking")
    return CompletionResponse(
        content=content,
        model=valid_text(parts.model or request.model),
        provider=provider,
        usage=usage_of(parts.usage),
        finish_reason=_finish(parts.stop, calls),
        finish_detail=valid_text(parts.stop) if isinstance(parts.stop, str) else None,
        tool_calls=calls or None,
        reasoning=thinking or None,
        provider_state=_kept(parts, request, provider),
        refusal=_refusal(parts, content) if parts.stop == "refusal" else None,
        id=None if parts.id is None else valid_text(parts.id),
    )


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Return the token counts; the service counts cached input beside the rest, everybody else within it."""
    fresh, written = count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens"))
    read = count_of(usage.get("cache_read_input_tokens"))
    stored = count_of(usage.get("cache_creation_input_tokens"))
    return Usage(
        None if fresh is None else fresh + (read or 0) + (stored or 0),
        written,
        cached_tokens=read,
        cache_write_tokens=stored,
        reasoning_tokens=count_of(object_of(usage.get("output_tokens_details")).get("thinking_tokens")),
    )


def _calls(parts: Parts, *, cut: bool) -> list[CallParts]:
    """Return the calls; at the end of an answer that was cut off, an empty input is one that had not begun."""
    last = len(parts.blocks) - 1
    return [
        (
            filled(block.get("id")),
            filled(block.get("name")),
            parts.inputs.get(i, (block.get("input") or None) if cut and i == last else block.get("input")),
        )
        for i, block in enumerate(parts.blocks)
        if block.get("type") == "tool_use"
    ]


def _finish(word: JSON, calls: Sequence[ToolCall]) -> FinishReason:
    reason = FINISH.get(word, FinishReason.OTHER) if isinstance(word, str) else FinishReason.STOP
    if calls and not (reason is FinishReason.LENGTH and calls[-1].malformed is not None):
        return FinishReason.TOOL_CALLS
    return reason


def _refusal(parts: Parts, content: str) -> str:
    details = object_of(parts.details)
    return filled(details.get("explanation")) or content or "the model declined to answer"


def _kept(parts: Parts, request: CompletionRequest, provider: str) -> JSON:
    """Return the blocks for the next turn, or None when the message says all of them by itself."""
    if all(block.keys() <= PLAIN.get(text_of(block.get("type")), frozenset()) for block in parts.blocks):
        return None
    return kept({"model": request.model, "content": list(parts.blocks)}, path="content", provider=provider)
