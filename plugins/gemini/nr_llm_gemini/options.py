"""What Gemini models can be told beyond the common options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import attrs
from nr_llm.codecs.json import JSON, copy_json
from nr_llm.codecs.server_tools import PATH, ServerTool, server_tools
from nr_llm.errors import InvalidValueError
from nr_llm.options import ProviderOptions, whole

SERVER_TOOLS: Mapping[str, Mapping[str, JSON]] = {
    "google_search": {"googleSearch": {}},
    "google_maps": {"googleMaps": {}},
    "url_context": {"urlContext": {}},
    "code_execution": {"codeExecution": {}},
}
"""Tools that the service runs: https://ai.google.dev/gemini-api/docs/tools"""

CLIENT_TOOLS = ("functionDeclarations", "function_declarations", "computerUse", "computer_use")
"""Tools that the service's client has to run."""


def _server_tools(value: ServerTool | Iterable[ServerTool]) -> tuple[Mapping[str, JSON], ...]:
    tools = server_tools(value, known=SERVER_TOOLS)
    for i, tool in enumerate(tools):
        for kind in tool:
            if kind in CLIENT_TOOLS:
                text = f"{kind!r} is not run by the service; offer a tool that runs it here"
                raise InvalidValueError(text, path=f"{PATH}[{i}]")
    return tools


def _objects(value: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, JSON], ...]:
    return tuple(copy_json(item, path=f"safety_settings[{i}]") for i, item in enumerate(value))  # type: ignore[misc]


def _alone(options: GeminiOptions, _: object, level: str | None) -> None:
    if level is not None and options.thinking_budget is not None:
        raise InvalidValueError(
            "and thinking_budget cannot both be set; newer models take the level", path="thinking_level"
        )


@attrs.frozen(kw_only=True)
class GeminiOptions(ProviderOptions):
    """
    Settings of Gemini models.

    Attributes:
        thinking_budget: Tokens of thinking at most: 0 for none, -1 for what the model thinks right.  For models
            before Gemini 3.
        thinking_level: How much the model thinks, such as ``low``; for Gemini 3 and later.
        include_thoughts: Whether summaries of the thinking come with the answer.
        top_k: Tokens to choose among.
        safety_settings: The service's safety settings, each with ``category`` and ``threshold``.
        cached_content: Name of content that was cached before.
        server_tools: Tools that the service runs by itself: ``google_search``, ``google_maps``, ``url_context``,
            ``code_execution``, or declarations as the service writes them, such as
            ``{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"]}}``.  Models before Gemini 3 take them
            only where no other tools are offered.
        openapi_schemas: Whether schemas are sent in the older form of the service, which knows fewer keywords; for
            models and gateways that take no other.  A model before Gemini 2 gets it without asking.
        raw: Fields of the request body by the service's own names.
    """

    namespace: ClassVar[str] = "gemini"

    thinking_budget: int | None = attrs.field(default=None, validator=whole(-1))
    thinking_level: str | None = attrs.field(default=None, validator=_alone)
    include_thoughts: bool | None = None
    top_k: int | None = attrs.field(default=None, validator=whole(1))
    safety_settings: tuple[Mapping[str, JSON], ...] = attrs.field(default=(), converter=_objects)
    cached_content: str | None = None
    server_tools: tuple[Mapping[str, JSON], ...] = attrs.field(default=(), converter=_server_tools)
    openapi_schemas: bool = False
