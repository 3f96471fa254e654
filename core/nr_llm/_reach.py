"""Where a request goes and by which way: address, proxy, trust."""

from __future__ import annotations

import base64
import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

import attrs

from nr_llm.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl


@attrs.frozen(kw_only=True)
class Target:
    """
    An address taken apart.

    Attributes:
        url: What to open, without user name and password.
        shown: What to show in errors and logs: no user, password, query or fragment.
        origin: Scheme, host and port: what a connection belongs to.
        host: Host name or address.
        port: Port, where the address names one.
        secure: Whether TLS is used.
        basic: Value of the `Authorization` header that a user name in the address asks for, or None.
    """

    url: str = attrs.field(repr=False)
    shown: str
    origin: str
    host: str
    port: int | None
    secure: bool
    basic: str | None = attrs.field(repr=False)


@lru_cache(maxsize=256)
def target(url: str) -> Target:
    """
    Take `url` apart.

    Raises:
        ConfigurationError: It is no ``http:`` or ``https:`` address with a host.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # refuses labels that are empty or too long; clients do not agree on what they do
    except ValueError:
        raise _no_address(url) from None
    if parts.scheme not in ("http", "https") or not host:
        raise _no_address(url)
    place = parts.netloc.rpartition("@")[2]
    return Target(
        url=urlunsplit(parts._replace(netloc=place, fragment="")),
        shown=urlunsplit((parts.scheme, place, parts.path, "", "")),
        origin=f"{parts.scheme}://{host}:{port}",
        host=host,
        port=port,
        secure=parts.scheme == "https",
        basic=basic_of(parts.username, parts.password),
    )


def _no_address(url: str) -> ConfigurationError:
    shown = url.rpartition("@")[2].partition("?")[0]
    return ConfigurationError(
        f"{shown!r} is no address of a service.", remedy="Give one such as 'https://api.example.com/v1'."
    )


def shown(url: str) -> str:
    """Return an address as a `repr` shows it: without its user and query, either of which may be a key."""
    place, mark, _ = url.partition("?")
    scheme, slashes, rest = place.rpartition("//")
    host, slash, path = rest.partition("/")
    return repr(f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}{mark and '?…'}")


def basic_of(user: str | None, password: str | None) -> str | None:
    """Return the value of the header with which a user of an address asks to be let in, or None if there is none."""
    if user is None:
        return None
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def loopback(host: str) -> bool:
    """Whether `host` is this machine, so that what is sent there does not leave it."""
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback


def proxy_for(place: Target, wanted: str | None = None) -> str | None:
    """
    Return the proxy that is set, or that the environment prescribes, for an address, or None.

    Traffic to this machine never takes one: it is called local, so it must not leave.

    Args:
        place: The address.
        wanted: The proxy to take instead of the environment's; ``none`` for no proxy.

    Raises:
        ConfigurationError: The proxy is of a kind that is not supported.
    """
    if loopback(place.host) or wanted == "none":
        return None
    from urllib.request import getproxies, proxy_bypass

    # NO_PROXY may name a port too; an address with colons of its own cannot carry one there.
    where = place.host if place.port is None or ":" in place.host else f"{place.host}:{place.port}"
    if wanted is None and proxy_bypass(where):
        return None
    proxies = getproxies()
    proxy = wanted or proxies.get("https" if place.secure else "http") or proxies.get("all")
    if not proxy:
        return None
    kind, mark, _ = proxy.partition("://")
    if mark and kind.lower() not in ("http", "https", "socks5", "socks5h"):
        shown = repr(kind) if kind.isalnum() else "strange"  # it may hold a password
        raise ConfigurationError(
            f"{'The environment prescribes' if wanted is None else 'The settings name'} a {shown} proxy"
            f" for {place.shown}, which is not supported.",
            remedy="Use an http, https or socks5 proxy, or add the host to NO_PROXY.",
        )
    return proxy if mark else f"http://{proxy}"


@lru_cache(maxsize=32)
def tls_context(ca_file: str | None, client_certificate: str | None) -> ssl.SSLContext:
    """
    Return the TLS context for a pair of settings, always the same one: each costs tens of milliseconds.

    Args:
        ca_file: PEM file of the authorities to trust instead of the operating system's.
        client_certificate: PEM file with a certificate and its key to show to the service.

    Raises:
        ConfigurationError: A file is missing or holds no certificate.
    """
    import ssl

    import truststore

    try:
        if ca_file is None:
            context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        else:
            context = ssl.create_default_context(cafile=ca_file)
        if client_certificate is not None:
            context.load_cert_chain(client_certificate)
        context.set_alpn_protocols(["http/1.1"])
    except OSError as error:  # ssl.SSLError is one
        raise ConfigurationError(
            f"The TLS files ca_file={ca_file!r}, client_certificate={client_certificate!r} cannot be used: {error}.",
            remedy="Both are paths of PEM files.",
        ) from error
    return context


@lru_cache(maxsize=1)
def no_trust() -> ssl.SSLContext:
    """Return a context that trusts nobody: for ``http:`` addresses, and closed should TLS ever be asked of it."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
