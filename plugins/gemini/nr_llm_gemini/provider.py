"""The provider: the service, its address, its key."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from nr_llm.codecs.access import Auth, Key, access, address_of
from nr_llm.codecs.service import Service, with_changes
from nr_llm.providers import Model
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


class Gemini(Service[GeminiCodec]):
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
        settings = with_changes(settings or GeminiSettings(), api_key, more)
        address = _address(settings.base_url or BASE_URL)
        way = access(name, settings, address=address, key=settings.api_key, form=KEY, auth=auth)
        codec = GeminiCodec(provider=name, url=way.place.url, headers=way.headers, redact=way.redact)
        super().__init__(way, codec)

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        row = row_of(model)
        if row is None:
            return Model(provider=self.name, name=model)
        return Model(
            provider=self.name,
            name=model,
            context=row.context,
            max_output=row.max_output,
            attachments=READS,
            structured_output="native" if row.schema_beside_tools else "alone",
        )


def _address(base_url: str) -> str:
    """Return where models are; a bare host has the common version."""
    try:
        bare = urlsplit(base_url.strip()).path.strip("/") == ""
    except ValueError:
        bare = False  # `target` says what is wrong with it
    return address_of(base_url, "/v1beta/models" if bare else "/models")
