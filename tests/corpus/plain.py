"""Reads well-behaved replies the simple way, without any code of ours, to say what a codec should have found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs


@attrs.define
class Found:
    """
    What a reply holds.

    Attributes:
        content: Text.
        reasoning: Thinking.
        refusal: What was said instead.
        calls: (name, arguments) of each call; arguments None where they are no JSON object.
        read: Tokens read, or None.
        written: Tokens written, or None.
        finish: The service's word for the end.
        model: The model that answered, where it says so.
    """

    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[tuple[str, Any]] = attrs.field(factory=list)
    read: int | None = None
    written: int | None = None
    finish: str | None = None
    model: str = ""


Reader = Callable[[Any], Found]


def events(text: str) -> Iterator[Any]:
    """Yield the payloads of a stream of server-sent events."""
    for frame in text.replace("\r\n", "\n").split("\n\n"):
        data = "\n".join(line[5:].strip() for line in frame.split("\n") if line.startswith("data:"))
        if data and data != "[DONE]":
            yield json.loads(data)


def lines(text: str) -> Iterator[Any]:
    """Yield the payloads of a stream of lines."""
    yield from (json.loads(line) for line in text.split("\n") if line.strip())


def parsed(arguments: Any) -> Any:
    """Return arguments as an object, or None when they are none."""
    if isinstance(arguments, dict):
        return arguments
    try:
        value = json.loads(arguments or "{}", strict=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def chat_content(content: Any) -> tuple[str, str]:
    """Return text and thinking of a content: a text, nothing, or a list of parts."""
    if not isinstance(content, list):
        return content or "", ""
    text = "".join(part["text"] for part in content if part["type"] == "text")
    inner = [part["thinking"] for part in content if part["type"] == "thinking"]
    return text, "".join(piece["text"] for thinking in inner for piece in thinking)


def chat_thinking(message: dict[str, Any]) -> str:
    """Return the thinking beside the content, under the names that services use."""
    details = "".join(d.get("text") or d.get("summary") or "" for d in message.get("reasoning_details") or ())
    return message.get("reasoning_content") or message.get("reasoning") or details or ""


def chat_usage(found: Found, usage: Any) -> None:
    """Take the counts; where the total says that reasoning is not in the output, it is added."""
    usage = usage or {}
    found.read, found.written = usage.get("prompt_tokens", found.read), usage.get("completion_tokens", found.written)
    thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    if usage.get("total_tokens") == (found.read or 0) + (found.written or 0) + thought and thought:
        found.written = (found.written or 0) + thought


def chat(payload: Any) -> Found:
    """Read a whole Chat Completions reply."""
    choice = payload["choices"][0]
    message = choice.get("message") or {}
    text, thinking = chat_content(message.get("content"))
    found = Found(
        text, thinking or chat_thinking(message), message.get("refusal") or "", model=payload.get("model") or ""
    )
    found.finish = choice["finish_reason"]
    found.calls = [
        (call["function"]["name"], parsed(call["function"].get("arguments")))
        for call in message.get("tool_calls") or ()
    ]
    chat_usage(found, payload.get("usage"))
    return found


def chat_stream(text: str) -> Found:
    """Read a Chat Completions stream."""
    found, calls = Found(), dict[Any, list[str]]()
    for payload in events(text):
        found.model = found.model or payload.get("model") or ""
        if usage := payload.get("usage") or (payload.get("x_groq") or {}).get("usage"):
            chat_usage(found, usage)
        for choice in (payload.get("choices") or [])[:1]:
            found.finish = choice.get("finish_reason") or found.finish
            delta = choice.get("delta") or {}
            said, thinking = chat_content(delta.get("content"))
            found.content += said
            found.reasoning += thinking or chat_thinking(delta)
            found.refusal += delta.get("refusal") or ""
            for call in delta.get("tool_calls") or ():
                key = call["index"] if call.get("index") is not None else call.get("id")
                entry = calls.setdefault(key, ["", ""])
                entry[0] = entry[0] or call["function"].get("name") or ""
                entry[1] += call["function"].get("arguments") or ""
    found.calls = [(name, parsed(arguments)) for name, arguments in calls.values()]
    return found


def responses(payload: Any) -> Found:
    """Read a whole Responses reply."""
    found, thoughts = Found(model=payload["model"]), list[str]()
    for item in payload["output"]:
        for part in (item.get("content") or []) if item["type"] == "message" else []:
            found.content += part.get("text", "") if part["type"] == "output_text" else ""
            found.refusal += part.get("refusal", "") if part["type"] == "refusal" else ""
        if item["type"] == "function_call":
            found.calls.append((item["name"], parsed(item["arguments"])))
        if item["type"] == "reasoning":
            parts = [*item.get("summary", ()), *(item.get("content") or ())]
            thoughts += [part["text"] for part in parts if part.get("text")]
    found.reasoning = "\n\n".join(thoughts)
    found.finish = (payload.get("incomplete_details") or {}).get("reason") or payload["status"]
    usage = payload.get("usage") or {}
    found.read, found.written = usage.get("input_tokens"), usage.get("output_tokens")
    return found


def responses_stream(text: str) -> Found:
    """Read a Responses stream: its last event repeats the whole."""
    ends = [p["response"] for p in events(text) if p["type"] in ("response.completed", "response.incomplete")]
    return responses(ends[-1])


def anthropic(payload: Any) -> Found:
    """Read a whole Messages reply."""
    found = Found(model=payload["model"], finish=payload["stop_reason"])
    for block in payload["content"]:
        found.content += block["text"] if block["type"] == "text" else ""
        found.reasoning += block["thinking"] if block["type"] == "thinking" else ""
        if block["type"] == "tool_use":
            found.calls.append((block["name"], block["input"]))
    anthropic_usage(found, payload["usage"])
    return found


def anthropic_usage(found: Found, usage: dict[str, Any]) -> None:
    """Take the counts; cached input is counted beside the rest."""
    parts = [usage.get(f"{kind}input_tokens") or 0 for kind in ("", "cache_read_", "cache_creation_")]
    found.read, found.written = sum(parts), usage["output_tokens"]


def anthropic_stream(text: str) -> Found:
    """Read a Messages stream."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events(text):
        match event["type"]:
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "json": ""}
            case "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                for key in ("text", "thinking"):
                    block[key] = block.get(key, "") + delta.get(key, "") if key in delta else block.get(key)
                block["json"] += delta.get("partial_json", "")
            case "message_delta":
                message["stop_reason"] = event["delta"]["stop_reason"]
                message["usage"] = {**message["usage"], **event["usage"]}
    for block in blocks.values():
        if block["type"] == "tool_use":
            block["input"] = json.loads(block["json"] or "{}")
    return anthropic({**message, "content": list(blocks.values())})


def ollama(payload: Any) -> Found:
    """Read a whole reply of Ollama's."""
    message = payload["message"]
    found = Found(message.get("content") or "", message.get("thinking") or "", model=payload["model"])
    found.calls = [(c["function"]["name"], parsed(c["function"]["arguments"])) for c in message.get("tool_calls") or ()]
    found.read, found.written = payload.get("prompt_eval_count"), payload.get("eval_count")
    found.finish = payload.get("done_reason")
    return found


def ollama_stream(text: str) -> Found:
    """Read a stream of Ollama's."""
    whole = Found()
    for payload in lines(text):
        part = ollama(payload)
        whole.content, whole.reasoning = whole.content + part.content, whole.reasoning + part.reasoning
        whole.calls += part.calls
        whole.read, whole.written, whole.finish, whole.model = part.read, part.written, part.finish, part.model
    return whole
