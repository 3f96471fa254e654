"""The Messages wire format as one codec: pure, the same for every colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from urllib.parse import quote

import attrs
from nr_llm.codecs.access import shown
from nr_llm.codecs.calls import declaring
from nr_llm.codecs.faults import error_for
from nr_llm.codecs.json import encode_bytes
from nr_llm.codecs.reading import filled, malformed, object_of, objects_of, payload_of, text_of
from nr_llm.codecs.server_tools import beside
from nr_llm.errors import InvalidValueError, ProviderError
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply, HttpRequest, Model, ModelPage
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_anthropic import blocks, encode
from nr_llm_anthropic.answers import Parts, answer
from nr_llm_anthropic.options import AnthropicOptions
from nr_llm_anthropic.stream import MessageStream

PAGE = 100
"""Models asked for at a time."""


@attrs.frozen(kw_only=True, eq=False)
class MessagesCodec:
    """
    Encodes requests and decodes replies.

    Args:
        provider: Name of the provider, as on answers and errors.
        url: Where requests go.
        headers: Further headers of each request; none of them the key, which the transport adds.
        betas: Beta features of every request.
        redact: Masks secrets in what errors repeat of a reply.
    """

    provider: str = "anthropic"
    url: str = attrs.field(default="https://api.anthropic.com/v1/messages", repr=shown)
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    betas: tuple[str, ...] = ()
    redact: Callable[[str], str] = attrs.field(default=str, repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """
        Return the request as bytes; `messages` is the last field of the body.

        Raises:
            InvalidValueError: There is no message, or calls and their results do not match.
            InvalidRequestError: The form cannot say what the request wants.
        """
        request = declaring(request)
        own = request.options.of(AnthropicOptions)
        mark = encode.mark_of(own)
        turns = partial(blocks.segments, provider=self.provider, model=request.model, mark=mark)
        messages = encode_messages(request.messages, turns, memo)
        if not messages:
            raise InvalidValueError("there is no message to send", path="messages")
        head = encode.head_of(request, own, self.provider)
        system = encode.system_of(request.messages, mark)
        if system is not None and "system" not in head:
            head["system"] = system
        body = [encode_bytes(head)[:-1]]
        if (request.tools or own.server_tools) and "tools" not in head:
            make = partial(encode.encode_tools, request.tools)
            tools = make() if memo is None else memo.once(request.tools, make)
            body += [b',"tools":', encode.marked(beside(own.server_tools, tools), mark)]
        body += [b',"messages":[', messages, b"]}"]
        headers = (("content-type", "application/json"), *self._headers(own))
        return HttpRequest("POST", self.url, headers=headers, body=b"".join(body), stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """
        Encode ``messages[start:]``, one segment for each turn; the last one stays open.

        Raises:
            InvalidValueError: As `encode`.
            InvalidRequestError: As `encode`.
        """
        return blocks.segments(messages, start, provider=self.provider)

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """
        Read a reply.

        Raises:
            ProviderError: It reports a failure, is no answer, or lacks a call that was required.
        """
        return self._read(reply.body, request)

    def decoder(self, request: CompletionRequest) -> MessageStream:
        """Return a decoder for one streamed reply."""
        whole = partial(self._read, request=request)
        return MessageStream(request, provider=self.provider, redact=self.redact, whole=whole)

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error that a reply with a failing status stands for."""
        lost = "is the base URL right? It ends before /v1/messages"
        return error_for(self.provider, reply, redact=self.redact, lost=lost)

    def list_models(self, page: str | None = None) -> HttpRequest:
        """Return the request for a page of the list of models."""
        place, _, query = self.url.partition("?")
        after = f"&after_id={quote(page, safe='')}" if page else ""
        url = f"{place.removesuffix('/messages')}/models?limit={PAGE}{after}{f'&{query}' if query else ''}"
        return HttpRequest("GET", url, headers=self._headers(AnthropicOptions()))

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """
        Read a page of the list of models.

        Raises:
            ProviderError: It is no list.
        """
        payload = object_of(payload_of(reply.body, provider=self.provider, redact=self.redact))
        if not isinstance(payload.get("data"), list):
            raise malformed("holds no models", reply.body, provider=self.provider, redact=self.redact)
        rows = [row for row in objects_of(payload["data"]) if filled(row.get("id"))]
        models = [
            Model(provider=self.provider, name=row["id"], details={"name": text_of(row.get("display_name"))})
            for row in rows
        ]
        return ModelPage(tuple(models), filled(payload.get("last_id")) if payload.get("has_more") is True else None)

    def _headers(self, own: AnthropicOptions) -> tuple[tuple[str, str], ...]:
        betas = dict.fromkeys((*self.betas, *own.betas))
        return (*self.headers, ("anthropic-beta", ",".join(betas))) if betas else self.headers

    def _read(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        payload = object_of(payload_of(body, provider=self.provider, redact=self.redact))
        if not isinstance(payload.get("content"), list):
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        parts = Parts(
            blocks=objects_of(payload["content"]),
            stop=payload.get("stop_reason"),
            details=payload.get("stop_details"),
            usage=object_of(payload.get("usage")),
            model=text_of(payload.get("model")),
            id=filled(payload.get("id")),
        )
        return answer(parts, request, self.provider)
