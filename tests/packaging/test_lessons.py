"""What went wrong in other projects with what they depend on."""

from __future__ import annotations

import pytest

from tests.packaging.members import PLUGINS, Member, requirement_name

OVER_HTTP = ("anthropic", "gemini", "ollama", "openai")
PROVIDERS = [plugin for plugin in PLUGINS if plugin.folder.name in OVER_HTTP]


@pytest.mark.lesson(10)
@pytest.mark.parametrize("plugin", PROVIDERS, ids=lambda plugin: plugin.name)
def test_a_provider_needs_the_core_and_no_vendor_s_library(plugin: Member) -> None:
    """So no release of one can break an installation."""
    assert {requirement_name(each) for each in plugin.project["dependencies"]} == {"nr-llm"}


def test_each_provider_over_http_is_among_them() -> None:
    """What is said above is not said of an empty list."""
    assert len(PROVIDERS) == len(OVER_HTTP)
