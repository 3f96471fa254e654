"""
Turn what an HTTP client raises into errors that name the address and say what to check.

Exceptions are told by the names of their classes, so that our own connections, httpcore, httpx, its successor
httpx2 and clients shaped like them are all understood without importing any.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nr_llm._reach import Target
from nr_llm.errors import (
    ConfigurationError,
    MalformedReplyError,
    NrLlmError,
    StreamInterruptedError,
    TransportError,
)
from nr_llm.providers import TransportOptions

_FAILURES = {"RequestError", "TimeoutException", "NetworkError", "ProtocolError", "ProxyError"}
"""Roots of what goes wrong on the way: the first is httpx's, the others are httpcore's and our own."""

_QUOTING = {"InvalidURL", "RemoteProtocolError"}
"""What quotes an address, or what a server said, which may be our own request come back: either may hold a key."""


@contextmanager
def explained(place: Target, options: TransportOptions, *, reading: bool = False) -> Iterator[None]:
    """
    Turn what the client raises into errors of ours; everything else passes.

    Args:
        place: Where the request goes.
        options: The time limits in force.
        reading: Whether the reply has begun.

    Raises:
        TransportError: The client could not get a reply, or not all of it.
        ConfigurationError: The request cannot be sent as it is.
        MalformedReplyError: The reply cannot be decompressed.
    """
    try:
        yield
    except Exception as error:
        names = {kind.__name__ for kind in type(error).__mro__}
        if "LocalProtocolError" in names or isinstance(error, UnicodeEncodeError):
            raise _bad_header(place) from None  # the cause quotes the header, which may be a key
        instead = _instead(names, error, place)
        if instead is None and names & _FAILURES:
            why, retryable = _why(names, error, place, options)
            broken = (StreamInterruptedError if reading else TransportError)(why, retryable=retryable)
            broken.url = place.shown
            instead = broken
        if instead is None:
            raise
        raise instead from (None if names & _QUOTING else error)


def _bad_header(place: Target) -> ConfigurationError:
    return ConfigurationError(
        f"The request to {place.shown} cannot be sent: a header is not allowed in HTTP.",
        remedy="Look for line breaks and other stray characters in the API key and the headers.",
    )


def _instead(names: set[str], error: Exception, place: Target) -> NrLlmError | None:
    # A host name that has no form in the domain name system is a plain `UnicodeError`, or idna's own kind of it.
    unnameable = "UnicodeError" in names and not isinstance(error, UnicodeDecodeError)
    if unnameable or names & {"UnsupportedProtocol", "InvalidURL", "ImportError"}:
        # What is wrong with an address may be a password: one with a '#' in it looks like a port.
        what = "an address cannot be read" if "InvalidURL" in names else str(error)
        return ConfigurationError(f"There is no way to {place.shown}: {what}.", remedy="Check address and proxy.")
    if "DecodingError" in names:
        return MalformedReplyError(f"the reply of {place.shown} is compressed in a way that cannot be read: {error}")
    return None


def _why(names: set[str], error: Exception, place: Target, options: TransportOptions) -> tuple[str, bool]:
    """Return the sentence for people, and whether trying again may help."""
    if "ConnectTimeout" in names:
        return f"no connection to {place.shown} within {options.connect_seconds:g} s; is the host reachable?", True
    if "PoolTimeout" in names:
        return f"no free connection to {place.shown} within {options.connect_seconds:g} s; too many at once", True
    if "TimeoutException" in names:
        return f"{place.shown} was silent for {options.read_seconds:g} s; a slow model needs longer read_seconds", True
    if "ProxyError" in names:
        return f"the proxy on the way to {place.shown} refused: {error}; check HTTPS_PROXY and NO_PROXY", False
    if "ConnectError" in names:
        return _no_connection(error, place)
    return f"the connection to {place.shown} broke: {_deepest(error)}", True


def _no_connection(error: Exception, place: Target) -> tuple[str, bool]:
    import socket
    import ssl

    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            found = f"the certificate of {place.shown} is not trusted: {getattr(cause, 'verify_message', cause)}"
            return f"{found}; if an authority of your own signed it, set ca_file to that authority's PEM file", False
        if isinstance(cause, ssl.SSLError):
            return f"no TLS with {place.shown}: {cause}; does the port speak https, is a certificate wanted?", False
        if isinstance(cause, socket.gaierror):
            return f"the host of {place.shown} has no address: {cause}; check its spelling and the network", True
    found = f"nothing answers at {place.shown}: {_deepest(error)}"
    return f"{found}; is the server running, are host and port right?", True


def _deepest(error: BaseException) -> str:
    """Return what the innermost cause says: clients wrap the system's words in empty ones."""
    *_, cause = _causes(error)
    return str(cause).partition(": bytearray(")[0] or type(cause).__name__  # without what h11, in clients, quotes


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
