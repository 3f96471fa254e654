"""One way from the parts of an answer to the answer, so that streamed and whole replies cannot differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from nr_llm._json import JSON
from nr_llm.errors import MissingToolCallError, ServiceError
from nr_llm.messages import ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.decode import CallParts, finish_of, tool_calls, usage_of


@attrs.define(kw_only=True, eq=False)
class Parts:
    """
    What a reply, or a stream up to its end, was found to hold.

    Attributes:
        content: Text.
        reasoning: Thinking.
        refusal: What the model said instead of answering.
        calls: Parts of the calls.
        finish: The service's word for why it stopped.
        usage: The service's token counts.
        model: The model that answered.
        id: The service's id of the answer.
        state: Fields the service wants back with the calls.
        raw: The payload, where a part of it could not be read.
    """

    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: Sequence[CallParts] = ()
    finish: JSON = None
    usage: JSON = None
    model: str = ""
    id: str | None = None
    state: Mapping[str, JSON] = attrs.field(factory=dict)
    raw: JSON = None


def answer(parts: Parts, request: CompletionRequest, provider: str) -> CompletionResponse:
    """
    Return the answer.

    Raises:
        ServiceError: The service says that it failed to generate one.
        MissingToolCallError: A call was required and none came.
    """
    if parts.finish == "error":
        raise ServiceError("the service failed while it wrote the answer", provider=provider, retryable=True)
    calls = tool_calls(parts.calls, cut=parts.finish in ("length", "max_tokens", "model_length"))
    calls = tuple(_without_strict_nulls(call, request) for call in calls)
    if not calls and request.tools and request.options.tool_choice not in (None, "auto", "none"):
        wanted = request.options.tool_choice
        raise MissingToolCallError(
            f"tool_choice was {wanted!r} and the model called no tool (it stopped with {parts.finish!r})",
            provider=provider,
        )
    return CompletionResponse(
        content=parts.content,
        model=parts.model or request.model,
        provider=provider,
        usage=usage_of(parts.usage),
        finish_reason=finish_of(parts.finish, calls=calls, refused=bool(parts.refusal)),
        finish_detail=parts.finish if isinstance(parts.finish, str) else None,
        tool_calls=calls or None,
        reasoning=parts.reasoning or None,
        provider_state=dict(parts.state) if calls and parts.state else None,
        refusal=parts.refusal or None,
        id=parts.id,
        raw=parts.raw,
    )


def _without_strict_nulls(call: ToolCall, request: CompletionRequest) -> ToolCall:
    """Take out the nulls that stand for optional arguments only because a strict schema has none."""
    spec = next((tool for tool in request.tools if tool.name == call.name and tool.strict), None)
    if spec is None or call.malformed is not None:
        return call
    from nr_llm._schema import drop_strict_nulls

    return ToolCall(call.id, call.name, drop_strict_nulls(call.arguments, spec.parameters))
