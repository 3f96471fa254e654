"""Takes from a reply what has the right shape and nothing else: services send odd types, and none of them may raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nr_llm._json import JSON, copy_json, decode
from nr_llm.codecs.faults import error_in, excerpt, fault_in, text_in
from nr_llm.errors import InvalidValueError, MalformedJsonError, MalformedReplyError
from nr_llm.responses import MOST_TOKENS


def text_of(value: object) -> str:
    """Return a text, or an empty one for any other value."""
    return value if isinstance(value, str) else ""


def filled(value: object) -> str | None:
    """Return a text that is not empty, or None for any other value."""
    return value if isinstance(value, str) and value else None


def object_of(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; anything else in it, and any other value, gives none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count_of(value: object) -> int | None:
    """Return a number of tokens, or None when `value` is none."""
    count = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(count, bool) or not isinstance(count, int):
        return None
    return count if abs(count) < MOST_TOKENS else None


def document(body: bytes, *, provider: str, redact: Callable[[str], str]) -> JSON:
    """
    Return the JSON document a reply is.

    Raises:
        MalformedReplyError: It is none; the text shows its beginning.
    """
    text = text_in(body)
    try:
        return decode(text)
    except MalformedJsonError as error:
        raise malformed(_instead(text.strip()), body, provider=provider, redact=redact) from error


def _instead(text: str) -> str:
    if text.startswith("<"):  # whatever else listens at a wrong address or port most likely serves pages
        return "is a web page and no JSON (is the base URL right?)"
    return "is no JSON" if text else "is empty"


def payload_of(body: bytes, *, provider: str, redact: Callable[[str], str]) -> JSON:
    """
    Return the JSON document a reply is, unless it reports a failure.

    Raises:
        ProviderError: It does, or it is no document.
    """
    payload = document(body, provider=provider, redact=redact)
    if (fault := fault_in(payload)) is not None:
        raise error_in(provider, fault, redact=redact, body=text_in(body))
    return payload


def malformed(what: str, body: bytes, *, provider: str, redact: Callable[[str], str]) -> MalformedReplyError:
    """Return the error for a reply that ends the sentence "the reply …" with `what`."""
    text = text_in(body)
    shown = f": {excerpt(text, redact)}" if text.strip() else ""
    return MalformedReplyError(f"the reply {what}{shown}", provider=provider, body=redact(text))


def kept(state: Mapping[str, Any], *, path: str, provider: str) -> JSON:
    """
    Return a copy of what a service wants back on the next turn, for `CompletionResponse.provider_state`.

    Raises:
        MalformedReplyError: It nests too deeply, or is otherwise nothing that can be stored; `path` says where.
    """
    try:
        return copy_json(state, path=path)
    except InvalidValueError as error:
        raise MalformedReplyError(f"the reply cannot be kept for the next turn: {error}", provider=provider) from error
