"""How hard properties are tried: a little in every run, and as long as one likes where a variable says so."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

DEPTH = int(os.environ.get("NR_LLM_TEST_DEPTH", "1"))
"""Multiplies the examples of each property: ``NR_LLM_TEST_DEPTH=50 pytest tests/integration``."""


def tried(examples: int) -> settings:
    """Return the settings of a property that is tried with so many examples in an ordinary run."""
    return settings(
        max_examples=examples * DEPTH,
        deadline=None,
        derandomize=DEPTH == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
