"""
Pieces of tool calls to whole calls.

The common form gives each call an index and the first piece an id and a name.  Servers leave out the index, give all
calls the same one or the same id, repeat or cut the name, send ids and names as empty strings, or whole calls at
once.  A piece belongs to the call of its index, unless it brings another id; without index, to the call of its id;
else to the call that was opened last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs
from nr_llm.codecs.calls import CallParts
from nr_llm.codecs.json import JSON, decode, encode
from nr_llm.errors import MalformedJsonError
from nr_llm.events import ToolCallDelta

from nr_llm_openai.decode import call_parts

PLACES = re.compile(r"\A(?:\{\}\s*)+(?=\{)")
"""Empty objects in front of arguments."""


@attrs.define(eq=False)
class Draft:
    """A call that is being written."""

    key: str
    id: str | None = None
    name: str | None = None
    arguments: list[str] = attrs.field(factory=list)

    def learn(self, name: str | None) -> str | None:
        """Take a name, or the next piece of one, and return what is new in it; some proxies spell out a null."""
        if name is None or name == self.name or (self.name and name == "null"):
            return None
        known = self.name or ""
        # A name that begins with what is known is the whole name so far; any other one goes on with it.
        new = name.removeprefix(known)
        self.name = known + new
        return new

    def is_whole(self) -> bool:
        """Whether name and arguments are complete, so that a further named piece begins another call."""
        text = "".join(self.arguments)
        if self.name is None or not text.rstrip().endswith("}"):  # most are not: reading each time would cost a lot
            return False
        try:
            return isinstance(decode(text), dict)
        except MalformedJsonError:
            return False

    def written(self) -> str:
        """Return the arguments as text; an empty object in front of another one only held its place."""
        return PLACES.sub("", "".join(self.arguments))


class CallAssembly:
    """Takes pieces in the order they come; calls stand in the order in which they began."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._by_index: dict[int, Draft] = {}
        self._by_id: dict[str, Draft] = {}

    def __bool__(self) -> bool:
        return bool(self._drafts)

    def add(self, piece: JSON) -> ToolCallDelta | None:
        """Take one piece; return what it adds, under our own key, or None when it adds nothing to show."""
        if not isinstance(piece, dict):
            return None
        if (more := self._more(piece)) is not None:
            return more
        call_id, name, arguments = call_parts(piece)
        text = arguments if isinstance(arguments, str) else "" if arguments is None else encode(arguments)
        if call_id is None and name is None and not text:
            return None
        draft = self._draft(piece, call_id, name, again=name is not None and text != "" and call_id is None)
        if call_id is not None and draft.id is None:
            draft.id = call_id
            self._by_id[call_id] = draft
        new = draft.learn(name)
        if text:
            draft.arguments.append(text)
        return ToolCallDelta(draft.key, new, text) if new or text else None

    def _more(self, piece: Mapping[str, JSON]) -> ToolCallDelta | None:
        """Take a piece that is an index and further arguments, as most are; return None for any other."""
        index, function = piece.get("index"), piece.get("function")
        if len(piece) != 2 or not isinstance(index, int) or not isinstance(function, dict) or len(function) != 1:
            return None
        draft, text = self._by_index.get(index), function.get("arguments")
        if draft is None or not isinstance(text, str) or not text:
            return None
        draft.arguments.append(text)
        return ToolCallDelta(draft.key, None, text)

    def _draft(self, piece: Mapping[str, JSON], call_id: str | None, name: str | None, *, again: bool) -> Draft:
        index = piece.get("index")
        draft: Draft | None = self._drafts[-1] if self._drafts else None
        if isinstance(index, int):
            draft = self._by_index.get(index)
            other = call_id is not None and draft is not None and draft.id not in (None, call_id)
            if call_id is not None and (other or (draft is None and name is None)):
                draft = self._by_id.get(call_id)
        elif call_id is not None:
            draft = self._by_id.get(call_id)
        if draft is None or (again and draft.is_whole()):
            draft = Draft(str(len(self._drafts)))
            self._drafts.append(draft)
        if isinstance(index, int):
            self._by_index[index] = draft
        return draft

    def parts(self) -> list[CallParts]:
        """Return id, name and arguments of each call; what has neither name nor arguments is none."""
        return [(draft.id, draft.name, draft.written()) for draft in self._drafts if draft.name or draft.arguments]
