"""The live state of a run as JSON, over and over: a field that is the same object as before is not dumped again."""

from __future__ import annotations

from operator import attrgetter
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

_VALUES: Final = attrgetter(*(name for name, _ in _DEFAULTS))
_PLAIN: Final = frozenset({bool, int, float, str})
_ABSENT: Final[Any] = object()


class LiveState:
    """Dumps the states of one run, one after the other."""

    def __init__(self) -> None:
        self._known: tuple[Any, ...] = (_ABSENT,) * len(_DEFAULTS)
        self._found: dict[str, JSON] = {}

    def dump(self, state: RunState) -> dict[str, JSON]:
        """Return `state` without its messages, as `RunState.to_json` gives it."""
        values = _VALUES(state)
        for field, value, known in zip(_DEFAULTS, values, self._known, strict=True):
            if value is not known:
                self._take(*field, value)
        self._known = values
        return dict(self._found)

    def _take(self, name: str, default: object, value: object) -> None:
        if value == default:
            self._found.pop(name, None)
        else:
            self._found[name] = _dumped(value)


def _dumped(value: Any) -> JSON:
    plain: JSON = value if type(value) in _PLAIN else dump_field(value)
    return plain
