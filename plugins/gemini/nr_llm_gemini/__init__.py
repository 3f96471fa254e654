"""Google Gemini models over the generateContent API, as a provider for nr-llm."""

from __future__ import annotations

from collections.abc import Iterable

from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Provider

from nr_llm_gemini.codec import GeminiCodec
from nr_llm_gemini.options import GeminiOptions
from nr_llm_gemini.provider import Gemini
from nr_llm_gemini.schemas import openapi_schema
from nr_llm_gemini.settings import GeminiSettings

__all__ = ["Gemini", "GeminiCodec", "GeminiOptions", "GeminiSettings", "openapi_schema"]


@hookimpl
def nr_llm_providers(settings: GeminiSettings) -> Iterable[Provider]:
    """Offer the service that the settings name: Google's own unless they give another address."""
    return [Gemini(settings=settings)]


@hookimpl
def nr_llm_make_provider(name: str, settings: GeminiSettings) -> Provider:
    """Make a further service that speaks the same form."""
    return Gemini(name, settings=settings)
