"""The whole way: a Runtime, the provider, an HTTP client that answers from a script, in both colours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from nr_llm.errors import ServiceError, StreamInterruptedError
from nr_llm.events import TextDelta
from nr_llm.runs import RunResult
from nr_llm.runtime import Runtime
from nr_llm.tools import tool
from nr_llm_ollama import Ollama

from tests.plugins.ollama.replies import call, end, line, payload

CALL = payload(thinking="Hm.", tool_calls=[call({"a": 1}, "double"), call({"a": 2}, "double")])
ANSWER = payload("2 and 4.")


@tool
def double(a: int) -> str:
    """Double a number."""
    return str(2 * a)


class Service:
    """Answers each request with the next reply, and remembers what it was asked."""

    def __init__(self, *replies: dict[str, Any] | bytes) -> None:
        self._replies = list(replies)
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        reply = self._replies.pop(0)
        return httpx.Response(200, content=reply) if isinstance(reply, bytes) else httpx.Response(200, json=reply)


def runtime_for(service: Service) -> Runtime:
    """Return a Runtime whose one provider is `service`."""
    return Runtime(
        providers=[Ollama()],
        tools=[double],
        model="ollama:qwen3",
        middleware=(),
        http=httpx.Client(transport=httpx.MockTransport(service)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(service)),
    )


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_text_where_the_answer_s_tool_was_wished_for_is_judged() -> None:
    """The server cannot be made to call a tool: what the model writes instead may be the answer, or handed back."""
    service = Service(CALL, payload("Four."), payload("Really four."), payload('{"n": 4}'))
    with runtime_for(service) as runtime:
        outcome = runtime.run("?", output=SCHEMA)

    assert isinstance(outcome, RunResult)
    assert outcome.output == {"n": 4}
    assert "call final_answer" in service.bodies[3]["messages"][-1]["content"]


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_run_with_parallel_calls(colour: str) -> None:
    """The second request holds calls, thinking and results, in the order of the calls."""
    service = Service(CALL, ANSWER)
    with runtime_for(service) as runtime:
        outcome = runtime.run("?") if colour == "sync" else asyncio.run(runtime.arun("?"))

    assert isinstance(outcome, RunResult)
    assert outcome.content == "2 and 4."
    assert service.bodies[1]["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [call({"a": 1}, "double"), call({"a": 2}, "double")],
        },
        {"role": "tool", "tool_name": "double", "content": "2"},
        {"role": "tool", "tool_name": "double", "content": "4"},
    ]


@pytest.mark.lesson(97, 122)
def test_ids_are_unique_over_the_rounds_of_a_run() -> None:
    """The server gives none."""
    with runtime_for(Service(CALL, CALL, ANSWER)) as runtime:
        outcome = runtime.run("?")

    assert isinstance(outcome, RunResult)
    ids = [made.id for message in outcome.messages for made in message.tool_calls or ()]
    assert len(set(ids)) == len(ids) == 4


def test_a_streamed_run_with_a_tool() -> None:
    """Deltas come as they are sent, and add up to the answer."""
    service = Service(line(tool_calls=[call({"a": 1}, "double")]) + end(), line("It ") + line("is 2.") + end())
    with runtime_for(service) as runtime, runtime.stream("?") as stream:
        texts = [event.text for event in stream if isinstance(event, TextDelta)]

    assert texts == ["It ", "is 2."]
    assert isinstance(stream.outcome, RunResult)
    assert stream.outcome.content == "It is 2."
    assert [body["stream"] for body in service.bodies] == [True, True]


@pytest.mark.parametrize(
    ("body", "error"),
    [(line("It "), StreamInterruptedError), (line("It ") + b'{"error": "out of memory"}\n', ServiceError)],
)
def test_a_stream_that_fails_in_the_middle_fails_the_run(body: bytes, error: type[Exception]) -> None:
    """What was shown is not told to be an answer."""
    with runtime_for(Service(body)) as runtime, pytest.raises(error), runtime.stream("?") as stream:
        list(stream)
