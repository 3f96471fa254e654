"""The provider: one service, its address, its key."""

from __future__ import annotations

from typing import Any

import attrs
from nr_llm.codecs.access import Auth, Key, access, address_of
from nr_llm.providers import Endpoint, Model, TransportOptions
from nr_llm.secrets import Secret

from nr_llm_openai.codec import ChatCodec
from nr_llm_openai.dialects import COMPATIBLE, OPENAI, Dialect, dialect_named
from nr_llm_openai.settings import OpenAISettings

HOST = "api.openai.com"
KEY = Key(variables=("NR_LLM_OPENAI_API_KEY", "OPENAI_API_KEY"), needed_at=HOST)


class OpenAI:
    """
    OpenAI, or any server that speaks its Chat Completions form.

    Args:
        name: Name of the provider, the part before the colon in ``openai:gpt-…``.
        settings: Where and how; further keyword arguments are settings by their names.
        dialect: A row of one's own, for a service that no built-in row fits.
        api_key: The key, in place of the settings'.
        auth: Lets requests in, in place of a key: called on each request, returns it with what it needs.

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
        auth: Auth | None = None,
        **more: Any,
    ) -> None:
        settings = attrs.evolve(settings or OpenAISettings(), **more)
        if api_key is not None:
            settings = attrs.evolve(settings, api_key=api_key if isinstance(api_key, Secret) else Secret(api_key))
        self._name = name
        self._access = access(
            name,
            settings,
            address=address_of(settings.base_url or OPENAI.base_url or "", "/chat/completions"),
            key=settings.api_key,
            form=KEY,
            auth=auth,
            headers={"openai-organization": settings.organization, "openai-project": settings.project},
        )
        self._dialect = _chosen(dialect, settings, self._access.place.host)
        self._codec = ChatCodec(
            provider=name,
            url=self._access.place.url,
            dialect=self._dialect,
            headers=self._access.headers,
            redact=self._access.redact,
        )

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._name

    @property
    def endpoint(self) -> Endpoint:
        """Where the data goes."""
        return self._access.endpoint

    @property
    def codec(self) -> ChatCodec:
        """The wire format."""
        return self._codec

    @property
    def transport(self) -> TransportOptions:
        """How to connect."""
        return self._access.transport

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        window = next((row for row in self._dialect.windows if row[0].match(model)), None)
        context, longest = window[1:] if window else (None, None)
        return Model(
            provider=self._name, name=model, context=context, max_output=longest, max_tools=self._dialect.max_tools
        )

    def __repr__(self) -> str:
        return f"OpenAI({self._name!r}, {self._access.place.shown!r}, dialect={self._dialect.name!r})"


def _chosen(dialect: Dialect | None, settings: OpenAISettings, host: str) -> Dialect:
    if dialect is None and settings.dialect is not None:
        dialect = dialect_named(settings.dialect)
    if dialect is None:
        dialect = OPENAI if host == HOST else COMPATIBLE
    return dialect if settings.call_content is None else attrs.evolve(dialect, call_content=settings.call_content)
