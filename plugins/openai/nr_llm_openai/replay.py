"""What a service wants back with its calls, such as signed reasoning, gathered from a reply or a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nr_llm.codecs.json import JSON


class Replay:
    """
    Gathers the fields that a service wants back on an assistant turn.

    Args:
        fields: Their names; texts are joined, lists are merged by the index of their entries.
    """

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[dict[str, JSON]]] = {}

    def add(self, message: Mapping[str, JSON]) -> None:
        """Take what a message, or a piece of one, brings."""
        for field in self._fields:
            value = message.get(field)
            if isinstance(value, str):
                self._texts.setdefault(field, []).append(value)
            elif isinstance(value, list):
                entries = self._lists.setdefault(field, [])
                for entry in value:
                    if isinstance(entry, dict):
                        _merge(entries, entry)

    def state(self) -> dict[str, JSON]:
        """Return the fields as the service wants them back."""
        texts: dict[str, JSON] = {field: "".join(pieces) for field, pieces in self._texts.items()}
        return texts | {field: list[JSON](entries) for field, entries in self._lists.items()}


def _merge(entries: list[dict[str, JSON]], entry: dict[str, JSON]) -> None:
    """Append an entry, or go on with the last one if it is a piece of the same."""
    last = entries[-1] if entries else {}
    if "index" not in entry or any(last.get(key) != entry.get(key) for key in ("index", "type")):
        entries.append(dict(entry))
        return
    for key, value in entry.items():
        grows = key in ("text", "summary", "data") and isinstance(value, str)
        known = last.get(key)
        last[key] = known + value if grows and isinstance(known, str) and isinstance(value, str) else value
