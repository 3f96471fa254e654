"""Messages to content blocks: what each turn is made of, once its neighbours are joined to it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import digest, wire_name
from nr_llm.codecs.reading import objects_of, text_of
from nr_llm.codecs.turns import distinct
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidRequestError
from nr_llm.memo import Segment
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall

Block = dict[str, JSON]

ID = re.compile(r"[a-zA-Z0-9_-]+")
"""Ids of calls the service takes."""

SPEECHLESS = "(no message)"
"""Stands in a result for an error that says nothing, which the service refuses to be without content."""

THINKING = ("thinking", "redacted_thinking")
"""Blocks that only the model that wrote them understands."""

READABLE = ("image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain")
"""Kinds of files the service reads: https://docs.anthropic.com/en/docs/build-with-claude/vision and …/pdf-support"""


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
    messages = distinct(messages, start)
    turns = list(_turns(messages, start, provider=provider, model=model))
    for i, (end, role, blocks) in enumerate(turns):
        last = i == len(turns) - 1
        if last and role == "assistant":
            _trim(blocks)
        if last and mark is not None:
            blocks[-1] = blocks[-1] | {"cache_control": mark}
        yield Segment(end, encode_bytes({"role": role, "content": blocks}), closed=not last)


def unthought(messages: Sequence[ChatMessage], *, provider: str, model: str) -> bool:
    """Whether the last assistant turn calls tools and does not begin with thinking that `model` would know again."""
    blocks: list[Block] = []
    for message in reversed(messages):
        if message.role is Role.ASSISTANT:
            blocks = _assistant(message, provider=provider, model=model) + blocks
        elif blocks and message.role is not Role.SYSTEM:
            break
    kinds = [block.get("type") for block in blocks]
    return "tool_use" in kinds and kinds[0] not in THINKING


def _turns(
    messages: Sequence[ChatMessage], start: int, *, provider: str, model: str
) -> Iterator[tuple[int, str, list[Block]]]:
    """Yield (end, role, blocks) of each turn; a message that would say nothing does not part its neighbours."""
    role, blocks, end = "", list[Block](), start
    for i in range(start, len(messages)):
        made = _message(messages[i], provider=provider, model=model)
        side = "assistant" if messages[i].role is Role.ASSISTANT else "user"
        if made and side != role and blocks:
            yield end, role, blocks
            blocks = []
        if made:
            role = side
            blocks += made
        end = i + 1
    if blocks:
        yield end, role, blocks


def _message(message: ChatMessage, *, provider: str, model: str) -> list[Block]:
    match message.role:
        case Role.SYSTEM:
            return []
        case Role.TOOL:
            return [_result(message)]
        case Role.USER:
            return [*(_attached(attachment, provider) for attachment in message.attachments), *_text(message.content)]
        case _:
            return _assistant(message, provider=provider, model=model)


def _text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _result(message: ChatMessage) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": wire_id(message.tool_call_id or "")}
    if message.content.strip():
        block["content"] = message.content
    elif message.is_error:
        block["content"] = SPEECHLESS
    return block | {"is_error": True} if message.is_error else block


def _attached(attachment: Attachment, provider: str) -> Block:
    kind = attachment.media_type.lower().partition(";")[0].strip()
    kind = "image/jpeg" if kind == "image/jpg" else kind
    block: Block = {"type": "image" if kind.startswith("image/") else "document"}
    if kind not in READABLE and (attachment.data is not None or block["type"] == "document"):
        raise InvalidRequestError(f"no {kind!r} can be sent; {', '.join(READABLE)} can", provider=provider)
    if attachment.data is None and kind == "text/plain":
        raise InvalidRequestError("no address of a text can be sent; attach the bytes", provider=provider)
    if attachment.data is None:
        block["source"] = {"type": "url", "url": attachment.url}
    elif kind == "text/plain":
        text = attachment.data.decode("utf-8", "replace")
        block["source"] = {"type": "text", "media_type": kind, "data": text}
    else:
        block["source"] = {"type": "base64", "media_type": kind, "data": base64.b64encode(attachment.data).decode()}
    return block | {"title": attachment.name} if attachment.name and block["type"] == "document" else block


def _assistant(message: ChatMessage, *, provider: str, model: str) -> list[Block]:
    calls = [_call(call) for call in message.tool_calls or ()]
    state = message.provider_state.get(provider)
    kept = objects_of(state.get("content")) if isinstance(state, dict) else []
    if not isinstance(state, dict) or len(calls) != sum(block.get("type") == "tool_use" for block in kept):
        return [*_text(message.content), *calls]
    foreign = bool(model) and state.get("model") not in (None, model)
    blocks = list(_replayed([b for b in kept if _replayable(b, foreign=foreign)], calls, message.content))
    while blocks and blocks[-1].get("type") in THINKING:  # nothing came of it, and the service wants nothing to end so
        del blocks[-1]
    return blocks


def _replayable(block: Block, *, foreign: bool) -> bool:
    """Whether the service takes a block back: thinking is for the model that wrote it, and unsigned when cut off."""
    kind = block.get("type")
    return kind not in THINKING or not (foreign or (kind == "thinking" and not block.get("signature")))


def _replayed(blocks: Sequence[Block], calls: Sequence[Block], content: str) -> Iterator[Block]:
    """Yield the blocks as they came, with the calls and the text that the message has by now."""
    kinds = [block.get("type") for block in blocks]
    same = "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text") == content
    place = next((kinds.index(kind) for kind in ("text", "tool_use") if kind in kinds), len(blocks))
    made = iter(calls)
    for i, block in enumerate(blocks):
        if i == place and not same:
            yield from _text(content)
        if kinds[i] == "tool_use":
            yield block | next(made)
        elif kinds[i] != "text" or (same and text_of(block.get("text")).strip()):
            yield block
    if place == len(blocks) and not same:
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
