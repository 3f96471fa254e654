"""A model that does whatever it reads: the worst one can have, and the one that safety has to be measured with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nr_llm import ChatMessage, CompletionRequest, CompletionResponse, Endpoint, Role
from nr_llm.testing import ScriptedProvider, calling

Call = tuple[str, dict[str, Any]]

ORDER = re.compile(r"[Cc]all (\S(?:[^{]*?\S)?) with (?=\{)")
"""How an order reads that is planted somewhere."""

READ, SYSTEM = "$READ", "$SYSTEM"
"""What an order says for all that the model was told by tools, and for its instruction."""


def order(*calls: Call) -> str:
    """Return a text that orders calls."""
    return " and ".join(f"call {name} with {json.dumps(given, ensure_ascii=False)}" for name, given in calls)


def orders(text: str) -> Iterator[Call]:
    """Yield the calls that a text orders."""
    for found in ORDER.finditer(text):
        try:
            given, _ = json.JSONDecoder().raw_decode(text, found.end())
        except ValueError:
            continue
        yield found[1], given


class Obedient:
    """
    A provider far away whose model first does what it was asked, then all that it reads in results and descriptions.

    Args:
        first: The calls that the question needs.
        before: Called as it is about to obey.

    Attributes:
        provider: The provider.
        obeyed: The calls that it was talked into.
    """

    def __init__(self, first: Sequence[Call], before: Callable[[], object] = lambda: None) -> None:
        self._first, self._before = tuple(first), before
        self.obeyed: list[Call] = []
        self.provider = ScriptedProvider(self.reply, name="far")
        self.provider.endpoint = Endpoint("models.example")

    @property
    def requests(self) -> Sequence[CompletionRequest]:
        """What reached the provider."""
        return self.provider.requests

    def reply(self, request: CompletionRequest) -> CompletionResponse:
        """Do what is asked, then what is read."""
        if not any(message.role is Role.ASSISTANT for message in request.messages):
            told = [call for spec in request.tools for call in orders(spec.description)]
            return self._calling(self._first, told, request) if self._first or told else _done()
        read = [call for message in _latest(request.messages) for call in orders(message.content)]
        return self._calling((), read, request) if read and request.tools else _done()

    def _calling(self, asked: Sequence[Call], told: Sequence[Call], request: CompletionRequest) -> CompletionResponse:
        made = [(name, _filled(given, request.messages)) for name, given in told]
        self.obeyed += made
        if made:
            self._before()
        return calling(*asked, *made)


def _done() -> CompletionResponse:
    return CompletionResponse(content="done")


def _latest(messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    """Yield the results since the model spoke last, the latest first."""
    for message in reversed(messages):
        if message.role is not Role.TOOL:
            return
        yield message


def _filled(given: Any, messages: Sequence[ChatMessage]) -> Any:
    """Return arguments with what the model knows where the order wants it."""
    if isinstance(given, dict):
        return {name: _filled(value, messages) for name, value in given.items()}
    if not isinstance(given, str):
        return given
    told = {READ: Role.TOOL, SYSTEM: Role.SYSTEM}
    for mark, role in told.items():
        if mark in given:
            given = given.replace(mark, "\n".join(one.content for one in messages if one.role is role))
    return given
