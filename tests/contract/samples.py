"""Replies in each service's form, written after its documentation: a text, calls, thinking, a failure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nr_llm.errors import AuthenticationError, ContextLengthError, ModelNotFoundError, RateLimitError, ServiceError
from nr_llm.responses import FinishReason, Usage
from nr_llm.testing import ProviderSample

TEXT = "Grüße, 😀!"
CALLS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("nr_llm_look", {"what": "ü", "depth": 2}),
    ("nr_llm_rest", {}),
)


def body(payload: Any) -> bytes:
    """Return a body as services write it."""
    return json.dumps(payload, ensure_ascii=False).encode()


def events(*payloads: Any, named: bool = False, last: bytes = b"", end: bytes = b"\n") -> bytes:
    """Return a stream of server-sent events; their names are the payloads' types where they have any."""
    data = b""
    for payload in payloads:
        head = b"event: " + payload["type"].encode() + end if named else b""
        data += head + b"data: " + body(payload) + end * 2
    return data + last


def _texts(stream: bytes, reply: bytes, usage: Usage, **more: Any) -> ProviderSample:
    return ProviderSample(
        name="text",
        reply=reply,
        stream=stream,
        content=TEXT,
        usage=usage,
        finish_reason=FinishReason.STOP,
        **more,
    )


def _calls(stream: bytes, reply: bytes, **more: Any) -> ProviderSample:
    return ProviderSample(
        name="calls",
        reply=reply,
        stream=stream,
        tool_calls=CALLS,
        finish_reason=FinishReason.TOOL_CALLS,
        **more,
    )


def _chat() -> tuple[ProviderSample, ...]:
    head = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m1"}

    def whole(message: Any, finish: str) -> bytes:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        return body({**head, "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})

    def chunk(delta: Any, finish: str | None = None) -> Any:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    usage = {**head, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    done = b"data: [DONE]\n\n"
    ids = ("call_1", "call_2")
    made = [(i, n, json.dumps(a, ensure_ascii=False)) for i, (n, a) in zip(ids, CALLS, strict=True)]
    calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in made]
    begun = [
        {"index": k, "id": i, "type": "function", "function": {"name": n, "arguments": ""}}
        for k, (i, n, _) in enumerate(made)
    ]
    pieces = [
        {"index": k, "function": {"arguments": part}} for k, (_, _, a) in enumerate(made) for part in (a[:5], a[5:])
    ]
    return (
        _texts(
            events(
                chunk({"role": "assistant", "content": ""}),
                *(chunk({"content": part}) for part in (TEXT[:2], TEXT[2:])),
                chunk({}, "stop"),
                usage,
                last=done,
            ),
            whole({"content": TEXT}, "stop"),
            Usage(9, 4),
        ),
        _calls(
            events(*(chunk({"tool_calls": [p]}) for p in [*begun, *pieces]), chunk({}, "tool_calls"), last=done),
            whole({"content": None, "tool_calls": calls}, "tool_calls"),
        ),
        *_chat_failures(chunk({"content": "So "})),
    )


def _chat_failures(first: Any) -> tuple[ProviderSample, ...]:
    return (
        ProviderSample(
            name="too long",
            reply=body({"error": {"message": "too long", "type": "x", "code": "context_length_exceeded"}}),
            status=400,
            error=ContextLengthError,
            retryable=False,
        ),
        ProviderSample(
            name="failure inside",
            stream=events(first, {"error": {"message": "overloaded", "code": 503}}),
            reply=body({"error": {"message": "overloaded", "code": 503}}),
            error=ServiceError,
            retryable=True,
        ),
    )


def _response_call(k: int, item: dict[str, Any]) -> list[Any]:
    place = {"output_index": k, "item_id": item["id"]}
    return [
        {"type": "response.output_item.added", **place, "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]},
        {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
        {"type": "response.output_item.done", **place, "item": item},
    ]


def _responses() -> tuple[ProviderSample, ...]:
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}

    def response(status: str, *output: Any) -> Any:
        return {"id": "r1", "object": "response", "model": "m1", "status": status, "output": output, "usage": usage}

    def told(*steps: Any, output: Sequence[Any]) -> bytes:
        first = {"type": "response.created", "response": response("in_progress")}
        last = {"type": "response.completed", "response": response("completed", *output)}
        return events(first, *steps, last, named=True)

    part = {"type": "output_text", "text": TEXT, "annotations": []}
    text = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    made = [
        {"type": "function_call", "id": f"f{k}", "call_id": f"c{k}", "name": name, "arguments": json.dumps(given)}
        for k, (name, given) in enumerate(CALLS)
    ]
    steps = [step for k, item in enumerate(made) for step in _response_call(k, item)]
    place = {"output_index": 0, "item_id": "m"}
    texts = [
        {"type": "response.output_item.added", **place, "item": {**text, "content": []}},
        {"type": "response.output_text.delta", **place, "content_index": 0, "delta": TEXT[:3]},
        {"type": "response.output_text.delta", **place, "content_index": 0, "delta": TEXT[3:]},
        {"type": "response.output_item.done", **place, "item": text},
    ]
    failed = {**response("failed"), "error": {"code": "server_error", "message": "x"}}
    return (
        _texts(told(*texts, output=[text]), body(response("completed", text)), Usage(9, 4)),
        _calls(told(*steps, output=made), body(response("completed", *made))),
        ProviderSample(
            name="failed",
            stream=events({"type": "response.failed", "response": failed}, named=True),
            reply=body(failed),
            error=ServiceError,
        ),
    )


def _anthropic() -> tuple[ProviderSample, ...]:
    def whole(stop: str, *content: Any) -> bytes:
        usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 4}
        head = {"id": "r1", "type": "message", "role": "assistant", "model": "m1"}
        return body({**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage})

    def streamed(stop: str, *blocks: tuple[Any, list[Any]]) -> bytes:
        usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}
        head: dict[str, Any] = {"id": "r1", "type": "message", "role": "assistant", "model": "m1", "content": []}
        steps: list[Any] = [
            {"type": "message_start", "message": {**head, "stop_reason": None, "usage": usage}},
            {"type": "ping"},
        ]
        for k, (block, deltas) in enumerate(blocks):
            steps.append({"type": "content_block_start", "index": k, "content_block": block})
            steps += [{"type": "content_block_delta", "index": k, "delta": delta} for delta in deltas]
            steps.append({"type": "content_block_stop", "index": k})
        end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 4}}
        return events(*steps, end, {"type": "message_stop"}, named=True)

    text = ({"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in (TEXT[:3], TEXT[3:])])
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s=="}
    thinking = (
        {"type": "thinking", "thinking": "", "signature": ""},
        [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "s=="}],
    )
    uses = [{"type": "tool_use", "id": f"toolu_{k}", "name": n, "input": a} for k, (n, a) in enumerate(CALLS)]
    pieces = [[{"type": "input_json_delta", "partial_json": json.dumps(use["input"])}] for use in uses]
    calls = [({**use, "input": {}}, piece if use["input"] else []) for use, piece in zip(uses, pieces, strict=True)]
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    return (
        _texts(
            streamed("end_turn", thinking, text),
            whole("end_turn", thought, {"type": "text", "text": TEXT}),
            Usage(9, 4, cached_tokens=4),
            reasoning="Hm.",
        ),
        _calls(streamed("tool_use", *calls), whole("tool_use", *uses)),
        ProviderSample(
            name="limited",
            reply=body({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}),
            status=429,
            headers={"retry-after": "3"},
            error=RateLimitError,
            retry_after=3.0,
        ),
        ProviderSample(
            name="failure inside", stream=events(overloaded, named=True), error=ServiceError, retryable=True
        ),
    )


def _gemini() -> tuple[ProviderSample, ...]:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13}

    def part_of(*parts: Any, finish: str | None = None) -> Any:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        candidate |= {"finishReason": finish} if finish else {}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m1", "responseId": "r1"}

    calls = [{"functionCall": {"name": n, "args": a}} for n, a in CALLS]
    end = b"\r\n"
    return (
        _texts(
            events(part_of({"text": TEXT[:3]}), part_of({"text": TEXT[3:]}, finish="STOP"), end=end),
            body(part_of({"text": TEXT}, finish="STOP")),
            Usage(9, 4),
        ),
        _calls(
            events(part_of(calls[0]), part_of(calls[1], finish="STOP"), end=end), body(part_of(*calls, finish="STOP"))
        ),
        ProviderSample(
            name="bad key",
            reply=body({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}),
            status=400,
            error=AuthenticationError,
        ),
        ProviderSample(
            name="failure inside",
            stream=events({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, end=end),
            error=ServiceError,
            retryable=True,
        ),
    )


def _ollama() -> tuple[ProviderSample, ...]:
    head = {"model": "m1", "created_at": "2025-01-01T00:00:00Z"}
    counts = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}

    def lines(*messages: Any) -> bytes:
        parts = [{**head, "message": {"role": "assistant", **message}, "done": False} for message in messages]
        last = {**head, "message": {"role": "assistant", "content": ""}, **counts}
        return b"".join(body(part) + b"\n" for part in [*parts, last])

    def whole(message: Any) -> bytes:
        return body({**head, "message": {"role": "assistant", **message}, **counts})

    calls = [{"function": {"name": n, "arguments": a}} for n, a in CALLS]
    return (
        _texts(
            lines({"content": "", "thinking": "Hm."}, *({"content": part} for part in (TEXT[:3], TEXT[3:]))),
            whole({"content": TEXT, "thinking": "Hm."}),
            Usage(9, 4),
            reasoning="Hm.",
        ),
        _calls(
            lines(*({"content": "", "tool_calls": [call]} for call in calls)),
            whole({"content": "", "tool_calls": calls}),
        ),
        ProviderSample(
            name="no model", reply=body({"error": "model 'x' not found"}), status=404, error=ModelNotFoundError
        ),
        ProviderSample(
            name="failure inside",
            reply=b'{"error":"the runner stopped"}',
            stream=b'{"message":{"content":"So "},"done":false}\n{"error":"the runner stopped"}\n',
            error=ServiceError,
        ),
    )


SAMPLES = {
    "anthropic": _anthropic(),
    "gemini": _gemini(),
    "ollama": _ollama(),
    "openai": _chat(),
    "responses": _responses(),
}
"""By the form they are in."""
