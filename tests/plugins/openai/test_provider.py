"""The provider knows its address, signs with its key, and says what is missing before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import nr_llm_openai
import pytest
from nr_llm._host import PluginHost
from nr_llm.errors import ConfigurationError, MissingCredentialError, UnknownNameError
from nr_llm.providers import Endpoint, HttpProvider, HttpReply, HttpRequest
from nr_llm.secrets import Secret
from nr_llm.settings import load_settings
from nr_llm_openai import COMPATIBLE, OPENAI, OpenAI, OpenAISettings

from tests.plugins.openai.replies import asked

KEY = "sk-test-0123456789"
LOCAL = "http://localhost:8000/v1"


def signed(provider: OpenAI, *headers: tuple[str, str]) -> dict[str, str]:
    """Return the headers of a request as it would leave."""
    auth = provider.transport.auth
    assert auth is not None
    request: HttpRequest = auth(HttpRequest("POST", provider.codec.url, headers=headers, body=b"x", stream=True))
    assert (request.url, request.body, request.stream) == (provider.codec.url, b"x", True)
    return dict(request.headers)


def settings_from(values: dict[str, Any] | None = None, **environ: str) -> OpenAISettings:
    """Return the settings that a host reads."""
    return load_settings(OpenAISettings, plugin="openai", values=values or {}, environ=environ)


class TestAddress:
    @pytest.mark.parametrize(
        ("base_url", "url"),
        [
            (None, "https://api.openai.com/v1/chat/completions"),
            (LOCAL, "http://localhost:8000/v1/chat/completions"),
            (LOCAL + "/", "http://localhost:8000/v1/chat/completions"),
            (LOCAL + "/chat/completions", "http://localhost:8000/v1/chat/completions"),
            (" http://host ", "http://host/chat/completions"),
            ("https://host/v1?api-version=2", "https://host/v1/chat/completions?api-version=2"),
        ],
    )
    def test_requests_go_to_the_base_url_s_chat_completions(self, base_url: str | None, url: str) -> None:
        """However the base URL was copied."""
        assert OpenAI(base_url=base_url).codec.url == url

    @pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://host/v1", "https://", "http://[::1/v1"])
    def test_an_address_that_is_none_is_refused_at_once(self, base_url: str) -> None:
        """Not at the first request."""
        for dialect in (None, "azure"):
            with pytest.raises(ConfigurationError, match="no address of a service"):
                OpenAI(base_url=base_url, dialect=dialect)

    @pytest.mark.parametrize(
        ("base_url", "endpoint"),
        [
            (None, Endpoint("api.openai.com", local=False)),
            (LOCAL, Endpoint("localhost", local=True)),
            ("http://192.168.1.5:8000/v1", Endpoint("192.168.1.5", local=False)),
        ],
    )
    def test_the_endpoint_says_whether_data_leaves(self, base_url: str | None, endpoint: Endpoint) -> None:
        """Only this machine is local."""
        assert OpenAI(base_url=base_url).endpoint == endpoint

    def test_the_ways_of_the_service_are_told_from_its_address(self) -> None:
        """OpenAI's host speaks OpenAI's dialect, any other one the common form, unless told otherwise."""
        own = attrs.evolve(COMPATIBLE, name="own")

        assert OpenAI().codec.dialect is OPENAI
        assert OpenAI(base_url="https://api.openai.com/v1").codec.dialect is OPENAI
        assert OpenAI(base_url=LOCAL).codec.dialect is COMPATIBLE
        assert OpenAI(base_url=LOCAL, settings=OpenAISettings(dialect="openai")).codec.dialect is OPENAI
        assert OpenAI(base_url=LOCAL, dialect=own).codec.dialect is own
        assert OpenAI(base_url=LOCAL, call_content="empty").codec.dialect == attrs.evolve(
            COMPATIBLE, call_content="empty"
        )

    def test_an_unknown_dialect_is_named_with_the_known_ones(self) -> None:
        """A slip of the pen has a suggestion."""
        with pytest.raises(UnknownNameError, match="'compatible'"):
            OpenAI(settings=OpenAISettings(dialect="compatable"))


class TestKey:
    def test_the_key_is_a_bearer_token(self) -> None:
        """It is added when a request leaves, and is nowhere else."""
        provider = OpenAI(api_key=KEY)

        assert signed(provider, ("x", "y")) == {"x": "y", "authorization": f"Bearer {KEY}"}
        assert KEY not in repr(provider) + repr(provider.codec) + repr(provider.transport)
        for api in ("chat", "responses"):
            assert KEY not in repr(OpenAI(base_url=f"{LOCAL}?key={KEY}", api=api).codec)
        assert KEY.encode() not in provider.codec.encode(asked()).body
        assert KEY not in str(provider.codec.encode(asked()).headers)

    def test_openai_needs_a_key(self) -> None:
        """The error names the variables; listing and describing the provider need none."""
        provider = OpenAI()

        assert provider.describe("gpt-4o").context == 128_000
        with pytest.raises(MissingCredentialError, match="NR_LLM_OPENAI_API_KEY or OPENAI_API_KEY"):
            signed(provider)

    def test_other_servers_need_none(self) -> None:
        """Without a key nothing is added."""
        assert signed(OpenAI(base_url=LOCAL)) == {}

    def test_a_header_of_one_s_own_goes_before_the_key(self) -> None:
        """A gateway's authorization is not doubled."""
        provider = OpenAI(api_key=KEY, headers={"Authorization": "Basic abc"})

        assert signed(provider, *provider.codec.headers) == {"Authorization": "Basic abc"}

    @pytest.mark.parametrize("key", [f" {KEY}\n", f"{KEY}\r\n"])
    def test_blanks_around_a_key_are_taken_off(self, key: str) -> None:
        """Files end in line breaks."""
        assert signed(OpenAI(api_key=Secret(key)))["authorization"] == f"Bearer {KEY}"

    @pytest.mark.parametrize("key", ["  ", "sk-1\nsk-2", "sk-…", "sk-\x00"])
    def test_a_key_that_cannot_be_one_is_refused_at_once(self, key: str) -> None:
        """The error does not show it."""
        with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as caught:
            OpenAI(api_key=key)

        assert "sk-" not in str(caught.value)

    def test_errors_repeat_neither_key_nor_secret_header(self) -> None:
        """A service that quotes them is masked."""
        provider = OpenAI(api_key=KEY, headers={"x-gateway-key": "gw-secret-1", "x-team": "blue"})

        error = provider.codec.error(HttpReply(401, {}, f"bad key {KEY} or gw-secret-1 of team blue".encode()))

        assert KEY not in str(error) + error.body
        assert "gw-secret-1" not in str(error) + error.body
        assert "blue" in str(error)


class TestSettings:
    def test_nothing_need_be_set(self) -> None:
        """Defaults stand."""
        settings = settings_from()

        assert settings == OpenAISettings()
        assert (settings.connect_seconds, settings.read_seconds) == (10.0, 600.0)

    @pytest.mark.parametrize(
        ("values", "environ", "expected"),
        [
            ({"dialect": "groq"}, {}, None),
            ({"dialect": "groq"}, {"GROQ_API_KEY": "gsk-1"}, "gsk-1"),
            ({"base_url": "https://api.groq.com/openai/v1"}, {}, None),
            ({"base_url": "https://acme.openai.azure.com"}, {"AZURE_OPENAI_API_KEY": "az-1"}, "az-1"),
            ({"base_url": "https://api.mistral.ai/v1", "dialect": "openai"}, {}, None),
            ({"base_url": "https://api.openai.com/v1", "dialect": "groq"}, {"GROQ_API_KEY": "gsk-1"}, KEY),
            ({"base_url": "https://llm.acme.test/v1"}, {"GROQ_API_KEY": "gsk-1"}, KEY),
            ({}, {"OPENAI_BASE_URL": "https://api.groq.com/openai/v1"}, KEY),
            ({"dialect": "groq"}, {"NR_LLM_OPENAI_API_KEY": "own-1"}, "own-1"),
            ({"dialect": "gorq"}, {}, None),
        ],
    )
    def test_a_vendor_s_key_goes_to_that_vendor(
        self, values: dict[str, Any], environ: dict[str, str], expected: str | None
    ) -> None:
        """The address or the dialect tells whose key is read; who sets OpenAI's two variables pairs them."""
        settings = settings_from(values, OPENAI_API_KEY=KEY, **environ)

        assert settings.api_key == (Secret(expected) if expected else None)

    def test_the_key_has_variables_of_ours_and_of_the_vendor(self, tmp_path: Path) -> None:
        """Ours goes first; either may name a file."""
        file = tmp_path / "key"
        file.write_text(f"{KEY}-file\n", encoding="utf-8")

        assert settings_from(OPENAI_API_KEY=KEY).api_key == Secret(KEY)
        assert settings_from(OPENAI_API_KEY="sk-other", NR_LLM_OPENAI_API_KEY=KEY).api_key == Secret(KEY)
        from_file = settings_from(OPENAI_API_KEY_FILE=str(file))
        assert signed(OpenAI(settings=from_file))["authorization"] == f"Bearer {KEY}-file"

    def test_address_organization_and_project_have_the_vendor_s_variables(self) -> None:
        """What works with OpenAI's own client works here."""
        settings = settings_from(OPENAI_BASE_URL=LOCAL, OPENAI_ORG_ID="org-1", OPENAI_PROJECT_ID="proj-1")
        provider = OpenAI(settings=settings)

        assert provider.endpoint.local
        assert provider.codec.headers == (("openai-organization", "org-1"), ("openai-project", "proj-1"))

    def test_a_table_sets_the_rest(self, tmp_path: Path) -> None:
        """Limits, files, headers."""
        authority = tmp_path / "ca.pem"
        values = {
            "read_seconds": 30.0,
            "ca_file": str(authority),
            "headers": {"x-team": "blue"},
            "call_content": "empty",
        }

        provider = OpenAI(settings=settings_from(values))

        assert (provider.transport.read_seconds, provider.transport.ca_file) == (30.0, str(authority))
        assert provider.codec.headers == (("x-team", "blue"),)
        assert provider.codec.dialect.call_content == "empty"

    def test_a_wrong_name_is_refused(self) -> None:
        """In code too."""
        with pytest.raises(TypeError):
            OpenAI(base_uri=LOCAL)
        with pytest.raises(ConfigurationError, match="base_uri"):
            settings_from({"base_uri": LOCAL})


class TestPlugin:
    def test_a_host_finds_the_provider(self) -> None:
        """The hook gives one provider, named as the entry point is."""
        host = PluginHost({"openai": nr_llm_openai}, environ={"OPENAI_API_KEY": KEY, "NR_LLM_OPENAI_BASE_URL": LOCAL})

        [provider] = [found.provider for found in host.providers()]

        assert isinstance(provider, OpenAI)
        assert isinstance(provider, HttpProvider)
        assert (provider.name, provider.endpoint.host) == ("openai", "localhost")
        assert signed(provider)["authorization"] == f"Bearer {KEY}"

    def test_names_of_one_s_own(self) -> None:
        """A second service in code has a name of its own, on errors too."""
        provider = OpenAI("vllm", base_url=LOCAL)

        assert (provider.name, provider.codec.provider) == ("vllm", "vllm")
        assert str(provider.codec.error(HttpReply(500, {}, b"no"))).startswith("vllm: ")
        assert repr(provider) == "OpenAI('vllm', 'http://localhost:8000/v1/chat/completions', dialect='compatible')"

    def test_public_names_are_listed(self) -> None:
        """Each exists, once."""
        assert len(set(nr_llm_openai.__all__)) == len(nr_llm_openai.__all__)
        assert all(hasattr(nr_llm_openai, name) for name in nr_llm_openai.__all__)


@pytest.mark.parametrize(
    ("model", "context", "longest"),
    [
        ("gpt-4o-mini", 128_000, 16_384),
        ("gpt-4.1", 1_047_576, 32_768),
        ("gpt-5-nano", 400_000, 128_000),
        ("o3", 200_000, 100_000),
        ("gpt-4-turbo", 128_000, 4_096),
        ("gpt-4", 8_192, 8_192),
        ("gpt-3.5-turbo", 16_385, 4_096),
        ("unheard-of", None, None),
    ],
)
def test_the_windows_of_known_models(model: str, context: int | None, longest: int | None) -> None:
    """Families are told by their names; of others nothing is claimed."""
    described = OpenAI().describe(model)

    assert (described.provider, described.name) == ("openai", model)
    assert (described.context, described.max_output, described.max_tools) == (context, longest, 128)
    assert OpenAI(base_url=LOCAL).describe(model).context is None
