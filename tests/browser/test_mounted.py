"""The page below a path of another application: all its addresses are relative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import playground
from tests.browser.steps import ask

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")


@pytest.fixture
def address() -> Iterator[str]:
    """The playground's own server, under a path."""
    with playground("/tools/play") as address:
        yield address


def test_it_works_under_any_path(page: Any) -> None:
    """Page, assets, calls and feeds are found there, and nothing is asked of the root."""
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    ask(page, "List the orders")
    page.reload()
    page.locator("[data-testid=answer]").wait_for()

    assert asked
    assert [url for url in asked if "/tools/play/" not in url] == []
