"""Waiting for tools goes on in short turns, so that no Ctrl-C is missed for long."""

from __future__ import annotations

import pytest
from nr_llm._perform import PATIENCE, patience


@pytest.mark.parametrize(("seconds", "turn"), [(None, PATIENCE), (60.0, PATIENCE), (0.1, 0.1), (0.0, 0.0)])
def test_no_wait_is_longer_than_a_turn(seconds: float | None, turn: float) -> None:
    """A tool without a time-out, or with a long one, keeps nobody from interrupting."""
    assert patience(seconds) == turn
