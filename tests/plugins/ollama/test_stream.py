"""A streamed reply, a JSON object a line, gives the same answer as a whole one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nr_llm.errors import MalformedReplyError, ProviderError, RateLimitError, ServiceError, StreamInterruptedError
from nr_llm.events import ToolCallDelta
from nr_llm.responses import FinishReason, Usage

from tests.plugins.ollama.replies import call, end, line, payload, read, streamed, streamed_with
from tests.plugins.told import calls_of, reasoning_of, text_of


def test_a_stream_gives_what_the_whole_reply_gives() -> None:
    """Thinking, text, calls in a line before the last, counts, reason."""
    lines = [line(thinking="H"), line(thinking="m."), line("Hi"), line(tool_calls=[call({"a": 1})])]
    deltas, answer = streamed_with(*lines, end())

    assert answer == read(payload("Hi", thinking="Hm.", tool_calls=[call({"a": 1})]))
    assert (text_of(deltas), reasoning_of(deltas)) == ("Hi", "Hm.")
    assert [delta for delta in deltas if isinstance(delta, ToolCallDelta)] == [ToolCallDelta("0", "add", '{"a":1}')]


@pytest.mark.lesson(96, 103)
def test_calls_of_several_lines_add_up() -> None:
    """Each has a key of its own, and so has its delta."""
    lines = [line(tool_calls=[call({"a": 1})]), line(tool_calls=[call({"a": 2}), call({"a": 3})])]
    deltas, answer = streamed_with(*lines, end(tool_calls=[call('{"a": 4}')]))

    assert [found[2] for found in calls_of(answer)] == [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]
    told = [(delta.key, json.loads(delta.arguments)) for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert told == [("0", {"a": 1}), ("1", {"a": 2}), ("2", {"a": 3}), ("3", {"a": 4})]


@pytest.mark.parametrize("odd", [{}, {"function": {}}, {"function": {"name": "", "arguments": {}}}, 5])
def test_what_is_no_call_has_no_delta(odd: Any) -> None:
    """Nor is it one at the end."""
    deltas, answer = streamed_with(line(tool_calls=[odd]), end("Hi"))

    assert answer.tool_calls is None
    assert not any(isinstance(delta, ToolCallDelta) for delta in deltas)


def test_it_is_the_same_at_every_cut() -> None:
    """And with other line ends, blank lines, and no line end at all."""
    body = line("Hä\u2028") + b"\n" + line(tool_calls=[call({"a": "ö"})]) + end("!")
    whole = streamed(body)

    assert whole.content == "Hä\u2028!"
    assert all(streamed(body[:i], body[i:]) == whole for i in range(1, len(body)))
    assert streamed(body.replace(b"\n", b"\r\n")) == streamed(body.rstrip(b"\n")) == whole


class TestEnd:
    @pytest.mark.parametrize("body", [b"", b"\n", line("Hi"), line("Hi") + end()[:-5]])
    def test_a_stream_that_breaks_off_is_no_success(self, body: bytes) -> None:
        """The error has the text until then, and can be retried."""
        with pytest.raises(StreamInterruptedError) as caught:
            streamed(body)

        assert caught.value.retryable
        assert caught.value.partial == ("Hi" if b"Hi" in body else "")

    @pytest.mark.parametrize("done", [1, "true", None])
    def test_only_true_is_done(self, done: Any) -> None:
        """Anything else is no end."""
        with pytest.raises(StreamInterruptedError):
            streamed(json.dumps({"message": {"content": "Hi"}, "done": done}).encode())

    def test_an_end_without_counts_leaves_them_unknown(self) -> None:
        """And without a reason it stopped."""
        answer = streamed(line("Hi"), b'{"done": true}\n')

        assert (answer.content, answer.usage, answer.model) == ("Hi", Usage(None, None), "qwen3")
        assert (answer.finish_reason, answer.finish_detail) == (FinishReason.STOP, None)

    def test_nothing_behind_the_end_counts(self) -> None:
        """It is over."""
        assert streamed(end("Hi") + line("more"), line("yet")).content == "Hi"

    def test_a_whole_reply_is_its_own_only_line(self) -> None:
        """Some servers ignore the wish for a stream."""
        assert streamed(json.dumps(payload("Hi")).encode()) == read(payload("Hi"))


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "error"),
        [("llama runner process has terminated", ServiceError), ("too many requests", RateLimitError)],
    )
    def test_an_error_in_the_middle_is_raised(self, text: str, error: type[ProviderError]) -> None:
        """Although the status said that all was well."""
        with pytest.raises(error, match=text):
            streamed(line("Hi"), json.dumps({"error": text}).encode() + b"\n")

    def test_a_line_that_is_no_json_shows_what_came(self) -> None:
        """It is no answer."""
        with pytest.raises(MalformedReplyError, match="no JSON: 'oops'"):
            streamed(line("Hi"), b"oops\n")

    def test_a_page_is_no_answer(self) -> None:
        """A proxy's, say."""
        with pytest.raises(MalformedReplyError, match="<html>"):
            streamed(b"<html>\n</html>")
