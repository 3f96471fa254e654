"""Decisions on stored runs that wait, with the store in memory."""

from __future__ import annotations

import pytest
from nr_llm import MemoryStore, RunStore

from tests.core.decision_cases import DecisionCases
from tests.core.run_cases import face

__all__ = ["TestMemory", "face"]


class TestMemory(DecisionCases):
    """Kept in memory."""

    @pytest.fixture
    def store(self) -> RunStore:
        """Return an empty store."""
        return MemoryStore()
