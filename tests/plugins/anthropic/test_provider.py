"""The provider knows its address, signs with its key, and says what its models can."""

from __future__ import annotations

import json
from typing import Any

import nr_llm_anthropic
import pytest
from nr_llm._host import PluginHost
from nr_llm.errors import ConfigurationError, MalformedReplyError, MissingCredentialError, ServiceError
from nr_llm.providers import Endpoint, HttpProvider, HttpReply, HttpRequest, Model, ModelLister
from nr_llm.secrets import Secret
from nr_llm.settings import load_settings
from nr_llm_anthropic import Anthropic, AnthropicSettings

from tests.plugins.anthropic.replies import CODEC, asked

KEY = "sk-ant-test-0123456789"
LOCAL = "http://localhost:8000"


def signed(provider: Anthropic) -> dict[str, str]:
    """Return the headers of a request as it would leave."""
    auth = provider.transport.auth
    assert auth is not None
    request: HttpRequest = auth(HttpRequest("POST", provider.codec.url, headers=(), body=b"x", stream=True))
    return dict(request.headers)


def settings_from(values: dict[str, Any] | None = None, **environ: str) -> AnthropicSettings:
    """Return the settings that a host reads."""
    return load_settings(AnthropicSettings, plugin="anthropic", values=values or {}, environ=environ)


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (None, "https://api.anthropic.com/v1/messages"),
        (LOCAL, f"{LOCAL}/v1/messages"),
        (f" {LOCAL}/ ", f"{LOCAL}/v1/messages"),
        (f"{LOCAL}/v1", f"{LOCAL}/v1/messages"),
        (f"{LOCAL}/v1/messages", f"{LOCAL}/v1/messages"),
        (f"{LOCAL}/gate/anthropic", f"{LOCAL}/gate/anthropic/v1/messages"),
        ("https://host?x=1", "https://host/v1/messages?x=1"),
        ("https://host/v1?x=1", "https://host/v1/messages?x=1"),
    ],
)
def test_requests_go_to_the_base_url_s_messages(base_url: str | None, url: str) -> None:
    """However the base URL was copied."""
    assert Anthropic(base_url=base_url).codec.url == url


@pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://host", "https://"])
def test_an_address_that_is_none_is_refused_at_once(base_url: str) -> None:
    """Not at the first request."""
    with pytest.raises(ConfigurationError, match="no address of a service"):
        Anthropic(base_url=base_url)


def test_the_endpoint_says_whether_data_leaves() -> None:
    """Only this machine is local."""
    assert Anthropic().endpoint == Endpoint("api.anthropic.com", local=False)
    assert Anthropic(base_url=LOCAL).endpoint == Endpoint("localhost", local=True)


class TestKey:
    def test_the_key_has_the_service_s_own_header(self) -> None:
        """It is added when a request leaves, and is nowhere else."""
        provider = Anthropic(api_key=KEY)
        sent = provider.codec.encode(asked())

        assert signed(provider) == {"x-api-key": KEY}
        assert KEY not in repr(provider) + repr(provider.codec) + repr(provider.transport) + str(sent.headers)
        assert KEY not in repr(Anthropic(base_url=f"https://host?key={KEY}").codec)
        assert KEY.encode() not in sent.body

    def test_the_service_needs_one_and_other_servers_do_not(self) -> None:
        """The error names the variables."""
        with pytest.raises(MissingCredentialError, match="NR_LLM_ANTHROPIC_API_KEY or ANTHROPIC_API_KEY"):
            signed(Anthropic())
        assert signed(Anthropic(base_url=LOCAL)) == {}

    def test_errors_do_not_repeat_it(self) -> None:
        """A service that quotes it is masked."""
        provider = Anthropic(api_key=Secret(KEY))

        assert KEY not in str(provider.codec.error(HttpReply(401, {}, f"bad key {KEY}".encode())))


class TestSettings:
    def test_what_works_with_anthropic_s_own_client_works_here(self) -> None:
        """Key and address have the vendor's variables."""
        settings = settings_from(ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=LOCAL)

        assert signed(Anthropic(settings=settings)) == {"x-api-key": KEY}
        assert Anthropic(settings=settings).endpoint.local

    def test_version_and_betas_are_headers(self) -> None:
        """Beside one's own."""
        provider = Anthropic(version="2024-01-01", betas=("a", "b"), headers={"x-team": "blue"})

        assert provider.codec.encode(asked()).headers == (
            ("content-type", "application/json"),
            ("anthropic-version", "2024-01-01"),
            ("x-team", "blue"),
            ("anthropic-beta", "a,b"),
        )
        assert dict(Anthropic().codec.headers) == {"anthropic-version": "2023-06-01"}

    def test_a_wrong_name_is_refused(self) -> None:
        """In code too."""
        with pytest.raises(TypeError):
            Anthropic(base_uri=LOCAL)
        with pytest.raises(ConfigurationError, match="base_uri"):
            settings_from({"base_uri": LOCAL})


class TestPlugin:
    def test_a_host_finds_the_provider(self) -> None:
        """The hook gives one provider, named as the entry point is."""
        host = PluginHost({"anthropic": nr_llm_anthropic}, environ={"ANTHROPIC_API_KEY": KEY})

        [provider] = [found.provider for found in host.providers()]

        assert isinstance(provider, Anthropic)
        assert isinstance(provider, HttpProvider)
        assert provider.name == "anthropic"

    def test_a_further_service_has_a_name_of_its_own(self) -> None:
        """On errors too."""
        provider = nr_llm_anthropic.nr_llm_make_provider("gate", AnthropicSettings(base_url=LOCAL))

        assert isinstance(provider, Anthropic)
        assert (provider.name, provider.codec.provider) == ("gate", "gate")
        assert repr(provider) == f"Anthropic('gate', '{LOCAL}/v1/messages')"

    def test_public_names_are_listed(self) -> None:
        """Each exists, in order."""
        assert sorted(nr_llm_anthropic.__all__) == nr_llm_anthropic.__all__
        assert all(hasattr(nr_llm_anthropic, name) for name in nr_llm_anthropic.__all__)


class TestModels:
    @pytest.mark.parametrize(
        ("model", "longest", "output"),
        [
            ("claude-3-haiku-20240307", 4_096, "none"),
            ("claude-3-5-haiku-latest", 8_192, "none"),
            ("claude-3-7-sonnet-20250219", 64_000, "none"),
            ("claude-opus-4-20250514", 32_000, "none"),
            ("claude-sonnet-4-0", 64_000, "none"),
            ("claude-opus-4-1-20250805", 32_000, "closed"),
            ("claude-haiku-4-5-20251001", 64_000, "closed"),
            ("claude-opus-4-6", 64_000, "closed"),
            ("claude-fable-5", 64_000, "closed"),
        ],
    )
    def test_families_are_told_by_their_names(self, model: str, longest: int, output: str) -> None:
        """All of them read images, PDF files and plain text."""
        described = Anthropic().describe(model)

        assert (described.context, described.max_output, described.structured_output) == (200_000, longest, output)
        assert described.attachments == ("image/", "application/pdf", "text/plain")

    def test_of_others_nothing_is_claimed(self) -> None:
        """A gateway may offer anything."""
        assert Anthropic().describe("own") == Model(provider="anthropic", name="own")

    def test_the_list_is_asked_for_page_by_page(self) -> None:
        """Beside the messages, with the query of the address."""
        codec = Anthropic(base_url="https://host?x=1").codec

        assert isinstance(codec, ModelLister)
        assert codec.list_models().url == "https://host/v1/models?limit=100&x=1"
        assert CODEC.list_models("a b&c").url == "http://host/v1/models?limit=100&after_id=a%20b%26c"
        assert codec.list_models().method == "GET"

    @pytest.mark.parametrize(("more", "following"), [(True, "b"), (False, None), (None, None)])
    def test_a_page_says_whether_another_one_follows(self, more: Any, following: str | None) -> None:
        """By the last id; rows without one are none."""
        rows = [{"id": "a", "display_name": "A"}, {"id": ""}, 5, {"id": "b"}]
        body = json.dumps({"data": rows, "has_more": more, "last_id": "b"}).encode()

        page = CODEC.decode_models(HttpReply(200, {}, body))

        assert [(model.name, model.details) for model in page.models] == [("a", {"name": "A"}), ("b", {"name": ""})]
        assert page.next == following

    def test_what_is_no_list_is_an_error(self) -> None:
        """And a failure is the failure it says it is."""
        with pytest.raises(MalformedReplyError, match="holds no models"):
            CODEC.decode_models(HttpReply(200, {}, b"{}"))
        with pytest.raises(ServiceError, match="Overloaded"):
            CODEC.decode_models(HttpReply(200, {}, b'{"type": "error", "error": {"message": "Overloaded"}}'))
