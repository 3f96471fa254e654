"""Which messages become one piece of a request, where a service wants the results of a turn together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
