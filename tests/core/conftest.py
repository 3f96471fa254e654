"""What holds for every test of the core: no plugin is slow because the machine is."""

from __future__ import annotations

import pytest
from nr_llm import PluginHost


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plugins take no time wherever a test does not say how long."""
    monkeypatch.setitem(PluginHost.__init__.__kwdefaults__, "clock", lambda: 0.0)
