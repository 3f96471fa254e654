"""The provider: the service, its address, its key."""

from __future__ import annotations

from typing import Any

import attrs
from nr_llm.codecs.access import Auth, Key, access, address_of
from nr_llm.providers import Endpoint, Model, TransportOptions
from nr_llm.secrets import Secret

from nr_llm_anthropic.codec import MessagesCodec
from nr_llm_anthropic.models import READS, WINDOW, row_of
from nr_llm_anthropic.settings import AnthropicSettings

BASE_URL = "https://api.anthropic.com"
KEY = Key(
    header="x-api-key",
    prefix="",
    variables=("NR_LLM_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    needed_at="api.anthropic.com",
)


class Anthropic:
    """
    Anthropic's models, or a gateway that speaks the Messages form.

    Args:
        name: Name of the provider, the part before the colon in ``anthropic:claude-…``.
        settings: Where and how; further keyword arguments are settings by their names.
        api_key: The key, in place of the settings'.
        auth: Lets requests in, in place of a key: called on each request, returns it with what it needs.

    Raises:
        ConfigurationError: The address or the key cannot be used.
    """

    def __init__(
        self,
        name: str = "anthropic",
        *,
        settings: AnthropicSettings | None = None,
        api_key: Secret | str | None = None,
        auth: Auth | None = None,
        **more: Any,
    ) -> None:
        settings = attrs.evolve(settings or AnthropicSettings(), **more)
        if api_key is not None:
            settings = attrs.evolve(settings, api_key=api_key if isinstance(api_key, Secret) else Secret(api_key))
        base = (settings.base_url or BASE_URL).strip().rstrip("/").removesuffix("/messages").removesuffix("/v1")
        self._name = name
        self._access = access(
            name,
            settings,
            address=address_of(base, "/v1/messages"),
            key=settings.api_key,
            form=KEY,
            auth=auth,
            headers={"anthropic-version": settings.version},
        )
        self._codec = MessagesCodec(
            provider=name,
            url=self._access.place.url,
            headers=self._access.headers,
            betas=settings.betas,
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
    def codec(self) -> MessagesCodec:
        """The wire format."""
        return self._codec

    @property
    def transport(self) -> TransportOptions:
        """How to connect."""
        return self._access.transport

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        row = row_of(model)
        if row is None:
            return Model(provider=self._name, name=model)
        return Model(
            provider=self._name,
            name=model,
            context=WINDOW,
            max_output=row.max_output,
            attachments=READS,
            structured_output="native" if row.schema else "none",
        )

    def __repr__(self) -> str:
        return f"Anthropic({self._name!r}, {self._access.place.shown!r})"
