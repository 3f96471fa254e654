"""
Prints what the playground's page costs: the time from a step to its pixels, and the processor's time per event.

Run it by ``nox --session bench_page``; it needs Chromium.  Both are measured in the browser: a step's way from the
moment it is written to its connection until the frame that shows it, and what the page's process spends on 10,000
events from the first byte to the last row, by Chromium's own counters.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import SWITCHES
from tests.browser.fake import World, serving
from tests.browser.shop import make_shop

EVENTS = 10_000
SENT = 200
PAUSE = 0.02
WATCH = """() => {
  window.waits = [];
  new MutationObserver(() => {
    for (const title of document.querySelectorAll('#steps .title')) {
      if (title.seen || !/^t\\d/.test(title.textContent)) continue;
      title.seen = true;
      const sent = Number(title.textContent.slice(1));
      requestAnimationFrame(() => setTimeout(() => waits.push(performance.timeOrigin + performance.now() - sent)));
    }
  }).observe(document.querySelector('#steps'), {childList: true, subtree: true});
}"""


def tool(number: int, name: str) -> dict[str, Any]:
    """Return a step of a tool with arguments and a result of usual length."""
    step = {"kind": "tool", "round": 1 + number // 50, "duration_ms": 12.5, "tool_name": name, "tool_executed": True}
    return {**step, "tool_arguments": {"n": number, "text": "x" * 60}, "tool_result": "y" * 200, "tool_is_error": False}


def line(number: int, event: str, **fields: Any) -> dict[str, Any]:
    return {"event": event, "seq": number, **fields}


def steps_alone() -> Iterator[dict[str, Any]]:
    """Yield 10,000 steps, each of which is a row."""
    yield line(0, "context", run_id="r", model="bench", source="store")
    for number in range(1, EVENTS - 1):
        yield line(number, "step", step=tool(number, f"tool_{number % 7}"))
    yield line(EVENTS - 1, "done", run_id="r", reason="completed", truncated=False, content="Done.")


def mostly_text() -> Iterator[dict[str, Any]]:
    """Yield 10,000 events as a talkative model makes them: pieces of text, and a step after each hundred."""
    yield line(0, "context", run_id="r", model="bench", source="store")
    for number in range(1, EVENTS - 1):
        turn = 1 + (number - 1) // 100
        if number % 100 == 1:
            yield line(number, "step", step={"kind": "request", "round": turn, "messages_sent_count": turn})
        elif number % 100 == 0:
            yield line(number, "step", step={"kind": "llm", "round": turn, "content": "word " * 98, "duration_ms": 900})
        else:
            yield line(number, "text", text="word ")
    yield line(EVENTS - 1, "done", run_id="r", reason="completed", truncated=False, content="Done.")


def metrics(session: Any) -> dict[str, float]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def cost(browser: Any, name: str, lines: list[dict[str, Any]]) -> None:
    """Print what a run of 10,000 events costs the page, and how a click fares after it."""
    runtime, store = make_shop()
    world = World(runtime, store, canned={"r": lines})
    rows = sum(one["event"] == "step" for one in lines)
    with runtime, serving(world) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator("#welcome h2").wait_for()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        before, began = metrics(session), time.perf_counter()
        page.evaluate("location.hash = '#run=r'")
        page.locator('#strip[data-status="done"]').wait_for(timeout=60_000)
        while page.locator(".step").count() < rows:
            time.sleep(0.05)
        took, after = time.perf_counter() - began, metrics(session)
        spent = {key: after[key] - before[key] for key in ("TaskDuration", "ScriptDuration", "LayoutDuration")}
        told = ", ".join(
            f"{key.removesuffix('Duration').lower()} {1e6 * spent[key] / len(lines):.0f} µs" for key in spent
        )
        heap = (after["JSHeapUsedSize"] - before["JSHeapUsedSize"]) / 1e6
        print(f"{name}: {len(lines):,} events in {took:.2f} s; per event {told}; heap +{heap:.1f} MB")
        clicked = page.evaluate(
            "() => new Promise(done => { const rows = document.querySelectorAll('.step'); const at = performance.now();"
            " rows[rows.length >> 1].click();"
            " requestAnimationFrame(() => setTimeout(() => done(performance.now() - at))) })"
        )
        print(f"  a click on a step, to its details: {clicked:.0f} ms")
        page.close()


class Paced(World):
    """Tells a run whose steps come a moment apart, each named after the time at which it was written."""

    def stored(self, run_id: str) -> Iterator[str]:  # type: ignore[override]
        yield json.dumps(line(0, "context", run_id="r", model="bench")) + "\n"
        for number in range(1, SENT + 1):
            time.sleep(PAUSE)
            yield json.dumps(line(number, "step", step=tool(number, f"t{time.time() * 1000:.1f}"))) + "\n"
        yield json.dumps(line(SENT + 1, "done", run_id="r", reason="completed", content="x")) + "\n"


def waits(browser: Any) -> None:
    """Print how long steps take from the server to the screen."""
    runtime, store = make_shop()
    with runtime, serving(Paced(runtime, store, canned={"r": []})) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator("#welcome h2").wait_for()
        page.evaluate(WATCH)
        page.evaluate("location.hash = '#run=r'")
        page.locator('#strip[data-status="done"]').wait_for(timeout=60_000)
        page.wait_for_timeout(200)
        found = sorted(page.evaluate("window.waits"))
        half, most = statistics.median(found), found[int(len(found) * 0.95)]
        print(f"from a step to its pixels ({len(found)} steps): median {half:.0f} ms, 95 % within {most:.0f} ms")
        page.close()


def main() -> None:
    """Print all figures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES)
        waits(browser)
        cost(browser, "pieces of text", list(mostly_text()))
        cost(browser, "steps alone", list(steps_alone()))
        browser.close()


if __name__ == "__main__":
    main()
