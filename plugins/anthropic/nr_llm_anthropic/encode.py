"""Options, tools and system prompt to the body of a request, all but its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nr_llm.codecs.calls import check_choice
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import wire_name
from nr_llm.codecs.notes import say_left_out
from nr_llm.errors import InvalidRequestError
from nr_llm.messages import ChatMessage, Role
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

from nr_llm_anthropic import blocks
from nr_llm_anthropic.models import UNKNOWN_OUTPUT, Row, row_of
from nr_llm_anthropic.options import LEAST_BUDGET, AnthropicOptions

LACKING = ("frequency_penalty", "presence_penalty", "seed")
"""Common options the service has no field for."""

OWN = frozenset({"messages", "stream"})
"""Fields that the conversation and the transport decide; `AnthropicOptions.raw` does not touch them."""

BUDGETS = {"minimal": LEAST_BUDGET, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 31_999}
"""Tokens of thinking for a `reasoning_effort`, for models that take a budget."""

ROOM = 4_096
"""Tokens left for the answer beside a budget of thinking, where the caller set no bound."""

MOST_OUTPUT = 32_000
"""Tokens asked for at most where the caller set no bound."""

LEAST_TOP_P = 0.95
"""Least `top_p` beside thinking: https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking"""

LIMITS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems"}
)
"""Keywords refused in an answer's schema: https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs"""

MAPS = ("properties", "$defs", "definitions")
"""Keywords that hold schemas by name."""

VALUES = ("enum", "const", "default", "examples", "required")
"""Keywords that hold no schemas."""

COMBINED = ("oneOf", "anyOf", "allOf")
"""Keywords the service refuses at the root of a tool's schema."""


def head_of(request: CompletionRequest, own: AnthropicOptions, provider: str) -> dict[str, JSON]:
    """
    Return the body without messages and tools.

    Raises:
        InvalidRequestError: The options cannot be said, or contradict each other.
    """
    options, row = request.options, row_of(request.model)
    head: dict[str, JSON] = {"model": request.model}
    thinking = _thinking(options, own, row, provider)
    budgeted = thinking is not None and thinking["type"] == "enabled"
    if budgeted and blocks.unthought(request.messages, provider=provider, model=request.model):
        say_left_out(provider, request.model, "thinking after calls made without it")
        thinking = None
    head["max_tokens"] = _max_tokens(options, thinking, row, provider)
    head |= _sampling(request, own, thinking, provider)
    if stop := _stop(request, provider):
        head["stop_sequences"] = stop
    if thinking is not None:
        head["thinking"] = thinking
    if output := _output(options, own, row):
        head["output_config"] = output
    if request.tools and (choice := _tool_choice(request, thinking, provider)):
        head["tool_choice"] = choice
    if own.service_tier is not None:
        head["service_tier"] = own.service_tier
    if own.user_id is not None:
        head["metadata"] = {"user_id": own.user_id}
    if request.stream:
        head["stream"] = True
    for name in LACKING:
        if getattr(options, name) is not None:
            say_left_out(provider, request.model, name)
    return head | {name: value for name, value in own.raw.items() if name not in OWN}


def system_of(messages: Sequence[ChatMessage], mark: Mapping[str, JSON] | None) -> JSON:
    """Return all system messages as one text, or as a marked block for the cache; None when there are none."""
    texts = [message.content for message in messages if message.role is Role.SYSTEM and message.content.strip()]
    if not texts:
        return None
    joined = "\n\n".join(texts)
    return joined if mark is None else [{"type": "text", "text": joined, "cache_control": dict(mark)}]


def mark_of(own: AnthropicOptions) -> dict[str, JSON] | None:
    """Return the cache's mark, or None when nothing is to be kept."""
    if own.cache == "off":
        return None
    mark: dict[str, JSON] = {"type": "ephemeral"}
    return mark | {"ttl": own.cache_ttl} if own.cache_ttl is not None else mark


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """Return the tools as a JSON list."""
    return encode_bytes([_tool(tool) for tool in tools])


def marked(tools: bytes, mark: Mapping[str, JSON] | None) -> bytes:
    """Return encoded tools, the last marked for the cache; apart, so that one memo serves requests with and without."""
    return tools if mark is None else b'%b,"cache_control":%b}]' % (tools[:-2], encode_bytes(dict(mark)))


def _tool(tool: ToolSpec) -> dict[str, JSON]:
    schema = {name: value for name, value in tool.parameters.items() if name not in COMBINED}
    return {"name": wire_name(tool.name), "description": tool.description, "input_schema": {"type": "object", **schema}}


def _stop(request: CompletionRequest, provider: str) -> list[JSON]:
    texts = [text for text in request.options.stop if text.strip()]
    if len(texts) < len(request.options.stop):
        say_left_out(provider, request.model, "blank text to stop at")
    return list[JSON](texts)


def _thinking(options: Options, own: AnthropicOptions, row: Row | None, provider: str) -> dict[str, JSON] | None:
    if own.thinking_budget is not None:
        return {"type": "enabled", "budget_tokens": own.thinking_budget}
    if own.thinking is not None:
        return {"type": own.thinking}
    effort = options.reasoning_effort
    if effort is None:
        return None
    if effort == "none":
        return {"type": "disabled"}
    if row is not None and row.adaptive:
        return {"type": "adaptive"}
    if effort not in BUDGETS:
        raise InvalidRequestError(f"reasoning_effort {effort!r} is none of {', '.join(BUDGETS)}", provider=provider)
    most = BUDGETS["max"] if row is None else max(row.max_output - ROOM, LEAST_BUDGET)
    return {"type": "enabled", "budget_tokens": min(BUDGETS[effort], most)}


def _max_tokens(options: Options, thinking: Mapping[str, JSON] | None, row: Row | None, provider: str) -> int:
    budget = (thinking or {}).get("budget_tokens")
    if options.max_tokens is not None:
        if isinstance(budget, int) and budget >= options.max_tokens:
            raise InvalidRequestError(
                f"max_tokens {options.max_tokens} leaves no room beside {budget} tokens of thinking; raise it",
                provider=provider,
            )
        return options.max_tokens
    most = UNKNOWN_OUTPUT if row is None else min(row.max_output, MOST_OUTPUT)
    return max(most, budget + ROOM) if isinstance(budget, int) else most


def _sampling(
    request: CompletionRequest, own: AnthropicOptions, thinking: Mapping[str, JSON] | None, provider: str
) -> dict[str, JSON]:
    options = request.options
    if options.temperature is not None and options.temperature > 1:
        raise InvalidRequestError(f"temperature {options.temperature} is above 1, the most it takes", provider=provider)
    given: dict[str, JSON] = {"temperature": options.temperature, "top_p": options.top_p, "top_k": own.top_k}
    given = {name: value for name, value in given.items() if value is not None}
    if thinking is not None and thinking["type"] != "disabled":
        given = {name: value for name, value in given.items() if (name, value) != ("temperature", 1)}  # what it means
        unfit = [name for name in given if name != "top_p" or (options.top_p or 0) < LEAST_TOP_P]
        for name in unfit:
            del given[name]
            say_left_out(provider, request.model, f"{name} beside thinking")
    return given


def _output(options: Options, own: AnthropicOptions, row: Row | None) -> dict[str, JSON]:
    output: dict[str, JSON] = {}
    effort = own.effort or (options.reasoning_effort if row is not None and row.adaptive else None)
    if effort is not None and effort != "none":
        output["effort"] = effort
    if options.response_schema is not None:
        output["format"] = {"type": "json_schema", "schema": answer_schema(dict(options.response_schema))}
    return output


def answer_schema(schema: JSON) -> JSON:
    """Return a schema as the service takes it for an answer: objects closed, without limits it cannot hold one to."""
    if isinstance(schema, list):
        return [answer_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, JSON] = {}
    for name, value in schema.items():
        if name in MAPS and isinstance(value, dict):
            made[name] = {key: answer_schema(part) for key, part in value.items()}
        elif name not in LIMITS and (name != "minItems" or value in (0, 1)):  # of which it knows no others
            made[name] = value if name in VALUES else answer_schema(value)
    return {"additionalProperties": False, **made} if schema.get("type") == "object" else made


def _tool_choice(request: CompletionRequest, thinking: Mapping[str, JSON] | None, provider: str) -> JSON:
    options, wanted = request.options, request.options.tool_choice
    alone = {"disable_parallel_tool_use": True} if options.parallel_tool_calls is False else {}
    if wanted == "none":
        return {"type": "none"}
    if wanted in (None, "auto"):
        return {"type": "auto", **alone} if alone or wanted else None
    check_choice(request, provider=provider)
    if thinking is not None and thinking["type"] != "disabled":
        if not request.demanding:
            return {"type": "auto", **alone}  # whoever judges the answer asks once more if the tool is not called
        raise InvalidRequestError(
            "a tool cannot be forced while the model thinks; set tool_choice to 'auto', or thinking to 'disabled'",
            provider=provider,
        )
    return {"type": "any", **alone} if wanted == "required" else {"type": "tool", "name": wire_name(wanted), **alone}
