"""Options and tools to the body of a Responses request, all but its input."""

from __future__ import annotations

from collections.abc import Sequence

from nr_llm.codecs.calls import check_choice
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.names import wire_name
from nr_llm.codecs.notes import say_left_out
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

from nr_llm_openai.dialects import Dialect
from nr_llm_openai.encode import answer_schema, strict_form
from nr_llm_openai.options import OpenAIOptions

LACKING = ("stop", "seed", "frequency_penalty", "presence_penalty")
"""Common options the form has no field for."""

OWN = frozenset({"input", "stream"})
"""Fields that the conversation and the transport decide; raw ones do not touch them."""


def head_of(request: CompletionRequest, own: OpenAIOptions, dialect: Dialect, provider: str) -> dict[str, JSON]:
    """
    Return the body without input and tools.

    Raises:
        InvalidRequestError: `tool_choice` names a tool that is not offered.
    """
    options = request.options
    head: dict[str, JSON] = {"model": request.model, "store": own.store or own.chained}
    thinks = dialect.unsampled is not None and dialect.unsampled.match(request.model) is not None
    head |= _sampling(request, provider, thinks=thinks and options.reasoning_effort != "none")
    asked = {"effort": options.reasoning_effort, "summary": own.reasoning_summary}
    reasoning: dict[str, JSON] = {name: value for name, value in asked.items() if value is not None}
    if reasoning:
        head["reasoning"] = reasoning
    if not own.chained and (thinks or reasoning):  # the service goes on from a chain by itself
        head["include"] = ["reasoning.encrypted_content"]
    text: dict[str, JSON] = {}
    if options.response_schema is not None:
        text["format"] = {"type": "json_schema", **answer_schema(options.response_schema, dialect)}
    if own.verbosity is not None:
        text["verbosity"] = own.verbosity
    if text:
        head["text"] = text
    if request.tools:
        head |= _tool_settings(request, provider)
    head |= own.common()
    if request.stream:
        head["stream"] = True
    return head | {name: value for name, value in own.raw.items() if name not in OWN}


def encode_tools(tools: Sequence[ToolSpec], dialect: Dialect) -> bytes:
    """Return the tools as a JSON list; a schema that has no strict form is sent as an ordinary one."""
    return encode_bytes([_tool(tool, dialect) for tool in tools])


def _tool(tool: ToolSpec, dialect: Dialect) -> JSON:
    strict = strict_form(tool.parameters) if tool.strict and dialect.strict else None
    return {
        "type": "function",
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": dict(tool.parameters) if strict is None else strict,
        "strict": strict is not None,  # the service takes none for yes
    }


def _sampling(request: CompletionRequest, provider: str, *, thinks: bool) -> dict[str, JSON]:
    options: Options = request.options
    settings: dict[str, JSON] = {"temperature": options.temperature, "top_p": options.top_p}
    left_out = [name for name in LACKING if getattr(options, name) not in (None, ())]
    if thinks:
        left_out += [name for name, value in settings.items() if value is not None]
        settings = {}
    for name in left_out:
        say_left_out(provider, request.model, name)
    settings["max_output_tokens"] = options.max_tokens
    return {name: value for name, value in settings.items() if value is not None}


def _tool_settings(request: CompletionRequest, provider: str) -> dict[str, JSON]:
    options, settings = request.options, dict[str, JSON]()
    wanted = options.tool_choice
    if wanted in ("auto", "none", "required"):
        settings["tool_choice"] = wanted
    elif wanted is not None:
        check_choice(request, provider=provider)
        settings["tool_choice"] = {"type": "function", "name": wire_name(wanted)}
    if options.parallel_tool_calls is not None:
        settings["parallel_tool_calls"] = options.parallel_tool_calls
    return settings
