"""Amounts of money as whole numbers that a database can add up, exact whatever their digits."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Final

UNIT: Final = 12
"""Decimal places of the unit: a price per million tokens with six decimals comes out even."""

PART: Final = 10**6
"""Units are added up in two parts, which no sum of them makes overflow."""

_EXACT: Final = Context(prec=400)
_MOST: Final = 2**62
_NOUGHT: Final = "0"


def split(amount: Decimal) -> tuple[int, str]:
    """Return an amount as whole units, and what is left of it as text; ``0`` but for very odd amounts."""
    if not amount:
        return 0, _NOUGHT
    if not amount.is_finite() or abs(amount) >= _MOST // 10**UNIT:
        return 0, str(amount)
    units = int(_EXACT.scaleb(amount, UNIT))
    rest = _EXACT.subtract(amount, _EXACT.scaleb(Decimal(units), -UNIT))
    return units, str(rest) if rest else _NOUGHT


def joined(units: int, rest: str, *, times: int = 1) -> Decimal:
    """
    Return the amount of some units and a number of equal rests.

    Args:
        units: Whole units.
        rest: What was left of each amount.
        times: How often it is meant.
    """
    amount = _EXACT.scaleb(Decimal(units), -UNIT)
    if rest != _NOUGHT:
        amount = _EXACT.add(amount, _EXACT.multiply(Decimal(rest), Decimal(times)))
    short = amount.normalize(_EXACT)  # 0.500000000000 is written 0.5
    return short.quantize(Decimal(1), context=_EXACT) if "E+" in str(short) else short
