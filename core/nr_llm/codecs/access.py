"""How one service is reached: its address, its key, its headers, whom to trust; checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import attrs

from nr_llm._reach import Target, basic_of, loopback, shown, target
from nr_llm.errors import ConfigurationError, MissingCredentialError
from nr_llm.providers import PATIENCE, Endpoint, HttpRequest, TransportOptions
from nr_llm.redaction import Redactor
from nr_llm.secrets import Secret
from nr_llm.settings import variable

__all__ = ["Access", "Auth", "Key", "ServiceSettings", "Target", "access", "address_of", "loopback", "shown", "target"]

Auth: TypeAlias = Callable[[HttpRequest], Any]
"""Returns the request with what lets it in, such as a short-lived token or a signature; may be async in async runs."""

CREDENTIAL = re.compile(r"auth|key|token|secret|cookie|password")
"""Names of headers whose values are secrets."""


@attrs.frozen(kw_only=True)
class ServiceSettings:
    """
    What can be set for any service; a plugin's own class adds its key and more.

    Attributes:
        base_url: Address of the service; its own unless given.  A user and password in it are sent as basic
            authorization where no key is.
        headers: Further headers of each request, such as a gateway's.
        connect_seconds: Time to connect.
        read_seconds: Longest silence of the service; a whole answer counts as one silence.
        ca_file: PEM file of the authorities to trust instead of the system's.
        client_certificate: PEM file with certificate and key to show to the service.
        proxy: Address of the proxy to take instead of the environment's; ``none`` for no proxy.
    """

    base_url: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    connect_seconds: float = attrs.field(default=10.0, validator=PATIENCE)
    read_seconds: float = attrs.field(default=600.0, validator=PATIENCE)
    ca_file: Path | None = None
    client_certificate: Path | None = None
    proxy: str | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class Key:
    """
    How a service takes its key.

    Attributes:
        header: Name of the header, lower-case.
        prefix: What stands before the key, such as ``Bearer``.
        variables: Environment variables that may hold it, for errors.
        needed_at: Host that answers nobody without a key; others are asked without one. None if no host needs one.
    """

    header: str = "authorization"
    prefix: str = "Bearer "
    variables: Sequence[str] = ()
    needed_at: str | None = None


@attrs.frozen(kw_only=True)
class Access:
    """
    How one service is reached; made by `access`.

    Attributes:
        provider: The provider's name.
        place: The address taken apart.
        headers: Headers of each request; none of them the key, which `transport.auth` adds when a request leaves.
        redact: Masks key and secret headers in text that a reply repeats.
        transport: How to connect.
    """

    provider: str
    place: Target
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    redact: Callable[[str], str] = attrs.field(repr=False)
    transport: TransportOptions = attrs.field(repr=False)

    @property
    def endpoint(self) -> Endpoint:
        """Where the data goes."""
        return Endpoint(self.place.host, local=loopback(self.place.host))


def access(
    provider: str,
    settings: ServiceSettings,
    *,
    address: str,
    key: Secret | None = None,
    form: Key | None = None,
    auth: Auth | None = None,
    headers: Mapping[str, str | None] | None = None,
) -> Access:
    """
    Check what is set for a service and return how it is reached.

    Args:
        provider: The provider's name.
        settings: What is set.
        address: Where the service lives; `settings.base_url` has been minded.
        key: The key, if there is one.
        form: How the service takes a key; as a bearer token unless given.
        auth: Lets requests in, in place of a key.
        headers: Further headers, in front of the settings'; those that are None are left out.

    Raises:
        ConfigurationError: The address or the key cannot be used.
    """
    form = _named_after(provider, form or Key())
    key = _checked(key, provider, form.variables)
    place = target(address)
    named = [value for name, value in settings.headers.items() if CREDENTIAL.search(name.lower())]
    hidden = [*_secrets_of(address), *_secrets_of(settings.proxy or "")]
    secrets: list[Secret | str] = [*([key] if key else []), *named, *hidden]
    given = {**(headers or {}), **settings.headers}
    return Access(
        provider=provider,
        place=place,
        headers=tuple((name, value) for name, value in given.items() if value is not None),
        redact=Redactor(secrets).redact,
        transport=TransportOptions(
            connect_seconds=settings.connect_seconds,
            read_seconds=settings.read_seconds,
            ca_file=_path(settings.ca_file),
            client_certificate=_path(settings.client_certificate),
            proxy=settings.proxy,
            auth=auth or _Signature(provider, key, form, place.basic),
        ),
    )


def address_of(base_url: str, path: str, *, also: Sequence[str] = ()) -> str:
    """
    Return where requests go; a base URL that was copied with the path, or has a query, is taken too.

    Args:
        base_url: As the user gives it.
        path: What the format appends, such as ``/chat/completions``.
        also: Further ends of its path that are left out, in this order, such as ``/v1``.
    """
    try:
        parts = urlsplit(base_url.strip())
    except ValueError:
        return base_url  # `target` says what is wrong with it
    bare = parts.path
    for end in (path, *also):
        bare = bare.rstrip("/").removesuffix(end)
    return urlunsplit(parts._replace(path=bare.rstrip("/") + path))


def _named_after(provider: str, form: Key) -> Key:
    """A provider under a name of its own reads the variable of that name, and none of the plugin's."""
    own = variable(provider, "api_key")
    return form if not form.variables or own in form.variables else attrs.evolve(form, variables=(own,))


def _secrets_of(address: str) -> Iterator[str]:
    """Yield what nobody shall read of an address: its password or token, and what its query calls a credential."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return  # whoever takes that proxy says what is wrong with it
    yield (basic_of(parts.username, parts.password) or "").partition(" ")[2]
    yield unquote(parts.password or parts.username or "")  # a user alone is most often a token
    yield from (value for name, value in parse_qsl(parts.query) if CREDENTIAL.search(name.lower()))


@attrs.frozen
class _Signature:
    """Adds the key, or the user of the address, when a request leaves; a header of one's own goes before them."""

    provider: str
    key: Secret | None
    form: Key
    basic: str | None = attrs.field(default=None, repr=False)

    def __call__(self, request: HttpRequest) -> HttpRequest:
        named = {name.lower() for name, _ in request.headers}
        more = {} if self.form.header in named else self._key(request)
        if self.basic is not None and "authorization" not in named | more.keys():
            more["authorization"] = self.basic
        if not more:
            return request
        headers = (*request.headers, *more.items())
        return HttpRequest(request.method, request.url, headers=headers, body=request.body, stream=request.stream)

    def _key(self, request: HttpRequest) -> dict[str, str]:
        if self.key is not None:
            return {self.form.header: self.form.prefix + self.key.reveal()}
        if self.form.needed_at is not None and target(request.url).host == self.form.needed_at:
            raise MissingCredentialError(
                self.provider,
                variables=self.form.variables,
                otherwise="pass api_key= where your program makes the provider itself: then it reads no variable",
            )
        return {}


def _checked(key: Secret | None, provider: str, variables: Sequence[str]) -> Secret | None:
    if key is None:
        return None
    text = key.reveal().strip()
    if not text or not text.isascii() or not text.isprintable():
        places = f"Check {' and '.join(variables)} for line breaks and quotes." if variables else ""
        raise ConfigurationError(
            f"The API key of provider {provider!r} is blank or holds characters that no key has.", remedy=places
        )
    return Secret(text)


def _path(path: object) -> str | None:
    return None if path is None else str(path)
