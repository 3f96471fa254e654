"""Replies from public fault reports of Ollama's chat, re-typed, are met as their `correct_client` says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest

from tests.corpus.traffic import reported
from tests.support import shared_folder

ollama = pytest.importorskip("nr_llm_ollama", reason="the ollama plugin is not installed here")
CODEC = ollama.OllamaCodec()


def ollama_arguments_string(row: dict[str, Any]) -> None:
    """The error is a bare text and final; arguments are sent as an object, so that it does not come up."""
    error = CODEC.error(HttpReply(row["status"], {}, json.dumps(row["response_json"]).encode()))
    assert type(error) is InvalidRequestError
    assert row["response_json"]["error"] in str(error)
    assert not error.retryable

    calls = [ToolCall.from_wire({"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}})]
    messages = (ChatMessage.assistant_tool_calls(calls), ChatMessage.tool_result("c", "2"))
    body = json.loads(CODEC.encode(CompletionRequest(model="m", messages=messages)).body)
    assert body["messages"][0]["tool_calls"] == [{"function": {"name": "f", "arguments": {"a": 1}}}]


MET: tuple[Callable[[dict[str, Any]], None], ...] = (ollama_arguments_string,)


@pytest.mark.parametrize("met", MET, ids=lambda met: met.__name__)
def test_a_reported_fault_is_met(met: Callable[[dict[str, Any]], None]) -> None:
    """Each row behaves as a correct client does."""
    shared_folder()
    met(reported("ollama")[met.__name__])


def test_every_reported_fault_of_the_form_is_met() -> None:
    """A row that is added is not forgotten here."""
    shared_folder()
    assert set(reported("ollama")) == {met.__name__ for met in MET}
