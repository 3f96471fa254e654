"""The provider: one server, most often on this machine."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from nr_llm.codecs.access import Auth, Key, access, address_of
from nr_llm.codecs.service import Service, with_changes
from nr_llm.providers import Model
from nr_llm.secrets import Secret

from nr_llm_ollama.codec import OllamaCodec
from nr_llm_ollama.settings import OllamaSettings

PORT = 11434
"""The port Ollama listens at unless told otherwise."""

CLOUD = ("ollama.com", "www.ollama.com")
"""Hosts that are spoken to over TLS when nothing else is said."""

KEY = Key(variables=("NR_LLM_OLLAMA_API_KEY", "OLLAMA_API_KEY"), needed_at="ollama.com")


class Ollama(Service[OllamaCodec]):
    """
    Models served by Ollama, on this machine, elsewhere, or in its cloud.

    Args:
        name: Name of the provider, the part before the colon in ``ollama:qwen3``.
        settings: Where and how; further keyword arguments are settings by their names.
        api_key: The key, in place of the settings'.
        auth: Lets requests in, in place of a key: called on each request, returns it with what it needs.

    Raises:
        ConfigurationError: The address or the key cannot be used.
    """

    def __init__(
        self,
        name: str = "ollama",
        *,
        settings: OllamaSettings | None = None,
        api_key: Secret | str | None = None,
        auth: Auth | None = None,
        **more: Any,
    ) -> None:
        settings = with_changes(settings or OllamaSettings(), api_key, more)
        address = address_of(server_at(settings.base_url or "127.0.0.1"), "/api/chat", also=("/api", "/v1"))
        way = access(name, settings, address=address, key=settings.api_key, form=KEY, auth=auth)
        codec = OllamaCodec(provider=name, url=way.place.url, headers=way.headers, redact=way.redact)
        super().__init__(way, codec)

    def describe(self, model: str) -> Model:
        """Return what is known of `model`: which ones there are, and what they can, the server alone knows."""
        tag = model.rpartition(":")[2]
        elsewhere = tag == "cloud" or tag.endswith("-cloud")
        return Model(provider=self.name, name=model, structured_output="alone", elsewhere=elsewhere)


def server_at(host: str) -> str:
    """
    Return the address that a value of ``OLLAMA_HOST`` means: a host, a port, both, or an address.

    Ollama's own port goes to what lacks a scheme, as its own clients have it.  A server that listens on all addresses
    is asked on this machine's own.
    """
    text = host.strip().strip("\"'")
    scheme = "" if "://" in text else "https://" if text in CLOUD else "http://"
    full = f"{scheme}[{text}]" if text.count(":") > 1 and re.fullmatch(r"[0-9a-fA-F:]+", text) else f"{scheme}{text}"
    try:
        parts = urlsplit(full)
        name, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return full  # `target` says what is wrong with it
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104  # it is not listened at
    if port is None and scheme == "http://":
        port = PORT
    place = f"[{name}]" if ":" in name else name
    users = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return urlunsplit(parts._replace(netloc=f"{users}{place}" if port is None else f"{users}{place}:{port}"))
