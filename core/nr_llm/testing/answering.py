"""What every provider promises of replies: whole and streamed ones say the same, however the bytes arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest import SkipTest

import attrs

from nr_llm._json import JSON, decode, encode
from nr_llm.errors import MalformedJsonError, ProviderError, StreamInterruptedError
from nr_llm.memo import Memo
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason
from nr_llm.testing.promises import demand
from nr_llm.testing.samples import (
    ProviderSample,
    Told,
    cuts,
    decode_or_none,
    odd_documents,
    odd_streams,
    read_stream,
    strings,
    told,
)
from nr_llm.testing.subject import Subject

UNHEARD = "nr_llm_unheard_of"
"""A reason to stop that no service has yet."""


class Answering(Subject):
    """Promises of what a provider makes of replies."""

    def test_whole_replies(self) -> None:
        """A whole reply gives what it holds, the same each time, under the provider's name."""
        for where, sample, reply in self._wholes():
            answer = self._codec.decode(reply, self._asked(sample))
            _check(where, sample, answer)
            demand(answer.provider == self._codec.provider, f"{where}: the answer's provider is {answer.provider!r}")
            demand(answer == self._codec.decode(reply, self._asked(sample)), f"{where}: read again, it differs")

    def test_streams(self) -> None:
        """A stream gives what it holds, and its deltas add up to it."""
        for where, sample, body in self._streams():
            deltas, answer = read_stream(self._codec, self._asked(sample), body)
            _check(where, sample, answer)
            _check_deltas(where, deltas, answer)

    def test_streams_equal_wholes(self) -> None:
        """What a service says whole and streamed is one answer, made-up ids included."""
        pairs = [(where, sample, body) for where, sample, body in self._streams() if sample.reply is not None]
        for where, sample, body in pairs:
            reply = HttpReply(sample.status, sample.headers, sample.reply or b"")
            whole = self._codec.decode(reply, self._asked(sample))
            _, streamed = read_stream(self._codec, self._asked(sample), body)
            demand(_core(whole) == _core(streamed), f"{where}: {_core(streamed)}, but whole {_core(whole)}")

    def test_cut_streams(self) -> None:
        """However the bytes of a stream are cut, deltas add up to the same and the answer is the same."""
        for where, sample, body in self._streams():
            request = self._asked(sample)
            whole = read_stream(self._codec, request, body)
            for i in cuts(body):
                fine = read_stream(self._codec, request, body[:i], body[i:]) == whole
                demand(fine, f"{where}: cut at byte {i}, it gives another answer")
            single = [body[i : i + 1] for i in range(len(body))]
            fine = read_stream(self._codec, request, *single) == whole
            demand(fine, f"{where}: byte by byte it gives another answer")

    def test_streams_that_break_off(self) -> None:
        """A stream that ends before its end is no answer; the error has the text until then."""
        for where, sample, body in self._streams():
            request = self._asked(sample)
            whole = read_stream(self._codec, request, body)[1]
            for i in (0, *cuts(body)):
                decoder = self._codec.decoder(request)
                text, _, _ = told(decoder.feed(body[:i]))
                try:
                    answer = decoder.finish()
                except StreamInterruptedError as error:
                    # A last payload that is whole counts there, also where its line is not.
                    fine = error.partial.startswith(text) and whole.content.startswith(error.partial)
                    demand(fine, f"{where}: broken off at byte {i} after {text!r}, partial is {error.partial!r}")
                    continue
                demand(i and _core(answer) == _core(whole), f"{where}: broken off at byte {i}, it is an answer")

    def test_unheard_of_reasons(self) -> None:
        """A reason to stop that nobody knows yet is `OTHER`, and its word is kept."""
        for where, sample, reply in _without_calls(self._wholes()):
            word = self._codec.decode(reply, self._asked(sample)).finish_detail
            body = reply.body.replace(encode(word).encode(), encode(UNHEARD).encode())
            if word is None or body == reply.body:
                raise SkipTest("no sample says in a word of its own why the model stopped")
            answer = self._codec.decode(attrs.evolve(reply, body=body), self._asked(sample))
            kept = (answer.finish_reason, answer.finish_detail)
            demand(kept == (FinishReason.OTHER, UNHEARD), f"{where}: it makes {kept} of an unheard-of reason")

    def test_odd_replies(self) -> None:
        """Whatever a service sends in place of what it documents gives an answer or a `ProviderError`."""
        for where, sample, reply in self._wholes():
            request = self._asked(sample)
            for place, body in odd_documents(reply.body):
                _survives(f"{where}, odd at {place}", self._whole, request, body)

    def test_odd_streams(self) -> None:
        """The same in streams."""
        for where, sample, stream in self._streams():
            request = self._asked(sample)
            for place, body in odd_streams(stream):
                _survives(f"{where}, odd at {place}", self._streamed, request, body)

    def test_conversation_goes_on(self) -> None:
        """An answer can be sent back with the results of its calls, and nothing of its text is lost."""
        for where, sample, reply in self._wholes():
            request = self._asked(sample)
            answer = self._codec.decode(reply, request)
            grown = _continued(request, answer)
            sent = self._codec.encode(grown).body
            texts = list(strings(decode_or_none(sent)))
            demand(any(answer.content in text for text in texts), f"{where}: its text is not sent back")
            demand(sent == self._codec.encode(grown, Memo()).body, f"{where}: sent back with a memo, it differs")
            self._check_ids(where, reply, grown)

    def _check_ids(self, where: str, reply: HttpReply, grown: CompletionRequest) -> None:
        """Check that ids which the service did not give are new in each round."""
        taken = {call.id for message in grown.messages for call in message.tool_calls or ()}
        ids = [call.id for call in self._codec.decode(reply, grown).tool_calls or ()]
        demand(len(set(ids)) == len(ids), f"{where}: two calls have one id")
        given = set(strings(decode_or_none(reply.body)))
        again = [call_id for call_id in ids if call_id in taken - given]
        demand(not again, f"{where}: it makes up the ids {again}, which calls of the conversation have")

    def _whole(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        return self._codec.decode(HttpReply(200, {}, body), request)

    def _streamed(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        return read_stream(self._codec, request, body)[1]


def _check(where: str, sample: ProviderSample, answer: CompletionResponse) -> None:
    faults = list(sample.faults(answer))
    demand(not faults, f"{where}: {'; '.join(faults)}")


def _check_deltas(where: str, deltas: Told, answer: CompletionResponse) -> None:
    text, reasoning, calls = deltas
    demand(text == answer.content, f"{where}: the text deltas add up to {text!r}")
    demand(reasoning == (answer.reasoning or ""), f"{where}: the reasoning deltas add up to {reasoning!r}")
    made = [(call.name, dict(call.arguments)) for call in answer.tool_calls or () if call.malformed is None]
    written = [(name, _arguments(arguments)) for name, arguments in calls]
    demand(made == written, f"{where}: the deltas of calls, by key, add up to {written}, not {made}")


def _arguments(text: str) -> JSON:
    try:
        return decode(text.strip() or "{}")
    except MalformedJsonError:
        return text


def _core(answer: CompletionResponse) -> tuple[object, ...]:
    """Return what an answer says, without what only one of two forms may have."""
    calls = [(call.id, call.name, dict(call.arguments), call.malformed) for call in answer.tool_calls or ()]
    return answer.content, answer.reasoning, calls, answer.finish_reason


def _without_calls(
    wholes: list[tuple[str, ProviderSample, HttpReply]],
) -> Iterator[tuple[str, ProviderSample, HttpReply]]:
    """Yield the first reply without calls, since calls decide whatever the word is."""
    found = [whole for whole in wholes if not whole[1].tool_calls]
    if not found:
        raise SkipTest("there is no sample of a whole reply without calls")
    yield found[0]


def _survives(
    where: str, read: Callable[[bytes, CompletionRequest], object], request: CompletionRequest, body: bytes
) -> None:
    try:
        read(body, request)
    except ProviderError:
        return
    except Exception as error:
        raise AssertionError(f"{where}: it raises {error!r}; raise a ProviderError") from error


def _continued(request: CompletionRequest, answer: CompletionResponse) -> CompletionRequest:
    results = [ChatMessage.tool_result(call.id, "nrllmresult") for call in answer.tool_calls or ()]
    return attrs.evolve(
        request, messages=(*request.messages, answer.to_message(), *results, ChatMessage.user("Go on."))
    )
