"""The whole way: a Runtime, the provider, an HTTP client that answers from a script, in both colours."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from nr_llm.errors import MissingCredentialError, ServiceError, StreamInterruptedError
from nr_llm.events import Finished, ReasoningDelta, TextDelta
from nr_llm.limits import Limits
from nr_llm.middleware import Retry
from nr_llm.runs import RunResult
from nr_llm.runtime import Runtime
from nr_llm.tools import tool
from nr_llm_anthropic import Anthropic

from tests.plugins.anthropic.replies import SIGNED, START, block, end, event, payload, said, text, use, written
from tests.plugins.running import ran, watched

LIMITS = Limits()
KEY = "sk-ant-test-0123456789"
CALL = payload(SIGNED, use({"a": 1}, name="double"), stop="tool_use")
ANSWER = payload(text("It is 2."))
LOOK = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "2*1"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@tool
def double(a: int) -> str:
    """Double a number."""
    return str(2 * a)


class Service:
    """Answers each request with the next reply, and remembers what it was asked."""

    def __init__(self, *replies: dict[str, Any] | bytes | int) -> None:
        self._replies = list(replies)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, int):
            return httpx.Response(reply, json={"type": "error", "error": {"type": "overloaded_error", "message": "No"}})
        return httpx.Response(200, content=reply) if isinstance(reply, bytes) else httpx.Response(200, json=reply)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return [json.loads(request.content) for request in self.requests]


def runtime_for(service: Service, **settings: Any) -> Runtime:
    """Return a Runtime whose one provider is `service`."""
    return Runtime(
        providers=[Anthropic(**{"base_url": "http://host", "api_key": KEY} | settings)],
        tools=[double],
        model="anthropic:claude-sonnet-4-5",
        middleware=(Retry(seconds=0.0),),
        http=httpx.Client(transport=httpx.MockTransport(service)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(service)),
    )


def run(service: Service, *, colour: str, limits: Limits = LIMITS, **settings: Any) -> RunResult:
    """Run a prompt to its end."""
    return ran(runtime_for(service, **settings), colour=colour, limits=limits)


def events(service: Service, *, colour: str) -> list[Any]:
    """Stream a prompt to its end."""
    return watched(runtime_for(service), colour=colour)


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Run the test in both colours."""
    return str(request.param)


def test_a_run_with_a_tool(colour: str) -> None:
    """Two requests; the second holds the signed turn and its result; the key is in the header alone."""
    service = Service(CALL, ANSWER)

    outcome = run(service, colour=colour)

    assert (outcome.content, outcome.rounds) == ("It is 2.", 2)
    assert service.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": [SIGNED, use({"a": 1}, name="double")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}]},
    ]
    assert all(request.url.path == "/v1/messages" for request in service.requests)
    assert all(request.headers["x-api-key"] == KEY for request in service.requests)
    assert all(request.headers["anthropic-version"] == "2023-06-01" for request in service.requests)
    assert all(KEY not in str(request.url) and KEY.encode() not in request.content for request in service.requests)


def test_a_streamed_run_with_a_tool(colour: str) -> None:
    """Deltas come as they are sent, and the turn goes back as if it had come whole."""
    thought = block(0, SIGNED | {"thinking": ""}, {"type": "thinking_delta", "thinking": SIGNED["thinking"]})
    called = written('{"a"', ": 1}", index=1, begun=use(name="double"))
    service = Service(START + thought + called + end("tool_use"), START + said("It is ", "2.") + end())

    seen = events(service, colour=colour)

    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["It is ", "2."]
    assert [event.text for event in seen if isinstance(event, ReasoningDelta)] == [SIGNED["thinking"]]
    assert isinstance(seen[-1], Finished)
    assert isinstance(seen[-1].outcome, RunResult)
    assert seen[-1].outcome.content == "It is 2."
    assert [body["stream"] for body in service.bodies] == [True, True]
    assert service.bodies[1]["messages"][1]["content"] == [SIGNED, use({"a": 1}, name="double")]


class TestPause:
    def test_a_paused_turn_goes_back_unchanged(self, colour: str) -> None:
        """The service goes on from it: no turn of a user's stands between."""
        service = Service(payload(text("I look."), LOOK, stop="pause_turn"), ANSWER)

        outcome = run(service, colour=colour)

        assert (outcome.content, outcome.rounds) == ("It is 2.", 2)
        assert service.bodies[1]["messages"][1:] == [{"role": "assistant", "content": [text("I look."), LOOK]}]

    def test_its_rest_joins_it(self, colour: str) -> None:
        """Calls that come with the rest are answered after the one turn that both make."""
        service = Service(payload(LOOK, stop="pause_turn"), payload(FOUND, *CALL["content"], stop="tool_use"), ANSWER)

        assert run(service, colour=colour).content == "It is 2."
        assert service.bodies[2]["messages"][1:] == [
            {"role": "assistant", "content": [LOOK, FOUND, SIGNED, use({"a": 1}, name="double")]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}]},
        ]

    def test_a_streamed_one_goes_back_as_it_would_whole(self, colour: str) -> None:
        """Its block was begun, written and ended in pieces."""
        search = {"type": "input_json_delta", "partial_json": json.dumps(LOOK["input"])}
        service = Service(
            START + said("I look.") + block(1, LOOK | {"input": {}}, search) + end("pause_turn"),
            START + said("It is 2.") + end(),
        )

        assert isinstance(events(service, colour=colour)[-1], Finished)
        assert service.bodies[1]["messages"][1:] == [{"role": "assistant", "content": [text("I look."), LOOK]}]

    def test_it_ends_with_the_rounds(self, colour: str) -> None:
        """A service that pauses for ever is not asked for ever."""
        service = Service(*[payload(LOOK, stop="pause_turn")] * 3)

        assert run(service, colour=colour, limits=Limits(rounds=2)).reason == "max_rounds"
        assert len(service.requests) == 3


@pytest.mark.parametrize("failure", [429, 503, 529, START + event("error", error={"type": "overloaded_error"})])
def test_a_passing_failure_is_tried_again(colour: str, failure: Any) -> None:
    """Also the service's own status, and one that shows in the middle of a good one before anything was said."""
    if isinstance(failure, bytes):
        service = Service(failure, START + said("It is 2.") + end())
        assert events(service, colour=colour)[-1].outcome.content == "It is 2."
    else:
        service = Service(failure, ANSWER)
        assert run(service, colour=colour).content == "It is 2."
    assert service.requests[0].content == service.requests[1].content


def test_a_failure_that_stays_ends_the_run(colour: str) -> None:
    """The error has the state of the run."""
    with pytest.raises(ServiceError, match="529") as caught:
        run(Service(*[529] * 5), colour=colour)

    assert caught.value.state is not None


def test_a_stream_cut_after_its_beginning_is_not_tried_again(colour: str) -> None:
    """What was shown cannot be taken back; the error keeps it."""
    service = Service(START + said("It "), ANSWER)

    with pytest.raises(StreamInterruptedError) as caught:
        events(service, colour=colour)

    assert (caught.value.partial, caught.value.delivered, len(service.requests)) == ("It ", True, 1)


def test_a_refusal_is_an_outcome(colour: str) -> None:
    """Not an empty success, and no exception."""
    details = {"stop_details": {"type": "refusal", "explanation": "Not this."}}

    outcome = run(Service(payload(stop="refusal", **details)), colour=colour)

    assert (outcome.content, outcome.reason) == ("Not this.", "content_filter")


def test_a_missing_key_is_an_error_before_any_request(colour: str) -> None:
    """Nothing is sent, and the variables are named."""
    service = Service()

    with pytest.raises(MissingCredentialError, match="ANTHROPIC_API_KEY"):
        run(service, colour=colour, base_url=None, api_key=None)

    assert service.requests == []
