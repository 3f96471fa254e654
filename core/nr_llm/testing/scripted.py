"""A provider that answers what a test wrote down, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from nr_llm.cancellation import Cancellation
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.messages import ToolCall
from nr_llm.providers import Endpoint, Model
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

Reply: TypeAlias = str | CompletionResponse | Exception | Callable[[CompletionRequest], "Reply"]
"""One scripted answer: a text, a whole response, an error to raise, or a function of the request that gives one."""


def calling(
    *calls: tuple[str, dict[str, Any]] | ToolCall, content: str = "", usage: Usage | None = None
) -> CompletionResponse:
    """
    Return a response that asks for tools.

    Args:
        *calls: ``(name, arguments)`` pairs, or `ToolCall` objects where the id matters.
        content: Text beside the calls.
        usage: Tokens to report; none are reported otherwise.
    """
    made = (c if isinstance(c, ToolCall) else ToolCall(f"c{i}", c[0], c[1]) for i, c in enumerate(calls))
    return CompletionResponse(
        content=content, tool_calls=tuple(made), finish_reason=FinishReason.TOOL_CALLS, usage=usage or Usage()
    )


class ScriptedProvider:
    """
    A provider without a model; safe to use from many runs at once, which share the script.

    Args:
        *replies: The answers, in order; the last one is repeated for as long as it is asked for.
        name: The provider's name.
        **model: What `describe` tells of its model, such as ``context=4096``.

    Attributes:
        requests: What was asked, in order.
    """

    def __init__(self, *replies: Reply, name: str = "scripted", **model: Any) -> None:
        self.name = name
        self.endpoint = Endpoint("this process", local=True)
        self.requests: list[CompletionRequest] = []
        self._replies = replies or ("",)
        self._model = model
        self._lock = threading.Lock()

    def script(self, *replies: Reply) -> None:
        """Answer with these from now on, and forget what was asked before."""
        with self._lock:
            self._replies = replies or ("",)
            self.requests = []

    def describe(self, model: str) -> Model:
        """Return what the test said of the model."""
        return Model(provider=self.name, name=model or "script", **self._model)

    def complete(self, request: CompletionRequest, cancelled: Cancellation) -> Iterator[Delta | CompletionResponse]:
        """Yield the next answer, in pieces if the request wants a stream."""
        del cancelled  # a script answers at once
        with self._lock:
            reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
            self.requests.append(request)
        response = self._response(reply, request)
        if request.stream:
            yield from _deltas(response)
        yield response

    def _response(self, reply: Reply, request: CompletionRequest) -> CompletionResponse:
        while callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            return CompletionResponse(content=reply, model=request.model, provider=self.name)
        return reply


def _deltas(response: CompletionResponse) -> Iterator[Delta]:
    """Cut a response into pieces as a service would."""
    if response.reasoning:
        yield ReasoningDelta(response.reasoning)
    for i in range(0, len(response.content), 4):
        yield TextDelta(response.content[i : i + 4])
    for n, call in enumerate(response.tool_calls or ()):
        yield ToolCallDelta(f"call-{n}", call.name)
        yield ToolCallDelta(f"call-{n}", arguments=call.arguments_json)
