"""Every recorded conversation, encoded for every provider, is a request its service takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import attrs
import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo
from nr_llm.providers import Codec

from tests.corpus.conversations import READERS, conversation
from tests.corpus.oracle import checker
from tests.corpus.traffic import Case, recorded

UNSAYABLE = (
    r"no '(audio|video|application|text|image)/[\w.*+-]+' can be sent"
    r"|no address of an? .*can be sent"
    r"|no message to send|tool_choice names '[^']*'|calls? .*have no result|answers '|two calls of one id"
)
"""Refusals that say what a service has no form for, or what no service takes; anything else is a fault."""


@attrs.frozen
class Target:
    """
    A service to encode for.

    Attributes:
        plugin: Module of its plugin.
        make: Makes its codec of that module.
        checker: The checkers' name of it.
        sdk: Module of its own SDK.
    """

    plugin: str
    make: Callable[[Any], Codec]
    checker: str
    sdk: str


def _chat(dialect: str, sdk: str = "openai") -> Target:
    return Target("nr_llm_openai", lambda m: m.ChatCodec(dialect=m.DIALECTS[dialect]), dialect, sdk)


TARGETS = {
    "anthropic": Target("nr_llm_anthropic", lambda m: m.MessagesCodec(), "anthropic", "anthropic"),
    "azure": _chat("azure"),
    "gemini": Target("nr_llm_gemini", lambda m: m.GeminiCodec(), "gemini", "google.genai"),
    "groq": _chat("groq", "groq"),
    "mistral": _chat("mistral", "mistralai"),
    "ollama": Target("nr_llm_ollama", lambda m: m.OllamaCodec(), "ollama", "ollama"),
    "openai": _chat("openai"),
    "openrouter": _chat("openrouter", "openrouter"),
    "responses": Target("nr_llm_openai", lambda m: m.ResponsesCodec(), "openai_responses", "openai"),
}


def codec_of(target: Target) -> Codec:
    """Return the codec of a target, or skip where its plugin is not installed."""
    module = pytest.importorskip(target.plugin, reason=f"{target.plugin} is not installed here")
    return target.make(module)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("case", recorded(*READERS, holding="request"))
def test_a_conversation_is_valid_wherever_it_goes(case: Case, name: str) -> None:
    """The checkers made from the SDK's own types, and the servers' rules, find nothing to object to."""
    target = TARGETS[name]
    codec, request = codec_of(target), conversation(case)
    try:
        sent = codec.encode(request)
    except (InvalidRequestError, InvalidValueError) as error:
        pytest.skip(f"{name} has no form for it: {error}") if refused(error) else pytest.fail(f"{error!r}")
    check = checker(target.checker, target.sdk, urlsplit(sent.url).path)

    assert [fault for fault in check(json.loads(sent.body)) if not fault.startswith("lint")] == []


def refused(error: Exception) -> bool:
    """Whether an error says what a service has no form for."""
    import re

    return re.search(UNSAYABLE, str(error)) is not None


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("case", recorded(*READERS, holding="request"))
def test_a_memo_changes_no_byte(case: Case, name: str) -> None:
    """Encoded round by round with one memo, each request equals the one encoded afresh."""
    codec, request, memo = codec_of(TARGETS[name]), conversation(case), Memo()
    for end in range(1, len(request.messages) + 1):
        part = attrs.evolve(request, messages=request.messages[:end])
        try:
            afresh = codec.encode(part)
        except (InvalidRequestError, InvalidValueError):  # cut between a call and its result, or nothing to send
            continue
        assert codec.encode(part, memo) == afresh
