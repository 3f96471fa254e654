"""What a service wants back with its calls, such as signed reasoning, gathered from a reply or a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nr_llm.codecs.json import JSON


class Replay:
    """
    Gathers the fields that a service wants back on an assistant turn.

    Args:
        fields: Their names; texts are joined, lists are merged by the index of their entries.  ``content`` stands
            for content with thinking among it.
        texts: The pieces of text of the answer, to which the caller adds as they come.
    """

    def __init__(self, fields: Sequence[str], texts: Sequence[str]) -> None:
        self._fields = tuple(field for field in fields if field != "content")
        self._thinks = "content" in fields
        self._said = texts
        self._thoughts: list[tuple[int, list[dict[str, JSON]]]] = []  # what is thought, after so many pieces of text
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[dict[str, JSON]]] = {}

    def add(self, message: Mapping[str, JSON]) -> None:
        """Take what a message, or a piece of one, brings."""
        if self._thinks and isinstance(content := message.get("content"), list):
            self._think(content)
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
        content: dict[str, JSON] = {"content": self._content()} if self._thoughts else {}
        return texts | {field: list[JSON](entries) for field, entries in self._lists.items()} | content

    def _think(self, content: Sequence[JSON]) -> None:
        for part in content:
            if not isinstance(part, dict) or part.get("type") == "text":
                continue
            if not self._thoughts or self._thoughts[-1][0] != len(self._said):
                self._thoughts.append((len(self._said), []))
            _go_on(self._thoughts[-1][1], part)

    def _content(self) -> JSON:
        parts, done = list[JSON](), 0
        for place, thoughts in (*self._thoughts, (len(self._said), [])):
            if text := "".join(self._said[done:place]):
                parts.append({"type": "text", "text": text})
            parts, done = [*parts, *thoughts], place
        return parts


def _go_on(parts: list[dict[str, JSON]], part: dict[str, JSON]) -> None:
    """Append a part, or go on with the last one if both are thinking."""
    last, more = parts[-1].get("thinking") if parts else None, part.get("thinking")
    if not isinstance(last, list) or not isinstance(more, list):
        parts.append({**part, "thinking": [*more]} if isinstance(more, list) else part)  # the reply's own stays whole
        return
    for piece in more:
        before = last[-1] if last else None
        if isinstance(piece, dict) and isinstance(before, dict) and _is_text(piece) and _is_text(before):
            last[-1] = {**before, **piece, "text": f"{before['text']}{piece['text']}"}
        else:
            last.append(piece)
    parts[-1].update({name: value for name, value in part.items() if name != "thinking"})


def _is_text(piece: Mapping[str, JSON]) -> bool:
    return piece.get("type") == "text" and isinstance(piece.get("text"), str)


def _merge(entries: list[dict[str, JSON]], entry: dict[str, JSON]) -> None:
    """Append an entry, or go on with the last one if it is a piece of the same."""
    last = entries[-1] if entries else {}
    if "index" not in entry or any(last.get(key) != entry.get(key) for key in ("index", "type")):
        entries.append(dict(entry))
        return
    for key, value in entry.items():
        if value is None and key in last:  # a piece has no more of it, such as no text beside the signature
            continue
        grows = key in ("text", "summary", "data") and isinstance(value, str)
        known = last.get(key)
        last[key] = known + value if grows and isinstance(known, str) and isinstance(value, str) else value
