"""Messages to contents and parts: people and tools are `user`, the model is `model`, results stand together."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from nr_llm.codecs.json import JSON, decode, encode_bytes
from nr_llm.codecs.names import wire_name
from nr_llm.codecs.reading import filled, object_of
from nr_llm.codecs.turns import spans
from nr_llm.conversation import check_pairs
from nr_llm.errors import MalformedJsonError
from nr_llm.memo import Segment
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall

from nr_llm_gemini.models import insists, same_generation

Part = dict[str, JSON]

LONG = re.compile(r"\d{16}")
"""More digits than the service keeps: its numbers are doubles."""

UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What the service documents for calls that it has not signed: https://ai.google.dev/gemini-api/docs/thought-signatures"""


OPENING = encode_bytes({"role": "user", "parts": [{"text": "."}]})
"""Stands before a conversation that the model begins, which the service refuses; it says as little as can be said."""


BEGUN: Part = {"role": "user", "parts": [{"text": "(The conversation begins with the model's turn.)"}]}
"""Stands in front of a first turn that calls tools: the service takes calls behind a person's turn only."""


def segments(messages: Sequence[ChatMessage], start: int, *, provider: str, model: str = "") -> Iterator[Segment]:
    """
    Encode ``messages[start:]``: one content for each message, but all results of a turn in one.

    System messages are not among them; they are hoisted.  Results at the end stay open, since more may follow.

    Args:
        messages: The conversation.
        start: Where to begin; not in the middle of results.
        provider: Whose state is replayed.
        model: The model that is asked.

    Raises:
        InvalidValueError: Calls and results do not match.
    """
    check_pairs(messages, start=start)
    for i, end, closed in spans(messages, start):
        message = messages[i]
        content: Part | None = None
        if message.role is Role.TOOL:
            content = {"role": "user", "parts": list[JSON](_results(messages[i - 1], messages[i:end], provider))}
        elif message.role is not Role.SYSTEM:
            content = _content(message, provider=provider, model=model)
        data = b"" if content is None else encode_bytes(content)
        if data and message.role is Role.ASSISTANT and not any(map(_speaks, islice(messages, i))):
            data = OPENING + b"," + data
        yield Segment(end, data, closed=closed)


def _speaks(message: ChatMessage) -> bool:
    said = message.content or message.attachments or message.tool_calls or message.provider_state
    return message.role is not Role.SYSTEM and bool(said)


def _content(message: ChatMessage, *, provider: str, model: str) -> Part | None:
    if message.role is Role.USER:
        parts = [*map(_attached, message.attachments), *_text(message.content)]
        return {"role": "user", "parts": list[JSON](parts)} if parts else None
    parts = _assistant(message, provider=provider, model=model)
    calls = [part for part in parts if "functionCall" in part]
    if calls and insists(model):
        calls[0].setdefault("thoughtSignature", UNSIGNED)
    return {"role": "model", "parts": list[JSON](parts)} if parts else None


def _text(text: str) -> list[Part]:
    return [{"text": text}] if text else []


def _attached(attachment: Attachment) -> Part:
    kind = attachment.media_type.lower()
    if attachment.data is None:
        return {"fileData": {"mimeType": kind, "fileUri": attachment.url}}
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(attachment.data).decode()}}


def _results(turn: ChatMessage, results: Sequence[ChatMessage], provider: str) -> Iterator[Part]:
    """Yield the results in the order of the calls, which is how the service tells them apart."""
    by_id = {result.tool_call_id: result for result in results}
    kept = [object_of(part["functionCall"]) for part in _kept(turn, provider) if "functionCall" in part]
    for i, call in enumerate(turn.tool_calls or ()):
        answer: Part = {"name": function_name(call.name), "response": _response(by_id[call.id])}
        if kept and filled(kept[i].get("id")):
            answer["id"] = kept[i]["id"]
        yield {"functionResponse": answer}


def _response(result: ChatMessage) -> Part:
    """
    Return a result as the object the service wants.

    JSON objects go as they are, unless a number would change, or a ``$ref`` would be taken for one to a part of the
    response: a result that is a JSON Schema fails the whole request.
    """
    if result.is_error:
        return {"error": result.content}
    if result.content.lstrip().startswith("{") and not LONG.search(result.content):
        with suppress(MalformedJsonError):
            found = dict(object_of(decode(result.content)))
            return {"result": result.content} if b'"$ref"' in encode_bytes(found) else found
    return {"result": result.content}


def _kept(message: ChatMessage, provider: str) -> list[Part]:
    """Return the parts the service sent, as long as the message still has their calls."""
    state = message.provider_state.get(provider)
    listed = state.get("parts") if isinstance(state, dict) else None
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    return parts if len(message.tool_calls or ()) == sum("functionCall" in part for part in parts) else []


def _assistant(message: ChatMessage, *, provider: str, model: str) -> list[Part]:
    calls = [_call(call) for call in message.tool_calls or ()]
    kept = _kept(message, provider)
    if not kept:
        return [*_text(message.content), *[Part(functionCall=call) for call in calls]]
    state = message.provider_state[provider]
    writer = state.get("model") if isinstance(state, dict) else None
    parts = list(_replayed(kept, calls, message.content))
    return parts if same_generation(str(writer or ""), model) else list(_unsigned(parts))


def _replayed(parts: Sequence[Part], calls: Sequence[Part], content: str) -> Iterator[Part]:
    """Yield the parts as they came, with the calls and the text that the message has by now."""
    texts = [part for part in parts if "text" in part and not part.get("thought")]
    same = "".join(str(part["text"]) for part in texts) == content
    if not same and not texts:
        yield from _text(content)
    made, said = iter(calls), False
    for part in parts:
        if "functionCall" in part:
            yield part | {"functionCall": {**object_of(part["functionCall"]), **next(made)}}
        elif same or "text" not in part or part.get("thought"):
            yield part
        elif not said:
            said = True
            yield from _text(content)


def _unsigned(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts without signatures of another generation of models, and without thoughts that only they prove."""
    for part in parts:
        rest = {name: value for name, value in part.items() if name != "thoughtSignature"}
        if rest and not rest.get("thought") and rest.get("text") != "":
            yield rest


def _call(call: ToolCall) -> Part:
    given: JSON = {"_raw": call.malformed} if call.malformed is not None else dict(call.arguments)
    return {"name": function_name(call.name), "args": given}


def function_name(name: str) -> str:
    """Return a tool's name as the service takes it: it begins with a letter or an underscore."""
    wire = wire_name(name)
    return wire if wire[0].isalpha() or wire[0] == "_" else f"_{wire[:63]}"
