"""
Fits a conversation into a model's context window: oldest turns go first, the newest stays.

Nobody knows the tokens of a text but the model's own tokenizer, which is not at hand, so they are estimated from
UTF-8 bytes, and the estimate is corrected upwards by what the provider reports.  The constants are the
reference system's, found by measuring real conversations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import attrs

from nr_llm._json import encode
from nr_llm.messages import ChatMessage, Role
from nr_llm.specs import ToolSpec

PROSE_BYTES = 3.5
"""UTF-8 bytes of prose that make a token."""

DENSE_BYTES = 2.5
"""UTF-8 bytes of JSON, identifiers and tool results that make a token."""

MESSAGE_TOKENS = 8
"""Tokens a message costs beyond its text."""

CALL_TOKENS = 12
"""Tokens a tool call costs beyond its text."""

SAFETY = 0.03
"""Share of the window that is left free."""


@attrs.frozen(kw_only=True)
class ContextBudget:
    """
    How a window was shared out, in tokens.

    Attributes:
        context: The whole window.
        reserved: Kept for the answer.
        budget: Left for the request.
        transcript: The conversation as fitted.
        tools: The tools on offer.
        estimated: Both together.
        remaining: `budget` less `estimated`; negative when nothing more could be dropped.
        dropped: Messages left out.
    """

    context: int
    reserved: int
    budget: int
    transcript: int
    tools: int
    estimated: int
    remaining: int
    dropped: int


@attrs.frozen(kw_only=True)
class Window:
    """
    A model's context window.

    Attributes:
        context: Tokens it holds.
        reserved: Tokens kept for the answer.
    """

    context: int
    reserved: int

    @classmethod
    def of(cls, context: int, *, max_tokens: int | None, max_output: int | None) -> Window:
        """Return the window, reserving what the caller set, else what the model writes, else a share."""
        reserved = max_tokens or max_output or max(1000, math.ceil(context * 0.02))
        return cls(context=context, reserved=min(reserved, context // 2))

    def fit(
        self, messages: tuple[ChatMessage, ...], tools: Iterable[ToolSpec], *, calibration: float
    ) -> tuple[tuple[ChatMessage, ...], ContextBudget]:
        """
        Return the messages that fit, and how the window was shared out.

        All messages through the first user message stay, and so do the last user message, which is the question at
        hand, and the newest turn.  If even they do not fit, `remaining` is negative and nothing should be sent.
        """
        budget = self.context - self.reserved - math.ceil(self.context * SAFETY)
        tool_tokens = math.ceil(_tool_tokens(tools) * calibration)
        sizes = [math.ceil(estimate(message) * calibration) for message in messages]
        kept, left = _prune(messages, sizes, budget - tool_tokens)
        transcript = sum(size for size, keep in zip(sizes, kept, strict=True) if keep)
        fitted = messages if all(kept) else tuple(m for m, keep in zip(messages, kept, strict=True) if keep)
        return fitted, ContextBudget(
            context=self.context,
            reserved=self.reserved,
            budget=budget,
            transcript=transcript,
            tools=tool_tokens,
            estimated=transcript + tool_tokens,
            remaining=left,
            dropped=len(messages) - len(fitted),
        )


def _prune(messages: Sequence[ChatMessage], sizes: Sequence[int], room: int) -> tuple[list[bool], int]:
    kept = [True] * len(messages)
    left = room - sum(sizes)
    turns = _turns(messages)
    question = max((i for i, m in enumerate(messages) if m.role is Role.USER), default=-1)
    for start, end in turns[:-1]:
        if left >= 0:
            break
        for i in range(start, end):
            if i != question:
                kept[i] = False
                left += sizes[i]
    return kept, left


def _turns(messages: Sequence[ChatMessage]) -> list[tuple[int, int]]:
    """Return the droppable turns as index ranges: from one assistant message to the next."""
    first_user = next((i for i, m in enumerate(messages) if m.role is Role.USER), len(messages))
    starts = [i for i, m in enumerate(messages) if i > first_user and m.role is Role.ASSISTANT]
    return list(pairwise([*starts, len(messages)]))


def estimate(message: ChatMessage) -> int:
    """Return how many tokens `message` may cost, uncalibrated."""
    per_byte = DENSE_BYTES if message.role is Role.TOOL else PROSE_BYTES
    tokens = MESSAGE_TOKENS + math.ceil(len(message.content.encode()) / per_byte)
    for call in message.tool_calls or ():
        size = len(call.arguments_json.encode()) + len(call.name) + len(call.id)
        tokens += CALL_TOKENS + math.ceil(size / DENSE_BYTES)
    for text in message.reasoning.values():
        tokens += math.ceil(len(text.encode()) / PROSE_BYTES)
    return tokens


def estimated(messages: Iterable[ChatMessage], tools: Iterable[ToolSpec] = ()) -> int:
    """Return how many tokens a request may cost, uncalibrated."""
    return sum(map(estimate, messages)) + _tool_tokens(tools)


def _tool_tokens(tools: Iterable[ToolSpec]) -> int:
    return sum(math.ceil(len(encode(tool.to_wire()).encode()) / DENSE_BYTES) for tool in tools)


def calibrated(current: float, *, observed: int | None, estimated: float) -> float:
    """Return the factor for the next estimate: it only grows, towards what the provider reported."""
    if observed is None or estimated <= 0:
        return current
    return max(current, observed / (estimated / current))
