"""What Anthropic's models can be told beyond the common options."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import attrs
from nr_llm.codecs.json import JSON
from nr_llm.codecs.server_tools import PATH, ServerTool, check_kind, server_tools
from nr_llm.errors import InvalidValueError
from nr_llm.options import ProviderOptions, whole

LEAST_BUDGET = 1024
"""Tokens of thinking the service takes at least: https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking"""


SERVER_TOOLS: Mapping[str, Mapping[str, JSON]] = {
    "web_search": {"type": "web_search_20250305"},
    "web_fetch": {"type": "web_fetch_20250910"},
    "code_execution": {"type": "code_execution_20250825"},
}
"""Tools that the service runs, in the version that most models take:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference"""

CLIENT_TOOLS = ("bash_", "browser_", "computer_", "custom", "memory_", "text_editor_")
"""Tools that the service describes and its client has to run: the same page."""

DATED = re.compile(r"(\w+)_\d{8}")
"""A kind of tool in one of its versions; without the date it is the tool's name."""


def _server_tools(value: ServerTool | Iterable[ServerTool]) -> tuple[Mapping[str, JSON], ...]:
    return tuple(map(_named, server_tools(value, known=SERVER_TOOLS), itertools.count()))


def _named(tool: Mapping[str, JSON], i: int) -> Mapping[str, JSON]:
    """Return a declaration with the one name that its kind has."""
    dated = DATED.fullmatch(check_kind(tool, refused=CLIENT_TOOLS, path=f"{PATH}[{i}]"))
    return tool if dated is None else {"name": dated[1], **tool}


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _one_of(*words: str) -> Any:
    def check(_: object, field: attrs.Attribute[Any], value: Any) -> None:
        if value is not None and value not in words:
            raise InvalidValueError(f"{value!r} is none of {', '.join(words)}", path=field.name)

    return check


@attrs.frozen(kw_only=True)
class AnthropicOptions(ProviderOptions):
    """
    Settings of Anthropic's models.

    Attributes:
        thinking: ``adaptive`` lets the model decide how much to think, ``disabled`` forbids it.
        thinking_budget: Tokens of thinking at most, 1024 or more; older models take this, newer ones `thinking`.
        effort: How much work the model puts in, such as ``low``; as `Options.reasoning_effort`, and without thinking.
        top_k: Tokens to choose among.
        cache: ``auto`` marks tools, system prompt and the end of the conversation for the service's cache.
        cache_ttl: How long it is kept: ``5m`` or ``1h``.
        betas: Names of beta features, for the ``anthropic-beta`` header.
        server_tools: Tools that the service runs by itself: ``web_search``, ``web_fetch``, ``code_execution``, or
            declarations as the service writes them, such as ``{"type": "web_search_20250305", "max_uses": 3}``.
        service_tier: ``auto`` or ``standard_only``.
        user_id: An opaque id of the person at the other end.
        raw: Fields of the request body by the service's own names.
    """

    namespace: ClassVar[str] = "anthropic"

    thinking: Literal["adaptive", "disabled"] | None = attrs.field(
        default=None, validator=_one_of("adaptive", "disabled")
    )
    thinking_budget: int | None = attrs.field(default=None, validator=whole(LEAST_BUDGET))
    effort: str | None = None
    top_k: int | None = attrs.field(default=None, validator=whole(1))
    cache: Literal["off", "auto"] = attrs.field(default="off", validator=_one_of("off", "auto"))
    cache_ttl: Literal["5m", "1h"] | None = attrs.field(default=None, validator=_one_of("5m", "1h"))
    betas: tuple[str, ...] = attrs.field(default=(), converter=_names)
    server_tools: tuple[Mapping[str, JSON], ...] = attrs.field(default=(), converter=_server_tools)
    service_tier: str | None = None
    user_id: str | None = None
