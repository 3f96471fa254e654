"""Short ways to make Chat Completions bodies, whole and streamed, and to read what a codec makes of them."""

from __future__ import annotations

import json
from typing import Any

import attrs
from nr_llm.events import Delta
from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.specs import ToolSpec
from nr_llm_openai import COMPATIBLE, ChatCodec, Dialect

from tests.plugins.told import fed

CODEC = ChatCodec(provider="test", url="http://host/v1/chat/completions", dialect=COMPATIBLE)
ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


def asked(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), **options: Any) -> CompletionRequest:
    """Return a request; without messages it says hello."""
    stream = options.pop("stream", False)
    model = options.pop("model", "m")
    return CompletionRequest(
        model=model,
        messages=messages or (ChatMessage.user("Hello"),),
        tools=tools,
        options=Options(**options),
        stream=stream,
    )


def body_of(request: CompletionRequest, dialect: Dialect = COMPATIBLE, provider: str = "test") -> dict[str, Any]:
    """Return the body that a codec makes of `request`, as a service reads it."""
    codec = attrs.evolve(CODEC, dialect=dialect, provider=provider)
    body: dict[str, Any] = json.loads(codec.encode(request).body)
    return body


def whole(message: dict[str, Any], finish: Any = "stop", **more: Any) -> bytes:
    """Return a whole reply."""
    payload = {"id": "r1", "model": "m1", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    return json.dumps(payload | more).encode()


def read(body: bytes | dict[str, Any], request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a whole reply gives."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode(HttpReply(200, {}, data), request or asked())


def call(arguments: Any, name: Any = "add", call_id: Any = "call_1", **more: Any) -> dict[str, Any]:
    """Return a call as a reply carries it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}} | more


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> bytes:
    """Return one event of a stream."""
    payload = {"id": "r1", "model": "m1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}]}
    return b"data: " + json.dumps(payload | more).encode() + b"\n\n"


def event(payload: Any, name: str = "") -> bytes:
    """Return one event with any payload."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()


DONE = event("[DONE]")


def pieces(*deltas: dict[str, Any], finish: Any = "tool_calls") -> bytes:
    """Return a stream whose chunks each carry one piece of a call."""
    return b"".join(chunk({"tool_calls": [delta]}) for delta in deltas) + chunk(finish=finish) + DONE


def piece(
    arguments: Any = None, name: Any = None, call_id: Any = None, index: int | None = None, **more: Any
) -> dict[str, Any]:
    """Return a piece of a call, without the keys that are None."""
    function = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    given = {"index": index, "id": call_id, "function": function or None}
    return {key: value for key, value in given.items() if value is not None} | more


def streamed(*data: bytes, request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a stream gives."""
    return streamed_with(*data, request=request)[1]


def streamed_with(*data: bytes, request: CompletionRequest | None = None) -> tuple[list[Delta], CompletionResponse]:
    """Return the deltas and the answer a stream gives."""
    return fed(CODEC, request or asked(), data)
