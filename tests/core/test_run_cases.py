"""The acceptance cases of stored runs, with the store in memory."""

from __future__ import annotations

from tests.core.run_cases import RunCases, face

__all__ = ["TestMemory", "face"]


class TestMemory(RunCases):
    """Kept in memory."""
