"""Models served by Ollama over its own chat API, as a provider for nr-llm."""

from __future__ import annotations

from collections.abc import Iterable

from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Provider

from nr_llm_ollama.codec import OllamaCodec
from nr_llm_ollama.options import OllamaOptions
from nr_llm_ollama.provider import Ollama
from nr_llm_ollama.settings import OllamaSettings

__all__ = ["Ollama", "OllamaCodec", "OllamaOptions", "OllamaSettings"]


@hookimpl
def nr_llm_providers(settings: OllamaSettings) -> Iterable[Provider]:
    """Offer the server that the settings name: this machine's unless they give another address."""
    return [Ollama(settings=settings)]


@hookimpl
def nr_llm_make_provider(name: str, settings: OllamaSettings) -> Provider:
    """Make a further server of the same kind."""
    return Ollama(name, settings=settings)
