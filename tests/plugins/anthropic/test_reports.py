"""
Public fault reports that concern a Messages client, each met as a correct client meets it.

The numbers are those of the collection of reports in the reference on wire formats, its section 10.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.cancellation import Cancellation
from nr_llm.errors import InvalidRequestError, InvalidValueError, RateLimitError, ServiceError, StreamInterruptedError
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason, Usage
from nr_llm.runs import RunResult
from nr_llm.specs import ToolSpec
from nr_llm.testing import Harness, calling
from nr_llm.tools import tool

from tests.plugins.anthropic.replies import (
    ADD,
    CODEC,
    SIGNED,
    START,
    asked,
    block,
    body_of,
    called,
    end,
    event,
    payload,
    read,
    said,
    streamed,
    text,
    turns_of,
    use,
    written,
)
from tests.plugins.told import calls_of

USER = ChatMessage.user("Hello")
RESULT = ChatMessage.tool_result("toolu_1", "2")


def report(*numbers: int) -> str:
    """Return the id of a test parameter: the reports it meets."""
    return "report-" + "-".join(map(str, numbers))


class TestArguments:
    """Sections A to D."""

    @pytest.mark.parametrize("pieces", [pytest.param((), id=report(3)), pytest.param(("",), id=report(5, 75, 79))])
    def test_no_input_is_an_empty_object(self, pieces: tuple[str, ...]) -> None:
        """In the answer, and in the next request."""
        answer = streamed(START + written(*pieces) + end("tool_use"))

        assert calls_of(answer) == [("toolu_1", "add", {}, None)]
        assert turns_of(USER, answer.to_message(), RESULT)[1]["content"] == [use()]

    @pytest.mark.parametrize("number", [14, 15, 16], ids=report)
    def test_an_empty_object_stays_one(self, number: int) -> None:
        """At every depth of every hop, also through a file."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "f", {"a": {}, "b": []})])
        tool = ToolSpec("f", "", {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}})
        sent = CODEC.encode(asked(USER, turn, ChatMessage.tool_result("c", "2"), tools=(tool,))).body

        assert b'"input":{"a":{},"b":[]}' in sent
        assert b'"properties":{"a":{"type":"object","properties":{}}}' in sent

    @pytest.mark.parametrize("number", [18, 21], ids=report)
    def test_a_tool_without_parameters_has_an_empty_object(self, number: int) -> None:
        """Its schema is complete."""
        [tool] = body_of(asked(tools=(ToolSpec("now", "", {}),)))["tools"]

        assert tool["input_schema"] == {"type": "object", "properties": {}}

    @pytest.mark.parametrize("number", [75, 76, 77], ids=report)
    def test_pieces_are_read_when_they_are_whole(self, number: int) -> None:
        """And it is the object that is kept and goes back, never the pieces."""
        answer = streamed(START + THINKS + written('{"a', '": ', "1}", index=1) + end("tool_use"))

        assert calls_of(answer) == [("toolu_1", "add", {"a": 1}, None)]
        assert turns_of(USER, answer.to_message(), RESULT)[1]["content"] == [SIGNED, use({"a": 1})]

    @pytest.mark.parametrize("number", [78], ids=report)
    def test_interleaved_blocks_do_not_mix(self, number: int) -> None:
        """Each piece goes to its number."""
        begun = [event("content_block_start", index=i, content_block=use(call_id=f"c{i}")) for i in (0, 1)]
        pieces = [
            event("content_block_delta", index=i, delta={"type": "input_json_delta", "partial_json": piece})
            for i, piece in ((0, '{"a":'), (1, '{"a":'), (0, "0}"), (1, "1}"))
        ]

        assert [call[2] for call in calls_of(streamed(START, *begun, *pieces, end("tool_use")))] == [{"a": 0}, {"a": 1}]

    @pytest.mark.parametrize("number", [33, 34, 35, 37, 38], ids=report)
    def test_a_cut_call_is_marked(self, number: int) -> None:
        """Never repaired, never run."""
        answer = streamed(START + written('{"path": "a", "te') + end("max_tokens"))

        assert calls_of(answer) == [("toolu_1", "add", {}, '{"path": "a", "te')]
        assert answer.finish_reason is FinishReason.LENGTH


THINKS = block(0, SIGNED | {"signature": ""}, {"type": "signature_delta", "signature": SIGNED["signature"]})


class TestIds:
    """Section E."""

    @pytest.mark.parametrize("number", [48, 51, 52], ids=report)
    def test_ids_that_repeat_in_a_reply_are_told_apart(self, number: int) -> None:
        """Each call has its own result."""
        answer = read(payload(use({"a": 1}), use({"a": 2}), stop="tool_use"))

        ids = [call[0] for call in calls_of(answer)]
        assert len(set(ids)) == 2
        turns = turns_of(USER, answer.to_message(), *(ChatMessage.tool_result(call_id, "2") for call_id in ids))
        assert [sent["id"] for sent in turns[1]["content"]] == ids

    @pytest.mark.parametrize(
        "call_id", [pytest.param("files.read", id=report(49)), pytest.param("fc/1:a", id=report(42))]
    )
    def test_ids_of_other_services_are_made_fit(self, call_id: str) -> None:
        """In call and result alike."""
        [_, turn, results] = turns_of(USER, called(call_id), ChatMessage.tool_result(call_id, "2"))

        assert turn["content"][0]["id"] == results["content"][0]["tool_use_id"]
        assert turn["content"][0]["id"].replace("_", "").isalnum()


class TestTurns:
    """Sections H, J and K."""

    @pytest.mark.parametrize("content", [pytest.param("", id=report(91)), pytest.param(" \n", id=report(109, 110))])
    def test_no_block_of_text_is_blank(self, content: str) -> None:
        """A call's turn has the call alone."""
        assert turns_of(USER, called("c", content=content), ChatMessage.tool_result("c", "2"))[1]["content"] == [
            use({"a": 1}, call_id="c")
        ]

    @pytest.mark.parametrize("number", [105, 106, 107], ids=report)
    def test_a_call_without_a_result_is_refused_at_home(self, number: int) -> None:
        """With the place."""
        with pytest.raises(InvalidValueError, match="have no result"):
            CODEC.encode(asked(USER, called("c"), ChatMessage.user("And?")))

    @pytest.mark.parametrize("number", [105, 106, 107], ids=report)
    def test_a_run_that_was_stopped_leaves_no_call_without_a_result(self, number: int) -> None:
        """So its conversation can be gone on with."""
        cancel = Cancellation()

        @tool
        def add(a: int) -> str:
            """Tell the run to stop."""
            cancel.cancel("enough")
            return str(a)

        with Harness(tools=[add]) as harness:
            left = harness.run("Hello", replies=[calling(("add", {"a": 1}), ("add", {}))], cancel=cancel)
        assert isinstance(left, RunResult)

        [_, turn, results] = turns_of(*left.messages, ChatMessage.user("And?"))
        assert [part["type"] for part in results["content"]] == ["tool_result", "tool_result", "text"]
        assert [part["tool_use_id"] for part in results["content"][:2]] == [made["id"] for made in turn["content"]]

    @pytest.mark.parametrize("number", [101, 108], ids=report)
    def test_results_are_together_and_first(self, number: int) -> None:
        """Images follow them."""
        image = Attachment("image/png", b"x")
        results = [ChatMessage.tool_result(call_id, "2") for call_id in ("c", "d")]
        turn = turns_of(USER, called("c", "d"), *results, ChatMessage.user("See", image))[2]

        assert [part["type"] for part in turn["content"]] == ["tool_result", "tool_result", "image", "text"]

    @pytest.mark.parametrize("number", [111], ids=report)
    def test_final_text_does_not_end_in_blanks(self, number: int) -> None:
        """The service refuses it."""
        assert turns_of(USER, ChatMessage.assistant("So: "))[1]["content"] == [text("So:")]

    @pytest.mark.parametrize("number", [112], ids=report)
    def test_an_empty_assistant_turn_is_none(self, number: int) -> None:
        """It would be refused."""
        assert len(turns_of(USER, ChatMessage.assistant(""), ChatMessage.user("?"))) == 1


class TestThinking:
    """Of section K."""

    @pytest.mark.parametrize(
        "blocks",
        [
            pytest.param([SIGNED, use({"a": 1})], id=report(113, 114, 116)),
            pytest.param([SIGNED | {"thinking": ""}, use({"a": 1})], id=report(115)),
            pytest.param([{"type": "redacted_thinking", "data": "x"}, use({"a": 1})], id=report(117)),
        ],
    )
    def test_thinking_comes_back_with_its_signature(self, blocks: list[dict[str, Any]]) -> None:
        """Before the call."""
        answer = read(payload(*blocks, stop="tool_use"))

        assert turns_of(USER, answer.to_message(), RESULT)[1]["content"] == blocks

    @pytest.mark.parametrize("number", [113], ids=report)
    def test_a_signature_in_pieces_is_kept(self, number: int) -> None:
        """It arrives by itself, at the end of its block."""
        answer = streamed(START + THINKS + written("{}", index=1) + end("tool_use"))

        assert turns_of(USER, answer.to_message(), RESULT)[1]["content"][0] == SIGNED

    @pytest.mark.parametrize("number", [118, 119], ids=report)
    def test_a_forced_tool_beside_thinking_is_refused_at_home(self, number: int) -> None:
        """Thinking is not dropped in silence."""
        with pytest.raises(InvalidRequestError, match="cannot be forced"):
            CODEC.encode(asked(tools=(ADD,), tool_choice="add", reasoning_effort="high"))


class TestEnds:
    """Of sections K and O."""

    @pytest.mark.parametrize(
        ("word", "reason"),
        [
            pytest.param("pause_turn", FinishReason.PAUSE, id=report(120)),
            pytest.param("refusal", FinishReason.CONTENT_FILTER, id=report(121, 122)),
            pytest.param("model_context_window_exceeded", FinishReason.LENGTH, id=report(121)),
            pytest.param("something_new", FinishReason.OTHER, id=report(123)),
        ],
    )
    def test_each_end_is_told(self, word: str, reason: FinishReason) -> None:
        """None raises, none is taken for success."""
        answer = read(payload(text("Hi"), stop=word))

        assert (answer.finish_reason, answer.finish_detail) == (reason, word)

    @pytest.mark.parametrize("number", [121], ids=report)
    def test_a_call_is_not_lost_where_the_window_ends(self, number: int) -> None:
        """It was whole."""
        assert calls_of(read(payload(use({"a": 1}), stop="model_context_window_exceeded")))

    @pytest.mark.parametrize("number", [169, 172, 173], ids=report)
    def test_an_end_of_bytes_is_no_end(self, number: int) -> None:
        """The error has the text until then."""
        with pytest.raises(StreamInterruptedError) as caught:
            streamed(START + said("Hi"))
        assert caught.value.partial == "Hi"


class TestSchemasNamesUnicode:
    """Sections W and X."""

    @pytest.mark.parametrize("number", [223, 224], ids=report)
    def test_a_name_with_dots_is_made_fit(self, number: int) -> None:
        """History may hold what other services took."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "files.read")])

        name = turns_of(USER, turn, ChatMessage.tool_result("c", "2"))[1]["content"][0]["name"]
        assert name.replace("_", "").isalnum()

    @pytest.mark.parametrize("number", [225, 226], ids=report)
    def test_a_lone_surrogate_is_replaced(self, number: int) -> None:
        """In and out."""
        answer = read(json.dumps(payload(text("a\ud800b"))).encode())

        assert answer.content == "a\ufffdb"
        assert turns_of(ChatMessage.user("x\udfff"))[0]["content"] == [text("x\ufffd")]


class TestUsage:
    """Section Y."""

    @pytest.mark.parametrize("number", [227, 228, 229], ids=report)
    def test_cached_input_is_input(self, number: int) -> None:
        """The counts are disjoint."""
        usage = {"input_tokens": 3, "cache_read_input_tokens": 3000, "cache_creation_input_tokens": 40}

        assert read(payload(text("Hi"), usage=usage | {"output_tokens": 1})).usage == Usage(
            3043, 1, cached_tokens=3000, cache_write_tokens=40
        )


class TestFailures:
    """Section Z."""

    @pytest.mark.parametrize("number", [231, 232, 235, 236], ids=report)
    def test_an_overloaded_service_may_be_asked_again(self, number: int) -> None:
        """529 is as good as 503."""
        error = CODEC.error(HttpReply(529, {}, b'{"type":"error","error":{"type":"overloaded_error","message":"O"}}'))

        assert isinstance(error, ServiceError)
        assert error.retryable

    @pytest.mark.parametrize("number", [233, 234], ids=report)
    def test_so_may_one_that_says_so_in_a_stream(self, number: int) -> None:
        """The status was that of success."""
        with pytest.raises(ServiceError) as caught:
            streamed(START + event("error", error={"type": "overloaded_error", "message": "Overloaded"}))
        assert caught.value.retryable

    @pytest.mark.parametrize("number", [104], ids=report)
    def test_a_bad_request_is_final(self, number: int) -> None:
        """And a limit is not."""
        body = b'{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}'

        assert not CODEC.error(HttpReply(400, {}, body)).retryable
        assert isinstance(CODEC.error(HttpReply(429, {}, b"")), RateLimitError)
