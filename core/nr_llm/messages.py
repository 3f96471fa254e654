"""The values of a conversation: one message class for the four roles, the calls a model makes, attachments."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs

from nr_llm import _wire
from nr_llm._json import JSON, copy_object, encode, valid_text
from nr_llm._shown import shown
from nr_llm.errors import InvalidValueError


class Role(StrEnum):
    """Who speaks; the values are the words on the wire."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


def _role(value: Role | str) -> Role:
    try:
        return Role(value)
    except ValueError:
        names = ", ".join(Role)
        raise InvalidValueError(f"{value!r} is no role; the roles are {names}", path="role") from None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(f"must be a string, not a {type(value).__name__}", path=name)
    return valid_text(value)


def _filled(value: object, name: str) -> str:
    if value == "":
        raise InvalidValueError("must not be empty", path=name)
    return _text(value, name)


def _texts(value: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: _text(text, f"{name}.{key}") for key, text in copy_object(value, path=name).items()}


def _optional(value: object, name: str) -> str | None:
    return None if value is None else _text(value, name)


def _id(value: str) -> str:
    return _filled(value, "id")


def _name(value: str) -> str:
    return _filled(value, "name")


def _malformed(value: str | None) -> str | None:
    return _optional(value, "malformed")


def _url(value: str | None) -> str | None:
    return _optional(value, "attachment.url")


def _file_name(value: str | None) -> str | None:
    return _optional(value, "attachment.name")


def _media_type(value: str) -> str:
    return _filled(value, "media_type")


def _content(value: str) -> str:
    return _text(value, "content")


def _arguments(value: Mapping[str, Any]) -> dict[str, JSON]:
    return copy_object(value, path="arguments")


def _reasoning(value: Mapping[str, str]) -> Mapping[str, str]:
    return _texts(value, "reasoning") if value else {}


def _provider_state(value: Mapping[str, Any]) -> dict[str, JSON]:
    return copy_object(value, path="provider_state") if value else {}


def _extra(value: Mapping[str, Any]) -> dict[str, JSON]:
    return copy_object(value, path="extra") if value else {}


@attrs.frozen(repr=False)
class ToolCall:
    """
    One call a model asks for.

    Args:
        id: The call's id, as the provider gave it; non-empty.
        name: The tool's name as the model wrote it; non-empty.
        arguments: Decoded arguments; copied deeply.
        malformed: What the model wrote instead of arguments, when that was no JSON object.  Such a call is
            answered with an error and never run; on the wire it is replayed with no arguments.

    Raises:
        InvalidValueError: A field breaks its rule.
    """

    __hash__ = None  # type: ignore[assignment]  # holds a mapping
    __repr__ = shown

    id: str = attrs.field(converter=_id)
    name: str = attrs.field(converter=_name)
    arguments: Mapping[str, JSON] = attrs.field(factory=dict, converter=_arguments)
    malformed: str | None = attrs.field(default=None, converter=_malformed)

    @property
    def arguments_json(self) -> str:
        """The arguments as the JSON string providers want: ``{}`` when there are none, never ``[]``."""
        return encode(self.arguments)

    def to_dict(self) -> dict[str, JSON]:
        """Return the call with its arguments as a map, unlike the message form, which has a string."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": copy_object(self.arguments)},
        }

    def to_wire(self) -> dict[str, JSON]:
        """Return the call as an OpenAI message carries it: arguments are a JSON string."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments_json}}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> ToolCall:
        """
        Read a call whose arguments are a JSON string or a map.

        Missing, null and blank arguments mean ``{}``; anything that is no JSON object is kept in `malformed`.

        Raises:
            InvalidValueError: It is no mapping, or its id or name is missing, empty or no string.
        """
        if not isinstance(wire, Mapping):
            raise InvalidValueError(f"a call must be a mapping, not a {type(wire).__name__}")
        function = wire.get("function")
        function = function if isinstance(function, Mapping) else {}
        arguments, malformed = _wire.read_arguments(function.get("arguments"))
        return cls(_string(wire.get("id")), _string(function.get("name")), arguments, malformed)

    @classmethod
    def try_from_wire(cls, wire: Mapping[str, Any]) -> ToolCall | None:
        """Read a call as `from_wire` does, or return None when id or name is unusable."""
        try:
            return cls.from_wire(wire)
        except InvalidValueError:
            return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


@attrs.frozen
class Attachment:
    """
    An image or document of a user message.  Nothing is ever downloaded: a URL is handed to the provider.

    Args:
        media_type: Such as ``image/png`` or ``application/pdf``.
        data: The bytes, or None when `url` is given.
        url: An ``https:`` address the provider may read, or None when `data` is given.
        name: A file name to show to the model.

    Raises:
        InvalidValueError: Not exactly one of `data` and `url`, or the media type is none.
    """

    media_type: str = attrs.field(converter=_media_type)
    data: bytes | None = attrs.field(default=None, repr=lambda d: "None" if d is None else f"<{len(d)} bytes>")
    url: str | None = attrs.field(default=None, kw_only=True, converter=_url)
    name: str | None = attrs.field(default=None, kw_only=True, converter=_file_name)

    def __attrs_post_init__(self) -> None:
        if "/" not in self.media_type:
            raise InvalidValueError(f"{self.media_type!r} is no media type such as 'image/png'", path="media_type")
        if (self.data is None) == (self.url is None):
            raise InvalidValueError("give exactly one of data and url", path="attachment")
        if self.data is not None and not isinstance(self.data, bytes):
            raise InvalidValueError(f"must be bytes, not a {type(self.data).__name__}", path="attachment.data")

    @property
    def data_url(self) -> str:
        """The address to send: `url`, or the bytes as a ``data:`` URL."""
        if self.data is None:
            return self.url or ""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


def _calls(value: Sequence[ToolCall] | None) -> tuple[ToolCall, ...] | None:
    given: Any = value
    if given is None:
        return None
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise InvalidValueError(f"must be a sequence of ToolCall, not a {type(given).__name__}", path="tool_calls")
    return tuple(given)


def _call_id(value: str | None) -> str | None:
    return valid_text(value) if isinstance(value, str) else value


def _attachments(value: Iterable[Attachment]) -> tuple[Attachment, ...]:
    given: Any = value
    if not isinstance(given, Iterable):
        raise InvalidValueError(f"must be attachments, not a {type(given).__name__}", path="attachments")
    return tuple(given)


@attrs.frozen(repr=False)
class ChatMessage:
    """
    One message of a conversation, whatever its role.

    Args:
        role: One of the four roles, as `Role` or string.
        content: The text; may be empty, never None.
        tool_calls: The calls of an assistant turn; None when there are none, never empty.
        tool_call_id: The call a tool turn answers; required there, forbidden elsewhere.
        is_error: Whether a tool turn reports a failure; reaches the providers that have such a flag.
        attachments: Images and documents of a user message.
        reasoning: Thinking text of an assistant turn by provider name; replayed to that provider alone.
        provider_state: Opaque blocks of an assistant turn by provider name; replayed to that provider alone.
        extra: Further keys of a message in OpenAI form; sent unchanged in that form, dropped elsewhere.

    Raises:
        InvalidValueError: A field breaks its rule; `path` names it.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings
    __repr__ = shown

    role: Role = attrs.field(converter=_role)
    content: str = attrs.field(converter=_content)
    tool_calls: tuple[ToolCall, ...] | None = attrs.field(default=None, kw_only=True, converter=_calls)
    tool_call_id: str | None = attrs.field(default=None, kw_only=True, converter=_call_id)
    is_error: bool = attrs.field(default=False, kw_only=True)
    attachments: tuple[Attachment, ...] = attrs.field(default=(), kw_only=True, converter=_attachments)
    reasoning: Mapping[str, str] = attrs.field(factory=dict, kw_only=True, converter=_reasoning)
    provider_state: Mapping[str, JSON] = attrs.field(factory=dict, kw_only=True, converter=_provider_state)
    extra: Mapping[str, JSON] = attrs.field(factory=dict, kw_only=True, converter=_extra)

    def __attrs_post_init__(self) -> None:
        _check_calls(self)
        _check_call_id(self)
        _check_side_fields(self)

    @classmethod
    def system(cls, content: str) -> ChatMessage:
        """Return an instruction to the model."""
        return cls(Role.SYSTEM, content)

    @classmethod
    def user(cls, content: str, *attachments: Attachment) -> ChatMessage:
        """Return what a person says, with any images and documents."""
        return cls(Role.USER, content, attachments=attachments)

    @classmethod
    def assistant(cls, content: str) -> ChatMessage:
        """Return a plain answer of the model."""
        return cls(Role.ASSISTANT, content)

    @classmethod
    def assistant_tool_calls(cls, calls: Sequence[ToolCall], content: str | None = None) -> ChatMessage:
        """Return an assistant turn that asks for tools; None as content, which providers send, is kept as ``""``."""
        return cls(Role.ASSISTANT, content or "", tool_calls=tuple(calls))

    @classmethod
    def tool_result(cls, call_id: str, content: str, *, is_error: bool = False) -> ChatMessage:
        """Return the answer to the call `call_id`."""
        return cls(Role.TOOL, content, tool_call_id=call_id, is_error=is_error)

    def to_wire(self) -> dict[str, JSON]:
        """Return the OpenAI-compatible request form; a plain message is exactly ``{"role", "content"}``."""
        return _wire.message_to_wire(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any], *, strict: bool = False) -> ChatMessage:
        """
        Read a message in OpenAI form.

        Null-valued keys are ignored; other unknown keys are kept in `extra`.

        Args:
            wire: The message.
            strict: Refuse unknown keys instead, by name.

        Raises:
            InvalidValueError: The message breaks a rule; `path` names the key.
        """
        return _wire.message_from_wire(wire, strict=strict)


def _check_calls(message: ChatMessage) -> None:
    calls = message.tool_calls
    if calls is None:
        return
    if message.role is not Role.ASSISTANT:
        raise InvalidValueError(
            f"only an assistant message calls tools, not a {message.role} message", path="tool_calls"
        )
    if not calls:
        raise InvalidValueError("must not be empty; use None for a message without calls", path="tool_calls")
    for i, call in enumerate(calls):
        if not isinstance(call, ToolCall):
            raise InvalidValueError(f"must be a ToolCall, not a {type(call).__name__}", path=f"tool_calls[{i}]")


def _check_call_id(message: ChatMessage) -> None:
    call_id = message.tool_call_id
    if not isinstance(message.is_error, bool):
        raise InvalidValueError(f"must be True or False, not a {type(message.is_error).__name__}", path="is_error")
    if message.role is not Role.TOOL:
        if call_id is not None:
            raise InvalidValueError(
                f"only a tool message answers a call, not a {message.role} message", path="tool_call_id"
            )
        if message.is_error:
            raise InvalidValueError(
                f"only a tool message reports an error, not a {message.role} message", path="is_error"
            )
    elif not isinstance(call_id, str) or not call_id:
        raise InvalidValueError(
            "a tool message needs the id of the call it answers, a non-empty string", path="tool_call_id"
        )


def _check_side_fields(message: ChatMessage) -> None:
    if message.attachments:
        _check_attachments(message)
    for name in ("reasoning", "provider_state") if message.role is not Role.ASSISTANT else ():
        if getattr(message, name):
            raise InvalidValueError(f"only an assistant message has it, not a {message.role} message", path=name)
    if message.extra and (taken := _wire.KNOWN_KEYS & message.extra.keys()):
        raise InvalidValueError(f"must not hold {', '.join(sorted(map(repr, taken)))}, which have fields", path="extra")


def _check_attachments(message: ChatMessage) -> None:
    if message.role is not Role.USER:
        raise InvalidValueError(
            f"only a user message has attachments, not a {message.role} message", path="attachments"
        )
    for i, attachment in enumerate(message.attachments):
        if not isinstance(attachment, Attachment):
            raise InvalidValueError(
                f"must be an Attachment, not a {type(attachment).__name__}", path=f"attachments[{i}]"
            )
