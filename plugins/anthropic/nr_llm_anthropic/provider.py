"""The provider: the service, its address, its key."""

from __future__ import annotations

from typing import Any

from nr_llm.codecs.access import Auth, Key, access, address_of
from nr_llm.codecs.service import Service, with_changes
from nr_llm.providers import Model
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


class Anthropic(Service[MessagesCodec]):
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
        settings = with_changes(settings or AnthropicSettings(), api_key, more)
        way = access(
            name,
            settings,
            address=address_of(settings.base_url or BASE_URL, "/v1/messages", also=("/messages", "/v1")),
            key=settings.api_key,
            form=KEY,
            auth=auth,
            headers={"anthropic-version": settings.version},
        )
        codec = MessagesCodec(
            provider=name,
            url=way.place.url,
            headers=way.headers,
            betas=settings.betas,
            redact=way.redact,
        )
        super().__init__(way, codec)

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        row = row_of(model)
        if row is None:
            return Model(provider=self.name, name=model)
        return Model(
            provider=self.name,
            name=model,
            context=WINDOW,
            max_output=row.max_output,
            attachments=READS,
            structured_output="closed" if row.schema else "none",
        )
