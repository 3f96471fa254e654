"""What a model says before or after a call, even if it is nothing, keeps no call from being run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from nr_llm import Finished, Provider, RunResult, Runtime, TextDelta, tool

from tests.integration.formats import FORMATS, sse
from tests.plugins.running import ran, watched

TEXTS = {"nothing": "", "blanks": " \n", "words": "Let me add."}
WRITTEN = '{"a": 1, "b": 2}'


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def chat(before: str, after: str, *, stream: bool) -> Iterator[bytes]:
    """Chat Completions."""
    function = {"name": "add", "arguments": WRITTEN}
    if not stream:
        call = {"id": "c1", "type": "function", "function": function}
        message = {"role": "assistant", "content": before + after, "tool_calls": [call]}
        yield json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()
        return
    start = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": piece}} for piece in (WRITTEN[:5], WRITTEN[5:])]
    deltas = [{"content": before}, *({"tool_calls": [piece]} for piece in (start, *rest)), {"content": after}]
    for delta in deltas:
        yield sse({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}) + b"data: [DONE]\n\n"


def responses(before: str, after: str, *, stream: bool) -> Iterator[bytes]:
    """OpenAI's Responses."""

    def said(text: str) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    called = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "add", "arguments": WRITTEN}
    output = [said(before), called, said(after)]
    whole = {"id": "r1", "status": "completed", "model": "m", "output": output}
    if not stream:
        yield json.dumps(whole).encode()
        return
    for i, item in enumerate(output):
        opened = item | ({"arguments": ""} if item is called else {"content": []})
        yield sse({"type": "response.output_item.added", "output_index": i, "item": opened})
        kind, text = ("function_call_arguments", WRITTEN) if item is called else ("output_text", (before, "", after)[i])
        yield sse({"type": f"response.{kind}.delta", "output_index": i, "content_index": 0, "delta": text})
        yield sse({"type": "response.output_item.done", "output_index": i, "item": item})
    yield sse({"type": "response.completed", "response": whole})


def anthropic(before: str, after: str, *, stream: bool) -> Iterator[bytes]:
    """Anthropic's Messages."""
    use = {"type": "tool_use", "id": "c1", "name": "add", "input": json.loads(WRITTEN)}
    content = [{"type": "text", "text": before}, use, {"type": "text", "text": after}]
    whole = {"id": "m1", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use"}
    if not stream:
        yield json.dumps(whole).encode()
        return
    yield sse({"type": "message_start", "message": whole | {"content": [], "stop_reason": None}})
    for i, block in enumerate(content):
        begun = block | ({"input": {}} if block is use else {"text": ""})
        yield sse({"type": "content_block_start", "index": i, "content_block": begun})
        delta = {"type": "input_json_delta", "partial_json": WRITTEN}
        if block is not use:
            delta = {"type": "text_delta", "text": str(block["text"])}
        yield sse({"type": "content_block_delta", "index": i, "delta": delta})
        yield sse({"type": "content_block_stop", "index": i})
    yield sse({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}) + sse({"type": "message_stop"})


def gemini(before: str, after: str, *, stream: bool) -> Iterator[bytes]:
    """Google's generateContent."""
    parts = [{"text": before}, {"functionCall": {"name": "add", "args": json.loads(WRITTEN)}}, {"text": after}]
    if not stream:
        yield json.dumps({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}).encode()
        return
    for part in parts:
        yield sse({"candidates": [{"content": {"parts": [part]}}]}, end=b"\r\n\r\n")
    yield sse({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}, end=b"\r\n\r\n")


def ollama(before: str, after: str, *, stream: bool) -> Iterator[bytes]:
    """Ollama's chat."""
    calls = [{"function": {"name": "add", "arguments": json.loads(WRITTEN)}}]
    end = {"done": True, "done_reason": "stop"}
    if not stream:
        yield json.dumps({"message": {"content": before + after, "tool_calls": calls}, **end}).encode()
        return
    for message in ({"content": before}, {"content": "", "tool_calls": calls}, {"content": after}):
        yield json.dumps({"message": message, "done": False}).encode() + b"\n"
    yield json.dumps({"message": {"content": ""}, **end}).encode() + b"\n"


CALLING: dict[str, Callable[..., Iterator[bytes]]] = {
    form.__name__: form for form in (chat, responses, anthropic, gemini, ollama)
}


def provider(name: str) -> Provider:
    """Return the provider of a form, or skip where its plugin is not installed."""
    module = {"chat": "openai", "responses": "openai"}.get(name, name)
    plugin: Any = pytest.importorskip(f"nr_llm_{module}", reason=f"the {module} plugin is not installed here")
    made: Provider = {
        "chat": lambda: plugin.OpenAI("p", base_url="http://host/v1"),
        "responses": lambda: plugin.OpenAI("p", base_url="http://host/v1", api="responses"),
        "anthropic": lambda: plugin.Anthropic("p", base_url="http://host", api_key="sk-ant-test"),
        "gemini": lambda: plugin.Gemini("p", base_url="http://host", api_key="AIza-test"),
        "ollama": lambda: plugin.Ollama("p", base_url="http://host"),
    }[name]()
    return made


class Service:
    """Calls once, with text on both sides, and answers then."""

    def __init__(self, name: str, text: str, *, stream: bool) -> None:
        answer = next(form for form in FORMATS if form.name == name)
        whole = [json.dumps(answer.payload("It is 3.", 1)).encode()]
        self.replies = [CALLING[name](text, text, stream=stream), answer.events("It is 3.", 1) if stream else whole]
        self.bodies: list[bytes] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(request.content)
        return httpx.Response(200, content=b"".join(self.replies.pop(0)))


def runtime_for(name: str, service: Service) -> Runtime:
    """Return a Runtime whose one provider is `service`."""
    return Runtime(
        providers=[provider(name)],
        tools=[add],
        model="p:m",
        middleware=(),
        http=httpx.Client(transport=httpx.MockTransport(service)),
        async_http=httpx.AsyncClient(transport=httpx.MockTransport(service)),
    )


@pytest.mark.lesson(31, 32, 33, 34, 36, 81, 96, 103, 114)
@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", CALLING)
def test_a_call_beside_text_is_run(name: str, text: str, colour: str) -> None:
    """Whole and streamed, in both colours: once, with all of its arguments, and the run goes on to the answer."""
    plain, streamed = Service(name, text, stream=False), Service(name, text, stream=True)

    outcome = ran(runtime_for(name, plain), colour=colour)
    seen = watched(runtime_for(name, streamed), colour=colour)

    assert isinstance(seen[-1], Finished)
    for found, service in (outcome, plain), (seen[-1].outcome, streamed):
        assert isinstance(found, RunResult)
        assert [(call.name, dict(call.arguments), call.content) for call in found.invocations] == [
            ("add", {"a": 1, "b": 2}, "3")
        ]
        assert found.content == "It is 3."
        assert [b"Add two numbers." in body for body in service.bodies] == [True, True]
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == f"{text}{text}It is 3."
