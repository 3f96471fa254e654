"""What a model answers: content or calls, why it stopped, what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Any

import attrs

from nr_llm._json import JSON, valid_text
from nr_llm._shown import shown
from nr_llm.errors import InvalidValueError
from nr_llm.messages import ChatMessage, Role, ToolCall
from nr_llm.options import member
from nr_llm.prices import Price


class FinishReason(StrEnum):
    """Why the model stopped; a provider's unknown word is `OTHER`, kept in `CompletionResponse.finish_detail`."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    PAUSE = "pause"
    ERROR = "error"
    OTHER = "other"


MOST_TOKENS = 2**63
"""Tokens nobody reads or writes: what stores keep as a number is smaller."""


def _count(value: int | None) -> int | None:
    given: Any = value
    if given is None:
        return None
    known = isinstance(given, float) and math.isfinite(given)
    if not known and (isinstance(given, bool) or not isinstance(given, int)):
        raise InvalidValueError(f"{given!r} is no number of tokens; None means not reported", path="usage")
    if abs(given) >= MOST_TOKENS:
        raise InvalidValueError("a number of tokens beyond every count; None means not reported", path="usage")
    return max(0, int(given))


@attrs.frozen(repr=False)
class Usage:
    """
    Tokens of one call, or of many added up; None means not reported, which is not 0.

    Attributes:
        input_tokens: All tokens read, cached ones included.
        output_tokens: All tokens written, reasoning included.
        cached_tokens: The part of the input that came from the provider's cache.
        cache_write_tokens: The part of the input that was written to it.
        reasoning_tokens: The part of the output that was reasoning.
    """

    __repr__ = shown

    input_tokens: int | None = attrs.field(default=None, converter=_count)
    output_tokens: int | None = attrs.field(default=None, converter=_count)
    cached_tokens: int | None = attrs.field(default=None, converter=_count, kw_only=True)
    cache_write_tokens: int | None = attrs.field(default=None, converter=_count, kw_only=True)
    reasoning_tokens: int | None = attrs.field(default=None, converter=_count, kw_only=True)

    @property
    def total_tokens(self) -> int | None:
        """Input and output together, or None when neither is known."""
        return _sum(self.input_tokens, self.output_tokens)

    def cost(self, price: Price | None) -> Decimal | None:
        """Return what these tokens of one call cost; None where they, or their price, are not known."""
        return None if price is None else price.of(self)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            cached_tokens=_sum(self.cached_tokens, other.cached_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
        )

    def to_dict(self) -> dict[str, JSON]:
        """Return the counts that are known."""
        counts = {field.name: getattr(self, field.name) for field in attrs.fields(Usage)}
        counts["total_tokens"] = self.total_tokens
        return {name: count for name, count in counts.items() if count is not None}


def _sum(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else min(a + b, MOST_TOKENS - 1)  # whoever reports nonsense must not break every sum of it


def _tool_calls(value: Iterable[ToolCall] | None) -> tuple[ToolCall, ...] | None:
    calls: tuple[Any, ...] = () if value is None else tuple(value)
    for i, call in enumerate(calls):
        if not isinstance(call, ToolCall):
            raise InvalidValueError(f"must be a ToolCall, not a {type(call).__name__}", path=f"tool_calls[{i}]")
    return calls or None


def _content(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(f"must be a string, not a {type(value).__name__}", path="content")
    return valid_text(value)


def _finish_reason(value: FinishReason | str) -> FinishReason:
    return member(FinishReason, value, path="finish_reason")


def _usage(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Usage):
        raise InvalidValueError(f"must be Usage, not {type(value).__name__}", path=field.name)


def _optional_text(value: str | None) -> str | None:
    return None if value is None else valid_text(value)


@attrs.frozen(kw_only=True, repr=False)
class CompletionResponse:
    """
    One answer of a model, in one shape for every provider.

    Attributes:
        content: The text; empty when there is none.
        model: The model that answered, as the service names it.
        provider: Name of the provider.
        usage: Tokens of the call that gave this answer.
        finish_reason: Why the model stopped; `tool_calls` decides whether tools are wanted, not this.
        finish_detail: The provider's own word for it.
        tool_calls: The calls, or None when there are none.
        reasoning: Thinking as text, or None.
        provider_state: Opaque blocks the provider wants back on the next turn.
        refusal: What the model said instead of answering, when it refused.
        id: The service's id of the answer.
        attempts: How many calls it took.
        spent: Tokens of all attempts together, or None when there was one.
        elapsed: Seconds the call took, as the performer measured it.
        raw: The decoded reply, when it was asked for.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON
    __repr__ = shown

    content: str = attrs.field(default="", converter=_content)
    model: str = ""
    provider: str = ""
    usage: Usage = attrs.field(factory=Usage, validator=_usage)
    finish_reason: FinishReason = attrs.field(default=FinishReason.STOP, converter=_finish_reason)
    finish_detail: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = attrs.field(default=None, converter=_tool_calls)
    reasoning: str | None = attrs.field(default=None, converter=_optional_text)
    provider_state: JSON = None
    refusal: str | None = attrs.field(default=None, converter=_optional_text)
    id: str | None = None
    attempts: int = 1
    spent: Usage | None = None
    elapsed: float = attrs.field(default=0.0, eq=False)
    raw: JSON = attrs.field(default=None, repr=False, eq=False)

    @property
    def total_usage(self) -> Usage:
        """Tokens to charge for: those of all attempts."""
        return self.usage if self.spent is None else self.spent

    def to_message(self, *, content: str | None = None, tool_calls: tuple[ToolCall, ...] | None = None) -> ChatMessage:
        """
        Return the assistant turn to append to the conversation.

        Args:
            content: A text to use instead of the reply's.
            tool_calls: Calls to use instead of the reply's; ``()`` for none.
        """
        calls = self.tool_calls if tool_calls is None else tool_calls
        return ChatMessage(
            Role.ASSISTANT,
            self.content if content is None else content,
            tool_calls=calls or None,
            reasoning={self.provider: self.reasoning} if self.reasoning else {},
            provider_state={} if self.provider_state is None else {self.provider: self.provider_state},
        )
