"""Holds the decisions to their form: an index without gaps, and a test behind each one."""

from __future__ import annotations

import ast
import re
from datetime import date
from pathlib import Path

import pytest

from tests.support import ROOT

FOLDER = ROOT / "docs" / "adr"
DECISIONS = sorted(FOLDER.glob("[0-9]*.md"))
ROW = re.compile(
    r"^\| (?P<number>\d{4}) \| \[(?P<title>[^\]]+)\]\((?P<file>[^)]+)\) \| (?P<status>[^|]+) \|$", re.MULTILINE
)
HEAD = re.compile(
    r"# .+\n\n- Status: (?P<status>.+)\n- Date: (?P<date>.+)\n- Pinned by: (?P<pins>.+)\n\n## Context\n",
)
PIN = re.compile(r"`(?P<path>tests/[\w./-]+\.py)::(?P<names>\w+(?:::\w+)*)`")
WORDS = 600
"""Words of a decision: what fits on a printed page."""

each_decision = pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)


def head(path: Path) -> re.Match[str]:
    found = HEAD.match(path.read_text(encoding="utf-8"))
    assert found, f"{path.name} does not begin as template.md does"
    return found


def is_test(source: str, names: list[str]) -> bool:
    """Say whether a file defines the test that `names` lead to, through a class if there are two."""
    nodes: list[ast.stmt] = ast.parse(source).body
    for name in names[:-1]:
        nodes = [inner for node in nodes if isinstance(node, ast.ClassDef) and node.name == name for inner in node.body]
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return names[-1].startswith("test_") and names[-1] in functions


def test_index_lists_each_decision_once_in_order() -> None:
    """The index and the folder agree, numbered from 0001 without a gap."""
    rows = [match["file"] for match in ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))]

    assert rows
    assert rows == [path.name for path in DECISIONS]
    assert [path.name[:4] for path in DECISIONS] == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]


@each_decision
def test_decision_has_every_part(path: Path) -> None:
    """A decision has a date, context, decision and consequences; its title and status are those of the index."""
    text = path.read_text(encoding="utf-8")
    row = next(m for m in ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8")) if m["file"] == path.name)

    assert text.startswith(f"# {row['number']}: {row['title']}\n")
    assert head(path)["status"] == row["status"].strip()
    assert date.fromisoformat(head(path)["date"])
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


@each_decision
def test_decision_is_one_page(path: Path) -> None:
    """Whoever wants to know why reads one page."""
    assert len(path.read_text(encoding="utf-8").split()) <= WORDS


@each_decision
def test_decision_names_a_test_that_exists(path: Path) -> None:
    """Each decision is pinned by at least one test, and every test it names is there."""
    pins = head(path)["pins"].split(", ")

    for pin in pins:
        match = PIN.fullmatch(pin)
        assert match, f"{pin} is not written as `tests/path/test_file.py::test_name`"
        source = (ROOT / match["path"]).read_text(encoding="utf-8")
        assert is_test(source, match["names"].split("::")), f"there is no test {pin}"


@pytest.mark.parametrize(
    ("names", "there"),
    [
        ("test_alone", True),
        ("TestGroup::test_inside", True),
        ("test_inside", False),
        ("TestGroup::test_alone", False),
        ("TestGroup", False),
        ("helper", False),
    ],
)
def test_a_pin_is_looked_up_where_it_points(names: str, there: bool) -> None:
    """A test of another class, a class without its test and a helper are no pins."""
    source = "class TestGroup:\n    def test_inside(self): ...\n\ndef test_alone(): ...\n\ndef helper(): ...\n"

    assert is_test(source, names.split("::")) is there
