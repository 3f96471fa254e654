"""Arithmetic of a model: exact, bounded before it grows, and refused with a text that helps."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm_tools._arithmetic import (
    FUNCTIONS,
    MAX_BITS,
    MAX_CHARS,
    MAX_DEPTH,
    MAX_FACTORIAL,
    ArithmeticInputError,
    evaluate,
    written,
)


def answer(expression: str) -> str:
    """Return the value of an expression as a model reads it."""
    return written(evaluate(expression))


def integers() -> st.SearchStrategy[str]:
    """Expressions of integers that Python evaluates exactly too."""
    return st.recursive(
        st.integers(0, 999).map(str),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            inner.map(lambda text: f"-{text}"),
            st.tuples(inner, st.integers(0, 4)).map(lambda t: f"({t[0]})**{t[1]}"),
            st.tuples(st.sampled_from(["min", "max", "sum"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
            inner.map(lambda text: f"abs({text})"),
        ),
        max_leaves=10,
    )


@given(integers())
def test_integers_are_exactly_what_python_makes_of_them(expression: str) -> None:
    """Or a division by zero, where Python has one too."""
    try:
        expected = eval(expression, {"sum": lambda *values: sum(values)})
    except ZeroDivisionError:
        with pytest.raises(ArithmeticInputError, match="Division by zero"):
            evaluate(expression)
        return

    try:
        assert str(expected) == answer(expression)
    except ArithmeticInputError:
        assert len(expression) > MAX_CHARS or abs(expected).bit_length() > MAX_BITS // 4


@given(
    st.recursive(
        st.floats(0.001, 1e6).map(lambda value: f"{value:.4f}"),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda text: f"sqrt({text})"),
        ),
        max_leaves=6,
    )
)
def test_decimals_are_near_what_python_makes_of_them(expression: str) -> None:
    """Positive numbers and no differences, so that floating point has no excuse."""
    expected = eval(expression, {"sqrt": math.sqrt})

    assert math.isclose(float(evaluate(expression)), expected, rel_tol=1e-9)


@given(st.text(max_size=60) | st.text("0123456789.+-*/%()e, sqrtpimax_", max_size=60))
def test_any_text_has_a_value_or_a_reason(expression: str) -> None:
    """Nothing but a finite number or an error for the model comes out."""
    try:
        value = evaluate(expression)
    except ArithmeticInputError:
        pass
    else:
        assert math.isfinite(value) if isinstance(value, float) else isinstance(value, Fraction)
        assert written(value)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("1 / 3 * 3", "1"),
        ("19.99 * 3", "59.97"),
        ("2 / 3", "0.666666666666667 (rounded)"),
        ("-2 / 3", "-0.666666666666667 (rounded)"),
        ("-1 / 4", "-0.25"),
        ("1 / 1024", "0.0009765625"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("(10 ** 20 // 1) ** 2", f"1{'0' * 40}"),
        ("2 ** (100 // 1) - 1", "1267650600228229401496703205375"),
        ("(1 // 1) / (3 // 1)", "0.333333333333333 (rounded)"),
        ("(1 / 3) ** 700", "1.03543227065814e-334 (rounded)"),
        ("-1e-320 / 3", "-3.33333333333333e-321 (rounded)"),
        ("(1 + 0.0425 / 365) ** 3650", "1.52955257618347"),
        ("-7 % 3", "2"),
        ("7.5 % 2", "1.5"),
        ("+5", "5"),
        ("-2 ** 2", "-4"),
        ("2 ** -2", "0.25"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("1_000 + 1e3 + .5 + 2.", "2002.5"),
        ("(-1) ** 1000000007", "-1"),
        ("1 ** 99999999999999999999", "1"),
        ("0 ** 99999999999999999999", "0"),
        ("0 ** 0", "1"),
        ("2 × 3 ÷ 4 − 1", "0.5"),
        (" 2 +\n 3 ", "5"),
        ("sqrt(16) + sqrt(9/4)", "5.5"),
        ("sqrt(2)", "1.4142135623731"),
        ("sqrt(2 * pi)", "2.506628274631"),
        ("round(2.675, 2)", "2.68"),
        ("round(2.5)", "2"),
        ("round(-1234.5, -2)", "-1200"),
        ("round(pi, 3)", "3.142"),
        ("floor(-2.5) + ceil(2.1)", "0"),
        ("log10(1000)", "3"),
        ("log10(1e400) + log2(2 ** 2000) + log(10 ** 400, 10)", "2800"),
        ("log(8, 2)", "3"),
        ("log(e)", "1"),
        ("factorial(20)", "2432902008176640000"),
        ("gcd(84, 36)", "12"),
        ("min(3, 1/2, 2)", "0.5"),
        ("sum(1, 2, 3)", "6"),
        ("degrees(pi)", "180"),
        ("sin(0) + cos(0) + tan(0)", "1"),
        ("exp(0) * log2(8)", "3"),
        ("2 ** 0.5", "1.4142135623731"),
        ("tau / 2 - pi", "0"),
        ("1e400 / 1e400", "1"),
        ("1/3 + 1e400 - 1e400", "0.333333333333333 (rounded)"),
    ],
)
def test_what_people_expect(expression: str, result: str) -> None:
    """Decimal numbers are decimal; only what cannot be exact is rounded, and says so when it began exact."""
    assert result == answer(expression)


def test_a_fraction_too_large_for_a_double_is_written_nearly() -> None:
    """Its whole part is exact; the rest is said to be left out."""
    assert answer("10 ** 400 / 3") == f"about {10**400 // 3} (rounded)"


@pytest.mark.lesson(110)
@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("9**9**9", "grows"),
        ("9**-9**9", "grows"),
        ("(1/9)**9**9", "grows"),
        ("2**9999*2**9999", "grows"),
        ("factorial(1000) ** 2", "grows"),
        (f"factorial({MAX_FACTORIAL + 1})", "at most"),
        ("factorial(-1)", "not defined"),
        ("factorial(1.5)", "whole number"),
        ("gcd(1.5, 2)", "whole number"),
        ("1e401", "exponent"),
        ("1e-99999999", "exponent"),
        ("exp(1000)", "too large"),
        ("1e400 * pi", "too large"),
        ("pi * 1e300 * 1e300", "not a finite"),
        ("1 / 0", "Division by zero"),
        ("1 % 0", "Division by zero"),
        ("0 ** -1", "Division by zero"),
        ("sqrt(-1)", "not defined"),
        ("sqrt(-pi)", "not defined"),
        ("log(0)", "not defined"),
        ("(-8) ** (1/3)", "no real number"),
        ("round(1, 41)", "at most 40"),
        ("round(1, -41)", "at most 40"),
        ("sqrt()", "takes 1 argument"),
        ("round(1, 2, 3)", "takes 1 to 2"),
        ("nope(1)", "no function 'nope'"),
        ("nope", "no constant 'nope'"),
        ("sqrt", "with parentheses"),
        ("", "empty"),
        ("  ", "empty"),
        ("1 +", "incomplete"),
        ("(1", "incomplete"),
        ("1 2", "incomplete"),
        ("1,000", "comma"),
        ("2^8", r"\*\*"),
        ("√2", "sqrt"),
        ("x = 2", "without '='"),
        ("$5", "currency"),
        ("5 €", "currency"),
        ("5!", "factorial"),
        ("1 < 2", "Use numbers"),
        ("'a' * 9", "Use numbers"),
        ("[1]", "Use numbers"),
        ("a.b", "Use numbers"),
        ("1if 2else 3", "Use numbers"),
        ("0x10", "Use numbers"),
        ("1j", "Use numbers"),
        ("1__0", "incomplete"),
        ("0777", "incomplete"),
        ("2 if 1 else 3", "Only arithmetic"),
        ("not 1", "Only arithmetic"),
        ("1 and 2", "Only arithmetic"),
        ("lambda", "incomplete"),
        ("True", "Only arithmetic"),
        ("None + 1", "Only arithmetic"),
        ("max(*1)", "Only arithmetic"),
        ("(sqrt)(4)(2)", "Only arithmetic"),
        ("__import__(1)", "Use numbers"),
        ("1" * (MAX_CHARS + 1), "more than"),
        ("-" * (MAX_DEPTH + 1) + "1", "nested"),
        ("(" * 210 + "1" + ")" * 210, "incomplete"),
    ],
)
def test_what_is_refused_and_why(expression: str, reason: str) -> None:
    """Each refusal names what to change."""
    with pytest.raises(ArithmeticInputError, match=reason):
        evaluate(expression)


@pytest.mark.parametrize(
    "expression",
    ["9" * MAX_CHARS, "-" * MAX_DEPTH + "1", f"2 ** {MAX_BITS - 1}", f"factorial({MAX_FACTORIAL})", "round(1, 40)"],
)
def test_each_bound_is_itself_allowed(expression: str) -> None:
    """One less than too much is not too much."""
    assert written(evaluate(expression))


def test_every_function_is_named_in_the_description() -> None:
    """What the model is not told of, it cannot use."""
    from nr_llm_tools.calculator import calculate

    described = str(calculate.parameters)

    assert all(name in described for name in FUNCTIONS)
