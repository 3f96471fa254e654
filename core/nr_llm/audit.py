"""What a record keeps of writes beyond its privacy level: what was to be written, as a digest, masked or whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import attrs

from nr_llm._json import JSON, encode_bytes
from nr_llm.privacy import PrivacyLevel, StepFilter, StepRecord
from nr_llm.redaction import Redactor
from nr_llm.steps import RunStep, StepKind


class WriteAudit(StrEnum):
    """
    How the arguments of a write are kept where the privacy level keeps none.

    `DIGEST` proves later what they were to whoever has them; `REDACTED` keeps them with secrets masked and long texts
    cut, `FULL` as they were.
    """

    DIGEST = "digest"
    REDACTED = "redacted"
    FULL = "full"


class AuditedFilter(StepFilter):
    """
    Filters the steps of one run for its record.

    Args:
        level: How much is kept.
        redactor: Masks at level `redacted`.
        audit: How the arguments of writes are kept.
        writes: Says whether a tool of that name writes.
        run_id: The run; a digest is about it alone.
    """

    def __init__(
        self,
        level: PrivacyLevel,
        redactor: Redactor,
        *,
        audit: WriteAudit,
        writes: Callable[[str], bool],
        run_id: str,
    ) -> None:
        super().__init__(level, redactor)
        self._about: dict[str, Any] = {"audit": audit, "writes": writes, "run_id": run_id}
        self._audit, self._writes, self._run_id = audit, writes, run_id

    def at(self, level: PrivacyLevel) -> AuditedFilter:
        """Return a filter for another level."""
        return AuditedFilter(level, self._redactor, **self._about)

    def record(self, step: RunStep) -> StepRecord:
        """Return what may be kept of a step, with what is kept of the writes in it."""
        record = super().record(step)
        if self.level is PrivacyLevel.FULL or "withheld" in record.payload:
            return record
        writes = self._of_writes(step)
        return attrs.evolve(record, payload={**record.payload, **writes}) if writes else record

    def _of_writes(self, step: RunStep) -> dict[str, JSON]:
        if self._audit is WriteAudit.DIGEST:
            return self._digest(step)
        told = self._only_writes(step)
        if told is None:
            return {}
        kept = StepFilter(PrivacyLevel(self._audit), self._redactor).record(told).payload
        return {name: value for name, value in kept.items() if name in _ARGUMENTS}

    def _digest(self, step: RunStep) -> dict[str, JSON]:
        if step.kind is not StepKind.TOOL or not self._writes(step.tool_name or ""):
            return {}
        call: list[JSON] = [self._run_id, step.tool_call_id, step.tool_name, dict(step.tool_arguments or {})]
        return {"tool_arguments_digest": hashlib.sha256(encode_bytes(call)).hexdigest()}

    def _only_writes(self, step: RunStep) -> RunStep | None:
        """Return a step with the arguments of its writes alone, or None if it has none."""
        if step.kind is StepKind.TOOL:
            return step if self._writes(step.tool_name or "") else None
        if step.kind is not StepKind.APPROVAL:
            return None
        calls = tuple(call for call in step.requested_tool_calls or () if self._writes(call.name))
        writing = {one["index"] for one in step.decisions or () if self._writes(str(one["tool"]))}
        changed = tuple(one for one in step.edited_arguments or () if one["index"] in writing)
        return attrs.evolve(step, requested_tool_calls=calls or None, edited_arguments=changed or None)


_ARGUMENTS = frozenset({"tool_arguments", "requested_tool_calls", "edited_arguments"})
