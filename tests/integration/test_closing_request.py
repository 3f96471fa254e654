"""The last request of a run that used up its rounds: its calls are of tools that are declared, and nobody may call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm import Limits, Options, RunResult, Runtime, TerminationReason

from tests.corpus.oracle import checker
from tests.integration.formats import FORMATS
from tests.integration.services import Services
from tests.integration.test_every_provider import ANSWER, look, provider, weigh

NAMES = [form.name for form in FORMATS]

FORBIDDEN: dict[str, dict[str, Any]] = {
    "chat": {"tool_choice": "none"},
    "responses": {"tool_choice": "none"},
    "anthropic": {"tool_choice": {"type": "none"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    "ollama": {},
}
"""How each form forbids calls; one has no word for it."""

CHECKED = {
    "chat": ("openai_compat", "openai", "/v1/chat/completions"),
    "responses": ("openai_responses", "openai", "/v1/responses"),
    "anthropic": ("anthropic", "anthropic", "/v1/messages"),
    "gemini": ("gemini", "google.genai", "/v1beta/models/m:generateContent"),
    "ollama": ("ollama", "ollama", "/api/chat"),
}
"""The checkers' service, its SDK and the path of each form."""


def closed(name: str, **settings: Any) -> list[dict[str, Any]]:
    """Return the bodies of a run of one round and its closing request."""
    with Services() as services, Runtime(providers=[provider(name, services.url)], tools=[look, weigh]) as runtime:
        settings = {"limits": Limits(rounds=1)} | settings
        outcome = runtime.run("What is it?", model=f"{name}:m", tools=[look, weigh], **settings)
        bodies = [json.loads(body) for _, body, _ in services.requests]
    assert isinstance(outcome, RunResult)
    assert (outcome.content, outcome.reason) == (ANSWER, TerminationReason.MAX_ROUNDS)
    return bodies


@pytest.mark.parametrize("name", NAMES)
def test_it_declares_the_tools_and_forbids_to_call_them(name: str) -> None:
    """Services refuse calls of tools that nobody declares, also in what was said before."""
    first, last = closed(name, options=Options(parallel_tool_calls=False))

    words = ("tool_choice", "toolConfig")
    assert {word: last[word] for word in words if word in last} == FORBIDDEN[name]
    assert last.get("tools") == (first["tools"] if FORBIDDEN[name] else None)
    assert "parallel_tool_calls" not in last


@pytest.mark.parametrize("name", NAMES)
def test_a_choice_that_forces_a_call_forces_none_of_it(name: str) -> None:
    """What the caller wanted of the first round is not wanted of the last."""
    options = Options(tool_choice="required")

    _, last = closed(name, options=options)

    assert FORBIDDEN[name].items() <= last.items()


@pytest.mark.parametrize("name", NAMES)
def test_the_service_takes_it(name: str) -> None:
    """As its own request types say."""
    check = checker(*CHECKED[name])

    _, last = closed(name)

    assert check(last) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_run_without_calls_declares_nothing(name: str) -> None:
    """There is nothing that would need it."""
    with Services() as services, Runtime(providers=[provider(name, services.url)], tools=[look, weigh]) as runtime:
        runtime.run("What is it?", model=f"{name}:m", tools=[look, weigh], limits=Limits(rounds=0))
        body = json.loads(services.requests[0][1])

    assert not body.keys() & {"tools", "tool_choice", "toolConfig"}
