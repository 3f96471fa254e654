"""Options, tools and system prompt to the body of a request, all but its contents."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from nr_llm.codecs.calls import check_choice
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.notes import say_left_out
from nr_llm.errors import InvalidRequestError
from nr_llm.messages import Role
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

from nr_llm_gemini.contents import function_name
from nr_llm_gemini.models import insists, is_old, thinks
from nr_llm_gemini.options import GeminiOptions
from nr_llm_gemini.schemas import openapi_schema

BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, **dict.fromkeys(("high", "xhigh", "max"), 24_576)}
"""Tokens of thinking for a `reasoning_effort`: https://ai.google.dev/gemini-api/docs/openai#thinking"""

LEVELS = {"none": "minimal", "xhigh": "high", "max": "high"}
"""Levels of thinking for efforts that are no level: the nearest."""

SAYING = frozenset({"type", "properties", "required", "additionalProperties", "title", "description", "$schema"})
"""Keywords that say nothing of a tool's arguments as long as there are no properties."""

OWN = frozenset({"contents"})
"""Fields that the conversation decides; `GeminiOptions.raw` does not touch them."""

_log = logging.getLogger("nr_llm")


def head_of(request: CompletionRequest, own: GeminiOptions, provider: str) -> dict[str, JSON]:
    """
    Return the body without contents and tools.

    Raises:
        InvalidRequestError: `tool_choice` names a tool that is not offered, or the effort has no meaning here.
    """
    head: dict[str, JSON] = {}
    texts = [message.content for message in request.messages if message.role is Role.SYSTEM and message.content]
    if texts:
        head["systemInstruction"] = {"parts": [{"text": text} for text in texts]}
    if request.tools and (config := _tool_config(request, own, provider)):
        head["toolConfig"] = config
    if own.safety_settings:
        head["safetySettings"] = [dict(setting) for setting in own.safety_settings]
    if own.cached_content is not None:
        head["cachedContent"] = own.cached_content
    raw = {name: value for name, value in own.raw.items() if name not in OWN}
    given = raw.pop("generationConfig", None)
    config = _config(request, own, provider) | (given if isinstance(given, dict) else {})
    return head | ({"generationConfig": config} if config else {}) | raw


def encode_tools(tools: Sequence[ToolSpec], *, openapi: bool) -> bytes:
    """
    Return the tools as a JSON list of one entry, which holds all declarations.

    Args:
        tools: The tools.
        openapi: Whether their schemas are sent in the older form.
    """
    declared: list[JSON] = [_tool(tool, openapi=openapi) for tool in tools]
    return encode_bytes([{"functionDeclarations": declared}] if declared else [])


def wants_openapi(request: CompletionRequest, own: GeminiOptions) -> bool:
    """Whether schemas are sent in the older form."""
    return own.openapi_schemas or is_old(request.model)


def _tool(tool: ToolSpec, *, openapi: bool) -> dict[str, JSON]:
    declared: dict[str, JSON] = {"name": function_name(tool.name), "description": tool.description}
    if _says_nothing(tool.parameters):
        return declared  # parameters without properties are refused by some models, and none are fine everywhere
    if not openapi:
        return declared | {"parametersJsonSchema": dict(tool.parameters)}
    made = _translated(tool.parameters, f"the parameters of tool {tool.name}")
    return declared | {"parameters": made} if made.keys() & {"properties", "anyOf"} else declared


def _says_nothing(schema: Mapping[str, JSON]) -> bool:
    more = schema.get("additionalProperties")
    return not schema.get("properties") and schema.keys() <= SAYING and (more is None or isinstance(more, bool))


def _translated(schema: Mapping[str, Any], what: str) -> dict[str, JSON]:
    made = openapi_schema(schema)
    if made.dropped:
        _say_dropped(what, made.dropped)
    return made.schema


@lru_cache(maxsize=256)
def _say_dropped(what: str, dropped: tuple[str, ...]) -> None:
    _log.warning("%s: the service's older form cannot say %s; the answer is checked here all the same.", what, dropped)


def _tool_config(request: CompletionRequest, own: GeminiOptions, provider: str) -> dict[str, JSON]:
    choice = _choice(request, provider)
    config: dict[str, JSON] = {} if choice is None else {"functionCallingConfig": choice}
    if own.server_tools:  # beside ours the service wants to see again what it ran itself
        config["includeServerSideToolInvocations"] = True
    return config


def _choice(request: CompletionRequest, provider: str) -> dict[str, JSON] | None:
    options, wanted = request.options, request.options.tool_choice
    if options.parallel_tool_calls is not None:
        say_left_out(provider, request.model, "parallel_tool_calls")
    if wanted is None:
        return None
    if wanted in ("auto", "none", "required"):
        return {"mode": {"auto": "AUTO", "none": "NONE", "required": "ANY"}[wanted]}
    check_choice(request, provider=provider)
    return {"mode": "ANY", "allowedFunctionNames": [function_name(wanted)]}


def _config(request: CompletionRequest, own: GeminiOptions, provider: str) -> dict[str, JSON]:
    options = request.options
    config: dict[str, JSON] = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "topK": own.top_k,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": list(options.stop) or None,
        "seed": options.seed,
        "frequencyPenalty": options.frequency_penalty,
        "presencePenalty": options.presence_penalty,
        "thinkingConfig": _thinking(request, own, provider) or None,
    }
    config = {name: value for name, value in config.items() if value is not None}
    if options.response_schema is not None:
        config["responseMimeType"] = "application/json"
        if wants_openapi(request, own):
            config["responseSchema"] = _translated(options.response_schema, "the form of the answer")
        else:
            config["responseJsonSchema"] = dict(options.response_schema)
    return config


def _thinking(request: CompletionRequest, own: GeminiOptions, provider: str) -> dict[str, JSON]:
    thinking: dict[str, JSON] = {"thinkingBudget": own.thinking_budget, "thinkingLevel": own.thinking_level}
    thinking = {name: value for name, value in thinking.items() if value is not None}
    effort = request.options.reasoning_effort
    if not thinking and effort is not None:
        if not thinks(request.model):
            say_left_out(provider, request.model, "reasoning_effort")
        elif insists(request.model):
            thinking["thinkingLevel"] = LEVELS.get(effort, effort)
        elif effort in BUDGETS:
            thinking["thinkingBudget"] = BUDGETS[effort]
        else:
            raise InvalidRequestError(f"reasoning_effort {effort!r} is none of {', '.join(BUDGETS)}", provider=provider)
    return thinking if own.include_thoughts is None else thinking | {"includeThoughts": own.include_thoughts}
