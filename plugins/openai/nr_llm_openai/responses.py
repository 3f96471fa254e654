"""The Responses wire format as one codec: pure, the same for every colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs
from nr_llm.codecs.access import shown
from nr_llm.codecs.calls import declaring
from nr_llm.codecs.faults import error_for
from nr_llm.codecs.json import encode_bytes
from nr_llm.codecs.reading import malformed, object_of, payload_of
from nr_llm.codecs.server_tools import beside
from nr_llm.errors import InvalidValueError, ProviderError
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply, HttpRequest, ModelPage
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai import items, listing, response_head
from nr_llm_openai.chain import kept_until
from nr_llm_openai.dialects import OPENAI, Dialect
from nr_llm_openai.options import OpenAIOptions
from nr_llm_openai.output import answer
from nr_llm_openai.response_stream import ResponseStream, failure


@attrs.frozen(kw_only=True, eq=False)
class ResponsesCodec:
    """
    Encodes requests and decodes replies of one service.

    Args:
        provider: Name of the provider, as on answers and errors.
        url: Where requests go.
        dialect: The service's ways.
        headers: Further headers of each request; none of them a key, which the transport adds.
        redact: Masks secrets in what errors repeat of a reply.
    """

    provider: str = "openai"
    url: str = attrs.field(default="https://api.openai.com/v1/responses", repr=shown)
    dialect: Dialect = OPENAI
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    redact: Callable[[str], str] = attrs.field(default=str, repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """
        Return the request as bytes; `input` is the last field of the body.

        Raises:
            InvalidValueError: There is no message, or calls and their results do not match.
            InvalidRequestError: The form cannot say what the request wants.
        """
        request = declaring(request)
        own = request.options.of(OpenAIOptions)
        head = response_head.head_of(request, own, self.dialect, self.provider)
        known = kept_until(request.messages, self.provider) if own.chained else None
        if known is None:
            said = encode_messages(request.messages, self.segments, memo)
        else:
            start, head["previous_response_id"] = known
            new = items.segments(request.messages, start, provider=self.provider, chained=True)
            said = b",".join(segment.data for segment in new if segment.data)
        if not said:
            raise InvalidValueError("there is no message to send", path="messages")
        body = [encode_bytes(head)[:-1]]
        if (request.tools or own.server_tools) and "tools" not in head:
            make = partial(response_head.encode_tools, request.tools, self.dialect)
            tools = make() if memo is None else memo.once(request.tools, make)
            body += [b',"tools":', beside(own.server_tools, tools)]
        body += [b',"input":[', said, b"]}"]
        headers = (("content-type", "application/json"), *self.headers)
        return HttpRequest("POST", self.url, headers=headers, body=b"".join(body), stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """
        Encode ``messages[start:]``, one segment for each message.

        Raises:
            InvalidValueError: As `encode`.
            InvalidRequestError: As `encode`.
        """
        return items.segments(messages, start, provider=self.provider)

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """
        Read a reply.

        Raises:
            ProviderError: It reports a failure, is no answer, or lacks a call that was required.
        """
        return self._read(reply.body, request)

    def decoder(self, request: CompletionRequest) -> ResponseStream:
        """Return a decoder for one streamed reply."""
        return ResponseStream(
            request,
            provider=self.provider,
            redact=self.redact,
            whole=partial(self._read, request=request),
            chained=request.options.of(OpenAIOptions).chained,
        )

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error that a reply with a failing status stands for."""
        return error_for(self.provider, reply, redact=self.redact, lost="is the base URL right? Most end in /v1")

    def list_models(self, page: str | None = None) -> HttpRequest:  # noqa: ARG002  # there is one page
        """Return the request for the list of models."""
        return listing.request_at(self.url, "/responses", self.headers)

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """
        Read the list of models.

        Raises:
            ProviderError: It is no list.
        """
        return listing.page_of(reply, provider=self.provider, redact=self.redact)

    def _read(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        reply = object_of(payload_of(body, provider=self.provider, redact=self.redact))
        if reply.get("status") in ("failed", "cancelled"):
            raise failure(reply, self.provider, self.redact, body=body.decode("utf-8", "replace"))
        if not isinstance(reply.get("output"), list):
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        return answer(reply, request, self.provider, chained=request.options.of(OpenAIOptions).chained)
