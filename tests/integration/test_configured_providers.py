"""Each plugin that speaks a service's form makes further providers from tables, and each key stays where it belongs."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from nr_llm import ChatMessage, CompletionRequest, MissingCredentialError, PluginHost, read_config
from nr_llm.providers import HttpProvider, HttpRequest

PLUGINS = ("anthropic", "gemini", "ollama", "openai")
VENDORS = {
    "OPENAI_API_KEY": "key-of-openai",
    "ANTHROPIC_API_KEY": "key-of-anthropic",
    "GEMINI_API_KEY": "key-of-gemini",
    "GOOGLE_API_KEY": "key-of-google",
    "OLLAMA_API_KEY": "key-of-ollama",
    "GROQ_API_KEY": "key-of-groq",
    "OPENAI_BASE_URL": "http://elsewhere.test/v1",
    "OLLAMA_HOST": "elsewhere.test",
}


def provider(folder: Path, table: str, **environ: str) -> HttpProvider:
    """Return the provider that a file with one table describes, beside keys of all vendors."""
    path = folder / "nr-llm.toml"
    path.write_text(f"[providers.mine]\n{table}\n", encoding="utf-8")
    plugins = {name: importlib.import_module(f"nr_llm_{name}") for name in PLUGINS}
    host = PluginHost(plugins, config=read_config(path, trusted=True), environ={**VENDORS, **environ})
    found = host.provider("mine").provider
    assert isinstance(found, HttpProvider)
    return found


def leaving(found: HttpProvider) -> HttpRequest:
    """Return a request as it leaves, with whatever lets it in."""
    request = found.codec.encode(CompletionRequest(model="m", messages=(ChatMessage.user("hi"),), run_id="r"))
    return found.transport.auth(request) if found.transport.auth else request


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_table_is_enough(plugin: str, tmp_path: Path) -> None:
    """The service is where the table says, with the key the table names; messages and errors bear its name."""
    table = f'plugin = "{plugin}"\nbase_url = "http://gpu.test:8000"\napi_key_env = "MY_KEY"'
    found = provider(tmp_path, table, MY_KEY="key-of-mine")
    request = leaving(found)

    assert (found.name, found.codec.provider, found.endpoint.host) == ("mine", "mine", "gpu.test")
    assert request.url.startswith("http://gpu.test:8000/")
    assert any("key-of-mine" in value for _, value in request.headers)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_no_vendors_key_leaves(plugin: str, tmp_path: Path) -> None:
    """Keys and addresses of vendors in the environment are none of a further service's."""
    request = leaving(provider(tmp_path, f'plugin = "{plugin}"\nbase_url = "http://gpu.test:8000"'))

    assert "elsewhere" not in request.url
    assert not any("key-of" in value for _, value in request.headers)


@pytest.mark.parametrize("plugin", ["anthropic", "gemini", "openai"])
def test_a_missing_key_names_the_services_own_variable(plugin: str, tmp_path: Path) -> None:
    """At the vendor's own address a key is needed, and the error names a variable that is read."""
    with pytest.raises(MissingCredentialError) as caught:
        leaving(provider(tmp_path, f'plugin = "{plugin}"'))

    assert (caught.value.provider, caught.value.variables) == ("mine", ("NR_LLM_MINE_API_KEY",))
    assert leaving(provider(tmp_path, f'plugin = "{plugin}"', NR_LLM_MINE_API_KEY="key-of-mine"))


def test_a_service_chosen_by_name_has_its_vendors_variable(tmp_path: Path) -> None:
    """A dialect's key is read from the variable its vendor gave it, and goes to that vendor alone."""
    groq = leaving(provider(tmp_path, 'plugin = "openai"\ndialect = "groq"'))
    elsewhere = leaving(provider(tmp_path, 'plugin = "openai"\ndialect = "groq"\nbase_url = "http://gpu.test/v1"'))
    openai = leaving(provider(tmp_path, 'plugin = "openai"\ndialect = "openai"\nbase_url = "http://gpu.test/v1"'))

    assert ("authorization", "Bearer key-of-groq") in groq.headers
    assert "groq" in groq.url
    assert not any("key-of" in value for request in (elsewhere, openai) for _, value in request.headers)
