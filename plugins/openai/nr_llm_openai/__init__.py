"""OpenAI and every server that speaks its Chat Completions form, as a provider for nr-llm."""

from __future__ import annotations

from collections.abc import Iterable

from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Provider

from nr_llm_openai.codec import ChatCodec
from nr_llm_openai.dialects import COMPATIBLE, DIALECTS, OPENAI, Dialect, Known, dialect_at, dialect_named
from nr_llm_openai.options import OpenAIOptions
from nr_llm_openai.provider import OpenAI
from nr_llm_openai.responses import ResponsesCodec
from nr_llm_openai.settings import OpenAISettings

__all__ = [
    "COMPATIBLE",
    "DIALECTS",
    "OPENAI",
    "ChatCodec",
    "Dialect",
    "Known",
    "OpenAI",
    "OpenAIOptions",
    "OpenAISettings",
    "ResponsesCodec",
    "dialect_at",
    "dialect_named",
]


@hookimpl
def nr_llm_providers(settings: OpenAISettings) -> Iterable[Provider]:
    """Offer the service that the settings name: OpenAI unless they give another address."""
    return [OpenAI(settings=settings)]


@hookimpl
def nr_llm_make_provider(name: str, settings: OpenAISettings) -> Provider:
    """Make a further service that speaks the same form."""
    return OpenAI(name, settings=settings)
