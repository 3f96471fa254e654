"""Holds the tool to the contract that every nr-llm tool keeps."""

from __future__ import annotations

from nr_llm.testing import check_tool
from nr_llm_dice import roll


def test_contract() -> None:
    """The tool keeps the contract: its schema, its errors, its bounds."""
    check_tool(roll, {"sides": 6})


def test_faces() -> None:
    """Each die shows one of its sides."""
    assert set(roll(sides=2, count=50).split(", ")) <= {"1", "2"}
