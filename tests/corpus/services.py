"""The recorded services by folder: whose codec reads them, and how they are read the simple way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from nr_llm.providers import Codec

from tests.corpus import plain
from tests.corpus.plain import Reader


@attrs.frozen
class Service:
    """
    A recorded service.

    Attributes:
        codec: Makes its codec, or skips where its plugin is not installed.
        whole: Reads a whole reply's payload.
        stream: Reads a stream's text.
    """

    codec: Callable[[], Codec]
    whole: Reader
    stream: Reader


def _made(plugin: str, name: str, **settings: Any) -> Callable[[], Codec]:
    def make() -> Codec:
        module: Any = pytest.importorskip(f"nr_llm_{plugin}", reason=f"the {plugin} plugin is not installed here")
        dialect = settings.get("dialect")
        codec: Codec = getattr(module, name)(**({"dialect": module.DIALECTS[dialect]} if dialect else {}))
        return codec

    return make


def _chat(dialect: str) -> Service:
    return Service(_made("openai", "ChatCodec", dialect=dialect), plain.chat, plain.chat_stream)


RESPONSES = Service(_made("openai", "ResponsesCodec"), plain.responses, plain.responses_stream)

SERVICES = {
    "anthropic": Service(_made("anthropic", "MessagesCodec"), plain.anthropic, plain.anthropic_stream),
    "azure": _chat("azure"),
    "groq": _chat("groq"),
    "mistral": _chat("mistral"),
    "ollama": Service(_made("ollama", "OllamaCodec"), plain.ollama, plain.ollama_stream),
    "openai_responses": RESPONSES,
    "openrouter": _chat("openrouter"),
}
"""The services by folder; OpenAI's own chat and Gemini have test modules of their own."""


def service_of(folder: str, endpoint_path: str) -> Service:
    """Return the service of a recorded exchange; some folders hold two forms."""
    return RESPONSES if "responses" in endpoint_path else SERVICES[folder]
