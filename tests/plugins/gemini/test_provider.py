"""The provider knows its address, signs with its key, and says what is missing before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import nr_llm_gemini
import pytest
from nr_llm._host import PluginHost
from nr_llm.errors import ConfigurationError, MissingCredentialError
from nr_llm.providers import Endpoint, HttpProvider, HttpReply, HttpRequest, ModelLister
from nr_llm.secrets import Secret
from nr_llm.settings import load_settings
from nr_llm_gemini import Gemini, GeminiSettings

from tests.plugins.gemini.replies import asked

KEY = "AIza-test-0123456789"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models"
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google"


def signed(provider: Gemini, *headers: tuple[str, str]) -> dict[str, str]:
    """Return the headers of a request as it would leave."""
    auth = provider.transport.auth
    assert auth is not None
    request: HttpRequest = auth(HttpRequest("POST", provider.codec.url, headers=headers, body=b"x", stream=True))
    assert (request.url, request.body, request.stream) == (provider.codec.url, b"x", True)
    return dict(request.headers)


def settings_from(values: dict[str, Any] | None = None, **environ: str) -> GeminiSettings:
    """Return the settings that a host reads."""
    return load_settings(GeminiSettings, plugin="gemini", values=values or {}, environ=environ)


class TestAddress:
    @pytest.mark.parametrize(
        ("base_url", "url"),
        [
            (None, GOOGLE),
            ("https://generativelanguage.googleapis.com/", GOOGLE),
            ("https://generativelanguage.googleapis.com/v1beta", GOOGLE),
            (GOOGLE, GOOGLE),
            (" http://localhost:8000 ", "http://localhost:8000/v1beta/models"),
            ("http://host/gateway/v1?team=1", "http://host/gateway/v1/models?team=1"),
            (VERTEX, f"{VERTEX}/models"),
        ],
    )
    def test_requests_go_to_the_base_url_s_models(self, base_url: str | None, url: str) -> None:
        """However the base URL was copied; a bare host has the common version."""
        assert Gemini(base_url=base_url).codec.url == url

    @pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://host/v1", "https://", "http://[::1/v1"])
    def test_an_address_that_is_none_is_refused_at_once(self, base_url: str) -> None:
        """Not at the first request."""
        with pytest.raises(ConfigurationError, match="no address of a service"):
            Gemini(base_url=base_url)

    def test_the_endpoint_says_whether_data_leaves(self) -> None:
        """Only this machine is local."""
        assert Gemini().endpoint == Endpoint("generativelanguage.googleapis.com", local=False)
        assert Gemini(base_url="http://localhost:1").endpoint == Endpoint("localhost", local=True)


class TestKey:
    def test_the_key_has_a_header_of_its_own(self) -> None:
        """It is added when a request leaves, and is nowhere else, least of all in the address."""
        provider = Gemini(api_key=KEY)

        assert signed(provider, ("x", "y")) == {"x": "y", "x-goog-api-key": KEY}
        assert KEY not in repr(provider) + repr(provider.codec) + repr(provider.transport)
        assert KEY not in repr(Gemini(base_url=f"https://host?key={KEY}").codec)
        request = provider.codec.encode(asked(stream=True))
        assert KEY not in request.url + str(request.headers) + str(request.body)
        assert KEY not in provider.codec.list_models().url

    def test_google_needs_a_key(self) -> None:
        """The error names the variables; describing a model needs none."""
        provider = Gemini()

        assert provider.describe("gemini-2.5-pro").context == 1_048_576
        with pytest.raises(MissingCredentialError, match="NR_LLM_GEMINI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY"):
            signed(provider)

    def test_other_addresses_need_none(self) -> None:
        """Without a key nothing is added; a gateway's own header goes before it."""
        assert signed(Gemini(base_url="http://localhost:1")) == {}
        own = Gemini(api_key=KEY, headers={"X-Goog-Api-Key": "other"})
        assert signed(own, *own.codec.headers) == {"X-Goog-Api-Key": "other"}

    def test_a_token_in_place_of_a_key(self) -> None:
        """Vertex AI takes short-lived ones, which a callable brings."""

        def bearer(request: HttpRequest) -> HttpRequest:
            return attrs.evolve(request, headers=(*request.headers, ("authorization", "Bearer t")))

        provider = Gemini("vertex", base_url=VERTEX, auth=bearer)

        assert signed(provider) == {"authorization": "Bearer t"}
        assert provider.codec.encode(asked()).url == f"{VERTEX}/models/gemini-2.5-flash:generateContent"

    @pytest.mark.parametrize("key", ["  ", "a\nb", "k…"])
    def test_a_key_that_cannot_be_one_is_refused_at_once(self, key: str) -> None:
        """The error names the variables, not the key."""
        with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
            Gemini(api_key=key)

    def test_errors_repeat_neither_key_nor_secret_header(self) -> None:
        """A service that quotes them is masked."""
        provider = Gemini(api_key=Secret(KEY), headers={"x-gateway-key": "gw-secret-1"})

        error = provider.codec.error(HttpReply(401, {}, f"bad key {KEY} or gw-secret-1".encode()))

        assert KEY not in str(error) + error.body
        assert "gw-secret-1" not in str(error) + error.body


class TestSettings:
    def test_nothing_need_be_set(self) -> None:
        """Defaults stand."""
        assert settings_from() == GeminiSettings()

    def test_the_key_has_variables_of_ours_and_of_the_vendor(self, tmp_path: Path) -> None:
        """Ours goes first, then the vendor's newer one; each may name a file."""
        file = tmp_path / "key"
        file.write_text("from-file\n", encoding="utf-8")

        assert settings_from(GOOGLE_API_KEY="a").api_key == Secret("a")
        assert settings_from(GOOGLE_API_KEY="a", GEMINI_API_KEY="b").api_key == Secret("b")
        assert settings_from(GEMINI_API_KEY="b", NR_LLM_GEMINI_API_KEY="c").api_key == Secret("c")
        named = settings_from(GEMINI_API_KEY_FILE=str(file))
        assert signed(Gemini(settings=named))["x-goog-api-key"] == "from-file"

    def test_the_address_has_the_vendor_s_variable(self) -> None:
        """What works with Google's own client works here."""
        settings = settings_from({"read_seconds": 30.0}, GOOGLE_GEMINI_BASE_URL="http://localhost:1")

        assert Gemini(settings=settings).endpoint.local
        assert Gemini(settings=settings).transport.read_seconds == 30.0

    def test_a_wrong_name_is_refused(self) -> None:
        """In code too."""
        with pytest.raises(TypeError):
            Gemini(base_uri="http://host")
        with pytest.raises(ConfigurationError, match="base_uri"):
            settings_from({"base_uri": "http://host"})


class TestPlugin:
    def test_a_host_finds_the_provider(self) -> None:
        """The hook gives one provider, named as the entry point is, which lists its models."""
        host = PluginHost({"gemini": nr_llm_gemini}, environ={"GOOGLE_API_KEY": KEY})

        [provider] = [found.provider for found in host.providers()]

        assert isinstance(provider, Gemini)
        assert isinstance(provider, HttpProvider)
        assert isinstance(provider.codec, ModelLister)
        assert provider.name == "gemini"
        assert signed(provider)["x-goog-api-key"] == KEY

    def test_further_services_are_made_by_settings(self) -> None:
        """Each with a name of its own."""
        made = nr_llm_gemini.nr_llm_make_provider("second", GeminiSettings(base_url="http://host"))

        assert (made.name, repr(made)) == ("second", "Gemini('second', 'http://host/v1beta/models')")

    def test_names_of_one_s_own(self) -> None:
        """A second service in code has a name of its own, on errors too."""
        provider = Gemini("mine", base_url="http://host/v1")

        assert (provider.name, provider.codec.provider) == ("mine", "mine")
        assert str(provider.codec.error(HttpReply(500, {}, b"no"))).startswith("mine: ")
        assert repr(provider) == "Gemini('mine', 'http://host/v1/models')"

    def test_public_names_are_listed(self) -> None:
        """Each exists, once, in order."""
        assert sorted(set(nr_llm_gemini.__all__)) == nr_llm_gemini.__all__
        assert all(hasattr(nr_llm_gemini, name) for name in nr_llm_gemini.__all__)


@pytest.mark.parametrize(
    ("model", "context", "longest", "form"),
    [
        ("gemini-3-pro-preview", 1_048_576, 65_536, "native"),
        ("models/gemini-3.5-flash", 1_048_576, 65_536, "native"),
        ("gemini-2.5-flash-lite", 1_048_576, 65_536, "alone"),
        ("gemini-2.0-flash-001", 1_048_576, 8_192, "alone"),
        ("gemini-1.5-pro", 2_097_152, 8_192, "alone"),
        ("gemini-1.5-flash", 1_048_576, 8_192, "alone"),
    ],
)
def test_the_windows_of_known_models(model: str, context: int, longest: int, form: str) -> None:
    """Families are told by their names."""
    described = Gemini().describe(model)

    assert (described.provider, described.name) == ("gemini", model)
    assert (described.context, described.max_output, described.structured_output) == (context, longest, form)
    assert {"image/", "application/pdf", "audio/", "video/"} <= set(described.attachments or ())


def test_of_other_models_nothing_is_claimed() -> None:
    """They may be tuned, or new."""
    described = Gemini().describe("unheard-of")

    assert (described.context, described.attachments, described.structured_output) == (None, None, None)
