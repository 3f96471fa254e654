"""Each promise of the provider contract is broken by a provider of its own, and kept by an honest one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import attrs
import pytest
from nr_llm.codecs.sse import Event
from nr_llm.errors import AuthenticationError, InvalidRequestError, ProviderError
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.memo import Memo, Segment
from nr_llm.messages import ChatMessage, ToolCall
from nr_llm.options import Options
from nr_llm.providers import Endpoint, HttpReply, HttpRequest, Model, TransportOptions
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage
from nr_llm.testing import ProviderContract, ProviderSample, ScriptedProvider, check_provider, samples

from tests.core.babble import CALLS, INSIDE, KEY, SAMPLES, TEXT, Babble, BabbleCodec, BabbleStream, body


class TestBabble(ProviderContract):
    """The suite, as a test module of a plugin would have it."""

    provider = Babble()
    samples = SAMPLES
    key = KEY


def broken(provider: Any, given: Any = SAMPLES, **settings: Any) -> list[str]:
    """Return the promises a provider breaks."""
    with pytest.raises(AssertionError) as caught:
        check_provider(provider, given, **settings)
    return str(caught.value).splitlines()[1:]


def promises(provider: Any, given: Any = SAMPLES, **settings: Any) -> set[str]:
    """Return the names of the promises a provider breaks."""
    return {line[2:].partition(":")[0] for line in broken(provider, given, **settings)}


def test_an_honest_provider_keeps_it() -> None:
    """Every promise can be checked."""
    assert check_provider(Babble(), SAMPLES, key=KEY) == ()


def test_a_codec_alone_is_checked() -> None:
    """What needs the provider, the key or a sample is told."""
    unchecked = dict(note.split(": ") for note in check_provider(BabbleCodec(), TEXT))

    assert unchecked["identity"] == "only its codec was given"
    assert unchecked["key"] == unchecked["echoed keys"] == "no key was given"
    assert unchecked["streams that fail"] == "there is no sample of a stream of failure"


def test_a_provider_that_answers_by_itself_is_checked() -> None:
    """It has no requests to look at."""
    unchecked = dict(note.split(": ") for note in check_provider(ScriptedProvider(), key=KEY))

    assert "identity" not in unchecked
    assert unchecked["request"] == unchecked["key"] == "it answers by itself, without HTTP"


def test_an_unknown_setting_is_refused() -> None:
    """By name."""
    with pytest.raises(TypeError, match="check_provider takes no 'keys'; it takes model, key"):
        check_provider(Babble(), keys=KEY)  # type: ignore[call-arg]


def test_the_error_names_the_provider() -> None:
    """And every broken promise."""
    with pytest.raises(AssertionError, match=r"Provider 'babble' breaks its contract:\n- .*\n- "):
        check_provider(Odd(reads=answering(content="x"), fails=erring(status=1)), SAMPLES)


@attrs.frozen(kw_only=True, eq=False)
class Odd(BabbleCodec):
    """
    Does something else than it should.

    Args:
        sends: Changes a request, given with what was asked and the memo.
        reads: Changes an answer, given with what was asked.
        fails: Changes an error.
        cuts: Changes segments, given with the index they begin at.
        stream: The class of its decoders.
    """

    sends: Callable[..., HttpRequest] = lambda sent, *_: sent
    reads: Callable[..., CompletionResponse] = lambda answer, *_: answer
    fails: Callable[[ProviderError], ProviderError] = lambda error: error
    cuts: Callable[[list[Segment], int], list[Segment]] = lambda pieces, _: pieces
    stream: type[BabbleStream] = BabbleStream

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        return self.sends(super().encode(request, memo), request, memo)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        yield from self.cuts(list(super().segments(messages, start)), start)

    def read(self, fields: Any, request: CompletionRequest) -> CompletionResponse:
        return self.reads(super().read(fields, request), request)

    def decoder(self, request: CompletionRequest) -> BabbleStream:
        return self.stream(self, request)

    def error(self, reply: HttpReply) -> ProviderError:
        return self.fails(super().error(reply))


# Of itself


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("name", "", "it has no name"),
        ("name", "other", "its codec names the provider 'babble'"),
        ("endpoint", Endpoint(""), "its endpoint names no host"),
        ("endpoint", Endpoint("elsewhere", local=True), "requests go to '127.0.0.1'; its endpoint says 'elsewhere'"),
        ("endpoint", Endpoint("127.0.0.1"), "its endpoint says local=False of '127.0.0.1'"),
        ("describe", lambda _: Model(provider="x", name="m"), "describe() names the provider 'x'"),
    ],
    ids=map(str, count()),
)
def test_what_a_provider_says_of_itself_is_true(name: str, value: Any, words: str) -> None:
    """Name, place, models."""
    changed = type("Changed", (Babble,), {name: None})()
    setattr(type(changed), name, staticmethod(value) if callable(value) else value)

    assert words in "\n".join(broken(changed))


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        (None, "transport.auth adds nothing"),
        (lambda sent: attrs.evolve(sent, headers=(("authorization", KEY),), body=b""), "changes more than headers"),
        (lambda sent: attrs.evolve(sent, url=f"{sent.url}?key={KEY}"), "the key is in the address"),
    ],
    ids=map(str, count()),
)
def test_the_key_goes_where_it_belongs(auth: Any, words: str) -> None:
    """Into a header, when the request leaves."""

    class Keyed(Babble):
        @property
        def transport(self) -> TransportOptions:
            return TransportOptions(auth=auth)

    assert words in "\n".join(broken(Keyed(), key=KEY))


def test_a_key_that_shows_is_found() -> None:
    """In a repr, or in a request before it leaves."""

    class Shown(Babble):
        def __repr__(self) -> str:
            return f"Babble({KEY})"

    shown = Shown(Odd(sends=lambda sent, *_: attrs.evolve(sent, headers=(*sent.headers, ("x", KEY)))))

    assert "the key is in its repr, a request before auth" in "\n".join(broken(shown, key=KEY))


def test_a_key_may_be_fetched_asynchronously() -> None:
    """Also when the test itself is asynchronous."""

    async def auth(sent: HttpRequest) -> HttpRequest:
        return attrs.evolve(sent, headers=(*sent.headers, ("authorization", KEY)))

    async def check() -> tuple[str, ...]:
        return check_provider(Babble(auth=auth), SAMPLES, key=KEY)

    assert asyncio.run(check()) == ()


# Of requests


def evolving(**fields: Any) -> Callable[..., HttpRequest]:
    """Return a change of fields of a request."""
    return lambda sent, *_: attrs.evolve(sent, **fields)


def replacing(old: bytes, new: bytes = b"") -> Callable[..., HttpRequest]:
    """Return a change of bytes of its body."""
    return lambda sent, *_: attrs.evolve(sent, body=sent.body.replace(old, new))


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (evolving(method="PUT"), "request"),
        (evolving(url="nowhere"), "request"),
        (evolving(headers=()), "request"),
        (evolving(stream=True), "request"),
        (evolving(body=b"[]"), "request"),
        (evolving(body=b"oops"), "broken calls"),
        (replacing(b"nrllmword07"), "nothing is lost"),
        (replacing(b"nrllmtool2"), "nothing is lost"),
        (replacing(b"nrllmword01", b"nrllmword01 nrllmprivate1"), "what is anothers stays"),
        (replacing(b"iVBORw0KGgo"), "attachments"),
        (lambda sent, _, memo: sent if memo is None else attrs.evolve(sent, body=b"{}"), "memo"),
        (lambda sent, asked, _: attrs.evolve(sent, body=repr(id(asked.messages[1])).encode()), "wire form"),
    ],
    ids=map(str, count()),
)
def test_a_request_that_is_wrong_is_found(change: Any, promise: str) -> None:
    """Method, address, headers, form, losses, leaks."""
    assert promise in promises(Odd(sends=change))


def test_a_refused_image_keeps_the_contract() -> None:
    """An error that says so is as good as sending it."""

    def refuse(sent: HttpRequest, request: CompletionRequest, _: object) -> HttpRequest:
        if any(message.attachments for message in request.messages):
            raise InvalidRequestError("no 'image/png' can be sent", provider="babble")
        return sent

    check_provider(Odd(sends=refuse), SAMPLES)


def test_a_tool_that_is_not_offered_must_be_refused() -> None:
    """Before the service does so."""

    class Lenient(Babble):
        pass

    lenient = Lenient(codec=type("LenientCodec", (BabbleCodec,), {"encode": ignoring_choice})())

    assert promises(lenient) == {"tool choice"}


def ignoring_choice(codec: BabbleCodec, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
    """Encode as if nothing had been chosen."""
    return BabbleCodec.encode(codec, attrs.evolve(request, options=Options()), memo)


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        (lambda pieces, _: [attrs.evolve(piece, end=1) for piece in pieces], "do not increase"),
        (lambda pieces, _: pieces[:-1], "the segments end at"),
        (lambda pieces, _: [attrs.evolve(piece, closed=False) for piece in pieces], "follows one that is not closed"),
        (lambda pieces, _: [attrs.evolve(piece, data=piece.data + b",") for piece in pieces], "no JSON elements"),
        (lambda pieces, start: [attrs.evolve(p, data=b"%d" % start) for p in pieces], "the segments differ"),
    ],
    ids=map(str, count()),
)
def test_segments_that_do_not_fit_are_found(cuts: Any, words: str) -> None:
    """Each rule of theirs."""
    assert words in "\n".join(broken(Odd(cuts=cuts)))


def test_a_list_of_models_is_asked_for_plainly() -> None:
    """With a GET; a codec without a list keeps the contract."""

    class Posting(BabbleCodec):
        def list_models(self, page: str | None = None) -> HttpRequest:
            return HttpRequest("POST", self.url)

    class Unlisted:
        def __init__(self) -> None:
            self.provider = "babble"
            for name in ("encode", "segments", "decode", "decoder", "error"):
                setattr(self, name, getattr(BabbleCodec(), name))

    assert promises(Posting()) == {"list of models"}
    assert "list of models: it has no list of models" in check_provider(Unlisted(), SAMPLES)  # type: ignore[arg-type]


# Of replies


def answering(**fields: Any) -> Callable[..., CompletionResponse]:
    """Return a change of fields of an answer."""
    return lambda answer, _: attrs.evolve(answer, **fields)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (answering(content="Other"), "content is 'Other', not 'Grüße!'"),
        (answering(reasoning="Ah."), "reasoning is 'Ah.'"),
        (answering(usage=Usage(3, 5)), "usage.output_tokens is 5, not 2"),
        (answering(tool_calls=(ToolCall("1", "x"),)), "calls is [('x', {})]"),
        (answering(finish_reason=FinishReason.LENGTH), "finish_reason is"),
        (answering(provider="x"), "the answer's provider is 'x'"),
        (lambda answer, _: attrs.evolve(answer, id=repr(id(answer))), "read again, it differs"),
        (answering(finish_detail="over"), "of an unheard-of reason"),
    ],
    ids=map(str, count()),
)
def test_an_answer_that_is_wrong_is_found(change: Any, words: str) -> None:
    """Text, thinking, calls, counts, reasons."""
    kept: list[CompletionResponse] = []  # alive, so that no two have one id

    def read(answer: CompletionResponse, request: CompletionRequest) -> CompletionResponse:
        kept.append(answer)
        changed: CompletionResponse = change(answer, request)
        return changed

    assert words in "\n".join(broken(Odd(reads=read)))


def test_ids_that_were_given_before_are_found() -> None:
    """Ids of our own are new in each round, and differ in one answer."""

    def renamed(*ids: str) -> Callable[..., CompletionResponse]:
        def change(answer: CompletionResponse, _: object) -> CompletionResponse:
            calls = answer.tool_calls and [attrs.evolve(c, id=i) for c, i in zip(answer.tool_calls, ids, strict=True)]
            return attrs.evolve(answer, tool_calls=calls)

        return change

    assert "it makes up the ids ['a', 'b']" in "\n".join(broken(Odd(reads=renamed("a", "b"))))
    assert "two calls have one id" in "\n".join(broken(Odd(reads=renamed("a", "a"))))


def test_a_text_that_is_not_sent_back_is_found() -> None:
    """With a memo and without."""
    once = lambda sent, _, memo: attrs.evolve(sent, body=sent.body + b" ") if memo is not None else sent  # noqa: E731

    assert "its text is not sent back" in "\n".join(broken(Odd(sends=replacing("Grüße!".encode())), TEXT))
    assert "sent back with a memo, it differs" in "\n".join(broken(Odd(sends=once), TEXT))


def test_a_reply_that_raises_anything_else_is_found() -> None:
    """Whatever a service sends, a caller has one kind of error to mind."""

    class Brittle(BabbleStream):
        def frame(self, payload: Any, event: Event, deltas: list[Delta]) -> None:
            super().frame(payload, event, deltas)
            {payload.get("say")}

    def read(answer: CompletionResponse, _: object) -> CompletionResponse:
        return attrs.evolve(answer, usage=Usage(answer.usage.input_tokens + 0, 2))  # type: ignore[operator]

    assert "odd streams: sample text, streamed, odd at line 2, say" in "\n".join(broken(Odd(stream=Brittle), TEXT))
    assert "odd replies: sample text, whole, odd at read" in "\n".join(broken(Odd(reads=read), TEXT))


def test_a_word_nobody_says_is_not_asked_for() -> None:
    """A sample without a reason to stop, or one made up, cannot show what becomes of an unknown one."""
    reasons = ("no sample says in a word of its own", "there is no sample of a whole reply without calls")
    silent = ProviderSample(reply=body({"say": "x"}), content="x")

    for provider, given, reason in (
        (BabbleCodec(), silent, reasons[0]),
        (Odd(reads=answering(finish_detail="made up")), silent, reasons[0]),
        (BabbleCodec(), CALLS, reasons[1]),
    ):
        assert f"unheard of reasons: {reason}" in "\n".join(check_provider(provider, given))


# Of streams


class Streaming(BabbleStream):
    """Adds deltas of nothing."""

    more: tuple[Delta, ...] = ()

    def frame(self, payload: Any, event: Event, deltas: list[Delta]) -> None:
        super().frame(payload, event, deltas)
        deltas += self.more if isinstance(payload, dict) and payload.get("end") else ()


class OneKey(BabbleStream):
    """Calls of one key."""

    def key(self, number: int) -> str:
        return ""


class Trusting(BabbleStream):
    """Takes any end for the end."""

    @property
    def ended(self) -> bool:
        return bool(self._content or self._do)


class Silent(BabbleStream):
    """Forgets what came before it broke off."""

    def finish(self) -> CompletionResponse:
        if not self.done:
            self._content.clear()
        return super().finish()


class Piecewise(BabbleStream):
    """Loses what comes with a piece that ends within a line."""

    def feed(self, data: bytes) -> list[Delta]:
        deltas = super().feed(data)
        return deltas if data.endswith(b"\n") else []


class Bytewise(BabbleStream):
    """Loses what comes with single bytes."""

    def __init__(self, codec: BabbleCodec, request: CompletionRequest) -> None:
        super().__init__(codec, request)
        self._fed = 0

    def feed(self, data: bytes) -> list[Delta]:
        self._fed += 1
        deltas = super().feed(data)
        return deltas if self._fed < 3 else []


class Otherwise(BabbleStream):
    """Answers otherwise than the whole reply."""

    def answer(self) -> CompletionResponse:
        return attrs.evolve(super().answer(), finish_reason=FinishReason.LENGTH)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (type("Adding", (Streaming,), {"more": (TextDelta("!"),)}), "the text deltas add up to 'Grüße!!'"),
        (type("Adding", (Streaming,), {"more": (ReasoningDelta("!"),)}), "the reasoning deltas add up to 'Hm.!'"),
        (type("Adding", (Streaming,), {"more": (ToolCallDelta("9", "x", "oops"),)}), "[('x', 'oops')], not []"),
        (OneKey, "the deltas of calls, by key, add up to"),
        (Trusting, "it is an answer"),
        (Silent, "after 'Grü', partial is ''"),
        (Piecewise, "cut at byte 18, it gives another answer"),
        (Bytewise, "byte by byte it gives another answer"),
        (Otherwise, "but whole"),
    ],
    ids=map(str, count()),
)
def test_a_stream_that_is_read_wrongly_is_found(kind: type[BabbleStream], words: str) -> None:
    """Deltas, cuts, ends."""
    assert words in "\n".join(broken(Odd(stream=kind), (TEXT, CALLS)))


def test_long_streams_are_cut_at_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """And odd values are tried at as many places."""
    monkeypatch.setattr(samples, "EVERY", 8)
    chosen = samples.cuts(TEXT.stream or b"")

    assert 8 < len(chosen) < 60
    assert {i for i, byte in enumerate(TEXT.stream or b"") if byte == 10} & set(chosen)
    assert len(list(samples.odd_streams((TEXT.stream or b"") * 9))) == 8
    assert [place for place, _ in samples.odd_documents(b'{"a": {"b": 1}}')] == ["a", "a.b"] * 2


def test_events_are_made_odd_where_they_are() -> None:
    """In streams of events as in lines; what is no JSON stays."""
    made = list(samples.odd_streams(b'event: x\ndata: {"a": [1]}\n\ndata: [DONE]\n\n'))

    assert list(dict.fromkeys(place for place, _ in made)) == ["line 2, a", "line 2, a.0"]
    assert made[0][1] == b'event: x\ndata: {"a":null}\n\ndata: [DONE]\n\n'


# Of failures


def erring(**fields: Any) -> Callable[[ProviderError], ProviderError]:
    """Return a change of attributes of an error."""

    def change(error: ProviderError) -> ProviderError:
        for name, value in fields.items():
            setattr(error, name, value)
        return error

    return change


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        (erring(retryable=True), "statuses"),
        (erring(status=None), "statuses"),
        (erring(provider="x"), "statuses"),
        (lambda error: AuthenticationError("no", provider="babble", status=error.status), "statuses"),
        (erring(retry_after=None), "patience"),
        (erring(retry_after=1.0), "samples of failure"),
        (erring(retryable=False), "samples of failure"),
        (erring(status=1), "samples of failure"),
    ],
    ids=map(str, count()),
)
def test_an_error_that_is_wrong_is_found(change: Any, promise: str) -> None:
    """Who has to act, when to come back."""
    assert promise in promises(Odd(fails=change))


def test_a_failure_of_another_kind_is_found() -> None:
    """Whole and streamed."""
    other = attrs.evolve(INSIDE, error=AuthenticationError)

    assert promises(Babble(), other) == {"samples of failure", "streams that fail"}


def test_a_failure_that_is_read_as_an_answer_is_found() -> None:
    """Whole and streamed."""
    good = attrs.evolve(TEXT, error=ProviderError)

    assert promises(Babble(), good) == {"samples of failure", "streams that fail"}


def test_nothing_is_no_answer() -> None:
    """Neither whole nor streamed."""

    class Easy(BabbleCodec):
        def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
            try:
                return super().decode(reply, request)
            except ProviderError:
                return CompletionResponse(provider="babble")

    assert "b'', whole, is read as an answer" in "\n".join(broken(Easy(), ()))


def test_a_key_that_an_error_repeats_is_found() -> None:
    """In its text, body and id, and in those before it."""
    lines = "\n".join(broken(Babble(BabbleCodec()), key=KEY))

    assert "it shows the key in its text, repr, body, request_id, traceback" in lines


def test_a_reply_that_is_an_answer_repeats_no_key() -> None:
    """What a model says is its own."""

    class Easy(BabbleCodec):
        def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
            return CompletionResponse(provider="babble")

    assert "echoed keys" not in promises(Babble(Easy(redact=Babble().access.redact)), (), key=KEY)
