"""A made-up service, its codec and its provider: the smallest that keep every promise, made to be broken."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from nr_llm.codecs.access import Access, Key, ServiceSettings, access
from nr_llm.codecs.calls import demand_calls, tool_calls
from nr_llm.codecs.faults import error_for, error_in, fault_in
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON, encode, encode_bytes
from nr_llm.codecs.reading import count_of, filled, malformed, object_of, objects_of, payload_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.codecs.turns import spans
from nr_llm.errors import InvalidRequestError, ProviderError
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.messages import ChatMessage
from nr_llm.providers import Endpoint, HttpReply, HttpRequest, Model, ModelPage, TransportOptions
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse, FinishReason, Usage
from nr_llm.secrets import Secret
from nr_llm.testing import ProviderSample

KEY = "babble-key-0123456789abcdefghij"

ENDS = {"over": FinishReason.STOP, "do": FinishReason.TOOL_CALLS}


def same(text: str) -> str:
    """Return a text as it is."""
    return text


@attrs.frozen(kw_only=True, eq=False)
class BabbleCodec:
    """Requests have ``who``, ``stream``, ``offers``, ``said``; replies ``say``, ``think``, ``do``, ``end``, counts."""

    provider: str = "babble"
    url: str = "http://127.0.0.1:1/babble"
    redact: Callable[[str], str] = attrs.field(default=same, repr=False)

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """Return the request as bytes."""
        choice, names = request.options.tool_choice, [tool.name for tool in request.tools]
        if choice not in (None, "auto", "none", "required", *names):
            raise InvalidRequestError(f"tool_choice names {choice!r}", provider=self.provider)
        said = encode_messages(request.messages, self.segments, memo)
        offers = [tool.to_wire() for tool in request.tools]
        head = encode_bytes({"who": request.model, "stream": request.stream, "offers": offers})
        body = head[:-1] + b',"said":[' + said + b"]}"
        headers = (("content-type", "application/json"),)
        return HttpRequest("POST", self.url, headers=headers, body=body, stream=request.stream)

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """Yield one piece for each message, but one for neighbouring results."""
        for i, end, closed in spans(messages, start):
            yield Segment(end, b",".join(encode_bytes(said(message)) for message in messages[i:end]), closed=closed)

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """Read a whole reply."""
        fields = object_of(payload_of(reply.body, provider=self.provider, redact=self.redact))
        if "say" not in fields:
            raise malformed("says nothing", reply.body, provider=self.provider, redact=self.redact)
        return self.read(fields, request)

    def read(self, fields: Mapping[str, Any], request: CompletionRequest) -> CompletionResponse:
        """Return the answer."""
        parts = [(filled(do.get("id")), filled(do.get("what")), do.get("with")) for do in objects_of(fields.get("do"))]
        calls = tool_calls(parts, request, cut=False)
        word = text_of(fields.get("end"))
        demand_calls(calls, request, provider=self.provider, finish=word)
        end = FinishReason.TOOL_CALLS if calls else ENDS.get(word, FinishReason.OTHER)
        return CompletionResponse(
            content=text_of(fields.get("say")),
            reasoning=filled(fields.get("think")),
            provider=self.provider,
            usage=Usage(count_of(fields.get("read")), count_of(fields.get("wrote"))),
            finish_reason=end,
            finish_detail=word or None,
            tool_calls=calls or None,
        )

    def decoder(self, request: CompletionRequest) -> BabbleStream:
        """Return a decoder."""
        return BabbleStream(self, request)

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error of a failed reply."""
        return error_for(self.provider, reply, redact=self.redact)

    def list_models(self, page: str | None = None) -> HttpRequest:
        """Return the request for the list of models."""
        return HttpRequest("GET", f"{self.url}/models{page or ''}")

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """Read the list of models."""
        return ModelPage(tuple(Model(provider=self.provider, name=name) for name in json.loads(reply.body)))


def said(message: ChatMessage) -> JSON:
    """Return a message in the service's form."""
    wire: dict[str, JSON] = {"by": str(message.role), "text": message.content}
    if message.tool_calls:
        wire["do"] = [{"id": c.id, "what": c.name, "with": dict(c.arguments)} for c in message.tool_calls]
    if message.tool_call_id:
        wire["did"] = message.tool_call_id
    if message.attachments:
        wire["see"] = [base64.b64encode(a.data or b"").decode() for a in message.attachments]
    return wire


class BabbleStream(FrameStream):
    """Lines of the same fields; texts add up, the last line has ``end``."""

    def __init__(self, codec: BabbleCodec, request: CompletionRequest) -> None:
        whole = partial(self.whole, codec, request)
        super().__init__(provider=codec.provider, redact=codec.redact, whole=whole, framing="lines")
        self._codec, self._request = codec, request
        self._thoughts: list[str] = []
        self._do: list[dict[str, Any]] = []
        self._last: Mapping[str, Any] = {}

    @staticmethod
    def whole(codec: BabbleCodec, request: CompletionRequest, body: bytes) -> CompletionResponse:
        """Read a reply that is no stream."""
        return codec.decode(HttpReply(200, {}, body), request)

    @property
    def ended(self) -> bool:
        """Whether the last line came."""
        return self.done

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        """Take a line."""
        if (fault := fault_in(payload)) is not None:
            raise error_in(self._provider, fault, redact=self._redact, body=event.data)
        fields = object_of(payload)
        if think := filled(fields.get("think")):
            self._thoughts.append(think)
            deltas.append(ReasoningDelta(think))
        if text := text_of(fields.get("say")):
            self._content.append(text)
            deltas.append(TextDelta(text))
        for do in objects_of(fields.get("do")):
            deltas.append(ToolCallDelta(self.key(len(self._do)), filled(do.get("what"))))
            deltas.append(ToolCallDelta(self.key(len(self._do)), None, encode(do.get("with") or {})))
            self._do.append(do)
        if text_of(fields.get("end")):
            self._last, self.done = fields, True

    def key(self, number: int) -> str:
        """Return the key of a call."""
        return str(number)

    def answer(self) -> CompletionResponse:
        """Return the answer."""
        fields = {"say": self.partial, "think": "".join(self._thoughts), "do": self._do}
        return self._codec.read({**self._last, **fields}, self._request)


class Babble:
    """A provider of it."""

    name = "babble"

    def __init__(self, codec: BabbleCodec | None = None, **access_settings: Any) -> None:
        key = Secret(KEY)
        self.access: Access = access(
            "babble", ServiceSettings(), address=BabbleCodec().url, key=key, form=Key(), **access_settings
        )
        self.codec = codec or BabbleCodec(redact=self.access.redact)

    @property
    def endpoint(self) -> Endpoint:
        """Where data goes."""
        return self.access.endpoint

    @property
    def transport(self) -> TransportOptions:
        """How to connect."""
        return self.access.transport

    def describe(self, model: str) -> Model:
        """Return what is known."""
        return Model(provider=self.name, name=model)

    def __repr__(self) -> str:
        return "Babble()"


def body(*payloads: Any) -> bytes:
    """Return lines of JSON."""
    return b"".join(json.dumps(payload, ensure_ascii=False).encode() + b"\n" for payload in payloads)


TEXT = ProviderSample(
    name="text",
    reply=body({"say": "Grüße!", "think": "Hm.", "end": "over", "read": 3, "wrote": 2}),
    stream=body({"think": "Hm."}, {"say": "Grü"}, {"say": "ße!"}, {"end": "over", "read": 3, "wrote": 2}),
    content="Grüße!",
    reasoning="Hm.",
    usage=Usage(3, 2),
    finish_reason=FinishReason.STOP,
)

DO = [{"what": "nr_llm_look", "with": {"what": "x"}}, {"what": "nr_llm_rest", "with": {}}]

CALLS = ProviderSample(
    reply=body({"say": "", "do": DO, "end": "do"}),
    stream=body({"do": DO[:1]}, {"do": DO[1:]}, {"end": "do"}),
    tool_calls=[("nr_llm_look", {"what": "x"}), ("nr_llm_rest", {})],
)

LIMITED = ProviderSample(
    name="limited",
    reply=body({"error": {"message": "slow down"}}),
    status=429,
    headers={"retry-after": "2"},
    error=ProviderError,
    retryable=True,
    retry_after=2.0,
)

INSIDE = ProviderSample(
    name="inside",
    reply=body({"error": "overloaded"}),
    stream=body({"say": "So"}, {"error": "overloaded"}),
    error=ProviderError,
)

SAMPLES = (TEXT, CALLS, LIMITED, INSIDE)
