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


@pytest.mark.parametrize("context_settings", [WIDE], ids=["wide"])
def test_focus_is_not_lost(page: Any) -> None:
    """What has the focus and goes hands it on to what comes in its place."""
    page.fill("#prompt", "Please tidy up the catalogue")
    page.locator("#tools > summary").click()
    page.get_by_role("button", name="All", exact=True).click()
    page.locator("#prompt").press("Control+Enter")
    page.locator(".call").first.wait_for()
    expect(page.locator("#again")).to_be_focused()
    for call in page.locator(".call").all():
        call.get_by_label("Deny").check()
    page.locator(".decide .main").press("Enter")
    page.locator('#strip[data-status="done"]').wait_for()

    expect(page.locator("#main")).to_be_focused()


@pytest.mark.parametrize("context_settings", [{**WIDE, "forced_colors": "active"}], ids=["forced"])
def test_what_is_chosen_shows_in_forced_colours(page: Any) -> None:
    """Where the system takes colours and shadows away, the chosen step and run have an outline."""
    table(page)

    for chosen in ('.step[aria-current="true"]', "#past a[aria-current]"):
        assert page.locator(chosen).evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    assert (
        page.locator('.step:not([aria-current="true"])').first.evaluate("node => getComputedStyle(node).outlineStyle")
        == "none"
    )


@pytest.mark.parametrize("context_settings", [{"viewport": {"width": 320, "height": 640}}], ids=["320"])
def test_nothing_is_wider_than_320_pixels(page: Any, world: World) -> None:
    """Long words, text from right to left and wide tables wrap or scroll by themselves."""
    word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbau" * 6
    text = f"{word} \u0645\u0631\u062d\u0628\u0627 {word}"
    table = {"type": "table", "label": text, "data": {"columns": [text] * 30, "rows": [[text] * 30]}}
    tool = {"kind": "tool", "round": 1, "tool_name": word, "tool_result": text, "tool_artifacts": [table]}
    reply = {"kind": "llm", "round": 1, "content": text, "requested_tool_calls": [{"id": "c", "name": word}]}
    last = {"event": "error", "run_id": "r", "error": {"class": word, "message": text}}
    world.canned["r"] = [
        {"event": "context", "run_id": "r", "model": word},
        *({"event": "step", "step": one} for one in (reply, tool)),
        last,
    ]
    page.goto(f"{page.url}#run=r")
    page.locator(".end").wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") == 320


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
