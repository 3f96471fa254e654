"""Conversation to request: messages, tools and options as a Chat Completions body."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nr_llm.codecs.calls import check_choice
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import WIRE_NAME, digest, wire_name
from nr_llm.codecs.notes import say_left_out
from nr_llm.codecs.reading import object_of, objects_of
from nr_llm.codecs.turns import distinct
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidRequestError
from nr_llm.memo import Segment
from nr_llm.messages import ChatMessage, Role
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

from nr_llm_openai.decode import texts_of
from nr_llm_openai.dialects import Dialect
from nr_llm_openai.options import OpenAIOptions

SAMPLING = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "stop")
ALPHABET = string.digits + string.ascii_letters
OWN = frozenset({"messages", "stream", "stream_options"})
"""Fields that the conversation and the transport decide; `OpenAIOptions.raw` does not touch them."""


def head_of(request: CompletionRequest, dialect: Dialect, provider: str) -> dict[str, JSON]:
    """
    Return the body without messages and tools.

    Raises:
        InvalidRequestError: `tool_choice` names a tool that is not offered, or an option belongs to another form.
    """
    options = request.options
    head: dict[str, JSON] = {"model": request.model}
    head |= {name: value for name, value in _settings(request, dialect, provider).items() if value is not None}
    if options.response_schema is not None:
        form = answer_schema(options.response_schema, dialect)
        head["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.tools:
        head |= _tool_settings(request, dialect, provider)
    own = options.of(OpenAIOptions)
    if own.server_tools:
        raise InvalidRequestError(
            "the Chat Completions form has no server_tools; set api to 'responses' where the service has that form",
            provider=provider,
        )
    head |= own.common()
    if own.verbosity is not None:
        head["verbosity"] = own.verbosity
    if own.store:
        head["store"] = True
    if request.stream:
        head["stream"] = True
        if dialect.stream_usage:
            head["stream_options"] = {"include_usage": True}
    return head | {name: value for name, value in own.raw.items() if name not in OWN}


def _settings(request: CompletionRequest, dialect: Dialect, provider: str) -> dict[str, JSON]:
    options, model = request.options, request.model
    settings: dict[str, JSON] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "frequency_penalty": options.frequency_penalty,
        "presence_penalty": options.presence_penalty,
        "stop": list(options.stop) or None,
        "seed": options.seed,
        "reasoning_effort": options.reasoning_effort,
    }
    refused = [name for pattern, names in dialect.lacking if pattern.match(model) for name in names]
    if dialect.unsampled and dialect.unsampled.match(model) and options.reasoning_effort != "none":
        refused += SAMPLING
    for name in refused:
        if settings.pop(name, None) is not None:
            say_left_out(provider, model, name)
    settings[dialect.seed] = settings.pop("seed", None)
    settings[dialect.max_tokens] = options.max_tokens
    return settings


def _tool_settings(request: CompletionRequest, dialect: Dialect, provider: str) -> dict[str, JSON]:
    options, settings = request.options, dict[str, JSON]()
    if options.tool_choice in ("auto", "none", "required"):
        settings["tool_choice"] = dialect.required if options.tool_choice == "required" else options.tool_choice
    elif options.tool_choice is not None:
        check_choice(request, provider=provider)
        settings["tool_choice"] = {"type": "function", "function": {"name": options.tool_choice}}
    if options.parallel_tool_calls is not None:
        settings["parallel_tool_calls"] = options.parallel_tool_calls
    return settings


def answer_schema(schema: Mapping[str, JSON], dialect: Dialect) -> dict[str, JSON]:
    """Return name, schema and strictness of an answer's form."""
    name = schema.get("title")
    name = name if isinstance(name, str) and WIRE_NAME.fullmatch(name) else "answer"
    strict = strict_form(schema) if dialect.strict and _nothing_optional(schema) else None
    return {"name": name, "schema": dict(schema) if strict is None else strict, "strict": strict is not None}


def _nothing_optional(schema: JSON | Mapping[str, JSON]) -> bool:
    """Whether every property is required, so that the strict form of the schema means the same."""
    if isinstance(schema, list):
        return all(map(_nothing_optional, schema))
    if not isinstance(schema, Mapping):
        return True
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, Mapping) and properties.keys() - set(required if isinstance(required, list) else ()):
        return False
    return all(map(_nothing_optional, schema.values()))


def strict_form(schema: Mapping[str, JSON]) -> dict[str, JSON] | None:
    """Return a schema in its strict form, or None when it has none."""
    from nr_llm._schema import strict_schema

    return strict_schema(schema)[0]


def encode_tools(tools: Sequence[ToolSpec], dialect: Dialect) -> bytes:
    """Return the tools as a JSON list; a schema that has no strict form is sent as an ordinary one."""
    return encode_bytes([_tool(tool, dialect) for tool in tools])


def _tool(tool: ToolSpec, dialect: Dialect) -> JSON:
    function: dict[str, JSON] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    if tool.strict is not None and dialect.strict:
        strict = strict_form(tool.parameters) if tool.strict else None
        function["strict"] = strict is not None
        function["parameters"] = strict or function["parameters"]
    return {"type": "function", "function": function}


def segments(
    messages: Sequence[ChatMessage], start: int, *, dialect: Dialect, provider: str, gap: str = ""
) -> Iterator[Segment]:
    """
    Encode ``messages[start:]``, one segment per message.

    Args:
        messages: The conversation.
        start: Where to begin.
        dialect: The service's ways.
        provider: Whose state is replayed.
        gap: What the model is made to say between results and a person's turn, for models that insist on a turn of
            theirs there; empty for nothing.

    Raises:
        InvalidValueError: A call is not answered where services want it, or an answer answers nothing.
        InvalidRequestError: A message holds what this form cannot say.
    """
    check_pairs(messages, start=start)
    messages = distinct(messages, start)
    for i in range(start, len(messages)):
        wire = _message(messages[i], dialect, provider)
        begun = dialect.prefixed and i == len(messages) - 1 and _answers(messages[i])
        if wire and begun:
            wire["prefix"] = True  # as long as it is the last: the piece stays open
        data = encode_bytes(wire) if wire else b""
        if gap and i and messages[i].role is Role.USER and messages[i - 1].role is Role.TOOL:
            data = encode_bytes({"role": "assistant", "content": gap}) + b"," + data
        yield Segment(i + 1, data, closed=not begun)


def _answers(message: ChatMessage) -> bool:
    return message.role is Role.ASSISTANT and message.tool_calls is None


def _message(message: ChatMessage, dialect: Dialect, provider: str) -> dict[str, JSON] | None:
    """Return the message as a service takes it, or None for an assistant turn that says nothing at all."""
    wire = message.to_wire()
    if message.tool_calls is not None:
        for call in objects_of(wire["tool_calls"]):
            _fit(call, dialect)
        if not message.content:
            _empty_content(wire, dialect)
        wire |= _replayed(message, dialect, provider, among=dialect.replayed)
    elif message.role is Role.ASSISTANT:
        if not message.content and not message.extra:
            return None
        wire |= _replayed(message, dialect, provider, among=("content",))
    elif message.attachments:
        _parts(message, wire, dialect, provider)
    elif message.tool_call_id is not None:
        wire["tool_call_id"] = wire_id(message.tool_call_id, dialect)
    return wire


def _fit(call: dict[str, Any], dialect: Dialect) -> None:
    """Give a call the id and the name that a service takes."""
    call["id"] = wire_id(call["id"], dialect)
    call["function"]["name"] = wire_name(call["function"]["name"])


def _empty_content(wire: dict[str, JSON], dialect: Dialect) -> None:
    if dialect.call_content == "null":
        wire["content"] = None
    elif dialect.call_content == "absent":
        del wire["content"]


def _replayed(message: ChatMessage, dialect: Dialect, provider: str, *, among: Sequence[str]) -> dict[str, JSON]:
    state = object_of(message.provider_state.get(provider))
    if not state:
        return {}
    back = {name: state[name] for name in dialect.replayed if name in state and name in among}
    if "content" in back and texts_of(back["content"])[0] != message.content:
        del back["content"]  # the text was changed since
    return back


def _parts(message: ChatMessage, wire: dict[str, JSON], dialect: Dialect, provider: str) -> None:
    """Refuse attachments that the form has no part for, and name the documents among the others."""
    content = wire["content"]
    parts = content[-len(message.attachments) :] if isinstance(content, list) else []
    for attachment, part in zip(message.attachments, parts, strict=True):
        kind = attachment.media_type.lower()
        if dialect.media is not None and not kind.startswith(dialect.media):
            read = " and ".join(dialect.media)
            raise InvalidRequestError(f"no {kind!r} can be sent; the service reads {read}", provider=provider)
        file = part.get("file") if isinstance(part, dict) else None
        if not isinstance(file, dict):
            continue
        if attachment.data is None:
            raise InvalidRequestError(f"no address of a {kind!r} can be sent; attach the bytes", provider=provider)
        if kind.startswith(("audio/", "video/")):
            raise InvalidRequestError(f"no {kind!r} can be sent", provider=provider)
        file.setdefault("filename", f"document.{kind.rpartition('/')[2]}")


def wire_id(call_id: str, dialect: Dialect) -> str:
    """Return a call's id, or one made of it that the service takes; calls and their answers get the same."""
    length = dialect.id_length
    if length is None or (len(call_id) <= length and not dialect.id_exact):
        return call_id
    if not dialect.id_exact:
        return f"call_{digest(call_id)[:24]}"
    fits = len(call_id) == length and call_id.isalnum() and call_id.isascii()
    return call_id if fits else _letters(int(digest(call_id), 16), length)


def _letters(number: int, length: int) -> str:
    """Return a number as that many letters and digits: few enough to fit, enough that two ids never meet."""
    made = ""
    for _ in range(length):
        number, place = divmod(number, len(ALPHABET))
        made += ALPHABET[place]
    return made
