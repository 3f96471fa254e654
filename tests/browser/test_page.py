"""What the page's files may not hold, and how large they may be, read without a browser."""

from __future__ import annotations

import gzip
import re

import pytest

from tests.browser.fake import PAGE

MOST_BYTES = 80_000
"""What a browser has to load, packed as the server sends it."""
FORBIDDEN = {
    "markup made of text": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextual|DOMParser|setHTML",
    "code made of text": r"\beval\b|new Function|setTimeout\(\s*[\"'`]|javascript:",
    "styles by attribute": r"\bstyle\s*=|\.style\b|setAttribute\([\"']style|cssText|<style",
    "handlers by attribute": r"\son[a-z]+\s*=\s*[\"']|\.on(click|error|load[a-z]*)\s*=\s*[\"']",
    "anything from elsewhere": r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|(?-i:url\()",
    "policies of its own": r"trustedTypes|createPolicy",
}
FILES = sorted(path for path in PAGE.iterdir() if path.suffix in {".js", ".css", ".html"})


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds_what_is_forbidden(what: str) -> None:
    """Elements are created and get text; there is no other way for anything into the page."""
    found = [
        f"{path.name}: {match[0]}"
        for path in FILES
        for match in re.finditer(FORBIDDEN[what], path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]

    assert found == []


def test_the_page_is_small() -> None:
    """All of it together stays under the bound on its way to the browser."""
    assert sum(len(gzip.compress(path.read_bytes())) for path in PAGE.iterdir()) < MOST_BYTES


def test_every_module_says_why_it_exists() -> None:
    """The first line of each is that sentence."""
    firsts = {path.name: path.read_text(encoding="utf-8").split("\n", 1)[0] for path in FILES if path.suffix == ".js"}

    assert [name for name, first in firsts.items() if not re.fullmatch(r"/\*\* [A-Z].*\. \*/", first)] == []


def test_every_module_is_used() -> None:
    """Each is imported by another, but for the one that the page names."""
    source = "".join(path.read_text(encoding="utf-8") for path in FILES)

    assert [path.name for path in FILES if f"/{path.name}" not in source and path.name != "index.html"] == []
