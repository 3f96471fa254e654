"""Lets a language model roll dice, since it cannot be trusted to imagine chance."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from nr_llm import Tool, ToolError, hookimpl, tool


@tool(data_class="public")
def roll(sides: int, count: int = 1) -> str:
    """
    Roll dice and return what each one shows.

    Args:
        sides: Sides of a die, at least 2.
        count: How many dice, at most 100.
    """
    if sides < 2 or not 1 <= count <= 100:
        raise ToolError("Dice have at least 2 sides, and 1 to 100 are rolled at once.")
    return ", ".join(str(random.randint(1, sides)) for _ in range(count))


@hookimpl
def nr_llm_tools() -> Iterable[Tool]:
    """Offer the dice."""
    return [roll]


@hookimpl
def nr_llm_configurations() -> Mapping[str, Mapping[str, Any]]:
    """Offer a way to ask for chance and nothing else."""
    return {"oracle": {"system": "Decide by dice. Never invent a number.", "tools": ["roll"], "limits": {"rounds": 2}}}
