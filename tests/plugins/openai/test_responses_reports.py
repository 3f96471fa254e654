"""Public fault reports that concern a Responses client, each met as a correct client meets it."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import ProviderError, RateLimitError, ServiceError, StreamInterruptedError
from nr_llm.messages import ChatMessage
from nr_llm.responses import FinishReason

from tests.plugins.openai.outputs import called, completed, happened, payload, read, said, sent, streamed, thought
from tests.plugins.openai.replies import event
from tests.plugins.openai.test_reports import report
from tests.plugins.told import calls_of

RESULT = ChatMessage.tool_result("call_1", "1")


@pytest.mark.parametrize("number", [53, 54], ids=report)
def test_the_item_s_id_is_not_the_call_s(number: int) -> None:
    """The call's own id pairs call and result, and the item's is not sent."""
    turn = read(thought(), called(id="fc_" + "x" * 80)).to_message()
    items = sent(turn, RESULT)["input"]

    assert [item["call_id"] for item in items[1:]] == ["call_1", "call_1"]
    assert all("id" not in item for item in items)


@pytest.mark.parametrize("number", [55, 56], ids=report)
def test_a_call_without_the_item_s_id_is_whole(number: int) -> None:
    """The finished item counts, not the pieces that came before."""
    opened = happened("output_item.added", output_index=0, item=called(""))
    piece = happened("function_call_arguments.delta", output_index=0, delta='{"a"')
    done = happened("output_item.done", output_index=0, item=called(id=None))

    assert calls_of(streamed(opened, piece, done, completed())[1])[0][2] == {"a": 1}


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([said("x"), thought()], id=report(157)),
        pytest.param([thought(encrypted_content=None), said("x")], id=report(158, 159)),
    ],
)
def test_reasoning_goes_back_sealed_and_before_its_item_or_not_at_all(items: list[dict[str, Any]]) -> None:
    """The service refuses anything else."""
    assert [item["type"] for item in sent(read(*items).to_message())["input"]] == ["message"]


@pytest.mark.parametrize("number", [160], ids=report)
def test_sealed_reasoning_is_asked_for_without_an_effort(number: int) -> None:
    """A model that thinks does so unasked."""
    assert sent(model="gpt-5-mini")["include"] == ["reasoning.encrypted_content"]


@pytest.mark.parametrize(
    ("events", "error"),
    [
        pytest.param([happened("failed", response=payload(status="failed"))], ServiceError, id=report(161)),
        pytest.param(
            [happened("output_text.delta", output_index=0, delta="x")], StreamInterruptedError, id=report(162)
        ),
        pytest.param(
            [event({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, "error")],
            RateLimitError,
            id=report(163),
        ),
    ],
)
def test_a_failure_ends_the_stream(events: list[bytes], error: type[ProviderError]) -> None:
    """It is neither passed over nor a success."""
    with pytest.raises(error):
        streamed(*events)


@pytest.mark.parametrize("number", [162], ids=report)
def test_an_incomplete_answer_is_no_plain_success(number: int) -> None:
    """The reason says what cut it."""
    end = happened("incomplete", response=payload(said("x"), incomplete_details={"reason": "max_output_tokens"}))

    assert streamed(end)[1].finish_reason is FinishReason.LENGTH
