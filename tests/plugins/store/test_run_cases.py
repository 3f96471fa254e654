"""The acceptance cases of stored runs, and of replays, on both databases."""

from __future__ import annotations

import pytest
from nr_llm import RunStore

from tests.core.replay_cases import ReplayCases
from tests.core.run_cases import RunCases, face
from tests.plugins.store.conftest import Make

__all__ = ["TestReplays", "TestRuns", "face"]


class TestRuns(RunCases):
    """Kept in a database."""

    @pytest.fixture
    def store(self, make: Make) -> RunStore:
        """Return an empty store."""
        return make()


class TestReplays(ReplayCases):
    """Replayed from a database."""

    @pytest.fixture
    def store(self, make: Make) -> RunStore:
        """Return an empty store."""
        return make()
