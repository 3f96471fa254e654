"""What is known of the families of models, by their names; of others nothing is claimed."""

from __future__ import annotations

import re

import attrs


@attrs.frozen
class Row:
    """
    A family of models.

    Attributes:
        name: Pattern that the beginning of a model's name matches.
        context: Tokens of its window.
        max_output: Tokens it writes at most.
        schema_beside_tools: Whether it keeps to a JSON Schema also where tools are offered.
    """

    name: re.Pattern[str]
    context: int
    max_output: int
    schema_beside_tools: bool = False


# https://ai.google.dev/gemini-api/docs/models and …/structured-output
ROWS = (
    Row(re.compile(r"gemini-([3-9]|\d\d)"), 1_048_576, 65_536, schema_beside_tools=True),
    Row(re.compile(r"gemini-2\.5"), 1_048_576, 65_536),
    Row(re.compile(r"gemini-2"), 1_048_576, 8_192),
    Row(re.compile(r"gemini-1\.5-pro"), 2_097_152, 8_192),
    Row(re.compile(r"gemini-1\.5"), 1_048_576, 8_192),
)
"""The families, the most special first."""

READS = ("image/", "audio/", "video/", "application/pdf", "text/")
"""What the listed models read."""

SIGNING = re.compile(r"gemini-(([3-9]|\d\d)\b|(pro|flash|flash-lite)-latest)")
"""Models that refuse a call of the current turn without a signature, and take a level of thinking, not a budget:
https://ai.google.dev/gemini-api/docs/gemini-3; the names that move on are among them."""

THOUGHTLESS = re.compile(r"gemini-(1|2\.0(?!.*think))")
"""Models that refuse to be told how much to think."""

OLD = re.compile(r"gemini-1")
"""Models that take schemas in the older form only."""

GENERATION = re.compile(r"gemini-(\d+)")


def bare(model: str) -> str:
    """Return the name of a model without the collection it is in."""
    return model.removeprefix("models/")


def row_of(model: str) -> Row | None:
    """Return what is known of a model, or None."""
    return next((row for row in ROWS if row.name.match(bare(model))), None)


def insists(model: str) -> bool:
    """Whether a model refuses calls that nobody signed."""
    return SIGNING.match(bare(model)) is not None


def thinks(model: str) -> bool:
    """Whether a model may be told how much to think; it may unless it is known to refuse."""
    return THOUGHTLESS.match(bare(model)) is None


def is_old(model: str) -> bool:
    """Whether a model takes schemas in the older form only."""
    return OLD.match(bare(model)) is not None


def same_generation(writer: str, model: str) -> bool:
    """Whether a model understands what another signed; it does unless both are known to be of different ones."""
    a, b = GENERATION.match(bare(writer)), GENERATION.match(bare(model))
    return a is None or b is None or a[1] == b[1]


def writer_of(asked: str, version: str) -> str:
    """Return whose signatures an answer has: the model that was asked, or where its name hides it the one that came."""
    return asked if GENERATION.match(bare(asked)) or not version else version
