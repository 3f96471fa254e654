"""Parts to the answer: one way for whole replies and streams, so that they cannot differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
from nr_llm.codecs.calls import demand_calls, tool_calls
from nr_llm.codecs.faults import SHOWN
from nr_llm.codecs.json import JSON, valid_text
from nr_llm.codecs.reading import count_of, filled, kept, object_of, objects_of, text_of
from nr_llm.errors import ToolCallRejectedError
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

from nr_llm_gemini.models import writer_of

BLOCKED = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "NO_IMAGE",
)  # fmt: skip
"""Reasons that are the content filter's."""

FAILED = (
    "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE", "OTHER", "LANGUAGE",
)  # fmt: skip
"""Reasons that mean that no answer was written."""

FINISH = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "CONTINUATION": FinishReason.PAUSE,
    **dict.fromkeys(BLOCKED, FinishReason.CONTENT_FILTER),
    **dict.fromkeys(FAILED, FinishReason.ERROR),
}
"""The service's words; any other is `OTHER`, kept as it came."""

FOUND = ("groundingMetadata", "urlContextMetadata")
"""Fields of an answer that say where the service's own tools looked."""


@attrs.define(kw_only=True, eq=False)
class Parts:
    """
    What a reply, or a stream up to its end, was found to hold.

    Attributes:
        parts: The parts of the first candidate.
        finish: The service's word for why it stopped.
        message: What it says about that.
        blocked: Why the prompt was blocked, or empty.
        found: What the service's own tools found, by its names.
        usage: Token counts.
        model: The model that answered.
        id: The service's id of the answer.
        answered: Whether there was anything that an answer has.
    """

    parts: list[dict[str, Any]] = attrs.field(factory=list)
    finish: str = ""
    message: str = ""
    blocked: str = ""
    found: dict[str, Any] = attrs.field(factory=dict)
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    model: str = ""
    id: str | None = None
    answered: bool = False

    def take(self, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take a reply, or a chunk of one, and return the parts it brings."""
        new: list[dict[str, Any]] = []
        listed = objects_of(payload.get("candidates"))
        for candidate in listed[:1]:
            new = [part for part in objects_of(object_of(candidate.get("content")).get("parts")) if not _is_void(part)]
            self.finish = text_of(candidate.get("finishReason")) or self.finish
            self.message = text_of(candidate.get("finishMessage")) or self.message
            self.found |= {name: value for name in FOUND if (value := object_of(candidate.get(name)))}
        feedback = object_of(payload.get("promptFeedback"))
        self.blocked = text_of(feedback.get("blockReason")) or self.blocked
        self.message = text_of(feedback.get("blockReasonMessage")) or self.message
        self.usage = object_of(payload.get("usageMetadata")) or self.usage
        self.model = text_of(payload.get("modelVersion")) or self.model
        self.id = filled(payload.get("responseId")) or self.id
        self.answered = self.answered or bool(listed or self.blocked or payload.get("usageMetadata"))
        self.parts += new
        return new


def _is_void(part: Mapping[str, Any]) -> bool:
    """Whether a part is a call of nothing with nothing, which is none."""
    call = object_of(part.get("functionCall"))
    return "functionCall" in part and not call.get("name") and not call.get("args")


def answer(parts: Parts, request: CompletionRequest, provider: str) -> CompletionResponse:
    """
    Return the answer.

    Raises:
        ToolCallRejectedError: The model wrote a call that the service could not read.
        MissingToolCallError: A call was required and none came.
        MalformedReplyError: What the service wants back nests too deeply.
    """
    made = [object_of(part["functionCall"]) for part in parts.parts if "functionCall" in part]
    given = [(filled(call.get("id")), filled(call.get("name")), call.get("args")) for call in made]
    calls = tool_calls(given, request, cut=False)
    word = parts.finish or parts.blocked
    if word == "MALFORMED_FUNCTION_CALL" and not calls:
        raise _unreadable(parts.message, provider)
    reason = FINISH.get(word, FinishReason.OTHER) if word else FinishReason.STOP
    if parts.blocked and not parts.finish:
        reason = FinishReason.CONTENT_FILTER
    filtered = reason is FinishReason.CONTENT_FILTER
    if not filtered:
        demand_calls(calls, request, provider=provider, finish=word)
    thoughts = "".join(text_of(part.get("text")) for part in parts.parts if part.get("thought") is True)
    return CompletionResponse(
        content="".join(text_of(part.get("text")) for part in parts.parts if part.get("thought") is not True),
        model=valid_text(parts.model or request.model),
        provider=provider,
        usage=usage_of(parts.usage),
        finish_reason=FinishReason.TOOL_CALLS if calls else reason,
        finish_detail=valid_text(word) or None,
        tool_calls=calls or None,
        reasoning=thoughts or None,
        provider_state=_kept(parts, request, provider),
        refusal=(parts.message or f"the service blocked it: {word}") if filtered else None,
        id=None if parts.id is None else valid_text(parts.id),
    )


def _unreadable(message: str, provider: str) -> ToolCallRejectedError:
    said = f": {message[:SHOWN]}" if message else ""
    error = ToolCallRejectedError(
        f"the model wrote a tool call that the service cannot read{said}", provider=provider, retryable=True
    )
    error.failed_generation = message
    return error


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Return the token counts: thinking counts beside the answer, what the service's tools read beside the prompt."""
    prompt, tools = count_of(usage.get("promptTokenCount")), count_of(usage.get("toolUsePromptTokenCount"))
    written, thoughts = count_of(usage.get("candidatesTokenCount")), count_of(usage.get("thoughtsTokenCount"))
    return Usage(
        _sum(prompt, tools),
        _sum(written, thoughts),
        cached_tokens=count_of(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


def _kept(parts: Parts, request: CompletionRequest, provider: str) -> JSON:
    """Return the parts for the next turn, or None when the message says all of them by itself."""
    joined = list(_joined(parts.parts))
    order = ["functionCall" in part for part in joined]
    if all(_is_plain(part) for part in joined) and order == sorted(order) and not parts.found:
        return None
    state = {"model": writer_of(request.model, parts.model), "parts": joined, **parts.found}
    return kept(state, path="parts", provider=provider)


def _is_plain(part: Mapping[str, Any]) -> bool:
    if part.keys() == {"functionCall"}:
        return object_of(part["functionCall"]).keys() <= {"name", "args"}
    return part.keys() == {"text"}


def _joined(parts: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the parts with pieces of one text joined; a signed part is never joined to another."""
    open_: dict[str, Any] | None = None
    for part in parts:
        plain = part.keys() <= {"text", "thought"} and isinstance(part.get("text"), str)
        if plain and open_ is not None and open_.get("thought") == part.get("thought"):
            open_["text"] += part["text"]
            continue
        if open_ is not None and open_["text"]:
            yield open_
        open_ = dict(part) if plain else None
        if not plain:
            yield dict(part)
    if open_ is not None and open_["text"]:
        yield open_
