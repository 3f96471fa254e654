"""Puts the messages back into the steps that name them by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from nr_llm._json import JSON, load_value
from nr_llm.errors import ConfigurationError
from nr_llm.messages import ChatMessage
from nr_llm.privacy import PrivacyLevel
from nr_llm.records import StoredRun, StoredStep, TranscriptEntry


def expanded(
    steps: Sequence[StoredStep], transcript: Callable[[], Sequence[TranscriptEntry]], *, level: PrivacyLevel
) -> tuple[StoredStep, ...]:
    """
    Return steps with messages in place of their numbers.

    Args:
        steps: Steps as stored.
        transcript: Returns the messages of the run; called if a step needs them.
        level: How much of the run was kept; at `FULL` messages are shown in the wire form, as they were sent.
    """
    if not any("messages_sent" in step.step.payload for step in steps):
        return tuple(steps)
    whole = level is PrivacyLevel.FULL
    messages: list[JSON] = [
        load_value(entry.message, ChatMessage).to_wire() if whole else entry.message for entry in transcript()
    ]
    return tuple(_expanded(step, messages) for step in steps)


def _expanded(stored: StoredStep, messages: Sequence[JSON]) -> StoredStep:
    payload = stored.step.payload
    if "messages_sent" not in payload:
        return stored
    spans: Any = payload["messages_sent"]
    sent = [message for start, end in spans for message in messages[start:end]]
    return attrs.evolve(stored, step=attrs.evolve(stored.step, payload={**payload, "messages_sent": sent}))


def conversation(run: StoredRun, transcript: Sequence[TranscriptEntry]) -> tuple[ChatMessage, ...]:
    """
    Return what was said in a run.

    Raises:
        ConfigurationError: It was kept at a level below `full`.
    """
    if run.head.privacy is not PrivacyLevel.FULL:
        raise ConfigurationError(
            f"Run {run.run_id} was kept at privacy level {str(run.head.privacy)!r}: its conversation is not there.",
            remedy="Runs that shall be gone on with are kept at level 'full': --privacy full, or privacy = \"full\".",
        )
    return tuple(load_value(entry.message, ChatMessage) for entry in transcript if entry.said)
