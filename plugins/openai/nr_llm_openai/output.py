"""Output items of the Responses form to the answer: one way for whole replies and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nr_llm.codecs.calls import CallParts, demand_calls, tool_calls
from nr_llm.codecs.json import JSON, valid_text
from nr_llm.codecs.reading import count_of, filled, kept, object_of, objects_of, text_of
from nr_llm.messages import ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

from nr_llm_openai.items import said_in

PLAIN: Mapping[Any, frozenset[str]] = {
    "message": frozenset({"type", "id", "role", "status", "content"}),
    "function_call": frozenset({"type", "id", "call_id", "name", "arguments", "status"}),
}
"""Items, and their fields, that a message says by itself: a turn of nothing else needs no state."""

CUT = {"max_output_tokens": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}
"""Why a reply is incomplete; any other word is `OTHER`, kept as it came."""


def answer(
    reply: Mapping[str, Any], request: CompletionRequest, provider: str, *, chained: bool = False
) -> CompletionResponse:
    """
    Return the answer.

    Args:
        reply: The response object, its ``output`` a list of items.
        request: What was asked.
        provider: Name of the provider.
        chained: Whether the next request goes on from this reply by its id.

    Raises:
        MissingToolCallError: A call was required and none came.
        MalformedReplyError: What the service wants back nests too deeply.
    """
    items = objects_of(reply.get("output"))
    cut = text_of(object_of(reply.get("incomplete_details")).get("reason"))
    status = text_of(reply.get("status"))
    if not cut and status not in ("", "completed"):
        cut = status  # no success, though nobody says why
    parts = [_parts(item) for item in items if item.get("type") == "function_call"]
    calls = tool_calls(parts, request, cut=bool(cut))
    refusal = "".join(map(refusal_in, items))
    if not refusal and cut != "content_filter":
        demand_calls(calls, request, provider=provider, finish=cut or status)
    return CompletionResponse(
        content="".join(map(said_in, items)),
        model=valid_text(text_of(reply.get("model")) or request.model),
        provider=provider,
        usage=_usage(object_of(reply.get("usage"))),
        finish_reason=_finish(cut, calls, refused=bool(refusal)),
        finish_detail=valid_text(cut or status) or None,
        tool_calls=calls or None,
        reasoning="\n\n".join(thoughts_of(items)) or None,
        provider_state=_kept(reply, items, provider, chained=chained),
        refusal=refusal or None,
        id=filled(reply.get("id")),
    )


def thoughts_of(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts of all reasoning, summaries first, without empty ones."""
    parts = [
        part
        for item in items
        if item.get("type") == "reasoning"
        for part in (*objects_of(item.get("summary")), *objects_of(item.get("content")))
    ]
    return [text for part in parts if (text := text_of(part.get("text")))]


def _parts(item: Mapping[str, Any]) -> CallParts:
    return filled(item.get("call_id")) or filled(item.get("id")), filled(item.get("name")), item.get("arguments")


def refusal_in(item: Mapping[str, Any]) -> str:
    """Return what a message item says instead of an answer; others have nothing."""
    parts = objects_of(item.get("content")) if item.get("type") == "message" else []
    return "".join(text_of(part.get("refusal")) for part in parts if part.get("type") == "refusal")


def _finish(cut: str, calls: Sequence[ToolCall], *, refused: bool) -> FinishReason:
    if calls and not (cut == "max_output_tokens" and calls[-1].malformed is not None):
        return FinishReason.TOOL_CALLS
    if refused:
        return FinishReason.CONTENT_FILTER
    return CUT.get(cut, FinishReason.OTHER) if cut else FinishReason.STOP


def _usage(usage: Mapping[str, Any]) -> Usage:
    read, written = object_of(usage.get("input_tokens_details")), object_of(usage.get("output_tokens_details"))
    return Usage(
        count_of(usage.get("input_tokens")),
        count_of(usage.get("output_tokens")),
        cached_tokens=count_of(read.get("cached_tokens")),
        cache_write_tokens=count_of(read.get("cache_write_tokens")),
        reasoning_tokens=count_of(written.get("reasoning_tokens")),
    )


def _kept(reply: Mapping[str, Any], items: Sequence[dict[str, Any]], provider: str, *, chained: bool) -> JSON:
    """Return what the next turn needs beside the message: the items, if it says not all of them, and the id."""
    plain = all(item.keys() <= PLAIN.get(text_of(item.get("type")), frozenset()) for item in items)
    state: dict[str, Any] = {} if plain else {"output": list(items)}
    if chained and filled(reply.get("id")):
        state["id"] = reply["id"]
    return kept(state, path="output", provider=provider) if state else None
