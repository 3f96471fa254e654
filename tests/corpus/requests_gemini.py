"""Recorded generateContent bodies as the requests a caller of ours would have made."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any
from urllib.parse import unquote

from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

NAMED = {
    "temperature": "temperature",
    "topP": "top_p",
    "seed": "seed",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop",
}
"""Fields of `generationConfig` that are options of ours, and their names."""

MODES = {"AUTO": "auto", "NONE": "none", "ANY": "required"}
"""Modes of calling that are choices of ours."""

LITERAL = frozenset({"args", "response", "parametersJsonSchema", "responseJsonSchema", "parameters", "responseSchema"})
"""Fields whose values have names of their own."""


def camel(value: Any) -> Any:
    """Return a body with the names its service documents; it takes the ones with underscores too."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    named = {re.sub(r"_(\w)", lambda found: found[1].upper(), name): item for name, item in value.items()}
    return {name: item if name in LITERAL else camel(item) for name, item in named.items() if item is not None}


def read_request(body: Mapping[str, Any], endpoint_path: str) -> CompletionRequest:
    """
    Return the request that `body` is the wire form of.

    Args:
        body: The body.
        endpoint_path: Where it went; names the model, and whether a stream is wanted.

    Raises:
        InvalidValueError: A message, tool or option is none.
    """
    given = camel(body)
    place = re.search(r"/models/([^:?]+):(\w+)", endpoint_path)
    assert place is not None
    system = [ChatMessage.system(part["text"]) for part in given.get("systemInstruction", {}).get("parts", ())]
    entries = given.get("tools", ())
    return CompletionRequest(
        model=unquote(place[1]),
        messages=(*system, *_messages(given["contents"])),
        tools=tuple(_tool(declared) for entry in entries for declared in entry.get("functionDeclarations", ())),
        options=_options(given),
        stream="stream" in place[2],
    )


def _tool(declared: Mapping[str, Any]) -> ToolSpec:
    schema = declared.get("parametersJsonSchema") or _lower(declared.get("parameters") or {})
    return ToolSpec(declared["name"], declared.get("description", ""), schema)


def _lower(value: Any) -> Any:
    """Return a schema of the older form with JSON Schema's names of types."""
    if isinstance(value, list):
        return [_lower(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    schema = {name: _lower(item) for name, item in value.items()}
    return schema | ({"type": schema["type"].lower()} if isinstance(schema.get("type"), str) else {})


def _messages(contents: Any) -> Iterator[ChatMessage]:
    known, open_calls = 0, list[ToolCall]()
    for model, parts in _turns(contents):
        if model:
            message = _turn(parts, known)
            open_calls = list(message.tool_calls or ())
            known += len(open_calls)
            yield message
            continue
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        for answer in answers:
            call = next(call for call in open_calls if call.name == answer["name"])
            open_calls.remove(call)
            yield ChatMessage.tool_result(call.id, json.dumps(answer.get("response")))
        texts = [part["text"] for part in parts if part.get("text")]
        files = [_attachment(part) for part in parts if "inlineData" in part or "fileData" in part]
        if texts or files or not answers:
            yield ChatMessage.user("\n".join(texts), *files)


def _turns(contents: Any) -> Iterator[tuple[bool, list[dict[str, Any]]]]:
    """Yield whether it is the model's, and the parts of each turn; the service joins neighbours of one role too."""
    listed = [contents] if isinstance(contents, Mapping) else contents
    for model, group in groupby(listed, lambda content: content.get("role", "user") == "model"):
        yield (
            model,
            [{"text": part} if isinstance(part, str) else part for content in group for part in content["parts"]],
        )


def _turn(parts: list[dict[str, Any]], known: int) -> ChatMessage:
    given = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = [ToolCall(f"call_{known + i}", call["name"], call.get("args") or {}) for i, call in enumerate(given)]
    text = "".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))
    return ChatMessage("assistant", text, tool_calls=tuple(calls) or None, provider_state={"gemini": {"parts": parts}})


def urlsafe(data: str) -> str:
    """Return base64 in the alphabet for addresses, which the service takes as well as the common one."""
    return data.replace("+", "-").replace("/", "_")


def _attachment(part: Mapping[str, Any]) -> Attachment:
    if "inlineData" in part:
        return Attachment(part["inlineData"]["mimeType"], base64.urlsafe_b64decode(urlsafe(part["inlineData"]["data"])))
    return Attachment(part["fileData"].get("mimeType", "video/*"), url=part["fileData"]["fileUri"])


def _options(given: Mapping[str, Any]) -> Options:
    config = dict(given.get("generationConfig", {}))
    settings = {NAMED[name]: config.pop(name) for name in list(config) if name in NAMED}
    calling = given.get("toolConfig", {}).get("functionCallingConfig", {})
    names = calling.get("allowedFunctionNames", ())
    settings["tool_choice"] = names[0] if len(names) == 1 else MODES.get(calling.get("mode", ""))
    form = config.get("responseJsonSchema") or _lower(config.get("responseSchema"))
    if form:
        settings["response_schema"] = form
        config = {name: value for name, value in config.items() if not name.startswith("response")}
    server = [entry for entry in given.get("tools", ()) if "functionDeclarations" not in entry]
    raw = {name: given[name] for name in ("safetySettings", "cachedContent") if name in given}
    own = {"raw": raw | ({"generationConfig": config} if config else {}) | ({"tools": server} if server else {})}
    return Options(provider_options={"gemini": own}, **settings)
