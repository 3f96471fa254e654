"""Items of a Responses reply become one answer: text, calls, thinking, refusal, counts, why it ended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.errors import (
    InvalidRequestError,
    MalformedReplyError,
    MissingToolCallError,
    ProviderError,
    RateLimitError,
    ServiceError,
)
from nr_llm.providers import HttpReply
from nr_llm.responses import FinishReason
from nr_llm_openai import OpenAIOptions

from tests.plugins.openai.outputs import CODEC, called, payload, read, refused, said, thought
from tests.plugins.openai.replies import ADD, asked
from tests.plugins.told import calls_of


def test_all_parts_of_an_answer() -> None:
    """Each where it belongs."""
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    answer = read(thought("One."), thought("Two."), said("Hel"), said("lo"), called(), usage=usage)

    assert (answer.content, answer.reasoning, answer.id, answer.model) == ("Hello", "One.\n\nTwo.", "resp_1", "m1")
    assert calls_of(answer) == [("call_1", "add", {"a": 1}, None)]
    assert (answer.finish_reason, answer.finish_detail) == (FinishReason.TOOL_CALLS, "completed")
    counts = answer.usage
    assert (counts.input_tokens, counts.output_tokens, counts.cached_tokens) == (10, 5, 4)
    assert (counts.cache_write_tokens, counts.reasoning_tokens) == (2, 3)


def test_thinking_in_the_open_is_read_too() -> None:
    """Some servers send it as content."""
    item = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}], "summary": []}

    assert read(item, said("x")).reasoning == "Hm."


def test_a_refusal_is_no_text() -> None:
    """It ends for the content filter."""
    answer = read(refused("I will not."))

    assert (answer.content, answer.refusal, answer.finish_reason) == ("", "I will not.", FinishReason.CONTENT_FILTER)


@pytest.mark.parametrize(
    ("more", "reason", "detail"),
    [
        ({}, FinishReason.STOP, "completed"),
        ({"status": None}, FinishReason.STOP, None),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            FinishReason.LENGTH,
            "max_output_tokens",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            FinishReason.CONTENT_FILTER,
            "content_filter",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "tired"}}, FinishReason.OTHER, "tired"),
        ({"status": "incomplete"}, FinishReason.OTHER, "incomplete"),
    ],
)
def test_why_it_ended(more: dict[str, Any], reason: FinishReason, detail: str | None) -> None:
    """An unknown reason is kept as it came; no end but completion is a success."""
    answer = read(said("x"), **more)

    assert (answer.finish_reason, answer.finish_detail) == (reason, detail)


def test_a_call_that_was_cut_is_never_run() -> None:
    """Its arguments are kept as text, and the reason is the length."""
    cut: dict[str, Any] = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    answer = read(called('{"a": '), **cut)

    assert calls_of(answer) == [("call_1", "add", {}, '{"a": ')]
    assert answer.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize("why", ["max_output_tokens", "content_filter", None])
def test_a_call_that_was_cut_before_its_arguments_is_never_run(why: str | None) -> None:
    """Whatever cut it: no arguments are no empty object."""
    answer = read(called(""), status="incomplete", incomplete_details={"reason": why})

    assert calls_of(answer) == [("call_1", "add", {}, "")]


def test_a_call_without_its_id_has_that_of_the_item() -> None:
    """And without either, one of ours."""
    assert calls_of(read(called(call_id="", id="fc_9")))[0][0] == "fc_9"
    assert calls_of(read({"type": "function_call", "name": "add", "arguments": ""}))[0][0] == "call_0"


def test_a_required_call_that_does_not_come_is_an_error() -> None:
    """Not an answer."""
    with pytest.raises(MissingToolCallError):
        read(said("No."), request=asked(tools=(ADD,), tool_choice="required"))


def test_state_is_kept_only_where_the_message_says_less() -> None:
    """Plain text and calls need none; ids are kept for chains."""
    assert read(said("x"), called()).provider_state is None
    assert read(thought(), said("x")).provider_state == {"output": [thought(), said("x")]}
    chained = asked(provider_options=OpenAIOptions(chained=True))
    assert read(said("x"), request=chained).provider_state == {"id": "resp_1"}


def test_what_nests_too_deeply_cannot_be_kept() -> None:
    """That is a malformed reply, no crash."""
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]

    with pytest.raises(MalformedReplyError):
        read({"type": "strange", "deep": deep}, said("x"))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (payload(status="failed", error={"code": "rate_limit_exceeded", "message": "Slow down"}), RateLimitError),
        (payload(status="failed"), ServiceError),
        (payload(status="cancelled"), ServiceError),
        ({"error": {"message": "bad", "type": "invalid_request_error"}}, InvalidRequestError),
        ({"output": "x"}, MalformedReplyError),
        ([], MalformedReplyError),
        ("x", MalformedReplyError),
    ],
)
def test_failures_inside_a_good_reply(body: Any, error: type[ProviderError]) -> None:
    """Each is raised as what it is."""
    with pytest.raises(error):
        CODEC.decode(HttpReply(200, {}, json.dumps(body).encode()), asked())


def test_a_wrong_address_has_a_hint() -> None:
    """As in the other form."""
    assert "base URL" in str(CODEC.error(HttpReply(404, {}, b"<html>")))
