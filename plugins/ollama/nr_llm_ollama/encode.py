"""Conversation to request: messages, tools and options as the body of a chat."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence

from nr_llm.codecs.calls import check_choice
from nr_llm.codecs.json import JSON, encode, encode_bytes
from nr_llm.codecs.names import wire_name
from nr_llm.codecs.notes import say_left_out
from nr_llm.codecs.turns import spans
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidRequestError
from nr_llm.memo import Segment
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

from nr_llm_ollama.options import OllamaOptions

LEVELS = re.compile(r"(.*/)?gpt-oss")
"""Models that think by level; others think or do not."""

PROPERTY = ("type", "items", "description", "enum")
"""Keywords of a parameter that the server reads: https://pkg.go.dev/github.com/ollama/ollama/api#ToolProperty"""

FIELDS = re.compile(r'"(properties|\$ref|additionalProperties)":[{"]')
"""What says that a parameter, or a part of it, is an object with a form of its own."""

WORDS = {"minimal": "low", "xhigh": "high", "max": "high"}
"""Levels of thinking by the names of others: https://docs.ollama.com/capabilities/thinking"""

OWN = frozenset({"messages", "stream", "options"})
"""Fields that are not overwritten by raw ones."""


def head_of(request: CompletionRequest, own: OllamaOptions, provider: str) -> dict[str, JSON]:
    """
    Return the body without messages and tools.

    Raises:
        InvalidRequestError: `tool_choice` names a tool that is not offered.
    """
    options = request.options
    head: dict[str, JSON] = {"model": request.model, "stream": request.stream}
    if (think := _think(request, own)) is not None:
        head["think"] = think
    if options.response_schema is not None:
        head["format"] = dict(options.response_schema)
    if own.keep_alive is not None:
        head["keep_alive"] = own.keep_alive
    _check_choice(request, provider)
    if options.parallel_tool_calls is not None:
        say_left_out(provider, request.model, "parallel_tool_calls")
    sampling: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "num_predict": options.max_tokens,
        "stop": list(options.stop) or None,
        "seed": options.seed,
        "frequency_penalty": options.frequency_penalty,
        "presence_penalty": options.presence_penalty,
        "num_ctx": own.num_ctx,
        "top_k": own.top_k,
        "min_p": own.min_p,
        "repeat_penalty": own.repeat_penalty,
    }
    sampling = {name: value for name, value in sampling.items() if value is not None}
    more = own.raw.get("options")
    sampling |= more if isinstance(more, dict) else {}
    if sampling:
        head["options"] = sampling
    return head | {name: value for name, value in own.raw.items() if name not in OWN}


def offered(request: CompletionRequest) -> tuple[ToolSpec, ...]:
    """Return the tools to send: a choice of none is said by sending none, for the service has no such field."""
    return () if request.options.tool_choice == "none" else request.tools


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """Return the tools as a JSON list."""
    return encode_bytes([_tool(tool) for tool in tools])


def _tool(tool: ToolSpec) -> JSON:
    """Return a tool as the server reads it; what it reads no keyword for is told in words."""
    parameters = tool.parameters
    properties, defined = parameters.get("properties"), parameters.get("$defs")
    given = {name: value for name, value in parameters.items() if name in ("required", "$defs")}
    described = properties.items() if isinstance(properties, Mapping) else ()
    known: dict[str, JSON] = {
        "type": "object",
        "properties": {
            name: _property(part, defined if isinstance(defined, Mapping) else {}) for name, part in described
        },
    }
    function: JSON = {"name": tool.name, "description": tool.description, "parameters": known | given}
    return {"type": "function", "function": function}


def _property(schema: JSON, defined: Mapping[str, JSON]) -> JSON:
    """Return what the server keeps of a parameter: several types as a list of them, fields of an object in words."""
    if not isinstance(schema, dict):
        return {}
    named = defined.get(str(schema.get("$ref")).removeprefix("#/$defs/"))
    full = {**named, **schema} if isinstance(named, dict) else schema
    kept = {name: value for name, value in full.items() if name in PROPERTY}
    options = full.get("anyOf") or full.get("oneOf")
    if "type" not in kept and isinstance(options, list):
        kinds = [kind for option in options if isinstance(option, dict) and isinstance(kind := option.get("type"), str)]
        rest = next((option for option in options if isinstance(option, dict) and option.get("type") != "null"), {})
        kept = {name: value for name, value in rest.items() if name in PROPERTY} | kept
        kept |= {"type": list[JSON](dict.fromkeys(kinds))} if len(set(kinds)) > 1 else {}
    if FIELDS.search(encode({name: value for name, value in full.items() if name != "items" or "$ref" in str(value)})):
        form = encode({name: value for name, value in full.items() if name not in ("description", "$ref")})
        kept["description"] = f"{kept.get('description') or ''} It has the JSON Schema {form}".strip()
    return kept


def segments(messages: Sequence[ChatMessage], start: int, *, provider: str) -> Iterator[Segment]:
    """
    Encode ``messages[start:]``: one segment for each message, but all results of a turn in one, ordered as the calls.

    Results at the end stay open, since more may follow.

    Raises:
        InvalidValueError: Calls and results do not match.
        InvalidRequestError: An attachment has no form here.
    """
    check_pairs(messages, start=start)
    for i, end, closed in spans(messages, start):
        if messages[i].role is Role.TOOL:
            made = _results(messages[i - 1], messages[i:end])
        else:
            made = _message(messages[i], provider)
        yield Segment(end, b",".join(map(encode_bytes, made)), closed=closed)


def _message(message: ChatMessage, provider: str) -> Iterator[dict[str, JSON]]:
    wire: dict[str, JSON] = {"role": str(message.role), "content": message.content}
    if message.attachments:
        wire["images"] = [_image(attachment, provider) for attachment in message.attachments]
    if message.tool_calls is not None:
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
        if thinking := message.reasoning.get(provider):
            wire["thinking"] = thinking
    if message.role is not Role.ASSISTANT or message.content or message.tool_calls:
        yield wire


def _results(turn: ChatMessage, results: Sequence[ChatMessage]) -> Iterator[dict[str, JSON]]:
    by_id = {result.tool_call_id: result for result in results}
    for call in turn.tool_calls or ():
        yield {"role": "tool", "tool_name": wire_name(call.name), "content": by_id[call.id].content}


def _call(call: ToolCall) -> JSON:
    given: JSON = {"_raw": call.malformed} if call.malformed is not None else dict(call.arguments)
    return {"function": {"name": wire_name(call.name), "arguments": given}}


def _image(attachment: Attachment, provider: str) -> str:
    if not attachment.media_type.lower().startswith("image/"):
        raise InvalidRequestError(f"no {attachment.media_type!r} can be sent, only images can", provider=provider)
    if attachment.data is None:
        raise InvalidRequestError("no address of an image can be sent; attach the bytes", provider=provider)
    return base64.b64encode(attachment.data).decode()


def _think(request: CompletionRequest, own: OllamaOptions) -> bool | str | None:
    effort = request.options.reasoning_effort
    if own.think is not None or effort is None:
        return own.think
    if effort == "none":
        return False
    return WORDS.get(effort, effort) if LEVELS.match(request.model) else True


def _check_choice(request: CompletionRequest, provider: str) -> None:
    wanted = request.options.tool_choice
    if not request.tools or wanted in (None, "auto", "none"):
        return
    check_choice(request, provider=provider)
    say_left_out(provider, request.model, "tool_choice (the answer is checked for a call all the same)")
