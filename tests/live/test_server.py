"""A real server that is not ours, llama.cpp's, asked through the whole Runtime; run by the nox session ``live``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nr_llm import InvalidRequestError, Options, RunResult, Runtime, TextDelta, ToolCallDelta, tool
from nr_llm.errors import ContextLengthError, MissingToolCallError, TransportError

xllamacpp: Any = pytest.importorskip("xllamacpp", reason="no llama.cpp server here; run nox --session live")
openai: Any = pytest.importorskip("nr_llm_openai", reason="the OpenAI plugin is not installed here")

CALLS = xllamacpp.__version__.startswith("0.2.")
"""Only the older server makes calls of what this model writes; the newer one leaves them in the text."""


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Serve the small model, and return a Runtime that asks it."""
    weights = os.environ.get("NR_LLM_LIVE_MODEL")
    if not weights:
        pytest.skip("NR_LLM_LIVE_MODEL names no model file")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("serve.py")
    with subprocess.Popen(
        [sys.executable, str(script), weights, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as serving:
        assert serving.stdout is not None
        lines = iter(serving.stdout.readline, "")
        url = next(line.strip() for line in lines if line.startswith("http"))
        provider = openai.OpenAI("llama", base_url=f"{url}/v1")
        with Runtime(providers=[provider], tools=[add], model="llama:small", options=Options(max_tokens=60)) as made:
            yield made
        serving.kill()


def test_it_answers(runtime: Runtime) -> None:
    """With text, counts and a reason."""
    reply = runtime.complete("Say hello.")

    assert reply.content
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens


def test_it_streams(runtime: Runtime) -> None:
    """The pieces are the answer."""
    with runtime.stream("Say hello.", tools=[]) as stream:
        shown = "".join(event.text for event in stream if isinstance(event, TextDelta))

    assert isinstance(stream.outcome, RunResult)
    assert shown == stream.outcome.content
    assert shown
    assert stream.outcome.usage.output_tokens


def test_it_keeps_to_a_schema(runtime: Runtime) -> None:
    """Whatever the words are, the form is right."""
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 20}, "country": {"type": "string", "maxLength": 20}},
        "required": ["name", "country"],
        "additionalProperties": False,
    }
    reply = runtime.complete("Name a city.", options=Options(response_schema=schema, max_tokens=120))

    assert json.loads(reply.content).keys() == {"name", "country"}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_required_call_comes_or_is_missed(runtime: Runtime, streamed: bool) -> None:
    """Never as an answer that looks like one."""
    options = Options(tool_choice="required", max_tokens=80)
    if not CALLS:
        with pytest.raises(MissingToolCallError):
            runtime.complete("Add 2 and 3.", tools=[add], options=options)
        return
    if not streamed:
        reply = runtime.complete("Add 2 and 3.", tools=[add], options=options)
        assert [call.name for call in reply.tool_calls or ()] == ["add"]
        return
    with runtime.stream("Add 2 and 3.", tools=[add], options=options) as stream:
        pieces = [event for event in stream if isinstance(event, ToolCallDelta)]
    assert isinstance(stream.outcome, RunResult)
    assert [call.name for call in stream.outcome.invocations][:1] == ["add"]
    assert pieces


def test_a_conversation_that_is_too_long_is_told(runtime: Runtime) -> None:
    """As what it is, not as a fault of the service."""
    with pytest.raises(ContextLengthError):
        runtime.complete("word " * 9_000)


def test_a_bad_schema_is_refused(runtime: Runtime) -> None:
    """With the server's own words."""
    with pytest.raises(InvalidRequestError) as caught:
        runtime.complete("x", options=Options(response_schema={"type": "object", "properties": {"a": {"type": "odd"}}}))

    assert caught.value.status == 400


def test_models_are_listed(runtime: Runtime) -> None:
    """By the names under which they are served."""
    assert [model.name for model in runtime.models("llama")]


def test_a_server_that_is_not_there_is_told() -> None:
    """With its address."""
    gone = openai.OpenAI("gone", base_url="http://127.0.0.1:9/v1")
    with Runtime(providers=[gone], middleware=[]) as runtime, pytest.raises(TransportError) as caught:
        runtime.complete("x", model="gone:m")

    assert "127.0.0.1:9" in str(caught.value)
