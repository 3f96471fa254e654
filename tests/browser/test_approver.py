"""The page of somebody who decides on the runs of others and may not read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from nr_llm import Actor, Runtime, Suspended

from tests.browser.conftest import playground
from tests.browser.shop import make_shop
from tests.browser.steps import status, step

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")

from playwright.sync_api import expect

ANN, BOB = Actor("ann"), Actor("bob", approver=True)


@pytest.fixture
def shop() -> Runtime:
    """The shop, where ann asks and bob decides."""
    return make_shop()[0]


@pytest.fixture
def address(shop: Runtime) -> Iterator[str]:
    """The playground's own server, whose page bob has opened."""
    with playground(who=lambda _: BOB, shop=shop) as address:
        yield address


def test_they_decide_and_see_the_bare_facts(page: Any, shop: Runtime) -> None:
    """They find the run among those that wait, see the exact call, decide, and see its end; also after a reload."""
    outcome = shop.run("Please tidy up the secret shelf", tools=["rename", "remove", "orders"], actor=ANN)
    assert isinstance(outcome, Suspended)
    page.get_by_label("Status", exact=True).select_option("waiting_for_approval")
    page.locator(f'[data-run="{outcome.run_id}"]').click()
    status(page, "awaiting_approval")
    expect(page.locator(".call").first).to_contain_text('"name": "Lamp, brass"')
    expect(page.locator(".about")).to_contain_text("as it was stored")
    page.reload()
    status(page, "awaiting_approval")
    for call in page.locator(".call").all():
        call.get_by_label("Approve").check()
    page.locator(".decide .main").click()
    status(page, "done")

    expect(page.locator(".about")).to_contain_text("this view: metadata")
    expect(page.get_by_test_id("answer")).to_contain_text("not kept in this view")
    expect(step(page, "rename")).to_be_visible()
    assert "secret" not in page.content()
    page.reload()
    status(page, "done")
