"""Tools that the service runs by itself: declared by an option, never called here, brought back with their results."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import InvalidValueError, UnknownNameError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm_gemini import GeminiOptions

from tests.corpus.oracle import checker
from tests.plugins.gemini.replies import ADD, CODEC, asked, body_of, call, chunks, contents_of, payload, read, streamed

CODE = {"executableCode": {"language": "PYTHON", "code": "print(1 + 1)"}}
RAN = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}}
LOOKED = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["nr"]}, "id": "s1"}}
FOUND = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {}, "id": "s1"}}
GROUNDS = {"webSearchQueries": ["nr"], "groundingChunks": [{"web": {"uri": "https://host", "title": "T"}}]}


def grounded(*parts: dict[str, Any], finish: str | None = "STOP") -> dict[str, Any]:
    """Return a reply that says where the service looked."""
    reply = payload(*parts, finish=finish)
    reply["candidates"][0]["groundingMetadata"] = GROUNDS
    return reply


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("google_search", {"googleSearch": {}}),
        ("google_maps", {"googleMaps": {}}),
        ("url_context", {"urlContext": {}}),
        ("code_execution", {"codeExecution": {}}),
        ({"googleSearch": {"excludeDomains": ["a"]}}, {"googleSearch": {"excludeDomains": ["a"]}}),
    ],
)
def test_a_tool_is_named_or_declared(tool: Any, expected: dict[str, Any]) -> None:
    """Alone it needs no more."""
    body = body_of(asked(provider_options=GeminiOptions(server_tools=tool)))

    assert body["tools"] == [expected]
    assert "toolConfig" not in body


@pytest.mark.parametrize(("choice", "mode"), [(None, None), ("required", {"mode": "ANY"})])
def test_beside_ours_the_service_has_to_see_again_what_it_ran(choice: str | None, mode: Any) -> None:
    """It says so of itself."""
    options = GeminiOptions(server_tools="google_search")
    body = body_of(asked(tools=(ADD,), tool_choice=choice, provider_options=options))

    assert [list(tool) for tool in body["tools"]] == [["googleSearch"], ["functionDeclarations"]]
    expected = {"includeServerSideToolInvocations": True} | ({} if mode is None else {"functionCallingConfig": mode})
    assert body["toolConfig"] == expected


@pytest.mark.parametrize("kind", ["functionDeclarations", "computerUse"])
def test_what_a_client_has_to_run_is_refused(kind: str) -> None:
    """Nobody would answer its calls."""
    with pytest.raises(InvalidValueError, match="not run by the service"):
        GeminiOptions(server_tools={kind: {}})


def test_a_slip_is_refused_with_a_suggestion() -> None:
    """Also out of a file."""
    with pytest.raises(UnknownNameError, match="google_search"):
        body_of(asked(provider_options={"gemini": {"server_tools": ["google_serch"]}}))


@pytest.mark.parametrize("parts", [[CODE, RAN], [LOOKED, FOUND]], ids=["code", "search"])
def test_what_the_service_ran_is_no_call_and_goes_back(parts: list[dict[str, Any]]) -> None:
    """Where it stood, beside calls of ours."""
    answer = read(payload(*parts, {"text": "So."}, call(args={"a": 1})), asked(tools=(ADD,)))

    assert [made.name for made in answer.tool_calls or ()] == ["add"]
    assert answer.provider_state is not None
    result = ChatMessage.tool_result((answer.tool_calls or ())[0].id, "2")
    contents = contents_of(ChatMessage.user("?"), answer.to_message(), result)
    assert contents[1]["parts"] == [*parts, {"text": "So."}, call(args={"a": 1})]


def test_where_it_looked_is_kept_and_not_sent_back() -> None:
    """It is about the answer, no part of it."""
    answer = read(grounded({"text": "So."}))

    assert answer.provider_state == {
        "model": "gemini-2.5-flash",
        "parts": [{"text": "So."}],
        "groundingMetadata": GROUNDS,
    }
    turns = contents_of(ChatMessage.user("?"), answer.to_message(), ChatMessage.user("And?"))
    assert turns[1] == {"role": "model", "parts": [{"text": "So."}]}


def test_a_stream_gives_the_same() -> None:
    """Also where the place comes with its end."""
    _, answer = streamed(
        chunks(payload(CODE, finish=None), payload(RAN, {"text": "S"}, finish=None), grounded({"text": "o."}))
    )

    assert answer == read(grounded(CODE, RAN, {"text": "So."}))
    assert answer.tool_calls is None


def test_the_service_takes_it() -> None:
    """As its own request types say; a memo changes no byte."""
    check = checker("gemini", "google.genai", "/v1beta/models/m:generateContent")
    options = GeminiOptions(server_tools=["google_search", "url_context", "code_execution"])
    turn = read(grounded(CODE, RAN, {"text": "So."})).to_message()
    request = asked(ChatMessage.user("?"), turn, ChatMessage.user("And?"), tools=(ADD,), provider_options=options)

    assert check(body_of(request)) == []
    assert CODEC.encode(request, Memo()) == CODEC.encode(request)
