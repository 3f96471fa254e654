"""A stored run as lines for people: what is known of it, then its steps, with content as far as it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from nr_llm.privacy import StepRecord
from nr_llm.records import RunStatus, StoredRun, StoredStep
from nr_llm.responses import Usage

from nr_llm_cli import render
from nr_llm_cli.screen import document, one_line
from nr_llm_cli.times import local

NAME: Final = 12
"""Characters of a run's name in lists: few runs share so many, and as many are enough to name it by."""

MASKED: Final = "Kept at level redacted: secrets are masked and long texts cut."


def short(run_id: str) -> str:
    """Return a run's name as lists have it, which is enough to name it by."""
    return one_line(run_id[:NAME])


def status_of(run: StoredRun) -> str:
    """Return what a run does, or how it ended, in a few words."""
    if run.stop and run.ended is None:
        return f"{run.raw_status} (told to stop)"
    more = run.error if run.status is RunStatus.FAILED else run.raw_reason
    return run.raw_status if more in (None, run.raw_status) else f"{run.raw_status} ({more})"


def row_of(run: StoredRun) -> dict[str, Any]:
    """Return a run as a row of the list for people."""
    head, totals = run.head, run.totals
    return {
        "run": short(run.run_id),
        "began": local(head.began),
        "status": status_of(run),
        "model": head.model,
        "configuration": head.configuration,
        "actor": None if head.actor is None else head.actor.id,
        "rounds": totals.rounds,
        "calls": totals.calls,
        "tokens": totals.usage.total_tokens,
        "kept": str(head.privacy),
    }


def lines_of(run: StoredRun, steps: Sequence[StoredStep]) -> list[str]:
    """Return a run as lines for people."""
    facts = [(name, value) for name, value in _facts(run) if value not in (None, "")]
    width = max(len(name) for name, _ in facts)
    told = [f"  {name:<{width}}  {one_line(str(value))}" for name, value in facts]
    return [one_line(f"{run.run_id}: {status_of(run)}"), *told, "", *_timeline(steps), *_remarks(run)]


def _facts(run: StoredRun) -> Iterator[tuple[str, Any]]:
    head, totals = run.head, run.totals
    yield "model", head.model
    yield "configuration", head.configuration
    yield "actor", None if head.actor is None else head.actor.id
    yield "continues", head.continues
    yield "began", local(head.began)
    yield "ended", local(run.ended)
    yield "took", f"{render.duration(totals.seconds * 1000)} in model calls and tools"
    yield "came to", f"{render.count(totals.rounds, 'round')}, {render.count(totals.calls, 'call')} that ran"
    yield "tokens", render.tokens(totals.usage).removeprefix("tokens: ")
    yield "cost", None if totals.unpriced or not totals.cost else str(totals.cost)
    yield "answer", "missing or cut short" if totals.truncated else None
    yield from _provenance(head.provenance)


def _provenance(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in provenance.items():
        if name == "tools" and isinstance(value, Mapping):
            told = (f"{tool} ({_package(facts)})" for tool, facts in value.items())
            yield "tools", ", ".join(told)
        elif value is not None:
            yield name, value if isinstance(value, str) else document(value)


def _package(facts: Any) -> str:
    package = facts.get("package") if isinstance(facts, Mapping) else None
    return str(package or "the program's own")


def _remarks(run: StoredRun) -> list[str]:
    level, remarks = run.head.privacy, list[str]()
    if not level.keeps_content:
        remarks.append(f"What was said is not kept at level {level}.")
    elif str(level) == "redacted":
        remarks.append(MASKED)
    if run.status in _DECIDE:
        remarks.append(f"What it waits with is shown, and decided, by nr-llm runs {_DECIDE[run.status]} {run.run_id}")
    return ["", *map(one_line, remarks)] if remarks else []


_DECIDE: Final = {RunStatus.WAITING_FOR_APPROVAL: "approve", RunStatus.WAITING_FOR_INPUT: "input"}
"""The command by which a run that waits goes on."""


def _timeline(steps: Iterable[StoredStep]) -> Iterator[str]:
    first, offered = True, None
    for stored in steps:
        at, step = local(stored.at).rpartition(" ")[2], stored.step
        told = _told(step)
        if step.kind == "request":
            told += _offered(step.payload.get("tool_specs", ()), offered)
            offered = step.payload.get("tool_specs", ())
        yield one_line(f"{stored.sequence:>3}  {at}  {step.round:>2}  {step.kind:<8}  {told}")
        for line in _content(step.payload, messages=first):
            yield f"       {line}"
        first = first and "messages_sent" not in step.payload


def _told(step: StepRecord) -> str:
    payload: Mapping[str, Any] = step.payload
    match step.kind:
        case "request":
            sent = payload.get("messages_sent_count", len(payload.get("messages_sent", ())))
            return render.count(sent, "message")
        case "llm":
            return _reply(payload, step.duration_ms)
        case "tool":
            return _call(payload, step.duration_ms)
        case "approval" | "input" if "decided_by" in payload:
            return _decided(payload, step=step.kind)
        case "approval" | "input":
            return f"waits for a person: {', '.join(_wanted(payload))}"
        case "policy":
            return "; ".join(render.policy_lines(payload.get("policy", ())))
        case _:
            plain = {name: value for name, value in payload.items() if name != "content_redacted"}
            return one_line(document(plain), render.ARGUMENTS)


def _offered(tools: Any, before: Any) -> str:
    """Return which tools a request offers, unless the one before offered the same."""
    return "" if tools == before else f"; tools: {', '.join(tools) or 'none'}"


def _reply(payload: Mapping[str, Any], milliseconds: float) -> str:
    usage = Usage(payload.get("input_tokens"), payload.get("output_tokens"))
    wanted = _wanted(payload)
    ends = f"asks for {', '.join(wanted)}" if wanted else f"ends: {payload.get('finish_reason')}"
    length = payload.get("content_length")
    parts = (render.duration(milliseconds), render.tokens(usage), ends, length and render.count(length, "character"))
    return ", ".join(filter(None, parts))


def _call(payload: Mapping[str, Any], milliseconds: float) -> str:
    arguments = payload.get("tool_arguments")
    called = f"{payload.get('tool_name')} {'' if arguments is None else render.arguments(arguments)}".rstrip()
    length, shown = payload.get("tool_result_length"), payload.get("tool_artifacts_types")
    parts = (
        render.duration(milliseconds) if payload.get("tool_executed") else "not executed",
        None if length is None else render.count(length, "character"),
        "error" if payload.get("tool_is_error") else None,
        f"for people: {', '.join(shown)}" if shown else None,
    )
    return f"{called}  {', '.join(filter(None, parts))}"


def _decided(payload: Mapping[str, Any], *, step: str) -> str:
    """Return who said what to which calls."""
    told, yes = [], "fills in" if step == "input" else "approves"
    for one in payload.get("decisions", ()):
        word = yes if one.get("approved") else "declines"
        changed = " with changed arguments" if one.get("edited") else ""
        told.append(f"{word} {one.get('index')} {one.get('tool')}{changed}")
    return f"{payload['decided_by']} {', '.join(told)}"


def _wanted(payload: Mapping[str, Any]) -> list[str]:
    calls = payload.get("requested_tool_calls") or ()
    return list(payload.get("requested_tool_names") or (call["name"] for call in calls))


def _content(payload: Mapping[str, Any], *, messages: bool) -> Iterator[str]:
    """Yield what was said in a step; of the conversation sent, only where it was not shown before."""
    for message in payload.get("messages_sent", ()) if messages else ():
        yield from _said(str(message.get("role")), message.get("content"))
    yield from _said("thinks", payload.get("reasoning"))
    yield from _said("says", payload.get("content"))
    yield from _said("returns", payload.get("tool_result"))
    for artifact in payload.get("tool_artifacts", ()):
        yield one_line(f"for people: {artifact['type']} {artifact['label']}")
    for preview in payload.get("previews", ()):
        yield from _said(f"{preview['tool']} would", "\n".join(preview["lines"]))
    if "withheld" in payload:
        yield one_line(f"withheld: {payload['withheld']}")


def _said(who: str, text: Any) -> Iterator[str]:
    if text:
        first, *rest = render.excerpt(text if isinstance(text, str) else document(text))
        yield f"{one_line(who)}: {first}"
        yield from (f"  {line}" for line in rest)
