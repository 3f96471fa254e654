"""Parts of calls, as services send them, to calls that may run: one id each, unfit ones marked, names as offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import attrs

from nr_llm._json import JSON, encode
from nr_llm._wire import read_arguments
from nr_llm.codecs.names import own_name
from nr_llm.errors import InvalidRequestError, MissingToolCallError
from nr_llm.messages import ToolCall
from nr_llm.requests import CompletionRequest

CallParts: TypeAlias = tuple[str | None, str | None, JSON]
"""Id, name and arguments of a call as the service sent them; None where it did not."""

WORDS = (None, "auto", "none")
"""Choices of tools that demand no call."""

UNNAMED = "unnamed_tool"
"""Name of a call that came with arguments and no name: it is answered with an error, never run, never null."""


def tool_calls(parts: Sequence[CallParts], request: CompletionRequest, *, cut: bool) -> tuple[ToolCall, ...]:
    """
    Make calls of their parts, in the terms of the request.

    Names become those on offer, and nulls that only a strict schema asked for are left out.  An id that is missing
    or taken becomes ``call_<number>``, one that no call of the conversation has, so that the same reply always
    gives the same calls.

    Args:
        parts: (id, name, arguments) of each call; arguments are an object, or JSON text, or None.
        request: What was asked.
        cut: Whether the answer was cut off, for its length or by a filter: a last call without arguments had none yet.
    """
    ids = _ids([call_id for call_id, _, _ in parts], request)
    last = len(parts) - 1
    calls = [
        _call(call_id, name, given, begun=cut and i == last)
        for i, (call_id, (_, name, given)) in enumerate(zip(ids, parts, strict=True))
    ]
    return tuple([_as_offered(call, request) for call in calls])


def declaring(request: CompletionRequest) -> CompletionRequest:
    """Return a request as a form says it that can forbid calls: tools that are withheld are declared, to call none."""
    if request.tools or not request.withheld:
        return request
    options = attrs.evolve(request.options, tool_choice="none", parallel_tool_calls=None)
    return attrs.evolve(request, tools=request.withheld, withheld=(), options=options)


def check_choice(request: CompletionRequest, *, provider: str) -> None:
    """
    Check that the tool a request wants called is on offer.

    Raises:
        InvalidRequestError: `tool_choice` names another one.
    """
    wanted = request.options.tool_choice
    if wanted not in (*WORDS, "required") and all(tool.name != wanted for tool in request.tools):
        raise InvalidRequestError(f"tool_choice names {wanted!r}, a tool that is not offered", provider=provider)


def demand_calls(calls: Sequence[ToolCall], request: CompletionRequest, *, provider: str, finish: object) -> None:
    """
    Check that a call came where the request is demanding and forces one.

    Raises:
        MissingToolCallError: None came.
    """
    wanted = request.options.tool_choice
    if not calls and request.tools and request.demanding and wanted not in WORDS:
        raise MissingToolCallError(
            f"tool_choice was {wanted!r} and the model called no tool (it stopped with {finish!r})", provider=provider
        )


def _ids(given: Sequence[str | None], request: CompletionRequest) -> list[str]:
    if None not in given and len(set(given)) == len(given):
        return [call_id for call_id in given if call_id is not None]
    taken = {call.id for message in request.messages for call in message.tool_calls or ()}
    ids: dict[str, None] = {}
    number = 0
    for i, call_id in enumerate(given):
        number = max(number, i)
        while call_id is None or call_id in ids:
            call_id = f"call_{number}"
            number += 1
            if call_id in given or call_id in taken:
                call_id = None
        ids[call_id] = None
    return list(ids)


def _call(call_id: str, name: str | None, given: JSON, *, begun: bool) -> ToolCall:
    """Return a call; one that must not run although its arguments can be read is marked."""
    arguments, malformed = read_arguments(given)
    lacking = begun and not isinstance(given, Mapping) and (not isinstance(given, str) or not given.strip())
    if malformed is None and (name is None or lacking):
        arguments, malformed = {}, given if isinstance(given, str) else encode(given)
    return ToolCall(call_id, name or UNNAMED, arguments, malformed)


def _as_offered(call: ToolCall, request: CompletionRequest) -> ToolCall:
    spec = next((tool for tool in request.tools if tool.name == call.name), None)
    if spec is None:
        return attrs.evolve(call, name=own_name(call.name, request.messages))
    if not spec.strict or call.malformed is not None:
        return call
    from nr_llm._schema import drop_strict_nulls

    return attrs.evolve(call, arguments=drop_strict_nulls(call.arguments, spec.parameters))
