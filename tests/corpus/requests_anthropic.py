"""Recorded Messages bodies as the requests a caller of ours would have made."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

CHOICES = {"auto": "auto", "none": "none", "any": "required"}


def read_request(body: Mapping[str, Any], endpoint_path: str) -> CompletionRequest:  # one for all forms
    """
    Return the request that `body` is the wire form of; tools and turns of the service's own stay with it.

    Raises:
        InvalidValueError: A message, tool or option is none.
    """
    system = body.get("system") or []
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    choice = body.get("tool_choice") or {}
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    return CompletionRequest(
        model=body["model"],
        messages=(*map(ChatMessage.system, texts), *_messages(body["messages"])),
        tools=tuple(
            ToolSpec(tool["name"], tool.get("description", ""), tool["input_schema"])
            for tool in body.get("tools") or ()
            if "input_schema" in tool
        ),
        options=Options(
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            max_tokens=body["max_tokens"],
            stop=tuple(body.get("stop_sequences") or ()),
            tool_choice=choice.get("name") or CHOICES.get(choice.get("type", "")),
            response_schema=form.get("schema"),
        ),
        stream=body.get("stream", False),
    )


def _messages(turns: Any) -> Iterator[ChatMessage]:
    for turn in turns:
        content = turn["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turn["role"] == "assistant":
            yield _assistant(blocks)
            continue
        yield from (_result(block) for block in blocks if block["type"] == "tool_result")
        said = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        files = [_attachment(block["source"]) for block in blocks if block["type"] in ("image", "document")]
        if turn["role"] == "system" and said:
            yield ChatMessage.system(said)
        elif said or files:
            yield ChatMessage.user(said, *files)


def _assistant(blocks: Any) -> ChatMessage:
    calls = [ToolCall(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return ChatMessage(
        "assistant", text, tool_calls=tuple(calls) or None, provider_state={"anthropic": {"content": blocks}}
    )


def _result(block: Mapping[str, Any]) -> ChatMessage:
    content = block.get("content") or ""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = "\n".join(part.get("text", "") for part in parts)
    return ChatMessage.tool_result(block["tool_use_id"], text, is_error=bool(block.get("is_error")))


def _attachment(source: Mapping[str, Any]) -> Attachment:
    if source["type"] == "base64":
        return Attachment(source["media_type"], base64.b64decode(source["data"]))
    if source["type"] == "text":
        return Attachment("text/plain", source["data"].encode())
    return Attachment(source.get("media_type") or "application/pdf", url=source["url"])
