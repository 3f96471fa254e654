"""Reply to answer: what services call content, calls, reasons and usage, in one form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from nr_llm._json import JSON, encode
from nr_llm.messages import ToolCall
from nr_llm.responses import MOST_TOKENS, FinishReason, Usage

CallParts: TypeAlias = tuple[str | None, str | None, JSON]
"""Id, name and arguments of a call as the service sent them; None where it did not."""

UNNAMED = "unnamed_tool"
"""Name of a call that came with arguments and no name: it is answered with an error, never run, never null."""

FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
}
"""The words services use; any other is `OTHER`, kept as it came."""


def text_of(value: JSON) -> str:
    """Return a text, or none of any other value."""
    return value if isinstance(value, str) else ""


def texts_of(content: JSON) -> tuple[str, str, str]:
    """
    Take the content of a reply or delta apart: a string, null, or a list of parts.

    Returns:
        Text, reasoning and refusal.  Parts of other kinds, and content of other types, give nothing.
    """
    if isinstance(content, str):
        return content, "", ""
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return _joined(parts, "text"), "".join(map(_thinking, parts)), _joined(parts, "refusal")


def _joined(parts: Iterable[Mapping[str, JSON]], key: str) -> str:
    return "".join(text for part in parts if part.get("type") != "thinking" and isinstance(text := part.get(key), str))


def _thinking(part: Mapping[str, JSON]) -> str:
    inner = part.get("thinking")
    parts = [piece for piece in inner if isinstance(piece, dict)] if isinstance(inner, list) else []
    return inner if isinstance(inner, str) else _joined(parts, "text")


def reasoning_of(message: Mapping[str, JSON]) -> str:
    """Return the thinking a message or delta carries beside its content: services send it under several names."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(text := message.get(key), str) and text:
            return text
    details = message.get("reasoning_details")
    if not isinstance(details, list):
        return ""
    parts = [part for part in details if isinstance(part, dict)]
    return _joined(parts, "text") + _joined(parts, "summary")


def calls_of(message: Mapping[str, JSON]) -> list[CallParts]:
    """Return (id, name, arguments) of each call of a whole message, the old single form included."""
    listed = message.get("tool_calls")
    single = message.get("function_call")
    calls: list[JSON] = listed if isinstance(listed, list) else []
    if not calls and isinstance(single, dict):
        calls = [{"function": single}]
    return [parts for call in calls if isinstance(call, dict) and any((parts := call_parts(call))[1:])]


def call_parts(call: Mapping[str, JSON]) -> CallParts:
    """Return (id, name, arguments) of a call or a piece of one; empty strings and null mean absent."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return _filled(call.get("id")), _filled(function.get("name")), function.get("arguments")


def _filled(value: JSON) -> str | None:
    return value if isinstance(value, str) and value else None


def tool_calls(parts: Sequence[CallParts], *, cut: bool) -> tuple[ToolCall, ...]:
    """
    Make calls of their parts.

    An id that is missing or taken becomes ``call_<index>``, so that the same reply always gives the same calls.

    Args:
        parts: (id, name, arguments) of each call.
        cut: Whether the answer ended for its length: a last call without arguments had none yet.
    """
    ids = _ids([call_id for call_id, _, _ in parts])
    calls = [
        ToolCall.from_wire({"id": call_id, "function": {"name": name or UNNAMED, "arguments": arguments}})
        for call_id, (_, name, arguments) in zip(ids, parts, strict=True)
    ]
    return tuple(_unfit(calls, parts, cut=cut))


def _ids(given: Sequence[str | None]) -> list[str]:
    ids: dict[str, None] = {}
    sent, number = set(given), 0
    for i, call_id in enumerate(given):
        number = max(number, i)
        while call_id is None or call_id in ids:
            call_id = f"call_{number}"
            number += 1
            if call_id in sent:
                call_id = None
        ids[call_id] = None
    return list(ids)


def _unfit(calls: Sequence[ToolCall], parts: Sequence[CallParts], *, cut: bool) -> Iterator[ToolCall]:
    """Mark the calls that must not run although their arguments can be read."""
    for i, (call, (_, name, arguments)) in enumerate(zip(calls, parts, strict=True)):
        blank = not isinstance(arguments, str) or not arguments.strip()
        begun = cut and i == len(calls) - 1 and blank and not isinstance(arguments, Mapping)
        if call.malformed is None and (name is None or begun):
            text = arguments if isinstance(arguments, str) else encode(arguments)
            yield ToolCall(call.id, call.name, malformed=text)
        else:
            yield call


def usage_of(payload: JSON) -> Usage:
    """
    Return the token counts of a reply; what it does not say stays None.

    xAI leaves reasoning out of the output and shows it by its total; everybody else counts it in.
    """
    usage: Mapping[str, Any] = payload if isinstance(payload, dict) else {}
    prompt, written = _details(usage, "prompt_tokens_details"), _details(usage, "completion_tokens_details")
    read, wrote = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    reasoning = _count(written.get("reasoning_tokens"))
    total = _count(usage.get("total_tokens"))
    if read is not None and wrote is not None and reasoning and total == read + wrote + reasoning:
        wrote += reasoning
    cached = (prompt.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("num_cached_tokens"))
    stored = (prompt.get("cache_write_tokens"), usage.get("cache_creation_input_tokens"))
    return Usage(
        read,
        wrote,
        cached_tokens=next((n for n in map(_count, cached) if n is not None), None),
        cache_write_tokens=next((n for n in map(_count, stored) if n is not None), None),
        reasoning_tokens=reasoning,
    )


def _details(usage: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    details = usage.get(key)
    return details if isinstance(details, dict) else {}


def _count(value: object) -> int | None:
    count = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(count, bool) or not isinstance(count, int):
        return None
    return count if abs(count) < MOST_TOKENS else None


def finish_of(word: JSON, *, calls: Sequence[ToolCall], refused: bool) -> FinishReason:
    """
    Return why the model stopped; calls decide, since services say ``stop`` beside them.

    Args:
        word: The service's own word, or null.
        calls: The calls of the answer.
        refused: Whether the model refused.
    """
    reason = FINISH.get(word, FinishReason.OTHER) if isinstance(word, str) else FinishReason.STOP
    if calls and not (reason is FinishReason.LENGTH and calls[-1].malformed is not None):
        return FinishReason.TOOL_CALLS
    return FinishReason.CONTENT_FILTER if refused else reason
