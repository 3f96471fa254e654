"""The OpenAI-compatible form of a message, both ways: the wire shape every provider plugin converts from."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nr_llm._json import JSON, copy_object, decode, encode
from nr_llm.errors import InvalidValueError

if TYPE_CHECKING:
    from nr_llm.messages import Attachment, ChatMessage, ToolCall

KNOWN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id"})

AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""Media types that the form has an audio part for, and its words for them."""


def message_to_wire(message: ChatMessage) -> dict[str, JSON]:
    """Return `message` as a request carries it."""
    wire: dict[str, JSON] = {"role": message.role.value, "content": message.content}
    if message.attachments:
        wire["content"] = _parts(message)
    if message.tool_calls is not None:
        wire["tool_calls"] = [call.to_wire() for call in message.tool_calls]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.extra:
        wire |= copy_object(message.extra)
    return wire


def _parts(message: ChatMessage) -> list[JSON]:
    text: list[JSON] = [{"type": "text", "text": message.content}] if message.content else []
    return text + [_part(attachment) for attachment in message.attachments]


def _part(attachment: Attachment) -> JSON:
    if attachment.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": attachment.data_url}}
    if attachment.media_type in AUDIO_FORMATS and attachment.data is not None:
        data = base64.b64encode(attachment.data).decode()
        return {"type": "input_audio", "input_audio": {"data": data, "format": AUDIO_FORMATS[attachment.media_type]}}
    file: dict[str, JSON] = {"file_data": attachment.data_url}
    if attachment.name is not None:
        file["filename"] = attachment.name
    return {"type": "file", "file": file}


def message_from_wire(wire: Mapping[str, Any], *, strict: bool = False) -> ChatMessage:
    """Read a message in OpenAI form; see `ChatMessage.from_wire`."""
    from nr_llm.messages import ChatMessage, Role

    if not isinstance(wire, Mapping):
        raise InvalidValueError(f"a message must be a mapping, not a {type(wire).__name__}")
    known = {key: value for key, value in wire.items() if value is not None}
    extra = {key: value for key, value in known.items() if key not in KNOWN_KEYS}
    if strict and extra:
        raise InvalidValueError(f"unknown keys {', '.join(sorted(map(repr, extra)))}")
    if not isinstance(known.get("role"), str):
        raise InvalidValueError("is missing or no string", path="role")
    call_id = known.get("tool_call_id")
    if call_id is not None and not isinstance(call_id, str):
        raise InvalidValueError(f"must be a string, not a {type(call_id).__name__}", path="tool_call_id")
    calls = _read_calls(known.get("tool_calls"))
    content, attachments = _read_content(known, user=known["role"] == Role.USER)
    # The word that newer models have for instructions; providers that need it get it from the plugin.
    role = Role.SYSTEM if known["role"] == "developer" else known["role"]
    return ChatMessage(role, content, tool_calls=calls, tool_call_id=call_id, attachments=attachments, extra=extra)


def _read_calls(value: object) -> tuple[ToolCall, ...] | None:
    from nr_llm.messages import ToolCall

    if value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise InvalidValueError(f"must be a list, not a {type(value).__name__}", path="tool_calls")
    return tuple(_read_call(item, i, ToolCall) for i, item in enumerate(value))


def _read_call(item: object, i: int, call_type: type[ToolCall]) -> ToolCall:
    if isinstance(item, call_type):
        return item
    if not isinstance(item, Mapping):
        raise InvalidValueError(
            f"must be a mapping or a ToolCall, not a {type(item).__name__}", path=f"tool_calls[{i}]"
        )
    try:
        return call_type.from_wire(item)
    except InvalidValueError as error:
        raise InvalidValueError(str(error), path=f"tool_calls[{i}]") from error


def _read_content(wire: Mapping[str, Any], *, user: bool) -> tuple[str, tuple[Attachment, ...]]:
    content = wire.get("content")
    if content is None:
        if wire.get("tool_calls") is None:
            raise InvalidValueError("is missing; null is accepted beside tool_calls only", path="content")
        return "", ()
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, (list, tuple)):
        raise InvalidValueError(f"must be a string or a list of parts, not a {type(content).__name__}", path="content")
    texts: list[str] = []
    attachments: list[Attachment] = []
    for i, part in enumerate(content):
        read = _read_part(part, f"content[{i}]")
        if isinstance(read, str):
            texts.append(read)
        elif user:
            attachments.append(read)
        else:
            raise InvalidValueError("only a user message has attachments", path=f"content[{i}]")
    return ("\n" if user else "").join(texts), tuple(attachments)


def _read_part(part: object, path: str) -> str | Attachment:
    if isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "text" and isinstance(part.get("text"), str):
            return str(part["text"])
        if kind == "image_url":
            image = part.get("image_url")
            return _read_url(image.get("url") if isinstance(image, Mapping) else image, "image/*", None, path)
        if kind == "input_audio" and isinstance(part.get("input_audio"), Mapping):
            audio, types = part["input_audio"], {word: name for name, word in AUDIO_FORMATS.items()}
            word = str(audio.get("format"))
            media_type = types.get(word, f"audio/{word}")
            return _read_url(f"data:{media_type};base64,{audio.get('data')}", media_type, None, path)
        if kind == "file" and isinstance(part.get("file"), Mapping):
            file = part["file"]
            return _read_url(file.get("file_data"), "application/octet-stream", file.get("filename"), path)
    raise InvalidValueError("is no text, image_url, input_audio or file part", path=path)


def _read_url(url: object, media_type: str, name: object, path: str) -> Attachment:
    from nr_llm.messages import Attachment

    name = name if isinstance(name, str) else None
    if not isinstance(url, str) or not url:
        raise InvalidValueError("has no address or data", path=path)
    if not url.startswith("data:"):
        return Attachment(media_type, url=url, name=name)
    head, _, data = url.removeprefix("data:").partition(",")
    try:
        return Attachment(head.removesuffix(";base64") or media_type, base64.b64decode(data, validate=True), name=name)
    except binascii.Error as error:
        raise InvalidValueError(f"its data is no base64: {error}", path=path) from error


def read_arguments(value: object) -> tuple[dict[str, JSON], str | None]:
    """
    Read the arguments of a call as providers and models write them.

    Args:
        value: A JSON string, a map, or nothing.

    Returns:
        The arguments and None; or ``{}`` and the text that is no JSON object.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}, None
    if isinstance(value, str):
        return _read_text(value)
    try:
        return copy_object(value), None
    except InvalidValueError:
        return {}, _shown(value)


def _read_text(text: str) -> tuple[dict[str, JSON], str | None]:
    try:
        value = decode(text)
        if isinstance(value, str):  # encoded twice by a gateway: unwrap once, and only to an object
            value = decode(value)
        return copy_object(value), None
    except InvalidValueError:
        return {}, text


def _shown(value: object) -> str:
    for show in (encode, repr):
        try:
            return show(value)
        except Exception:  # noqa: BLE001, S112  # an endless integer, or an object that cannot tell of itself
            continue
    return f"a {type(value).__name__}"
