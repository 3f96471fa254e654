"""Holds the tool to the contract that every nr-llm tool keeps, and the configuration to what it promises."""

from __future__ import annotations

import nr_llm_dice
from nr_llm import PluginHost, Runtime
from nr_llm.testing import ScriptedProvider, calling, check_tool
from nr_llm_dice import roll


def test_contract() -> None:
    """The tool keeps the contract: its schema, its errors, its bounds."""
    check_tool(roll, {"sides": 6})


def test_faces() -> None:
    """Each die shows one of its sides."""
    assert set(roll(sides=2, count=50).split(", ")) <= {"1", "2"}


def test_oracle() -> None:
    """The configuration offers the dice alone, with its instruction."""
    model = ScriptedProvider(calling(("roll", {"sides": 6})), "Six.")
    with Runtime(PluginHost([nr_llm_dice]), providers=[model], model="scripted:") as runtime:
        assert runtime.run("Shall I?", configuration="oracle").content == "Six."

    assert [tool.name for tool in model.requests[0].tools] == ["roll"]
    assert model.requests[0].messages[0].content.startswith("Decide by dice.")
