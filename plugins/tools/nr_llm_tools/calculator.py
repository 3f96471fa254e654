"""The calculator: models are bad at arithmetic and know it."""

from __future__ import annotations

from nr_llm import ToolError, ToolResult, tool

from nr_llm_tools._arithmetic import ArithmeticInputError, evaluate, normalise, written


@tool(
    group="general",
    data_class="public",
    timeout=10.0,
    examples=({"expression": "12 * 7.5"}, {"expression": "round(sqrt(2), 3)"}),
)
def calculate(expression: str) -> ToolResult:
    """
    Calculate an arithmetic expression exactly, such as "12 * 7.5" or "round(sqrt(2), 3)".

    Args:
        expression: Numbers, + - * / // % (remainder) ** (power), parentheses, pi, e, and functions: abs, ceil, cos,
            degrees, exp, factorial, floor, gcd, log, log10, log2, max, min, radians, round, sin, sqrt, sum, tan.
    """
    try:
        value = evaluate(expression)
    except ArithmeticInputError as fault:
        raise ToolError(str(fault)) from None
    return ToolResult.text(f"{normalise(expression)} = {written(value)}")
