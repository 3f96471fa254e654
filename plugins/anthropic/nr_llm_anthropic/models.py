"""What is known of Anthropic's models, as rows of data."""

from __future__ import annotations

import re

import attrs

READS = ("image/", "application/pdf", "text/plain")
"""What every listed model reads."""

WINDOW = 200_000
"""Tokens of every listed model's window."""


@attrs.frozen(kw_only=True)
class Row:
    """
    A family of models.

    Attributes:
        name: Pattern that the beginning of a model's name matches.
        max_output: Tokens it writes at most.
        schema: Whether the service holds it to a JSON Schema.
        adaptive: Whether it decides itself how much to think; others take a budget.
    """

    name: re.Pattern[str]
    max_output: int
    schema: bool = False
    adaptive: bool = False


# https://docs.anthropic.com/en/docs/about-claude/models/overview and …/build-with-claude/structured-outputs
ROWS = (
    Row(name=re.compile(r"claude-(3-opus|3-haiku|3-sonnet)"), max_output=4_096),
    Row(name=re.compile(r"claude-3-5"), max_output=8_192),
    Row(name=re.compile(r"claude-3-7"), max_output=64_000),
    Row(name=re.compile(r"claude-opus-4-1"), max_output=32_000, schema=True),
    Row(name=re.compile(r"claude-opus-4(-0|-2\d{7}|$)"), max_output=32_000),
    Row(name=re.compile(r"claude-sonnet-4(-0|-2\d{7}|$)"), max_output=64_000),
    Row(name=re.compile(r"claude-(sonnet|opus|haiku)-4-5"), max_output=64_000, schema=True),
    Row(name=re.compile(r"claude-(sonnet|opus|haiku)-4-\d"), max_output=64_000, schema=True, adaptive=True),
    Row(name=re.compile(r"claude-[a-z]+-([5-9]|\d\d)"), max_output=64_000, schema=True, adaptive=True),
)
"""The families, the most special first."""

UNKNOWN_OUTPUT = 4_096
"""Tokens asked for of a model no row knows: every model writes as many, and the service wants a number."""


def row_of(model: str) -> Row | None:
    """Return the row of a model, or None."""
    return next((row for row in ROWS if row.name.match(model)), None)
