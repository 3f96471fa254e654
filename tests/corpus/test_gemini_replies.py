"""Every recorded generateContent reply gives the values it holds, whole or streamed, however it is cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import attrs
import pytest
from nr_llm.codecs import frames
from nr_llm.codecs.json import decode
from nr_llm.errors import (
    AuthenticationError,
    InvalidRequestError,
    ModelNotFoundError,
    ProviderError,
    RateLimitError,
    StreamInterruptedError,
)
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason
from nr_llm_gemini import GeminiCodec

from tests.corpus.traffic import Case, recorded

CODEC = GeminiCodec()
REQUEST = CompletionRequest(model="asked-for", messages=(ChatMessage.user("Hello"),))

EVERY_BYTE = 65_536
"""Bytes of a stream up to which it is cut at each."""

WORDS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.CONTENT_FILTER,
    "MODEL_ARMOR": FinishReason.CONTENT_FILTER,
}


@attrs.frozen
class Plain:
    """What a reply holds, read the simple way from its decoded chunks."""

    chunks: list[dict[str, Any]]

    @property
    def parts(self) -> list[dict[str, Any]]:
        """All parts of the first candidates."""
        return [
            part
            for chunk in self.chunks
            for candidate in chunk.get("candidates", [])[:1]
            for part in candidate.get("content", {}).get("parts", [])
        ]

    def text(self, *, thought: bool) -> str:
        """The thinking, or the answer."""
        return "".join(part.get("text", "") for part in self.parts if part.get("thought", False) is thought)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls, with arguments also where the service left them out."""
        return [{"args": {}, **part["functionCall"]} for part in self.parts if "functionCall" in part]

    @property
    def finish(self) -> str | None:
        """The word for why it stopped."""
        words = [c["finishReason"] for chunk in self.chunks for c in chunk.get("candidates", []) if "finishReason" in c]
        blocks = [chunk["promptFeedback"]["blockReason"] for chunk in self.chunks if "promptFeedback" in chunk]
        return next(iter([*reversed(words), *blocks]), None)

    def last(self, field: str) -> Any:
        """The field's value in the last chunk that has it."""
        return next(chunk[field] for chunk in reversed(self.chunks) if field in chunk)


def plainly_read(case: Case) -> Plain:
    """Read a case without the codec."""
    exchange = case.exchange
    if "response_sse" in exchange:
        lines = re.split(r"\r\n|\n|\r", exchange["response_sse"])
        return Plain([json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")])
    payload = exchange["response_json"]
    return Plain(payload if isinstance(payload, list) else [payload])


def read_whole(case: Case) -> CompletionResponse:
    """Return what a whole reply gives."""
    return CODEC.decode(HttpReply(200, {}, case.body), REQUEST)


def read_stream(*pieces: bytes) -> tuple[list[Delta], CompletionResponse]:
    """Feed `pieces` and return what came out."""
    decoder = CODEC.decoder(REQUEST)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas, decoder.finish()


def total(usage: dict[str, int], *fields: str) -> int | None:
    """Return the sum of counts, or None when none is given."""
    counts = [usage[field] for field in fields if field in usage]
    return sum(counts) if counts else None


def check(answer: CompletionResponse, plain: Plain) -> None:
    """Compare an answer with a plain reading of its reply."""
    calls = answer.tool_calls or ()
    assert answer.content == plain.text(thought=False)
    assert (answer.reasoning or "") == plain.text(thought=True)
    assert [(call.name, dict(call.arguments)) for call in calls] == [(c["name"], c["args"]) for c in plain.calls]
    assert [call.id for call in calls] == [c.get("id") or f"call_{i}" for i, c in enumerate(plain.calls)]
    assert (answer.model, answer.id) == (plain.last("modelVersion"), plain.last("responseId"))
    assert answer.finish_detail == plain.finish
    expected = FinishReason.TOOL_CALLS if calls else WORDS[plain.finish or "STOP"]
    assert answer.finish_reason is expected
    usage = plain.last("usageMetadata")
    assert answer.usage.input_tokens == total(usage, "promptTokenCount", "toolUsePromptTokenCount")
    assert answer.usage.output_tokens == total(usage, "candidatesTokenCount", "thoughtsTokenCount")
    if "totalTokenCount" in usage:
        assert answer.usage.total_tokens == usage["totalTokenCount"]
    assert answer.usage.reasoning_tokens == usage.get("thoughtsTokenCount")
    assert answer.usage.cached_tokens == usage.get("cachedContentTokenCount")


@pytest.mark.parametrize("case", recorded("gemini", failed=True))
def test_an_error_reply_becomes_the_error_of_who_must_act(case: Case) -> None:
    """The status, and for a key that is none the words, say who; only a spent quota is tried again."""
    exchange = case.exchange
    said = exchange["response_json"]["error"]
    kinds: dict[int, type[ProviderError]] = {404: ModelNotFoundError, 429: RateLimitError, 400: InvalidRequestError}

    error = CODEC.error(HttpReply(exchange["status"], exchange["response_headers"], case.body))

    invalid_key = "API key not valid" in said["message"]
    assert type(error) is (AuthenticationError if invalid_key else kinds[exchange["status"]])
    assert said["message"][:300] in str(error)
    assert (error.provider, error.status) == ("gemini", said["code"])
    assert error.retryable is (exchange["status"] == 429)


@pytest.mark.parametrize("case", recorded("gemini", holding="response_json", failed=False))
def test_a_whole_reply_gives_what_it_holds(case: Case) -> None:
    """Also one that is a list of chunks, as the service streams when it is not asked for events."""
    check(read_whole(case), plainly_read(case))


@pytest.mark.parametrize("case", recorded("gemini", holding="response_json", failed=False))
def test_a_whole_reply_in_place_of_a_stream_is_the_same(case: Case) -> None:
    """Wherever it is cut."""
    body, whole = case.body, read_whole(case)

    assert read_stream(body) == ([], whole)
    assert all(read_stream(body[:i], body[i:])[1] == whole for i in range(1, len(body), 97))


@pytest.mark.parametrize("case", recorded("gemini", holding="response_sse", failed=False))
def test_a_streamed_reply_gives_what_it_holds(case: Case) -> None:
    """The assembled answer is that of a plain reading, and the deltas add up to it."""
    deltas, answer = read_stream(case.body)

    check(answer, plainly_read(case))
    assert answer.content == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert (answer.reasoning or "") == "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert len({delta.key for delta in calls}) == len(calls)
    assert [(delta.name, json.loads(delta.arguments)) for delta in calls] == [
        (call.name, dict(call.arguments)) for call in answer.tool_calls or ()
    ]


@pytest.mark.parametrize("case", recorded("gemini", holding="response_sse", failed=False))
def test_a_stream_equals_the_list_of_its_chunks(case: Case) -> None:
    """What a stream adds up to is what the chunks give when they come as one document."""
    chunks = json.dumps(plainly_read(case).chunks).encode()

    assert read_stream(case.body)[1] == CODEC.decode(HttpReply(200, {}, chunks), REQUEST)


@pytest.fixture
def quick_json(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Decode each payload once: thousands of cuts give the same ones again and again."""
    cached = lru_cache(maxsize=None)(decode)
    monkeypatch.setattr(frames, "decode", cached)
    yield
    cached.cache_clear()


def cuts(body: bytes) -> list[int]:
    """Return where to cut: everywhere, in long streams at every line end and at places between."""
    if len(body) <= EVERY_BYTE:
        return list(range(1, len(body)))
    ends = {found.start() + shift for found in re.finditer(rb"[\r\n]", body) for shift in (0, 1)}
    return sorted({*ends, *range(1, len(body), len(body) // 1_000)} - {0, len(body)})


@pytest.mark.usefixtures("quick_json")
@pytest.mark.parametrize("case", recorded("gemini", holding="response_sse", failed=False))
def test_a_stream_is_the_same_at_every_cut(case: Case) -> None:
    """Two pieces, cut at any byte, give the deltas and the answer of the whole."""
    body = case.body
    whole = read_stream(body)

    assert all(read_stream(body[:i], body[i:]) == whole for i in cuts(body))


@pytest.mark.parametrize("case", recorded("gemini", holding="response_sse", failed=False))
def test_a_stream_is_the_same_byte_by_byte_and_with_other_line_ends(case: Case) -> None:
    """The service ends lines in CRLF; gateways in LF, or CR."""
    body = case.body
    whole = read_stream(body)

    for end in (b"\r\n", b"\n", b"\r"):
        other = body.replace(b"\r\n", b"\n").replace(b"\n", end)
        assert read_stream(other) == whole
        assert read_stream(*(other[i : i + 1] for i in range(len(other)))) == whole


@pytest.mark.parametrize("case", recorded("gemini", holding="response_sse", failed=False))
def test_a_stream_that_breaks_off_is_interrupted(case: Case) -> None:
    """Without its last event it has no end, and keeps the text until there."""
    events = case.body.replace(b"\r\n", b"\n").strip().split(b"\n\n")
    decoder = CODEC.decoder(REQUEST)
    deltas = [delta for event in events[:-1] for delta in decoder.feed(event + b"\n\n")]

    with pytest.raises(StreamInterruptedError) as caught:
        decoder.finish()

    assert caught.value.partial == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


@pytest.mark.parametrize("case", recorded("gemini", failed=False))
def test_a_turn_goes_back_as_it_came(case: Case) -> None:
    """Texts joined, every other part and every signature byte for byte, on the part it came with."""
    answer = read_stream(case.body)[1] if "response_sse" in case.exchange else read_whole(case)
    if not (answer.content or answer.tool_calls or answer.provider_state):
        assert plainly_read(case).parts in ([], [{"text": ""}])
        return
    turn = answer.to_message()
    results = [ChatMessage.tool_result(call.id, "ok") for call in turn.tool_calls or ()]
    request = attrs.evolve(REQUEST, messages=(*REQUEST.messages, turn, *results), model=answer.model)

    body = json.loads(CODEC.encode(request).body)

    assert _joined(body["contents"][1]["parts"]) == _joined(plainly_read(case).parts)
    if results:
        calls = plainly_read(case).calls
        answers = [part["functionResponse"] for part in body["contents"][2]["parts"]]
        assert [(made["name"], made.get("id")) for made in answers] == [(c["name"], c.get("id")) for c in calls]


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for part in parts:
        plain = part.keys() <= {"text", "thought"}
        if joined and plain and joined[-1].keys() == part.keys():
            joined[-1] = part | {"text": joined[-1]["text"] + part["text"]}
        elif "functionCall" in part:
            joined.append(part | {"functionCall": {"args": {}, **part["functionCall"]}})
        elif not plain or part["text"]:
            joined.append(part)
    return joined
