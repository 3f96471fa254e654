"""Holds the decisions to their form: an index without gaps, and a test behind each one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ROOT

FOLDER = ROOT / "docs" / "adr"
DECISIONS = sorted(FOLDER.glob("[0-9]*.md"))
ROW = re.compile(
    r"^\| (?P<number>\d{4}) \| \[(?P<title>[^\]]+)\]\((?P<file>[^)]+)\) \| (?P<status>[^|]+) \|$", re.MULTILINE
)
PINNED = re.compile(r"`(?P<path>tests/[\w./-]+\.py)(?:::(?P<name>[\w:]+))?`")


def test_index_lists_each_decision_once_in_order() -> None:
    """The index and the folder agree, numbered from 0001 without a gap."""
    rows = [match["file"] for match in ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))]

    assert rows == [path.name for path in DECISIONS]
    assert [path.name[:4] for path in DECISIONS] == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decision_has_every_part(path: Path) -> None:
    """A decision gives context, decision and consequences, and its title and status are those of the index."""
    text = path.read_text(encoding="utf-8")
    row = next(m for m in ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8")) if m["file"] == path.name)

    assert text.startswith(f"# {row['number']}: {row['title']}\n")
    assert f"- Status: {row['status'].strip()}" in text
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decision_names_a_test_that_exists(path: Path) -> None:
    """Each decision names at least one test, and every test it names is there."""
    line = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("- Pinned by:"))
    pins = list(PINNED.finditer(line))

    assert pins
    for pin in pins:
        source = (ROOT / pin["path"]).read_text(encoding="utf-8")
        for name in (pin["name"] or "").split("::"):
            assert not name or re.search(rf"\b(?:def|class) {name}\b", source), f"{pin['path']} has no {name}"
