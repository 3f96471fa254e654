"""Runs that wait for a person to fill in a form, with the store in memory."""

from __future__ import annotations

import pytest
from nr_llm import MemoryStore, RunStore

from tests.core.input_cases import InputCases, test_a_form_that_asks_for_nothing
from tests.core.run_cases import face

__all__ = ["TestMemory", "face", "test_a_form_that_asks_for_nothing"]


class TestMemory(InputCases):
    """Kept in memory."""

    @pytest.fixture
    def store(self) -> RunStore:
        """Return an empty store."""
        return MemoryStore()
