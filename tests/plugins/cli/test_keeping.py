"""`nr-llm run` where a store is installed: what is kept of a run, and how its conversation goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nr_llm import MemoryStore, PrivacyLevel, RunChange, RunHead, RunStatus
from nr_llm._segments import machine
from nr_llm_cli.options import LEVELS

from tests.plugins.cli.kept import Shop, open_shop
from tests.plugins.cli.shell import ADDS, ask, invoke, last_error, plugin_file

ECHO = 'lambda r: " | ".join(m.content for m in r.messages)'
ERASES = 'calling(("erase", {"path": "x"}))'


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A store that is installed, in memory."""
    return open_shop(tmp_path, monkeypatch)


def test_the_levels_are_the_cores() -> None:
    """The option offers what there is."""
    assert tuple(PrivacyLevel) == LEVELS


def test_a_run_is_kept(shop: Shop) -> None:
    """At level metadata, with its steps and totals, and nothing more is said about it."""
    result = shop.ask(replies=ADDS)
    [run] = shop.runs()

    assert result.stdout == "The sum is 3.\n"
    assert "kept" not in result.stderr
    assert (run.status, run.head.privacy, run.head.model) == (RunStatus.COMPLETED, "metadata", "scripted:script")
    assert (run.totals.rounds, run.totals.calls, run.steps) == (2, 1, 5)


def test_the_level_is_asked_for(shop: Shop, tmp_path: Path) -> None:
    """The option goes before the variable, the variable before the default; a configuration's stricter one stays."""
    shop.ask("a", "--privacy", "full", env={"NR_LLM_PRIVACY": "none"})
    shop.ask("b", env={"NR_LLM_PRIVACY": "Redacted"})
    strict = tmp_path / "nr-llm.toml"
    strict.write_text('[configurations.careful]\nprivacy = "redacted"\n', encoding="utf-8")
    shop.ask("c", "--config", strict, "-C", "careful", "--privacy", "full")

    assert {str(run.head.privacy) for run in shop.runs() if run.head.configuration} == {"redacted"}
    assert sorted(str(run.head.privacy) for run in shop.runs()) == ["full", "redacted", "redacted"]


def test_what_is_no_level_is_refused(shop: Shop) -> None:
    """A misspelt level keeps neither more nor less than somebody thinks: nothing is asked."""
    option, variable = shop.ask("hi", "--privacy", "al"), shop.ask("hi", env={"NR_LLM_PRIVACY": "al"})

    assert (option.exit_code, variable.exit_code) == (2, 2)
    assert "'al' is not one of" in option.stderr
    assert shop.runs() == []


def test_nothing_is_kept_where_that_is_wished(shop: Shop) -> None:
    """Neither with --no-store, nor of a dry run."""
    shop.ask("hi", "--no-store")
    shop.ask("hi", "--dry-run")

    assert shop.runs() == []


def test_a_run_that_waits_tells_its_name(shop: Shop) -> None:
    """It waits in the store, and the error says how to go on; without a store the remedy is another."""
    result = shop.ask("hi", "-T", "erase", replies=ERASES)
    [run] = shop.runs()
    unkept = shop.ask("hi", "-T", "erase", "--no-store", replies=ERASES)

    assert result.exit_code == 7
    assert run.status is RunStatus.WAITING_FOR_APPROVAL
    assert f"Run {run.run_id} waits for a person to approve erase; nothing of this turn" in result.stderr
    named = f"{run.run_id} --plugin {shop.folder / 'script.py'}"
    assert f"Decide: nr-llm runs approve {named} or nr-llm runs deny {named}; or end it: " in result.stderr
    assert result.stderr.endswith(f"nr-llm runs cancel {run.run_id}\n")
    assert f"decided, by nr-llm runs approve {run.run_id}\n" in shop("runs", "show", run.run_id).stdout
    assert "Choose other tools with -T" in unkept.stderr


def test_a_held_call_says_what_it_would_do(shop: Shop) -> None:
    """To whoever started the run, and to whoever looks into its record; its controls are visible."""
    more = '''
@tool(effect="write", preview=lambda path: [f"{path} would go", "\\x1b"])
def drop(path: str) -> str:
    """Drop a file."""
    return "gone"
'''
    replies = 'calling(("drop", {"path": "x"}))'
    result = shop.ask("hi", "-T", "drop", "--privacy", "full", replies=replies, more=more)
    shown = shop("runs", "show", shop.runs()[0].run_id).stdout

    assert '  waits: drop {"path":"x"}\n    x would go\n    \\u001b\n' in result.stderr
    assert "       drop would: x would go\n         \\u001b\n" in shown


def test_an_interrupted_run_is_cancelled(shop: Shop) -> None:
    """Ctrl-C leaves a record that says so, with every call answered."""
    more = "def stop(request):\n    raise KeyboardInterrupt\n"
    replies = 'calling(("add", {"a": 1, "b": 2})), stop'
    result = shop.ask("hi", "--privacy", "full", replies=replies, more=more)
    [run] = shop.runs()

    assert result.exit_code == 130
    assert (run.status, run.raw_reason, run.owner) == (RunStatus.CANCELLED, "cancelled", None)
    assert [entry.message["role"] for entry in shop.store.transcript(run.run_id)] == ["user", "assistant", "tool"]


def test_a_failed_run_is_kept_as_failed(shop: Shop) -> None:
    """With the error's class."""
    shop.ask(replies='ServiceError("broke")')

    assert [(run.status, run.error) for run in shop.runs()] == [(RunStatus.FAILED, "ServiceError")]


def test_abandoned_runs_are_settled_when_another_begins(shop: Shop) -> None:
    """Once, and without a word to whoever asks something else; those who debug see it."""
    gone = f"{machine()}:{2**22 + 1}:x"
    for name in ("old", "older"):
        shop.store.create(RunHead(run_id=name, model="m"), RunChange(run_id=name, at=0.0, claim=gone, lease=1e12))
        debugged = ("--debug",) if name == "older" else ()
        result = shop.ask("hi", *debugged)

        assert shop.store.run(name).status is RunStatus.FAILED
        assert ("was abandoned by its process" in result.stderr) is bool(debugged)


# -- going on ---------------------------------------------------------------------------------------------------


def test_the_last_conversation_goes_on(shop: Shop) -> None:
    """With the same model and at the same level, again and again; the record names the run before."""
    shop.ask("I am Ann.", "--privacy", "full", replies='"Hello Ann."')
    path = plugin_file(shop.folder, ECHO)
    second = shop("run", "Who am I?", "-c", "--plugin", path)
    third = shop("run", "And you?", "-c", "--plugin", path)
    last, middle, first = shop.runs()

    assert second.stdout == "I am Ann. | Hello Ann. | Who am I?\n"
    assert third.stdout == "I am Ann. | Hello Ann. | Who am I? | I am Ann. | Hello Ann. | Who am I? | And you?\n"
    assert (last.head.continues, middle.head.continues, first.head.continues) == (middle.run_id, first.run_id, None)
    assert last.head.privacy is PrivacyLevel.FULL


def test_a_named_conversation_goes_on(shop: Shop) -> None:
    """The beginning of its name is enough; what the command line says counts."""
    shop.ask("one", "--privacy", "full")
    [first] = shop.runs()
    shop.ask("two", "--privacy", "full")
    result = shop.ask("three", "--continue", first.run_id[:8], "--privacy", "none", replies=ECHO)

    assert result.stdout == "one | Hello. | three\n"
    assert (shop.runs()[0].head.continues, str(shop.runs()[0].head.privacy)) == (first.run_id, "none")


def test_going_on_without_keeping(shop: Shop) -> None:
    """The conversation is read, and nothing is written."""
    shop.ask("one", "--privacy", "full")
    result = shop.ask("two", "-c", "--no-store", replies=ECHO)

    assert result.stdout == "one | Hello. | two\n"
    assert len(shop.runs()) == 1


def test_the_configuration_goes_on(shop: Shop, tmp_path: Path) -> None:
    """A conversation keeps the bounds it began in, unless another configuration is named, which brings its model."""
    known = tmp_path / "nr-llm.toml"
    known.write_text(
        '[configurations.one]\nmodel = "scripted:a"\n[configurations.two]\nmodel = "scripted:b"\n', "utf-8"
    )
    path = plugin_file(tmp_path)
    base = ("--config", known, "--plugin", path, "--privacy", "full")
    shop("run", "hi", "-C", "one", *base)
    shop("run", "hi", "-c", *base)
    shop("run", "hi", "-c", "-C", "two", *base)

    told = [(run.head.configuration, run.head.model) for run in reversed(shop.runs())]
    assert told == [("one", "scripted:a"), ("one", "scripted:a"), ("two", "scripted:b")]


def test_an_unanswered_question_is_not_asked_again(shop: Shop) -> None:
    """A conversation goes on from what was answered."""
    shop.ask("one", "--privacy", "full")
    shop.ask("lost", "-c", replies='ServiceError("broke")')
    result = shop.ask("two", "-c", replies=ECHO)

    assert result.stdout == "one | Hello. | two\n"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (None, "No run is kept yet"),
        (("hi",), "was kept at privacy level 'metadata'"),
        (("hi", "-T", "erase", "--privacy", "full"), "has not ended, it is waiting_for_approval"),
    ],
)
def test_why_a_conversation_does_not_go_on(shop: Shop, first: tuple[str, ...] | None, said: str) -> None:
    """The error says why, and what to do."""
    if first is not None:
        shop.ask(*first, replies=ERASES if "erase" in first else '"Hello."')
    result = shop.ask("more", "-c", "--json")

    assert result.exit_code == 3
    assert said in result.stderr
    assert last_error(result.stderr)["hint"]


@pytest.mark.parametrize(("last", "hint"), [((), "--privacy full"), (("--privacy", "full"), "nr-llm providers list")])
def test_a_conversation_that_is_not_there_is_not_taken_for_a_missing_model(
    shop: Shop, last: tuple[str, ...], hint: str
) -> None:
    """The model is that of the run before, so nobody is told how to come by one."""
    shop.ask("one", *last, replies=ECHO)
    result = shop("run", "two", "-c", "--json")

    assert result.exit_code == 3
    assert hint in last_error(result.stderr)["hint"]
    assert "three ways" not in result.stderr


def test_going_on_takes_a_store(tmp_path: Path) -> None:
    """Without one the error says how to get it; with a system prompt it contradicts itself."""
    without, twice = ask(plugin_file(tmp_path), "-c"), ask(plugin_file(tmp_path), "-c", "-s", "Be kind.")

    assert (without.exit_code, twice.exit_code) == (3, 2)
    assert "No store is installed, so no run is kept. Install one: pip install 'nr-llm[store]'." in without.stderr
    assert "-s belongs to the first question" in twice.stderr


def test_a_level_without_a_store_is_remarked_on(tmp_path: Path) -> None:
    """Whoever asks for a record learns that there is none; a variable that is always set is no question."""
    path, level = plugin_file(tmp_path), ("--privacy", "full")
    asked, wished = ask(path, *level), ask(path, *level, "--no-store")
    usual = ask(path, env={"NR_LLM_PRIVACY": "full"})

    assert (asked.exit_code, asked.stdout) == (0, "The sum is 3.\n")
    assert ["No store is installed" in told.stderr for told in (asked, wished, usual)] == [True, False, False]


def test_a_store_that_fails_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be recorded does not go on."""

    class Full(MemoryStore):
        def create(self, head: RunHead, change: RunChange) -> None:
            raise OSError("disk full")

    shop = open_shop(tmp_path, monkeypatch, Full())
    result = shop.ask("hi", "--json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert last_error(result.stderr)["code"] == "unexpected"


def test_programs_learn_the_name(shop: Shop) -> None:
    """The document names the run as the store does."""
    found = json.loads(shop.ask("hi", "--json").stdout)

    assert [run.run_id for run in shop.runs()] == [found["run_id"]]
    assert invoke("runs", "list").exit_code == 3
