"""Options become fields of the body: what was set, where the server reads it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from nr_llm.codecs.notes import say_left_out
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm_ollama import OllamaOptions

from tests.plugins.ollama.replies import ADD, CODEC, asked, body_of


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Collect what the log says, as if nothing had been said before."""
    say_left_out.cache_clear()
    caplog.set_level(logging.WARNING)
    return caplog


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_that_was_not_set_is_sent(stream: bool) -> None:
    """But whether to stream, which the server does unless told otherwise."""
    message = {"role": "user", "content": "Hello"}

    assert body_of(asked(stream=stream)) == {"model": "qwen3", "stream": stream, "messages": [message]}


def test_sampling_goes_where_the_server_reads_it() -> None:
    """At the top it would be ignored."""
    own = OllamaOptions(num_ctx=8192, top_k=5, min_p=0.1, repeat_penalty=1.1)
    common: dict[str, Any] = {"temperature": 0, "top_p": 0.9, "seed": 1, "frequency_penalty": 1, "presence_penalty": -1}
    body = body_of(asked(own=own, max_tokens=7, stop=["END"], **common))

    assert body["options"] == common | {
        "num_predict": 7, "stop": ["END"], "num_ctx": 8192, "top_k": 5, "min_p": 0.1, "repeat_penalty": 1.1,
    }  # fmt: skip
    assert body.keys() == {"model", "stream", "options", "messages"}


@pytest.mark.parametrize("keep", [0, -1, "10m"])
def test_how_long_the_model_stays_can_be_said(keep: int | str) -> None:
    """In seconds or in words; zero is no default."""
    assert body_of(asked(own=OllamaOptions(keep_alive=keep)))["keep_alive"] == keep


def test_the_schema_of_an_answer_is_its_format() -> None:
    """As it is."""
    schema = {"type": "object", "properties": {"a": {}}}

    assert body_of(asked(response_schema=schema))["format"] == schema


@pytest.mark.parametrize(
    ("model", "effort", "think", "sent"),
    [
        ("qwen3", None, None, None),
        ("qwen3", "low", None, True),
        ("qwen3", "none", None, False),
        ("gpt-oss:20b", "low", None, "low"),
        ("team/gpt-oss", "high", None, "high"),
        ("gpt-oss:20b", "minimal", None, "low"),
        ("gpt-oss:20b", "xhigh", None, "high"),
        ("qwen3", "low", False, False),
        ("qwen3", None, "high", "high"),
    ],
)
def test_thinking_is_asked_for_as_the_model_takes_it(
    model: str, effort: str | None, think: bool | str | None, sent: bool | str | None
) -> None:
    """By level where it has some; the setting for this server goes first."""
    assert body_of(asked(model=model, reasoning_effort=effort, own=OllamaOptions(think=think))).get("think") == sent


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_choice_the_server_cannot_make_is_said_in_the_log(choice: str, said: pytest.LogCaptureFixture) -> None:
    """Once; the answer is checked all the same."""
    for _ in range(2):
        assert "tool_choice" not in body_of(asked(tools=(ADD,), tool_choice=choice, parallel_tool_calls=False))

    assert [message.split(" takes no ")[1].split()[0] for message in said.messages] == [
        "tool_choice",
        "parallel_tool_calls;",
    ]


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_that_needs_no_field_is_not_spoken_of(choice: str, said: pytest.LogCaptureFixture) -> None:
    """It is done."""
    CODEC.encode(asked(tools=(ADD,), tool_choice=choice))

    assert said.messages == []


def test_a_tool_that_is_not_offered_cannot_be_chosen() -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidRequestError, match="'mul', a tool that is not offered"):
        CODEC.encode(asked(tools=(ADD,), tool_choice="mul"))


def test_raw_fields_go_last_but_for_what_the_conversation_decides() -> None:
    """Their options join ours."""
    raw = {"options": {"mirostat": 1, "seed": 2}, "tools": [], "messages": [], "stream": True, "think": False}
    body = body_of(asked(tools=(ADD,), seed=1, temperature=0, reasoning_effort="low", own=OllamaOptions(raw=raw)))

    assert body["options"] == {"temperature": 0, "seed": 2, "mirostat": 1}
    assert (body["tools"], body["stream"], body["think"], len(body["messages"])) == ([], False, False, 1)


@pytest.mark.parametrize(
    "wrong",
    [{"think": 5}, {"keep_alive": True}, {"keep_alive": 1.5}, {"num_ctx": 0}, {"min_p": 2}, {"repeat_penalty": -1}],
)
def test_a_wrong_value_is_refused_where_it_is_set(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    with pytest.raises(InvalidValueError, match=next(iter(wrong))):
        OllamaOptions(**wrong)
