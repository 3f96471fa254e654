"""Messages to input items of the Responses form: one flat list of turns, calls, results and reasoning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import digest, wire_name
from nr_llm.codecs.reading import object_of, objects_of
from nr_llm.codecs.turns import distinct
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidRequestError
from nr_llm.memo import Segment
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall

Item = dict[str, JSON]

ID_LENGTH = 64
"""Most characters of a call's id."""


REFERRING = ("annotations", "logprobs")
"""Fields of a text that are about it: sources it names, and how likely it was."""

UNSAID = ("audio/", "video/")
"""Beginnings of the media types that the form has no part for."""


def segments(messages: Sequence[ChatMessage], start: int, *, provider: str, chained: bool = False) -> Iterator[Segment]:
    """
    Encode ``messages[start:]``, one segment for each message.

    Args:
        messages: The conversation.
        start: Where to begin.
        provider: Whose state is replayed.
        chained: Whether the service has what precedes: it knows the calls by the ids it gave them.

    Raises:
        InvalidValueError: Calls and results do not match.
        InvalidRequestError: An attachment has no form here.
    """
    check_pairs(messages, start=start)
    messages = messages if chained else distinct(messages, start)
    for i in range(start, len(messages)):
        yield Segment(i + 1, b",".join(map(encode_bytes, _items(messages[i], provider))))


def _items(message: ChatMessage, provider: str) -> Iterator[Item]:
    if message.role is Role.TOOL:
        call_id = wire_call_id(message.tool_call_id or "")
        yield {"type": "function_call_output", "call_id": call_id, "output": message.content}
    elif message.role is Role.ASSISTANT:
        yield from _assistant(message, provider)
    elif message.attachments:
        parts: list[JSON] = [{"type": "input_text", "text": message.content}] if message.content else []
        parts += [_attached(attachment, provider) for attachment in message.attachments]
        yield {"role": "user", "content": parts}
    else:
        yield {"role": str(message.role), "content": message.content}


def _attached(attachment: Attachment, provider: str) -> JSON:
    kind = attachment.media_type.lower()
    if kind.startswith("image/"):
        return {"type": "input_image", "image_url": attachment.url or attachment.data_url, "detail": "auto"}
    if kind.startswith(UNSAID):
        raise InvalidRequestError(f"no {kind!r} can be sent; images and documents can", provider=provider)
    if attachment.data is None:
        return {"type": "input_file", "file_url": attachment.url}
    name = attachment.name or f"document.{kind.rpartition('/')[2]}"
    return {"type": "input_file", "filename": name, "file_data": attachment.data_url}


def _assistant(message: ChatMessage, provider: str) -> Iterator[Item]:
    calls = [_call(call) for call in message.tool_calls or ()]
    kept = list(_kept(message, provider))
    if len(calls) != sum(item.get("type") == "function_call" for item in kept):
        kept = []
    if not kept:
        if message.content:
            yield {"role": "assistant", "content": message.content}
        yield from calls
        return
    replayed = list(_replayed(kept, calls, message.content))
    while replayed and replayed[-1].get("type") == "reasoning":
        replayed.pop()  # what it belonged to is no longer said; services refuse it alone
    yield from replayed


def _replayed(kept: Sequence[Item], calls: Sequence[Item], content: str) -> Iterator[Item]:
    """Yield the items as they came, with the calls and the text that the message has by now."""
    same = "".join(map(said_in, kept)) == content
    made, told = iter(calls), False
    for item in kept:
        if item.get("type") == "function_call":
            yield item | next(made)
        elif same or item.get("type") != "message":
            yield item
        elif not told and content:
            told = True
            yield {"role": "assistant", "content": content}


def _kept(message: ChatMessage, provider: str) -> Iterator[Item]:
    """Yield what the service wants back; without its own store it knows no ids, and reasoning by its content only."""
    state = object_of(message.provider_state.get(provider))
    listed = objects_of(state.get("output"))
    for i, item in enumerate(listed):
        kind = item.get("type")
        if kind == "reasoning":
            follows = listed[i + 1].get("type") if i + 1 < len(listed) else None
            if item.get("encrypted_content") and follows is not None:
                yield {name: value for name, value in item.items() if name not in ("id", "status")}
        elif kind in ("message", "function_call"):
            back = {name: value for name, value in item.items() if name not in ("id", "status")}
            yield _spoken(back) if kind == "message" else back
        else:
            yield item


def _spoken(message: Item) -> Item:
    """Return a message as the service takes one that it does not keep: its words alone, a refusal among them."""
    parts = [_words(part) for part in objects_of(message.get("content"))]
    return message | {"content": list[JSON](parts)}


def _words(part: Item) -> Item:
    if part.get("type") == "refusal":
        return {"type": "output_text", "text": part.get("refusal")}
    return {name: value for name, value in part.items() if name not in REFERRING}


def said_in(item: Mapping[str, Any]) -> str:
    """Return the text of a message item; others have none."""
    parts = objects_of(item.get("content")) if item.get("type") == "message" else []
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))


def _call(call: ToolCall) -> Item:
    name, arguments = wire_name(call.name), call.arguments_json
    return {"type": "function_call", "call_id": wire_call_id(call.id), "name": name, "arguments": arguments}


def wire_call_id(call_id: str) -> str:
    """Return a call's id, or a digest in its place when it is too long; calls and their results get the same."""
    return call_id if len(call_id) <= ID_LENGTH else f"call_{digest(call_id)[:24]}"
