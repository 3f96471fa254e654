"""What holds for every test: no property is judged by the clock, since a busy machine is slow at will."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from tests.postgres import postgres_server

__all__ = ["postgres_server"]

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell without job control makes what it starts in the background deaf to Ctrl-C, and all that is started from there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
