"""What can be set for the plugin, in ``[plugins.gemini]`` or the environment."""

from __future__ import annotations

import attrs
from nr_llm.codecs.access import ServiceSettings
from nr_llm.secrets import Secret
from nr_llm.settings import setting


@attrs.frozen(kw_only=True)
class GeminiSettings(ServiceSettings):
    """
    Settings of the plugin, beside those of any service; each may come from ``NR_LLM_GEMINI_<NAME>`` too.

    Attributes:
        api_key: The key; also read from ``GEMINI_API_KEY`` and ``GOOGLE_API_KEY``.
        base_url: Address of the service up to, not including, ``/models``; without a path ``/v1beta`` is added.
    """

    api_key: Secret | None = setting(env=("GEMINI_API_KEY", "GOOGLE_API_KEY"), default=None)
    base_url: str | None = setting(env=("GOOGLE_GEMINI_BASE_URL",), default=None)
