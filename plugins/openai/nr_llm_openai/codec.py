"""The Chat Completions wire format as one codec: pure, the same for every colour and every service of the form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote

import attrs
from nr_llm.codecs.access import shown
from nr_llm.codecs.calls import declaring
from nr_llm.codecs.faults import error_for
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.reading import malformed, payload_of, text_of
from nr_llm.errors import InvalidValueError, ProviderError
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply, HttpRequest, ModelPage
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_openai import encode, listing
from nr_llm_openai.answers import Parts, answer
from nr_llm_openai.decode import calls_of, reasoning_of, texts_of
from nr_llm_openai.dialects import OPENAI, Dialect
from nr_llm_openai.replay import Replay
from nr_llm_openai.stream import ChatStream


@attrs.frozen(kw_only=True, eq=False)
class ChatCodec:
    """
    Encodes requests and decodes replies of one service.

    Args:
        provider: Name of the provider, as on answers and errors.
        url: Where requests go; ``{model}`` in it stands for the model's name.
        gap: What the model is made to say between results and a person's turn; empty for nothing.
        dialect: The service's ways.
        headers: Further headers of each request; none of them a key, which the transport adds.
        redact: Masks secrets in what errors repeat of a reply.
    """

    provider: str = "openai"
    url: str = attrs.field(default="https://api.openai.com/v1/chat/completions", repr=shown)
    dialect: Dialect = OPENAI
    gap: str = ""
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    redact: Callable[[str], str] = attrs.field(default=str, repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """
        Return the request as bytes; `messages` is the last field of the body.

        Raises:
            InvalidValueError: There is no message, or calls and their answers do not match.
            InvalidRequestError: The form cannot say what the request wants.
        """
        request = declaring(request) if self.dialect.forbids else request
        messages = encode_messages(request.messages, self.segments, memo)
        if not messages:
            raise InvalidValueError("there is no message to send", path="messages")
        of = (request.model, request.options, request.tools, request.stream)
        head = self._head(request) if memo is None else memo.once(of, partial(self._head, request))
        headers = (("content-type", "application/json"), *self.headers)
        url = self.url.replace("{model}", quote(request.model, safe="")) if "{" in self.url else self.url
        body = b"".join((head, b',"messages":[', messages, b"]}"))
        return HttpRequest("POST", url, headers=headers, body=body, stream=request.stream)

    def _head(self, request: CompletionRequest) -> bytes:
        head = encode.head_of(request, self.dialect, self.provider)
        data = encode_bytes(head)[:-1]
        if request.tools and "tools" not in head:
            data += b',"tools":' + encode.encode_tools(request.tools, self.dialect)
        return data

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """
        Encode ``messages[start:]``, one segment per message.

        Raises:
            InvalidValueError: As `encode`.
            InvalidRequestError: As `encode`.
        """
        return encode.segments(messages, start, dialect=self.dialect, provider=self.provider, gap=self.gap)

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """
        Read a reply.

        Raises:
            ProviderError: It reports a failure, is no answer, or lacks a call that was required.
        """
        return self._read(reply.body, request)

    def decoder(self, request: CompletionRequest) -> ChatStream:
        """Return a decoder for one streamed reply."""
        return ChatStream(
            request,
            dialect=self.dialect,
            provider=self.provider,
            redact=self.redact,
            whole=partial(self._read, request=request),
        )

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error that a reply with a failing status stands for."""
        return error_for(self.provider, reply, redact=self.redact, lost="is the base URL right? Most end in /v1")

    def list_models(self, page: str | None = None) -> HttpRequest:  # noqa: ARG002  # there is one page
        """Return the request for the list of models."""
        return listing.request_at(self.url, "/chat/completions", self.headers)

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """
        Read the list of models.

        Raises:
            ProviderError: It is no list.
        """
        return listing.page_of(reply, provider=self.provider, redact=self.redact)

    def _read(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        payload = payload_of(body, provider=self.provider, redact=self.redact)
        choices = payload.get("choices") if isinstance(payload, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(payload, dict) or not isinstance(choice, dict):
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        # A choice that a content filter emptied has a reason and no message.
        message = choice.get("message") or ({} if choice.get("finish_reason") else None)
        if not isinstance(message, dict):
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        return answer(self._parts(payload, choice, message), request, self.provider)

    def _parts(self, payload: Mapping[str, JSON], choice: Mapping[str, JSON], message: Mapping[str, JSON]) -> Parts:
        content = message.get("content")
        text, thinking, refusal = texts_of(content)
        state: dict[str, JSON] = {}
        if self.dialect.replayed:
            replay = Replay(self.dialect.replayed, [])
            replay.add(message)
            state = replay.state()
            if "content" in state:
                state["content"] = content  # as it came: text and thinking in their order
        return Parts(
            content=text,
            reasoning=thinking + reasoning_of(message),
            refusal=refusal + text_of(message.get("refusal")),
            calls=calls_of(message),
            finish=choice.get("finish_reason"),
            usage=payload.get("usage"),
            model=text_of(payload.get("model")),
            id=text_of(payload.get("id")) or None,
            state=state,
            raw=None if content is None or isinstance(content, (str, list)) else dict(payload),
        )
