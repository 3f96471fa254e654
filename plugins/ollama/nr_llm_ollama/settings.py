"""What can be set for the plugin, in ``[plugins.ollama]`` or the environment."""

from __future__ import annotations

import attrs
from nr_llm.codecs.access import ServiceSettings
from nr_llm.secrets import Secret
from nr_llm.settings import setting


@attrs.frozen(kw_only=True)
class OllamaSettings(ServiceSettings):
    """
    Settings of the plugin, beside those of any service; each may come from ``NR_LLM_OLLAMA_<NAME>`` too.

    Attributes:
        api_key: The key, for the service in the cloud; also read from ``OLLAMA_API_KEY``.
        base_url: Address of the server; also read from ``OLLAMA_HOST``, in the forms that Ollama itself takes.
    """

    api_key: Secret | None = setting(env=("OLLAMA_API_KEY",), default=None)
    base_url: str | None = setting(env=("OLLAMA_HOST",), default=None)
