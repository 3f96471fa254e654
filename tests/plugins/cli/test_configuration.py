"""The configuration file on the command line: services, aliases, a default model, lists of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import nr_llm.http
import pytest
from nr_llm import Limits
from nr_llm_cli.asking import Asked

from tests.plugins.cli.installed import install, on_path
from tests.plugins.cli.shell import invoke, last_error

FORM = """
from nr_llm import Model, Secret
from nr_llm._json import decode
from nr_llm.codecs.access import ServiceSettings
from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Endpoint, HttpRequest, ModelPage, TransportOptions
from nr_llm.testing import ScriptedProvider
import attrs


@attrs.frozen(kw_only=True)
class Settings(ServiceSettings):
    api_key: Secret | None = None


class Lister:
    provider = "cli_form"

    def list_models(self, page=None):
        return HttpRequest("GET", "http://listing.test/models")

    def decode_models(self, reply):
        return ModelPage(tuple(Model(provider="far", name=name) for name in decode(reply.body)))

    def error(self, reply):
        raise NotImplementedError


class Far:
    codec = Lister()
    transport = TransportOptions()
    endpoint = Endpoint("listing.test")

    def __init__(self, name):
        self.name = name

    def describe(self, model):
        return Model(provider=self.name, name=model)


class Near(ScriptedProvider):
    def models(self):
        return [Model(provider=self.name, name="tiny", context=5)]


@hookimpl
def nr_llm_make_provider(name: str, settings: Settings):
    return Far(name) if name == "far" else Near("It is " + name + ".", name=name)
"""

FILE = """
default_model = "quick"

[providers.near]
plugin = "cli_form"

[providers.far]
plugin = "cli_form"

[models.quick]
provider = "near"
id = "tiny"
context = 4096

[models.large]
provider = "far"
id = "large"

[models.gone]
provider = "far"
id = "gone"
max_tools = 3
"""


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what runs a command with a configuration file and a plugin that makes providers."""
    name = install(on_path(tmp_path, monkeypatch), "nr_llm_cli_form", FORM)

    def used(*arguments: str, text: str = FILE, env: dict[str, str] | None = None) -> Any:
        path = tmp_path / "nr-llm.toml"
        path.write_text(text, encoding="utf-8")
        return invoke(*arguments, env={"NR_LLM_PLUGINS": name, "NR_LLM_CONFIG": str(path), **(env or {})})

    return used


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a list of models come from no network."""
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=["large", "other"])))
    send = nr_llm.http.HttpTransport.send
    monkeypatch.setattr(
        nr_llm.http.HttpTransport,
        "send",
        lambda self, request: send(nr_llm.http.HttpTransport(client=client), request),
    )


def test_the_default_model_is_asked(use: Any) -> None:
    """Without -m the file's default answers; the header says who and where."""
    result = use("run", "hi")

    assert result.stdout == "It is near.\n"
    assert result.stderr.startswith("Model near:")
    assert "stays on this machine" in result.stderr


def test_an_alias_is_a_name(use: Any) -> None:
    """-m and NR_LLM_MODEL take an alias, and go before the default."""
    text = FILE.replace('"quick"', '"large"')

    assert use("run", "hi", "-m", "quick", text=text).stdout == "It is near.\n"
    assert use("run", "hi", text=text, env={"NR_LLM_MODEL": "quick"}).stdout == "It is near.\n"
    assert use("chat", "-m", "quick").exit_code == 0
    assert use("run", "hi", "-m", "quick", "--pull").stdout == "It is near.\n"


def test_a_name_that_is_nobodys(use: Any) -> None:
    """Aliases are among the suggestions, also where the file itself has the wrong name."""
    named = use("run", "hi", "-m", "quik")
    default = use("run", "hi", text=FILE.replace('default_model = "quick"', 'default_model = "quik"'))

    assert (named.exit_code, default.exit_code) == (3, 3)
    assert "Did you mean 'quick'?" in named.stderr
    assert "Did you mean 'quick'?" in default.stderr


def test_a_limit_is_given_alone() -> None:
    """What the command line does not say is left to the row of the model."""
    assert Asked(max_rounds=9).settings()["limits"] == Limits(rounds=9)
    assert Asked().settings()["limits"] is None


def test_models_without_asking(use: Any) -> None:
    """Aliases and what providers know by themselves; the service is left alone."""
    rows = json.loads(use("models", "list", "--json").stdout)

    assert [(row["model"], row["alias"], row["context"]) for row in rows] == [
        ("near:tiny", ["quick"], 4096),
        ("far:large", ["large"], None),
        ("far:gone", ["gone"], None),
    ]
    assert rows[2]["max_tools"] == 3


def test_models_of_a_service(use: Any, service: None) -> None:
    """The service is asked; aliases stand beside its models, and one it does not list is said to be so."""
    rows = json.loads(use("models", "list", "--provider", "far", "--json").stdout)
    table = use("models", "list", "--provider", "far").stdout

    assert [(row["model"], row["alias"]) for row in rows] == [
        ("far:large", ["large"]),
        ("far:other", []),
        ("far:gone", ["gone"]),
    ]
    assert rows[2]["details"] == ["note: not in the service's list"]
    assert table.splitlines()[0].split() == ["model", "alias", "context", "details"]


def test_models_of_a_provider_that_answers_by_itself(use: Any) -> None:
    """It lists what it declares."""
    rows = json.loads(use("models", "list", "--provider", "near", "--json").stdout)

    assert [row["model"] for row in rows] == ["near:tiny"]


def test_an_alias_that_cannot_be_used_hides_no_other(use: Any) -> None:
    """It is told on stderr."""
    text = FILE.replace('provider = "far"\nid = "gone"', 'provider = "fra"\nid = "gone"')
    result = use("models", "list", text=text)

    assert "far:large" in result.stdout
    assert "The model 'gone' cannot be used: " in result.stderr


def test_providers_have_their_source(use: Any, tmp_path: Path) -> None:
    """A list says which file describes a provider; a table with a fault is told on stderr."""
    text = FILE + '[providers.bad]\nplugin = "cli_form"\nbase_ulr = "x"\n'
    result = use("providers", "list", "--json", text=text)
    rows = {row["name"]: row for row in json.loads(result.stdout)}

    assert rows["far"]["source"] == str(tmp_path / "nr-llm.toml")
    assert rows["far"]["endpoint"] == "listing.test"
    assert "Provider 'bad' cannot be used." in result.stderr
    assert "Did you mean 'base_url'?" in result.stderr
    assert "bad" not in rows


def test_the_doctor_examines_the_file(use: Any) -> None:
    """A fault in the file is a problem with what, why and a fix."""
    result = use("plugins", "doctor", text=FILE.replace('provider = "near"', 'provider = "naer"'))

    assert result.exit_code == 8
    assert "✗ The model 'quick' cannot be used.\n" in result.stdout
    assert "Did you mean 'near'?" in result.stdout


def test_a_key_in_the_file_is_refused_and_not_shown(use: Any) -> None:
    """The error says what to write instead."""
    text = FILE.replace("[providers.near]\n", '[providers.near]\napi_key = "sk-tiger-7"\n')
    result = use("run", "hi", "--json", text=text)

    assert last_error(result.stderr)["code"] == "configuration"
    assert "api_key_env" in last_error(result.stderr)["hint"]
    assert "tiger" not in result.output


def test_a_missing_key_is_said_before_anything_is_sent(use: Any) -> None:
    """The variables that may hold it are named; set, the provider answers."""
    text = FILE.replace("[providers.near]\n", '[providers.near]\napi_key_env = "NEAR_KEY"\n')

    assert "Set NR_LLM_NEAR_API_KEY or NEAR_KEY." in use("run", "hi", text=text).stderr
    assert use("run", "hi", text=text, env={"NEAR_KEY": "k"}).stdout == "It is near.\n"
