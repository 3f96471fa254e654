"""A reply becomes an answer, and what is no answer an error that shows what came instead."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import MalformedReplyError, MissingToolCallError, ServiceError
from nr_llm.messages import ChatMessage
from nr_llm.responses import FinishReason, Usage

from tests.plugins.ollama.replies import ADD, asked, call, called, payload, read
from tests.plugins.told import calls_of


def test_an_answer_says_who_gave_it() -> None:
    """Text, thinking, model, counts."""
    answer = read(payload("Hi", thinking="Hm."))

    assert (answer.content, answer.reasoning, answer.model, answer.provider) == ("Hi", "Hm.", "qwen3:8b", "test")
    assert (answer.usage, answer.tool_calls, answer.id) == (Usage(5, 3), None, None)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("load", FinishReason.OTHER),
        (None, FinishReason.STOP),
        ("", FinishReason.STOP),
        (5, FinishReason.STOP),
    ],
)
def test_each_word_for_the_end_has_a_meaning(word: Any, reason: FinishReason) -> None:
    """An unknown one is kept."""
    answer = read(payload("Hi", reason=word))

    assert answer.finish_reason is reason
    assert answer.finish_detail == (word if isinstance(word, str) and word else None)


@pytest.mark.parametrize(("missing", "usage"), [("prompt_eval_count", Usage(None, 3)), ("eval_count", Usage(5, None))])
def test_a_count_that_is_missing_is_unknown(missing: str, usage: Usage) -> None:
    """Not zero: what was cached is not counted."""
    body = payload("Hi")
    del body[missing]

    assert read(body).usage == usage


class TestCalls:
    def test_calls_decide_about_the_end(self) -> None:
        """The server says `stop`; it gives no ids."""
        answer = read(payload(tool_calls=[call({"a": 1}), call({"a": 2}, "mul")]))

        assert answer.finish_reason is FinishReason.TOOL_CALLS
        assert calls_of(answer) == [("call_0", "add", {"a": 1}, None), ("call_1", "mul", {"a": 2}, None)]

    def test_ids_are_unique_over_all_rounds(self) -> None:
        """A result answers one call."""
        request = asked(ChatMessage.user("Hi"), called(("call_0", "add")), ChatMessage.tool_result("call_0", "2"))

        assert [found[0] for found in calls_of(read(payload(tool_calls=[call()] * 2), request))] == ["call_1", "call_2"]

    def test_an_id_that_is_given_is_kept(self) -> None:
        """Newer servers have some."""
        assert calls_of(read(payload(tool_calls=[call(id="call_x")])))[0][0] == "call_x"

    @pytest.mark.parametrize(
        ("given", "arguments", "malformed"),
        [
            ({"a": {}}, {"a": {}}, None),
            ('{"a": 1}', {"a": 1}, None),
            ("", {}, None),
            ("{", {}, "{"),
            ([1], {}, "[1]"),
        ],
    )
    def test_arguments_of_another_kind(self, given: Any, arguments: dict[str, Any], malformed: str | None) -> None:
        """Objects, texts; what is neither is marked and never run."""
        assert calls_of(read(payload(tool_calls=[call(given)]))) == [("call_0", "add", arguments, malformed)]

    def test_a_call_that_was_cut_off_ends_for_its_length(self) -> None:
        """It is never run."""
        answer = read(payload(reason="length", tool_calls=[call('{"a": ')]))

        assert answer.finish_reason is FinishReason.LENGTH

    @pytest.mark.parametrize("calls", [None, [], 5, [5], [{}], [{"function": None}], [{"function": {"arguments": {}}}]])
    def test_what_is_no_call_is_none(self, calls: Any) -> None:
        """No form of nothing raises."""
        assert read(payload("Hi", tool_calls=calls)).tool_calls is None

    def test_a_call_without_a_name_is_not_run(self) -> None:
        """It is answered with an error."""
        [(_, name, _, malformed)] = calls_of(read(payload(tool_calls=[call({"a": 1}, None)])))

        assert (name, malformed) == ("unnamed_tool", '{"a":1}')

    def test_a_call_that_was_demanded_and_did_not_come_is_an_error(self) -> None:
        """The server cannot be made to call."""
        with pytest.raises(MissingToolCallError):
            read(payload("No."), asked(tools=(ADD,), tool_choice="required"))


class TestNoAnswer:
    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b"{", b"[]", b"5", b"{}", b'{"message": null}', b'{"done": true}']
    )
    def test_what_is_no_answer_is_an_error(self, body: bytes) -> None:
        """It shows what came instead."""
        with pytest.raises(MalformedReplyError):
            read(body)

    def test_an_error_inside_a_good_reply_is_raised(self) -> None:
        """Never an empty success."""
        with pytest.raises(ServiceError, match="runner has unexpectedly stopped"):
            read({"error": "llama runner has unexpectedly stopped"})

    def test_odd_values_are_passed_over(self) -> None:
        """None of them breaks the reader."""
        answer = read(payload(5, thinking=7) | {"model": None})

        assert (answer.content, answer.reasoning, answer.model) == ("", None, "qwen3")
