"""Waits for what must happen, however busy the machine, so that no test bets on how long it takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm._calls import Job

AGES = 60.0
"""Seconds after which something is taken for never to happen; no test that passes waits so long."""


def until(condition: Callable[[], bool]) -> None:
    """
    Wait for a state that is no event.

    Raises:
        AssertionError: It did not come about.
    """
    end = time.monotonic() + AGES
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.001)


def ended_calls(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Return a semaphore that is released once for each tool that has ended, when its result lies in the box."""
    ended, end = threading.Semaphore(0), Job.end

    def told(job: Job, *args: Any, **settings: Any) -> None:
        end(job, *args, **settings)
        ended.release()

    monkeypatch.setattr(Job, "end", told)
    return ended
