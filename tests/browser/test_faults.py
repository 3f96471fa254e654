"""What the page makes of a connection that breaks, and of lines that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.fake import World
from tests.browser.steps import ask

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")

from playwright.sync_api import expect


def test_a_lost_stream_is_regained(page: Any, world: World) -> None:
    """The page says that the connection is lost, and takes the lines up where they broke off."""
    page.watch.expect("ERR_")
    world.cut = 3
    ask(page, "List the orders")

    expect(page.locator('[data-banner="ok"]')).to_contain_text("The connection is back")
    expect(page.locator('.step[data-kind="tool"]')).to_have_count(1)
    expect(page.locator('.step[data-kind="gap"]')).to_have_count(0)
    expect(page.get_by_test_id("answer")).to_contain_text("five open orders")


def test_lines_that_are_gone_leave_a_gap(page: Any, world: World) -> None:
    """What the server no longer has is said, and the run is shown from there on."""
    world.cut, world.lost = 3, 4
    ask(page, "List the orders")

    expect(page.locator('.step[data-kind="gap"]')).to_contain_text("Events 3 to 6")
    expect(page.get_by_test_id("answer")).to_contain_text("five open orders")
