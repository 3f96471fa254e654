"""A real server that is not ours, llama.cpp's, asked through the whole Runtime; run by the nox session ``live``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from nr_llm import InvalidRequestError, Limits, Options, RunResult, Runtime, TextDelta, ToolCallDelta, tool
from nr_llm.errors import ContextLengthError, MissingToolCallError, TransportError

SERVERS = [name for name in ("xllamacpp", "llama_cpp") if find_spec(name)]
if not SERVERS:
    pytest.skip("no llama.cpp server here; run nox --session live", allow_module_level=True)
server: Any = pytest.importorskip(SERVERS[0])
openai: Any = pytest.importorskip("nr_llm_openai", reason="the OpenAI plugin is not installed here")

PYTHONS = SERVERS[0] == "llama_cpp"
"""Whether it is the server of llama-cpp-python: it counts no tokens of streams, knows no choice `required`, no
`json_schema` and no content that is null, and answers each of them with a failure of its own."""

CALLS = PYTHONS or server.__version__.startswith("0.2.")
"""Of the servers of llama.cpp itself the older makes calls of what this model writes, the newer leaves them as text."""

CHOICE = "add" if PYTHONS else "required"


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
        provider = openai.OpenAI("llama", base_url=f"{url}/v1", call_content="empty" if PYTHONS else None)
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
    assert PYTHONS or stream.outcome.usage.output_tokens


def test_it_keeps_to_a_schema(runtime: Runtime) -> None:
    """Whatever the words are, the form is right."""
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 20}, "country": {"type": "string", "maxLength": 20}},
        "required": ["name", "country"],
        "additionalProperties": False,
    }
    form = {"type": "json_object", "schema": schema}
    asked = {"provider_options": openai.OpenAIOptions(raw={"response_format": form})}
    wanted = asked if PYTHONS else {"response_schema": schema}
    reply = runtime.complete("Name a city.", options=Options(**wanted, max_tokens=120))

    assert json.loads(reply.content).keys() == {"name", "country"}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_required_call_comes_or_is_missed(runtime: Runtime, streamed: bool) -> None:
    """Never as an answer that looks like one."""
    options = Options(tool_choice=CHOICE, max_tokens=80)
    if not CALLS:
        with pytest.raises(MissingToolCallError):
            runtime.complete("Add 2 and 3.", tools=[add], options=options)
        return
    if not streamed:
        reply = runtime.complete("Add 2 and 3.", tools=[add], options=options)
        assert [call.name for call in reply.tool_calls or ()] == ["add"]
        return
    limits = Limits(rounds=1 if PYTHONS else 5)  # this server breaks off a stream where calls are the model's to make
    with runtime.stream("Add 2 and 3.", tools=[add], options=options, limits=limits) as stream:
        pieces = [event for event in stream if isinstance(event, ToolCallDelta)]
    assert isinstance(stream.outcome, RunResult)
    assert [call.name for call in stream.outcome.invocations][:1] == ["add"]
    assert pieces


def test_a_conversation_that_is_too_long_is_told(runtime: Runtime) -> None:
    """As what it is, not as a fault of the service."""
    with pytest.raises(ContextLengthError):
        runtime.complete("word " * 9_000)


@pytest.mark.skipif(PYTHONS, reason="this server knows no json_schema")
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
