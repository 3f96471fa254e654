"""Recorded bodies of Ollama's chat as the requests a caller of ours would have made."""

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
    Return the request that `body` is the wire form of.

    Raises:
        InvalidValueError: A message, tool or option is none.
    """
    options, form = body.get("options") or {}, body.get("format")
    return CompletionRequest(
        model=body["model"],
        messages=tuple(_messages(body["messages"])),
        tools=tuple(map(ToolSpec.from_wire, body.get("tools") or ())),
        options=Options(
            temperature=options.get("temperature"),
            seed=options.get("seed"),
            response_schema=form if isinstance(form, dict) else None,
        ),
        stream=body.get("stream", True),
    )


def _messages(turns: Any) -> Iterator[ChatMessage]:
    open_calls: list[ToolCall] = []
    for number, turn in enumerate(turns):
        content = turn.get("content") or ""
        if turn["role"] == "tool":
            call = open_calls.pop(0)
            yield ChatMessage.tool_result(call.id, content)
        elif turn["role"] == "assistant":
            made = [call["function"] for call in turn.get("tool_calls") or ()]
            open_calls = [ToolCall(f"call_{number}_{i}", f["name"], f["arguments"]) for i, f in enumerate(made)]
            yield ChatMessage("assistant", content, tool_calls=tuple(open_calls) or None)
        else:
            images = [Attachment("image/png", base64.b64decode(image)) for image in turn.get("images") or ()]
            yield ChatMessage(turn["role"], content, attachments=tuple(images))
