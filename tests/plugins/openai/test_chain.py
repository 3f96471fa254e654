"""A conversation of which the service keeps a copy, through a whole Runtime: each request says what is new alone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import attrs
import httpx
import pytest
from nr_llm import ChatMessage, Options, RunResult, RunState, Runtime, Suspended, tool
from nr_llm.errors import InvalidRequestError
from nr_llm.events import Finished
from nr_llm.middleware import Retry
from nr_llm_openai import OpenAI, OpenAIOptions

from tests.plugins.openai.outputs import called, completed, happened, payload, said, thought
from tests.plugins.running import PROMPT, ran, watched

CHAINED = Options(provider_options=OpenAIOptions(chained=True))
LOST = {
    "error": {
        "message": "Previous response with id 'resp_1' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
}
CALLS = [
    [thought(encrypted_content=None), called('{"a": 1}', "call_1", name="double")],
    [called('{"a": 2}', "call_2", name="double")],
    [said("It is 4.")],
]
ASKED = {"role": "user", "content": PROMPT}


@tool
def double(a: int) -> str:
    """Double a number."""
    return str(2 * a)


@tool(effect="write", approval=True)
def write(a: int) -> str:
    """Write a number."""
    return f"wrote {a}"


class Service:
    """
    Keeps the conversations it answers, each request with the next reply; it forgets at the requests that are named.

    Args:
        *replies: Items of each reply.
        forgetting: Numbers of the requests, from 0, at which it knows nothing any more.
        telling: Whether it says so in a stream that began well.
    """

    def __init__(self, *replies: list[dict[str, Any]], forgetting: tuple[int, ...] = (), telling: bool = False) -> None:
        self._replies = list(replies)
        self._forgetting, self._telling = forgetting, telling
        self._known: set[str] = set()
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if len(self.bodies) in self._forgetting:
            self._known.clear()
        self.bodies.append(body)
        if body.get("previous_response_id", "") not in {"", *self._known}:
            if self._telling:
                return httpx.Response(200, content=happened("failed", response={"status": "failed", **LOST}))
            return httpx.Response(400, json=LOST)
        items, name = self._replies.pop(0), f"resp_{len(self.bodies)}"
        self._known.add(name)
        if body.get("stream"):
            return httpx.Response(200, content=completed(*items, id=name))
        return httpx.Response(200, json=payload(*items, id=name))

    @property
    def said(self) -> list[tuple[str | None, list[str]]]:
        """What each request went on from, and the kinds of its items."""
        return [
            (body.get("previous_response_id"), [item.get("type", item.get("role")) for item in body["input"]])
            for body in self.bodies
        ]


def runtime_for(service: Service) -> Runtime:
    """Return a Runtime whose one provider is `service`."""
    return Runtime(
        providers=[OpenAI(base_url="http://host/v1", api="responses")],
        tools=[double, write],
        model="openai:m",
        options=CHAINED,
        middleware=(Retry(seconds=0.0),),
        http=httpx.Client(transport=httpx.MockTransport(service)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(service)),
    )


def answer(service: Service, *, colour: str, streamed: bool, **settings: Any) -> RunResult:
    """Return the result of a run."""
    if not streamed:
        return ran(runtime_for(service), colour=colour, **settings)
    last = watched(runtime_for(service), colour=colour, **settings)[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.outcome, RunResult)
    return last.outcome


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Run the test in both colours."""
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    """Run the test in both ways."""
    return bool(request.param)


CALL, RESULT = "function_call", "function_call_output"


def test_two_rounds_of_calls(colour: str, streamed: bool) -> None:
    """Each goes on from the reply before and sends the results alone."""
    service = Service(*CALLS)

    result = answer(service, colour=colour, streamed=streamed)

    assert (result.content, result.rounds) == ("It is 4.", 3)
    assert service.said == [(None, ["user"]), ("resp_1", [RESULT]), ("resp_2", [RESULT])]
    assert [body["input"][0].get("output") for body in service.bodies[1:]] == ["2", "4"]
    assert all(body["store"] is True for body in service.bodies)


def test_the_next_run_goes_on_from_the_last(streamed: bool) -> None:
    """Its messages remember the reply."""
    service = Service(*CALLS, [said("Yes.")])
    with runtime_for(service) as runtime:
        first = runtime.run(PROMPT)
        assert isinstance(first, RunResult)
        again = [*first.messages, ChatMessage.user("Sure?")]
        if streamed:
            with runtime.stream(again) as stream:
                list(stream)
        else:
            runtime.run(again)

    assert service.said[-1] == ("resp_3", ["user"])


def test_a_run_that_waited_goes_on_from_the_reply_before(colour: str) -> None:
    """Also out of a state that was written down."""
    service = Service([called('{"a": 1}', "call_1", name="write")], [said("Done.")])
    with runtime_for(service) as runtime:
        waiting = runtime.run(PROMPT, tools=["write"])
        assert isinstance(waiting, Suspended)
        state = RunState.from_json(waiting.state.to_json())
    with runtime_for(service) as runtime:
        if colour == "sync":
            outcome = runtime.resume(state, True, tools=["write"])
        else:
            outcome = asyncio.run(runtime.aresume(state, True, tools=["write"]))

    assert isinstance(outcome, RunResult)
    assert outcome.content == "Done."
    assert service.said == [(None, ["user"]), ("resp_1", [RESULT])]


def test_a_service_that_forgot_is_told_all(colour: str, streamed: bool) -> None:
    """Once; then it goes on from what it keeps by now."""
    service = Service(*CALLS, forgetting=(1,))

    result = answer(service, colour=colour, streamed=streamed)

    assert (result.content, result.rounds) == ("It is 4.", 3)
    assert service.said == [
        (None, ["user"]),
        ("resp_1", [RESULT]),
        (None, ["user", CALL, RESULT]),
        ("resp_3", [RESULT]),
    ]
    assert service.bodies[2]["input"][0] == ASKED


def test_a_stream_may_say_so_too(colour: str) -> None:
    """As its first event."""
    service = Service(*CALLS, forgetting=(2,), telling=True)

    result = answer(service, colour=colour, streamed=True)

    assert result.content == "It is 4."
    assert service.said[2:] == [("resp_2", [RESULT]), (None, ["user", CALL, RESULT, CALL, RESULT])]


def test_another_failure_is_no_reason_to_go_back(colour: str) -> None:
    """It would fail again."""
    bodies: list[Any] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        if len(bodies) == 1:
            return httpx.Response(200, json=payload(*CALLS[0]))
        return httpx.Response(400, json={"error": {"message": "No such model.", "type": "invalid_request_error"}})

    runtime = Runtime(
        providers=[OpenAI(base_url="http://host/v1", api="responses")],
        tools=[double],
        model="openai:m",
        options=CHAINED,
        http=httpx.Client(transport=httpx.MockTransport(refuse)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(refuse)),
    )
    with pytest.raises(InvalidRequestError):
        ran(runtime, colour=colour)

    assert len(bodies) == 2


KEPT = attrs.evolve(ChatMessage.assistant("Hi."), provider_state={"openai": {"id": "resp_0"}})


@pytest.mark.parametrize(
    ("history", "options", "requests"),
    [([KEPT], CHAINED, 2), ([KEPT], Options(), 1), ([], CHAINED, 1)],
    ids=["chained", "not-chained", "begun"],
)
@pytest.mark.parametrize("single", [False, True], ids=["run", "complete"])
def test_the_whole_is_said_once(history: list[ChatMessage], options: Options, requests: int, single: bool) -> None:
    """And only where an id was sent."""
    bodies: list[Any] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json=LOST)

    messages = [*history, ChatMessage.user("And?")]
    with Runtime(
        providers=[OpenAI(base_url="http://host/v1", api="responses")],
        model="openai:m",
        http=httpx.Client(transport=httpx.MockTransport(refuse)),
    ) as runtime:
        ask = runtime.complete if single else runtime.run
        with pytest.raises(InvalidRequestError):
            ask(messages, options=options)

    assert len(bodies) == requests
    assert "previous_response_id" not in bodies[-1]
