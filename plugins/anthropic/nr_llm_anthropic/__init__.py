"""Claude models over the Anthropic Messages API, as a provider for nr-llm."""

from __future__ import annotations

from collections.abc import Iterable

from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Provider

from nr_llm_anthropic.codec import MessagesCodec
from nr_llm_anthropic.options import AnthropicOptions
from nr_llm_anthropic.provider import Anthropic
from nr_llm_anthropic.settings import AnthropicSettings

__all__ = ["Anthropic", "AnthropicOptions", "AnthropicSettings", "MessagesCodec"]


@hookimpl
def nr_llm_providers(settings: AnthropicSettings) -> Iterable[Provider]:
    """Offer the service that the settings name: Anthropic's own unless they give another address."""
    return [Anthropic(settings=settings)]


@hookimpl
def nr_llm_make_provider(name: str, settings: AnthropicSettings) -> Provider:
    """Make a further service that speaks the same form."""
    return Anthropic(name, settings=settings)
