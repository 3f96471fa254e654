"""What can be set for the plugin, in ``[plugins.anthropic]`` or the environment."""

from __future__ import annotations

import attrs
from nr_llm.codecs.access import ServiceSettings
from nr_llm.secrets import Secret
from nr_llm.settings import setting


@attrs.frozen(kw_only=True)
class AnthropicSettings(ServiceSettings):
    """
    Settings of the plugin, beside those of any service; each may come from ``NR_LLM_ANTHROPIC_<NAME>`` too.

    Attributes:
        api_key: The key; also read from ``ANTHROPIC_API_KEY``.
        base_url: Address of the service up to, not including, ``/v1/messages``.
        version: Version of the interface, for the ``anthropic-version`` header.
        betas: Names of beta features to use in every request.
    """

    api_key: Secret | None = setting(env=("ANTHROPIC_API_KEY",), default=None)
    base_url: str | None = setting(env=("ANTHROPIC_BASE_URL",), default=None)
    version: str = "2023-06-01"
    betas: tuple[str, ...] = ()
