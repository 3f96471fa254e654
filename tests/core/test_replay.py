"""A stored run comes out as it did when it is run once more from its record."""

from __future__ import annotations

import pytest
from nr_llm import MemoryStore, RunStore

from tests.core.replay_cases import ReplayCases
from tests.core.run_cases import face

__all__ = ["TestMemory", "face"]


class TestMemory(ReplayCases):
    """Kept in memory."""

    @pytest.fixture
    def store(self) -> RunStore:
        """Return an empty store."""
        return MemoryStore()
