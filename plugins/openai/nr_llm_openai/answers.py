"""One way from the parts of an answer to the answer, so that streamed and whole replies cannot differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from nr_llm.codecs.calls import CallParts, demand_calls, tool_calls
from nr_llm.codecs.json import JSON, valid_text
from nr_llm.codecs.reading import kept
from nr_llm.errors import ServiceError
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.decode import finish_of, is_cut, is_filtered, usage_of


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
    calls = tool_calls(parts.calls, request, cut=is_cut(parts.finish))
    if not parts.refusal and not is_filtered(parts.finish):
        demand_calls(calls, request, provider=provider, finish=parts.finish)
    return CompletionResponse(
        content=parts.content,
        model=valid_text(parts.model or request.model),
        provider=provider,
        usage=usage_of(parts.usage),
        finish_reason=finish_of(parts.finish, calls=calls, refused=bool(parts.refusal)),
        finish_detail=valid_text(parts.finish) if isinstance(parts.finish, str) else None,
        tool_calls=calls or None,
        reasoning=parts.reasoning or None,
        provider_state=_kept(parts.state, provider, calls=bool(calls)),
        refusal=parts.refusal or None,
        id=None if parts.id is None else valid_text(parts.id),
        raw=parts.raw,
    )


def _kept(state: Mapping[str, JSON], provider: str, *, calls: bool) -> JSON:
    """Return what goes back with the message; without calls that is its content alone."""
    wanted = state if calls else {name: state[name] for name in state if name == "content"}
    return kept(wanted, path="message", provider=provider) or None
