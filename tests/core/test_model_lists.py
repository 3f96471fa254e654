"""A service is asked which models it offers, page by page, with what the configuration knows of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from nr_llm import ConfigurationError, MalformedReplyError, Runtime, ServiceError
from nr_llm._host import PluginHost
from nr_llm._json import decode
from nr_llm._listing import PAGES
from nr_llm.config import read_config
from nr_llm.errors import ProviderError
from nr_llm.providers import Endpoint, HttpReply, HttpRequest, Model, ModelPage, TransportOptions
from nr_llm.testing import ScriptedProvider


class Pages:
    """A codec that lists and does nothing else."""

    provider = "paged"

    def list_models(self, page: str | None = None) -> HttpRequest:
        return HttpRequest("GET", f"http://paged.test/models?after={page or ''}")

    def decode_models(self, reply: HttpReply) -> ModelPage:
        answer: Any = decode(reply.body)
        return ModelPage(tuple(Model(provider="paged", name=name) for name in answer["names"]), answer.get("next"))

    def error(self, reply: HttpReply) -> ProviderError:
        return ServiceError("refused", provider="paged", status=reply.status)


class Paged:
    """A provider over HTTP whose service lists its models."""

    name = "paged"
    endpoint = Endpoint("paged.test")
    codec = Pages()
    transport = TransportOptions()

    def describe(self, model: str) -> Model:
        return Model(provider="paged", name=model)


class Silent(Paged):
    """One whose codec lists nothing."""

    codec = object()  # type: ignore[assignment]


def service(request: httpx.Request) -> httpx.Response:
    """Answer two pages."""
    if request.url.params["after"] == "b":
        return httpx.Response(200, json={"names": ["c"]})
    return httpx.Response(200, json={"names": ["a", "b"], "next": "b"})


def endless(request: httpx.Request) -> httpx.Response:
    """Answer a further page each time."""
    after = request.url.params["after"] or "0"
    return httpx.Response(200, json={"names": [], "next": str(int(after) + 1)})


def circular(_: httpx.Request) -> httpx.Response:
    """Answer that the same page follows."""
    return httpx.Response(200, json={"names": [], "next": "b"})


def refusing(_: httpx.Request) -> httpx.Response:
    """Answer no."""
    return httpx.Response(500)


@pytest.fixture(params=["models", "amodels"])
def ask(request: pytest.FixtureRequest) -> Callable[..., tuple[Model, ...]]:
    """Return what lists the models of a provider in one colour."""

    def asked(provider: Any, handler: Any = service, host: Any = None) -> tuple[Model, ...]:
        transport = httpx.MockTransport(handler)
        with httpx.Client(transport=transport) as client:
            own = Runtime(host, providers=[provider], http=client, async_http=httpx.AsyncClient(transport=transport))
            if request.param == "models":
                return own.models(provider.name)
            return asyncio.run(own.amodels(provider.name))

    return asked


def test_all_pages(ask: Any) -> None:
    """Pages are asked for until none follows."""
    assert [model.name for model in ask(Paged())] == ["a", "b", "c"]


def test_with_the_configuration(ask: Any, tmp_path: Path) -> None:
    """What the configuration says of a model is told with it."""
    (tmp_path / "nr-llm.toml").write_text('[models.x]\nprovider = "paged"\nid = "b"\ncontext = 5\n', "utf-8")
    host = PluginHost(config=read_config(tmp_path / "nr-llm.toml", trusted=True), environ={})

    assert [model.context for model in ask(Paged(), host=host)] == [None, 5, None]


@pytest.mark.parametrize(("handler", "pages"), [(endless, PAGES), (circular, 2)])
def test_a_list_without_end(ask: Any, handler: Any, pages: int) -> None:
    """A list that goes on for ever, or round in a circle, is an error."""
    with pytest.raises(MalformedReplyError, match=f"asked for {pages} pages"):
        ask(Paged(), handler)


def test_a_refusal(ask: Any) -> None:
    """A status that is none of success is what the codec makes of it."""
    with pytest.raises(ServiceError, match="refused"):
        ask(Paged(), refusing)


def test_without_a_list(ask: Any) -> None:
    """A provider whose service has no list says so, and how to name a model."""
    for provider in (Silent(), ScriptedProvider(name="paged")):
        with pytest.raises(ConfigurationError, match="cannot list its models") as caught:
            ask(provider)
        assert "paged:MODEL" in caught.value.remedy


def test_declared(ask: Any) -> None:
    """A provider that answers by itself lists what it declares."""

    class Declaring(ScriptedProvider):
        def models(self) -> list[Model]:
            return [Model(provider="scripted", name="m")]

    assert [model.name for model in ask(Declaring())] == ["m"]
