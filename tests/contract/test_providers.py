"""Every first-party provider keeps the contract that authors of providers are asked to keep."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm import ChatMessage, CompletionRequest, PluginHost, Secret, ToolCall
from nr_llm.memo import Memo
from nr_llm.providers import DirectProvider
from nr_llm.testing import check_provider

from tests.contract import first_party
from tests.contract.samples import SAMPLES

KEYED = ("anthropic", "gemini", "ollama", "openai")

KEY = "sk-nr-llm-contract-0123456789abcdef"


@pytest.mark.parametrize("name", KEYED)
def test_provider_keeps_the_contract(name: str) -> None:
    """The provider, as a host makes it of its settings, keeps every promise, and each one is checked."""
    modules = first_party.modules()
    if name not in modules:
        pytest.skip(f"the plugin of {name} is not here")
    given = {name: {"api_key": Secret(KEY)}}
    with PluginHost(plugins={name: modules[name]}, settings=given, environ={}) as host:
        [found] = [registered for registered in host.providers() if registered.name == name]

        assert check_provider(found.provider, SAMPLES[name], key=KEY) == ()


def test_second_codec_of_openai_keeps_the_contract() -> None:
    """All that can be checked of a codec alone."""
    openai: Any = pytest.importorskip("nr_llm_openai", reason="the plugin of openai is not here")

    unchecked = check_provider(openai.ResponsesCodec(), SAMPLES["responses"])

    assert {note.partition(":")[0] for note in unchecked} <= {"echoed keys", "identity", "key", "list of models"}


def test_provider_that_answers_by_itself_keeps_the_contract() -> None:
    """Without weights or network it says who it is, where data would go, and what its own model is."""
    modules = first_party.modules()
    if "local" not in modules:
        pytest.skip("the plugin of local is not here")
    with PluginHost(plugins={"local": modules["local"]}, environ={}) as host:
        [provider] = [registered.provider for registered in host.providers()]

        unchecked = check_provider(provider, model="")

    assert isinstance(provider, DirectProvider)
    assert provider.endpoint.local
    assert "identity" not in {note.partition(":")[0] for note in unchecked}


CONVERSATION = (
    ChatMessage.system("Be brief."),
    ChatMessage.user("Look at 'ü' and at nothing."),
    ChatMessage.assistant_tool_calls([ToolCall("c1", "look", {"what": "ü\ud800"}), ToolCall("c2", "look")]),
    ChatMessage.tool_result("c1", "ü"),
    ChatMessage.tool_result("c2", "nothing\0", is_error=True),
)


@pytest.mark.parametrize("name", KEYED)
def test_lone_surrogates_are_encoded_alike(name: str) -> None:
    """What is no text becomes the same bytes, however much was encoded before."""
    modules = first_party.modules()
    if name not in modules:
        pytest.skip(f"the plugin of {name} is not here")
    with PluginHost(plugins={name: modules[name]}, environ={}) as host:
        provider: Any = host.providers()[0].provider
        memo, codec = Memo(), provider.codec
        for end in (2, 5, 2):
            request = CompletionRequest(model="m", messages=CONVERSATION[:end])

            assert codec.encode(request).body == codec.encode(request, memo).body
