"""Recorded request bodies as the requests a caller of ours would have made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

NAMED = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "reasoning_effort",
}
"""Fields of a body that are options of ours, and their names."""

WORDS = {"any": "required"}
"""Choices of tools that a service has another word for."""

HANDLED = {*NAMED, "model", "messages", "tools", "tool_choice", "stop", "stream", "stream_options", "response_format"}


def read_request(body: Mapping[str, Any]) -> CompletionRequest:
    """
    Return the request that `body` is the wire form of.

    Raises:
        InvalidValueError: A message, tool or option is none.
    """
    given = {name: value for name, value in body.items() if value is not None}
    return CompletionRequest(
        model=given["model"],
        messages=tuple(ChatMessage.from_wire(message) for message in given["messages"]),
        tools=tuple(ToolSpec.from_wire(tool) for tool in given.get("tools", ())),
        options=_options(given),
        stream=given.get("stream", False),
    )


def _options(given: Mapping[str, Any]) -> Options:
    settings = {NAMED[name]: value for name, value in given.items() if name in NAMED}
    choice = given.get("tool_choice")
    settings["tool_choice"] = choice["function"]["name"] if isinstance(choice, dict) else WORDS.get(choice, choice)
    extra = {name: value for name, value in given.items() if name not in HANDLED}
    form = given.get("response_format")
    if form and form["type"] == "json_schema":
        settings["response_schema"] = form["json_schema"]["schema"]
    elif form:
        extra["response_format"] = form
    stop = given.get("stop") or ()
    own = {"openai": {"raw": extra}}
    return Options(stop=(stop,) if isinstance(stop, str) else tuple(stop), provider_options=own, **settings)
