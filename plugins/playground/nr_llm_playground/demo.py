"""A recorded run of our own making, for whoever has no model yet; nothing in it is of anybody."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def demo_lines() -> tuple[bytes, ...]:
    """Return the lines of the recorded run, each with its time as ``t``."""
    recorded = files("nr_llm_playground").joinpath("demo.ndjson").read_bytes()
    return tuple(line + b"\n" for line in recorded.splitlines() if line)
