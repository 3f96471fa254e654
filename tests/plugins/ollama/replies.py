"""Short ways to make bodies of Ollama's chat, whole and streamed, and to read what the codec makes of them."""

from __future__ import annotations

import json
from typing import Any

from nr_llm.events import Delta
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.specs import ToolSpec
from nr_llm_ollama import OllamaCodec, OllamaOptions

from tests.plugins.told import fed

CODEC = OllamaCodec(provider="test", url="http://host/api/chat")
ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


def asked(
    *messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), own: OllamaOptions | None = None, **options: Any
) -> CompletionRequest:
    """Return a request; without messages it says hello."""
    stream = options.pop("stream", False)
    model = options.pop("model", "qwen3")
    return CompletionRequest(
        model=model,
        messages=messages or (ChatMessage.user("Hello"),),
        tools=tools,
        options=Options(**options, provider_options=() if own is None else (own,)),
        stream=stream,
    )


def body_of(request: CompletionRequest) -> dict[str, Any]:
    """Return the body that the codec makes of `request`, as the server reads it."""
    body: dict[str, Any] = json.loads(CODEC.encode(request).body)
    return body


def sent(*messages: ChatMessage) -> list[dict[str, Any]]:
    """Return the messages of a conversation as they are sent."""
    found: list[dict[str, Any]] = body_of(asked(*messages))["messages"]
    return found


def called(*calls: tuple[str, str], content: str = "") -> ChatMessage:
    """Return an assistant turn with a call for each (id, name)."""
    return ChatMessage.assistant_tool_calls([ToolCall(call_id, name, {"a": 1}) for call_id, name in calls], content)


def call(arguments: Any = None, name: Any = "add", **more: Any) -> dict[str, Any]:
    """Return a call as a reply carries it."""
    return {"function": {"name": name, "arguments": {} if arguments is None else arguments}} | more


def payload(content: Any = "", done: Any = True, reason: Any = "stop", **message: Any) -> dict[str, Any]:
    """Return a reply, or a line of one, decoded."""
    line = {"model": "qwen3:8b", "message": {"role": "assistant", "content": content} | message, "done": done}
    end = {"done_reason": reason, "prompt_eval_count": 5, "eval_count": 3}
    return line | ({name: value for name, value in end.items() if value is not None} if done else {})


def read(body: Any, request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a whole reply gives."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode(HttpReply(200, {}, data), request or asked())


def line(content: Any = "", **message: Any) -> bytes:
    """Return a line in the middle of a stream."""
    return json.dumps(payload(content, done=False, **message)).encode() + b"\n"


def end(content: Any = "", **more: Any) -> bytes:
    """Return the last line of a stream."""
    return json.dumps(payload(content, **more)).encode() + b"\n"


def streamed(*data: bytes, request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a stream gives."""
    return streamed_with(*data, request=request)[1]


def streamed_with(*data: bytes, request: CompletionRequest | None = None) -> tuple[list[Delta], CompletionResponse]:
    """Return the deltas and the answer a stream gives."""
    return fed(CODEC, request or asked(), data)
