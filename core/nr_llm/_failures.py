"""What can happen to our connections, under the names that HTTP clients have for it, so that one table explains all."""

from __future__ import annotations


class TimeoutException(Exception):  # noqa: N818  # the name that clients have for it
    """Something took longer than it may."""


class ConnectTimeout(TimeoutException):
    """No connection, or no TLS on it, in time."""


class PoolTimeout(TimeoutException):
    """All connections that may be open were in use."""


class ReadTimeout(TimeoutException):
    """Nothing came."""


class WriteTimeout(TimeoutException):
    """The other side took nothing."""


class NetworkError(Exception):
    """The network failed."""


class ConnectError(NetworkError):
    """There is no connection."""


class ReadError(NetworkError):
    """The connection broke while something was awaited."""


class WriteError(NetworkError):
    """The connection broke while something was sent."""


class DecodingError(Exception):
    """A reply cannot be decompressed."""


class ProtocolError(Exception):
    """Somebody does not speak HTTP."""


class LocalProtocolError(ProtocolError):
    """We would not."""


class RemoteProtocolError(ProtocolError):
    """The other side does not, or no more."""
