"""Messages to content blocks: what each turn is made of, once its neighbours are joined to it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import digest, wire_name
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidRequestError
from nr_llm.memo import Segment
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall

Block = dict[str, JSON]

ID = re.compile(r"[a-zA-Z0-9_-]+")
"""Ids of calls the service takes."""

THINKING = ("thinking", "redacted_thinking")
"""Blocks that only the model that wrote them understands."""


def segments(
    messages: Sequence[ChatMessage], start: int, *, provider: str, model: str = "", mark: Block | None = None
) -> Iterator[Segment]:
    """
    Encode ``messages[start:]``, one segment for each turn: neighbours of one side are joined, results first.

    System messages are not among them; they are hoisted.  The last turn stays open, since the next message may
    join it.

    Args:
        messages: The conversation.
        start: Where to begin; the start of a turn.
        provider: Whose state is replayed.
        model: The model that is asked; thinking of another one is left out.  Empty takes any.
        mark: The cache's mark for the last block, or None.

    Raises:
        InvalidValueError: Calls and results do not match.
        InvalidRequestError: An attachment has no form here.
    """
    check_pairs(messages, start=start)
    turns = list(_turns(messages, start))
    for i, (end, role, members) in enumerate(turns):
        last = i == len(turns) - 1
        blocks = _turn(members, provider=provider, model=model)
        if last and role == "assistant":
            _trim(blocks)
        if last and blocks and mark is not None:
            blocks[-1] = blocks[-1] | {"cache_control": mark}
        yield Segment(end, encode_bytes({"role": role, "content": blocks}) if blocks else b"", closed=not last)


def _turns(messages: Sequence[ChatMessage], start: int) -> Iterator[tuple[int, str, list[ChatMessage]]]:
    """Yield (end, role, messages) of each turn; one that would say nothing does not part its neighbours."""
    role, members, end = "", list[ChatMessage](), start
    for i in range(start, len(messages)):
        message = messages[i]
        side = "assistant" if message.role is Role.ASSISTANT else "user"
        silent = message.role is Role.SYSTEM or not (_says(message) or message.tool_call_id is not None)
        if not silent and side != role and members:
            yield end, role, members
            members = []
        if not silent:
            role = side
            members.append(message)
        end = i + 1
    if members:
        yield end, role, members


def _says(message: ChatMessage) -> bool:
    state = message.provider_state
    return bool(message.content.strip() or message.tool_calls or message.attachments or state)


def _turn(members: Sequence[ChatMessage], *, provider: str, model: str) -> list[Block]:
    blocks: list[Block] = []
    for message in members:
        if message.role is Role.TOOL:
            blocks.append(_result(message))
        elif message.role is Role.USER:
            blocks += [_attached(attachment, provider) for attachment in message.attachments]
            blocks += _text(message.content)
        else:
            blocks += _assistant(message, provider=provider, model=model)
    return blocks


def _text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _result(message: ChatMessage) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": wire_id(message.tool_call_id or "")}
    if message.content.strip():
        block["content"] = message.content
    return block | {"is_error": True} if message.is_error else block


def _attached(attachment: Attachment, provider: str) -> Block:
    kind = attachment.media_type.lower()
    if kind == "text/plain" and attachment.data is not None:
        data = attachment.data.decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": data}}
    if not kind.startswith("image/") and kind != "application/pdf":
        raise InvalidRequestError(f"no {kind!r} can be sent; images, PDF files and plain text can", provider=provider)
    source: Block = {"type": "url", "url": attachment.url}
    if attachment.data is not None:
        source = {"type": "base64", "media_type": kind, "data": base64.b64encode(attachment.data).decode()}
    block: Block = {"type": "image" if kind.startswith("image/") else "document", "source": source}
    return block | {"title": attachment.name} if attachment.name and block["type"] == "document" else block


def _assistant(message: ChatMessage, *, provider: str, model: str) -> list[Block]:
    calls = [_call(call) for call in message.tool_calls or ()]
    state = message.provider_state.get(provider)
    kept = state.get("content") if isinstance(state, dict) else None
    blocks = [block for block in kept if isinstance(block, dict)] if isinstance(kept, list) else []
    if len(calls) != sum(block.get("type") == "tool_use" for block in blocks):
        blocks = []
    if not blocks:
        return [*_text(message.content), *calls]
    if isinstance(state, dict) and model and state.get("model") not in (None, model):
        blocks = [block for block in blocks if block.get("type") not in THINKING]
    return list(_replayed(blocks, calls, message.content))


def _replayed(blocks: Sequence[Block], calls: Sequence[Block], content: str) -> Iterator[Block]:
    """Yield the blocks as they came, with the calls and the text that the message has by now."""
    same = "".join(str(block.get("text")) for block in blocks if block.get("type") == "text") == content
    made, said = iter(calls), False
    for block in blocks:
        if block.get("type") == "tool_use":
            yield block | next(made)
        elif block.get("type") != "text" or (same and str(block.get("text")).strip()):
            yield block
        elif not same and not said:
            said = True
            yield from _text(content)


def _call(call: ToolCall) -> Block:
    given: JSON = {"_raw": call.malformed} if call.malformed is not None else dict(call.arguments)
    return {"type": "tool_use", "id": wire_id(call.id), "name": wire_name(call.name), "input": given}


def wire_id(call_id: str) -> str:
    """Return a call's id, or one made of it when the service would refuse it; calls and results get the same."""
    return call_id if ID.fullmatch(call_id) else f"toolu_{digest(call_id)[:24]}"


def _trim(blocks: list[Block]) -> None:
    """Take blanks off the end of a final assistant turn, which the service goes on from and refuses otherwise."""
    last: Mapping[str, Any] = blocks[-1] if blocks else {}
    if last.get("type") == "text":
        blocks[-1] = {**last, "text": last["text"].rstrip()}
