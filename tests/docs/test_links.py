"""Keeps the pages reachable and in step with the files that they speak of."""

from __future__ import annotations

import re

from tests.docs.pages import blocks, commands, pages
from tests.support import ROOT

LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<target>[^)#\s]+)")
FRAGMENT = re.compile(r"^(\+[\w-]+|\d+)\.(added|changed|deprecated|removed|fixed)\.md$")


def test_relative_links_lead_somewhere() -> None:
    """A link to a file of the checkout names one that exists."""
    broken = [
        f"{page.relative_to(ROOT)} -> {match['target']}"
        for page in pages()
        if page.name != "template.md"
        for match in LINK.finditer(page.read_text(encoding="utf-8"))
        if not (page.parent / match["target"]).exists()
    ]

    assert broken == []


def test_every_page_is_linked() -> None:
    """Each page of the documentation is linked from another one."""
    linked = {
        (page.parent / match["target"]).resolve()
        for page in pages()
        for match in LINK.finditer(page.read_text(encoding="utf-8"))
    }
    lonely = [
        page.relative_to(ROOT).as_posix()
        for page in pages()
        if page.is_relative_to(ROOT / "docs") and page.parent.name != "changelog.d" and page.resolve() not in linked
    ]

    assert lonely == ["docs/index.md"] or lonely == []


def test_ci_runs_the_readme_commands() -> None:
    """Both commands that the README opens with stand in `.ci/run`, word for word."""
    first = next(block for block in blocks(ROOT / "README.md") if block.language == "console")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    shown = [command.line for command in commands(first)]

    assert len(shown) == 2
    assert [line for line in shown if line not in script] == []


def test_changelog_fragments_have_a_kind() -> None:
    """A fragment that towncrier would skip is refused."""
    names = {path.name for path in (ROOT / "docs" / "changelog.d").iterdir()} - {"README.md"}

    assert [name for name in sorted(names) if not FRAGMENT.match(name)] == []
