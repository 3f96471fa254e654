"""What must not happen, whatever a model, a tool or a store says: no markup, no way out, no dishonest state."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser.fake import World
from tests.browser.shop import MARKUP
from tests.browser.steps import ask, module, status, step, tab

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")

from playwright.sync_api import expect

ELEMENTS = "document.querySelectorAll('img, b, script:not([src]), iframe, main a, #detail a').length"


def test_markup_stays_text_in_every_channel(page: Any, world: World) -> None:
    """Prompt, replies, reasoning, arguments, results, artifacts, raw replies, errors and history: all of it is text."""
    world.changes["advice"] = [{"code": "no_store", "text": MARKUP}]
    world.changes["plugins"] = [{"name": MARKUP, "state": "failed", "reason": MARKUP}]
    page.reload()
    expect(page.locator("#welcome")).to_contain_text(MARKUP)
    ask(page, f"echo {MARKUP}", tools=["echo"])
    shown = 0
    for row in page.locator(".step").all():
        row.click()
        expect(row).to_have_attribute("aria-current", "true")
        for name in page.get_by_role("tab").all():
            name.click()
            expect(name).to_have_attribute("aria-selected", "true")
            shown += MARKUP in page.locator("#panel").inner_text()
            assert page.evaluate(ELEMENTS) == 0

    assert shown >= 6
    expect(page.get_by_test_id("answer")).to_have_text(MARKUP)
    expect(page.locator("#past .title")).to_contain_text("<img")
    assert page.title() == "Completed – nr-llm playground"


def test_the_policy_refuses_markup_made_of_text(page: Any) -> None:
    """Trusted Types hold even where the page itself would be wrong."""
    page.watch.expect("TrustedHTML")
    page.watch.expect("require-trusted-types-for")
    refused = page.evaluate(
        "() => { try { document.body['inner' + 'HTML'] = '<b>x</b>'; return '' } catch (e) { return e.name } }"
    )

    assert refused == "TypeError"


def line(event: str, **fields: Any) -> dict[str, Any]:
    return {"event": event, **fields}


def told(*events: dict[str, Any], last: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a stored run."""
    request = line("step", step={"kind": "request", "round": 1, "messages_sent_count": 1})
    return [line("context", run_id="r", model="m"), request, *events, last]


ENDS = {
    "budget": (line("budget", reason="tokens_exhausted", truncated=True, content=""), "Budget used up"),
    "length": (line("done", reason="length", truncated=True, content="Half a"), "Cut short"),
    "rounds": (line("done", reason="max_rounds", truncated=True, content="So far"), "Cut short"),
    "error": (line("error", error={"class": "ServiceError", "message": "HTTP 500"}), "Failed"),
    "blocked": (
        line("guardrail_blocked", error={"class": "GuardrailError"}, guardrail="names"),
        "Blocked by a guardrail",
    ),
    "asks": (
        line("guardrail_approval_required", error={"class": "GuardrailError"}, guardrail="names"),
        "A guardrail wants an approval",
    ),
    "cancelled": (line("cancelled", reason="cancelled", truncated=True, content=""), "Cancelled"),
    "denied": (line("done", reason="approval_denied", truncated=True, content=""), "Refused"),
}


@pytest.mark.parametrize("name", ENDS)
def test_every_end_is_called_what_it_is(page: Any, world: World, name: str) -> None:
    """Nothing but a completed run is called completed, and each end says what happened."""
    last, word = ENDS[name]
    world.canned["r"] = told(last={**last, "run_id": "r"})
    page.goto(f"{page.url}#run=r")

    expect(page.locator(".status")).to_have_text(word)
    expect(page.locator(".end .why").first).not_to_be_empty()


def test_what_is_not_kept_is_said(page: Any, world: World) -> None:
    """At level metadata lengths, counts and types are all there is, and no replay is offered."""
    tool = {"kind": "tool", "round": 1, "tool_name": "orders", "tool_call_id": "c", "tool_result_length": 74}
    shown = {"tool_artifacts_count": 1, "tool_artifacts_types": ["table"], "content_redacted": True}
    asked = {
        "kind": "llm",
        "round": 1,
        "requested_tool_names": ["orders"],
        "content_length": 0,
        "content_redacted": True,
    }
    last = line("done", reason="completed", truncated=False, content_length=20, run_id="r")
    world.canned["r"] = told(line("step", step=asked), line("step", step={**tool, **shown}), last=last)
    world.info = {"level": "metadata", "replayable": False, "why_not": "It is kept at level metadata."}
    page.goto(f"{page.url}#run=r")
    step(page, "orders").click()
    tab(page, "Result")

    expect(page.locator("#panel")).to_contain_text("not kept")
    expect(page.locator("#panel")).to_contain_text("74 characters")
    tab(page, "Artifacts (1)")
    expect(page.locator("#panel")).to_contain_text("1 artifact (table)")
    expect(page.locator("#do-replay")).to_be_disabled()
    expect(page.locator("#why-not")).to_contain_text("It is kept at level metadata.")


def test_artifacts_of_unknown_or_broken_shape_are_json(page: Any, world: World) -> None:
    """A type that nobody knows, a ragged table and a text that is none are shown whole, as JSON."""
    broken: list[Any] = [
        {"type": "hologram", "label": "Unknown", "data": {"a": 1}},
        {"type": "table", "label": "Ragged", "data": {"columns": ["a"], "rows": [[1, 2]]}},
        {"type": "text", "label": 7, "data": {"text": 7}},
        {"type": "diff", "label": "Diff", "data": {"before": None, "after": "a", "lines": [["?", "x"]]}},
        {"type": "text", "label": "Artifacts omitted", "data": {"text": "60,000 bytes are more than 50,000."}},
        None,
    ]
    tool = {
        "kind": "tool",
        "round": 1,
        "tool_name": "odd",
        "tool_call_id": "c",
        "tool_result": "x",
        "tool_artifacts": broken,
    }
    world.canned["r"] = told(line("step", step=tool), last=line("done", reason="completed", content="x", run_id="r"))
    page.goto(f"{page.url}#run=r")
    step(page, "odd").click()
    tab(page, "Artifacts (6)")

    expect(page.locator("#panel figure pre.json")).to_have_count(5)
    expect(page.locator("#panel figure pre.json").first).to_contain_text('"type": "hologram"')
    expect(page.locator("figure[data-omitted]")).to_contain_text("60,000 bytes")


def test_lines_in_no_order_are_shown(page: Any, world: World) -> None:
    """Text before any request, steps of other rounds than the one under way, calls nobody asked for: all are rows."""
    world.canned["r"] = [
        line("context", run_id="r", model="m"),
        line("text", text="before"),
        line("step", step={"kind": "llm", "round": 3, "content": "three"}),
        line("progress", call_id="x", tool="nobody", message="?"),
        line("step", step={"kind": "tool", "round": 1, "tool_name": "late", "tool_result": ""}),
        line("step", step={"kind": "request", "round": 2}),
        line("done", reason="completed", content="x", run_id="r"),
    ]
    page.goto(f"{page.url}#run=r")
    expect(page.get_by_test_id("answer")).to_have_text("x")

    expect(page.locator(".step")).to_have_count(5)
    expect(page.locator(".round")).to_have_count(3)


def test_a_failing_provider_is_said(page: Any) -> None:
    """The class and the text of the error are shown, and no answer is made up."""
    ask(page, "Please refuse", wait="error")

    expect(page.locator(".end")).to_contain_text("AuthenticationError")
    expect(page.locator(".end")).to_contain_text("The key is not accepted.")
    expect(page.locator('.step[data-kind="llm"] .title')).to_have_text("No reply")


def test_without_a_session_the_page_says_what_to_do(page: Any, world: World) -> None:
    """A refused session leads back to the address that was printed."""
    page.watch.expect("401")
    world.down = True
    page.reload()

    expect(page.locator('[data-banner="bad"]')).to_contain_text("Open the address that nr-llm playground printed")


def test_the_token_leaves_the_address_at_once(page: Any, world: World) -> None:
    """It is exchanged for the session and kept nowhere."""
    page.goto("about:blank")
    page.goto(page.address + "#token=one-time&run=")
    page.locator("#welcome h2").wait_for()

    expect(page).not_to_have_url(re.compile("token"))
    assert ("/api/session", {"token": "one-time"}) in world.asked
    assert "one-time" not in json.dumps(page.evaluate("[{...localStorage}, {...sessionStorage}]"))


def test_without_models_or_plugins_the_page_still_helps(page: Any, world: World) -> None:
    """It says what is missing and offers the recorded run."""
    world.changes |= {"models": [], "default_model": None, "tool_groups": [], "plugins": []}
    world.changes["advice"] = [{"code": "no_model", "text": "Get the local model: nr-llm models pull"}]
    page.reload()

    expect(page.locator("[data-advice=no_model]")).to_contain_text("nr-llm models pull")
    expect(page.locator("#ask button[type=submit]")).to_be_disabled()
    expect(page.locator("#demo")).to_be_visible()
    expect(page.locator("#welcome")).to_contain_text("No tools at hand")


def test_what_was_cut_on_its_way_is_said(page: Any, world: World) -> None:
    """A line too long for the page comes cut, and the details say so."""
    tool = {"kind": "tool", "round": 1, "tool_name": "long", "tool_result": "x… [9 more characters]"}
    last = line("done", reason="completed", content="x", run_id="r")
    world.canned["r"] = told(line("step", step=tool, cut=True), line("step", withheld="9 bytes", cut=True), last=last)
    page.goto(f"{page.url}#run=r")
    step(page, "long").click()

    expect(page.locator("#panel .note").first).to_contain_text("its texts are cut here")
    expect(page.locator('.step[data-kind="other"] .sub')).to_contain_text("Withheld: 9 bytes")


def test_a_long_text_is_shown_in_parts(page: Any) -> None:
    """A result of a megabyte does not stop the page."""
    made = "m.longText('x'.repeat(1e6)).querySelector('pre').textContent.length"

    assert module(page, "dom", made) == 20_000


def test_selection_and_scroll_survive_what_comes(page: Any, world: World) -> None:
    """Lines that come in touch neither the chosen step, nor the focus, nor what was typed, nor marked text."""
    ask(page, "Please count", tools=["count_all"], wait="running")
    step(page, "Request").click()
    page.locator("#panel pre").first.select_text()
    marked = page.evaluate("getSelection().toString()")
    focused = page.evaluate("window.focused = document.activeElement, document.activeElement.tagName")
    from tests.browser.shop import GATE

    GATE.set()
    status(page, "done")

    assert marked
    assert page.evaluate("getSelection().toString()") == marked
    assert focused == "PRE"
    assert page.evaluate("document.activeElement === window.focused")
    expect(page.locator('.step[aria-current="true"]')).to_have_attribute("data-key", "r1-request-1")
