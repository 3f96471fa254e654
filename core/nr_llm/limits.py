"""The bounds of a run, and where their figures come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import attrs

from nr_llm._shown import shown
from nr_llm.options import between, whole
from nr_llm.prices import amount, decimal_of

CONTENT_BYTES = 50_000
"""UTF-8 bytes a result's content may have, its marker included (the reference system's figure, ADR-108)."""

LEAST_RESULT_BYTES = 256
"""The smallest bound of a result's content: room for a sentence and the marker that says it was cut."""

DESCRIPTION_BYTES = 8_192
"""UTF-8 bytes a tool's description may have: it is sent with every request, and whoever wrote it may be a stranger."""

ARTIFACT_BYTES = 50_000
"""Bytes all artifacts of a call may have as compact UTF-8 JSON (ADR-108)."""


@attrs.frozen(kw_only=True, repr=False)
class Limits:
    """
    Bounds of a run; each ends it, or refuses a call, with a reason the caller can read.

    Two with the same figures are equal, whether a figure was given or is the usual one; `given` tells.

    Args:
        rounds: Model calls that may ask for tools, across resumes (default 5, the reference system's).
        calls_per_turn: Calls of one turn that are run; further ones are refused.
        parallel_calls: Calls run at the same time.
        calls: Calls of the whole run; further ones are refused, and a turn of nothing else is the last; None for no
            bound.
        remote_calls: Calls of tools marked remote (default 20, the reference system's).
        tokens: Tokens of the whole run, as the provider reports them, or estimated where it does not; a request that
            would go beyond by itself is not sent.  None for no bound.
        cost: What the model calls of the whole run may cost, in the currency of the model's price; a run whose price is
            not known is refused, and ends once a cost is not known.  None for no bound.
        seconds: Time of the whole run in model calls and tools, checked between them; None for no bound.
        tool_bytes: UTF-8 bytes of the content of all results, checked between them; None for no bound.
        result_bytes: UTF-8 bytes of one result's content.
        argument_bytes: UTF-8 bytes of one call's arguments.

    Attributes:
        given: Names of the bounds somebody named, as against those left as usual.

    Raises:
        InvalidValueError: A bound is out of its range.
    """

    __repr__ = shown

    rounds: int = attrs.field(default=5, validator=whole(0))
    calls_per_turn: int = attrs.field(default=64, validator=whole(1))
    parallel_calls: int = attrs.field(default=8, validator=whole(1))
    calls: int | None = attrs.field(default=None, validator=whole(0))
    remote_calls: int = attrs.field(default=20, validator=whole(0))
    tokens: int | None = attrs.field(default=None, validator=whole(0))
    cost: Decimal | None = attrs.field(default=None, converter=decimal_of, validator=amount)
    seconds: float | None = attrs.field(default=None, validator=between(0, math.inf))
    tool_bytes: int | None = attrs.field(default=None, validator=whole(0))
    result_bytes: int = attrs.field(default=CONTENT_BYTES, validator=whole(LEAST_RESULT_BYTES, CONTENT_BYTES))
    argument_bytes: int = attrs.field(default=200_000, validator=whole(2))
    given: frozenset[str] = attrs.field(init=False, eq=False, repr=False)

    if not TYPE_CHECKING:  # pragma: no branch  # to type checkers the constructor is the one attrs makes

        def __init__(self, **given: Any) -> None:
            self.__attrs_init__(**given)
            object.__setattr__(self, "given", _given(given))


vars(Limits)["__init__"].__wrapped__ = vars(Limits).get("__attrs_init__")  # whose signature people are shown

BOUNDS = tuple(field.name for field in attrs.fields(Limits) if field.init)
"""Names of the bounds."""


def _given(given: Mapping[str, Any]) -> frozenset[str]:
    if len(given) < len(BOUNDS):
        return frozenset(given)
    # `attrs.evolve` names every field, though somebody named some: those that are not the usual ones.
    return frozenset(field.name for field in attrs.fields(Limits) if field.init and given[field.name] != field.default)
