"""Reply to answer: what services call content, calls, reasons and usage, in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nr_llm.codecs.calls import CallParts
from nr_llm.codecs.json import JSON
from nr_llm.codecs.reading import count_of, filled, object_of
from nr_llm.messages import ToolCall
from nr_llm.responses import FinishReason, Usage

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
    return filled(call.get("id")), filled(function.get("name")), function.get("arguments")


def usage_of(payload: JSON) -> Usage:
    """
    Return the token counts of a reply; what it does not say stays None.

    xAI leaves reasoning out of the output and shows it by its total; everybody else counts it in.
    """
    usage = object_of(payload)
    prompt, written = object_of(usage.get("prompt_tokens_details")), object_of(usage.get("completion_tokens_details"))
    read, wrote = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
    reasoning = count_of(written.get("reasoning_tokens"))
    total = count_of(usage.get("total_tokens"))
    if read is not None and wrote is not None and reasoning and total == read + wrote + reasoning:
        wrote += reasoning
    cached = (prompt.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("num_cached_tokens"))
    stored = (prompt.get("cache_write_tokens"), usage.get("cache_creation_input_tokens"))
    return Usage(
        read,
        wrote,
        cached_tokens=next((n for n in map(count_of, cached) if n is not None), None),
        cache_write_tokens=next((n for n in map(count_of, stored) if n is not None), None),
        reasoning_tokens=reasoning,
    )


def is_cut(word: JSON) -> bool:
    """Whether the answer was ended before the model was through: what it had begun last is not all of it."""
    return isinstance(word, str) and FINISH.get(word) in (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)


def is_filtered(word: JSON) -> bool:
    """Whether a filter took the answer, or what was left of it."""
    return isinstance(word, str) and FINISH.get(word) is FinishReason.CONTENT_FILTER


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
