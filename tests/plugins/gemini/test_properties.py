"""Laws of the codec: a memo changes no byte, any cut gives the same stream, any bytes an answer or a typed error."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from nr_llm.errors import NrLlmError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse
from nr_llm.specs import ToolSpec

from tests.corpus.oracle import checker
from tests.plugins.gemini.replies import CODEC, asked, call, chunks, payload, read, streamed
from tests.plugins.told import calls_of, text_of

TEXTS = st.text(st.characters(codec=None), max_size=12)
FILLED = TEXTS.filter(lambda text: text.strip() != "")
ARGUMENTS = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS), max_size=3)
RESULTS = TEXTS | st.sampled_from(["{}", '{"a": 1}', "[1]", '{"a": 1234567890123456789}'])
MODELS = st.sampled_from(["gemini-1.5-pro", "gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro-preview", "own"])
ATTACHMENTS = st.builds(
    Attachment, st.sampled_from(["image/png", "application/pdf", "audio/wav", "video/mp4"]), st.binary(max_size=6)
) | st.just(Attachment("image/png", url="https://host/a.png"))
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "additionalProperties": False},
        {"properties": {"a": {"enum": ["x", 1]}, "b": {"type": "number", "exclusiveMinimum": 1}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"b": {"$ref": "#/$defs/A"}}}}},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {"type": "string"}}},
    ]
)
PARTS = st.sampled_from(
    [{"text": "Hm.", "thought": True}, {"text": "", "thoughtSignature": "eA=="}, {"executableCode": {"code": "1"}}]
)


@st.composite
def turns(draw: st.DrawFn) -> list[ChatMessage]:
    """Return an assistant's turn with calls, with or without what the service sent, and their answers in any order."""
    ids = draw(st.lists(FILLED, min_size=1, max_size=3, unique=True))
    ids = list(dict.fromkeys(ToolCall(call_id, "x").id for call_id in ids))
    names = st.sampled_from(["add", "mul", "files.read", "9lives"]) | FILLED
    calls = [
        ToolCall(call_id, draw(names), draw(ARGUMENTS), draw(st.none() | TEXTS) if draw(st.booleans()) else None)
        for call_id in ids
    ]
    answers = [
        ChatMessage.tool_result(call_id, draw(RESULTS), is_error=draw(st.booleans()))
        for call_id in draw(st.permutations(ids))
    ]
    text = draw(TEXTS)
    sent = [call("x", None, "eA==", id=f"f{i}") for i in range(len(ids))]
    parts = [*draw(st.lists(PARTS, max_size=2)), *sent, *draw(st.lists(PARTS, max_size=1))]
    state = draw(st.sampled_from([{}, {"test": {"model": draw(MODELS), "parts": parts}}]))
    return [ChatMessage("assistant", text, tool_calls=tuple(calls), provider_state=state), *answers]


def conversations() -> st.SearchStrategy[list[ChatMessage]]:
    """Return conversations in which every call is answered where it has to be; they may be empty."""
    single = (
        st.builds(ChatMessage.system, TEXTS)
        | st.builds(lambda text, files: ChatMessage.user(text, *files), TEXTS, st.lists(ATTACHMENTS, max_size=2))
        | st.builds(ChatMessage.assistant, TEXTS)
    )
    return st.lists(single.map(lambda message: [message]) | turns(), max_size=4).map(
        lambda parts: [message for part in parts for message in part]
    )


@st.composite
def requests(draw: st.DrawFn) -> CompletionRequest:
    """Return a request with any options."""
    specs = st.builds(ToolSpec, st.sampled_from(["add", "mul", "_private"]), TEXTS, SCHEMAS)
    tools = draw(st.lists(specs, max_size=3, unique_by=lambda spec: spec.name))
    options = Options(
        temperature=draw(st.none() | st.floats(0, 2)),
        max_tokens=draw(st.none() | st.integers(1, 100)),
        stop=draw(st.lists(TEXTS, max_size=2)),
        tool_choice=draw(st.sampled_from([None, "auto", "none", "required", *[tool.name for tool in tools[:1]]])),
        reasoning_effort=draw(st.sampled_from([None, "none", "low", "max"])),
        response_schema=draw(st.none() | SCHEMAS.filter(bool)),
    )
    first = draw(
        st.sampled_from([ChatMessage.user("Hello"), ChatMessage.system("Be brief."), ChatMessage.assistant("Hi")])
    )
    return CompletionRequest(
        model=draw(MODELS),
        messages=(first, *draw(conversations())),
        tools=tuple(tools),
        options=options,
        stream=draw(st.booleans()),
    )


@given(st.data())
def test_a_memo_changes_no_byte(data: st.DataObject) -> None:
    """However a conversation grows; the model and the tools of a run stay."""
    memo, request = Memo(), data.draw(requests())
    for _ in range(3):
        assert CODEC.encode(request, memo) == CODEC.encode(request)
        more = data.draw(conversations())
        request = attrs.evolve(request, messages=(*request.messages, *more))
    shorter = attrs.evolve(request, messages=request.messages[:1])
    assert CODEC.encode(shorter, memo) == CODEC.encode(shorter)


@given(requests())
def test_a_body_is_json_with_its_contents_last(request: Any) -> None:
    """And one field per name."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    body = json.loads(CODEC.encode(request).body, object_pairs_hook=once)

    assert list(body)[-1] == "contents"


@settings(max_examples=60)
@given(requests())
def test_whatever_we_encode_is_a_valid_request(request: Any) -> None:
    """The checkers made from the SDK's types, and the service's rules, find nothing to object to."""
    check = checker("gemini", "google.genai", "/v1beta/models/m:generateContent")

    found = check(json.loads(CODEC.encode(request).body))

    assert [text for text in found if not text.startswith("lint:")] == []


WORDS = st.text(max_size=12)
SENT = st.lists(
    st.lists(
        st.builds(lambda text: {"text": text}, WORDS)
        | st.builds(lambda text: {"text": text, "thought": True}, WORDS)
        | st.builds(lambda text: {"text": text, "thoughtSignature": "eA=="}, WORDS)
        | st.builds(lambda args: call(args=args), st.dictionaries(WORDS, WORDS, max_size=2))
        | PARTS,
        max_size=3,
    ),
    min_size=1,
    max_size=5,
)


@given(SENT, st.lists(st.integers(0, 2000), max_size=6), st.sampled_from([b"\r\n", b"\n", b"\r"]))
def test_a_stream_is_the_same_however_it_is_cut(sent: list[list[Any]], cuts: list[int], end: bytes) -> None:
    """Its deltas add up to its answer, which is that of its chunks as one reply."""
    replies = [payload(*parts, finish=None) for parts in sent[:-1]] + [payload(*sent[-1])]
    body = chunks(*replies).replace(b"\r\n", end)
    places = sorted({cut % (len(body) + 1) for cut in cuts})
    parts = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    seen, answer = streamed(*parts)

    assert (seen, answer) == streamed(body)
    assert answer == read(replies)
    assert text_of(seen) == answer.content


@given(SENT)
def test_a_turn_goes_back_with_all_its_signatures(sent: list[list[Any]]) -> None:
    """On as many calls, with the same text."""
    answer = read([payload(*parts) for parts in sent])
    results = [ChatMessage.tool_result(call_id, "x") for call_id, *_ in calls_of(answer)]
    messages = (ChatMessage.user("Hello"), answer.to_message(), *results)

    said = json.loads(CODEC.encode(asked(*messages)).body)["contents"]

    again = said[1]["parts"] if len(said) > 1 else []
    flat = [part for parts in sent for part in parts]
    assert sum("thoughtSignature" in part for part in again) == sum("thoughtSignature" in part for part in flat)
    assert "".join(part.get("text", "") for part in again) == "".join(part.get("text", "") for part in flat)
    assert [part for part in again if "functionCall" in part] == [part for part in flat if "functionCall" in part]


KEYS = [
    *("candidates", "content", "parts", "text", "thought", "functionCall", "name", "args", "id", "finishReason"),
    *("promptFeedback", "blockReason", "usageMetadata", "promptTokenCount", "error", "code", "status", "details"),
    *("models", "nextPageToken", "supportedGenerationMethods", "modelVersion", "finishMessage", "thoughtSignature"),
]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 600) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
REPLIES = JSON_VALUES | st.fixed_dictionaries(
    {"candidates": st.lists(st.fixed_dictionaries({"content": st.fixed_dictionaries({"parts": JSON_VALUES})}))}
)


@given(REPLIES)
def test_any_reply_is_an_answer_or_a_typed_error(sent: Any) -> None:
    """No value in it, anywhere, breaks the reader; nor the request that goes on from it."""
    body = json.dumps(sent).encode()
    with suppress(NrLlmError):
        answer = CODEC.decode(HttpReply(200, {}, body), asked())
        assert isinstance(answer, CompletionResponse)
        results = [ChatMessage.tool_result(call_id, "x") for call_id, *_ in calls_of(answer)]
        assert CODEC.encode(asked(ChatMessage.user("x"), answer.to_message(), *results)).body
    with suppress(NrLlmError):
        CODEC.decode_models(HttpReply(200, {}, body))
    assert str(CODEC.error(HttpReply(400, {}, body)))


@given(st.lists(REPLIES, max_size=4))
def test_any_stream_is_an_answer_or_a_typed_error(sent: list[Any]) -> None:
    """As above, event by event."""
    decoder = CODEC.decoder(asked())
    with suppress(NrLlmError):
        for value in sent:
            decoder.feed(b"data: " + json.dumps(value).encode() + b"\r\n\r\n")
        assert isinstance(decoder.finish(), CompletionResponse)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_typed_error(first: bytes, second: bytes) -> None:
    """Whole, streamed, and as a failed reply."""
    for body in (first, b"data: " + first + b"\r\n\r\n" + second):
        decoder = CODEC.decoder(asked())
        with suppress(NrLlmError):
            decoder.feed(body)
            decoder.finish()
        with suppress(NrLlmError):
            CODEC.decode(HttpReply(200, {}, body), asked())
        assert str(CODEC.error(HttpReply(500, {"retry-after": second.decode("latin-1")}, body)))
