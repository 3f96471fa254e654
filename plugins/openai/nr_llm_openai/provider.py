"""The provider: one service, its address, its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import attrs
from nr_llm._reach import loopback, target
from nr_llm.errors import ConfigurationError, MissingCredentialError
from nr_llm.providers import Endpoint, HttpRequest, Model, TransportOptions
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret

from nr_llm_openai.codec import ChatCodec
from nr_llm_openai.dialects import COMPATIBLE, OPENAI, Dialect, dialect_named
from nr_llm_openai.settings import OpenAISettings

KEY_VARIABLES = ("NR_LLM_OPENAI_API_KEY", "OPENAI_API_KEY")
CREDENTIAL = re.compile(r"auth|key|token|secret|cookie|password")


class OpenAI:
    """
    OpenAI, or any server that speaks its Chat Completions form.

    Args:
        name: Name of the provider, the part before the colon in ``openai:gpt-…``.
        settings: Where and how; further keyword arguments are settings by their names.
        dialect: A row of one's own, for a service that no built-in row fits.

    Raises:
        ConfigurationError: The address, the key or the dialect cannot be used.
    """

    def __init__(
        self,
        name: str = "openai",
        *,
        settings: OpenAISettings | None = None,
        dialect: Dialect | None = None,
        api_key: Secret | str | None = None,
        **more: Any,
    ) -> None:
        settings = attrs.evolve(settings or OpenAISettings(), **more)
        if api_key is not None:
            settings = attrs.evolve(settings, api_key=api_key if isinstance(api_key, Secret) else Secret(api_key))
        self._name = name
        self._key = _checked(settings.api_key, name)
        url = _address(settings.base_url or OPENAI.base_url or "")
        self._place = target(url)
        self._dialect = _chosen(dialect, settings, self._place.host)
        self._codec = ChatCodec(
            provider=name,
            url=url,
            dialect=self._dialect,
            headers=_headers(settings),
            redact=Redactor(_secrets(self._key, settings)).redact,
        )
        self._transport = TransportOptions(
            connect_seconds=settings.connect_seconds,
            read_seconds=settings.read_seconds,
            ca_file=_path(settings.ca_file),
            client_certificate=_path(settings.client_certificate),
            auth=self._signed,
        )

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._name

    @property
    def endpoint(self) -> Endpoint:
        """Where the data goes."""
        return Endpoint(self._place.host, local=loopback(self._place.host))

    @property
    def codec(self) -> ChatCodec:
        """The wire format."""
        return self._codec

    @property
    def transport(self) -> TransportOptions:
        """How to connect."""
        return self._transport

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        window = next((row for row in self._dialect.windows if row[0].match(model)), None)
        context, longest = window[1:] if window else (None, None)
        return Model(
            provider=self._name, name=model, context=context, max_output=longest, max_tools=self._dialect.max_tools
        )

    def __repr__(self) -> str:
        return f"OpenAI({self._name!r}, {self._place.shown!r}, dialect={self._dialect.name!r})"

    def _signed(self, request: HttpRequest) -> HttpRequest:
        if any(name.lower() == "authorization" for name, _ in request.headers):
            return request
        if self._key is None:
            if self._place.host == _host(OPENAI):
                raise MissingCredentialError(self._name, variables=KEY_VARIABLES)
            return request
        key = ("authorization", f"Bearer {self._key.reveal()}")
        return HttpRequest(
            request.method, request.url, headers=(*request.headers, key), body=request.body, stream=request.stream
        )


def _host(dialect: Dialect) -> str:
    return target(dialect.base_url or "").host


def _address(base_url: str) -> str:
    """Return where requests go; a base URL that was copied whole, or has a query, is taken too."""
    try:
        parts = urlsplit(base_url.strip())
    except ValueError:
        return base_url  # `target` says what is wrong with it
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit(parts._replace(path=f"{path}/chat/completions"))


def _chosen(dialect: Dialect | None, settings: OpenAISettings, host: str) -> Dialect:
    if dialect is None and settings.dialect is not None:
        dialect = dialect_named(settings.dialect)
    if dialect is None:
        dialect = OPENAI if host == _host(OPENAI) else COMPATIBLE
    return dialect if settings.call_content is None else attrs.evolve(dialect, call_content=settings.call_content)


def _checked(key: Secret | None, name: str) -> Secret | None:
    if key is None:
        return None
    text = key.reveal().strip()
    if not text or not text.isascii() or not text.isprintable():
        raise ConfigurationError(
            f"The API key of provider {name!r} is blank or holds characters that no key has.",
            remedy=f"Check {' and '.join(KEY_VARIABLES)} for line breaks and quotes.",
        )
    return Secret(text)


def _secrets(key: Secret | None, settings: OpenAISettings) -> list[Secret | str]:
    """Return what must not be repeated of a reply: the key, and headers whose names say that they are one."""
    named = [value for name, value in settings.headers.items() if CREDENTIAL.search(name.lower())]
    return [*([key] if key else []), *named]


def _headers(settings: OpenAISettings) -> tuple[tuple[str, str], ...]:
    given: Mapping[str, str | None] = {
        "openai-organization": settings.organization,
        "openai-project": settings.project,
        **settings.headers,
    }
    return tuple((name, value) for name, value in given.items() if value is not None)


def _path(path: object) -> str | None:
    return None if path is None else str(path)
