"""
What the form asks for, as a run takes it: each field checked, and no way from a request to an address or a file.

A model is named as a Runtime names it, tools likewise; settings of single providers, headers and addresses have no
field, and attachments come as bytes.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
from nr_llm.conversation import as_messages
from nr_llm.errors import InvalidValueError
from nr_llm.limits import BOUNDS, Limits
from nr_llm.messages import Attachment, ChatMessage
from nr_llm.options import Options
from nr_llm.privacy import PrivacyLevel
from nr_llm_cli.attach import media_type

from nr_llm_playground.bodies import known
from nr_llm_playground.caps import Caps
from nr_llm_playground.refusals import Refusal

FIELDS: Final = (
    "attachments",
    "configuration",
    "continues",
    "dry_run",
    "limits",
    "messages",
    "model",
    "options",
    "privacy",
    "prompt",
    "system",
    "tools",
)
"""What the body of a new run may have."""

OPTIONS: Final = (
    "frequency_penalty",
    "max_tokens",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "seed",
    "stop",
    "temperature",
    "tool_choice",
    "top_p",
)
"""Settings of model calls that may be asked for; what single providers have beyond these may not."""

FILES: Final = 20
"""Attachments of one run."""

TOOLS: Final = 500
"""Tools of one run; above what any model copes with."""

_NAME: Final = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")


@attrs.frozen(kw_only=True)
class Asked:
    """
    A new run.

    Attributes:
        messages: What is said in it first.
        continues: The run whose conversation goes before, or None.
        settings: Those of `RunSettings` that the form has.
    """

    __hash__ = None  # type: ignore[assignment]  # holds messages

    messages: tuple[ChatMessage, ...]
    continues: str | None
    settings: Mapping[str, Any]


def asked_of(body: Mapping[str, Any], caps: Caps) -> Asked:
    """
    Return the run that a body asks for.

    Raises:
        Refusal: A field is wrong; the text says which, and how.
        InvalidValueError: A setting or message breaks a rule.
    """
    files = _files(body.get("attachments"))
    text = "".join(f"\n\nFile {name}:\n{content}" for name, content in files if isinstance(content, str))
    settings: dict[str, Any] = {
        "model": _name(body, "model"),
        "configuration": _name(body, "configuration"),
        "system": _text(body, "system") or None,
        "tools": _tools(body.get("tools")),
        "limits": _limits(body.get("limits"), caps),
        "options": _options(body.get("options")),
        "privacy": _level(_name(body, "privacy")),
        "dry_run": _flag(body, "dry_run"),
        "attachments": [content for _, content in files if isinstance(content, Attachment)],
    }
    return Asked(messages=_messages(body, text), continues=_name(body, "continues"), settings=settings)


def _messages(body: Mapping[str, Any], text: str) -> tuple[ChatMessage, ...]:
    prompt, given = _text(body, "prompt"), body.get("messages")
    if given is None:
        if prompt is None or not prompt.strip():
            raise Refusal(400, "blank_prompt", "Write a question first.", field="prompt")
        return (ChatMessage.user(prompt + text),)
    if prompt is not None:
        raise Refusal(400, "invalid", "Give either a prompt or messages.", field="messages")
    if not isinstance(given, list):
        raise Refusal(400, "invalid", "Messages are a list.", field="messages")
    messages = as_messages(given)
    if any(one.data is None for message in messages for one in message.attachments):
        raise Refusal(400, "invalid", "An attachment comes as bytes here, not as an address.", field="messages")
    return (*messages[:-1], attrs.evolve(messages[-1], content=messages[-1].content + text)) if text else messages


def _wrong(field: str, wanted: str) -> Refusal:
    return Refusal(400, "invalid", f"{field!r} has to be {wanted}.", field=field)


def _text(body: Mapping[str, Any], field: str) -> str | None:
    value = body.get(field)
    if value is not None and not isinstance(value, str):
        raise _wrong(field, "a text")
    return value


def _name(body: Mapping[str, Any], field: str) -> str | None:
    value = _text(body, field)
    if value and not _NAME.fullmatch(value):
        raise _wrong(field, "a name without blanks")
    return value or None


def _flag(body: Mapping[str, Any], field: str) -> bool:
    value = body.get(field)
    if value is not None and not isinstance(value, bool):
        raise _wrong(field, "true or false")
    return bool(value)


def _level(name: str | None) -> str | None:
    if name is not None and name not in set(PrivacyLevel):
        raise _wrong("privacy", f"one of {', '.join(PrivacyLevel)}")
    return name


def _tools(given: object) -> list[str] | None:
    """Return the tools by name: None is the default set, an empty list is none at all."""
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in given):
        raise _wrong("tools", "a list of names, or null for the default set")
    if len(given) > TOOLS:
        raise _wrong("tools", f"at most {TOOLS} names")
    return given


def _limits(given: object, caps: Caps) -> Limits | None:
    named = {name: value for name, value in _object(given, "limits", BOUNDS).items() if value is not None}
    if not named:
        return None
    limits: Limits = _checked("limits", Limits, named)
    if limits.rounds > caps.rounds:
        text = f"A run here has at most {caps.rounds} rounds; ask for fewer than {limits.rounds}."
        raise Refusal(400, "invalid", text, field="limits.rounds")
    return limits


def _options(given: object) -> Options | None:
    named = {name: value for name, value in _object(given, "options", OPTIONS).items() if value is not None}
    if not named:
        return None
    options: Options = _checked("options", Options, named)
    return options


def _object(given: object, field: str, names: tuple[str, ...]) -> dict[str, Any]:
    return {} if given is None else known(given, names, where=f"{field!r}")


def _checked(field: str, kind: Any, named: Mapping[str, Any]) -> Any:
    try:
        return kind(**named)
    except InvalidValueError as error:
        raise Refusal(400, "invalid", str(error), field=f"{field}.{error.path}") from None


def _files(given: object) -> list[tuple[str, str | Attachment]]:
    """Return what is attached, by name: a text to put behind the question, or an image or document beside it."""
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > FILES:
        raise _wrong("attachments", f"a list of at most {FILES} files")
    return [_file(known(one, ("name", "media_type", "data"), where="an attachment")) for one in given]


def _file(given: Mapping[str, Any]) -> tuple[str, str | Attachment]:
    name, data, declared = _text(given, "name") or "file", _text(given, "data"), _text(given, "media_type")
    name = name.replace("\\", "/").rpartition("/")[2][:200]
    try:
        content = base64.b64decode(data or "", validate=True)
    except (binascii.Error, ValueError):
        raise _wrong("attachments", "files in base64") from None
    kind = media_type(name, content)
    if kind is None and b"\0" not in content:
        try:
            return name, content.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
    return name, Attachment(kind or declared or "application/octet-stream", content, name=name)
