"""The same run on two pages at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import playground
from tests.browser.steps import ask, status

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")

from playwright.sync_api import expect


@pytest.fixture
def address() -> Iterator[str]:
    """The playground's own server."""
    with playground() as address:
        yield address


def test_who_decides_too_late_is_told(page: Any) -> None:
    """A form that is half filled in when somebody else decides says so once it is sent, and shows what became of it."""
    page.watch.expect("400 (Bad Request)")
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    other = page.context.new_page()
    other.goto(page.url)
    status(other, "awaiting_approval")
    for call in other.locator(".call").all():
        call.get_by_label("Deny").check()
    other.locator(".decide .main").click()
    status(other, "done")
    for call in page.locator(".call").all():
        call.get_by_label("Approve").check()
    page.locator(".decide .main").click()
    status(page, "done")

    expect(page.locator('[data-banner="bad"]')).to_contain_text("does not wait")
    expect(page.locator(".decide")).to_have_count(0)
