"""What OpenAI and servers of its form can be told beyond the common options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import attrs
from nr_llm.codecs.json import JSON, copy_object
from nr_llm.codecs.server_tools import PATH, ServerTool, check_kind, server_tools
from nr_llm.options import ProviderOptions

COMMON = ("service_tier", "prompt_cache_key", "safety_identifier", "metadata")
"""Settings that both forms have under our names."""

SERVER_TOOLS: Mapping[str, Mapping[str, JSON]] = {
    "web_search": {"type": "web_search"},
    "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "image_generation": {"type": "image_generation"},
}
"""Tools that the service runs and that need no settings: https://platform.openai.com/docs/guides/tools"""

CLIENT_TOOLS = ("apply_patch", "computer", "custom", "function", "local_shell", "namespace", "shell", "tool_search")
"""Tools that the service describes and its client has to run."""


def _server_tools(value: ServerTool | Iterable[ServerTool]) -> tuple[Mapping[str, JSON], ...]:
    tools = server_tools(value, known=SERVER_TOOLS)
    for i, tool in enumerate(tools):
        check_kind(tool, refused=CLIENT_TOOLS, path=f"{PATH}[{i}]")
    return tools


def _metadata(value: Mapping[str, Any] | None) -> Mapping[str, JSON] | None:
    return None if value is None else copy_object(value, path="metadata")


@attrs.frozen(kw_only=True)
class OpenAIOptions(ProviderOptions):
    """
    Settings of OpenAI and of servers that speak its forms.

    Attributes:
        service_tier: ``auto``, ``default``, ``flex`` or ``priority``.
        verbosity: How much the model says: ``low``, ``medium`` or ``high``.
        prompt_cache_key: A name under which similar requests share the service's cache.
        safety_identifier: An opaque id of the person at the other end.
        metadata: Texts to keep with a stored answer.
        store: Whether the service keeps the answer.
        reasoning_summary: In the Responses form: ``auto``, ``concise`` or ``detailed`` summaries of the reasoning.
        chained: In the Responses form: the service keeps the conversation, and each request sends only what is new
            to it.  Implies `store`.
        server_tools: In the Responses form: tools that the service runs by itself, ``web_search``,
            ``code_interpreter``, ``image_generation``, or declarations as the service writes them, such as
            ``{"type": "file_search", "vector_store_ids": ["vs_1"]}``.
        raw: Fields of the request body by the service's own names.
    """

    namespace: ClassVar[str] = "openai"

    service_tier: str | None = None
    verbosity: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    metadata: Mapping[str, JSON] | None = attrs.field(default=None, converter=_metadata)
    store: bool = False
    reasoning_summary: str | None = None
    chained: bool = False
    server_tools: tuple[Mapping[str, JSON], ...] = attrs.field(default=(), converter=_server_tools)

    def common(self) -> dict[str, JSON]:
        """Return the settings that both forms have under the same names, as far as they are set."""
        given = {name: getattr(self, name) for name in COMMON}
        return {name: value for name, value in given.items() if value is not None}
