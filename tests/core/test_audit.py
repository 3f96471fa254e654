"""What a write was about is on record whatever the privacy level: as a digest, masked, or whole."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from nr_llm import (
    HOST,
    Actor,
    MemoryStore,
    Policy,
    PrivacyLevel,
    Redactor,
    RunHistory,
    RunStep,
    Runtime,
    StepKind,
    Suspended,
    ToolCall,
    replay,
    tool,
)
from nr_llm._json import encode_bytes
from nr_llm.audit import AuditedFilter, WriteAudit
from nr_llm.testing import ScriptedProvider, calling

SECRET = "sk-0123456789abcdefghijklmnop"


@tool(effect="write")
def put(what: str) -> str:
    """Put something."""
    return f"put {what}"


@tool(approval=True)
def peek(what: str) -> str:
    """Look at something behind a door."""
    return f"saw {what}"


def kept(level: str, audit: str, *, edit: dict[str, Any] | None = None) -> MemoryStore:
    """Return the store of a run that was held with a write and a read, and decided on."""
    store = MemoryStore()
    provider = ScriptedProvider(calling(("put", {"what": f"milk {SECRET}"}), ("peek", {"what": "cellar"})), "done")
    settings: dict[str, Any] = {"store": store, "privacy": level, "policy": Policy(write_arguments=audit)}
    with Runtime(tools=[put, peek], providers=[provider], model="scripted:m", **settings) as own:
        assert isinstance(own.run("hi", tools=["put", "peek"], actor=Actor("ann"), run_id="r"), Suspended)
        waiting = RunHistory(store, HOST).waiting("r")
        decisions = [waiting.decision(0, approve=True, arguments=edit), waiting.decision(1, approve=True)]
        own.decide("r", decisions, by=Actor("bob", approver=True))
    return store


def payloads(store: MemoryStore, kind: str) -> list[Any]:
    """Return what is kept of the steps of a kind."""
    return [one.step.payload for one in store.steps("r") if one.step.kind == kind]


@pytest.mark.parametrize("level", ["none", "metadata", "redacted"])
def test_a_digest(level: str):
    """The digest is of run, call, tool and arguments: whoever has them can prove what they were."""
    write, read = payloads(kept(level, "digest"), "tool")
    call = ["r", write["tool_call_id"], "put", {"what": f"milk {SECRET}"}]

    assert write["tool_arguments_digest"] == hashlib.sha256(encode_bytes(call)).hexdigest()
    assert "tool_arguments_digest" not in read
    assert ("tool_arguments" in write) is (level == "redacted")


@pytest.mark.parametrize("level", ["none", "metadata"])
def test_masked(level: str):
    """The arguments of writes are kept without secrets, those of reads are not."""
    store = kept(level, "redacted", edit={"what": f"beer {SECRET}"})
    write, read = payloads(store, "tool")
    asked, said = payloads(store, "approval")

    assert "beer" in write["tool_arguments"]["what"]
    assert SECRET not in str([write, asked, said])
    assert [call["name"] for call in asked["requested_tool_calls"]] == ["put"]
    assert [one["index"] for one in said["edited_arguments"]] == [0]
    assert "tool_arguments" not in read
    assert "tool_result" not in write


def test_whole():
    """They are kept as they were, and nothing else of the step."""
    write, _ = payloads(kept("metadata", "full"), "tool")

    assert write["tool_arguments"] == {"what": f"milk {SECRET}"}
    assert "tool_result" not in write


@pytest.mark.parametrize("audit", WriteAudit)
def test_a_whole_record_is_as_it_was(audit: WriteAudit):
    """At level `full` everything is kept anyway, and a replay finds no difference."""
    store = kept("full", audit)

    assert payloads(store, "tool")[0]["tool_arguments"] == {"what": f"milk {SECRET}"}
    assert replay(RunHistory(store, HOST), "r").differences == ()


@pytest.mark.parametrize("level", ["none", "metadata"])
@pytest.mark.parametrize("audit", WriteAudit)
def test_a_turn_of_all_kinds(level: str, audit: WriteAudit):
    """Of a turn of reads and writes, held and not, changed, declined and refused, writes alone are kept."""

    @tool(effect="write", approval=False)
    def note(what: str) -> str:
        """Note something."""
        return f"noted {what}"

    @tool
    def look(what: str) -> str:
        """Look at something."""
        return f"saw {what}"

    turn = calling(
        ("put", {"what": "write-1"}),
        ("note", {"what": "write-2"}),
        ("peek", {"what": "read-1"}),
        ("look", {"what": "read-2"}),
        ("put", {"what": "write-3"}),
        ("nobody", {"what": "read-3"}),
        ToolCall("c9", "put", {}, malformed="{read-4"),
    )
    store = MemoryStore()
    settings: dict[str, Any] = {"store": store, "privacy": level, "policy": Policy(write_arguments=audit)}
    tools = [put, note, peek, look]
    with Runtime(tools=tools, providers=[ScriptedProvider(turn, "done")], model="scripted:m", **settings) as own:
        own.run("hi", tools=tools, actor=Actor("ann"), run_id="r")
        waiting = RunHistory(store, HOST).waiting("r")
        decisions = [
            waiting.decision(0, approve=True, arguments={"what": "write-4"}),
            waiting.decision(2, approve=True, arguments={"what": "read-5"}),
            waiting.decision(4, approve=False),
        ]
        own.decide("r", decisions, by=Actor("bob", approver=True))

    found = set(re.findall(r"(?:read|write)-\d", str([one.step.payload for one in store.steps("r")])))
    assert found == (set() if audit is WriteAudit.DIGEST else {"write-1", "write-2", "write-3", "write-4"})


def test_other_steps_have_no_writes():
    """A step that is about no call is kept as ever; one that cannot be filtered stays withheld."""
    seen = AuditedFilter(
        PrivacyLevel.METADATA, Redactor(), audit=WriteAudit.FULL, writes=lambda _: True, run_id="r"
    ).at(PrivacyLevel.NONE)

    assert "requested_tool_calls" not in seen.record(RunStep(kind=StepKind.LLM, round=1, content="x")).payload
    broken = RunStep(kind=StepKind.TOOL, round=1, tool_name="put", tool_result=7)  # type: ignore[arg-type]
    assert seen.record(broken).payload == {"withheld": "TypeError"}
