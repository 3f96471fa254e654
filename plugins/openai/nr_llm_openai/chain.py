"""A conversation of which the service keeps a copy: what it has of it, and what to do when it has it no longer."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from nr_llm.codecs.reading import filled, object_of
from nr_llm.effects import Completer, Flow
from nr_llm.errors import ProviderError
from nr_llm.messages import ChatMessage
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.options import OpenAIOptions

LOST = (None, 400, 404)
"""Statuses of a reply that knows nothing of the copy; a stream may say so without one."""

NAMES = ("previous_response_not_found", "previous_response_id", "previous response")
"""What such a reply speaks of: a code, the parameter at fault, or words."""


def kept_until(messages: Sequence[ChatMessage], provider: str) -> tuple[int, str] | None:
    """Return where what the service does not know begins, and the id of the last reply that it keeps; or None."""
    for i in range(len(messages) - 1, -1, -1):
        kept = filled(object_of(messages[i].provider_state.get(provider)).get("id"))
        if kept is not None:
            return i + 1, kept
    return None


def going_back(inner: Completer, *, provider: str) -> Completer:
    """Return `inner`, asked once more with the whole conversation where the service does not know its copy."""

    def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
        try:
            return (yield from inner(request))
        except ProviderError as error:
            if not _is_lost(error) or not request.options.of(OpenAIOptions).chained:
                raise
            if kept_until(request.messages, provider) is None:
                raise
        whole = tuple(_unkept(message, provider) for message in request.messages)
        return (yield from inner(attrs.evolve(request, messages=whole)))

    return completer


def _is_lost(error: ProviderError) -> bool:
    said = f"{error} {error.body}".lower()
    return error.status in LOST and not error.delivered and any(name in said for name in NAMES)


def _unkept(message: ChatMessage, provider: str) -> ChatMessage:
    state = object_of(message.provider_state.get(provider))
    if "id" not in state:
        return message
    rest = {name: value for name, value in state.items() if name != "id"}
    others = {name: value for name, value in message.provider_state.items() if name != provider}
    return attrs.evolve(message, provider_state=others | ({provider: rest} if rest else {}))
