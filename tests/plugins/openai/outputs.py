"""Short ways to make Responses bodies, whole and streamed, and to read what a codec makes of them."""

from __future__ import annotations

import json
from typing import Any

from nr_llm.events import Delta
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm_openai import ResponsesCodec

from tests.plugins.openai.replies import asked, event

CODEC = ResponsesCodec(provider="test", url="http://host/v1/responses")


def sent(*messages: ChatMessage, **options: Any) -> dict[str, Any]:
    """Return the body that a request becomes."""
    body: dict[str, Any] = json.loads(CODEC.encode(asked(*messages, **options)).body)
    return body


def said(text: str, **more: Any) -> dict[str, Any]:
    """Return a message item."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]} | more


def refused(text: str) -> dict[str, Any]:
    """Return a message item that refuses."""
    return said("", content=[{"type": "refusal", "refusal": text}])


def called(arguments: str = '{"a": 1}', call_id: str = "call_1", **more: Any) -> dict[str, Any]:
    """Return a call as an item."""
    names = {"id": f"fc_{call_id}", "call_id": call_id, "name": "add", "status": "completed"}
    return {"type": "function_call", "arguments": arguments} | names | more


def thought(text: str = "Hm.", **more: Any) -> dict[str, Any]:
    """Return a reasoning item."""
    summary = [{"type": "summary_text", "text": text}]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "sealed"} | more


def payload(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a whole reply."""
    return {"id": "resp_1", "model": "m1", "status": "completed", "output": list(items)} | more


def read(*items: dict[str, Any], request: CompletionRequest | None = None, **more: Any) -> CompletionResponse:
    """Return the answer of a whole reply."""
    body = json.dumps(payload(*items, **more)).encode()
    return CODEC.decode(HttpReply(200, {}, body), request or asked())


def happened(kind: str, **fields: Any) -> bytes:
    """Return an event of a stream."""
    return event({"type": f"response.{kind}", **fields}, f"response.{kind}")


def completed(*items: dict[str, Any], **more: Any) -> bytes:
    """Return the event that ends a stream."""
    return happened("completed", response=payload(*items, **more))


def streamed(*data: bytes, request: CompletionRequest | None = None) -> tuple[list[Delta], CompletionResponse]:
    """Return the deltas and the answer a stream gives."""
    decoder = CODEC.decoder(request or asked())
    deltas = [delta for part in data for delta in decoder.feed(part)]
    return deltas, decoder.finish()
