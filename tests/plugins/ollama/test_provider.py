"""The provider knows its server in every form Ollama has for an address, and signs where a key is wanted."""

from __future__ import annotations

import json
from typing import Any

import nr_llm_ollama
import pytest
from nr_llm._host import PluginHost
from nr_llm.errors import ConfigurationError, MalformedReplyError, MissingCredentialError, ServiceError
from nr_llm.providers import Endpoint, HttpProvider, HttpReply, HttpRequest, Model, ModelLister
from nr_llm.settings import load_settings
from nr_llm_ollama import Ollama, OllamaSettings
from nr_llm_ollama.provider import server_at

from tests.plugins.ollama.replies import CODEC

KEY = "ollama-key-0123456789"


def signed(provider: Ollama) -> dict[str, str]:
    """Return the headers of a request as it would leave."""
    auth = provider.transport.auth
    assert auth is not None
    request: HttpRequest = auth(HttpRequest("POST", provider.codec.url, headers=(), body=b"x", stream=True))
    return dict(request.headers)


def settings_from(values: dict[str, Any] | None = None, **environ: str) -> OllamaSettings:
    """Return the settings that a host reads."""
    return load_settings(OllamaSettings, plugin="ollama", values=values or {}, environ=environ)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        (" box:8080 ", "http://box:8080"),
        ('"box"', "http://box:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("[fe80::1]", "http://[fe80::1]:11434"),
        ("http://box", "http://box"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("https://box", "https://box"),
        ("https://box:8443/ollama", "https://box:8443/ollama"),
        ("box/ollama", "http://box:11434/ollama"),
        ("ollama.com", "https://ollama.com"),
        ("http://user:pass@box", "http://user:pass@box"),
        ("http://box:port", "http://box:port"),
    ],
)
def test_every_form_of_a_host_is_an_address(host: str, address: str) -> None:
    """As Ollama's own clients read it."""
    assert server_at(host) == address


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (None, "http://127.0.0.1:11434/api/chat"),
        ("box", "http://box:11434/api/chat"),
        ("https://box/gate/", "https://box/gate/api/chat"),
        ("http://box/api/chat", "http://box/api/chat"),
        ("http://box/api", "http://box/api/chat"),
        ("http://box/v1/", "http://box/api/chat"),
    ],
)
def test_requests_go_to_the_server_s_chat(base_url: str | None, url: str) -> None:
    """However the address was copied."""
    assert Ollama(base_url=base_url).codec.url == url


@pytest.mark.parametrize("base_url", ["http://box:port", "ftp://box", "http://[::1"])
def test_an_address_that_is_none_is_refused_at_once(base_url: str) -> None:
    """Not at the first request."""
    with pytest.raises(ConfigurationError):
        Ollama(base_url=base_url)


@pytest.mark.parametrize(("host", "local"), [(None, True), ("0.0.0.0", True), ("box", False), ("ollama.com", False)])
def test_the_endpoint_says_whether_data_leaves(host: str | None, local: bool) -> None:
    """Only this machine is local."""
    assert Ollama(base_url=host).endpoint.local is local


class TestKey:
    def test_a_server_of_one_s_own_needs_none(self) -> None:
        """Nothing is added."""
        assert signed(Ollama()) == {}

    def test_the_service_in_the_cloud_needs_one(self) -> None:
        """The error names the variables."""
        with pytest.raises(MissingCredentialError, match="NR_LLM_OLLAMA_API_KEY or OLLAMA_API_KEY"):
            signed(Ollama(base_url="https://ollama.com"))

    def test_it_is_a_bearer_token(self) -> None:
        """It is nowhere else, and errors do not repeat it."""
        provider = Ollama(base_url="https://ollama.com", api_key=KEY)

        assert signed(provider) == {"authorization": f"Bearer {KEY}"}
        assert KEY not in repr(provider) + repr(provider.codec)
        assert KEY not in repr(Ollama(base_url=f"https://host?key={KEY}").codec)
        assert KEY not in str(provider.codec.error(HttpReply(401, {}, f"bad {KEY}".encode())))


class TestSettings:
    def test_what_works_with_ollama_s_own_client_works_here(self) -> None:
        """Host and key have its variables."""
        settings = settings_from(OLLAMA_HOST="box:8080", OLLAMA_API_KEY=KEY)
        provider = Ollama(settings=settings, api_key=settings.api_key)

        assert provider.endpoint == Endpoint("box", local=False)
        assert signed(provider) == {"authorization": f"Bearer {KEY}"}

    def test_a_wrong_name_is_refused(self) -> None:
        """In code too."""
        with pytest.raises(TypeError):
            Ollama(host="box")
        with pytest.raises(ConfigurationError, match="host"):
            settings_from({"host": "box"})


class TestPlugin:
    def test_a_host_finds_the_provider(self) -> None:
        """The hook gives one provider, named as the entry point is."""
        host = PluginHost({"ollama": nr_llm_ollama}, environ={"OLLAMA_HOST": "box"})

        [provider] = [found.provider for found in host.providers()]

        assert isinstance(provider, Ollama)
        assert isinstance(provider, HttpProvider)
        assert (provider.name, provider.endpoint.host) == ("ollama", "box")

    def test_a_further_server_has_a_name_of_its_own(self) -> None:
        """On errors too."""
        provider = nr_llm_ollama.nr_llm_make_provider("rack", OllamaSettings(base_url="box"))

        assert isinstance(provider, Ollama)
        assert (provider.name, provider.codec.provider) == ("rack", "rack")
        assert repr(provider) == "Ollama('rack', 'http://box:11434/api/chat')"

    def test_public_names_are_listed(self) -> None:
        """Each exists, in order."""
        assert sorted(nr_llm_ollama.__all__) == nr_llm_ollama.__all__
        assert all(hasattr(nr_llm_ollama, name) for name in nr_llm_ollama.__all__)


class TestModels:
    def test_only_the_server_knows_its_models(self) -> None:
        """Nothing is claimed but that a format and tools do not go together."""
        assert Ollama().describe("qwen3") == Model(provider="ollama", name="qwen3", structured_output="alone")

    @pytest.mark.parametrize(
        ("model", "elsewhere"),
        [("gpt-oss:120b-cloud", True), ("glm-4.6:cloud", True), ("qwen3", False), ("cloud-8b:8b", False)],
    )
    def test_a_model_in_the_cloud_is_not_on_this_machine(self, model: str, elsewhere: bool) -> None:
        """A server of one's own passes such conversations on; their names tell."""
        assert Ollama().describe(model).elsewhere is elsewhere

    def test_the_list_is_asked_for_beside_the_chat(self) -> None:
        """With the query of the address."""
        assert isinstance(CODEC, ModelLister)
        assert CODEC.list_models().url == "http://host/api/tags"
        assert Ollama(base_url="https://box/x?y=1").codec.list_models().url == "https://box/x/api/tags?y=1"

    def test_a_row_says_how_big_a_model_is(self) -> None:
        """As far as it does; rows without a name are none."""
        known = {"parameter_size": "8.2B", "quantization_level": "Q4_K_M", "family": "qwen3"}
        rows = [{"name": "a", "size": 5_200_000_000, "details": known}, {"name": "b", "size": True}, {}, 5]

        page = CODEC.decode_models(HttpReply(200, {}, json.dumps({"models": rows}).encode()))

        told = {"size": "5.2 GB", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"}
        assert [(model.name, model.details) for model in page.models] == [("a", told), ("b", {})]
        assert page.next is None

    def test_what_is_no_list_is_an_error(self) -> None:
        """And a failure is the failure it says it is."""
        with pytest.raises(MalformedReplyError, match="holds no models"):
            CODEC.decode_models(HttpReply(200, {}, b"{}"))
        with pytest.raises(ServiceError, match="No"):
            CODEC.decode_models(HttpReply(200, {}, b'{"error": "No"}'))
