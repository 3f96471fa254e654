"""Parrot as a provider for nr-llm."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from nr_llm.codecs.access import Key, ServiceSettings, access, address_of
from nr_llm.codecs.service import Service
from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Model, Provider
from nr_llm.secrets import Secret
from nr_llm.settings import setting

from nr_llm_parrot.codec import ParrotCodec

__all__ = ["Parrot", "ParrotCodec", "ParrotSettings"]

KEY = Key(
    header="x-parrot-key",
    prefix="",
    variables=("NR_LLM_PARROT_API_KEY", "PARROT_API_KEY"),
    needed_at="api.parrot.example",
)


@attrs.frozen(kw_only=True)
class ParrotSettings(ServiceSettings):
    """What can be set in ``[plugins.parrot]`` or as ``NR_LLM_PARROT_<NAME>``, beside what any service has."""

    api_key: Secret | None = setting(env=("PARROT_API_KEY",), default=None)


class Parrot(Service[ParrotCodec]):
    """The service: its address and key, and the codec."""

    def __init__(self, name: str = "parrot", *, settings: ParrotSettings | None = None) -> None:
        settings = settings or ParrotSettings()
        address = address_of(settings.base_url or "https://api.parrot.example", "/v1/talk")
        way = access(name, settings, address=address, key=settings.api_key, form=KEY)
        super().__init__(way, ParrotCodec(provider=name, url=way.place.url, redact=way.redact))

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""
        return Model(provider=self.name, name=model, attachments=(), structured_output="none")


@hookimpl
def nr_llm_providers(settings: ParrotSettings) -> Iterable[Provider]:
    """Offer the service that the settings name."""
    return [Parrot(settings=settings)]
