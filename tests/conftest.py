"""What holds for every test: no property is judged by the clock, since a busy machine is slow at will."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
