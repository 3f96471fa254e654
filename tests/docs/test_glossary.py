"""Keeps the glossary in the order in which people look words up."""

from __future__ import annotations

import re

from tests.support import ROOT

TERM = re.compile(r"^\*\*(?P<term>[^*]+)\*\* · ", re.MULTILINE)


def test_words_are_in_order_and_stand_once() -> None:
    """Every paragraph below the introduction explains one word, sorted, none twice."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = [match["term"] for match in TERM.finditer(text)]
    paragraphs = text.strip().split("\n\n")[2:]

    assert len(terms) == len(paragraphs)
    assert terms == sorted(set(terms), key=str.lower)
