"""The acceptance cases of stored runs, of replays, pauses, decisions, forms and leases, on both databases."""

from __future__ import annotations

import pytest
from nr_llm import RunStore

from tests.core.decision_cases import DecisionCases
from tests.core.input_cases import InputCases
from tests.core.lease_cases import LeaseCases
from tests.core.pause_cases import PauseCases
from tests.core.replay_cases import ReplayCases
from tests.core.run_cases import RunCases, face
from tests.plugins.store.conftest import Make

__all__ = ["TestDecisions", "TestInputs", "TestLeases", "TestPauses", "TestReplays", "TestRuns", "face"]


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


class TestDecisions(DecisionCases):
    """Decided on in a database."""

    @pytest.fixture
    def store(self, make: Make) -> RunStore:
        """Return an empty store."""
        return make()


class TestInputs(InputCases):
    """Filled in in a database."""

    @pytest.fixture
    def store(self, make: Make) -> RunStore:
        """Return an empty store."""
        return make()


class TestLeases(LeaseCases):
    """Held in a database."""

    @pytest.fixture
    def store(self, make: Make) -> RunStore:
        """Return an empty store."""
        return make()


class TestPauses(PauseCases):
    """Waiting in a database."""

    @pytest.fixture
    def store(self, make: Make) -> RunStore:
        """Return an empty store."""
        return make()
