"""The live state of a run as JSON, over and over: a field that is the same object as before is not dumped again."""

from __future__ import annotations

from typing import Any, Final

import attrs

from nr_llm._json import JSON, dump_field
from nr_llm.state import RunState

_DEFAULTS: Final = tuple(
    (field.name, field.default.factory() if isinstance(field.default, attrs.Factory) else field.default)  # type: ignore[arg-type,union-attr]
    for field in attrs.fields(RunState)
    if field.name != "messages"
)
"""The fields of a state beside its messages, each with what it is when it is not given."""

_ABSENT: Final[Any] = object()


class LiveState:
    """Dumps the states of one run, one after the other."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Any]] = {}

    def dump(self, state: RunState) -> dict[str, JSON]:
        """Return `state` without its messages, as `RunState.to_json` gives it."""
        found: dict[str, JSON] = {}
        for name, default in _DEFAULTS:
            value = getattr(state, name)
            known = self._known.get(name)
            if known is None or known[0] is not value:
                known = self._known[name] = (value, _ABSENT if value == default else dump_field(value))
            if known[1] is not _ABSENT:
                found[name] = known[1]
        return found
