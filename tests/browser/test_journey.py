"""What a person does with the playground, from the first question to the exported run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import playground
from tests.browser.shop import GATE
from tests.browser.steps import ask, choose, column, status, step, tab

pytest.importorskip("playwright", reason="install playwright, or run the session `browser`")

from playwright.sync_api import expect


@pytest.fixture
def address() -> Iterator[str]:
    """The playground's own server: the journey is the real one."""
    with playground() as address:
        yield address


def test_a_run_shows_its_table_which_can_be_sorted(page: Any) -> None:
    """Numbers sort as numbers, three times the button restores the order, and what is empty comes last."""
    ask(page, "List the orders")
    tab(page, "Artifacts")
    expect(page.get_by_text("never sent to the model")).to_be_visible()
    before = column(page, 1).all_inner_texts()

    page.get_by_role("button", name="pieces").click()
    expect(column(page, 3)).to_have_text(["1", "9", "12", "100", "null"])
    expect(page.locator('th[aria-sort="ascending"]')).to_have_text(re.compile("^pieces"))
    page.get_by_role("button", name="pieces").click()
    expect(column(page, 3)).to_have_text(["100", "12", "9", "1", "null"])
    page.get_by_role("button", name="pieces").click()
    expect(column(page, 1)).to_have_text(before)
    expect(page.locator('th[aria-sort="none"]')).to_have_count(6)


def test_a_table_can_be_filtered_narrowed_and_copied(page: Any) -> None:
    """What is copied is what is shown, and no text in it becomes a formula."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, "List the orders")
    tab(page, "Artifacts")
    page.get_by_label("Filter rows").fill("sum(")
    page.locator("#detail .menu summary").click()
    page.get_by_label("placed").uncheck()

    page.get_by_role("button", name="Copy as TSV").click()
    expect(page.get_by_text("Copied 1 rows as TSV")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")

    assert copied == "order\tarticle\tpieces\tprice\tpaid\nA-2\t'=SUM(A1:A9)\t100\t4\ttrue"


def test_one_call_is_approved_and_another_denied(page: Any) -> None:
    """Each call is shown whole and decided by itself; the run goes on with both."""
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    first, second = page.locator(".call").nth(0), page.locator(".call").nth(1)
    expect(first.locator('[data-line="added"]')).to_have_text("+name = 'Lamp, brass'")
    expect(second.locator(".json .esc")).to_have_text("U+200B")
    send = page.locator(".decide .main")
    expect(send).to_be_disabled()
    first.get_by_label("Approve").check()
    second.get_by_label("Deny").check()
    send.click()
    status(page, "done")

    [body] = page.watch.sent("/decide")
    assert [(one["index"], one["approve"]) for one in body["decisions"]] == [(0, True), (1, False)]
    expect(step(page, "rename")).to_have_attribute("data-state", "ok")
    expect(step(page, "remove").locator(".pill")).to_have_text("refused")
    expect(step(page, "Waited for an approval")).to_be_visible()
    step(page, "rename").click()
    tab(page, "Artifacts")
    expect(page.locator('#detail [data-line="removed"]')).to_have_text("-name = 'lamp'")


def test_a_run_that_waited_is_whole_after_a_reload(page: Any) -> None:
    """Each segment that was watched is read again, the one before the decision too."""
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    for call in page.locator(".call").all():
        call.get_by_label("Deny").check()
    page.locator(".decide .main").click()
    status(page, "done")
    rows = page.locator(".step .title").all_inner_texts()
    page.reload()
    status(page, "done")

    expect(step(page, "Waited for an approval")).to_be_visible()
    expect(page.locator(".step .title")).to_have_text(rows)


def test_arguments_can_be_edited_before_approval(page: Any) -> None:
    """What runs is what the person wrote; what is no JSON is not sent."""
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    first = page.locator(".call").nth(0)
    first.get_by_role("button", name="Edit arguments").click()
    area = first.get_by_label("Arguments of rename as JSON")
    area.fill('{"article": "lamp", ')
    first.get_by_label("Approve").check()
    page.locator(".decide .main").click()
    expect(page.locator(".decide [role=alert]")).to_contain_text("no JSON object")
    area.fill('{"article": "lamp", "name": "Torch"}')
    page.locator(".call").nth(1).get_by_label("Deny").check()
    page.locator(".decide .main").click()
    status(page, "done")

    step(page, "rename").click()
    tab(page, "Result")
    expect(page.locator("#panel .text")).to_contain_text("lamp is now called Torch.")


def test_a_form_is_filled_in(page: Any) -> None:
    """The form is made from the schema; what does not fit it is said, and what was typed stays."""
    ask(page, "Please deliver it", tools=["deliver"], wait="awaiting_input")
    page.locator(".decide .main").click()
    expect(page.locator(".decide [role=alert]")).to_have_text("street: is needed")
    page.get_by_label("street").fill("Long Lane 7")
    page.get_by_label("floor").fill("3")
    page.get_by_label("express").select_option("yes")
    page.locator(".decide .main").click()
    status(page, "done")

    step(page, "deliver").click()
    tab(page, "Result")
    expect(page.locator("#panel .text")).to_have_text("lamp goes to Long Lane 7, floor 3, express.")


def test_a_run_is_cancelled(page: Any) -> None:
    """The server ends it, and the page says so."""
    ask(page, "Please count", tools=["count_all"], wait="running")
    expect(step(page, "count_all")).to_contain_text("counting shelf 3 of 40")
    with page.expect_response(lambda answer: answer.url.endswith("/cancel")):
        page.locator("#do-cancel").click()
    GATE.set()
    status(page, "cancelled")

    expect(page.locator(".status")).to_have_text("Cancelled")
    expect(page.locator("#do-cancel")).to_be_hidden()


def test_a_run_is_replayed(page: Any) -> None:
    """The bar goes back to where nothing was answered, and on from there one event at a time."""
    ask(page, "List the orders")
    page.locator("#do-replay").click()
    bar = page.get_by_label("Position")
    bar.fill("1")
    expect(page.locator(".step")).to_have_count(0)
    page.get_by_role("button", name="One event on").click()
    expect(page.locator(".step .title").first).to_have_text("Request")
    expect(page).to_have_url(re.compile("pos=2"))
    page.get_by_label("Speed").select_option("16×")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_test_id("answer")).to_be_visible()
    page.get_by_role("button", name="Close").click()

    expect(page.locator("#scrub")).to_be_hidden()


def test_a_run_is_exported(page: Any) -> None:
    """As seen here, each line is one event; as stored, the server's own copy."""
    ask(page, "List the orders")
    found = {}
    for name in ["seen-ndjson", "seen-json", "stored-ndjson"]:
        if page.locator("#strip .menu[open]").count() == 0:
            page.locator("#strip .menu summary").click()
        with page.expect_download() as saving:
            page.locator(f'[data-export="{name}"]').click()
        found[name] = saving.value.path().read_text(encoding="utf-8")

    seen = [json.loads(line) for line in found["seen-ndjson"].splitlines()]
    assert [line["event"] for line in (seen[0], seen[-1])] == ["context", "done"]
    assert json.loads(found["seen-json"]) == seen
    assert [json.loads(line)["record"] for line in found["stored-ndjson"].splitlines()][:2] == ["run", "step"]


def test_the_address_leads_back_to_a_step(page: Any) -> None:
    """Run, step and tab stand in the address: another window shows the same."""
    ask(page, "List the orders")
    step(page, "orders").click()
    tab(page, "Arguments")
    address = page.url
    other = page.context.new_page()
    other.goto(address)

    expect(other.locator("#detail h2")).to_have_text("orders")
    expect(other.locator('[role=tab][aria-selected="true"]')).to_have_text("Arguments")
    expect(other.locator('.step[aria-current="true"]')).to_have_attribute("data-key", "r1-tool-1")
    expect(other.locator('#past a[aria-current="page"]')).to_have_count(1)


def test_back_leads_to_the_run_before(page: Any) -> None:
    """Each run has an entry of its own among the pages that were seen, also one that was begun on the page."""
    ask(page, "List the orders")
    first = page.url
    ask(page, "Please write")
    page.go_back()
    expect(page.get_by_test_id("answer")).to_contain_text("five open orders")

    expect(page).to_have_url(first)
    page.go_back()
    expect(page.locator("#welcome")).to_be_visible()
    page.go_forward()
    expect(page.get_by_test_id("answer")).to_contain_text("five open orders")


def test_what_waits_and_the_summary_are_in_view(page: Any) -> None:
    """The beginning of what waits for a person is in the window, and so is what the run has come to."""
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")

    expect(page.locator(".decide h3").first).to_be_in_viewport(ratio=1)
    expect(page.locator(".status")).to_be_in_viewport(ratio=1)
    page.locator(".decide .main").scroll_into_view_if_needed()
    expect(page.locator(".status")).to_be_in_viewport(ratio=1)


def test_a_run_is_listed_once_it_has_begun(page: Any) -> None:
    """The history has it while it goes on."""
    ask(page, "Please count", tools=["count_all"], wait="running")

    expect(page.locator("#past a")).to_have_count(1)


def test_a_page_that_nobody_sees_tells_by_its_title(page: Any) -> None:
    """A browser gives a hidden page no frames, and somebody waits for it to say that it waits."""
    hide = "Object.defineProperty(document, 'hidden', {get: () => true}); window.requestAnimationFrame = () => 1"
    page.evaluate(hide)
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")

    expect(page).to_have_title("Waits for approval – nr-llm playground")


def test_a_waiting_run_is_decided_after_a_reload(page: Any) -> None:
    """Whoever comes back to a run that waits still finds its calls."""
    ask(page, "Please tidy up", tools=["rename", "remove", "orders"], wait="awaiting_approval")
    page.reload()
    page.locator(".call").nth(0).get_by_label("Deny").check()
    page.locator(".call").nth(1).get_by_label("Deny").check()
    page.locator(".decide .main").click()

    status(page, "done")


def test_no_tools_means_none(page: Any) -> None:
    """Untouched boxes send the default set, and none ticked sends an empty list."""
    ask(page, "Hello")
    page.click("#again")
    choose(page, [])
    group = page.get_by_label("All of stock")
    page.locator('#tool-list input[value="stock"]').check()
    expect(group).to_be_checked(indeterminate=True)
    page.locator('#tool-list input[value="stock"]').uncheck()
    ask(page, "Hello again")

    assert [body["tools"] for body in page.watch.sent("/api/runs")] == [None, []]
    expect(page.locator(".step .sub").first).to_contain_text("no tools offered")


def test_history_is_filtered_and_kept_in_the_address(page: Any) -> None:
    """A filter stands in the address, and a reload keeps it."""
    ask(page, "List the orders")
    ask(page, "Please deliver it", tools=["deliver"], wait="awaiting_input")
    expect(page.locator("#past li")).to_have_count(2)
    page.get_by_label("Status", exact=True).select_option("Waits for input")
    expect(page.locator("#past li")).to_have_count(1)
    expect(page).to_have_url(re.compile("status=waiting_for_input"))
    page.reload()

    expect(page.locator("#past li")).to_have_count(1)
    expect(page.locator("#past .title")).to_have_text("Please deliver it")


def test_the_recorded_run_says_what_it_is(page: Any) -> None:
    """It plays without a model, and says all the time that it is a recording."""
    page.locator("#demo").click()
    page.get_by_label("Speed").select_option("16×")

    expect(page.get_by_test_id("answer")).to_be_visible()
    expect(page.locator('[data-banner="demo"]')).to_contain_text("A recorded example")
    page.get_by_role("button", name="Leave it").click()
    expect(page.locator("#welcome")).to_be_visible()


def test_a_dry_run_sends_nothing(page: Any) -> None:
    """It shows the first request as it would be."""
    page.fill("#prompt", "List the orders")
    page.locator("#dry").click()
    status(page, "done")

    expect(page.locator(".status")).to_have_text("Dry run")
    expect(page.locator("#detail .message")).to_contain_text("List the orders")


def test_a_blank_prompt_is_no_request(page: Any) -> None:
    """The form says what is missing, and asks nobody."""
    page.click("#ask button[type=submit]")

    expect(page.locator("#ask-fault")).to_have_text("Write a prompt first.")
    assert page.watch.sent("/api/runs") == []


def test_attachments_limits_and_options_are_sent(page: Any) -> None:
    """What is filled in goes along, what is left empty does not, and what is out of bounds is not sent."""
    page.locator("#files").set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"Hello"})
    page.get_by_text("Attachments").click()
    expect(page.locator("#file-list")).to_contain_text("note.txt")
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds", exact=True).fill("21")
    page.fill("#prompt", "List the orders")
    page.click("#ask button[type=submit]")
    expect(page.locator("#ask-fault")).to_contain_text("Rounds")
    page.get_by_label("Rounds", exact=True).fill("3")
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("System instruction").fill("Be brief.")
    ask(page, "List the orders")

    [body] = page.watch.sent("/api/runs")
    assert body["attachments"] == [{"name": "note.txt", "media_type": "text/plain", "data": "SGVsbG8="}]
    assert (body["limits"], body["options"], body["system"]) == ({"rounds": 3}, {"temperature": 0.5}, "Be brief.")
    assert not {"configuration", "model", "privacy", "dry_run"} & set(body)
    expect(page.locator("#strip dd").first).to_have_text("2 of 3")


def test_a_conversation_goes_on(page: Any) -> None:
    """The next run has the one before in front of it."""
    ask(page, "List the orders")
    page.locator("#do-goOn").click()
    expect(page.locator("#continues")).to_contain_text("Goes on with run")
    ask(page, "Thank you")

    first, second = page.watch.sent("/api/runs")
    assert "continues" not in first
    assert len(second["continues"]) > 8
    expect(page.locator(".step .sub").first).to_contain_text("5 messages sent")
