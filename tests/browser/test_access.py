"""The page for everybody: axe finds nothing, keys reach everything, and it fits a telephone."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest

from tests.browser.fake import World
from tests.browser.shop import GATE
from tests.browser.steps import ask, step, tab

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")

from playwright.sync_api import expect

WIDE = {"viewport": {"width": 1440, "height": 900}}
NARROW = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
SETTINGS = {
    "light": {**WIDE, "color_scheme": "light"},
    "dark": {**WIDE, "color_scheme": "dark"},
    "narrow": {**NARROW, "color_scheme": "light"},
}


def waiting(page: Any) -> None:
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    page.locator(".call").nth(0).get_by_label("Approve").check()


def form(page: Any) -> None:
    ask(page, "Please deliver it", tools=["deliver"], wait="awaiting_input")


def table(page: Any) -> None:
    ask(page, "List the orders")
    tab(page, "Artifacts")


def replaying(page: Any) -> None:
    table(page)
    page.locator("#do-replay").click()


def failed(page: Any) -> None:
    ask(page, "Please audit", tools=["audit", "stock"])
    step(page, "audit").click()


def running(page: Any) -> None:
    ask(page, "Please count", tools=["count_all"], wait="running")


def empty(page: Any) -> None:
    page.locator("#tools > summary").click()


def help_open(page: Any) -> None:
    page.locator("#main").focus()
    page.keyboard.press("?")


STATES: dict[str, Callable[[Any], None]] = {
    made.__name__: made for made in (empty, table, waiting, form, replaying, failed, running, help_open)
}


@pytest.fixture(params=list(SETTINGS))
def context_settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SETTINGS[request.param]


def violations(page: Any) -> list[str]:
    """Return what axe finds wrong with the page as it is."""
    pytest.importorskip("axe_playwright_python", reason="axe comes with axe-playwright-python")
    source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(source + "; undefined")
    found = page.evaluate("axe.run().then(found => found.violations)")
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]


def test_axe_finds_nothing(page: Any, world: World) -> None:
    """In no state, in no colours, at no width; and nothing is wider than the window."""
    found: dict[str, Any] = {}
    for name, make in STATES.items():
        GATE.clear()
        page.goto(page.address)
        page.reload()
        page.locator("#model option").nth(1).wait_for(state="attached")
        make(page)
        found |= {f"{name} {number}": text for number, text in enumerate(violations(page))}
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found[f"{name} width"] = "scrolls sideways"
        GATE.set()

    assert "\n".join(f"{name}: {text}" for name, text in found.items()) == ""


@pytest.mark.parametrize("context_settings", [{"viewport": {"width": 720, "height": 450}}], ids=["zoomed"])
@pytest.mark.parametrize("state", ["table", "waiting", "replaying"])
def test_nothing_is_lost_at_twice_the_size(page: Any, state: str) -> None:
    """At 200 % of a small window nothing scrolls sideways, and what can be pressed can be reached."""
    STATES[state](page)

    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    for button in page.locator("main button:visible, #detail button:visible").all():
        button.scroll_into_view_if_needed()
        assert button.bounding_box()["width"] > 0


@pytest.mark.parametrize("context_settings", [WIDE], ids=["wide"])
def test_keys_lead_through_a_run(page: Any) -> None:
    """The documented keys work, and while somebody types they are letters."""
    ask(page, "List the orders")
    page.locator("#main").focus()
    keys = page.keyboard
    current = page.locator('.step[aria-current="true"]')
    keys.press("]")
    expect(current).to_have_attribute("data-key", "r2-request-1")
    keys.press("[")
    expect(current).to_have_attribute("data-key", "r1-request-1")
    keys.press("j")
    expect(current).to_have_attribute("data-key", "r1-llm-1")
    keys.press("k")
    expect(current).to_have_attribute("data-key", "r1-request-1")
    keys.press("Enter")
    expect(page.locator("#detail-title")).to_be_focused()
    keys.press("/")
    expect(page.locator("#filter")).to_be_focused()
    keys.type("j?orders")
    expect(page.locator("#filter")).to_have_value("j?orders")
    expect(page.locator("#help")).to_be_hidden()
    page.locator("#main").focus()
    keys.press("?")
    expect(page.locator("#help")).to_be_visible()
    keys.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


@pytest.mark.parametrize("context_settings", [WIDE], ids=["wide"])
def test_tabs_follow_the_arrows(page: Any) -> None:
    """One stop for all tabs, arrows between them."""
    ask(page, "List the orders")
    page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")

    expect(page.get_by_role("tab", name="Artifacts")).to_be_focused()
    expect(page.get_by_role("tab", name="Artifacts")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("context_settings", [WIDE], ids=["wide"])
def test_the_log_tells_states_and_no_pieces(page: Any) -> None:
    """A screen reader hears what happens to the run, not each word as it is written."""
    ask(page, "Please write")
    heard = page.locator("#log p").all_inner_texts()

    assert heard[-1] == "Completed"
    assert not any("quiet day" in text for text in heard)


@pytest.mark.parametrize("context_settings", [WIDE], ids=["wide"])
def test_focus_is_not_stolen(page: Any) -> None:
    """Somebody who types on while a run goes on keeps on typing."""
    page.fill("#prompt", "Please count")
    page.click("#ask button[type=submit]")
    page.locator("#find-text").focus()
    page.keyboard.type("sofa")
    GATE.set()
    page.locator('#strip[data-status="done"]').wait_for()

    expect(page.locator("#find-text")).to_be_focused()
    expect(page.locator("#find-text")).to_have_value("sofa")


@pytest.mark.parametrize("context_settings", [{**WIDE, "color_scheme": "light"}], ids=["wide"])
def test_the_theme_can_be_chosen_and_stays(page: Any) -> None:
    """Auto, light, dark; the choice outlives a reload."""
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.locator("#theme").click()
    page.locator("#theme").click()
    dark = page.evaluate(paper)
    page.reload()
    expect(page.locator("#theme")).to_have_text("Theme: dark")

    assert dark != light
    assert page.evaluate(paper) == dark
