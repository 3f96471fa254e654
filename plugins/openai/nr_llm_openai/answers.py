"""One way from the parts of an answer to the answer, so that streamed and whole replies cannot differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from nr_llm._json import JSON, copy_object, valid_text
from nr_llm.errors import InvalidValueError, MalformedReplyError, MissingToolCallError, ServiceError
from nr_llm.messages import ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.decode import CallParts, finish_of, tool_calls, usage_of
from nr_llm_openai.encode import own_name


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
        MalformedReplyError: What the service wants back nests too deeply.
    """
    if parts.finish == "error":
        raise ServiceError("the service failed while it wrote the answer", provider=provider, retryable=True)
    calls = tool_calls(parts.calls, cut=parts.finish in ("length", "max_tokens", "model_length"))
    calls = tuple(_as_offered(call, request) for call in calls)
    if not calls and request.tools and request.options.tool_choice not in (None, "auto", "none"):
        wanted = request.options.tool_choice
        raise MissingToolCallError(
            f"tool_choice was {wanted!r} and the model called no tool (it stopped with {parts.finish!r})",
            provider=provider,
        )
    return CompletionResponse(
        content=parts.content,
        model=valid_text(parts.model or request.model),
        provider=provider,
        usage=usage_of(parts.usage),
        finish_reason=finish_of(parts.finish, calls=calls, refused=bool(parts.refusal)),
        finish_detail=valid_text(parts.finish) if isinstance(parts.finish, str) else None,
        tool_calls=calls or None,
        reasoning=parts.reasoning or None,
        provider_state=_kept(parts.state, provider) if calls and parts.state else None,
        refusal=parts.refusal or None,
        id=None if parts.id is None else valid_text(parts.id),
        raw=parts.raw,
    )


def _kept(state: Mapping[str, JSON], provider: str) -> JSON:
    try:
        return copy_object(state, path="message")
    except InvalidValueError as error:
        raise MalformedReplyError(f"the reply cannot be kept for the next turn: {error}", provider=provider) from error


def _as_offered(call: ToolCall, request: CompletionRequest) -> ToolCall:
    """Return a call in our terms: its tool's own name, and no nulls that only a strict schema asked for."""
    spec = next((tool for tool in request.tools if tool.name == call.name), None)
    if spec is None:
        return attrs.evolve(call, name=own_name(call.name, request.messages))
    if not spec.strict or call.malformed is not None:
        return call
    from nr_llm._schema import drop_strict_nulls

    return attrs.evolve(call, arguments=drop_strict_nulls(call.arguments, spec.parameters))
