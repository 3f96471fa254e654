"""Parts of a reply to the answer: one way for whole replies and streams, so that they cannot differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nr_llm.codecs.calls import demand_calls, tool_calls
from nr_llm.codecs.json import valid_text
from nr_llm.codecs.reading import count_of, filled, object_of, text_of
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH, "error": FinishReason.ERROR}
"""The service's words; any other is `OTHER`, kept as it came."""


def answer(
    end: Mapping[str, Any],
    request: CompletionRequest,
    provider: str,
    *,
    content: str,
    thinking: str,
    calls: Sequence[Mapping[str, Any]],
) -> CompletionResponse:
    """
    Return the answer.

    Args:
        end: The reply, or the last line of a stream, which has counts and reason.
        request: What was asked.
        provider: Name of the provider.
        content: The text.
        thinking: The thinking.
        calls: The calls as they came.

    Raises:
        MissingToolCallError: A call was required and none came.
    """
    word = text_of(end.get("done_reason"))
    functions = [(filled(call.get("id")), object_of(call.get("function"))) for call in calls]
    parts = [(given, filled(f.get("name")), f.get("arguments")) for given, f in functions]
    made = tool_calls([part for part in parts if any(part[1:])], request, cut=word == "length")
    demand_calls(made, request, provider=provider, finish=word)
    reason = FINISH.get(word, FinishReason.OTHER) if word else FinishReason.STOP
    whole = bool(made) and not (reason is FinishReason.LENGTH and made[-1].malformed is not None)
    return CompletionResponse(
        content=content,
        model=valid_text(text_of(end.get("model")) or request.model),
        provider=provider,
        usage=Usage(count_of(end.get("prompt_eval_count")), count_of(end.get("eval_count"))),
        finish_reason=FinishReason.TOOL_CALLS if whole else reason,
        finish_detail=valid_text(word) or None,
        tool_calls=made or None,
        reasoning=thinking or None,
    )
