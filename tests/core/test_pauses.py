"""The acceptance cases of turns that wait, with the store in memory."""

from __future__ import annotations

from tests.core.pause_cases import PauseCases
from tests.core.run_cases import face

__all__ = ["TestMemory", "face"]


class TestMemory(PauseCases):
    """Kept in memory."""
