"""The generateContent wire format as one codec: pure, the same for every colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote, urlsplit, urlunsplit

import attrs
from nr_llm.codecs.access import shown
from nr_llm.codecs.calls import declaring
from nr_llm.codecs.faults import error_for
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.reading import count_of, filled, malformed, object_of, objects_of, payload_of, text_of
from nr_llm.codecs.server_tools import beside
from nr_llm.errors import InvalidValueError, ProviderError
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply, HttpRequest, Model, ModelPage
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_gemini import contents, encode
from nr_llm_gemini.answers import Parts, answer
from nr_llm_gemini.options import GeminiOptions
from nr_llm_gemini.stream import ContentStream

PAGE = 100
"""Models asked for at a time."""

METHODS = "supportedGenerationMethods"
"""Field of a listed model; those that embed texts are listed too, and answer nobody."""


def _answers(row: Mapping[str, JSON]) -> bool:
    methods = row.get(METHODS)
    return not isinstance(methods, list) or "generateContent" in methods


@attrs.frozen(kw_only=True, eq=False)
class GeminiCodec:
    """
    Encodes requests and decodes replies.

    Args:
        provider: Name of the provider, as on answers and errors.
        url: Where models are: the address up to and including ``/models``.
        headers: Further headers of each request; none of them the key, which the transport adds.
        redact: Masks secrets in what errors repeat of a reply.
    """

    provider: str = "gemini"
    url: str = attrs.field(default="https://generativelanguage.googleapis.com/v1beta/models", repr=shown)
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    redact: Callable[[str], str] = attrs.field(default=str, repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """
        Return the request as bytes; `contents` is the last field of the body.

        Raises:
            InvalidValueError: There is no message, or calls and their results do not match.
            InvalidRequestError: The form cannot say what the request wants.
        """
        request = declaring(request)
        own = request.options.of(GeminiOptions)
        turns = partial(contents.segments, provider=self.provider, model=request.model)
        messages = encode_messages(request.messages, turns, memo)
        head = encode.head_of(request, own, self.provider)
        if not messages and "systemInstruction" not in head:
            raise InvalidValueError("there is no message to send", path="messages")
        body: list[bytes] = [encode_bytes(head)[:-1]]
        if (request.tools or own.server_tools) and "tools" not in head:
            make = partial(encode.encode_tools, request.tools, openapi=encode.wants_openapi(request, own))
            tools = make() if memo is None else memo.once(request.tools, make)
            body += [b"," if head else b"", b'"tools":', beside(own.server_tools, tools)]
        body += [b'"contents":[' if body == [b"{"] else b',"contents":[', messages or contents.OPENING, b"]}"]
        headers = (("content-type", "application/json"), *self.headers)
        url = self._url(request.model, stream=request.stream)
        return HttpRequest("POST", url, headers=headers, body=b"".join(body), stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """
        Encode ``messages[start:]``, one segment for each content; results at the end stay open.

        Raises:
            InvalidValueError: As `encode`.
        """
        return contents.segments(messages, start, provider=self.provider)

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """
        Read a reply.

        Raises:
            ProviderError: It reports a failure, is no answer, or lacks a call that was required.
        """
        return self._read(reply.body, request)

    def decoder(self, request: CompletionRequest) -> ContentStream:
        """Return a decoder for one streamed reply."""
        whole = partial(self._read, request=request)
        return ContentStream(request, provider=self.provider, redact=self.redact, whole=whole)

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error that a reply with a failing status stands for."""
        return error_for(self.provider, reply, redact=self.redact, lost="are base URL and model right?")

    def list_models(self, page: str | None = None) -> HttpRequest:
        """Return the request for a page of the list of models."""
        parts = urlsplit(self.url)
        after = f"&pageToken={quote(page, safe='')}" if page else ""
        query = f"{parts.query}&" if parts.query else ""
        return HttpRequest(
            "GET", urlunsplit(parts._replace(query=f"{query}pageSize={PAGE}{after}")), headers=self.headers
        )

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """
        Read a page of the list of models.

        Raises:
            ProviderError: It is no list.
        """
        payload = object_of(payload_of(reply.body, provider=self.provider, redact=self.redact))
        if not isinstance(payload.get("models"), list):
            raise malformed("holds no models", reply.body, provider=self.provider, redact=self.redact)
        models = [
            Model(
                provider=self.provider,
                name=text_of(row["name"]).removeprefix("models/"),
                context=count_of(row.get("inputTokenLimit")),
                max_output=count_of(row.get("outputTokenLimit")),
                details={"name": title} if (title := text_of(row.get("displayName"))) else {},
            )
            for row in objects_of(payload["models"])
            if filled(row.get("name")) and _answers(row)
        ]
        return ModelPage(tuple(models), filled(payload.get("nextPageToken")))

    def _url(self, model: str, *, stream: bool) -> str:
        parts = urlsplit(self.url)
        method = "streamGenerateContent" if stream else "generateContent"
        path = f"{parts.path}/{quote(model.removeprefix('models/'), safe='')}:{method}"
        query = "&".join(filter(None, (parts.query, "alt=sse" if stream else "")))
        return urlunsplit(parts._replace(path=path, query=query))

    def _read(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        payload = payload_of(body, provider=self.provider, redact=self.redact)
        parts = Parts()
        for chunk in objects_of(payload) if isinstance(payload, list) else [object_of(payload)]:
            parts.take(chunk)
        if not parts.answered:
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        return answer(parts, request, self.provider)
