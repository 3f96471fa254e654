"""`nr-llm policy explain`, and how runs and their records say what is closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nr_llm.privacy import StepRecord
from nr_llm.records import RunHead, StoredRun, StoredStep
from nr_llm_cli import render
from nr_llm_cli.timeline import lines_of

from tests.plugins.cli.shell import ask, invoke, plugin_file

WHERE = {"zone": "private", "ceiling": "content"}

MORE = '''
from nr_llm.providers import Endpoint


@tool(data_class="diagnostics")
def logs() -> str:
    """Read the log."""
    return "well"


@tool(data_class="public", admin_only=True)
def boss() -> str:
    """Be the boss."""
    return "well"


class Far(ScriptedProvider):
    def __init__(self, *replies):
        super().__init__(*replies)
        self.endpoint = Endpoint("api.acme.test")

ScriptedProvider = Far
'''


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A model elsewhere, and tools of all kinds."""
    return plugin_file(tmp_path, '"hi"', more=MORE)


def test_every_tool_is_explained(script: Path) -> None:
    """Each has a line with what a run would meet; what needs a person says so."""
    result = invoke("policy", "explain", "--plugin", script, "-m", "scripted:")
    lines = [line.split() for line in result.stdout.splitlines()]

    assert (result.exit_code, result.stderr) == (0, "")
    assert lines[0] == ["tool", "open", "usual", "reason", "data_class", "zone", "ceiling", "effect", "asks"]
    assert ["logs", "no", "no", "trust_zone", "diagnostics", "external_global", "content", "read"] in lines
    assert ["erase", "yes", "no", "content", "external_global", "content", "write", "approval"] in lines


def test_one_that_is_named_and_closed(script: Path) -> None:
    """The exit code says it, and a sentence says why."""
    result = invoke("policy", "explain", "logs", "add", "nosuch", "--plugin", script, "-m", "scripted:")

    assert result.exit_code == 5
    assert result.stderr.splitlines() == [
        "Tool 'logs' may return data of class diagnostics; zone external_global may be told content at most.",
        "Tool 'add' is open to this run.",
        "There is no tool named 'nosuch'.",
    ]


def test_without_any_model(script: Path) -> None:
    """Where nobody answers, nothing is said of zones, and the rest is explained all the same."""
    result = invoke("policy", "explain", "logs", "boss", "--plugin", script)

    assert [line.split()[:4] for line in result.stdout.splitlines()[1:]] == [
        ["logs", "yes", "yes", "diagnostics"],
        ["boss", "no", "no", "requires_admin"],
    ]


def test_of_a_tool_that_there_is_not_nothing_is_told(script: Path) -> None:
    """Neither a class nor an effect: it has none."""
    result = invoke("policy", "explain", "nosuch", "--plugin", script, "-m", "scripted:")

    assert result.stdout.splitlines()[1].split() == ["nosuch", "no", "no", "not_registered"]


def test_what_is_offered_if_it_is_named(script: Path) -> None:
    """The sentence says so, since without a name it would not be."""
    result = invoke("policy", "explain", "erase", "--plugin", script, "-m", "scripted:")

    assert result.stderr == "Tool 'erase' is open to this run. It is offered if it is named: -T erase.\n"


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ((), 5),
        (("--actor", "ann"), 0),
        (("--actor", "eve"), 5),
        (("--actor", "eve", "--group", "other", "--group", "editors"), 0),
        (("--group", "editors"), 0),
        (("--admin",), 0),
    ],
)
def test_for_somebody_else(script: Path, tmp_path: Path, who: tuple[str, ...], code: int) -> None:
    """What is open to ann, or to whoever is in a group, can be asked without being her."""
    config = tmp_path / "nr-llm.toml"
    config.write_text('[policy.restrict]\nadd = ["user:ann", "group:editors"]\n', "utf-8")
    result = invoke("--config", config, "policy", "explain", "add", "--plugin", script, "-m", "scripted:", *who)

    assert result.exit_code == code
    assert ("actor_not_permitted" in result.stdout) is (code == 5)


def test_for_programs(script: Path) -> None:
    """The document has the decision and its sentence."""
    result = invoke("policy", "explain", "add", "--plugin", script, "-m", "scripted:", "--json")
    [one] = json.loads(result.stdout)

    assert (result.exit_code, result.stderr) == (0, "")
    assert (one["tool"], one["open"], one["reason"], one["text"]) == (
        "add",
        True,
        "none",
        "Tool 'add' is open to this run.",
    )


def test_a_file_switches(script: Path, tmp_path: Path) -> None:
    """What the operator's file says is what is explained, and what holds."""
    config = tmp_path / "nr-llm.toml"
    config.write_text("[policy.tools]\nadd = false\n", "utf-8")

    assert invoke("policy", "explain", "add", "--plugin", script, "-m", "scripted:", "--config", config).exit_code == 5
    called = invoke("tools", "call", "add", "--json", '{"a": 1, "b": 2}', "--plugin", script, "--config", config)
    assert called.exit_code == 3
    assert "Tool 'add' is switched off." in called.stderr


def test_a_run_says_what_is_closed(script: Path) -> None:
    """Before the model is asked, one line for each reason."""
    lines = ask(script, "-T", "logs", "-T", "boss", "-T", "add").stderr.splitlines()

    assert lines[1:3] == [
        "not open: logs (data of class diagnostics; external_global may be told content at most)",
        "not open: boss (for administrators only)",
    ]


def test_what_is_closed_in_other_ways() -> None:
    """Every reason has its words, and what is let through says so."""
    decisions = [
        {"tool": "a", "reason": "tool_disabled"},
        {"tool": "b", "reason": "tool_disabled"},
        {
            "tool": "c",
            "reason": "none",
            "observed": True,
            "data_class": "secret",
            "zone": "private",
            "ceiling": "content",
        },
    ]

    assert render.policy_lines(decisions) == [
        "not open: a, b (switched off)",
        "let through: c (data of class secret; private may be told content at most)",
    ]


def test_a_record_says_it() -> None:
    """A kept run shows what was closed."""
    step = StepRecord(kind="policy", round=1, payload={"policy": [{"tool": "a", "reason": "not_granted"}]})
    run = StoredRun(head=RunHead(run_id="r", model="m"), raw_status="completed")

    assert "not open: a (not among the tools of the run)" in "\n".join(
        lines_of(run, [StoredStep(sequence=0, at=0.0, step=step)])
    )
