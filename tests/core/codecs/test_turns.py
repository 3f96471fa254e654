"""Results of a turn are one piece of a request; everything else is a piece by itself."""

from __future__ import annotations

from nr_llm.codecs.turns import spans
from nr_llm.messages import ChatMessage, ToolCall

TURN = ChatMessage.assistant_tool_calls([ToolCall("a", "f"), ToolCall("b", "f")])
RESULTS = (ChatMessage.tool_result("a", "1"), ChatMessage.tool_result("b", "2"))
MESSAGES = (ChatMessage.user("x"), TURN, *RESULTS, ChatMessage.assistant("y"))


def test_results_stand_together() -> None:
    """Each piece with its end; closed, since something follows them."""
    assert list(spans(MESSAGES, 0)) == [(0, 1, True), (1, 2, True), (2, 4, True), (4, 5, True)]
    assert list(spans(MESSAGES, 2)) == [(2, 4, True), (4, 5, True)]
    assert list(spans(MESSAGES, 5)) == []


def test_results_at_the_end_stay_open() -> None:
    """Others may join them."""
    assert list(spans(MESSAGES[:3], 1)) == [(1, 2, True), (2, 3, False)]
    assert list(spans(MESSAGES[:4], 2)) == [(2, 4, False)]
