"""Says once, in the log, what a service does not take and was left out of its requests."""

from __future__ import annotations

import logging
from functools import lru_cache


@lru_cache(maxsize=256)
def say_left_out(provider: str, model: str, what: str) -> None:
    """Warn that a model takes no such setting; once for each provider, model and setting."""
    logging.getLogger("nr_llm").warning("%s: model %s takes no %s; it is left out.", provider, model, what)
