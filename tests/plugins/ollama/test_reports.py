"""
Public fault reports that concern a client of Ollama's chat, each met as a correct client meets it.

The numbers are those of the collection of reports in the reference on wire formats, its section 10.
"""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.errors import ServiceError, StreamInterruptedError
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.specs import ToolSpec

from tests.plugins.ollama.replies import CODEC, asked, body_of, call, called, end, line, payload, read, sent, streamed
from tests.plugins.told import calls_of

USER = ChatMessage.user("Hello")


def report(*numbers: int) -> str:
    """Return the id of a test parameter: the reports it meets."""
    return "report-" + "-".join(map(str, numbers))


@pytest.mark.parametrize("number", [19, 20], ids=report)
def test_an_empty_object_stays_one(number: int) -> None:
    """In arguments, at every depth."""
    turn = ChatMessage.assistant_tool_calls([ToolCall("c", "f"), ToolCall("d", "f", {"a": {}, "b": []})])
    results = [ChatMessage.tool_result(call_id, "x") for call_id in ("c", "d")]
    body = CODEC.encode(asked(USER, turn, *results)).body

    assert b'"arguments":{}' in body
    assert b'"arguments":{"a":{},"b":[]}' in body


@pytest.mark.parametrize("number", [18, 21], ids=report)
def test_a_tool_without_parameters_has_an_empty_object(number: int) -> None:
    """Its properties are no list."""
    [tool] = body_of(asked(tools=(ToolSpec("now", "", {}),)))["tools"]

    assert tool["function"]["parameters"]["properties"] == {}


@pytest.mark.parametrize("number", [204, 205, 206], ids=report)
def test_arguments_go_back_as_an_object(number: int) -> None:
    """Whatever form they came in, also from another service."""
    for arguments in ({"a": 1}, '{"a": 1}', '"{\\"a\\": 1}"'):
        turn = read(payload(tool_calls=[call(arguments)])).to_message()
        again = sent(USER, turn, ChatMessage.tool_result("call_0", "2"))

        assert again[1]["tool_calls"] == [call({"a": 1})]


@pytest.mark.parametrize("number", [207], ids=report)
def test_a_call_needs_neither_id_nor_type(number: int) -> None:
    """It gets an id of its own."""
    assert calls_of(read(payload(tool_calls=[call({"a": 1})]))) == [("call_0", "add", {"a": 1}, None)]


@pytest.mark.parametrize("number", [208], ids=report)
def test_a_half_streamed_call_is_never_sent_back_as_arguments(number: int) -> None:
    """It is marked, not run, and history stays one the server takes."""
    answer = streamed(line(tool_calls=[call("{")]), end())

    assert calls_of(answer) == [("call_0", "add", {}, "{")]
    again = sent(USER, answer.to_message(), ChatMessage.tool_result("call_0", "bad"))
    assert again[1]["tool_calls"] == [call({"_raw": "{"})]


@pytest.mark.parametrize("number", [209], ids=report)
def test_text_that_looks_like_a_call_is_text(number: int) -> None:
    """Nothing is run that was only written."""
    text = '{"name": "add", "arguments": {"a": "}"}}'

    assert (read(payload(text)).content, read(payload(text)).tool_calls) == (text, None)


@pytest.mark.parametrize("number", [48, 64], ids=report)
def test_calls_of_one_turn_are_told_apart(number: int) -> None:
    """Also where they share an id."""
    answer = streamed(line(tool_calls=[call({"a": 1}, id="x")]), line(tool_calls=[call({"a": 2}, id="x")]), end())

    assert [found[2] for found in calls_of(answer)] == [{"a": 1}, {"a": 2}]
    assert len({found[0] for found in calls_of(answer)}) == 2


@pytest.mark.parametrize("number", [46, 47], ids=report)
def test_ids_are_unique_over_turns(number: int) -> None:
    """The server numbers none."""
    request = asked(USER, called(("call_0", "add")), ChatMessage.tool_result("call_0", "2"))

    assert calls_of(read(payload(tool_calls=[call()]), request))[0][0] == "call_1"


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(lambda body: (body[:7], body[7:]), id=report(189)),
        pytest.param(lambda body: (body,), id=report(190, 191, 192, 193)),
        pytest.param(lambda body: tuple(body[i : i + 1] for i in range(len(body))), id=report(186, 187, 188)),
    ],
)
def test_lines_are_lines_however_they_arrive(cut: Any) -> None:
    """Several in a piece, one in several, letters in halves."""
    assert streamed(*cut(line("Hä") + line("llo") + end("!"))).content == "Hällo!"


@pytest.mark.parametrize("number", [183, 184], ids=report)
def test_only_line_feeds_end_lines(number: int) -> None:
    """Other separators are text."""
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    body = line(text).replace(b"\\u2028", "\u2028".encode()).replace(b"\\u2029", "\u2029".encode())

    assert streamed(body.replace(b"\\u0085", "\u0085".encode()) + end()).content == text


@pytest.mark.parametrize("number", [169, 172, 173], ids=report)
def test_an_end_of_bytes_is_no_end(number: int) -> None:
    """The error has the text until then."""
    with pytest.raises(StreamInterruptedError) as caught:
        streamed(line("Hi"))
    assert caught.value.partial == "Hi"


@pytest.mark.parametrize("number", [168], ids=report)
def test_an_error_that_is_a_bare_text_is_raised(number: int) -> None:
    """Whole and streamed."""
    for body in (b'{"error": "out of memory"}', line("Hi") + b'{"error": "out of memory"}\n'):
        with pytest.raises(ServiceError, match="out of memory"):
            streamed(body)


@pytest.mark.parametrize("number", [225], ids=report)
def test_a_lone_surrogate_is_replaced(number: int) -> None:
    """In and out."""
    assert sent(ChatMessage.user("x\udfff"))[0]["content"] == "x\ufffd"
    assert streamed(line("a\ud800b"), end()).content == "a\ufffdb"
