"""The whole way: a Runtime, the provider, an HTTP client that answers from a script, in both colours."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from nr_llm.errors import MissingCredentialError, StreamInterruptedError, ToolCallRejectedError
from nr_llm.events import Finished, TextDelta
from nr_llm.middleware import Retry
from nr_llm.runs import RunResult
from nr_llm.runtime import Runtime
from nr_llm.tools import tool
from nr_llm_gemini import Gemini

from tests.plugins.gemini.replies import call, chunks, event, payload
from tests.plugins.running import ran, watched

KEY = "AIza-test-0123456789"
CALL = payload(call("double", {"a": 1}, "c2ln", id="fc1"))
ANSWER = payload({"text": "It is 2."})
MALFORMED = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "double(a="}]}


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
            return httpx.Response(reply)
        return httpx.Response(200, content=reply) if isinstance(reply, bytes) else httpx.Response(200, json=reply)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return [json.loads(request.content) for request in self.requests]


def runtime_for(service: Service, **settings: Any) -> Runtime:
    """Return a Runtime whose one provider is `service`."""
    return Runtime(
        providers=[Gemini(**{"base_url": "http://host", "api_key": KEY} | settings)],
        tools=[double],
        model="gemini:gemini-3-pro-preview",
        middleware=(Retry(seconds=0.0),),
        http=httpx.Client(transport=httpx.MockTransport(service)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(service)),
    )


def run(service: Service, *, colour: str, **settings: Any) -> RunResult:
    """Run a prompt to its end."""
    return ran(runtime_for(service, **settings), colour=colour)


def events(service: Service, *, colour: str) -> list[Any]:
    """Stream a prompt to its end."""
    return watched(runtime_for(service), colour=colour)


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Run the test in both colours."""
    return str(request.param)


def test_a_run_with_a_tool(colour: str) -> None:
    """Two requests; the second holds the signed call and its result; the key is in the header alone."""
    service = Service(CALL, ANSWER)

    outcome = run(service, colour=colour)

    assert (outcome.content, outcome.rounds) == ("It is 2.", 2)
    assert service.bodies[1]["contents"][1:] == [
        {"role": "model", "parts": [call("double", {"a": 1}, "c2ln", id="fc1")]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "double", "response": {"result": "2"}, "id": "fc1"}}],
        },
    ]
    assert all(request.headers["x-goog-api-key"] == KEY for request in service.requests)
    assert all(KEY not in str(request.url) and KEY.encode() not in request.content for request in service.requests)


def test_a_streamed_run_with_a_tool(colour: str) -> None:
    """Deltas come as they are sent, and add up to the answer."""
    parts = chunks(payload({"text": "It is "}, finish=None), payload({"text": "2."}))
    service = Service(event(CALL), parts)

    seen = events(service, colour=colour)

    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["It is ", "2."]
    assert isinstance(seen[-1], Finished)
    assert isinstance(seen[-1].outcome, RunResult)
    assert seen[-1].outcome.content == "It is 2."
    assert all(request.url.query == b"alt=sse" for request in service.requests)
    assert service.bodies[1]["contents"][1]["parts"][0]["thoughtSignature"] == "c2ln"


@pytest.mark.parametrize("failure", [429, 503, MALFORMED], ids=["429", "503", "malformed"])
def test_a_passing_failure_is_tried_again(colour: str, failure: Any) -> None:
    """A call that the service could not read is one."""
    service = Service(failure, ANSWER)

    assert run(service, colour=colour).content == "It is 2."
    assert service.requests[0].content == service.requests[1].content


def test_a_failure_that_stays_ends_the_run(colour: str) -> None:
    """The error says what the model wrote, and has the state of the run."""
    with pytest.raises(ToolCallRejectedError, match="double") as caught:
        run(Service(*[MALFORMED] * 5), colour=colour)

    assert caught.value.state is not None


def test_a_stream_cut_after_its_beginning_is_not_tried_again(colour: str) -> None:
    """What was shown cannot be taken back; the error keeps it."""
    service = Service(event(payload({"text": "It "}, finish=None)), ANSWER)

    with pytest.raises(StreamInterruptedError) as caught:
        events(service, colour=colour)

    assert (caught.value.partial, caught.value.delivered, len(service.requests)) == ("It ", True, 1)


def test_a_refusal_is_an_outcome(colour: str) -> None:
    """Not an empty success, and no exception."""
    blocked = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "Not this."}}

    outcome = run(Service(blocked), colour=colour)

    assert (outcome.content, outcome.reason) == ("Not this.", "content_filter")


def test_a_missing_key_is_an_error_before_any_request(colour: str) -> None:
    """Nothing is sent, and the variables are named."""
    service = Service()

    with pytest.raises(MissingCredentialError, match="GEMINI_API_KEY"):
        run(service, colour=colour, base_url=None, api_key=None)

    assert service.requests == []
