"""Hypothesis strategies for conversations and requests that a caller may make."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

TEXTS = st.text(st.characters(codec=None), max_size=20)
FILLED = TEXTS.filter(lambda text: text.strip() != "")
ARGUMENTS = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS), max_size=3)

ATTACHMENTS = st.builds(
    Attachment,
    st.sampled_from(["image/png", "image/jpeg", "application/pdf", "audio/wav", "audio/mpeg"]),
    st.binary(max_size=6),
    name=st.none() | st.just("a.bin"),
) | st.just(Attachment("image/*", url="https://host/a.png"))

SCHEMAS = st.sampled_from(
    [
        {},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
        {
            "type": "object",
            "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"type": "number", "default": 1}},
        },
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "title": "Thing"},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {"type": "string"}}},
    ]
)


@st.composite
def turns(draw: st.DrawFn) -> list[ChatMessage]:
    """Return an assistant's turn with calls, and their answers in any order."""
    ids = draw(st.lists(FILLED.map(lambda text: text[:10]) | st.just("x" * 60), min_size=1, max_size=3, unique=True))
    ids = list(dict.fromkeys(ToolCall(call_id, "x").id for call_id in ids))
    names = st.sampled_from(["add", "mul", "files.read", "x" * 80]) | FILLED
    calls = [
        ToolCall(call_id, draw(names), draw(ARGUMENTS), draw(st.none() | TEXTS) if draw(st.booleans()) else None)
        for call_id in ids
    ]
    answers = [ChatMessage.tool_result(call_id, draw(TEXTS)) for call_id in draw(st.permutations(ids))]
    return [ChatMessage.assistant_tool_calls(calls, draw(TEXTS)), *answers]


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


def _tools() -> st.SearchStrategy[list[ToolSpec]]:
    specs = st.builds(
        ToolSpec,
        st.sampled_from(["add", "mul", "_private", "a-b"]),
        TEXTS,
        SCHEMAS,
        strict=st.none() | st.booleans(),
    )
    return st.lists(specs, max_size=3, unique_by=lambda spec: spec.name)


@st.composite
def requests(draw: st.DrawFn) -> CompletionRequest:
    """Return a request with any options."""
    tools = draw(_tools())
    choices = [None, "auto", "none", "required", *[tool.name for tool in tools[:1]]]
    numbers: dict[str, Any] = {
        "temperature": draw(st.none() | st.floats(0, 2)),
        "top_p": draw(st.none() | st.floats(0, 1)),
        "max_tokens": draw(st.none() | st.integers(1, 100)),
        "seed": draw(st.none() | st.integers(0, 100)),
        "frequency_penalty": draw(st.none() | st.floats(-2, 2)),
    }
    options = Options(
        **numbers,
        stop=draw(st.lists(TEXTS, max_size=2)),
        tool_choice=draw(st.sampled_from(choices)) if tools else draw(st.sampled_from([None, "auto", "required"])),
        parallel_tool_calls=draw(st.none() | st.booleans()),
        reasoning_effort=draw(st.sampled_from([None, "low"])),
        response_schema=draw(st.none() | SCHEMAS.filter(bool)),
    )
    return CompletionRequest(
        model=draw(st.sampled_from(["gpt-4o", "o3", "gpt-5-mini", "qwen"])),
        messages=[ChatMessage.user("Hello"), *draw(conversations())],
        tools=tools,
        options=options,
        stream=draw(st.booleans()),
    )
