"""The part of a provider that is the same for all: names, places, what a program passes beside the settings."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from nr_llm.codecs.access import ServiceSettings, access
from nr_llm.codecs.service import Service, with_changes
from nr_llm.errors import InvalidValueError
from nr_llm.secrets import Secret


@attrs.frozen(kw_only=True)
class Settings(ServiceSettings):
    """Settings of a made-up service."""

    api_key: Secret | None = None


class Made(Service[Any]):
    """A made-up service."""


def test_a_service_is_its_access_and_its_codec() -> None:
    """Name, endpoint, transport and repr are those of the access; a query is not shown."""
    way = access("p", Settings(), address="http://localhost:1/v1?key=k")
    codec = object()
    made = Made(way, codec)

    assert (made.name, made.codec, made.endpoint, made.transport) == ("p", codec, way.endpoint, way.transport)
    assert repr(made) == "Made('p', 'http://localhost:1/v1')"


def test_what_a_program_passes_goes_before_the_settings() -> None:
    """The key as text or secret; a name nobody has is refused."""
    settings = Settings(read_seconds=3, api_key=Secret("k0"))

    assert with_changes(settings, None, {}) == settings
    assert with_changes(settings, "k1", {"read_seconds": 4}) == Settings(read_seconds=4, api_key=Secret("k1"))
    assert with_changes(settings, Secret("k1"), {}).api_key == Secret("k1")


def test_what_it_cannot_use_is_told() -> None:
    """A misspelt setting with the right one, a function with where it belongs."""
    function: Any = lambda: "k"  # noqa: E731
    with pytest.raises(
        TypeError, match=r"no setting 'reed_seconds'\. Did you mean 'read_seconds'\? The settings are: api_"
    ):
        with_changes(Settings(), None, {"reed_seconds": 4})
    with pytest.raises(TypeError, match=r"no setting 'zzz'\. The settings"):
        with_changes(Settings(), None, {"zzz": 4})
    with pytest.raises(InvalidValueError, match=r"api_key: must be a text; a function .* auth="):
        with_changes(Settings(), function, {})
