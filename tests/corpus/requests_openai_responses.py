"""Recorded Responses bodies as the requests a caller of ours would have made."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec


def read_request(body: Mapping[str, Any], endpoint_path: str) -> CompletionRequest:  # one for all forms
    """
    Return the request that `body` is the wire form of; items and tools of the service's own stay with it.

    Raises:
        InvalidValueError: A message, tool or option is none.
    """
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system = [ChatMessage.system(body["instructions"])] if body.get("instructions") else []
    choice = body.get("tool_choice")
    form = (body.get("text") or {}).get("format") or {}
    return CompletionRequest(
        model=body["model"],
        messages=(*system, *_messages(items)),
        tools=tuple(
            ToolSpec(tool["name"], tool.get("description") or "", tool["parameters"])
            for tool in body.get("tools") or ()
            if tool["type"] == "function"
        ),
        options=Options(
            temperature=body.get("temperature"),
            max_tokens=body.get("max_output_tokens"),
            tool_choice=choice.get("name") if isinstance(choice, dict) else choice,
            response_schema=form.get("schema"),
        ),
        stream=body.get("stream", False),
    )


def _messages(items: Any) -> Iterator[ChatMessage]:
    turn: list[Mapping[str, Any]] = []  # what the model said without a break
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output" or (kind == "message" and item["role"] != "assistant"):
            if turn:
                yield _assistant(turn)
            turn = []
            yield _result(item) if kind == "function_call_output" else _said(item)
        else:
            turn.append(item)
    if turn:
        yield _assistant(turn)


def _assistant(items: list[Mapping[str, Any]]) -> ChatMessage:
    calls = [
        ToolCall.from_wire({"id": item["call_id"], "function": {"name": item["name"], "arguments": item["arguments"]}})
        for item in items
        if item.get("type") == "function_call"
    ]
    text = "".join(_text(item["content"]) for item in items if item.get("role") == "assistant")
    return ChatMessage("assistant", text, tool_calls=tuple(calls) or None)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _said(item: Mapping[str, Any]) -> ChatMessage:
    content = item["content"]
    parts = content if isinstance(content, list) else []
    files = [_image(part["image_url"]) for part in parts if part["type"] == "input_image" and part.get("image_url")]
    role = "system" if item["role"] == "developer" else item["role"]
    return ChatMessage(role, _text(content), attachments=tuple(files))


def _image(url: str) -> Attachment:
    head, mark, data = url.partition(";base64,")
    return Attachment(head.removeprefix("data:"), base64.b64decode(data)) if mark else Attachment("image/png", url=url)


def _result(item: Mapping[str, Any]) -> ChatMessage:
    return ChatMessage.tool_result(item["call_id"], _text(item["output"]))
