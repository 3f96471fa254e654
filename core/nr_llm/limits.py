"""The bounds of a run, and where their figures come from."""

from __future__ import annotations

import attrs

from nr_llm.options import at_least, between

CONTENT_BYTES = 50_000
"""UTF-8 bytes a result's content may have, its marker included (the reference system's figure, ADR-108)."""

ARTIFACT_BYTES = 50_000
"""Bytes all artifacts of a call may have as compact UTF-8 JSON (ADR-108)."""


@attrs.frozen(kw_only=True)
class Limits:
    """
    Bounds of a run; each ends it, or refuses a call, with a reason the caller can read.

    Args:
        rounds: Model calls that may ask for tools, across resumes (default 5, the reference system's).
        calls_per_turn: Calls of one turn that are run; further ones are refused.
        parallel_calls: Calls run at the same time.
        calls: Calls of the whole run; None for no bound.
        remote_calls: Calls of tools marked remote (default 20, the reference system's).
        tokens: Tokens of the whole run, as the provider reports them; None for no bound.
        seconds: Wall time of the whole run, checked between effects; None for no bound.
        result_bytes: UTF-8 bytes of one result's content.
        argument_bytes: UTF-8 bytes of one call's arguments.

    Raises:
        InvalidValueError: A bound is out of its range.
    """

    rounds: int = attrs.field(default=5, validator=at_least(0))
    calls_per_turn: int = attrs.field(default=64, validator=at_least(1))
    parallel_calls: int = attrs.field(default=8, validator=at_least(1))
    calls: int | None = attrs.field(default=None, validator=at_least(0))
    remote_calls: int = attrs.field(default=20, validator=at_least(0))
    tokens: int | None = attrs.field(default=None, validator=at_least(0))
    seconds: float | None = attrs.field(default=None, validator=at_least(0))
    result_bytes: int = attrs.field(default=CONTENT_BYTES, validator=between(256, CONTENT_BYTES))
    argument_bytes: int = attrs.field(default=200_000, validator=at_least(2))
