"""The chat wire format as one codec: pure, the same for every colour."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from nr_llm.codecs.access import shown
from nr_llm.codecs.faults import error_for
from nr_llm.codecs.json import encode_bytes
from nr_llm.codecs.reading import filled, malformed, object_of, objects_of, payload_of, text_of
from nr_llm.errors import InvalidValueError, ModelNotFoundError, ProviderError
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply, HttpRequest, Model, ModelPage
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse

from nr_llm_ollama import encode
from nr_llm_ollama.answers import answer
from nr_llm_ollama.options import OllamaOptions
from nr_llm_ollama.stream import ChatStream

MISSING = re.compile(r"model ['\"]?([\w.:/@-]+)['\"]? (?:was )?not found")


@attrs.frozen(kw_only=True, eq=False)
class OllamaCodec:
    """
    Encodes requests and decodes replies.

    Args:
        provider: Name of the provider, as on answers and errors.
        url: Where requests go.
        headers: Further headers of each request; none of them the key, which the transport adds.
        redact: Masks secrets in what errors repeat of a reply.
    """

    provider: str = "ollama"
    url: str = attrs.field(default="http://127.0.0.1:11434/api/chat", repr=shown)
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    redact: Callable[[str], str] = attrs.field(default=str, repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """
        Return the request as bytes; `messages` is the last field of the body.

        Raises:
            InvalidValueError: There is no message, or calls and their results do not match.
            InvalidRequestError: The form cannot say what the request wants.
        """
        messages = encode_messages(request.messages, self.segments, memo)
        if not messages:
            raise InvalidValueError("there is no message to send", path="messages")
        head = encode.head_of(request, request.options.of(OllamaOptions), self.provider)
        body = [encode_bytes(head)[:-1]]
        tools = encode.offered(request)
        if tools and "tools" not in head:
            make = partial(encode.encode_tools, tools)
            body += [b',"tools":', make() if memo is None else memo.once(request.tools, make)]
        body += [b',"messages":[', messages, b"]}"]
        headers = (("content-type", "application/json"), *self.headers)
        return HttpRequest("POST", self.url, headers=headers, body=b"".join(body), stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """
        Encode ``messages[start:]``, one segment for each message; results at the end stay open.

        Raises:
            InvalidValueError: As `encode`.
            InvalidRequestError: As `encode`.
        """
        return encode.segments(messages, start, provider=self.provider)

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """
        Read a reply.

        Raises:
            ProviderError: It reports a failure, is no answer, or lacks a call that was required.
        """
        return self._read(reply.body, request)

    def decoder(self, request: CompletionRequest) -> ChatStream:
        """Return a decoder for one streamed reply."""
        whole = partial(self._read, request=request)
        return ChatStream(request, provider=self.provider, redact=self.redact, whole=whole)

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error that a reply with a failing status stands for; a missing model comes with its remedy."""
        error = error_for(self.provider, reply, redact=self.redact, lost="is this the address of an Ollama server?")
        missing = MISSING.search(str(error))
        if isinstance(error, ModelNotFoundError) and missing is not None:
            error.args = (f"{error}; fetch it with: ollama pull {missing[1]}",)
        return error

    def list_models(self, page: str | None = None) -> HttpRequest:  # noqa: ARG002  # there is one page
        """Return the request for the list of models; it has one page."""
        place, mark, query = self.url.partition("?")
        return HttpRequest("GET", f"{place.removesuffix('/chat')}/tags{mark}{query}", headers=self.headers)

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """
        Read the list of models.

        Raises:
            ProviderError: It is no list.
        """
        payload = object_of(payload_of(reply.body, provider=self.provider, redact=self.redact))
        if not isinstance(payload.get("models"), list):
            raise malformed("holds no models", reply.body, provider=self.provider, redact=self.redact)
        return ModelPage(
            tuple(
                Model(provider=self.provider, name=row["name"], details=_details(row))
                for row in objects_of(payload["models"])
                if filled(row.get("name"))
            )
        )

    def _read(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        payload = object_of(payload_of(body, provider=self.provider, redact=self.redact))
        message = payload.get("message")
        if not isinstance(message, dict):
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        return answer(
            payload,
            request,
            self.provider,
            content=text_of(message.get("content")),
            thinking=text_of(message.get("thinking")),
            calls=objects_of(message.get("tool_calls")),
        )


def _details(row: Mapping[str, Any]) -> dict[str, str]:
    known = object_of(row.get("details"))
    size = row.get("size")
    told = {"size": f"{size / 1e9:.1f} GB" if isinstance(size, int) and not isinstance(size, bool) else ""}
    told |= {name: text_of(known.get(name)) for name in ("parameter_size", "quantization_level")}
    return {name: text for name, text in told.items() if text}
