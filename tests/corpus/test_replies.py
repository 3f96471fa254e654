"""Every recorded reply gives the values it holds, whole or streamed, however it is cut; failures are typed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import lru_cache

import pytest
from nr_llm.codecs import frames
from nr_llm.codecs.json import decode
from nr_llm.errors import ProviderError
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.messages import ChatMessage
from nr_llm.providers import Codec, HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from tests.corpus.plain import Found
from tests.corpus.services import SERVICES, Service, service_of
from tests.corpus.traffic import Case, recorded

REQUEST = CompletionRequest(model="asked-for", messages=(ChatMessage.user("Hello"),))

EVERY = 65_536 if os.environ.get("NR_LLM_TEST_DEPTH") else 2_000
"""Bytes up to which a stream is cut at every one; longer ones at samples and at every line end."""

SAMPLES = 150

ERRORS = {
    "anthropic/error_4xx_18afbc4c": "InvalidRequestError",
    "anthropic/error_4xx_bce12c83": "InvalidRequestError",
    "anthropic/error_4xx_ca2699f9": "AuthenticationError",
    "anthropic/error_4xx_e8e9d947": "InvalidRequestError",
    "anthropic/error_4xx_f800d621": "ModelNotFoundError",
    "ollama/error_4xx_de7f79c9": "ModelNotFoundError",
    "openai_responses/error_4xx_2a9ef842": "ContextLengthError",
    "openai_responses/error_4xx_2fbd8743": "AuthenticationError",
    "openai_responses/error_4xx_3e95f0ee": "InvalidRequestError",
    "openai_responses/error_4xx_8b2f8add": "ModelNotFoundError",
    "openai_responses/error_4xx_bd4c6663": "AuthenticationError",
    "openai_responses/error_4xx_e00f97c9": "InvalidRequestError",
}
"""Failures that more than their status decides; of others the status says enough."""

BY_STATUS = {
    400: (
        "InvalidRequestError",
        "ModelNotFoundError",
        "ContextLengthError",
        "ContentFilterError",
        "ToolCallRejectedError",
    ),
    401: ("AuthenticationError",),
    402: ("RateLimitError",),
    403: ("AuthenticationError",),
    404: ("InvalidRequestError", "ModelNotFoundError"),
    413: ("InvalidRequestError", "ContextLengthError"),
    422: ("InvalidRequestError",),
    429: ("RateLimitError",),
}

INSIDE = {
    "groq/thinking_9439182c": "ToolCallRejectedError",
    "openrouter/thinking_ffa24ba8": "InvalidRequestError",
}
"""Replies that claim success and report a failure."""


def used(case: Case) -> tuple[Service, Codec]:
    """Return the service of a case and its codec."""
    service = service_of(case.provider, case.exchange["endpoint_path"])
    return service, service.codec()


def name_of(case: Case) -> str:
    """Return folder and file name."""
    assert case.path is not None
    return f"{case.provider}/{case.path.stem}"


def read_stream(codec: Codec, *pieces: bytes) -> tuple[list[Delta], CompletionResponse]:
    """Feed `pieces` and return what came out."""
    decoder = codec.decoder(REQUEST)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas, decoder.finish()


def check(answer: CompletionResponse, found: Found) -> None:
    """Compare an answer with a plain reading."""
    assert answer.content == found.content
    assert (answer.reasoning or "") == found.reasoning
    assert (answer.refusal or "") == found.refusal or answer.finish_detail == "refusal"
    given = [
        (call.name, None if call.malformed is not None else dict(call.arguments)) for call in answer.tool_calls or ()
    ]
    assert given == found.calls
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (found.read, found.written)
    assert (answer.finish_detail or None) == (found.finish or None)
    assert answer.model == (found.model or "asked-for")


GOOD = [name.split("/")[1] for name in INSIDE]


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_json", failed=False))
def test_a_whole_reply_gives_what_it_holds(case: Case) -> None:
    """Text, thinking, refusal, calls, counts, the word for the end and the model."""
    service, codec = used(case)

    check(codec.decode(HttpReply(200, {}, case.body), REQUEST), service.whole(case.exchange["response_json"]))


@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse", failed=False, besides=GOOD))
def test_a_streamed_reply_gives_what_it_holds(case: Case) -> None:
    """The same, and the deltas add up to it."""
    service, codec = used(case)

    deltas, answer = read_stream(codec, case.body)

    check(answer, service.stream(case.body.decode()))
    assert answer.content == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert (answer.reasoning or "") == "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    written: dict[str, list[str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            entry = written.setdefault(delta.key, ["", ""])
            entry[0], entry[1] = entry[0] + (delta.name or ""), entry[1] + delta.arguments
    calls = [call for call in answer.tool_calls or () if call.malformed is None]
    assert len(written) == len(answer.tool_calls or ())
    assert [(name, json.loads(text or "{}")) for name, text in written.values()] == [
        (call.name, dict(call.arguments)) for call in calls
    ]


@pytest.fixture
def quick_json(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Decode each payload once: thousands of cuts give the same ones again and again."""
    cached = lru_cache(maxsize=None)(decode)
    monkeypatch.setattr(frames, "decode", cached)
    yield
    cached.cache_clear()


def cuts(body: bytes) -> Iterator[int]:
    """Yield where to cut: everywhere, or at samples and around line ends."""
    if len(body) <= EVERY:
        yield from range(1, len(body))
        return
    ends = [i for i, byte in enumerate(body) if byte in b"\r\n"]
    near = {i + d for i in ends[:: max(1, len(ends) // SAMPLES)] for d in (0, 1)}
    yield from sorted(near | set(range(1, len(body), max(1, len(body) // SAMPLES))) - {0, len(body)})


@pytest.mark.usefixtures("quick_json")
@pytest.mark.parametrize("case", recorded(*SERVICES, holding="response_sse", failed=False, besides=GOOD))
def test_a_stream_is_the_same_at_every_cut(case: Case) -> None:
    """Two pieces, single bytes, other line ends: deltas may be cut otherwise, the answer is the same."""
    _, codec = used(case)
    body = case.body
    whole = read_stream(codec, body)

    assert all(read_stream(codec, body[:i], body[i:]) == whole for i in cuts(body))
    assert read_stream(codec, *(body[i : i + 1] for i in range(len(body)))) == whole
    unix = body.replace(b"\r\n", b"\n")
    for end in (b"\n", b"\r\n"):
        assert read_stream(codec, unix.replace(b"\n", end)) == whole


@pytest.mark.parametrize("case", recorded(*SERVICES, among=[name.split("/")[1] for name in INSIDE]))
def test_a_failure_inside_a_good_reply_is_raised(case: Case) -> None:
    """It is never an empty success."""
    _, codec = used(case)

    with pytest.raises(ProviderError) as caught:
        read_stream(codec, case.body)

    assert type(caught.value).__name__ == INSIDE[name_of(case)]


@pytest.mark.parametrize("case", recorded(*SERVICES, failed=True))
def test_an_error_reply_becomes_the_error_of_who_must_act(case: Case) -> None:
    """With status, id of the request and whether to ask again."""
    exchange = case.exchange
    _, codec = used(case)

    error = codec.error(HttpReply(exchange["status"], exchange["response_headers"], case.body))

    expected = ERRORS.get(name_of(case))
    allowed = (expected,) if expected else BY_STATUS.get(exchange["status"], ("ServiceError",))
    assert type(error).__name__ in allowed
    assert error.status == exchange["status"]
    asked = exchange["response_headers"].get("x-should-retry")
    if asked is None and type(error).__name__ != "ToolCallRejectedError":
        assert error.retryable is (error.status in (429, 408, 409) or error.status >= 500) or "RateLimit" in repr(error)
    ids = [exchange["response_headers"].get(name) for name in ("x-request-id", "request-id", "apim-request-id")]
    assert error.request_id in ids or error.request_id is None
