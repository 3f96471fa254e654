"""An installed distribution is held to the contract by its name."""

from __future__ import annotations

import pytest
from nr_llm.testing import check_installed, installed_tools

from tests.distributions import Site, site

__all__ = ["site"]

GOOD = """
    import attrs

    @attrs.frozen
    class Settings:
        sides: int = 6

    @hookimpl
    def nr_llm_tools(settings: Settings):
        @tool(data_class="public")
        def roll(count: int) -> str:
            "Roll dice."
            return f"{count} of {settings.sides}"

        @tool(data_class="public")
        def sides() -> str:
            "Say how many sides a die has."
            return str(settings.sides)

        return [roll, sides]
"""


def test_every_tool_is_checked(site: Site) -> None:
    """The names of the tools checked come back; the distribution's name is taken in any spelling."""
    site.plugin("dice", GOOD)

    assert ("roll", "sides") == check_installed("acme-dice") == check_installed("Acme_Dice")


def test_tools_can_be_listed(site: Site) -> None:
    """The tools are there to parametrize a test with, made with the settings given and no others."""
    site.plugin("dice", GOOD)
    tools = installed_tools("acme-dice", settings={"dice": {"sides": 20}})

    assert ["roll", "sides"] == [tool.name for tool in tools]
    assert "2 of 20" == tools[0](count=2)


def test_examples_and_settings_of_the_contract_are_passed_on(site: Site) -> None:
    """Arguments that must succeed are given by the name of the tool."""
    site.plugin("dice", GOOD)
    check_installed("acme-dice", examples={"roll": {"count": 2}}, generated=5)

    with pytest.raises(AssertionError, match="Tool 'roll' breaks its contract"):
        check_installed("acme-dice", examples={"roll": {"count": "many"}})


def test_every_broken_tool_is_told(site: Site) -> None:
    """All tools are checked, also after a broken one."""
    code = """
        @hookimpl
        def nr_llm_tools():
            return [Tool.from_function(lambda: 1, name="one"), Tool.from_function(lambda: 2, name="two")]
    """
    site.plugin("broken", code)

    with pytest.raises(AssertionError, match=r"(?s)Tool 'one' breaks .*Tool 'two' breaks"):
        check_installed("acme-broken")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import nr_llm_nonsense", "'odd' is failed: importing it raised ModuleNotFoundError"),
        ("@hookimpl\ndef nr_llm_tools():\n    return []", "Distribution 'acme-odd' contributes no tools"),
    ],
)
def test_a_plugin_without_tools_is_told(site: Site, code: str, told: str) -> None:
    """A plugin that does not work, or has nothing, does not pass for one that was checked."""
    site.plugin("odd", code)

    with pytest.raises(AssertionError, match=told):
        check_installed("acme-odd")


@pytest.mark.lesson(158)
def test_what_is_not_installed_is_told() -> None:
    """A misspelled name does not pass."""
    with pytest.raises(AssertionError, match="No installed distribution 'acme-nothing' declares a plugin"):
        installed_tools("acme-nothing")
