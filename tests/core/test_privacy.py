"""One filter stands before every writer: what each level keeps of a step, and what never leaves."""

from __future__ import annotations

import json
import logging
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import ChatMessage, Redactor, RunStep, ToolArtifact, ToolCall
from nr_llm.privacy import (
    CONTENT_FIELDS,
    CUT,
    EMAIL,
    LEAF_CHARACTERS,
    METADATA_FIELDS,
    PrivacyLevel,
    StepFilter,
    strictest,
)
from nr_llm.secrets import MASK

from tests.core.test_messages import messages

SECRET = "tiger-lily-7781"
MARKER = "plain-marker-3309"
KEY = "sk-" + "a1B2c3D4e5F6" * 3

SAID = f"{MARKER} {SECRET} {KEY} mail me at ann.b@example.org"

STEP = RunStep(
    kind="tool",
    round=2,
    duration_ms=3.5,
    messages_sent=(ChatMessage.user(SAID), ChatMessage.assistant("fine")),
    tool_specs=("look",),
    content=SAID,
    reasoning=SAID,
    finish_reason="stop",
    input_tokens=3,
    output_tokens=4,
    total_tokens=7,
    attempts=2,
    requested_tool_calls=(ToolCall("c1", "look", {"where": SAID}),),
    raw={"body": SAID},
    tool_name="look",
    tool_call_id="c1",
    tool_arguments={"where": SAID, SECRET: 1},
    tool_result=SAID,
    tool_is_error=False,
    tool_executed=True,
    tool_artifacts=(ToolArtifact.table(SAID, ["a", SAID], [[SAID, 1], [None, True]]),),
    context_budget={"budget": 100},
)


def kept(level: PrivacyLevel, step: RunStep = STEP) -> dict[str, Any]:
    """Return what a level keeps of a step."""
    return StepFilter(level, Redactor([SECRET])).record(step).to_dict()


class TestLevels:
    @pytest.mark.parametrize("level", [PrivacyLevel.NONE, PrivacyLevel.METADATA])
    def test_metadata(self, level: PrivacyLevel) -> None:
        """Counts, types and names are left of content, and a mark that it is gone; `none` is the same."""
        assert kept(level) == {
            "kind": "tool",
            "round": 2,
            "duration_ms": 3.5,
            "messages_sent_count": 2,
            "tool_specs": ["look"],
            "content_length": len(SAID),
            "reasoning_length": len(SAID),
            "finish_reason": "stop",
            "input_tokens": 3,
            "output_tokens": 4,
            "total_tokens": 7,
            "attempts": 2,
            "requested_tool_names": ["look"],
            "tool_name": "look",
            "tool_call_id": "c1",
            "tool_result_length": len(SAID),
            "tool_is_error": False,
            "tool_executed": True,
            "tool_artifacts_count": 1,
            "tool_artifacts_types": ["table"],
            "context_budget": {"budget": 100},
            "content_redacted": True,
        }

    def test_every_step_is_marked(self) -> None:
        """Also one that had no content."""
        assert kept(PrivacyLevel.METADATA, RunStep(kind="context", round=1))["content_redacted"] is True

    def test_redacted(self) -> None:
        """Secrets and addresses are masked in every leaf, label and type included; the rest and the shape stay."""
        found = kept(PrivacyLevel.REDACTED)
        text = json.dumps(found, ensure_ascii=False)

        assert SECRET not in text
        assert KEY not in text
        assert "example.org" not in text
        assert "content_redacted" not in found
        masked = f"{MARKER} {MASK} {MASK} mail me at {MASK}"
        assert found["content"] == found["reasoning"] == found["tool_result"] == masked
        assert found["tool_arguments"] == {"where": masked, MASK: 1}
        assert found["raw"] == {"body": masked}
        assert found["tool_artifacts"] == [
            {"type": "table", "label": masked, "data": {"columns": ["a", masked], "rows": [[masked, 1], [None, True]]}}
        ]
        assert found["messages_sent"][0] == {"role": "user", "content": masked}
        assert found["requested_tool_calls"] == [{"id": "c1", "name": "look", "arguments": {"where": masked}}]

    def test_a_type_passes_the_redactor(self) -> None:
        """What calls itself a type is text like any other."""
        artifact = ToolArtifact(SECRET, "x", {"text": "y"})

        assert kept(PrivacyLevel.REDACTED, attrs.evolve(STEP, tool_artifacts=(artifact,)))["tool_artifacts"] == [
            {"type": MASK, "label": "x", "data": {"text": "y"}}
        ]

    def test_full(self) -> None:
        """Everything as it was."""
        assert kept(PrivacyLevel.FULL) == STEP.to_dict()

    def test_long_texts_are_cut(self) -> None:
        """Visibly, to the bound, only where they are redacted; what is cut once stays as it is."""
        step = RunStep(kind="llm", round=1, content="x" * 5000)
        text = kept(PrivacyLevel.REDACTED, step)["content"]

        assert len(text) == LEAF_CHARACTERS
        assert text.endswith(CUT)
        assert kept(PrivacyLevel.REDACTED, attrs.evolve(step, content=text))["content"] == text
        assert kept(PrivacyLevel.FULL, step)["content"] == "x" * 5000

    def test_keys_that_look_alike_once_cut(self) -> None:
        """Both stay."""
        long = "k" * LEAF_CHARACTERS
        step = RunStep(kind="tool", round=1, tool_arguments={long + "1": 1, long + "2": 2})

        assert sorted(kept(PrivacyLevel.REDACTED, step)["tool_arguments"].values()) == [1, 2]

    @given(st.lists(messages, max_size=3))
    def test_filtering_twice_is_filtering_once(self, sent: list[ChatMessage]) -> None:
        """A stored text that is stored again stays as it is."""
        filter_ = StepFilter(PrivacyLevel.REDACTED, Redactor([SECRET]))
        once = filter_.record(RunStep(kind="request", round=1, raw=[message.to_wire() for message in sent])).payload
        again = filter_.record(RunStep(kind="request", round=1, raw=once["raw"])).payload

        assert again == once


class TestNamesOfOthers:
    """A model may call a tool that there is not by any text, and a service may name a call or an end by any."""

    STEP = RunStep(
        kind="tool",
        round=1,
        requested_tool_calls=(
            ToolCall("c1", f"ask {MARKER}", {}),
            ToolCall("c2", SECRET, {}),
            ToolCall("c", "look", {}),
        ),
        finish_detail=f"over {SAID}",
        tool_name=SECRET,
        tool_call_id=f"id {SAID}",
        decided_by=f"by {SECRET}",
        decisions=({"tool": SECRET, "approved": True},),
    )

    @pytest.mark.parametrize("level", [PrivacyLevel.NONE, PrivacyLevel.METADATA])
    def test_metadata(self, level: PrivacyLevel) -> None:
        """What is no name is masked, and what is a secret too."""
        assert kept(level, self.STEP) == {
            "kind": "tool",
            "round": 1,
            "duration_ms": 0.0,
            "requested_tool_names": [MASK, MASK, "look"],
            "finish_detail": MASK,
            "tool_name": MASK,
            "tool_call_id": MASK,
            "decided_by": f"by {MASK}",
            "decisions": [{"tool": MASK, "approved": True}],
            "content_redacted": True,
        }

    def test_redacted(self) -> None:
        """They are masked as content is."""
        found = kept(PrivacyLevel.REDACTED, self.STEP)
        text = json.dumps(found)

        assert (SECRET in text, KEY in text, "ann.b@" in text) == (False, False, False)
        assert found["tool_call_id"] == f"id {MARKER} {MASK} {MASK} mail me at {MASK}"

    def test_full(self) -> None:
        """They are as they were."""
        assert kept(PrivacyLevel.FULL, self.STEP)["tool_name"] == SECRET


class TestAllowList:
    def test_every_field_is_classified(self) -> None:
        """A field that is added has to be put into one of the two sets, and neither names one that is gone."""
        fields = {field.name for field in attrs.fields(RunStep)} - {"kind", "round", "duration_ms"}

        assert fields == METADATA_FIELDS | set(CONTENT_FIELDS)
        assert not METADATA_FIELDS & set(CONTENT_FIELDS)

    @pytest.mark.parametrize("level", list(PrivacyLevel))
    def test_a_field_nobody_classified(self, level: PrivacyLevel, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is withheld, but where everything is kept."""
        monkeypatch.setattr("nr_llm.privacy.METADATA_FIELDS", METADATA_FIELDS - {"finish_reason"})

        assert ("finish_reason" in kept(level)) is (level is PrivacyLevel.FULL)

    def test_what_cannot_be_filtered_is_withheld(self, caplog: pytest.LogCaptureFixture) -> None:
        """The step is kept, without its content and with the reason."""
        nonsense: Any = object()
        broken = attrs.evolve(STEP, tool_artifacts=(nonsense,))

        assert kept(PrivacyLevel.METADATA, broken) == {
            "kind": "tool",
            "round": 2,
            "duration_ms": 3.5,
            "withheld": "AttributeError",
        }
        assert "its content is withheld" in caplog.text


class TestNames:
    @pytest.mark.lesson(128)
    @pytest.mark.parametrize(
        ("value", "level"),
        [
            (None, PrivacyLevel.METADATA),
            ("full", PrivacyLevel.FULL),
            (" Redacted ", PrivacyLevel.REDACTED),
            (PrivacyLevel.NONE, PrivacyLevel.NONE),
        ],
    )
    def test_of(self, value: object, level: PrivacyLevel, caplog: pytest.LogCaptureFixture) -> None:
        """A setting names a level; unset is metadata."""
        assert PrivacyLevel.of(value) is level
        assert not caplog.records

    @pytest.mark.parametrize("value", ["ful", "", 3])
    def test_of_what_is_no_level(self, value: object, caplog: pytest.LogCaptureFixture) -> None:
        """Metadata, and a warning."""
        caplog.set_level(logging.WARNING)

        assert PrivacyLevel.of(value) is PrivacyLevel.METADATA
        assert "is no privacy level" in caplog.text

    def test_strictest(self) -> None:
        """When two levels apply the stricter one counts; metadata where none does."""
        assert strictest(PrivacyLevel.FULL, PrivacyLevel.REDACTED, None) is PrivacyLevel.REDACTED
        assert strictest(PrivacyLevel.NONE, PrivacyLevel.METADATA) is PrivacyLevel.NONE
        assert strictest(None) is PrivacyLevel.METADATA

    @pytest.mark.parametrize("text", ["a@b", "no mail", "@x.org", "user@localhost", "x = y@z"])
    def test_no_address(self, text: str) -> None:
        """What only looks a little like an address stays."""
        assert not EMAIL.search(text)


def test_a_message_is_filtered_once() -> None:
    """A conversation that grows costs what is new; another message in the same place is another message."""
    filter_ = StepFilter(PrivacyLevel.REDACTED, Redactor())
    first, second = ChatMessage.user("a"), ChatMessage.user("a")

    assert filter_.message(first) is filter_.message(first)
    assert filter_.message(second) is not filter_.message(first)
    assert StepFilter(PrivacyLevel.METADATA, Redactor()).message(first) is None
