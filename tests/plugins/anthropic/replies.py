"""Short ways to make Messages bodies, whole and streamed, and to read what the codec makes of them."""

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
from nr_llm_anthropic import AnthropicOptions, MessagesCodec

from tests.plugins.told import fed

CODEC = MessagesCodec(provider="test", url="http://host/v1/messages")
ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
MODEL = "claude-sonnet-4-5"
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def asked(
    *messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), own: AnthropicOptions | None = None, **options: Any
) -> CompletionRequest:
    """Return a request; without messages it says hello."""
    stream = options.pop("stream", False)
    model = options.pop("model", MODEL)
    return CompletionRequest(
        model=model,
        messages=messages or (ChatMessage.user("Hello"),),
        tools=tools,
        options=Options(**options, provider_options=() if own is None else (own,)),
        stream=stream,
    )


def body_of(request: CompletionRequest) -> dict[str, Any]:
    """Return the body that the codec makes of `request`, as the service reads it."""
    body: dict[str, Any] = json.loads(CODEC.encode(request).body)
    return body


def turns_of(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """Return the turns of a conversation."""
    turns: list[dict[str, Any]] = body_of(asked(*messages, **options))["messages"]
    return turns


def called(*ids: str, content: str = "") -> ChatMessage:
    """Return an assistant turn that calls a tool once for each id."""
    return ChatMessage.assistant_tool_calls([ToolCall(call_id, "add", {"a": 1}) for call_id in ids], content)


def text(content: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": content}


def use(given: Any = None, name: Any = "add", call_id: Any = "toolu_1", **more: Any) -> dict[str, Any]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given} | more


def payload(*blocks: Any, stop: Any = "end_turn", **more: Any) -> dict[str, Any]:
    """Return a reply, decoded."""
    usage = {"input_tokens": 5, "output_tokens": 3}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1"}
    return head | {"content": list(blocks), "stop_reason": stop, "usage": usage} | more


def read(body: Any, request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a whole reply gives."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode(HttpReply(200, {}, data), request or asked())


def event(kind: str, **fields: Any) -> bytes:
    """Return one event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()


START = event("message_start", message=payload(stop=None))


def block(index: Any, begun: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    """Return the events of one block."""
    pieces = [event("content_block_delta", index=index, delta=delta) for delta in deltas]
    begin = event("content_block_start", index=index, content_block=begun)
    return begin + b"".join(pieces) + event("content_block_stop", index=index)


def said(*pieces: str, index: Any = 0) -> bytes:
    """Return the events of a block of text."""
    return block(index, text(""), *({"type": "text_delta", "text": piece} for piece in pieces))


def written(*pieces: Any, index: Any = 0, begun: dict[str, Any] | None = None) -> bytes:
    """Return the events of a call whose input comes in pieces."""
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, begun or use(), *deltas)


def end(stop: Any = "end_turn", usage: dict[str, Any] | None = None, **delta: Any) -> bytes:
    """Return the events at the end of a stream."""
    told = event("message_delta", delta={"stop_reason": stop} | delta, usage=usage or {"output_tokens": 7})
    return told + event("message_stop")


def streamed(*data: bytes, request: CompletionRequest | None = None) -> CompletionResponse:
    """Return the answer a stream gives."""
    return streamed_with(*data, request=request)[1]


def streamed_with(*data: bytes, request: CompletionRequest | None = None) -> tuple[list[Delta], CompletionResponse]:
    """Return the deltas and the answer a stream gives."""
    return fed(CODEC, request or asked(), data)
