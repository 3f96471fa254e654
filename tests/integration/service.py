"""A Chat Completions service inside httpx: it answers from a script and keeps every byte that was sent to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
from nr_llm import ToolCall

Reply = str | Sequence[ToolCall] | httpx.Response
"""A text, calls, or a whole response."""


class Service:
    """
    Answers each request with the next reply, streamed where the request asks for it.

    Args:
        *replies: What it answers, in order.

    Attributes:
        requests: What was sent, whole.
    """

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, httpx.Response):
            return reply
        message = {"content": reply} if isinstance(reply, str) else {"content": None, "tool_calls": list(_calls(reply))}
        finish = "stop" if isinstance(reply, str) else "tool_calls"
        if not json.loads(request.content).get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
            return httpx.Response(200, json={"id": "r", "model": "m", "choices": [choice]})
        chunks = [{"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": finish}]
        lines = [f"data: {json.dumps({'choices': [{'index': 0, **chunk}]})}\n\n" for chunk in chunks]
        return httpx.Response(200, text="".join([*lines, "data: [DONE]\n\n"]))

    @property
    def transport(self) -> httpx.MockTransport:
        """The service, for a client of either colour."""
        return httpx.MockTransport(self)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests, decoded."""
        return [json.loads(request.content) for request in self.requests]

    @property
    def sent(self) -> list[bytes]:
        """Every byte of each request: address, headers, body."""
        return [
            b"\n".join([str(r.url).encode(), *(b"%s: %s" % pair for pair in r.headers.raw), r.content])
            for r in self.requests
        ]


def _calls(calls: Sequence[ToolCall]) -> Iterator[dict[str, Any]]:
    for index, call in enumerate(calls):
        function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
        yield {"index": index, "id": call.id, "type": "function", "function": function}
