"""Fixtures for pytest, which imports this module in every project: nothing of nr-llm is imported before one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nr_llm import PluginHost
    from nr_llm.testing import Harness


@pytest.fixture
def nr_llm_harness() -> Iterator[Harness]:
    """Return a `Harness`: ``nr_llm_harness.run("hi", replies=[calling(("my_tool", {})), "done"], tools=[my_tool])``."""
    from nr_llm.testing import Harness

    with Harness() as harness:
        yield harness


@pytest.fixture
def nr_llm_tool_contract() -> Callable[..., tuple[str, ...]]:
    """Return `check_tool`: ``nr_llm_tool_contract(my_tool, {"city": "Bonn"})``."""
    from nr_llm.testing import check_tool

    return check_tool


@pytest.fixture
def nr_llm_provider_contract() -> Callable[..., tuple[str, ...]]:
    """Return `check_provider`: ``nr_llm_provider_contract(my_provider, samples, key="my-key")``."""
    from nr_llm.testing import check_provider

    return check_provider


@pytest.fixture
def nr_llm_plugins() -> Iterator[Callable[..., PluginHost]]:
    """
    Return a function that makes a `PluginHost` of just the plugins it is given, closed when the test ends.

    ``nr_llm_plugins("acme-dice", my_module, settings={"dice": {"sides": 6}})`` takes installed distributions by name,
    modules and objects.  Neither configuration nor environment has a say.
    """
    from nr_llm import PluginHost

    with ExitStack() as stack:

        def make(*plugins: object, **options: Any) -> PluginHost:
            names = [plugin for plugin in plugins if isinstance(plugin, str)]
            own = [plugin for plugin in plugins if not isinstance(plugin, str)]
            return stack.enter_context(PluginHost.discover(allow=names, plugins=own, **{"environ": {}, **options}))

        yield make
