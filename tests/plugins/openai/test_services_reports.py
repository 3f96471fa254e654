"""Public fault reports that concern services with rows of their own, each met as a correct client meets it."""

from __future__ import annotations

import json
from typing import Any

import attrs
import httpx
import pytest
from nr_llm.cancellation import Cancellation
from nr_llm.errors import ServiceError
from nr_llm.messages import ChatMessage, Role, ToolCall
from nr_llm.options import Options
from nr_llm.runs import RunResult
from nr_llm.runtime import Runtime
from nr_llm.testing import Harness, calling
from nr_llm.tools import tool
from nr_llm_openai import COMPATIBLE, DIALECTS, ChatCodec, Dialect, OpenAI, OpenAIOptions

from tests.plugins.openai.outputs import streamed as streamed_responses
from tests.plugins.openai.replies import asked, body_of, call, event, read, whole
from tests.plugins.openai.test_reports import report
from tests.plugins.openai.test_runs import ANSWER, CALL, Service, double
from tests.plugins.running import ran

USER = ChatMessage.user("Hello")


def ids_sent(call_id: str, dialect: Dialect) -> tuple[str, str]:
    """Return the id of a call and the id its result answers to, as a service reads them."""
    turn = ChatMessage.assistant_tool_calls([ToolCall(call_id, "add", {"a": 1})])
    messages = body_of(asked(USER, turn, ChatMessage.tool_result(call_id, "2")), dialect)["messages"]
    return messages[1]["tool_calls"][0]["id"], messages[2]["tool_call_id"]


@pytest.mark.parametrize(
    "call_id",
    [
        pytest.param("chatcmpl-tool-0123456789abcdef", id=report(39)),
        pytest.param("toolu_01AbCdEf", id=report(40)),
        pytest.param("call_abcdefgh", id=report(41)),
        pytest.param("turn1_0", id=report(42)),
        pytest.param("run-7-call_abcdefgh", id=report(45)),
    ],
)
def test_mistral_gets_ids_it_takes_and_history_keeps_its_own(call_id: str) -> None:
    """They are mapped where they leave, alike for call and result, and no two become one."""
    sent, answered = ids_sent(call_id, DIALECTS["mistral"])
    other, _ = ids_sent(call_id + "x", DIALECTS["mistral"])

    assert sent == answered != other
    assert len(sent) == 9
    assert sent.isalnum()
    assert ids_sent(call_id, COMPATIBLE) == (call_id, call_id)


@pytest.mark.parametrize("number", [43, 44], ids=report)
def test_a_server_that_refuses_the_ids_it_makes_is_given_others(number: int) -> None:
    """A server of one's own with a Mistral template is a row with Mistral's ids."""
    row = attrs.evolve(COMPATIBLE, id_length=9, id_exact=True)
    turn = read(whole({"tool_calls": [call("{}", call_id="chatcmpl-tool-0123456789abcdef")]})).to_message()

    messages = body_of(asked(USER, turn, ChatMessage.tool_result(turn.tool_calls[0].id, "2")), row)["messages"]

    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]
    assert len(messages[2]["tool_call_id"]) == 9


@pytest.mark.parametrize(
    "dialect", [pytest.param("mistral", id=report(210)), pytest.param("compatible", id=report(212))]
)
def test_a_model_that_wants_a_turn_between_results_and_a_person_gets_one(dialect: str) -> None:
    """Where the user asks for it, at any service; elsewhere nothing is made up."""
    turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add")])
    request = asked(USER, turn, ChatMessage.tool_result("c", "2"), ChatMessage.user("And now?"))
    plain = ChatCodec(dialect=DIALECTS[dialect])

    roles = {
        gap: [message["role"] for message in json.loads(attrs.evolve(plain, gap=gap).encode(request).body)["messages"]]
        for gap in ("", "Done.")
    }

    assert roles[""] == ["user", "assistant", "tool", "user"]
    assert roles["Done."] == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize("number", [211], ids=report)
def test_a_conversation_goes_on_after_a_cancelled_call(number: int) -> None:
    """The call that was running and the one that waited have their answers, before what a person says next."""
    cancel = Cancellation()

    @tool
    def stop(n: int) -> str:
        """Tell the run to stop."""
        cancel.cancel("enough")
        return str(n)

    with Harness(tools=[stop]) as harness:
        calls = calling(("stop", {"n": 1}), ("unknown", {}))
        left = harness.run("Hello", replies=[calls], cancel=cancel)
    assert isinstance(left, RunResult)

    sent = body_of(asked(*left.messages, ChatMessage.user("And now?")), DIALECTS["mistral"])["messages"]

    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert [message["tool_call_id"] for message in sent[2:4]] == [made["id"] for made in sent[1]["tool_calls"]]


@pytest.mark.parametrize("number", [213], ids=report)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_is_sent_in_the_role_of_a_tool(dialect: str, number: int) -> None:
    """At no service as a user's turn."""
    turn = ChatMessage.assistant_tool_calls([ToolCall("c", "add")])

    sent = body_of(asked(USER, turn, ChatMessage.tool_result("c", "2")), DIALECTS[dialect])["messages"]

    assert [message["role"] for message in sent] == [str(Role.USER), str(Role.ASSISTANT), str(Role.TOOL)]


@pytest.mark.parametrize("number", [152], ids=report)
def test_an_upstream_that_is_pinned_stays_so_in_each_request_of_a_run(number: int) -> None:
    """Thinking that one upstream signed is refused by the next; who pins one has it pinned to the end."""
    upstream = {"order": ["anthropic"], "allow_fallbacks": False}
    service = Service(CALL, ANSWER)
    runtime = Runtime(
        providers=[OpenAI("openrouter", dialect="openrouter", api_key="sk-or-0123456789")],
        tools=[double],
        model="openrouter:m",
        http=httpx.Client(transport=httpx.MockTransport(service)),
    )

    ran(runtime, colour="sync", options=Options(provider_options=OpenAIOptions(raw={"provider": upstream})))

    assert [body["provider"] for body in service.bodies] == [upstream, upstream]


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "error", "code": "server_error", "message": "It broke."},
        {"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "It broke."}},
    ],
    ids=lambda payload: f"{report(164)}-{'nested' if 'error' in payload else 'flat'}",
)
def test_the_message_of_an_error_is_found_in_both_places(payload: Any) -> None:
    """Documented is one form, sent is the other."""
    with pytest.raises(ServiceError, match="It broke"):
        streamed_responses(event(payload, "error"))
