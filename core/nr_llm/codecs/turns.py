"""Turns as services want them: the results of one together where they have to be, its calls told from all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from nr_llm.codecs.names import digest
from nr_llm.messages import ChatMessage, Role


def spans(messages: Sequence[ChatMessage], start: int) -> Iterator[tuple[int, int, bool]]:
    """
    Yield where each piece begins and ends, and whether it is closed: see `Segment`.

    A message is a piece by itself, but neighbouring results are one.  Results at the end stay open, since more may
    follow.

    Args:
        messages: The conversation.
        start: Where to begin; not in the middle of results.
    """
    while start < len(messages):
        end, results = start + 1, messages[start].role is Role.TOOL
        while results and end < len(messages) and messages[end].role is Role.TOOL:
            end += 1
        yield start, end, not results or end < len(messages)
        start = end


def distinct(messages: Sequence[ChatMessage], start: int) -> Sequence[ChatMessage]:
    """
    Return the messages with calls from `start` on, and their results, under ids that no earlier call has.

    Some services number the calls of each turn anew, and others refuse a conversation in which an id comes twice.
    The id that a repeated one becomes depends on what precedes it alone, so later messages never change it.

    Args:
        messages: The conversation, whose calls and results match.
        start: Index of the first message that is to be encoded; it may be a result.
    """
    first = start
    while first and messages[first - 1].role is Role.TOOL:
        first -= 1
    first = max(first - 1, 0)  # the results at `start` are of these calls
    new = [call.id for message in messages[first:] for call in message.tool_calls or ()]
    fresh = set(new)
    earlier = [call.id for message in messages[:first] if message.tool_calls for call in message.tool_calls]
    taken = fresh.intersection(earlier)
    if not taken and len(fresh) == len(new):
        return messages
    return [*messages[:first], *_renamed(messages, first, taken)]


def _renamed(messages: Sequence[ChatMessage], first: int, taken: set[str]) -> Iterator[ChatMessage]:
    names: Mapping[str, str] = {}
    for i, message in enumerate(messages[first:], first):
        if message.tool_calls:
            ids = {call.id for call in message.tool_calls}
            names = {call_id: f"call_{digest(f'{i} {call_id}')[:24]}" for call_id in ids & taken}
            taken = taken | ids
            calls = tuple(attrs.evolve(call, id=names.get(call.id, call.id)) for call in message.tool_calls)
            yield attrs.evolve(message, tool_calls=calls) if names else message
        else:
            name = names.get(message.tool_call_id or "")
            yield message if name is None else attrs.evolve(message, tool_call_id=name)
