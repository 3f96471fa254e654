"""
The one filter between a run and whatever keeps or watches it: how much of each step may leave.

Only the host's own live observers see a step before it.  The fields of a step are an allow-list: one that is not
classified here is withheld at every level but the last, so a new field cannot leak by being forgotten.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

import attrs

from nr_llm._json import JSON, dump_value
from nr_llm.messages import ChatMessage
from nr_llm.redaction import Redactor
from nr_llm.secrets import MASK
from nr_llm.steps import RunStep, plain

LEAF_CHARACTERS: Final = 2_000
"""Characters of one text that are kept at level `redacted` (the reference system's figure)."""

CUT: Final = "… [cut]"
"""What follows a text that was cut."""

EMAIL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?=([A-Za-z0-9-]{1,63}\.){1,8})[A-Za-z0-9.-]+")

NAME: Final = re.compile(r"[A-Za-z0-9_.:/|=+-]{1,128}")
"""What the names and ids of services look like; where content is not kept, nothing else passes for one."""

_LOG = logging.getLogger("nr_llm")


class PrivacyLevel(StrEnum):
    """
    How much of a run may be kept, strictest first.

    `NONE` and `METADATA` keep kinds, times, counts and names; `REDACTED` keeps content with credentials and addresses
    masked and long texts cut; `FULL` keeps everything as it was.
    """

    NONE = "none"
    METADATA = "metadata"
    REDACTED = "redacted"
    FULL = "full"

    @classmethod
    def of(cls, value: object) -> PrivacyLevel:
        """Return the level a setting names; `METADATA` for None, and with a warning for what is no level."""
        if value is None:
            return cls.METADATA
        try:
            return cls(str(value).strip().lower())
        except ValueError:
            _LOG.warning("%.40r is no privacy level (%s): metadata is kept alone", value, ", ".join(cls))
            return cls.METADATA

    @property
    def keeps_content(self) -> bool:
        """Whether any content is kept."""
        return self in (PrivacyLevel.REDACTED, PrivacyLevel.FULL)


def strictest(*levels: PrivacyLevel | None) -> PrivacyLevel:
    """Return the strictest of those that are not None; `METADATA` if none is."""
    order = tuple(PrivacyLevel)
    return min((level for level in levels if level is not None), key=order.index, default=PrivacyLevel.METADATA)


def strictest_named(*levels: PrivacyLevel | str | None) -> PrivacyLevel | None:
    """Return the strictest of those that are named, or None if none is."""
    given = [PrivacyLevel.of(level) for level in levels if level is not None]
    return strictest(*given) if given else None


@attrs.frozen(kw_only=True)
class StepRecord:
    """
    A step as it may be kept.

    Attributes:
        kind: What happened.
        round: The round it belongs to, counted from 1.
        duration_ms: How long it took, in milliseconds.
        payload: The rest, filtered: names of `RunStep` and their summaries.
    """

    __hash__ = None  # type: ignore[assignment]  # holds JSON

    kind: str
    round: int
    duration_ms: float = attrs.field(default=0.0, eq=False)
    payload: Mapping[str, JSON] = attrs.field(factory=dict)

    def to_dict(self) -> dict[str, JSON]:
        """Return the step as one JSON object."""
        return {"kind": self.kind, "round": self.round, "duration_ms": self.duration_ms, **self.payload}


Summary: TypeAlias = Callable[[Any], Mapping[str, JSON]]

_NUMBERS: Final = frozenset({bool, int, float})  # masked by nobody

_HEAD: Final = frozenset({"kind", "round", "duration_ms"})

METADATA_FIELDS: Final = frozenset(
    {
        "tool_specs",
        "finish_reason",
        "finish_detail",
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "cached_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "cost",
        "attempts",
        "tool_name",
        "tool_call_id",
        "tool_is_error",
        "tool_executed",
        "context_budget",
        "decided_by",
        "decisions",
        "policy",
    }
)
"""Fields of a step that survive at every level."""


_CHOSEN_ELSEWHERE: Final = frozenset({"finish_detail", "tool_name", "tool_call_id"})
"""Those of them whose text a model or a service chose, who may write anything there."""


def _name(text: str) -> str:
    return text if NAME.fullmatch(text) else MASK


def _nothing(value: Any) -> Mapping[str, JSON]:
    del value
    return {}


CONTENT_FIELDS: Final[Mapping[str, Summary]] = {
    "messages_sent": lambda messages: {"messages_sent_count": len(messages)},
    "content": lambda text: {"content_length": len(text)},
    "reasoning": lambda text: {"reasoning_length": len(text)},
    "requested_tool_calls": lambda calls: {"requested_tool_names": [_name(call.name) for call in calls]},
    "edited_arguments": lambda calls: {"edited_arguments_count": len(calls)},
    "raw": _nothing,
    "tool_arguments": _nothing,
    "tool_result": lambda text: {"tool_result_length": len(text)},
    "tool_artifacts": lambda artifacts: {
        "tool_artifacts_count": len(artifacts),
        "tool_artifacts_types": [str(artifact.type) for artifact in artifacts],
    },
    "previews": lambda previews: {"previews_count": len(previews)},
}
"""Fields of a step that hold content, and what is left of each where content is not kept."""


class StepFilter:
    """
    Filters the steps of one run.

    Args:
        level: How much may leave.
        redactor: Masks at level `redacted`.
    """

    def __init__(self, level: PrivacyLevel, redactor: Redactor) -> None:
        self.level = level
        self._redactor = redactor
        self._messages: dict[int, tuple[ChatMessage, JSON]] = {}  # what was sent before is not filtered again

    def record(self, step: RunStep) -> StepRecord:
        """Return what may be kept of a step; it never raises: what cannot be filtered is withheld, and says so."""
        try:
            payload = self._payload(step)
        except Exception as error:  # noqa: BLE001 - fail closed, whatever broke
            _LOG.warning(
                "A %s step could not be filtered (%s): its content is withheld", step.kind, type(error).__name__
            )
            payload = {"withheld": type(error).__name__}
        return StepRecord(kind=str(step.kind), round=step.round, duration_ms=step.duration_ms, payload=payload)

    def message(self, message: ChatMessage) -> JSON:
        """Return what may be kept of a message, in the wire form; null where content is not kept."""
        if not self.level.keeps_content:
            return None
        known = self._messages.get(id(message))
        if known is None or known[0] is not message:
            known = self._messages[id(message)] = (message, self._content(message.to_wire()))
        return known[1]

    def kept(self, message: ChatMessage) -> JSON:
        """Return what may be kept of a message for good: at level `full` lossless, and no reasoning below it."""
        if self.level is PrivacyLevel.FULL:
            return dump_value(message)
        return self._content(dump_value(attrs.evolve(message, reasoning={}, provider_state={})))

    def _payload(self, step: RunStep) -> dict[str, JSON]:
        payload: dict[str, JSON] = {}
        keeps = self.level.keeps_content
        for name, value in step.given():
            if name in _HEAD:
                continue
            if name in METADATA_FIELDS:
                payload[name] = value if type(value) in _NUMBERS else self._fact(name, value)
            elif name in CONTENT_FIELDS and not keeps:
                for key, item in CONTENT_FIELDS[name](value).items():
                    payload[key] = self._masked(item)
            elif name == "messages_sent":
                payload[name] = [self.message(message) for message in value]
            elif name in CONTENT_FIELDS or self.level is PrivacyLevel.FULL:
                payload[name] = self._content(plain(value))
        if not keeps:
            payload["content_redacted"] = True
        return payload

    def _fact(self, name: str, value: Any) -> JSON:
        """Return what survives at every level: below `full` without secrets, and of what others chose only names."""
        value = plain(value)
        if self.level is PrivacyLevel.FULL:
            return value  # type: ignore[no-any-return]
        if name in _CHOSEN_ELSEWHERE:
            value = self._chosen(value)
        elif name == "decisions":  # a person may decide on a call of a tool that there is not
            value = [{**one, "tool": self._chosen(one.get("tool"))} for one in value]
        return self._masked(value)

    def _chosen(self, value: JSON) -> JSON:
        """Return a text that a model or a service chose: where content is not kept, only what looks like a name."""
        return self._content(value) if self.level.keeps_content else _name(str(value))

    def _masked(self, value: JSON) -> JSON:
        """Return a value whose texts hold no secrets; its numbers and keys are ours."""
        if type(value) in _NUMBERS:
            return value
        if isinstance(value, str):
            return self._redactor.redact(value)
        if isinstance(value, list):
            return [self._masked(item) for item in value]
        return {name: self._masked(item) for name, item in value.items()} if isinstance(value, Mapping) else value

    def _content(self, value: JSON) -> JSON:
        return value if self.level is PrivacyLevel.FULL else _shortened(self._redactor.redact_json(value))


def _shortened(value: JSON) -> JSON:
    """Return a redacted value without addresses of people, each text cut to its bound."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, Mapping):
        return _short_object(value)
    return [_shortened(item) for item in value] if isinstance(value, list) else value


def _short_object(value: Mapping[str, JSON]) -> dict[str, JSON]:
    shortened: dict[str, JSON] = {}
    for key, item in value.items():
        name = _short(key)
        while name in shortened:  # two keys that look alike once cut
            name += "'"
        shortened[name] = _shortened(item)
    return shortened


def _short(text: str) -> str:
    masked = EMAIL.sub(MASK, text) if "@" in text else text
    return masked if len(masked) <= LEAF_CHARACTERS else masked[: LEAF_CHARACTERS - len(CUT)] + CUT
