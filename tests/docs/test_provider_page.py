"""The page on providers shows the files of a package that is tested."""

from __future__ import annotations

from tests.docs.pages import blocks
from tests.support import ROOT


def test_the_page_shows_the_package() -> None:
    """Line by line."""
    package = ROOT / "tests/thirdparty/nr-llm-parrot"
    shown = {block.title: block.text for block in blocks(ROOT / "docs/how-to/write-a-provider.md") if block.title}

    files = sorted(path.relative_to(package).as_posix() for path in package.glob("nr_llm_parrot/*.py"))
    assert sorted(shown) == files
    for title, text in shown.items():
        assert text == (package / title).read_text(encoding="utf-8")
