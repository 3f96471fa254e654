"""Streamed Responses reply to deltas and answer: items are added, written and done, by their place in the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nr_llm.codecs.faults import Fault, error_in, fault_in, fault_of
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON
from nr_llm.codecs.reading import filled, object_of, objects_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.errors import MalformedReplyError, ProviderError
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai.output import answer, refusal_in

STATUS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.done": "completed"}
"""The events that end a stream, and the status they mean where they bring no response."""

WHOLE = {"response.output_text.done": "text", "response.function_call_arguments.done": "arguments"}
"""The events that repeat what deltas wrote, and where they have it."""


class ResponseStream(FrameStream):
    """
    Reads one streamed reply.

    Args:
        request: What was asked.
        provider: Name for answers and errors.
        redact: Masks secrets in what errors repeat.
        whole: Reads a reply that is no stream.
        chained: Whether the next request goes on from this reply by its id.
    """

    end_mark = "[DONE]"

    def __init__(
        self,
        request: CompletionRequest,
        *,
        provider: str,
        redact: Callable[[str], str],
        whole: Callable[[bytes], CompletionResponse],
        chained: bool,
    ) -> None:
        super().__init__(provider=provider, redact=redact, whole=whole)
        self._request, self._chained = request, chained
        self._items: dict[object, dict[str, Any]] = {}
        self._written: dict[object, list[str]] = {}
        self._refused: list[str] = []
        self._thought: object = None
        self._end: Mapping[str, Any] = {}

    @property
    def ended(self) -> bool:
        """Whether the service gave the finished response."""
        return bool(self._end)

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take one event."""
        fields = object_of(payload)
        kind = text_of(fields.get("type")) or event.name
        if kind in STATUS:
            self._end = object_of(fields.get("response")) or {"status": STATUS[kind]}
            self.done = True
        elif kind == "response.failed":
            raise failure(object_of(fields.get("response")), self._provider, self._redact, body=event.data)
        elif kind == "error" or fields.get("error"):
            fault = fault_in(payload) or fault_of(payload)
            raise error_in(self._provider, fault, redact=self._redact, body=event.data)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._item(fields, deltas, done=kind.endswith("done"))
        elif kind.endswith(".delta"):
            self._delta(kind, fields, deltas)
        elif kind in WHOLE:
            self._rest(kind, fields, deltas)

    def answer(self) -> CompletionResponse:
        """Return the whole answer: the finished response, or what was streamed where that came empty."""
        reply = dict(self._end)
        streamed = [self._assembled(place, item) for place, item in self._items.items()]
        reply["output"] = [_with_arguments(item, streamed) for item in objects_of(reply.get("output"))]
        if not reply["output"]:
            reply["output"] = streamed
            if self._refused and not any(map(refusal_in, streamed)):
                reply["output"].append(_refusal("".join(self._refused)))
        if not self._end and not self._items:
            raise MalformedReplyError("the stream held no answer", provider=self._provider)
        return answer(reply, self._request, self._provider, chained=self._chained)

    def _place(self, fields: Mapping[str, Any]) -> object:
        """Return what an event is about: its place in the output, else the item's own id or that of its call."""
        place = fields.get("output_index")
        if isinstance(place, int):
            return place
        item = object_of(fields.get("item"))
        call_id = filled(item.get("call_id"))
        same = (place for place, known in self._items.items() if call_id and known.get("call_id") == call_id)
        named = next(same, None) or filled(fields.get("item_id")) or filled(item.get("id")) or call_id
        return next(reversed(self._items), None) if named is None and not item else named

    def _item(self, fields: Mapping[str, Any], deltas: list[Delta], *, done: bool) -> None:
        place, item = self._place(fields), dict(object_of(fields.get("item")))
        new = place not in self._items
        self._items[place] = item
        if new and item.get("type") == "function_call":
            deltas.append(ToolCallDelta(self._key(place), filled(item.get("name"))))
        if done:
            if item.get("type") == "function_call":
                self._rest("response.function_call_arguments.done", {**fields, **item}, deltas)
                self._items[place] = item if item.get("arguments") else self._assembled(place, item)
            self._written.pop(place, None)  # the item is whole now

    def _rest(self, kind: str, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        """Take what the whole has beyond the deltas that came."""
        whole, written = text_of(fields.get(WHOLE[kind])), "".join(self._written.get(self._place(fields), ()))
        if whole.startswith(written):
            rest = {**fields, "delta": whole.removeprefix(written)}
            self._delta(kind.replace(".done", ".delta"), rest, deltas)

    def _delta(self, kind: str, fields: Mapping[str, Any], deltas: list[Delta]) -> None:
        place, piece = self._place(fields), text_of(fields.get("delta"))
        if not piece:
            return
        if kind == "response.output_text.delta":
            self._items.setdefault(place, {"type": "message"})
            self._written.setdefault(place, []).append(piece)
            self._content.append(piece)
            deltas.append(TextDelta(piece))
        elif kind == "response.function_call_arguments.delta":
            self._items.setdefault(place, {"type": "function_call"})
            self._written.setdefault(place, []).append(piece)
            deltas.append(ToolCallDelta(self._key(place), None, piece))
        elif kind == "response.refusal.delta":
            self._refused.append(piece)
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            part = (kind, place, fields.get("summary_index"), fields.get("content_index"))
            gap = "\n\n" if self._thought not in (None, part) else ""
            self._thought = part
            deltas.append(ReasoningDelta(gap + piece))

    def _assembled(self, place: object, item: dict[str, Any]) -> dict[str, Any]:
        """Return an item with what was written of it, where it did not come whole."""
        pieces = self._written.get(place)
        if not pieces:
            return item
        if item.get("type") == "function_call":
            return item | {"arguments": "".join(pieces)}
        return item | {"content": [{"type": "output_text", "text": "".join(pieces)}]}

    def _key(self, place: object) -> str:
        return str(list(self._items).index(place))


def _with_arguments(item: dict[str, Any], streamed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an item of the finished response; a call that comes there without its arguments has those streamed."""
    if item.get("type") != "function_call" or item.get("arguments"):
        return item
    same = (one for one in streamed if filled(one.get("call_id")) == filled(item.get("call_id")) is not None)
    return item | {"arguments": next(same, item).get("arguments")}


def _refusal(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "refusal", "refusal": text}]}


def failure(reply: Mapping[str, Any], provider: str, redact: Callable[[str], str], *, body: str) -> ProviderError:
    """Return the error that a failed response stands for."""
    fault = fault_in(dict(reply)) or Fault(message="the service failed while it wrote the answer", words=body.lower())
    return error_in(provider, fault, redact=redact, body=body)
