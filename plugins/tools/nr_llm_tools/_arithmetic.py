"""
Evaluates arithmetic exactly where it can be exact, and stops before anything grows: the expression is a model's.

Numbers are fractions of integers, so ``0.1 + 0.2`` is 0.3 and ``1 / 3 * 3`` is 1: people who ask a model to calculate
mean decimal numbers, not binary ones.  Roots that are no fractions, powers with broken exponents, logarithms and
angles give floating-point numbers, and so does whatever is calculated from these.

Bounds: `MAX_CHARS` characters, `MAX_DEPTH` levels, and `MAX_BITS` bits of any numerator or denominator.  A power or
factorial is estimated before it is computed, so ``9**9**9`` fails at once.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import sys
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final, TypeAlias

MAX_CHARS: Final = 500
"""Characters of an expression."""

MAX_DEPTH: Final = 50
"""Operations inside operations."""

MAX_BITS: Final = 10_000
"""Bits of a number, about 3,000 digits: below the 4,300 digits Python itself prints."""

MAX_EXPONENT: Final = 400
"""Largest exponent of a literal such as ``1e400``."""

MAX_FACTORIAL: Final = 1_000
"""Largest argument of a factorial; its result has 8,530 bits."""

DIGITS: Final = 15
"""Significant digits of a result that is not exact: what a double holds."""

MAX_DECIMALS: Final = 40
"""Digits after the point up to which a fraction is written out."""

Number: TypeAlias = Fraction | float


class ArithmeticInputError(ValueError):
    """An expression cannot be evaluated; the text says why and is meant for the model."""


_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?(?![\w.]))|[A-Za-z]\w*|\*\*|//|[-+*/%(),])",
    re.ASCII,
)
_TYPOGRAPHY: Final = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "\u00a0": " "})
_HINTS: Final = (
    ("^", "Write powers with **."),
    ("√", "Write sqrt(...)."),
    ("=", "Give one expression without '='."),
    ("$", "Leave out currency signs."),
    ("€", "Leave out currency signs."),
    ("!", "Write factorial(n)."),
)


def evaluate(expression: str) -> Number:
    """
    Return the value of an arithmetic expression.

    Args:
        expression: ``+ - * / // % **``, parentheses, decimal numbers, `FUNCTIONS` and `CONSTANTS`.

    Raises:
        ArithmeticInputError: The expression is malformed, too large, or has no finite real value.
    """
    text = normalise(expression)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ArithmeticInputError(
            "The expression is incomplete or malformed. Check its parentheses and operators."
        ) from None
    try:
        return _checked(_Evaluator(text).value(tree.body, 0))
    except ZeroDivisionError:
        raise ArithmeticInputError("Division by zero.") from None
    except OverflowError:
        raise ArithmeticInputError("A number is too large for an inexact calculation.") from None


def normalise(expression: str) -> str:
    """
    Return the expression on one line with plain operator signs.

    Every token is checked here, before Python's own parser sees the text.

    Raises:
        ArithmeticInputError: It is empty, too long, or has something that is no arithmetic.
    """
    text = " ".join(expression.translate(_TYPOGRAPHY).split())
    if not text:
        raise ArithmeticInputError("The expression is empty.")
    if len(text) > MAX_CHARS:
        raise ArithmeticInputError(f"The expression has more than {MAX_CHARS} characters. Calculate it in parts.")
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ArithmeticInputError(_unreadable(text[at:].lstrip()))
        at = token.end()
    return text


def _unreadable(rest: str) -> str:
    hint = next(
        (hint for sign, hint in _HINTS if rest.startswith(sign)), "Use numbers, + - * / // % **, and functions."
    )
    return f"Cannot read '{rest[:20]}' as arithmetic. {hint}"


class _Evaluator:
    """Walks the syntax tree; what is not listed in a `match` is refused."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, node: ast.expr, depth: int) -> Number:
        if depth > MAX_DEPTH:
            raise ArithmeticInputError(f"The expression is nested more than {MAX_DEPTH} deep. Calculate it in parts.")
        match node:
            case ast.Constant(value=number) if type(number) in {int, float}:
                return self._literal(node)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
                value = self.value(operand, depth + 1)
                return -value if isinstance(sign, ast.USub) else value
            case ast.BinOp():
                left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
                return _checked(_OPERATORS[type(node.op)](left, right))
            case ast.Name(id=name):
                return _constant(name)
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return _call(name, [self.value(argument, depth + 1) for argument in node.args])
            case ast.Tuple():
                raise ArithmeticInputError("A comma separates arguments only. Write 1000 for 1,000 and 0.5 for 0,5.")
            case _:
                raise ArithmeticInputError(
                    "Only arithmetic is evaluated: numbers, + - * / // % **, parentheses, functions."
                )

    def _literal(self, node: ast.Constant) -> Fraction:
        text = (ast.get_source_segment(self._text, node) or "").replace("_", "")
        _, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > MAX_EXPONENT:
            raise ArithmeticInputError(f"The exponent of '{text[:20]}' is beyond {MAX_EXPONENT}.")
        return Fraction(text)


def _checked(value: Number) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArithmeticInputError("The result is not a finite number.")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ArithmeticInputError("A number grows beyond 3,000 digits.")
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits > 1 and bits * abs(exponent) > 2 * MAX_BITS:
            return _large_power(base, exponent)
        return Fraction(base**exponent.numerator) if bits > 1 else _unit_power(base, exponent.numerator)
    result: float | complex = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise ArithmeticInputError("The power of a negative number with a broken exponent is no real number.")
    return result


def _large_power(base: Fraction, exponent: Fraction) -> float:
    """Return a power whose fraction would be too long nearly, such as of interest that is compounded daily."""
    near = 0.0 if base.denominator == 1 else float(base) ** float(exponent)
    if not near:
        raise ArithmeticInputError("The power grows beyond 3,000 digits.")
    return near


def _unit_power(base: Fraction, exponent: int) -> Fraction:
    """Return a power of -1, 0 or 1, whose exponent may be of any size."""
    small = max(-1, min(exponent, 1)) if base == 0 else exponent % 2
    return Fraction(base**small)


def _floored(left: Number, right: Number) -> Number:
    """Divide and round down, to a fraction again: Python's own result is an `int`, whose powers would be inexact."""
    quotient = left // right
    return quotient if isinstance(quotient, float) else Fraction(quotient)


_OPERATORS: Final[dict[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: _floored,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
"""The token check lets no other operator through."""


def _constant(name: str) -> float:
    if name not in CONSTANTS:
        hint = " Call it with parentheses." if name in FUNCTIONS else f" There are {', '.join(CONSTANTS)}."
        raise ArithmeticInputError(f"There is no constant '{name[:20]}'.{hint}")
    return CONSTANTS[name]


def _call(name: str, arguments: list[Number]) -> Number:
    if name not in FUNCTIONS:
        raise ArithmeticInputError(f"There is no function '{name[:20]}'. There are {', '.join(FUNCTIONS)}.")
    low, high, function = FUNCTIONS[name]
    if not low <= len(arguments) <= high:
        most = f" to {high}" if high != low else ""
        raise ArithmeticInputError(f"{name} takes {low}{most} argument(s), not {len(arguments)}.")
    try:
        return _checked(function(*arguments))
    except ValueError as error:
        if isinstance(error, ArithmeticInputError):
            raise
        raise ArithmeticInputError(f"{name} is not defined for this argument.") from None


def _integer(value: Number, name: str) -> int:
    if value != int(value):
        raise ArithmeticInputError(f"{name} needs a whole number.")
    return int(value)


def _sqrt(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    places = _integer(digits, "round")
    if abs(places) > MAX_DECIMALS:
        raise ArithmeticInputError(f"round takes at most {MAX_DECIMALS} digits.")
    if isinstance(value, Fraction):
        return Fraction(round(value, places))
    return round(value, places) if places else Fraction(round(value))


def _factorial(value: Number) -> Number:
    number = _integer(value, "factorial")
    if number > MAX_FACTORIAL:
        raise ArithmeticInputError(f"factorial takes at most {MAX_FACTORIAL}.")
    return Fraction(math.factorial(number))


def _logarithm(value: Number, base: Number | None = None) -> float:
    return math.log(_whole(value)) if base is None else math.log(_whole(value), _whole(base))


def _whole(value: Number) -> Number | int:
    """Return a whole number as one: its logarithm has no bound, while that of a double has."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


CONSTANTS: Final = {"pi": math.pi, "e": math.e, "tau": math.tau}
"""Constants an expression may name; they are inexact."""

FUNCTIONS: Final[dict[str, tuple[int, int, Callable[..., Number]]]] = {
    "abs": (1, 1, abs),
    "ceil": (1, 1, lambda value: Fraction(math.ceil(value))),
    "cos": (1, 1, math.cos),
    "degrees": (1, 1, math.degrees),
    "exp": (1, 1, math.exp),
    "factorial": (1, 1, _factorial),
    "floor": (1, 1, lambda value: Fraction(math.floor(value))),
    "gcd": (2, 2, lambda a, b: Fraction(math.gcd(_integer(a, "gcd"), _integer(b, "gcd")))),
    "log": (1, 2, _logarithm),
    "log10": (1, 1, lambda value: math.log10(_whole(value))),
    "log2": (1, 1, lambda value: math.log2(_whole(value))),
    "max": (1, 50, lambda *values: max(values)),
    "min": (1, 50, lambda *values: min(values)),
    "radians": (1, 1, math.radians),
    "round": (1, 2, _round),
    "sin": (1, 1, math.sin),
    "sqrt": (1, 1, _sqrt),
    "sum": (1, 50, lambda *values: sum(values)),
    "tan": (1, 1, math.tan),
}
"""Functions an expression may call: fewest and most arguments, and what computes them."""


def written(value: Number) -> str:
    """Return a number as people write it: exact when its decimals end, else rounded to `DIGITS` and marked so."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if value.denominator == 1:
        return str(value.numerator)
    decimals = _decimals(value.denominator)
    if decimals is None:
        return f"{_rounded(value)} (rounded)"
    digits = f"{abs(value.numerator) * 10**decimals // value.denominator:0{decimals + 1}d}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def _decimals(denominator: int) -> int | None:
    """Return how many digits after the point write a fraction exactly, or None when they do not end soon."""
    return next((n for n in range(1, MAX_DECIMALS + 1) if 10**n % denominator == 0), None)


def _rounded(value: Fraction) -> str:
    try:
        near = float(value)
    except OverflowError:
        return f"about {value.numerator // value.denominator}"
    if abs(near) >= sys.float_info.min:
        return f"{near:.{DIGITS}g}"
    tiny = _DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))
    return str(tiny.normalize(_DECIMAL)).lower()


_DECIMAL: Final = Context(prec=DIGITS)
"""Writes what is too near to zero for a double, which would make it 0 or lose digits."""
