"""A reply becomes an answer, and what is no answer an error that shows what came instead."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import MalformedReplyError, MissingToolCallError, ServiceError
from nr_llm.messages import ChatMessage
from nr_llm.responses import FinishReason, Usage

from tests.plugins.anthropic.replies import ADD, SIGNED, asked, called, payload, read, text, turns_of, use
from tests.plugins.told import calls_of


def test_an_answer_says_who_gave_it() -> None:
    """Text, model, id, counts; a plain one has no state."""
    answer = read(payload(text("Hel"), text("lo")))

    assert (answer.content, answer.model, answer.provider, answer.id) == ("Hello", "claude-x-1", "test", "msg_1")
    assert answer.usage == Usage(5, 3)
    assert (answer.finish_reason, answer.finish_detail) == (FinishReason.STOP, "end_turn")
    assert answer.provider_state is None


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("refusal", FinishReason.CONTENT_FILTER),
        ("pause_turn", FinishReason.PAUSE),
        ("compaction", FinishReason.OTHER),
        (None, FinishReason.STOP),
        (5, FinishReason.STOP),
    ],
)
def test_each_word_for_the_end_has_a_meaning(word: Any, reason: FinishReason) -> None:
    """An unknown one is kept."""
    answer = read(payload(text("Hi"), stop=word))

    assert answer.finish_reason is reason
    assert answer.finish_detail == (word if isinstance(word, str) else None)


@pytest.mark.parametrize("word", ["tool_use", "end_turn", None])
def test_calls_decide_about_the_end(word: Any) -> None:
    """Whatever the service calls it."""
    answer = read(payload(text("So"), use({"a": 1}), stop=word))

    assert answer.finish_reason is FinishReason.TOOL_CALLS
    assert calls_of(answer) == [("toolu_1", "add", {"a": 1}, None)]


class TestCalls:
    def test_parallel_calls_keep_their_order(self) -> None:
        """And their ids."""
        answer = read(payload(use({"a": 1}, call_id="x"), text("and"), use({"a": 2}, call_id="y"), stop="tool_use"))

        assert [call[::2] for call in calls_of(answer)] == [("x", {"a": 1}), ("y", {"a": 2})]

    @pytest.mark.parametrize("given", ["missing", None, ""])
    def test_an_id_that_is_missing_is_made(self, given: Any) -> None:
        """No other call of the conversation has it."""
        block = use({"a": 1}, call_id=given)
        if given == "missing":
            del block["id"]
        request = asked(ChatMessage.user("Hi"), called("call_0"), ChatMessage.tool_result("call_0", "2"))

        assert calls_of(read(payload(block), request)) == [("call_1", "add", {"a": 1}, None)]

    def test_a_name_that_is_missing_is_no_call_to_run(self) -> None:
        """It is answered with an error."""
        [(_, name, _, malformed)] = calls_of(read(payload(use({"a": 1}, name=None))))

        assert (name, malformed) == ("unnamed_tool", '{"a":1}')

    @pytest.mark.parametrize(
        ("given", "arguments", "malformed"),
        [(None, {}, None), ('{"a": 1}', {"a": 1}, None), ([], {}, "[]"), ("", {}, None)],
    )
    def test_an_input_of_another_kind(self, given: Any, arguments: dict[str, Any], malformed: str | None) -> None:
        """Gateways send texts; a list is no arguments."""
        assert calls_of(read(payload(use() | {"input": given}))) == [("toolu_1", "add", arguments, malformed)]

    @pytest.mark.lesson(144)
    @pytest.mark.parametrize(
        ("blocks", "malformed", "reason"),
        [
            ([use()], "null", FinishReason.LENGTH),
            ([use({"a": 1})], None, FinishReason.TOOL_CALLS),
            ([use(), text("x")], None, FinishReason.TOOL_CALLS),
        ],
    )
    def test_a_call_cut_before_its_input_does_not_run_without_it(
        self, blocks: list[Any], malformed: str | None, reason: FinishReason
    ) -> None:
        """Only the last block can have been cut."""
        answer = read(payload(*blocks, stop="max_tokens"))

        assert [call[3] for call in calls_of(answer)] == [malformed]
        assert answer.finish_reason is reason

    def test_a_call_that_was_demanded_and_did_not_come(self) -> None:
        """Is an error, but where the model declined or goes on."""
        request = asked(tools=(ADD,), tool_choice="required")

        with pytest.raises(MissingToolCallError):
            read(payload(text("No.")), request)
        assert read(payload(stop="refusal"), request).refusal
        assert read(payload(text("I look."), stop="pause_turn"), request).finish_reason is FinishReason.PAUSE


class TestThinking:
    def test_thinking_is_no_content(self) -> None:
        """It has a place of its own, and comes back with its signature."""
        blocks = [SIGNED, {"type": "redacted_thinking", "data": "x"}, text("Hi")]
        answer = read(payload(*blocks))

        assert (answer.content, answer.reasoning) == ("Hi", "Hm.")
        assert answer.provider_state == {"model": "claude-sonnet-4-5", "content": blocks}

    @pytest.mark.lesson(26)
    @pytest.mark.parametrize(
        "block",
        [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]},
            {"type": "mcp_tool_use", "id": "m", "name": "x", "input": {}, "server_name": "y"},
            {"type": "unheard_of", "deep": {"x": [None, 1]}},
            text("Hi") | {"citations": [{"type": "page_location"}]},
            {"no": "type"},
        ],
    )
    def test_blocks_of_the_service_s_own_come_back(self, block: dict[str, Any]) -> None:
        """They are no calls of ours, and never an error."""
        answer = read(payload(block, text("So")))

        assert answer.tool_calls is None
        assert turns_of(ChatMessage.user("?"), answer.to_message())[1]["content"] == [block, text("So")]

    def test_blocks_that_nest_too_deeply_are_refused(self) -> None:
        """They could not be kept."""
        deep: Any = 1
        for _ in range(150):
            deep = [deep]

        with pytest.raises(MalformedReplyError, match="cannot be kept"):
            read(payload({"type": "odd", "deep": deep}))


class TestRefusal:
    @pytest.mark.parametrize(
        ("blocks", "details", "refusal"),
        [
            ([], {"stop_details": {"type": "refusal", "explanation": "Not that."}}, "Not that."),
            ([text("I will not.")], {"stop_details": None}, "I will not."),
            ([], {}, "the model declined to answer"),
        ],
    )
    def test_a_refusal_is_never_an_empty_success(
        self, blocks: list[Any], details: dict[str, Any], refusal: str
    ) -> None:
        """It says why, as far as the service does."""
        answer = read(payload(*blocks, stop="refusal", **details))

        assert (answer.refusal, answer.finish_reason) == (refusal, FinishReason.CONTENT_FILTER)


class TestUsage:
    def test_cached_input_counts_as_input(self) -> None:
        """The service counts it beside the rest."""
        usage = {
            "input_tokens": 5, "output_tokens": 9, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 4},
        }  # fmt: skip

        assert read(payload(text("Hi"), usage=usage)).usage == Usage(
            125, 9, cached_tokens=100, cache_write_tokens=20, reasoning_tokens=4
        )

    @pytest.mark.parametrize("usage", [None, {}, 5, {"input_tokens": None, "output_tokens": "x"}])
    def test_a_count_that_is_missing_is_unknown(self, usage: Any) -> None:
        """Not zero."""
        assert read(payload(text("Hi"), usage=usage)).usage == Usage(None, None)


class TestNoAnswer:
    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b"{", b"[]", b"5", b"{}", b'{"content": null}', b'{"content": "Hi"}']
    )
    def test_what_is_no_answer_is_an_error(self, body: bytes) -> None:
        """It shows what came instead."""
        with pytest.raises(MalformedReplyError):
            read(body)

    def test_an_error_inside_a_good_reply_is_raised(self) -> None:
        """Never an empty success."""
        with pytest.raises(ServiceError, match="Overloaded"):
            read({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})

    def test_odd_blocks_are_passed_over(self) -> None:
        """No value in them breaks the reader."""
        answer = read(payload(None, 5, "x", {"type": "text", "text": 5}, {"type": 5}, text("Hi"), model=None, id=7))

        assert (answer.content, answer.model, answer.id) == ("Hi", "claude-sonnet-4-5", None)
