"""
Five wire formats as services see them: each reads requests as its vendor documents them.

They are written from the formats, not from the codecs, so that a fault on one side is not repeated on the other.  Each
asks for two calls when a person spoke last, and tells the results when tools did.  A request that its vendor would
refuse gets the vendor's kind of refusal.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""

CALLS = (("look", {"what": "lämp"}), ("weigh", {"item": "chair", "grams": True}))
"""What each service asks for."""


class RefusedError(Exception):
    """A request that the vendor would refuse."""


def demand(fine: object, text: str) -> None:
    """Refuse the request unless `fine`."""
    if not fine:
        raise RefusedError(text)


@attrs.frozen
class Asked:
    """
    What a service understood.

    Attributes:
        results: Texts of the results behind the last person's turn, by tool.
        images: Images in the whole conversation.
        replayed: Whether the last assistant turn brings back what this service wants back.
    """

    results: Mapping[str, str]
    images: int
    replayed: bool


class Format:
    """One wire format."""

    name = ""
    path = re.compile("")
    stateful = True
    """Whether the service wants something of its own back with the calls."""

    @property
    def mark(self) -> str:
        """What this service, and no other one, may be sent back."""
        return base64.b64encode(f"mark-of-{self.name}".encode()).decode()

    def asked(self, body: dict[str, Any]) -> Asked:
        """Read a request, or refuse it."""
        raise NotImplementedError

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        """Whether a stream is wanted."""
        return body.get("stream", False) is True

    def payload(self, text: str | None, number: int) -> dict[str, Any]:
        """Return a whole reply: a text, or the calls."""
        raise NotImplementedError

    def events(self, text: str | None, number: int) -> Iterator[bytes]:
        """Return the same reply as a stream."""
        raise NotImplementedError


def sse(payload: Any, name: str = "", *, end: bytes = b"\n\n") -> bytes:
    """Return one server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(payload).encode() + end


def halves(text: str) -> tuple[str, str]:
    """Cut a text in two."""
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _is_image(media_type: str, data: str) -> bool:
    return media_type == "image/png" and base64.b64decode(data) == IMAGE


def named(results: Sequence[tuple[str, str]], calls: Mapping[str, str]) -> dict[str, str]:
    """Return results by tool; each call has to have exactly one."""
    demand(sorted(key for key, _ in results) == sorted(calls), f"results {results} do not answer the calls {calls}")
    return {calls[key]: text for key, text in results}


class Chat(Format):
    name = "chat"
    path = re.compile(r"/v1/chat/completions")

    def asked(self, body: dict[str, Any]) -> Asked:
        images, calls, results, replayed = 0, dict[str, str](), list[tuple[str, str]](), False
        for message in body["messages"]:
            match message["role"]:
                case "user":
                    demand(len(results) == len(calls), "unanswered tool_calls")
                    parts = message["content"] if isinstance(message["content"], list) else []
                    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
                    demand(all(url.startswith("data:image/png;base64,") for url in urls), "an image_url that is no URL")
                    images += len(urls)
                    calls, results = {}, []
                case "assistant":
                    made = message.get("tool_calls", [])
                    demand("tool_calls" not in message or made, "[] is too short - 'messages.tool_calls'")
                    demand(all(isinstance(json.loads(c["function"]["arguments"]), dict) for c in made), "arguments")
                    calls, results = {c["id"]: c["function"]["name"] for c in made}, []
                    demand(len(calls) == len(made), "ids of calls repeat")
                    replayed = message.get("reasoning_content") == self.mark
                case "tool":
                    results.append((message["tool_call_id"], message["content"]))
                case role:
                    demand(role == "system", f"no role {role}")
        return Asked(named(results, calls) if results else {}, images, replayed)

    def _calls(self, number: int) -> list[dict[str, Any]]:
        return [
            {"id": f"call_{number}_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, (n, a) in enumerate(CALLS)
        ]

    def payload(self, text: str | None, number: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if text is None:
            message |= {"reasoning_content": self.mark, "tool_calls": self._calls(number)}
        reason = "stop" if text is not None else "tool_calls"
        usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {"id": "c", "model": "m", "choices": [choice], "usage": usage}

    def events(self, text: str | None, number: int) -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return sse({"id": "c", "model": "m", "choices": [choice]})

        if text is not None:
            yield from (chunk({"content": half}) for half in halves(text))
            yield chunk({}, "stop")
        else:
            yield chunk({"reasoning_content": self.mark})
            for i, call in enumerate(self._calls(number)):
                start, end = halves(call["function"]["arguments"])
                yield chunk({"tool_calls": [call | {"index": i, "function": call["function"] | {"arguments": start}}]})
                yield chunk({"tool_calls": [{"index": i, "function": {"arguments": end}}]})
            yield chunk({}, "tool_calls")
        yield sse({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}})
        yield b"data: [DONE]\n\n"


class Responses(Format):
    name = "responses"
    path = re.compile(r"/v1/responses")

    def asked(self, body: dict[str, Any]) -> Asked:
        images, calls, results, replayed = 0, dict[str, str](), list[tuple[str, str]](), False
        demand(body.get("store") is False, "this organization keeps nothing: send store: false")
        items = [{"type": "message", **item} if "role" in item else item for item in body["input"]]
        behind = "user"
        for item in items:
            kind = item["type"]
            if kind == "message" and item["role"] == "user":
                demand(len(results) == len(calls), "No tool output found for function call")
                parts = item["content"] if isinstance(item["content"], list) else []
                urls = [part["image_url"] for part in parts if part["type"] == "input_image"]
                demand(all(isinstance(u, str) and u.startswith("data:image/png;base64,") for u in urls), "image_url")
                images += len(urls)
                calls, results, replayed = {}, [], False
            elif kind == "reasoning":
                demand(item["encrypted_content"] == self.mark, "the encrypted content could not be verified")
                replayed = True
            elif kind == "function_call":
                demand(behind != "function_call_output" or not calls or len(results) == len(calls), "order of items")
                demand(isinstance(json.loads(item["arguments"]), dict), "arguments")
                calls[item["call_id"]] = item["name"]
            elif kind == "function_call_output":
                results.append((item["call_id"], item["output"]))
            else:
                demand(kind == "message", f"no item of type {kind}")
            behind = kind
        demand(all("function" not in tool for tool in body.get("tools", [])), "tools[0].name is missing")
        return Asked(named(results, calls) if results else {}, images, replayed)

    def _output(self, text: str | None, number: int) -> list[dict[str, Any]]:
        if text is not None:
            part = {"type": "output_text", "text": text, "annotations": []}
            return [{"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [part]}]
        reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": self.mark}
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{number}_{i}",
                "call_id": f"call_{number}_{i}",
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
            for i, (name, arguments) in enumerate(CALLS)
        ]
        return [reasoning, *calls]

    def payload(self, text: str | None, number: int) -> dict[str, Any]:
        usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
        output = self._output(text, number)
        return {"id": "r", "object": "response", "status": "completed", "model": "m", "output": output, "usage": usage}

    def events(self, text: str | None, number: int) -> Iterator[bytes]:
        def event(kind: str, **fields: Any) -> bytes:
            return sse({"type": kind, **fields}, kind)

        yield event("response.created", response={"id": "r", "status": "in_progress", "model": "m", "output": []})
        for i, item in enumerate(self._output(text, number)):
            empty = {"arguments": ""} if item["type"] == "function_call" else {}
            yield event("response.output_item.added", output_index=i, item=item | empty | {"status": "in_progress"})
            if item["type"] == "function_call":
                for half in halves(item["arguments"]):
                    yield event(
                        "response.function_call_arguments.delta", output_index=i, item_id=item["id"], delta=half
                    )
                whole = {"item_id": item["id"], "arguments": item["arguments"]}
                yield event("response.function_call_arguments.done", output_index=i, **whole)
            elif item["type"] == "message":
                for half in halves(item["content"][0]["text"]):
                    place = {"output_index": i, "content_index": 0, "item_id": item["id"]}
                    yield event("response.output_text.delta", delta=half, **place)
            yield event("response.output_item.done", output_index=i, item=item)
        yield event("response.completed", response=self.payload(text, number))


class Anthropic(Format):
    name = "anthropic"
    path = re.compile(r"/v1/messages")

    def asked(self, body: dict[str, Any]) -> Asked:
        demand(body.get("max_tokens"), "max_tokens: Field required")
        images, results, replayed = 0, list[tuple[str, str]](), False
        calls: dict[str, str] = {}
        before = ""
        for message in body["messages"]:
            role, content = message["role"], message["content"]
            demand(role in ("user", "assistant") and role != before, f"roles must alternate, found {role} twice")
            before = role
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            demand(blocks and all(b["type"] != "text" or b["text"].strip() for b in blocks), "text must be non-empty")
            kinds = [block["type"] for block in blocks]
            if role == "user":
                answered = [(b["tool_use_id"], _text(b["content"])) for b in blocks if b["type"] == "tool_result"]
                demand(kinds[: len(answered)] == ["tool_result"] * len(answered), "tool_result blocks come first")
                demand({key for key, _ in answered} == set(calls), "tool_use ids without tool_result blocks after")
                for block in blocks:
                    if block["type"] == "image":
                        source = block["source"]
                        demand(
                            source["media_type"] == "image/png" and base64.b64decode(source["data"]) == IMAGE, "image"
                        )
                        images += 1
                results = answered if kinds == ["tool_result"] * len(answered) else []
                called = dict(calls)
                demand(not calls or body.get("tools"), "Requests which include tool_use blocks must define tools")
            else:
                calls = {b["id"]: b["name"] for b in blocks if b["type"] == "tool_use"}
                demand(all(isinstance(b["input"], dict) for b in blocks if b["type"] == "tool_use"), "input")
                thinking = [b for b in blocks if b["type"] == "thinking"]
                demand(all(b["signature"] == self.mark for b in thinking), "Invalid `signature` in `thinking` block")
                replayed = bool(thinking) and kinds[0] == "thinking"
        demand(before == "user", "the conversation must end with a user message")
        return Asked(named(results, called) if results else {}, images, replayed)

    def _content(self, text: str | None, number: int) -> list[dict[str, Any]]:
        if text is not None:
            return [{"type": "text", "text": text}]
        thinking = {"type": "thinking", "thinking": "I look.", "signature": self.mark}
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": name, "input": arguments}
            for i, (name, arguments) in enumerate(CALLS)
        ]
        return [thinking, *calls]

    def payload(self, text: str | None, number: int) -> dict[str, Any]:
        return {
            "id": "msg",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": self._content(text, number),
            "stop_reason": "end_turn" if text is not None else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 3},
        }

    def events(self, text: str | None, number: int) -> Iterator[bytes]:
        def event(kind: str, **fields: Any) -> bytes:
            return sse({"type": kind, **fields}, kind)

        whole = self.payload(text, number)
        yield event("message_start", message=whole | {"content": [], "stop_reason": None})
        yield event("ping")
        for i, block in enumerate(whole["content"]):
            match block["type"]:
                case "text":
                    start, deltas = {"text": ""}, [{"type": "text_delta", "text": half} for half in halves(text or "")]
                case "thinking":
                    start = {"thinking": "", "signature": ""}
                    deltas = [{"type": "thinking_delta", "thinking": half} for half in halves(block["thinking"])]
                    deltas.append({"type": "signature_delta", "signature": block["signature"]})
                case _:
                    start = {"input": {}}
                    written = json.dumps(block["input"])
                    deltas = [{"type": "input_json_delta", "partial_json": half} for half in ("", *halves(written))]
            yield event("content_block_start", index=i, content_block=block | start)
            yield from (event("content_block_delta", index=i, delta=delta) for delta in deltas)
            yield event("content_block_stop", index=i)
        yield event("message_delta", delta={"stop_reason": whole["stop_reason"]}, usage={"output_tokens": 3})
        yield event("message_stop")


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


class Gemini(Format):
    name = "gemini"
    path = re.compile(r"/v1beta/models/[\w.-]+:(generateContent|streamGenerateContent)")

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        demand("stream" not in body, "Unknown name 'stream'")
        return "streamGenerateContent" in path

    def asked(self, body: dict[str, Any]) -> Asked:
        images, replayed = 0, False
        calls, results = list[str](), list[tuple[str, str]]()
        for content in body["contents"]:
            parts = content["parts"]
            demand(content["role"] in ("user", "model") and parts, "Please use a valid role: user, model.")
            given = [part["functionResponse"] for part in parts if "functionResponse" in part]
            if content["role"] == "model":
                demand(not calls, "function call turn comes immediately after a user turn or a function response turn")
                calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
                signatures = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
                replayed = signatures == [self.mark]
                continue
            if given:
                demand([r["name"] for r in given] == calls, "number of function response parts")
                demand(all(isinstance(r["response"], dict) for r in given), "response: not an object")
                results = [(r["name"], _only(r["response"])) for r in given]
            else:
                demand(not calls, "a function call has no response")
                results = []
            calls = []
            inline = [part["inlineData"] for part in parts if "inlineData" in part]
            demand(all(_is_image(part["mimeType"], part["data"]) for part in inline), "image")
            images += len(inline)
        demand(not calls, "a function call has no response")
        return Asked(dict(results), images, replayed)

    def payload(self, text: str | None, number: int) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": text}]
        if text is None:
            parts = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in CALLS]
            parts[0]["thoughtSignature"] = self.mark
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "g"}

    def events(self, text: str | None, number: int) -> Iterator[bytes]:
        whole = self.payload(text, number)
        parts = whole["candidates"][0]["content"]["parts"]
        pieces = [{"text": half} for half in halves(text)] if text is not None else parts
        for i, part in enumerate(pieces):
            candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
            if i == len(pieces) - 1:
                candidate["finishReason"] = "STOP"
            yield sse(whole | {"candidates": [candidate]}, end=b"\r\n\r\n")


def _only(response: Mapping[str, Any]) -> str:
    demand(len(response) == 1, f"the fakes expect one text, not {response}")
    return str(next(iter(response.values())))


class Ollama(Format):
    name = "ollama"
    path = re.compile(r"/api/chat")
    stateful = False

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return body.get("stream", True) is True

    def asked(self, body: dict[str, Any]) -> Asked:
        images, calls, results = 0, list[str](), list[tuple[str, str]]()
        for message in body["messages"]:
            demand(isinstance(message["content"], str), "json: cannot unmarshal array into content")
            match message["role"]:
                case "user":
                    for image in message.get("images", []):
                        demand(base64.b64decode(image) == IMAGE, "illegal base64 data")
                        images += 1
                    calls, results = [], []
                case "assistant":
                    made = message.get("tool_calls", [])
                    demand(all(isinstance(c["function"]["arguments"], dict) for c in made), "arguments: string")
                    calls, results = [c["function"]["name"] for c in made], []
                case "tool":
                    results.append((message["tool_name"], message["content"]))
                case role:
                    demand(role == "system", f"no role {role}")
        demand(not results or [name for name, _ in results] == calls, "results in another order than the calls")
        return Asked(dict(results), images, replayed=False)

    def payload(self, text: str | None, number: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text or ""}
        if text is None:
            message["thinking"] = self.mark
            message["tool_calls"] = [{"function": {"name": name, "arguments": a}} for name, a in CALLS]
        counts = {"prompt_eval_count": 5, "eval_count": 3}
        return {"model": "m", "message": message, "done": True, "done_reason": "stop", **counts}

    def events(self, text: str | None, number: int) -> Iterator[bytes]:
        def line(message: dict[str, Any], **fields: Any) -> bytes:
            whole = {"role": "assistant", "content": "", **message}
            return json.dumps({"model": "m", "message": whole, "done": False, **fields}).encode() + b"\n"

        message = self.payload(text, number)["message"]
        if text is not None:
            yield from (line({"content": half}) for half in halves(text))
        else:
            yield line({"thinking": message["thinking"]})
            yield from (line({"tool_calls": [call]}) for call in message["tool_calls"])
        yield line({}, done=True, done_reason="stop", prompt_eval_count=5, eval_count=3)


FORMATS: tuple[Format, ...] = (Chat(), Responses(), Anthropic(), Gemini(), Ollama())
"""Every format."""
