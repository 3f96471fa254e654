"""What live consumers of a run read, line by line: cases 54 to 60 of the reference, and how a run may end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import attrs
import pytest
from nr_llm import (
    Cancellation,
    Completer,
    CompletionRequest,
    CompletionResponse,
    Flow,
    GuardrailError,
    Limits,
    Price,
    PrivacyLevel,
    Redactor,
    RunResult,
    RunState,
    ServiceError,
    TerminationReason,
    ToolArtifact,
    ToolContext,
    ToolResult,
    Usage,
    tool,
)
from nr_llm.events import Event, Finished, TextDelta
from nr_llm.feed import PADDED, Feed, alines, ending_of, lines
from nr_llm.privacy import StepFilter
from nr_llm.testing import Harness, calling

SECRET = "tiger-lily-7781"
MARKER = "plain-marker-3309"
LAST = {"done", "budget", "cancelled", "error", "awaiting_approval"}
DELTAS = {"text", "reasoning", "tool_call", "progress"}


@tool
def look(context: ToolContext, what: str = "") -> ToolResult:
    """Look, and show a table."""
    context.progress(f"looking for {what}")
    return ToolResult.text(f"saw {what}", ToolArtifact.table("Label", ["a"], [[what]]))


def would_change(what: str) -> str:
    """Say what it would do."""
    return f"would change {what}"


@tool(effect="write", preview=would_change)
def change_it(what: str = "") -> str:
    """Write, with a person's consent."""
    return f"changed {what}"


def fed(
    *replies: Any, feed: Feed | None = None, model: dict[str, Any] | None = None, **settings: Any
) -> list[dict[str, Any]]:
    """Return the lines of a scripted run as objects, which are numbered without gaps and end in newlines."""
    with Harness(tools=[look, change_it], model=model, store=None, middleware=[]) as harness:
        stream = harness.stream(replies=replies, tools=["look", "change_it"], **settings)
        written = list(lines(stream, feed or Feed()))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in written)
    found = [json.loads(line) for line in written]
    assert [line["seq"] for line in found] == list(range(len(found)))
    assert [line["event"] for line in found].count("context") == 1
    assert [line["event"] in LAST for line in found].index(True) == len(found) - 1
    return found


def names(found: list[dict[str, Any]]) -> list[str]:
    """Return the events that are no pieces of a step."""
    return [line["event"] for line in found if line["event"] not in {*DELTAS, "tool_finished"}]


def filtered(level: PrivacyLevel) -> Feed:
    """Return a feed for a consumer who is not the host."""
    redactor = Redactor()
    redactor.learn(SECRET)
    return Feed(filter=StepFilter(level, redactor), redactor=redactor)


# -- the cases --------------------------------------------------------------------------------------------------


def test_c54_each_step_is_told_once_and_in_order() -> None:
    """The request is told before the model is asked."""
    seen: list[str] = []

    def asked(request: Any) -> str:
        seen.append("asked")
        return "done"

    with Harness(tools=[look], store=None) as harness:
        for line in lines(harness.stream(replies=[asked]), Feed()):
            found = json.loads(line)
            seen.extend([found["step"]["kind"]] if found["event"] == "step" else [])

        assert seen == ["request", "asked", "llm"]
        assert len(harness.steps) == 2


def test_c55_a_services_own_reply_is_told_with_its_step_alone() -> None:
    """Only the reply that was captured is told whole."""
    first = attrs.evolve(calling(("look", {})), raw={"id": "r1"})

    found = [line["step"] for line in fed(first, "done") if line["event"] == "step"]

    assert [step.get("raw") for step in found] == [None, {"id": "r1"}, None, None, None]


def test_c56_context_steps_and_an_end() -> None:
    """A run of two rounds tells five steps between its first line and its last."""
    found = fed(calling(("look", {"what": "a"})), "done")

    assert names(found) == ["context", *["step"] * 5, "done"]
    kinds = [line["step"]["kind"] for line in found if line["event"] == "step"]
    assert kinds == ["request", "llm", "tool", "request", "llm"]
    assert found[0] == {"event": "context", "seq": 0, "run_id": "run-1", "model": "scripted:script"}
    assert found[-1]["content"] == "done"
    assert {line["event"] for line in found} >= {"text", "tool_call", "progress", "tool_finished"}


def test_c57_short_lines_are_padded() -> None:
    """Where a proxy holds short lines back, each has 4096 bytes, and is the same JSON."""
    with Harness(store=None) as harness:
        padded = list(lines(harness.stream(replies=["é" * 5000], run_id="r"), Feed(pad=PADDED)))
        plain = list(lines(harness.stream(replies=["é" * 5000], run_id="r"), Feed()))

    sizes = [len(line.encode()) for line in padded]
    assert min(sizes) == PADDED + 1 < max(sizes)
    assert [json.loads(line)["event"] for line in padded] == [json.loads(line)["event"] for line in plain]
    assert padded[0].rstrip() == plain[0].rstrip()
    assert padded[0][-2:] == " \n"


@pytest.mark.parametrize("said", ["bad \ud800 half", "\x00\x1b[2J", "line\nbreak\u2028", '"}\n{"event":"done"}'])
def test_c58_whatever_a_model_writes_is_valid_json(said: str) -> None:
    """Lone surrogates, controls and line breaks are characters of a text, and no end of a line."""
    found = fed(calling(("look", {"what": said}), content=said), said)

    assert found[-1]["content"] == said.replace("\ud800", "�")


def test_c58_a_reply_that_is_no_json_is_withheld() -> None:
    """A step with a number that is none loses its content, and the run goes on."""
    found = fed(CompletionResponse(content="done", raw={"x": float("nan")}))

    withheld = [line for line in found if "withheld" in line]
    assert [(line["event"], "step" in line) for line in withheld] == [("step", False)]
    assert found[-1]["event"] == "done"


def test_c59_a_run_that_waits() -> None:
    """The last line has the run and the held calls, of which some wait, each with what a decision names."""
    last = fed(calling(("look", {"what": "a"}), ("change_it", {"what": "b"})))[-1]

    assert (last["event"], last["run_id"]) == ("awaiting_approval", "run-1")
    digests = [call.pop("digest") for call in last["pending"]]
    assert [len(digest) for digest in digests] == [64, 64]
    assert digests[0] != digests[1]
    assert last["pending"] == [
        {"index": 0, "name": "look", "arguments": {"what": "a"}, "waits": False},
        {
            "index": 1,
            "name": "change_it",
            "arguments": {"what": "b"},
            "waits": True,
            "preview": {"lines": ["would change b"], "failed": False},
        },
    ]


def test_c59_a_run_that_waits_for_input() -> None:
    """The last line has the form that a person is to fill in."""

    @tool(form={"type": "object", "properties": {"city": {"type": "string"}}})
    def book(city: str = "") -> str:
        """Book."""
        return city

    with Harness(store=None, tools=[book]) as harness:
        stream = harness.stream(replies=[calling(("book", {}))], tools=["book"])
        last = [json.loads(line) for line in lines(stream, Feed())][-1]

    assert last["event"] == "awaiting_input"
    assert last["pending"][0]["form"]["properties"] == {"city": {"type": "string"}}


@pytest.mark.parametrize(
    ("approval", "event", "reason"),
    [(False, "guardrail_blocked", "policy_denied"), (True, "guardrail_approval_required", "approval_denied")],
)
def test_c60_a_guardrail(approval: bool, event: str, reason: str) -> None:
    """The last line says which one, and why the run ended."""

    def guard(inner: Completer) -> Completer:
        def completer(request: CompletionRequest) -> Flow[CompletionResponse]:
            raise GuardrailError("not that", guardrail="manners", approval=approval)
            yield from inner(request)

        return completer

    with Harness(store=None, middleware=[guard]) as harness:
        last = [json.loads(line) for line in lines(harness.stream(replies=["x"]), Feed())][-1]

    assert (last["event"], last["reason"], last["guardrail"]) == (event, reason, "manners")
    assert last["error"] == {"class": "GuardrailError", "message": "not that"}


# -- how a run may end ------------------------------------------------------------------------------------------


def test_every_reason_has_its_ending() -> None:
    """A budget that ran out is no answer, and what nobody has placed is none either."""
    endings = {reason: ending_of(reason) for reason in TerminationReason}

    assert {reason for reason, ending in endings.items() if ending == "budget"} == {
        reason for reason in TerminationReason if reason.budget
    }
    assert [reason for reason, ending in endings.items() if ending in {"error", "cancelled"}] == [
        TerminationReason.CANCELLED,
        TerminationReason.FAILED,
        TerminationReason.POLICY_DENIED,
        TerminationReason.APPROVAL_DENIED,
    ]
    assert endings[TerminationReason.COMPLETED] == "done"


def test_an_answer_with_what_it_cost() -> None:
    """Reason, tokens and cost are in the last line; a cost that nobody knows is null."""
    price = Price(input="2", output="4")
    reply = CompletionResponse(content="done", usage=Usage(1_000_000, 500_000))
    last, free = fed(reply, model={"price": price})[-1], fed("done")[-1]

    assert (last["reason"], last["truncated"], last["rounds"]) == ("completed", False, 1)
    assert last["usage"] == {"input_tokens": 1_000_000, "output_tokens": 500_000, "total_tokens": 1_500_000}
    assert (Decimal(last["cost"]), last["currency"]) == (Decimal(4), "USD")
    assert (free["cost"], free["currency"]) == (None, None)


def test_a_spent_budget() -> None:
    """It is told as what it is."""
    last = fed("done", limits=Limits(seconds=0.0))[-1]

    assert (last["event"], last["reason"], last["truncated"]) == ("budget", "time_exhausted", True)


def test_a_run_that_was_told_to_stop() -> None:
    """It is cancelled."""
    cancellation = Cancellation()
    cancellation.cancel("enough")

    assert fed("done", cancel=cancellation)[-1]["event"] == "cancelled"


def test_a_run_that_was_interrupted() -> None:
    """Whoever interrupts it tells the state it came to, which may have no reason yet; nothing is told afterwards."""
    feed = Feed()
    feed.begin("r")
    line = feed.interrupt(RunState(run_id="r", model="m", rounds=2))
    found = json.loads(line or "")

    assert (found["event"], found["reason"], found["rounds"], found["truncated"]) == ("cancelled", "cancelled", 2, True)
    assert feed.event(TextDelta("late")) is None
    assert feed.fail(ServiceError("late")) is None


def test_a_run_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    """An error of ours tells its class and its text, masked, and what the run had used; nothing is raised."""
    redactor = Redactor()
    redactor.learn(SECRET)
    last = fed(calling(("look", {})), ServiceError(f"down {SECRET}", provider="p"), feed=Feed(redactor=redactor))[-1]

    assert (last["event"], last["run_id"], last["rounds"], last["reason"]) == ("error", "run-1", 1, "failed")
    assert last["error"] == {"class": "ServiceError", "message": "p: down [redacted]"}
    assert caplog.records == []


def test_a_run_that_failed_unexpectedly(caplog: pytest.LogCaptureFixture) -> None:
    """The text of an error that is none of ours may hold anything: it is for the log, masked there too."""
    redactor = Redactor()
    redactor.learn(SECRET)
    caplog.set_level(logging.ERROR)
    last = fed(ZeroDivisionError(f"{MARKER} {SECRET}"), feed=Feed(redactor=redactor))[-1]

    assert last["error"] == {"class": "ZeroDivisionError", "message": "The run failed unexpectedly."}
    assert MARKER in caplog.text
    assert SECRET not in caplog.text


def test_a_failure_with_words_of_the_hosts() -> None:
    """A host may say more of an error than it says itself, also of one that ended no run."""
    feed = Feed()
    feed.begin("r")
    line = feed.fail(ServiceError("down"), message="Try later.", code="provider")

    assert json.loads(line or "")["error"] == {"class": "ServiceError", "message": "Try later.", "code": "provider"}


@pytest.mark.parametrize("reason", [TerminationReason.FAILED, "of a newer version"])
def test_an_ending_that_nobody_knows(reason: Any) -> None:
    """It is an error, and never a made-up answer."""
    result = RunResult(
        content="", messages=(), invocations=(), usage=Usage(), rounds=1, reason=reason, truncated=True, run_id="r"
    )
    for outcome in (result, object()):
        feed = Feed()
        feed.begin("r")
        found = json.loads(feed.event(Finished(cast("RunResult", outcome))) or "")

        assert (found["event"], found["error"]["class"]) == ("error", type(outcome).__name__)


def test_an_event_that_nobody_knows() -> None:
    """It is left out."""
    feed = Feed()
    feed.begin("r")

    assert feed.event(cast("Event", object())) is None


def test_a_feed_is_begun_once() -> None:
    """Lines without a first one, or with two, are a mistake of the program."""
    feed = Feed()
    with pytest.raises(RuntimeError, match="call begin first"):
        feed.interrupt(RunState(run_id="r", model="m"))
    feed.begin("r")
    with pytest.raises(RuntimeError, match="one segment of one run"):
        feed.begin("r")


# -- consumers who are not the host -----------------------------------------------------------------------------


@pytest.mark.parametrize("level", [PrivacyLevel.NONE, PrivacyLevel.METADATA])
def test_without_content_a_stranger_sees_counts(level: PrivacyLevel) -> None:
    """Kinds, names, sizes and times; no word of anybody's, in no kind of line."""
    said = f"{MARKER} {SECRET}"
    found = fed(calling(("look", {"what": said}), content=said), said, feed=filtered(level))

    assert MARKER not in json.dumps(found)
    assert DELTAS.isdisjoint(line["event"] for line in found)
    assert (found[-1]["content_length"], found[-1]["content_redacted"]) == (len(said), True)
    held = fed(calling(("change_it", {"what": said})), feed=filtered(level))[-1]
    assert held["pending"] == [{"index": 0, "name": "change_it", "waits": True}]
    failed = fed(ServiceError(said), feed=filtered(level))[-1]
    assert failed["error"] == {"class": "ServiceError"}


def test_at_level_redacted_a_stranger_sees_masked_content() -> None:
    """Whole texts can be masked, and pieces cannot: a secret may be cut in two."""
    said = f"{MARKER} {SECRET}"
    found = fed(calling(("look", {"what": said})), said, feed=filtered(PrivacyLevel.REDACTED))

    assert SECRET not in json.dumps(found)
    assert DELTAS.isdisjoint(line["event"] for line in found)
    assert found[-1]["content"] == f"{MARKER} [redacted]"
    assert found[4]["step"]["tool_artifacts"][0]["data"]["rows"] == [[f"{MARKER} [redacted]"]]
    held = fed(calling(("change_it", {"what": said})), feed=filtered(PrivacyLevel.REDACTED))[-1]
    assert held["pending"][0]["arguments"] == {"what": f"{MARKER} [redacted]"}
    assert held["pending"][0]["preview"]["lines"] == [f"would change {MARKER} [redacted]"]


def test_what_cannot_be_filtered_is_withheld_and_the_feed_goes_on() -> None:
    """A filter that fails, whatever of it broke, lets nothing out and leaves every line in its place."""

    class Broken(Redactor):
        def redact(self, text: str) -> str:
            raise ZeroDivisionError

        redact_json = redact  # type: ignore[assignment]

    broken = StepFilter(PrivacyLevel.REDACTED, Broken())
    calls = calling(("look", {"what": MARKER}))
    found = fed(calls, "done", feed=Feed(filter=broken))
    held = fed(calling(("change_it", {"what": MARKER})), feed=Feed(filter=broken))

    events = [line["event"] for line in found]
    assert events == ["context", "step", "step", "tool_finished", "step", "step", "step", "done"]
    assert (found[3]["call_id"], found[3]["tool"]) == (None, None)
    assert held[-1]["pending"] == [{"index": 0, "name": None, "waits": True}]
    assert MARKER not in str((found, held))


def test_at_level_full_a_stranger_sees_what_the_host_sees() -> None:
    """The steps are the same, and so are the pieces."""
    replies = (calling(("look", {"what": "a"})), "done")

    def timeless(found: list[dict[str, Any]]) -> str:
        return json.dumps(
            [{**line, "seconds": 0, "step": {**line.get("step", {}), "duration_ms": 0}} for line in found]
        )

    assert timeless(fed(*replies, feed=filtered(PrivacyLevel.FULL))) == timeless(fed(*replies))


# -- the other colour -------------------------------------------------------------------------------------------


async def _afed(*replies: Any, feed: Callable[[], Feed] = Feed) -> list[dict[str, Any]]:
    with Harness(tools=[look], store=None, middleware=[]) as harness:
        stream = harness.astream(replies=replies, tools=["look"])
        return [json.loads(line) async for line in alines(stream, feed(), host="here")]


def test_async_runs_tell_the_same() -> None:
    """An answer and an error, with what the host adds to the first line."""
    good = asyncio.run(_afed(calling(("look", {})), "done"))
    stranger = asyncio.run(_afed("done", feed=lambda: filtered(PrivacyLevel.METADATA)))
    bad = asyncio.run(_afed(ServiceError("down")))

    assert names(good) == ["context", *["step"] * 5, "done"]
    assert good[0]["host"] == "here"
    assert names(stranger) == ["context", "step", "step", "done"]
    assert (bad[-1]["event"], bad[-1]["error"]["message"]) == ("error", "down")
