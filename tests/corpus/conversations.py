"""All recorded conversations, whoever they were held with, as requests that any provider may be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from nr_llm.errors import InvalidValueError
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest

from tests.corpus import requests, requests_anthropic, requests_gemini, requests_ollama, requests_openai_responses
from tests.corpus.traffic import Case

Read = Callable[[Mapping[str, Any], str], CompletionRequest]


def _chat(body: Mapping[str, Any], _: str) -> CompletionRequest:
    return requests.read_request({"model": "m", **body})


READERS: Mapping[str, Read] = {
    "anthropic": requests_anthropic.read_request,
    "azure": _chat,
    "gemini": requests_gemini.read_request,
    "groq": _chat,
    "mistral": _chat,
    "ollama": requests_ollama.read_request,
    "openai": _chat,
    "openai_compat": _chat,
    "openai_responses": requests_openai_responses.read_request,
    "openrouter": _chat,
}
"""Readers of request bodies by folder."""

SKIPPED = (KeyError, IndexError, InvalidValueError, TypeError, StopIteration, AttributeError)
"""What a body that is no conversation of ours makes a reader raise: server-side items, bodies meant to be wrong."""


def conversation(case: Case) -> CompletionRequest:
    """
    Return the conversation of a case, without what only its own service understands.

    Skips the test where the body is none: its sender meant it to be wrong, or parts of it only the service has.
    """
    exchange = case.exchange
    read = READERS["openai_responses" if "responses" in exchange["endpoint_path"] else case.provider]
    try:
        request = read(exchange["request"], exchange["endpoint_path"])
        request = attrs.evolve(request, messages=tuple(attrs.evolve(m, extra={}) for m in request.messages))
    except SKIPPED as error:
        pytest.skip(f"no conversation of ours: {error!r}"[:200])
    options = request.options
    kept = Options(
        temperature=options.temperature and min(options.temperature, 1.0),
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        stop=options.stop,
        tool_choice=options.tool_choice,
        parallel_tool_calls=options.parallel_tool_calls,
        response_schema=options.response_schema,
    )
    return attrs.evolve(request, options=kept)
