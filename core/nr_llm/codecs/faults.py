"""Failed replies to typed errors: what the service says, who has to act, when to come back."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping

import attrs

from nr_llm._json import JSON, decode, encode
from nr_llm.codecs.delays import retry_after
from nr_llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    MalformedJsonError,
    ModelNotFoundError,
    ProviderError,
    RateLimitError,
    ServiceError,
    ToolCallRejectedError,
)
from nr_llm.providers import HttpReply

SHOWN = 300
"""Characters of a service's message that an error repeats."""

READ = 20_000
"""Characters of a reply in which an error's words and a page's title are looked for: far more than errors have."""

REQUEST_ID_SHOWN = 100
"""Characters of a service's own name of a request that an error repeats."""

REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "x-ms-request-id")

CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|too_many_prompt_tokens|(maximum|max) context length"
    r"|prompt (is )?too long|exceeds? the (available )?context|context window|input is too long"
    r"|token count.{0,40}exceeds? the maximum number of tokens"
)
FILTER = re.compile(r"content_filter|content_policy_violation|responsibleaipolicyviolation")
KEY = re.compile(r"invalid_api_key|api_key_invalid|api key not valid|authentication_error|unauthori[sz]ed")
NO_MODEL = re.compile(
    r"model_not_found|deploymentnotfound|not_found_error\W+message\W+model:"
    r"|model.{0,200}(not found|does not exist)|unknown model|no such model"
)
RATE = re.compile(r"rate.?limit|too many requests|quota|resource_exhausted")
SPENT = re.compile(r"insufficient_quota|per[ _-]?day")
REQUEST = re.compile(r"invalid_request|badrequest|invalid_value|unsupported|invalid_argument")

RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504, *range(520, 530)})
"""Statuses after which asking again may help; 520 to 529 are those of proxies and of overloaded services."""


@attrs.frozen(kw_only=True)
class Fault:
    """
    What a service says went wrong, whatever form it says it in.

    Attributes:
        message: Its sentence for people.
        words: All of it in lower case, to look for codes and phrases in.
        status: The status it names itself, or None.
        details: The object it came in, to look for delays in.
    """

    message: str
    words: str
    status: int | None = None
    details: Mapping[str, JSON] = attrs.field(factory=dict)


def fault_in(payload: JSON) -> Fault | None:
    """Return the fault a decoded payload reports, or None when it reports none."""
    if not isinstance(payload, dict):
        listed = [item for item in payload if isinstance(item, dict)] if isinstance(payload, list) else []
        return next((fault for fault in map(fault_in, listed) if fault), None)
    error = payload.get("error")
    if isinstance(error, dict) and error:
        return _fault(error, payload)
    if isinstance(error, str) and error:
        return _fault(payload | {"message": error}, payload)
    return fault_of(payload) if payload.get("object") == "error" else None


def fault_of(payload: JSON) -> Fault:
    """Return the fault a payload is, when something beside it says that it is one."""
    return _fault(payload if isinstance(payload, dict) else {"message": payload}, payload)


def _fault(error: Mapping[str, JSON], payload: JSON) -> Fault:
    message = error.get("message") or error.get("detail") or error.get("type") or error.get("code")
    text = message if isinstance(message, str) else encode(message or error)
    param = error.get("param")
    if isinstance(param, str) and param and param not in text:
        text = f"{text} (parameter {param})"
    status = next((int(code) for key in ("code", "status") if (code := str(error.get(key))) in _STATUSES), None)
    return Fault(message=text, words=encode(payload)[:READ].lower(), status=status, details=error)


_STATUSES = frozenset(map(str, range(400, 600)))


def error_for(provider: str, reply: HttpReply, *, redact: Callable[[str], str], lost: str = "") -> ProviderError:
    """
    Return the error that a reply with a failing status stands for.

    Args:
        provider: The provider's name.
        reply: The reply.
        redact: Masks secrets in what the error repeats.
        lost: What to check when nothing is at the address, such as ``is the base URL right?``.
    """
    fault = _read(reply.body)
    if not fault.message or 300 <= reply.status < 400:  # the page that comes with a redirection says nothing more
        fault = attrs.evolve(fault, message=_unsaid(reply.status, reply.headers))
    body = reply.body.decode("utf-8", "replace")
    return _typed(provider, fault, reply.headers, redact=redact, status=reply.status, body=body, lost=lost)


def error_in(provider: str, fault: Fault, *, redact: Callable[[str], str], body: str) -> ProviderError:
    """Return the error that a payload reports inside a reply that claims success, or in a stream."""
    return _typed(provider, fault, {}, redact=redact, status=None, body=body)


def _read(body: bytes) -> Fault:
    text = text_in(body).strip()
    try:
        payload = decode(text)
    except MalformedJsonError:
        page = re.search(r"<title[^<>]*>([^<]*)</title", text[:READ], re.IGNORECASE)
        said = f"a web page, {page[1].strip()!r}" if page else text
        return Fault(message=said, words=text[:READ].lower())
    fault = fault_in(payload)
    if fault is not None:
        return fault
    if isinstance(payload, dict) and (detail := payload.get("detail") or payload.get("message")):
        return _fault({"message": _joined(detail)} | {k: v for k, v in payload.items() if k != "message"}, payload)
    return Fault(message=text, words=text[:READ].lower())


def text_in(body: bytes) -> str:
    """Return the text of a reply, without a byte order mark, whatever bytes it has."""
    return body.removeprefix(BOM_UTF8).decode(errors="replace")


def excerpt(text: str, redact: Callable[[str], str]) -> str:
    """Return the beginning of a reply that was not understood, as an error shows it."""
    shown = " ".join(redact(text).split())
    return repr(shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…")


def _joined(detail: JSON) -> JSON:
    """Return a list of faults as FastAPI servers send it as one line; anything else as it is."""
    if not isinstance(detail, list):
        return detail
    faults = [item for item in detail if isinstance(item, dict)]
    return "; ".join(f"{'.'.join(map(str, _list(item.get('loc'))))}: {item.get('msg')}" for item in faults)


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _unsaid(status: int, headers: Mapping[str, str]) -> str:
    if 300 <= status < 400:
        place = headers.get("location", "").partition("?")[0]
        return f"the address has moved to {place!r}; redirects are not followed, so set base_url to the new one"
    return "the reply is empty"


def _typed(
    provider: str,
    fault: Fault,
    headers: Mapping[str, str],
    *,
    redact: Callable[[str], str],
    status: int | None,
    body: str,
    lost: str = "",
) -> ProviderError:
    kind, retryable = _kind(fault, status if status is not None else fault.status)
    asked = headers.get("x-should-retry")
    message = redact(fault.message)
    if status == 404 and kind is InvalidRequestError and lost:
        message += f"; {lost}"
    error = kind(
        message if len(message) <= SHOWN else f"{message[:SHOWN]}…",
        provider=provider,
        status=status,
        retryable=asked == "true" if asked in ("true", "false") else retryable,
        request_id=_request_id(headers, redact),
        retry_after=retry_after(headers, fault.details, fault.message),
        body=redact(body),
    )
    if isinstance(error, ToolCallRejectedError):
        error.failed_generation = redact(str(fault.details.get("failed_generation") or ""))
    return error


def _request_id(headers: Mapping[str, str], redact: Callable[[str], str]) -> str | None:
    given = next((headers[name] for name in REQUEST_IDS if name in headers), None)
    return None if given is None else redact(given)[:REQUEST_ID_SHOWN]


def _kind(fault: Fault, status: int | None) -> tuple[type[ProviderError], bool]:
    """Return who has to act, and whether asking again may help: by what is said, then by status."""
    words = fault.words
    if "tool_use_failed" in words or "failed_generation" in fault.details:
        return ToolCallRejectedError, True
    if FILTER.search(words):
        return ContentFilterError, False
    if status not in (401, 403, 429) and CONTEXT.search(words):
        return ContextLengthError, False
    if status in (401, 403) or (status in (400, None) and KEY.search(words)):
        return AuthenticationError, False
    if status in (402, 429):
        return RateLimitError, status == 429 and not SPENT.search(words)
    if status in (400, 404) and NO_MODEL.search(words):
        return ModelNotFoundError, False
    if status is None:
        return _unnumbered(words)
    if status in RETRYABLE or status >= 500:
        return ServiceError, status in RETRYABLE
    return InvalidRequestError, False


def _unnumbered(words: str) -> tuple[type[ProviderError], bool]:
    """Judge a fault without a status, from inside a reply or stream that had begun well."""
    if RATE.search(words):
        return RateLimitError, not SPENT.search(words)
    if REQUEST.search(words):
        return InvalidRequestError, False
    return ServiceError, True
