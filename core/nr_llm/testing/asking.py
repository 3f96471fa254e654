"""What every provider promises of itself and of the requests it makes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import SkipTest

import attrs

from nr_llm._reach import loopback, target
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo, Segment
from nr_llm.messages import Attachment, ChatMessage, ToolCall
from nr_llm.providers import HttpProvider, HttpRequest, ModelLister
from nr_llm.requests import CompletionRequest
from nr_llm.testing.canary import assert_no_leak
from nr_llm.testing.promises import demand
from nr_llm.testing.samples import decode_or_none, strings
from nr_llm.testing.subject import Subject
from nr_llm.testing.talks import PRIVATE, TALK, TOOL_WORDS, TOOLS, WORDS, asking, plain, rounds

PICTURE = Attachment("image/png", b"\x89PNG\r\n\x1a\n nr-llm")

BASE64 = "iVBORw0KGgogbnItbGxt"
"""The bytes of `PICTURE` in base64."""


class Asking(Subject):
    """Promises of what a provider says of itself, and of what it sends."""

    def test_identity(self) -> None:
        """It has a name, tells where the data goes, and knows models under its own name, without asking anybody."""
        provider = self._served
        demand(provider.name.strip(), "it has no name")
        demand(provider.endpoint.host.strip(), "its endpoint names no host, so nobody knows where the data goes")
        told = provider.describe(self.model).provider
        demand(told == provider.name, f"describe() names the provider {told!r}; its name is {provider.name!r}")
        if isinstance(provider, HttpProvider):
            named = provider.codec.provider
            demand(named == provider.name, f"its codec names the provider {named!r}; its name is {provider.name!r}")
            self._goes_where_it_says(provider)

    def test_request(self) -> None:
        """A request is a POST of a JSON object to a whole address, and says itself whether it is to be streamed."""
        for stream in (False, True):
            sent = self._codec.encode(attrs.evolve(asking(self.model), stream=stream))
            demand(sent.method == "POST", f"the method is {sent.method}, not POST")
            target(sent.url)
            kinds = [value for name, value in sent.headers if name.lower() == "content-type"]
            demand([k.partition(";")[0] for k in kinds] == ["application/json"], f"the content-type is {kinds}")
            demand(isinstance(decode_or_none(sent.body), dict), "the body is no JSON object")
            demand(sent.stream is stream, f"HttpRequest.stream is {sent.stream} where the request says {stream}")

    def test_nothing_is_lost(self) -> None:
        """Every text, argument, name and result of a conversation is in the body."""
        [*_, request] = rounds(self.model)
        body = self._body(request)
        lost = [word for word in (*WORDS, *TOOL_WORDS) if word not in body]
        demand(not lost, f"it loses {', '.join(lost)} of a conversation")

    def test_what_is_anothers_stays(self) -> None:
        """Reasoning and opaque state of other providers are not sent."""
        [*_, request] = rounds(self.model)
        demand(PRIVATE not in self._body(request), "it sends reasoning or provider_state of another provider")

    def test_memo(self) -> None:
        """A request is the same bytes however much of it was encoded before, also when the conversation forks."""
        memo, codec = Memo(), self._codec
        grown = list(rounds(self.model))
        forked = attrs.evolve(grown[-1], messages=(*TALK[:1], ChatMessage.user("Something else.")))
        for request in (*grown, grown[1], forked, grown[-1]):
            fine = codec.encode(request).body == codec.encode(request, memo).body
            demand(fine, f"with a memo the body differs after {len(request.messages)} messages")

    def test_segments(self) -> None:
        """Pieces cover all messages, go on from every closed one, and only the last may still change."""
        for request in rounds(self.model):
            messages = request.messages
            pieces = list(self._codec.segments(messages, 0))
            ends = [piece.end for piece in pieces]
            demand(ends == sorted(set(ends)), f"the ends of the segments do not increase: {ends}")
            demand(ends[-1:] == [len(messages)], f"the segments end at {ends[-1:]} of {len(messages)} messages")
            demand(all(piece.closed for piece in pieces[:-1]), "a segment follows one that is not closed")
            for i, piece in enumerate(pieces):
                _check_elements(piece)
                if piece.closed:
                    again = _joined(self._codec.segments(messages, piece.end))
                    demand(again == _joined(pieces[i + 1 :]), f"from message {piece.end} on the segments differ")

    def test_wire_form(self) -> None:
        """Messages that went through the OpenAI form and back are sent as the same bytes."""
        [*_, request] = map(plain, rounds(self.model))
        back = tuple(ChatMessage.from_wire(message.to_wire()) for message in request.messages)
        again = self._codec.encode(attrs.evolve(request, messages=back)).body
        demand(again == self._codec.encode(request).body, "messages differ after their way through the OpenAI form")

    def test_broken_calls(self) -> None:
        """A call whose arguments were broken may be in a conversation; what is sent of it is JSON all the same."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("call_a", TOOLS[0].name, malformed='{"what": "cut')])
        result = ChatMessage.tool_result("call_a", "The arguments are no JSON.", is_error=True)
        body = self._codec.encode(asking(self.model, [ChatMessage.user("Look."), turn, result])).body
        demand(isinstance(decode_or_none(body), dict), "the body with a broken call is no JSON object")

    def test_tool_choice(self) -> None:
        """Each choice can be sent; one of a tool that is not on offer is refused before anything is sent."""
        for choice in ("auto", "none", "required", TOOLS[0].name):
            self._codec.encode(asking(self.model, tool_choice=choice))
        try:
            self._codec.encode(asking(self.model, tool_choice="nr_llm_nowhere"))
        except (InvalidRequestError, InvalidValueError):
            return
        raise AssertionError("tool_choice may name a tool that is not on offer; raise InvalidRequestError")

    def test_attachments(self) -> None:
        """An image is sent, or refused with an error that says so; never is it left out."""
        request = asking(self.model, [ChatMessage.user("What is this?", PICTURE)])
        try:
            body = self._body(request)
        except InvalidRequestError:
            return
        demand(BASE64 in body, "it leaves an image out; send it, or raise InvalidRequestError")

    def test_key(self) -> None:
        """The key joins a request when it leaves, as a header, and stands nowhere else."""
        key, provider = self._key, self._served
        if not isinstance(provider, HttpProvider):
            raise SkipTest("it answers by itself, without HTTP")
        request = provider.codec.encode(asking(self.model))
        shown = {"its repr": repr(provider), "the repr of its codec": repr(provider.codec)}
        shown |= {"the repr of its transport": repr(provider.transport), "a request before auth": _all_of(request)}
        signed = _signed(provider, request)
        shown |= {"the address": signed.url, "the repr of a request": repr(signed)}
        found = [place for place, text in shown.items() if key in text]
        demand(not found, f"the key is in {', '.join(found)}; let transport.auth add it as a header")
        same = (signed.method, signed.url, signed.body, signed.stream)
        fine = same == (request.method, request.url, request.body, request.stream)
        demand(fine, "transport.auth changes more than headers")
        demand(signed.headers != request.headers, "transport.auth adds nothing, so the key never gets there")

    def test_tools_keep_their_secrets(self) -> None:
        """Nothing of artifacts and secrets of tools is in what it sends."""
        assert_no_leak(codec=self._codec)

    def test_list_of_models(self) -> None:
        """The list of models, where there is one, is asked for without a body."""
        codec = self._codec
        if not isinstance(codec, ModelLister):
            raise SkipTest("it has no list of models")
        sent = codec.list_models()
        demand((sent.method, sent.body) == ("GET", b""), "the list of models is no GET without a body")
        target(sent.url)

    def _body(self, request: CompletionRequest) -> str:
        """Return all texts of a body, and texts in texts as JSON writes them."""
        return "\n".join(strings(decode_or_none(self._codec.encode(request).body)))

    def _goes_where_it_says(self, provider: HttpProvider) -> None:
        host, told = target(provider.codec.encode(asking(self.model)).url).host, provider.endpoint
        demand(host == told.host, f"requests go to {host!r}; its endpoint says {told.host!r}")
        demand(told.local is loopback(host), f"its endpoint says local={told.local} of {host!r}")


def _check_elements(piece: Segment) -> None:
    fine = isinstance(decode_or_none(b"[" + piece.data + b"]"), list)
    demand(fine, f"the segment up to message {piece.end} is no JSON elements joined by commas")


def _joined(pieces: Iterator[Segment] | Sequence[Segment]) -> bytes:
    return b",".join(piece.data for piece in pieces if piece.data)


def _all_of(request: HttpRequest) -> str:
    return f"{request.url} {request.headers} {request.body.decode(errors='replace')}"


def _signed(provider: HttpProvider, request: HttpRequest) -> HttpRequest:
    """Return the request as it leaves."""
    auth = provider.transport.auth
    if auth is None:
        return request
    signed: Any = auth(request)
    if not inspect.isawaitable(signed):
        return signed  # type: ignore[no-any-return]
    with ThreadPoolExecutor(1) as thread:  # a test may itself be asynchronous
        return thread.submit(asyncio.run, _awaited(signed)).result()  # type: ignore[no-any-return]


async def _awaited(value: Any) -> Any:
    return await value
