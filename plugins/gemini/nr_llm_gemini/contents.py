"""Messages to contents and parts: people and tools are `user`, the model is `model`, results stand together."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence

from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import wire_name
from nr_llm.conversation import check_pairs
from nr_llm.memo import Segment
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall

Part = dict[str, JSON]

SIGNING = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that refuse a call of the current turn without a signature."""

UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What the service documents for calls that it has not signed: https://ai.google.dev/gemini-api/docs/thought-signatures"""


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
    i = start
    while i < len(messages):
        message, end = messages[i], i + 1
        while message.role is Role.TOOL and end < len(messages) and messages[end].role is Role.TOOL:
            end += 1
        content: Part | None = None
        if message.role is Role.TOOL:
            content = {"role": "user", "parts": list[JSON](_results(messages[i - 1], messages[i:end], provider))}
        elif message.role is not Role.SYSTEM:
            content = _content(message, provider=provider, model=model)
        closed = message.role is not Role.TOOL or end < len(messages)
        yield Segment(end, b"" if content is None else encode_bytes(content), closed=closed)
        i = end


def _content(message: ChatMessage, *, provider: str, model: str) -> Part | None:
    if message.role is Role.USER:
        parts = [*map(_attached, message.attachments), *_text(message.content)]
        return {"role": "user", "parts": list[JSON](parts)} if parts else None
    parts = _assistant(message, provider=provider, model=model)
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
    kept = [object_ for part in _kept(turn, provider) if isinstance(object_ := part.get("functionCall"), dict)]
    for i, call in enumerate(turn.tool_calls or ()):
        result = by_id[call.id]
        response: JSON = {"error" if result.is_error else "result": result.content}
        answer: Part = {"name": function_name(call.name), "response": response}
        if i < len(kept) and kept[i].get("id"):
            answer["id"] = kept[i]["id"]
        yield {"functionResponse": answer}


def _kept(message: ChatMessage, provider: str) -> list[Part]:
    """Return the parts the service sent, as long as the message still has their calls."""
    state = message.provider_state.get(provider)
    listed = state.get("parts") if isinstance(state, dict) else None
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    return parts if len(message.tool_calls or ()) == sum("functionCall" in part for part in parts) else []


def _assistant(message: ChatMessage, *, provider: str, model: str) -> list[Part]:
    calls = [_call(call) for call in message.tool_calls or ()]
    if kept := _kept(message, provider):
        return list(_replayed(kept, calls, message.content))
    parts: list[Part] = [{"functionCall": call} for call in calls]
    if parts and SIGNING.match(model):
        parts[0]["thoughtSignature"] = UNSIGNED
    return [*_text(message.content), *parts]


def _replayed(parts: Sequence[Part], calls: Sequence[Part], content: str) -> Iterator[Part]:
    """Yield the parts as they came, with the calls and the text that the message has by now."""
    texts = [part for part in parts if "text" in part and not part.get("thought")]
    same = "".join(str(part["text"]) for part in texts) == content
    made, said = iter(calls), False
    for part in parts:
        given = part.get("functionCall")
        if isinstance(given, dict):
            yield part | {"functionCall": given | next(made)}
        elif same or "text" not in part or part.get("thought"):
            yield part
        elif not said:
            said = True
            yield from _text(content)


def _call(call: ToolCall) -> Part:
    given: JSON = {"_raw": call.malformed} if call.malformed is not None else dict(call.arguments)
    return {"name": function_name(call.name), "args": given}


def function_name(name: str) -> str:
    """Return a tool's name as the service takes it: it begins with a letter or an underscore."""
    wire = wire_name(name)
    return wire if wire[0].isalpha() or wire[0] == "_" else f"_{wire[:63]}"
