"""
What every first-party provider promises before anything is sent.

A suite for whole conversations of a provider has its place here: one class of promises that runs over `providers()`,
as `ToolContract` does for tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nr_llm import ChatMessage, CompletionRequest, Provider, ToolCall, tool
from nr_llm.memo import Memo
from nr_llm.providers import DirectProvider, HttpProvider
from nr_llm.testing import assert_no_leak

from tests.contract import first_party

NAMES = ("local", "openai")


@tool
def look(what: str = "") -> str:
    """Look."""
    return what


CONVERSATION = (
    ChatMessage.system("Be brief."),
    ChatMessage.user("Look at 'ü' and at nothing."),
    ChatMessage.assistant_tool_calls([ToolCall("c1", "look", {"what": "ü\ud800"}), ToolCall("c2", "look")]),
    ChatMessage.tool_result("c1", "ü"),
    ChatMessage.tool_result("c2", "nothing\0", is_error=True),
    ChatMessage.assistant("Seen."),
    ChatMessage.user("Thanks."),
)


@pytest.fixture
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Provider]:
    """Return the provider a test is parametrized with, or skip."""
    with first_party.host(tmp_path) as host:
        found = {registered.name: registered.provider for registered in host.providers()}
        if request.param not in found:
            pytest.skip(f"no provider {request.param} is here")
        yield found[request.param]


each = pytest.mark.parametrize("provider", NAMES, indirect=True)


@each
def test_provider_describes_itself(provider: Provider) -> None:
    """Without key, weights or network a provider says who it is, where data would go, and what its own model is."""
    assert isinstance(provider, HttpProvider | DirectProvider)
    assert provider.endpoint.host
    assert provider.describe("").provider == provider.name


@each
def test_codec_encodes_alike_with_and_without_memo(provider: Provider) -> None:
    """A conversation of all roles is encoded, the same bytes however much of it was encoded before."""
    if not isinstance(provider, HttpProvider):
        pytest.skip(f"{provider.name} answers by itself")
    memo, codec = Memo(), provider.codec
    for end in (2, 5, 7, 5, 7):
        request = CompletionRequest(model="m", messages=CONVERSATION[:end], tools=(look.spec,))

        assert codec.encode(request).body == codec.encode(request, memo).body


@each
def test_codec_lets_nothing_of_a_tool_out(provider: Provider) -> None:
    """Neither artifacts nor secrets are in the bytes that would be sent."""
    if not isinstance(provider, HttpProvider):
        pytest.skip(f"{provider.name} answers by itself")

    assert_no_leak(codec=provider.codec)
