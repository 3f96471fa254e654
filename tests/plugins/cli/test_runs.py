"""`nr-llm runs` and `nr-llm usage`: what is listed, shown, exported, ended and forgotten."""

from __future__ import annotations

import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import MemoryStore, RunChange, RunHead, RunStatus, StepRecord, Usage, UsageRow
from nr_llm.actors import Actor
from nr_llm.records import RunTotals, StoredRun, TranscriptEntry
from nr_llm_cli.commands.runs import STATUSES
from nr_llm_cli.commands.usage import summed
from nr_llm_cli.exported import records
from nr_llm_cli.timeline import lines_of, status_of
from nr_llm_cli.times import local, since, utc
from nr_llm_cli.whoami import me

from tests.plugins.cli.kept import Shop, open_shop
from tests.plugins.cli.shell import ADDS, last_error

ERASES = 'calling(("erase", {"path": "x"}))'
DAY = 86_400.0


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A store that is installed, in memory."""
    return open_shop(tmp_path, monkeypatch)


def keep(store: MemoryStore, name: str, *, at: float = 0.0, **head: Any) -> None:
    """Keep a run that ended at once."""
    store.create(
        RunHead(run_id=name, model="m", began=at, **head),
        RunChange(run_id=name, at=at, status=RunStatus.COMPLETED, reason="completed"),
    )


def shown(shop: Shop, *arguments: str) -> str:
    """Return what `runs show` says of the last run."""
    result = shop("runs", "show", shop.runs()[0].run_id, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


# -- list -------------------------------------------------------------------------------------------------------


def test_the_statuses_are_the_cores() -> None:
    """The option offers what there is."""
    assert tuple(RunStatus) == STATUSES


def test_runs_are_listed(shop: Shop) -> None:
    """The newest first, in plain columns, of which empty ones are left out; nothing is not an empty table."""
    none = shop("runs", "list")
    shop.ask(replies=ADDS)
    shop.ask("hi", "-T", "erase", replies=ERASES)
    lines = shop("runs", "list").stdout.splitlines()

    assert (none.stdout, none.stderr) == ("", "No such run is kept.\n")
    assert lines[0].split() == ["run", "began", "status", "model", "actor", "rounds", "calls", "tokens", "kept"]
    assert [line.split()[3] for line in lines[1:]] == ["waiting_for_approval", "completed"]
    assert lines[1].startswith(f"{shop.runs()[0].run_id[:12]}  ")


def test_runs_are_listed_for_programs(shop: Shop) -> None:
    """With all that is known of each, and times in UTC."""
    shop.ask(replies=ADDS)
    [found] = json.loads(shop("runs", "list", "--json").stdout)

    assert (found["run_id"], found["status"], found["rounds"]) == (shop.runs()[0].run_id, "completed", 2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["began"])
    assert json.loads(shop("runs", "list", "--json", "--actor", "nobody").stdout) == []


def test_runs_are_chosen(shop: Shop) -> None:
    """By status, actor, configuration and number."""
    keep(shop.store, "a", at=1, actor=Actor("ann"))
    keep(shop.store, "b", at=2, configuration="careful")
    shop.ask("hi", "-T", "erase", replies=ERASES)
    waits = shop.runs()[0].run_id

    def found(*arguments: str) -> list[str]:
        return [run["run_id"] for run in json.loads(shop("runs", "list", "--json", *arguments).stdout)]

    assert found() == [waits, "b", "a"]
    assert found("-n", "1") == [waits]
    assert found("--status", "completed", "--status", "failed") == ["b", "a"]
    assert found("--actor", "ann") == ["a"]
    assert found("--configuration", "careful") == ["b"]
    assert "ann" in shop("runs", "list").stdout


def test_a_status_comes_with_its_reason() -> None:
    """Where it says more than the status does."""
    run = StoredRun(head=RunHead(run_id="r", model="m"), raw_status="completed", raw_reason="completed")

    def told(**facts: Any) -> str:
        return status_of(attrs.evolve(run, **facts))

    assert told() == "completed"
    assert told(raw_reason="max_rounds") == "completed (max_rounds)"
    assert told(raw_status="failed", raw_reason="failed", error="ServiceError") == "failed (ServiceError)"
    assert told(raw_status="running", raw_reason=None, stop=True) == "running (told to stop)"


# -- show -------------------------------------------------------------------------------------------------------


def test_a_run_is_shown(shop: Shop) -> None:
    """Its head, what it came to, and its steps; that content is not kept is said once."""
    shop.ask("secret question", replies=ADDS)
    lines = shown(shop).splitlines()

    assert lines[0] == f"{shop.runs()[0].run_id}: completed"
    assert "  came to  2 rounds, 1 call that ran" in lines
    assert "  tools    add (the program's own)" in lines
    steps = [re.sub(r"^ +(\d+)  \d\d:\d\d:\d\d", r"\1", line) for line in lines if re.match(r" +\d+  \d\d:", line)]
    assert steps[0] == "0   1  request   1 message; tools: add"
    assert re.fullmatch(r"1   1  llm       .+, tokens: 10 in, 5 out, asks for add", steps[1])
    assert re.fullmatch(r"2   1  tool      add  .+, 1 character, for people: table", steps[2])
    assert steps[3] == "3   2  request   3 messages"
    assert re.fullmatch(r"4   2  llm       .+, ends: stop, 13 characters", steps[4])
    assert lines.count("What was said is not kept at level metadata.") == 1
    assert "secret question" not in "\n".join(lines)


def test_kept_content_is_shown(shop: Shop) -> None:
    """What was said, each message once; at level redacted it is said that it is not the whole."""
    shop.ask("my question", "--privacy", "full", replies=ADDS)
    full = shown(shop)
    shop.ask("my question", "--privacy", "redacted", replies=ADDS)

    assert full.count("user: my question") == 1
    assert '  add {"a":1,"b":2}  ' in full
    assert "       returns: 3\n       for people: table Sum\n" in full
    assert "       says: The sum is 3.\n" in full
    assert "level" not in full
    assert shown(shop).endswith("Kept at level redacted: secrets are masked and long texts cut.\n")


def test_a_call_that_failed_is_shown(shop: Shop) -> None:
    """As one that was not executed, and an error."""
    shop.ask("hi", "--privacy", "full", replies='calling(("nope", {"x": "a\\nb"})), "No."')

    assert '  nope {"x":"a\\nb"}  not executed, error\n' in shown(shop)


def test_a_run_that_waits_is_shown(shop: Shop) -> None:
    """With what it waits for."""
    shop.ask("hi", "-T", "erase", replies=ERASES)

    assert "waits for a person: erase" in shown(shop)


def test_long_texts_are_cut_and_thoughts_are_told(shop: Shop) -> None:
    """Of a long text the beginning is shown, and how much more there is."""
    shop.ask("hi", "--privacy", "full", replies='CompletionResponse(content="a\\n" * 40, reasoning="hm")')
    text = shown(shop)

    assert "       thinks: hm\n" in text
    assert "         … 28 more lines\n" in text


def test_what_was_said_cannot_command_the_terminal(shop: Shop) -> None:
    """Escapes in questions, answers and results are shown, not obeyed."""
    shop.ask("q\x1b[2J", "--privacy", "full", replies='calling(("add\\x1b", {"k": "\\x1b"})), "a\\x1b[2J\\u202e"')
    everything = shown(shop) + shown(shop, "--json") + shop("runs", "export", "--all").stdout

    assert not set(everything) & set("\x1b\u202e")
    assert "q\\u001b[2J" in everything


def test_a_run_is_shown_to_programs(shop: Shop) -> None:
    """All that is known, and the steps with their messages."""
    shop.ask("hi", "--privacy", "full", replies=ADDS)
    found = json.loads(shown(shop, "--json"))

    assert [step["kind"] for step in found["steps"]] == ["request", "llm", "tool", "request", "llm"]
    assert found["steps"][0]["messages_sent"] == [{"role": "user", "content": "hi"}]
    assert found["ended"].endswith("Z")


def test_a_preview_is_shown_where_its_call_waits() -> None:
    """With the name of its tool, each line of it, and nothing that acts on a terminal."""
    from nr_llm import StoredStep

    shown = {"index": 0, "tool": "move", "lines": ["a -> b\x1b", "2 bytes"], "failed": False}
    calls = [{"id": "c", "name": "move", "arguments": {}}]
    step = StepRecord(kind="approval", round=1, payload={"requested_tool_calls": calls, "previews": [shown]})
    lines = lines_of(StoredRun(head=RunHead(run_id="r", model="m"), raw_status="waiting_for_approval"), [
        StoredStep(sequence=0, at=0.0, step=step)
    ])  # fmt: skip

    assert [line.strip() for line in lines if "a -> b" in line or "2 bytes" in line] == [
        "move would: a -> b\\u001b",
        "2 bytes",
    ]


def test_rare_facts_are_shown() -> None:
    """What not every run has: a cost, an actor, packages, and steps of kinds that come later."""
    from nr_llm import StoredStep

    head = RunHead(
        run_id="r", model="m", actor=Actor("ann"), continues="q", configuration="careful",
        provenance={"nr_llm": "1.0", "provider": None, "more": {"a": 1}, "tools": {"t": {"package": "p==1"}, "u": 3}},
    )  # fmt: skip
    run = StoredRun(head=head, raw_status="completed", totals=RunTotals(cost=Decimal("0.5"), truncated=True))
    steps = [
        StoredStep(sequence=0, at=0.0, step=StepRecord(kind="later", round=1, payload={"a": 1})),
        StoredStep(sequence=1, at=0.0, step=StepRecord(kind="llm", round=1, payload={"withheld": "ValueError"})),
        StoredStep(
            sequence=2, at=0.0,
            step=StepRecord(kind="request", round=1, payload={"messages_sent": [{"role": "user", "content": [1]}]}),
        ),
    ]  # fmt: skip
    text = "\n".join(lines_of(run, steps))

    for said in (
        "actor          ann", "continues      q", "cost           0.5", "answer         missing or cut short",
        "nr_llm         1.0", 'more           {"a":1}', "tools          t (p==1), u (the program's own)",
        'later     {"a":1}', "withheld: ValueError", "user: [1]",
    ):  # fmt: skip
        assert said in text


@pytest.mark.parametrize(("name", "code", "said"), [("run-1", 0, ""), ("run-2", 0, ""), ("run", 2, "3 runs begin")])
def test_the_beginning_of_a_name_is_enough(shop: Shop, name: str, code: int, said: str) -> None:
    """If it is one run's alone; a whole name is that run's even where another begins so."""
    for known in ("run-1", "run-12", "run-23"):
        keep(shop.store, known)
    result = shop("runs", "show", name)

    assert result.exit_code == code
    assert said in result.stderr


@pytest.mark.parametrize("name", ["nope", ""])
def test_a_run_that_nobody_knows(shop: Shop, name: str) -> None:
    """Is told as that, with where the names are."""
    keep(shop.store, "run-1")
    result = shop("runs", "show", name)

    assert result.exit_code == 3
    assert f"There is no run named {name!r}. See nr-llm runs list." in result.stderr


# -- export -----------------------------------------------------------------------------------------------------


def test_an_export_is_read_back(shop: Shop) -> None:
    """Head, steps, messages, an end that counts them: what the store has, number by number."""
    shop.ask("hi", "--privacy", "full", replies=ADDS)
    [run] = shop.runs()
    store, result = shop.store, shop("runs", "export", run.run_id[:6])
    head, *parts, end = [json.loads(line) for line in result.stdout.splitlines()]
    steps = [part for part in parts if part["record"] == "step"]
    messages = [part for part in parts if part["record"] == "message"]

    copied = MemoryStore()
    copied.create(
        RunHead(
            run_id=head["run_id"], model=head["model"], privacy=head["privacy"], began=head["began"],
            provenance=head["provenance"], setting=head["setting"], actor=Actor.from_dict(head["actor"]),
        ),
        RunChange(
            run_id=head["run_id"], at=head["ended"], status=RunStatus(head["status"]), reason=head["reason"],
            steps=tuple(_step(step) for step in steps),
            transcript=tuple(TranscriptEntry(message["message"], message["said"]) for message in messages),
            totals=run.totals,
        ),
    )  # fmt: skip

    assert (head["record"], end["record"]) == ("run", "end")
    assert (end["steps"], end["messages"]) == (len(steps), len(messages)) == (5, 4)
    assert copied.run(run.run_id) == run
    assert copied.transcript(run.run_id) == store.transcript(run.run_id)
    assert [stored.step for stored in copied.steps(run.run_id)] == [stored.step for stored in store.steps(run.run_id)]
    assert [message["number"] for message in messages] == [0, 1, 2, 3]


def _step(line: dict[str, Any]) -> StepRecord:
    facts = {name: value for name, value in line.items() if name not in {"record", "sequence", "at"}}
    kind, number, took = facts.pop("kind"), facts.pop("round"), facts.pop("duration_ms")
    return StepRecord(kind=kind, round=number, duration_ms=took, payload=facts)


def test_exports_of_all_runs(shop: Shop) -> None:
    """Run after run as lines, or one list; without content where none is kept."""
    shop.ask("one")
    shop.ask("two")
    lines = [json.loads(line) for line in shop("runs", "export", "--all").stdout.splitlines()]
    document = json.loads(shop("runs", "export", "--all", "--format", "json").stdout)
    single = json.loads(shop("runs", "export", shop.runs()[1].run_id, "--format", "json").stdout)

    assert [line["record"] for line in lines] == ["run", "step", "step", "end"] * 2
    assert [run["run_id"] for run in document] == [run.run_id for run in shop.runs()]
    assert single == document[1]
    assert (len(single["steps"]), single["messages"]) == (2, [])


def test_an_export_says_of_what(shop: Shop) -> None:
    """One run or all, and not both."""
    assert shop("runs", "export").exit_code == 2
    assert shop("runs", "export", "x", "--all").exit_code == 2


def test_an_export_grows_with_its_run(shop: Shop) -> None:
    """Each message stands in it once, however often it was sent."""
    shop.ask(
        "needle", "--privacy", "full", "--max-rounds", "9", replies='*[calling(("add", {"a": 1, "b": 2}))] * 8, "x"'
    )
    [run] = shop.runs()

    assert json.dumps(list(records(shop.store, run))).count("needle") == 1


# -- cancel, settle, purge --------------------------------------------------------------------------------------


def test_a_run_is_cancelled(shop: Shop) -> None:
    """One that waits ends at once, a second time changes nothing, and one that runs is told to stop."""
    shop.ask("hi", "-T", "erase", replies=ERASES)
    [run] = shop.runs()
    shop.store.create(RunHead(run_id="busy", model="m"), RunChange(run_id="busy", at=0.0, lease=1e12, claim="x:1:y"))
    first, again = shop("runs", "cancel", run.run_id), shop("runs", "cancel", run.run_id)
    busy = shop("runs", "cancel", "busy")

    assert first.stderr == f"Run {run.run_id} is cancelled.\n"
    assert again.stderr == f"Run {run.run_id} has ended before: it is cancelled.\n"
    assert busy.stderr == "Run busy is told to stop, and does at its next step.\n"
    assert (shop.store.run(run.run_id).status, shop.store.run("busy").stop) == (RunStatus.CANCELLED, True)


def test_abandoned_runs_are_settled(shop: Shop) -> None:
    """Those whose lease has ended, which are listed."""
    shop.store.create(RunHead(run_id="left", model="m"), RunChange(run_id="left", at=0.0, lease=1.0, claim="x:1:y"))
    first, again = shop("runs", "settle", "--json"), shop("runs", "settle")

    assert json.loads(first.stdout) == [{"run": "left"}]
    assert (again.stdout, again.stderr) == ("", "No run was abandoned.\n")
    assert shop.store.run("left").error == "Abandoned"


def test_old_runs_are_forgotten_when_told_twice(shop: Shop) -> None:
    """First it is said how many there are; what waits, and what is younger, stays."""
    keep(shop.store, "old", at=time.time() - 31 * DAY)
    keep(shop.store, "older", at=time.time() - 91 * DAY, configuration="careful")
    shop.ask("hi", "-T", "erase", replies=ERASES)
    said = shop("runs", "purge")
    narrow = shop("runs", "purge", "--days", "90", "--configuration", "careful", "--yes")
    left = [run.run_id for run in shop.runs()][1:]
    rest = shop("runs", "purge", "--yes")

    assert re.fullmatch(r"2 runs ended before [\d-]+ [\d:]+\.\nAdd --yes to forget them\.\n", said.stderr)
    assert narrow.stderr.endswith("1 run forgotten; what was used stays counted.\n")
    assert left == ["old"]
    assert rest.stderr.startswith("1 run ended before ")
    assert [run.status for run in shop.runs()] == [RunStatus.WAITING_FOR_APPROVAL]
    assert shop("runs", "purge", "--days", "0").exit_code == 2
    assert shop("runs", "purge").stderr.startswith("0 runs ended before ")


# -- verify, replay ---------------------------------------------------------------------------------------------


@attrs.frozen
class Fault:
    """A finding, as a store's check makes it."""

    code: str
    text: str


class Checked(MemoryStore):
    """A store that can check its records."""

    faults: tuple[Fault, ...] = ()

    def verify(self, run_id: str) -> tuple[Fault, ...]:
        """Return what is wrong."""
        assert self.run(run_id) is not None
        return self.faults


def test_a_record_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a store that can; a fault is printed and is an error."""
    shop = open_shop(tmp_path, monkeypatch, Checked())
    keep(shop.store, "run-1")
    whole, document = shop("runs", "verify", "run"), shop("runs", "verify", "run", "--json")
    shop.store.faults = (Fault("gap", "Step 3 is missing.\x1b"),)
    broken, told = shop("runs", "verify", "run"), shop("runs", "verify", "run", "--json")

    assert (whole.exit_code, whole.stderr) == (0, "The record of run run-1 is whole.\n")
    assert (document.stdout, document.stderr) == ("[]\n", "")
    assert (broken.exit_code, broken.stdout) == (1, "gap: Step 3 is missing.\\u001b\n")
    assert "The record of run run-1 has 1 fault" in broken.stderr
    assert json.loads(told.stdout) == [{"code": "gap", "text": "Step 3 is missing.\x1b"}]
    assert last_error(told.stderr)["run_id"] == "run-1"


def test_a_store_that_cannot_check(shop: Shop) -> None:
    """Is told as that."""
    keep(shop.store, "run-1")
    result = shop("runs", "verify", "run-1")

    assert result.exit_code == 3
    assert "This store (MemoryStore) cannot check its records" in result.stderr


def test_a_run_is_replayed(shop: Shop) -> None:
    """One that was kept in full comes out the same; the model is not asked and no tool is called."""
    shop.ask("hi", "--privacy", "full", replies=ADDS)
    run_id = shop.runs()[0].run_id
    said, document = shop("runs", "replay", run_id[:8]), shop("runs", "replay", run_id, "--json")

    assert (said.exit_code, said.stderr) == (0, f"Run {run_id} comes out the same in 5 steps.\n")
    assert json.loads(document.stdout) == {"run_id": run_id, "same": True, "differences": []}


def test_a_replay_that_comes_out_otherwise(shop: Shop) -> None:
    """Says in which steps, and is an error."""
    shop.ask("hi", "--privacy", "full", replies=ADDS)
    row = shop.store._rows[shop.runs()[0].run_id]
    first = row.steps[0]
    row.steps[0] = attrs.evolve(first, step=attrs.evolve(first.step, payload={**first.step.payload, "tool_specs": []}))
    result, told = shop("runs", "replay", row.run.run_id), shop("runs", "replay", row.run.run_id, "--json")

    assert (result.exit_code, result.stdout) == (1, "step 0: tool_specs\n")
    assert "comes out otherwise in 1 step" in result.stderr
    assert json.loads(told.stdout)["differences"] == [{"sequence": 0, "fields": ["tool_specs"]}]


def test_a_run_without_content_is_not_replayed(shop: Shop) -> None:
    """The error says why."""
    shop.ask()
    result = shop("runs", "replay", shop.runs()[0].run_id)

    assert result.exit_code == 3
    assert "kept at privacy level 'metadata'" in result.stderr


# -- usage ------------------------------------------------------------------------------------------------------


def test_usage_is_listed(shop: Shop) -> None:
    """By actor, configuration and model, or by one of them, of all time or of a span."""
    none = shop("usage")
    shop.ask(replies=ADDS)
    shop.ask(replies=ADDS)
    whole, one = shop("usage").stdout.splitlines(), shop("usage", "--since", "7d", "--by", "model", "--json")
    late = shop("usage", "--since", "2999-01-01")

    assert none.stderr == "No run was kept in that time.\n"
    assert whole[0].split() == ["actor", "configuration", "model", "runs", "input_tokens", "output_tokens", "cost"]
    assert whole[1].split() == [me().id, "scripted:script", "2", "20", "10", "unknown"]
    assert json.loads(one.stdout) == [
        {
            "model": "scripted:script", "runs": 2, "input_tokens": 20, "output_tokens": 10, "total_tokens": 30,
            "cost": "0", "cost_complete": False,
        }
    ]  # fmt: skip
    assert late.stdout == ""


def test_a_cost_of_which_a_part_is_unknown(shop: Shop) -> None:
    """Is told as a part."""
    for name, totals in (("a", RunTotals(cost=Decimal("0.5"))), ("b", RunTotals(unpriced=True))):
        ended = RunChange(run_id=name, at=1.0, status=RunStatus.COMPLETED, totals=totals)
        shop.store.create(RunHead(run_id=name, model=name, began=1.0), ended)

    assert [line.split()[-1] for line in shop("usage", "--by", "actor").stdout.splitlines()] == ["cost", "0.5+"]
    assert [line.split()[-1] for line in shop("usage", "--by", "model").stdout.splitlines()[1:]] == ["0.5", "unknown"]


def test_usage_is_added_up() -> None:
    """The most tokens first; a cost of which a part is not known is no whole one."""

    def row(actor: str | None, model: str, tokens: int, *, unpriced: bool = False) -> UsageRow:
        return UsageRow(
            actor_id=actor, configuration=None, model=model, runs=1, usage=Usage(tokens, 0), cost=Decimal("0.1"),
            unpriced=unpriced,
        )  # fmt: skip

    rows = [row("ann", "a", 1), row("bob", "b", 5), row("ann", "b", 2, unpriced=True)]

    assert [(found["actor"], found["cost"], found["cost_complete"]) for found in summed(rows, "actor")] == [
        ("bob", "0.1", True),
        ("ann", "0.2", False),
    ]
    assert [found["model"] for found in summed(rows, None)] == ["b", "b", "a"]


def test_what_is_no_span_is_refused(shop: Shop) -> None:
    """With how spans and days are written."""
    result = shop("usage", "--since", "soon")

    assert result.exit_code == 2
    assert "'soon' is no span such as 12h, 7d or 4w, and no day such as 2026-05-03" in result.stderr


def test_times() -> None:
    """People read their own clock, programs UTC; a span is counted back from now."""
    assert utc(0.12) == "1970-01-01T00:00:00.120Z"
    assert (utc(None), local(None)) == (None, "")
    assert since("2h", now=10_000.0) == 10_000.0 - 7_200
    assert since("1w", now=0.0) == -7 * DAY
    assert local(since("2026-05-03 10:11:12", now=0.0)) == "2026-05-03 10:11:12"
