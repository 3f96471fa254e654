"""The seam to model services: a provider is a codec over messages, or completes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from nr_llm._reach import shown
from nr_llm.cancellation import Cancellation
from nr_llm.errors import ProviderError
from nr_llm.events import Delta
from nr_llm.memo import Memo, Segment
from nr_llm.messages import ChatMessage
from nr_llm.options import between
from nr_llm.prices import Price
from nr_llm.requests import CompletionRequest
from nr_llm.responses import CompletionResponse


def _masked(headers: Iterable[tuple[str, str]]) -> str:
    return f"({', '.join(name for name, _ in headers)})"


@attrs.frozen
class HttpRequest:
    """A request as bytes; header values stay out of its repr, since some are keys."""

    method: str
    url: str = attrs.field(repr=shown)
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=_masked, kw_only=True)
    body: bytes = attrs.field(default=b"", repr=lambda body: f"<{len(body)} bytes>", kw_only=True)
    stream: bool = attrs.field(default=False, kw_only=True)


@attrs.frozen
class HttpReply:
    """A reply as bytes; header names are lower-case."""

    status: int
    headers: Mapping[str, str] = attrs.field(repr=lambda headers: _masked(headers.items()))
    body: bytes = attrs.field(default=b"", repr=lambda body: f"<{len(body)} bytes>")


@attrs.frozen
class Endpoint:
    """
    Where a provider's model runs.

    Attributes:
        host: Host name for people, such as ``api.openai.com``.
        local: Whether the conversation stays on this machine.
    """

    host: str
    local: bool = False


@attrs.frozen(kw_only=True)
class Model:
    """
    What is known of a model; None means unknown.

    Attributes:
        provider: The provider's name.
        name: The model's name, as the provider knows it.
        context: Tokens its window holds.
        max_output: Tokens it writes at most.
        max_tools: Tools it copes with.
        result_bytes: UTF-8 bytes of a tool's result it copes with.
        attachments: Media types it reads, as prefixes such as ``image/``; None when unknown.
        structured_output: Whether the service holds the model to a JSON Schema: ``native``, ``closed`` if only to one
            whose objects name all their properties, ``alone`` if only where no tools are offered, ``none`` if not at
            all; None when unknown.
        price: What its tokens cost.
        elsewhere: Whether the provider passes the conversation on to another machine for this model, whatever its own
            address is.
        notice: A sentence to tell people once, such as that its quality is limited.
        details: Further facts for listings, such as size and licence.
    """

    provider: str
    name: str
    context: int | None = None
    max_output: int | None = None
    max_tools: int | None = None
    result_bytes: int | None = None
    attachments: tuple[str, ...] | None = None
    structured_output: Literal["native", "closed", "alone", "none"] | None = None
    price: Price | None = None
    elsewhere: bool = False
    notice: str | None = None
    details: Mapping[str, str] = attrs.field(factory=dict)


class StreamDecoder(Protocol):
    """
    Bytes of a streamed answer in, deltas out; the same however the bytes are cut.

    Attributes:
        done: Whether the service has said that nothing follows; reading on might wait for ever.

    A decoder may have ``ended`` too: whether the answer is complete, though more may follow, such as counts.  Then a
    connection that breaks is no failure.
    """

    done: bool

    def feed(self, data: bytes) -> Sequence[Delta]:
        """
        Take the next bytes.

        Raises:
            ProviderError: The stream reports a failure or is not understood.
        """

    def finish(self) -> CompletionResponse:
        """
        Return the whole answer once the bytes have ended.

        Raises:
            StreamInterruptedError: The terminal mark was missing.
            ProviderError: As `feed`.
        """


class Codec(Protocol):
    """A provider's wire format, as pure functions: written once, used by both transports."""

    @property
    def provider(self) -> str:
        """Name of the provider, as on messages and errors."""

    def encode(self, request: CompletionRequest, memo: Memo | None = None) -> HttpRequest:
        """
        Return the request as bytes; with and without memo they are equal.

        Raises:
            InvalidRequestError: The format cannot say what the request wants.
            MissingCredentialError: The key is missing.
        """

    def decode(self, reply: HttpReply, request: CompletionRequest) -> CompletionResponse:
        """
        Read a successful reply.

        Raises:
            ProviderError: It reports a failure or is not understood.
        """

    def decoder(self, request: CompletionRequest) -> StreamDecoder:
        """Return a decoder for one streamed reply."""

    def error(self, reply: HttpReply) -> ProviderError:
        """Return the error a failed reply stands for."""

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        """Encode ``messages[start:]`` piece by piece; see `Memo`."""


@attrs.frozen
class ModelPage:
    """
    A page of a service's list of models.

    Attributes:
        models: What it lists.
        next: What to ask for to get the next page, or None behind the last.
    """

    models: tuple[Model, ...]
    next: str | None = None


@runtime_checkable
class ModelLister(Protocol):
    """What a codec has beside, where the service can say which models it offers."""

    def list_models(self, page: str | None = None) -> HttpRequest:
        """Return the request for a page of the list; None is the first."""

    def decode_models(self, reply: HttpReply) -> ModelPage:
        """
        Read a successful reply.

        Raises:
            ProviderError: It reports a failure or is not understood.
        """


@runtime_checkable
class HttpProvider(Protocol):
    """
    A provider reached over HTTP; `nr_llm.http` does the sending.

    It may have `middleware` too: layers around each of its calls, outside of the Runtime's, for a service that wants
    a call said in another way once it has refused the first.
    """

    @property
    def name(self) -> str:
        """The provider's name: the entry point's."""

    @property
    def endpoint(self) -> Endpoint:
        """Where the data goes."""

    @property
    def codec(self) -> Codec:
        """The wire format."""

    @property
    def transport(self) -> TransportOptions:
        """How to connect."""

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""


@runtime_checkable
class DirectProvider(Protocol):
    """A provider that answers by itself, without HTTP."""

    @property
    def name(self) -> str:
        """The provider's name: the entry point's."""

    @property
    def endpoint(self) -> Endpoint:
        """Where the data goes."""

    def describe(self, model: str) -> Model:
        """Return what is known of `model`."""

    def complete(self, request: CompletionRequest, cancelled: Cancellation) -> Iterator[Delta | CompletionResponse]:
        """Yield deltas, then the answer; blocking, run in a thread where the caller must not block."""


Provider: TypeAlias = HttpProvider | DirectProvider
"""What a plugin contributes through `nr_llm_providers`."""


PATIENCE: Any = between(0.001, 86_400)
"""Seconds that can be waited: some time, and at most a day, since an operating system refuses to wait for ever."""


@attrs.frozen(kw_only=True)
class TransportOptions:
    """
    How a provider is connected to.

    Attributes:
        connect_seconds: Time to connect.
        read_seconds: Time between two pieces of an answer.
        ca_file: Certificates to trust instead of the system's.
        client_certificate: File with certificate and key to show.
        proxy: Address of the proxy to take instead of the environment's; ``none`` for no proxy.
        auth: Called on each request, to sign it or to add a short-lived token; may be async in async runs.
    """

    connect_seconds: float = attrs.field(default=10.0, validator=PATIENCE)
    read_seconds: float = attrs.field(default=120.0, validator=PATIENCE)
    ca_file: str | None = None
    client_certificate: str | None = None
    proxy: str | None = attrs.field(default=None, repr=False)
    auth: Callable[[HttpRequest], Any] | None = attrs.field(default=None, repr=False)
