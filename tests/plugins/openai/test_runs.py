"""The whole way: a Runtime, the provider, an HTTP client that answers from a script, in both colours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx
import pytest
from nr_llm.errors import (
    AuthenticationError,
    MissingCredentialError,
    NrLlmError,
    ProviderError,
    StreamInterruptedError,
    TransportError,
)
from nr_llm.events import Finished, TextDelta
from nr_llm.messages import Role
from nr_llm.middleware import Retry
from nr_llm.options import Options
from nr_llm.runs import RunResult
from nr_llm.runtime import Runtime
from nr_llm.tools import tool
from nr_llm_openai import OpenAI

from tests.plugins.openai.replies import DONE, call, chunk, piece, pieces, whole
from tests.plugins.running import ran, watched

KEY = "sk-test-0123456789"
CALL = whole({"content": None, "tool_calls": [call('{"a": 1}', name="double")]}, "tool_calls")
ANSWER = whole({"content": "It is 2."})


@tool
def double(a: int) -> str:
    """Double a number."""
    return str(2 * a)


class Service:
    """Answers each request with the next reply, and remembers what it was asked."""

    def __init__(self, *replies: dict[str, Any] | bytes | Exception) -> None:
        self._replies = list(replies)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(**reply) if isinstance(reply, dict) else httpx.Response(200, content=reply)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return [json.loads(request.content) for request in self.requests]


def runtime_for(service: Service, **settings: Any) -> Runtime:
    """Return a Runtime whose one provider is `service`."""
    return Runtime(
        providers=[OpenAI(base_url="http://host/v1", api_key=settings.pop("api_key", KEY))],
        tools=[double],
        model="openai:m",
        middleware=(Retry(seconds=0.0),),
        http=httpx.Client(transport=httpx.MockTransport(service)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(service)),
        **settings,
    )


def run(service: Service, *, colour: str, **settings: Any) -> RunResult:
    """Run a prompt to its end."""
    return ran(runtime_for(service), colour=colour, **settings)


def events(service: Service, *, colour: str, **settings: Any) -> list[Any]:
    """Stream a prompt to its end."""
    return watched(runtime_for(service), colour=colour, **settings)


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Run the test in both colours."""
    return str(request.param)


def test_a_run_with_a_tool(colour: str) -> None:
    """Two requests; the second holds the call and its result; the key is in the header alone."""
    service = Service(CALL, ANSWER)

    outcome = run(service, colour=colour)

    assert (outcome.content, outcome.rounds) == ("It is 2.", 2)
    assert [message.role for message in outcome.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert service.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": None, "tool_calls": [call('{"a":1}', name="double")]},
        {"role": "tool", "content": "2", "tool_call_id": "call_1"},
    ]
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in service.requests)
    assert all(KEY.encode() not in request.content for request in service.requests)


def test_a_streamed_run_with_a_tool(colour: str) -> None:
    """Deltas come as they are sent, and add up to the answer."""
    service = Service(
        pieces(piece("", "double", "call_1", 0), piece('{"a": 1}', index=0)),
        chunk({"content": "It is "}) + chunk({"content": "2."}) + chunk(finish="stop") + DONE,
    )

    seen = events(service, colour=colour)

    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["It is ", "2."]
    assert isinstance(seen[-1], Finished)
    assert seen[-1].outcome.content == "It is 2."
    assert all(body["stream"] for body in service.bodies)


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        {"status_code": 429, "headers": {"retry-after": "0"}},
        {"status_code": 503},
        {"status_code": 529},
    ],
    ids=["connect", "timeout", "429", "503", "529"],
)
def test_a_passing_failure_is_tried_again(colour: str, failure: Any) -> None:
    """The run goes on as if nothing had been."""
    service = Service(failure, ANSWER)

    assert run(service, colour=colour).content == "It is 2."
    assert len(service.requests) == 2
    assert service.requests[0].content == service.requests[1].content


@pytest.mark.parametrize(
    ("replies", "kind", "requests"),
    [
        ([{"status_code": 401, "json": {"error": {"message": f"bad key {KEY}"}}}], AuthenticationError, 1),
        ([httpx.ConnectError("refused")] * 3, TransportError, 3),
        ([b"<html>Sign in</html>"], ProviderError, 1),
    ],
    ids=["final", "lasting", "page"],
)
def test_a_failure_that_stays_ends_the_run(
    colour: str, replies: Iterable[Any], kind: type[NrLlmError], requests: int
) -> None:
    """The error has the state of the run, and no key."""
    service = Service(*replies)

    with pytest.raises(kind) as caught:
        run(service, colour=colour)

    assert len(service.requests) == requests
    assert KEY not in str(caught.value) + repr(caught.value.__dict__)
    assert caught.value.state is not None


def test_a_stream_cut_after_its_beginning_is_not_tried_again(colour: str) -> None:
    """What was shown cannot be taken back; the error keeps it."""
    service = Service(chunk({"content": "It "}), ANSWER)

    with pytest.raises(StreamInterruptedError) as caught:
        events(service, colour=colour)

    assert (caught.value.partial, caught.value.delivered, len(service.requests)) == ("It ", True, 1)


def test_a_stream_cut_before_its_beginning_is_tried_again(colour: str) -> None:
    """Nothing was shown yet."""
    service = Service(chunk({"role": "assistant"}), chunk({"content": "Yes"}, "stop"))

    seen = events(service, colour=colour)

    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["Yes"]


def test_a_missing_key_is_an_error_before_any_request(colour: str) -> None:
    """Nothing is sent, and the variables are named."""
    service = Service()
    client: Callable[..., Any] = httpx.Client if colour == "sync" else httpx.AsyncClient
    sender = {"http" if colour == "sync" else "async_http": client(transport=httpx.MockTransport(service))}
    with Runtime(providers=[OpenAI()], model="openai:gpt-4o", **sender) as runtime:
        with pytest.raises(MissingCredentialError, match="OPENAI_API_KEY"):
            if colour == "sync":
                runtime.run("Hello")
            else:
                asyncio.run(runtime.arun("Hello"))

    assert service.requests == []


def test_a_required_call_that_does_not_come_ends_the_run(colour: str) -> None:
    """An answer instead of the call is not passed on."""
    with pytest.raises(ProviderError, match="called no tool"):
        run(Service(ANSWER), colour=colour, options=Options(tool_choice="required"))
