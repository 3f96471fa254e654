"""Takes pictures of the page's main states, to look at: ``nox --session screenshots``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import SWITCHES
from tests.browser.fake import World, serving
from tests.browser.shop import GATE, make_shop
from tests.browser.steps import ask, step, tab

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
SIZES = {"desk": (1440, 900), "phone": (360, 740)}


def welcome(page: Any, world: World) -> None:
    """Nothing has been run yet."""


def no_model(page: Any, world: World) -> None:
    world.changes = {"models": [], "default_model": None, "tool_groups": []}
    world.changes["plugins"] = [{"name": "shop", "state": "failed", "reason": "ModuleNotFoundError: no module 'till'"}]
    world.changes["advice"] = [
        {"code": "no_model", "text": "There is no model to begin with. The small one runs here, without a key:"}
        | {"command": "nr-llm models pull qwen2.5-coder-0.5b"}
    ]
    page.reload()
    page.locator("[data-advice]").wait_for()


def tools(page: Any, world: World) -> None:
    page.click("#tools > summary")
    page.fill("#prompt", "Which orders are still open?")


def table(page: Any, world: World) -> None:
    ask(page, "Show me the open orders, and say which one is the largest")


def approval(page: Any, world: World) -> None:
    ask(page, "Please tidy up the catalogue", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    page.locator(".call").nth(0).get_by_label("Approve").check()
    page.locator(".call").nth(1).get_by_label("Deny").check()


def form(page: Any, world: World) -> None:
    ask(page, "Please deliver the lamp", tools=["deliver"], wait="awaiting_input")


def running(page: Any, world: World) -> None:
    ask(page, "Please count the stock", tools=["count_all"], wait="running")
    step(page, "count_all").wait_for()


def lost(page: Any, world: World) -> None:
    world.cut = 4
    ask(page, "Please count the stock", tools=["count_all"], wait="running")
    world.down = True
    page.locator('[data-banner="wait"]').wait_for()


def failed(page: Any, world: World) -> None:
    ask(page, "Please refuse", wait="error")


def budget(page: Any, world: World) -> None:
    page.locator("#ask details > summary").nth(1).click()
    page.get_by_label("Tokens", exact=True).fill("900")
    ask(page, "Ask forever", tools=["stock"], wait="budget")


def diff(page: Any, world: World) -> None:
    approval(page, world)
    page.click(".decide .main")
    page.locator('#strip[data-status="done"]').wait_for()
    step(page, "rename").click()
    tab(page, "Artifacts")


def replaying(page: Any, world: World) -> None:
    table(page, world)
    page.click("#do-replay")
    page.get_by_label("Position").fill("14")


def metadata(page: Any, world: World) -> None:
    tool = {"kind": "tool", "round": 1, "tool_name": "orders", "tool_result_length": 74, "tool_executed": True}
    tool |= {"tool_artifacts_count": 1, "tool_artifacts_types": ["table"], "content_redacted": True, "duration_ms": 41}
    asked = {"kind": "llm", "round": 1, "requested_tool_names": ["orders"], "content_redacted": True}
    request = {"kind": "request", "round": 1, "messages_sent_count": 1, "tool_specs": ["orders"]}
    steps = [{"event": "step", "step": one} for one in (request, asked, tool)]
    last = {"event": "done", "run_id": "r", "reason": "completed", "truncated": False, "content_length": 80}
    world.canned["r"] = [
        {"event": "context", "run_id": "r", "model": "scripted:shop", "level": "metadata"},
        *steps,
        last,
    ]
    world.info = {"level": "metadata", "replayable": False, "why_not": "It was kept at level 'metadata'."}
    page.goto(f"{page.url}#run=r")
    step(page, "orders").wait_for()


def keys(page: Any, world: World) -> None:
    page.click("#keys")


STATES: list[Callable[[Any, World], None]] = [
    *(welcome, no_model, tools, table, approval, form, running, lost, failed, budget, diff, replaying, metadata, keys),
]


@contextmanager
def opened(browser: Any, size: str, scheme: str) -> Iterator[tuple[Any, World]]:
    """Open a new page on a new shop."""
    GATE.clear()
    runtime, store = make_shop()
    world = World(runtime, store)
    width, height = SIZES[size]
    with runtime, serving(world) as address:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        page.goto(address)
        page.locator("#welcome h2").wait_for()
        yield page, world
        GATE.set()
        context.close()


def main(wanted: list[str]) -> None:
    """Take the pictures with the names wanted, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES)
        for make in STATES:
            for size, scheme in [("desk", "light"), ("desk", "dark"), ("phone", "light")]:
                name = f"{make.__name__}-{size}-{scheme}.png"
                if wanted and not any(word in name for word in wanted):
                    continue
                with opened(browser, size, scheme) as (page, world):
                    make(page, world)
                    page.wait_for_timeout(150)
                    page.screenshot(path=FOLDER / name, full_page=size == "phone")
                print(FOLDER / name)


if __name__ == "__main__":
    main(sys.argv[1:])
