"""What a model's tokens cost: exact figures, each with the place it is from; nobody's price list."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import attrs

from nr_llm.errors import InvalidValueError
from nr_llm.options import whole

if TYPE_CHECKING:
    from nr_llm.responses import Usage

MILLION = 1_000_000
"""Tokens that prices are given for."""


def decimal_of(value: Any) -> Any:
    """Return a number or its text as the decimal it is written as; what is neither is left to the validator."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return value
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return value


def amount(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is no amount of money; None where that is the default."""
    if value is None and field.default is None:
        return
    if not isinstance(value, Decimal) or not value.is_finite() or value < 0:
        raise InvalidValueError(f"{value!r} is no amount of 0 or more", path=field.name)


def _longer(_: object, field: attrs.Attribute[Any], value: Any) -> None:
    if value is not None and not isinstance(value, Price):
        raise InvalidValueError(f"must be a Price, not {type(value).__name__}", path=field.name)


@attrs.frozen(kw_only=True)
class Price:
    """
    What a million tokens cost; numbers are taken as they are written, so 0.1 is a tenth.

    Args:
        input: Tokens read.
        output: Tokens written, reasoning included.
        cached: Tokens read from the provider's cache; as `input` unless given, which they never exceed.
        cache_write: Tokens written to the cache; unknown unless given, since they may be dearer.
        currency: What the figures are in.
        long: The price of a call that reads more than `long_from` tokens, where that is another.
        long_from: Where it begins, in tokens.
        source: Where the figures are from; two prices may differ in that and be equal.

    Raises:
        InvalidValueError: A figure is no amount.
    """

    input: Decimal = attrs.field(converter=decimal_of, validator=amount)
    output: Decimal = attrs.field(converter=decimal_of, validator=amount)
    cached: Decimal | None = attrs.field(default=None, converter=decimal_of, validator=amount)
    cache_write: Decimal | None = attrs.field(default=None, converter=decimal_of, validator=amount)
    currency: str = "USD"
    long: Price | None = attrs.field(default=None, validator=_longer)
    long_from: int | None = attrs.field(default=None, validator=whole(1))
    source: str = attrs.field(default="the program", eq=False)

    def of(self, usage: Usage) -> Decimal | None:
        """Return what one call cost, or None where its tokens or their price are not known."""
        if self.long is not None and (usage.input_tokens or 0) > (self.long_from or 0):
            return self.long.of(usage)
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        if written and self.cache_write is None:
            return None
        read = max(0, usage.input_tokens - cached - written) * self.input
        read += cached * (self.input if self.cached is None else self.cached) + written * (self.cache_write or 0)
        return (read + usage.output_tokens * self.output) / MILLION
