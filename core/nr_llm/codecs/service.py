"""A provider over HTTP: what is the same for every service, whatever its codec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import attrs

from nr_llm.codecs.access import Access, ServiceSettings
from nr_llm.errors import InvalidValueError, similar
from nr_llm.providers import Codec, Endpoint, TransportOptions
from nr_llm.secrets import Secret

C = TypeVar("C", bound=Codec)
S = TypeVar("S", bound=ServiceSettings)


class Service(Generic[C]):
    """
    The part of a provider that its plugin need not write; a plugin's class adds `describe`.

    Args:
        access: How the service is reached.
        codec: Its wire format.
    """

    def __init__(self, access: Access, codec: C) -> None:
        self._access = access
        self._codec = codec

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._access.provider

    @property
    def endpoint(self) -> Endpoint:
        """Where the data goes."""
        return self._access.endpoint

    @property
    def codec(self) -> C:
        """The wire format."""
        return self._codec

    @property
    def transport(self) -> TransportOptions:
        """How to connect."""
        return self._access.transport

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._access.place.shown!r})"


def with_changes(settings: S, api_key: Secret | str | None, changes: Mapping[str, Any]) -> S:
    """
    Return settings with what a program passes beside them.

    Args:
        settings: Of a class with an ``api_key``.
        api_key: The key in place of the settings', or None for theirs.
        changes: Further settings by their names.

    Raises:
        TypeError: There is no such setting.
        InvalidValueError: The key is no text.
    """
    known = attrs.fields_dict(type(settings))
    for name in changes.keys() - known.keys():
        hint = "".join(f" Did you mean {close!r}?" for close in similar(name, known)[:1])
        raise TypeError(f"There is no setting {name!r}.{hint} The settings are: {', '.join(sorted(known))}.")
    if callable(api_key):
        raise InvalidValueError("must be a text; a function that lets requests in is passed as auth=", path="api_key")
    if api_key is not None:
        changes = {**changes, "api_key": api_key if isinstance(api_key, Secret) else Secret(api_key)}
    return attrs.evolve(settings, **changes)
