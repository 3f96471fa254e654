"""Runs that wait for a person: shown, decided on by options and by commands, gone on with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
from nr_llm import Actor, MemoryStore, RunChange, RunHead, RunStatus
from nr_llm.approvals import StaleDecisionError
from nr_llm.errors import RunClaimedError
from nr_llm_cli.failures import failure_of
from nr_llm_cli.whoami import decider, me

from tests.plugins.cli.kept import Shop, open_shop
from tests.plugins.cli.shell import ask, invoke, last_error, plugin_file

ERASES = 'calling(("erase", {"path": "x"})), "Erased."'
BOTH = 'calling(("peek", {"path": "p"}), ("erase", {"path": "x"}), ("add", {"a": 1, "b": 2})), "Done."'
TOOLS = '''
@tool(approval=True)
def peek(path: str) -> str:
    """Look into a file."""
    return f"seen {path}"


@tool(effect="write", preview=lambda path: [f"{path} would go", "\\x1b"])
def drop(path: str) -> str:
    """Drop a file."""
    return f"dropped {path}"


FORM = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where to"}, "floor": {"type": "integer", "minimum": 0}},
    "required": ["city"],
}


@tool(form=FORM)
def order(article: str, city: str = "", floor: int = 0) -> str:
    """Order an article."""
    return f"{article} goes to {city}, floor {floor}"
'''
ORDERS = 'calling(("order", {"article": "lamp", "city": "Atlantis"})), "It is on its way."'
ALL = ("-T", "peek", "-T", "erase", "-T", "add")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A store that is installed, in memory."""
    return open_shop(tmp_path, monkeypatch)


def held(shop: Shop, replies: str = ERASES, *arguments: str, after: str = '"Done."') -> str:
    """Suspend a run and return its name; the model goes on with what comes `after`."""
    result = shop.ask("hi", *(arguments or ("-T", "erase")), "--privacy", "full", replies=replies, more=TOOLS)
    assert result.exit_code == 7, result.stderr
    plugin_file(shop.folder, after, more=TOOLS)
    run_id: str = shop.runs()[0].run_id
    return run_id


def on(shop: Shop, command: str, run_id: str, *arguments: str, **settings: Any) -> Any:
    """Run a command of `runs` that goes on with a run."""
    return shop("runs", command, run_id, "--plugin", shop.folder / "script.py", *arguments, **settings)


def results(shop: Shop, run_id: str) -> list[str]:
    """Return what the tools of a run said."""
    entries = shop.store.transcript(run_id)
    return [entry.message["content"] for entry in entries if entry.message["role"] == "tool"]


# -- run --approve ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--no-store",)])
def test_everything_is_declined(shop: Shop, more: tuple[str, ...]) -> None:
    """The run goes on without, with a store and without one."""
    result = shop.ask("hi", *ALL, "--approve", "deny", *more, replies=BOTH, more=TOOLS)

    assert (result.exit_code, result.stdout) == (0, "Done.\n")
    assert re.findall(r"^  (\w+) .*not executed$", result.stderr, re.MULTILINE) == ["peek", "erase"]
    assert re.search(r"^  add .* 1 B$", result.stderr, re.MULTILINE)


def test_the_record_says_who_declined(shop: Shop) -> None:
    """The user of the operating system, on whose behalf the run acts too."""
    shop.ask("hi", *ALL, "--approve", "deny", replies=BOTH, more=TOOLS)
    [run] = shop.runs()
    [decided] = [s.step.payload for s in shop.store.steps(run.run_id) if "decided_by" in s.step.payload]

    assert run.head.actor == me()
    assert decided["decided_by"] == me().id
    assert [one["approved"] for one in decided["decisions"]] == [False, False]


def test_forms_are_declined(shop: Shop) -> None:
    """Denying is an answer to a form too."""
    result = shop.ask("hi", "-T", "order", "--approve", "deny", replies=ORDERS, more=TOOLS)

    assert (result.exit_code, result.stdout) == (0, "It is on its way.\n")


@pytest.mark.parametrize("more", [(), ("--no-store",)])
def test_reads_are_approved_and_writes_wait(shop: Shop, more: tuple[str, ...]) -> None:
    """What only reads goes on; the turn waits with what is left, and nothing of it has run."""
    alone = shop.ask(
        "hi", "-T", "peek", "--approve", "reads", *more, replies='calling(("peek", {"path": "p"})), "Ok."', more=TOOLS
    )
    both = shop.ask("hi", *ALL, "--approve", "reads", *more, replies=BOTH, more=TOOLS)

    assert (alone.exit_code, alone.stdout) == (0, "Ok.\n")
    assert both.exit_code == 7
    assert "waits for a person to approve erase; nothing of this turn was executed" in both.stderr


def test_reads_leave_forms_alone(shop: Shop) -> None:
    """A form is no approval."""
    result = shop.ask("hi", "-T", "order", "--approve", "reads", replies=ORDERS, more=TOOLS)

    assert result.exit_code == 7
    assert "waits for a person to fill in order; " in result.stderr
    assert "nr-llm runs input " in result.stderr


def test_nothing_is_approved_without_a_terminal(shop: Shop) -> None:
    """A pipe that says yes is no person."""
    path = plugin_file(shop.folder, ERASES)
    arguments = ("run", "hi", "-m", "scripted:", "-T", "erase", "--plugin", path, "--approve", "ask")
    result = invoke(*arguments, stdin="y\ny\n", env={"NR_LLM_PLUGINS": "nr-llm-kept"})

    assert result.exit_code == 7
    assert shop.runs()[0].status is RunStatus.WAITING_FOR_APPROVAL


def test_programs_are_told_one_end(tmp_path: Path) -> None:
    """Of a run that was decided on under way the last event is how it ended."""
    path = plugin_file(tmp_path, ERASES)
    lines = ask(path, "-T", "erase", "--approve", "deny", "--ndjson").stdout.splitlines()
    events = [json.loads(line) for line in lines]

    assert [event["event"] for event in events if event["event"] not in {"step", "text", "tool_call"}] == [
        "context",
        "done",
    ]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert json.loads(ask(path, "-T", "erase", "--approve", "deny", "--json").stdout)["status"] == "done"


def test_four_eyes_leave_a_run_of_ones_own_waiting(shop: Shop, tmp_path: Path) -> None:
    """Whoever began it cannot approve it, by whichever way; declining is open."""
    strict = tmp_path / "nr-llm.toml"
    strict.write_text("[configurations.strict]\nfour_eyes = true\n", encoding="utf-8")
    chosen = ("--config", str(strict), "-C", "strict")
    reads = ("hi", "-T", "peek", *chosen, "--approve", "reads")
    quick = shop.ask(*reads, replies='calling(("peek", {"path": "p"})), "Ok."', more=TOOLS)
    run_id = held(shop, ERASES, "-T", "erase", *chosen)
    refused = on(shop, "approve", run_id, "--yes", "--config", str(strict))

    assert quick.exit_code == 7
    assert "needs the approval of somebody else" in quick.stderr
    assert (refused.exit_code, last_line(refused.stderr).count("somebody else may approve it")) == (9, 1)
    assert on(shop, "deny", run_id, "--config", str(strict)).exit_code == 0


def last_line(text: str) -> str:
    return text.rstrip("\n").rsplit("\n", 1)[-1]


# -- inbox ------------------------------------------------------------------------------------------------------


def test_the_inbox_is_listed(shop: Shop) -> None:
    """The oldest first, with calls by their numbers; nothing is said to be nothing."""
    empty = shop("runs", "inbox")
    first = held(shop, BOTH, *ALL)
    second = held(shop, ORDERS, "-T", "order")
    lines = shop("runs", "inbox").stdout.splitlines()

    assert (empty.exit_code, empty.stderr) == (0, "No run waits for a person.\n")
    assert lines[0].split() == ["run", "since", "actor", "waits", "for", "calls"]
    assert lines[1].startswith(f"{first[:12]}  ")
    assert lines[1].split()[3:] == [me().id, "approval", "0", "peek,", "1", "erase"]
    assert lines[2].startswith(f"{second[:12]}  ")
    assert lines[2].split()[3:] == [me().id, "input", "0", "order"]


def test_the_inbox_is_for_programs_too(shop: Shop) -> None:
    """With arguments, digests, previews and forms; a call that is not asked about is there and does not wait."""
    held(shop, 'calling(("drop", {"path": "x"}), ("add", {"a": 1, "b": 2}))', "-T", "drop", "-T", "add")
    held(shop, ORDERS, "-T", "order")
    approval, form = json.loads(shop("runs", "inbox", "--json").stdout)
    drop, add = approval["calls"]

    assert (approval["waits_for"], form["waits_for"]) == ("approval", "input")
    assert (drop["arguments"], drop["waits"], len(drop["digest"]), add["waits"]) == ({"path": "x"}, True, 64, False)
    assert drop["preview"] == {"lines": ["x would go", "\x1b"], "failed": False}
    assert form["calls"][0]["form"]["required"] == ["city"]
    assert approval["since"].endswith("Z")


def test_a_run_that_cannot_be_read_says_why(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the inbox, and cannot be decided on."""
    run_id = held(shop)
    monkeypatch.setattr(type(shop.store), "live", lambda *_: None)
    inbox, refused = shop("runs", "inbox"), on(shop, "deny", run_id)

    assert f"unreadable: The state of run {run_id} is not in the store." in inbox.stdout
    assert refused.exit_code == 1
    assert "is not in the store" in refused.stderr


# -- approve and deny -------------------------------------------------------------------------------------------


def test_a_run_is_approved_and_told(shop: Shop) -> None:
    """What is approved is shown first; then the run goes on as `run` would tell it."""
    run_id = held(shop)
    result = on(shop, "approve", run_id[:8], "--yes")
    shown, _, told = result.stderr.partition("Model scripted:script")

    assert (result.exit_code, result.stdout) == (0, "Done.\n")
    assert "Call 0: erase (the file script), write\n" in shown
    assert '  "path": "x"\n' in shown
    assert "digest: " in shown
    assert 'erase {"path":"x"}' in told
    assert results(shop, run_id) == ["erased x"]
    assert shop.runs()[0].status is RunStatus.COMPLETED


def test_without_a_yes_nothing_is_approved(shop: Shop) -> None:
    """A pipe is asked for --yes, and the run waits on."""
    run_id = held(shop)
    result = on(shop, "approve", run_id)

    assert result.exit_code == 7
    assert "Call 0: erase" in result.stderr
    assert "nothing was decided. --yes approves it without asking." in result.stderr
    assert shop.runs()[0].status is RunStatus.WAITING_FOR_APPROVAL


def test_calls_are_decided_one_by_one(shop: Shop) -> None:
    """What is not named waits on, and has run as little as the rest of the turn."""
    run_id = held(shop, BOTH, *ALL)
    first = on(shop, "approve", run_id, "--call", "0", "--yes")
    before = results(shop, run_id)
    second = on(shop, "deny", run_id, "--call", "1")

    assert (first.exit_code, second.exit_code, before) == (7, 0, [])
    assert "waits for a person to approve erase" in first.stderr
    assert [text.split()[0] for text in results(shop, run_id)] == ["seen", "A", "3"]


def test_arguments_are_changed(shop: Shop) -> None:
    """The call is shown as it will run, and the tool gets these."""
    run_id = held(shop)
    result = on(shop, "approve", run_id, "--yes", "--arguments", '{"path": "y"}')

    assert "With changed arguments:\n" in result.stderr
    assert '  "path": "y"\n' in result.stderr
    assert results(shop, run_id)[0].endswith("\nerased y")


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("approve", ("--yes", "--call", "7"), "Call 7 waits for nobody; those that do: 0 peek, 1 erase."),
        ("approve", ("--yes", "--arguments", "{}"), "--arguments is for one call: name it with --call (0 peek, 1 era"),
        ("approve", ("--yes", "--call", "0", "--arguments", "[]"), "--arguments takes an object, not list."),
        (
            "approve",
            ("--yes", "--call", "1", "--arguments", '{"way": []}'),
            "tool 'erase': path: missing; expected text | way: unk",
        ),
        ("approve", ("--yes", "--call", "1", "--arguments", '{"way": 1}'), "It waits on; see what the tool takes: nr-"),
        ("approve", ("--yes", "--json", "--ndjson"), "--json and --ndjson exclude each other."),
        ("deny", ("--call", "2"), "Call 2 waits for nobody"),
    ],
)
def test_a_wrong_line_decides_nothing(shop: Shop, command: str, arguments: tuple[str, ...], said: str) -> None:
    """It is a fault of usage, and the run waits."""
    run_id = held(shop, BOTH, *ALL)
    result = on(shop, command, run_id, *arguments)

    assert result.exit_code == 2
    assert said in result.stderr
    assert shop.runs()[0].status is RunStatus.WAITING_FOR_APPROVAL


def test_a_run_is_decided_on_once(shop: Shop) -> None:
    """The second learns what became of it, and programs the code."""
    run_id = held(shop)
    on(shop, "approve", run_id, "--yes")
    again, wrong = on(shop, "approve", run_id, "--yes", "--json"), on(shop, "input", run_id, "--values", "{}")

    assert (again.exit_code, wrong.exit_code) == (9, 9)
    assert last_error(again.stderr)["code"] == "refused"
    assert f"Run {run_id} does not wait for an approval: it is completed." in again.stderr
    assert f"See what became of it: nr-llm runs show {run_id}." in again.stderr
    assert results(shop, run_id) == ["erased x"]


def test_each_kind_of_wait_has_its_command(shop: Shop) -> None:
    """Whoever takes the wrong one is told the right one."""
    approval = on(shop, "input", held(shop), "--values", "{}")
    form = on(shop, "approve", held(shop, ORDERS, "-T", "order"), "--yes")

    assert (approval.exit_code, form.exit_code) == (9, 9)
    assert "See nr-llm runs approve " in approval.stderr
    assert "See nr-llm runs input " in form.stderr


def test_a_tool_that_is_gone_is_named(shop: Shop) -> None:
    """With what to install; it can be declined, and the run goes on without it."""
    run_id = held(shop, 'calling(("drop", {"path": "x"}))', "-T", "drop", "-T", "add")
    plugin_file(shop.folder, '"Done."')
    refused = on(shop, "approve", run_id, "--yes")
    declined = on(shop, "deny", run_id)

    assert refused.exit_code == 5
    assert f"Run {run_id} needs it. Name the file that has it with --plugin, or nr-llm runs deny" in refused.stderr
    assert "Call 0: drop (not installed)\n" in refused.stderr
    assert "The preview is withheld" in refused.stderr
    assert (declined.exit_code, declined.stdout) == (0, "Done.\n")


@pytest.mark.parametrize("command", [("approve", "--yes"), ("deny",)])
def test_a_model_that_is_gone_is_named(shop: Shop, command: tuple[str, ...]) -> None:
    """No other goes on with the run; it waits on, and whoever decides is told what to do."""
    run_id = held(shop)
    plugin_file(shop.folder, '"Done."', model="name='other'", more=TOOLS)
    result = on(shop, command[0], run_id, *command[1:])

    assert result.exit_code == 3
    assert "There is no provider named 'scripted'." in result.stderr
    assert f"Run {run_id} goes on with scripted:script and nothing was decided: " in result.stderr
    assert f"name its file with --plugin, or end the run: nr-llm runs cancel {run_id}." in result.stderr
    assert shop.runs()[0].status is RunStatus.WAITING_FOR_APPROVAL


def test_who_began_and_with_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the store decides on the runs of others, and learns that a tool is another than it was."""
    tools = {"tools": {"erase": {"package": "acme-files==1.0", "schema": ""}}}

    class Elsewhere(MemoryStore):
        def create(self, head: RunHead, change: RunChange) -> None:
            super().create(attrs.evolve(head, actor=Actor("ann"), provenance=tools), change)

    shop = open_shop(tmp_path, monkeypatch, Elsewhere())
    run_id = held(shop)
    result = on(shop, "approve", run_id, "--yes")

    assert result.exit_code == 0
    assert "  The run began with acme-files==1.0.\n" in result.stderr
    assert "on behalf of: ann\n" in result.stderr
    assert shop.runs()[0].head.actor == Actor("ann")


def test_what_goes_on_is_told_to_programs(shop: Shop) -> None:
    """As a document, or as events, like a run that began here."""
    document = json.loads(on(shop, "approve", held(shop), "--yes", "--json").stdout)
    lines = on(shop, "approve", held(shop), "--yes", "--ndjson").stdout.splitlines()
    events = [json.loads(line)["event"] for line in lines]

    assert (document["status"], document["content"]) == ("done", "Done.")
    assert [step["kind"] for step in document["steps"]] == ["approval", "tool", "request", "llm"]
    assert events == ["context", "step", "step", "step", "step", "done"]


def test_commands_take_a_store() -> None:
    """Without one there is nothing to decide on."""
    assert invoke("runs", "approve", "x", "--yes").exit_code == 3
    assert invoke("runs", "inbox").exit_code == 3


def test_refusals_have_their_remedy() -> None:
    """Each says what to do next."""
    stale, claimed = failure_of(StaleDecisionError("r1", 0)), failure_of(RunClaimedError("r1", "running"))

    assert (int(stale.exit), stale.hint) == (9, "See nr-llm runs inbox.")
    assert (int(claimed.exit), claimed.hint) == (9, "See what became of it: nr-llm runs show r1.")


def test_who_decides_is_no_administrator() -> None:
    """Tools for administrators stay closed."""
    assert (decider().id, decider().admin, decider().approver) == (me().id, False, True)
    assert not me().approver


def test_the_record_is_told_as_what_was_decided(shop: Shop) -> None:
    """Who said what to which call."""
    run_id = held(shop, BOTH, *ALL)
    on(shop, "approve", run_id, "--call", "1", "--arguments", '{"path": "y"}', "--yes")
    on(shop, "deny", run_id)
    form = held(shop, ORDERS, "-T", "order")
    on(shop, "input", form, "--values", '{"city": "Ghent"}')
    decided, filled = shop("runs", "show", run_id).stdout, shop("runs", "show", form).stdout

    assert f"{me().id} approves 1 erase with changed arguments\n" in decided
    assert f"{me().id} declines 0 peek\n" in decided
    assert f"{me().id} fills in 0 order\n" in filled
    assert "waits for a person: order\n" in filled


def test_an_interrupted_segment_is_cancelled(shop: Shop) -> None:
    """Ctrl-C while a run goes on, by whichever way, is in the record."""
    stop = "def stop(request):\n    raise KeyboardInterrupt\n"
    wants = 'calling(("erase", {"path": "x"})), stop'
    direct = shop.ask("hi", "-T", "erase", "--approve", "deny", replies=wants, more=stop)
    run_id = held(shop)
    plugin_file(shop.folder, "stop", more=stop)
    later = on(shop, "approve", run_id, "--yes")

    assert (direct.exit_code, later.exit_code) == (130, 130)
    assert "Interrupted after 1 round and 1 call" in later.stderr
    assert [run.status for run in shop.runs()] == [RunStatus.CANCELLED, RunStatus.CANCELLED]


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container; what the environment claims does not count."""
    monkeypatch.setattr("os.getuid", lambda: 3_000_000_000)
    monkeypatch.setenv("USER", "ann")

    assert me() == Actor("uid 3000000000")


# -- input ------------------------------------------------------------------------------------------------------


def test_a_form_is_filled_in(shop: Shop) -> None:
    """The person's values count, whatever the model wrote."""
    run_id = held(shop, ORDERS, "-T", "order")
    result = on(shop, "input", run_id, "--values", '{"city": "Ghent", "floor": 2}')

    assert (result.exit_code, result.stdout) == (0, "Done.\n")
    assert results(shop, run_id) == ["lamp goes to Ghent, floor 2"]


def test_what_does_not_fit_is_refused(shop: Shop) -> None:
    """Every fault is named, and the run waits on."""
    run_id = held(shop, ORDERS, "-T", "order")
    result = on(shop, "input", run_id, "--values", '{"floor": -1}')

    assert result.exit_code == 2
    assert "does not fit its form: floor: it is less than the minimum of 0, got -1 | city: missing" in result.stderr
    assert "It waits on; see its form: " in result.stderr
    assert "call the tool again" not in result.stderr
    assert shop.runs()[0].status is RunStatus.WAITING_FOR_INPUT


def test_a_form_is_shown_where_nobody_can_be_asked(shop: Shop) -> None:
    """Without values and without a terminal the command says what it takes."""
    run_id = held(shop, ORDERS, "-T", "order")
    result = on(shop, "input", run_id)

    assert result.exit_code == 7
    assert "  It asks for:\n    city (string, required): Where to\n" in result.stderr
    assert '    floor (integer {"minimum":0}, may be left empty)\n' in result.stderr
    assert "--values has what is filled in." in result.stderr


def test_several_forms_are_filled_in_one_by_one(shop: Shop) -> None:
    """Values are for one call; the other waits on, and can be declined."""
    two = 'calling(("order", {"article": "lamp"}), ("order", {"article": "bulb"}))'
    run_id = held(shop, two, "-T", "order")
    vague = on(shop, "input", run_id, "--values", "{}")
    first = on(shop, "input", run_id, "--call", "1", "--values", '{"city": "Ghent"}')
    second = on(shop, "deny", run_id)

    assert (vague.exit_code, first.exit_code, second.exit_code) == (2, 7, 0)
    assert "--values is for one call: name it with --call (0 order, 1 order)." in vague.stderr
    assert results(shop, run_id)[1] == "bulb goes to Ghent, floor 0"
