"""The provider: the service, its address, its key."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import attrs
from nr_llm.codecs.access import Auth, Key, access, address_of
from nr_llm.providers import Endpoint, Model, TransportOptions
from nr_llm.secrets import Secret

from nr_llm_gemini.codec import GeminiCodec
from nr_llm_gemini.models import READS, row_of
from nr_llm_gemini.settings import GeminiSettings

BASE_URL = "https://generativelanguage.googleapis.com"
KEY = Key(
    header="x-goog-api-key",
    prefix="",
    variables=("NR_LLM_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    needed_at="generativelanguage.googleapis.com",
)


class Gemini:
    """
    Google's Gemini models; Vertex AI by its address and an `auth` callable.

    Args:
        name: Name of the provider, the part before the colon in ``gemini:gemini-…``.
        settings: Where and how; further keyword arguments are settings by their names.
        api_key: The key, in place of the settings'.
        auth: Lets requests in, in place of a key: called on each request, returns it with what it needs.

    Raises:
        ConfigurationError: The address or the key cannot be used.
    """

    def __init__(
        self,
        name: str = "gemini",
        *,
        settings: GeminiSettings | None = None,
        api_key: Secret | str | None = None,
        auth: Auth | None = None,
        **more: Any,
    ) -> None:
        settings = attrs.evolve(settings or GeminiSettings(), **more)
        if api_key is not None:
            settings = attrs.evolve(settings, api_key=api_key if isinstance(api_key, Secret) else Secret(api_key))
        self._name = name
        address = _address(settings.base_url or BASE_URL)
        self._access = access(name, settings, address=address, key=settings.api_key, form=KEY, auth=auth)
        self._codec = GeminiCodec(
            provider=name, url=self._access.place.url, headers=self._access.headers, redact=self._access.redact
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
    def codec(self) -> GeminiCodec:
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
            context=row.context,
            max_output=row.max_output,
            attachments=READS,
            structured_output="native" if row.schema_beside_tools else "alone",
        )

    def __repr__(self) -> str:
        return f"Gemini({self._name!r}, {self._access.place.shown!r})"


def _address(base_url: str) -> str:
    """Return where models are; a bare host has the common version."""
    try:
        bare = urlsplit(base_url.strip()).path.strip("/") == ""
    except ValueError:
        bare = False  # `target` says what is wrong with it
    return address_of(base_url, "/v1beta/models" if bare else "/models")
