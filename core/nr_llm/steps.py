"""One step of a run, as the trace, the live stream and the store see it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter
from typing import Any

import attrs

from nr_llm._json import JSON, copy_object
from nr_llm._shown import shown
from nr_llm.artifacts import ToolArtifact
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.options import member
from nr_llm.previews import CallPreview


class StepKind(StrEnum):
    """What happened in a step."""

    CONTEXT = "context"
    REQUEST = "request"
    LLM = "llm"
    TOOL = "tool"
    ASSEMBLED = "assembled"
    APPROVAL = "approval"
    INPUT = "input"
    POLICY = "policy"


def _kind(value: StepKind | str) -> StepKind:
    return member(StepKind, value, path="kind")


def _two_places(number: float) -> float:
    return round(number, 2)


@attrs.frozen(kw_only=True, repr=False)
class RunStep:
    """
    A step; None means that a field does not apply, and leaves it out of `to_dict`.

    Attributes:
        kind: What happened.
        round: The round it belongs to, counted from 1.
        duration_ms: How long it took, in milliseconds.
        messages_sent: The conversation as sent.
        tool_specs: Names of the tools on offer.
        content: What the model wrote.
        reasoning: What it thought.
        finish_reason: Why it stopped.
        finish_detail: The service's own word for it, where it has one.
        input_tokens: Tokens read, if reported.
        output_tokens: Tokens written, if reported.
        total_tokens: Both together, if reported.
        cached_tokens: The part of the input that came from the service's cache, if reported.
        cache_write_tokens: The part of it that was written there, if reported.
        reasoning_tokens: The part of the output that was reasoning, if reported.
        cost: What they cost, if known.
        attempts: Model calls it took.
        requested_tool_calls: Calls it asked for, or a person has to approve.
        decided_by: Who decided about calls.
        decisions: What they said, a mapping for each call: `index`, `tool`, `approved`, `edited` and its `digest`.
        edited_arguments: The arguments they decided on instead of the model's, a mapping for each call: `index` and
            `arguments`.
        policy: What the policy closed, or let through above a ceiling, a mapping for each tool: `tool`, `allowed`,
            `reason`, `data_class`, `observed`, and `zone` and `ceiling` where a provider reads.
        raw: The service's own reply, when captured.
        tool_name: The tool called.
        tool_call_id: The call.
        tool_arguments: Its arguments.
        tool_result: What the model gets to read.
        tool_is_error: Whether the call failed.
        tool_executed: Whether the tool ran, as against a refusal.
        tool_artifacts: What people get to see; None when there is none.
        context_budget: How the window was shared out, in tokens.
        previews: What calls that wait for a person would do, as far as their tools say so.
    """

    __hash__ = None  # type: ignore[assignment]  # holds messages
    __repr__ = shown

    kind: StepKind = attrs.field(converter=_kind)
    round: int
    duration_ms: float = attrs.field(default=0.0, converter=_two_places, eq=False)
    messages_sent: tuple[ChatMessage, ...] | None = None
    tool_specs: tuple[str, ...] | None = None
    content: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    finish_detail: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Decimal | None = None
    attempts: int | None = None
    requested_tool_calls: tuple[ToolCall, ...] | None = None
    decided_by: str | None = None
    decisions: tuple[Mapping[str, JSON], ...] | None = None
    edited_arguments: tuple[Mapping[str, JSON], ...] | None = None
    policy: tuple[Mapping[str, JSON], ...] | None = None
    raw: JSON = attrs.field(default=None, eq=False)
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_arguments: Mapping[str, JSON] | None = None
    tool_result: str | None = None
    tool_is_error: bool | None = None
    tool_executed: bool | None = None
    tool_artifacts: tuple[ToolArtifact, ...] | None = attrs.field(default=None, eq=False)
    context_budget: Mapping[str, int] | None = None
    previews: tuple[CallPreview, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON, artifacts and all: unfiltered, for the host's own eyes."""
        return {name: plain(value) for name, value in self.given()}

    def given(self) -> list[tuple[str, Any]]:
        """Return name and value of each field that applies."""
        return [(name, value) for name, value in zip(_NAMES, _VALUES(self), strict=True) if value is not None]


_NAMES = tuple(field.name for field in attrs.fields(RunStep))
_VALUES = attrgetter(*_NAMES)
_PLAIN = frozenset({bool, int, float, str})


def plain(value: Any) -> Any:
    """Return a field's value as JSON."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, ChatMessage):
        return value.to_wire()
    if isinstance(value, ToolCall):
        call = {"id": value.id, "name": value.name, "arguments": copy_object(value.arguments)}
        return call if value.malformed is None else {**call, "malformed": value.malformed}
    if isinstance(value, ToolArtifact):
        return value.to_dict()
    if isinstance(value, CallPreview):
        return {**attrs.asdict(value), "lines": list(value.lines)}
    return str(value) if isinstance(value, (StepKind, Decimal)) else value
