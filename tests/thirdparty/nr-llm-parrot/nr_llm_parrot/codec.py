"""The wire format of Parrot: turns in, a turn out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from nr_llm.codecs.calls import check_choice, demand_calls, tool_calls
from nr_llm.codecs.faults import Fault, error_for, error_in
from nr_llm.codecs.json import JSON, encode_bytes
from nr_llm.codecs.reading import count_of, document, filled, malformed, object_of, objects_of, text_of
from nr_llm.conversation import check_pairs
from nr_llm.errors import InvalidRequestError, ProviderError
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import HttpReply, HttpRequest
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage

if TYPE_CHECKING:
    from nr_llm_parrot.stream import ParrotStream

WHO = {"system": "host", "user": "you", "assistant": "parrot", "tool": "tool"}
WHY = {"end": FinishReason.STOP, "do": FinishReason.TOOL_CALLS, "cut": FinishReason.LENGTH}


@attrs.frozen(kw_only=True, eq=False)
class ParrotCodec:
    """Encodes requests and decodes replies; pure, so that both colours and all tests share it."""

    provider: str
    url: str
    redact: Callable[[str], str] = attrs.field(repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """Return the request; the turns, which grow, come last and through the memo."""
        options = request.options
        head: dict[str, JSON] = {"model": request.model, "stream": request.stream}
        if options.max_tokens is not None:
            head["most"] = options.max_tokens
        check_choice(request, provider=self.provider)
        if options.tool_choice is not None:
            head["must"] = options.tool_choice
        if request.tools:
            head["tools"] = [
                {"name": tool.name, "about": tool.description, "takes": dict(tool.parameters)} for tool in request.tools
            ]
        turns = encode_messages(request.messages, self.segments, memo)
        body = encode_bytes(head)[:-1] + b',"turns":[' + turns + b"]}"
        headers = (("content-type", "application/json"),)
        return HttpRequest("POST", self.url, headers=headers, body=body, stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """Encode ``messages[start:]``, a turn each; what the form cannot say is refused."""
        check_pairs(messages, start=start)
        for i, message in enumerate(messages[start:], start):
            if message.attachments:
                raise InvalidRequestError("Parrot reads no attachments; describe them", provider=self.provider)
            turn: dict[str, JSON] = {"who": WHO[message.role], "say": message.content}
            if message.tool_calls:
                turn["do"] = [{"key": c.id, "name": c.name, "with": dict(c.arguments)} for c in message.tool_calls]
            if message.tool_call_id is not None:
                turn |= {"key": message.tool_call_id, "failed": message.is_error}
            yield Segment(i + 1, encode_bytes(turn))

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """Read a whole reply."""
        return self.whole(reply.body, request)

    def whole(self, body: bytes, request: CompletionRequest) -> CompletionResponse:
        """Read the body of a whole reply; a stream ends here too where a server sent none."""
        payload = object_of(document(body, provider=self.provider, redact=self.redact))
        if not isinstance(payload.get("why"), str):
            raise malformed("holds no answer", body, provider=self.provider, redact=self.redact)
        return self.answer(payload, request, text=text_of(payload.get("say")), calls=objects_of(payload.get("do")))

    def answer(
        self, end: Mapping[str, Any], request: CompletionRequest, *, text: str, calls: Sequence[Mapping[str, Any]]
    ) -> CompletionResponse:
        """Return the answer: one way for whole replies and streams, so that they cannot differ."""
        why = text_of(end.get("why"))
        parts = [(filled(call.get("key")), filled(call.get("name")), call.get("with")) for call in calls]
        made = tool_calls(parts, request, cut=why == "cut")
        demand_calls(made, request, provider=self.provider, finish=why)
        tokens = object_of(end.get("tokens"))
        return CompletionResponse(
            content=text,
            model=text_of(end.get("model")) or request.model,
            provider=self.provider,
            usage=Usage(count_of(tokens.get("read")), count_of(tokens.get("wrote"))),
            finish_reason=FinishReason.TOOL_CALLS if made else WHY.get(why, FinishReason.OTHER),
            finish_detail=why,
            tool_calls=made or None,
        )

    def decoder(self, request: CompletionRequest) -> ParrotStream:
        """Return a decoder for one streamed reply."""
        from nr_llm_parrot.stream import ParrotStream

        return ParrotStream(self, request)

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error that a failed reply stands for."""
        return error_for(self.provider, reply, redact=self.redact, lost="is the base URL right?")

    def error_in(self, payload: Mapping[str, Any], body: str) -> ProviderError:
        """Return the error that a line of a stream reports."""
        trouble = text_of(payload.get("trouble"))
        return error_in(self.provider, Fault(message=trouble, words=trouble.lower()), redact=self.redact, body=body)
