"""Short ways to make generateContent bodies, whole and streamed, and to read what the codec makes of them."""

from __future__ import annotations

import json
from typing import Any

from nr_llm.events import Delta
from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.specs import ToolSpec
from nr_llm_gemini import GeminiCodec

from tests.plugins.told import fed

CODEC = GeminiCodec(provider="test", url="http://host/v1beta/models")
ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


def asked(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), **options: Any) -> CompletionRequest:
    """Return a request; without messages it says hello."""
    stream = options.pop("stream", False)
    model = options.pop("model", "gemini-2.5-flash")
    return CompletionRequest(
        model=model,
        messages=messages or (ChatMessage.user("Hello"),),
        tools=tools,
        options=Options(**options),
        stream=stream,
    )


def body_of(request: CompletionRequest) -> dict[str, Any]:
    """Return the body that the codec makes of `request`, as the service reads it."""
    body: dict[str, Any] = json.loads(CODEC.encode(request).body)
    return body


def contents_of(*messages: ChatMessage, model: str = "gemini-2.5-flash") -> list[dict[str, Any]]:
    """Return the contents of a conversation."""
    contents: list[dict[str, Any]] = body_of(asked(*messages, model=model))["contents"]
    return contents


def payload(*parts: Any, finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    """Return a reply, or a chunk of one, decoded."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-flash-001", "responseId": "r1"} | more


def call(name: Any = "add", args: Any = None, signature: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a part with a call; no `args` field without arguments."""
    given = {"name": name, **({} if args is None else {"args": args}), **more}
    return {"functionCall": given} | ({} if signature is None else {"thoughtSignature": signature})


def read(body: Any, request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a whole reply gives."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode(HttpReply(200, {}, data), request or asked())


def event(data: Any, end: str = "\r\n") -> bytes:
    """Return one event of a stream."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"data: {text}{end}{end}".encode()


def chunks(*payloads: dict[str, Any]) -> bytes:
    """Return a stream of these chunks."""
    return b"".join(map(event, payloads))


def streamed(*data: bytes, request: CompletionRequest | None = None) -> tuple[list[Delta], CompletionResponse]:
    """Return the deltas and the answer a stream gives."""
    return fed(CODEC, request or asked(), data)
