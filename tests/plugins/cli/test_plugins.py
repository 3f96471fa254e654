"""`nr-llm plugins`, `providers`, `models`: what is installed, without or with loading it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.cli.installed import install, on_path
from tests.plugins.cli.shell import invoke, last_error

TOOL = '''
from nr_llm import tool
from nr_llm.hookspecs import hookimpl


@tool
def hello() -> str:
    """Say hello."""
    return "hello"


@hookimpl
def nr_llm_tools():
    return [hello]
'''

MODELS = """
from nr_llm.hookspecs import hookimpl
from nr_llm.providers import Model
from nr_llm.testing import ScriptedProvider


class Listing(ScriptedProvider):
    def models(self):
        return [Model(provider=self.name, name="big", context=4096, notice="Slow.", details={"size": "1 GB"})]


@hookimpl
def nr_llm_providers():
    return [Listing(name="cli_models"), ScriptedProvider(name="cli_silent")]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for packages of this test."""
    return on_path(tmp_path, monkeypatch)


def only(*distributions: str) -> dict[str, str]:
    """Return an environment in which these packages alone may load."""
    return {"NR_LLM_PLUGINS": ",".join(distributions)}


def listed(*arguments: str, env: dict[str, str]) -> dict[str, dict[str, Any]]:
    rows = json.loads(invoke("plugins", "list", "--json", *arguments, env=env).stdout)
    return {row["name"]: row for row in rows}


@pytest.mark.lesson(9)
def test_a_list_runs_no_code(site: Path) -> None:
    """The list is read from metadata: a package that would raise is listed as it is."""
    name = install(site, "nr_llm_cli_bomb", "raise RuntimeError('ran')")
    row = listed(env=only(name))["cli_bomb"]

    assert (row["state"], row["distribution"], row["version"], row["ms"]) == ("discovered", name, "1.0", None)


def test_a_list_says_why_a_plugin_may_not_load(site: Path) -> None:
    """Denied and incompatible plugins have their reason."""
    new = install(site, "nr_llm_cli_new", TOOL, requires="nr-llm>=99")
    install(site, "nr_llm_cli_other", TOOL)
    rows = listed(env=only(new))

    assert rows["cli_other"]["state"] == "denied"
    assert "NR_LLM_PLUGINS" in rows["cli_other"]["reason"]
    assert rows["cli_new"]["state"] in {"incompatible", "discovered"}  # unknown hosts admit any range


def test_a_list_is_a_table(site: Path) -> None:
    """People see name, package and state."""
    name = install(site, "nr_llm_cli_hello", TOOL)
    lines = invoke("plugins", "list", env=only(name)).stdout.splitlines()

    assert lines[0].split() == ["name", "package", "origin", "state", "reason"]
    assert any(line.split()[:5] == ["cli_hello", name, "1.0", "index", "discovered"] for line in lines)


def test_loading_lists_what_plugins_offer(site: Path) -> None:
    """`--load` says what each offers, how long it took, and why one failed."""
    good, bad = install(site, "nr_llm_cli_good", TOOL), install(site, "nr_llm_cli_bad", "raise RuntimeError('ran')")
    rows = listed("--load", env=only(good, bad))
    text = invoke("plugins", "list", "--load", env=only(good, bad)).stdout

    assert rows["cli_good"]["tools"] == ["hello"]
    assert rows["cli_good"]["ms"] >= 0
    assert rows["cli_bad"]["state"] == "failed"
    assert "RuntimeError" in rows["cli_bad"]["reason"]
    assert "hello" in text


def test_allow_lets_one_package_load(site: Path) -> None:
    """`--allow` goes before the environment."""
    name = install(site, "nr_llm_cli_one", TOOL)
    rows = json.loads(invoke("plugins", "list", "--json", "--allow", name).stdout)

    assert [row["name"] for row in rows if row["state"] == "discovered"] == ["cli_one"]


@pytest.mark.lesson(148, 161)
def test_no_plugins_uses_none(site: Path) -> None:
    """`--no-plugins` reads no metadata at all."""
    install(site, "nr_llm_cli_none", TOOL)
    result = invoke("--no-plugins", "plugins", "list")

    assert result.stdout == ""
    assert "No plugin is installed" in result.stderr


SETTINGS = '''
import attrs
from nr_llm import tool
from nr_llm.hookspecs import hookimpl


@attrs.frozen
class Settings:
    greeting: str = "hello"


@hookimpl
def nr_llm_tools(settings: Settings):
    @tool
    def greet() -> str:
        """Greet."""
        return settings.greeting

    return [greet]
'''


def test_settings_come_from_a_file(site: Path) -> None:
    """`--config` names it, before or after the command, else NR_LLM_CONFIG does."""
    env = only(install(site, "nr_llm_cli_polite", SETTINGS))
    one, two = site / "one.toml", site / "two.toml"
    one.write_text('[plugins.cli_polite]\ngreeting = "one"\n', encoding="utf-8")
    two.write_text('[plugins.cli_polite]\ngreeting = "two"\n', encoding="utf-8")
    call = ("tools", "call", "greet")

    assert invoke(*call, env=env).stdout == "hello\n"
    assert invoke(*call, "--config", str(one), env=env).stdout == "one\n"
    assert invoke(*call, env={**env, "NR_LLM_CONFIG": str(two)}).stdout == "two\n"
    assert invoke("--config", str(one), *call, env={**env, "NR_LLM_CONFIG": str(two)}).stdout == "one\n"


def test_a_secret_of_the_settings_is_in_no_error(site: Path) -> None:
    """What a plugin keeps secret is masked in the line and in the envelope, whatever raised it."""
    source = MODELS.replace("def nr_llm_providers():", "def nr_llm_providers(settings: Settings):").replace(
        'ScriptedProvider(name="cli_silent")', 'ScriptedProvider(RuntimeError(settings.key.reveal()), name="cli_leaks")'
    )
    head = "import attrs\nfrom nr_llm import Secret\n\n\n@attrs.frozen\nclass Settings:\n    key: Secret\n"
    env = only(install(site, "nr_llm_cli_leaky", head + source))
    result = invoke(
        "run", "hi", "-m", "cli_leaks:", "--json", env={**env, "NR_LLM_CLI_LEAKY_KEY": "open sesame please"}
    )

    assert result.exit_code == 1
    assert "sesame" not in result.output
    assert "RuntimeError: [redacted]" in result.output


def test_a_file_that_is_no_configuration_is_an_error(site: Path) -> None:
    """The error names the file."""
    (site / "bad.toml").write_text("[plugins", encoding="utf-8")
    result = invoke("tools", "list", "--config", str(site / "bad.toml"))

    assert result.exit_code == 3
    assert "bad.toml is no TOML file" in result.stderr


def test_the_doctor_finds_nothing_wrong(site: Path) -> None:
    """Healthy plugins: code 0 and a word on stderr."""
    name = install(site, "nr_llm_cli_well", TOOL)
    result = invoke("plugins", "doctor", env=only(name))

    assert result.exit_code == 0
    assert " plugins, no problems" in result.stderr


@pytest.mark.lesson(7)
def test_the_doctor_says_what_why_and_how_to_fix_it(site: Path) -> None:
    """A broken plugin: three lines on stdout, code 8."""
    name = install(site, "nr_llm_cli_ill", "import nothing_of_this_name")
    result = invoke("plugins", "doctor", env=only(name))

    assert result.exit_code == 8
    assert f"✗ Plugin 'cli_ill' ({name} 1.0) failed.\n" in result.stdout
    assert "  why: importing it raised ModuleNotFoundError" in result.stdout
    assert f"  fix: Update {name}" in result.stdout
    assert "1 problem with plugins." in result.stderr


def test_the_doctor_speaks_to_programs(site: Path) -> None:
    """Findings are one document; the code and the envelope say that something is wrong."""
    names = [install(site, f"nr_llm_cli_ill{i}", "import nothing_of_this_name") for i in (1, 2)]
    result = invoke("plugins", "doctor", "--json", env=only(*names))

    assert [finding["serious"] for finding in json.loads(result.stdout)][:2] == [True, True]
    assert last_error(result.stderr)["code"] == "plugin"
    assert json.loads(invoke("--no-plugins", "plugins", "doctor", "--json").stdout) == []


def test_strict_counts_remarks(site: Path) -> None:
    """A remark is no problem, unless one wants it to be."""
    name = install(site, "nr_llm_cli_fine", TOOL)
    install(site, "nr_llm_cli_kept_out", TOOL)

    relaxed, strict = (
        invoke("plugins", "doctor", env=only(name)),
        invoke("plugins", "doctor", "--strict", env=only(name)),
    )

    assert (relaxed.exit_code, strict.exit_code) == (0, 8)
    assert "· Plugin 'cli_kept_out'" in relaxed.stdout


def test_providers_are_listed(site: Path) -> None:
    """Who offers models, where they are, and whether data stays."""
    name = install(site, "nr_llm_cli_offers", MODELS)
    rows = json.loads(invoke("providers", "list", "--json", env=only(name)).stdout)
    text = invoke("providers", "list", env=only(name)).stdout

    assert rows[0] == {
        "name": "cli_models",
        "endpoint": "this process",
        "local": True,
        "plugin": "cli_offers",
        "package": f"{name} 1.0",
        "source": None,
    }
    assert "cli_models  this process  yes" in text


def test_without_providers_the_list_says_how_to_get_one() -> None:
    """Nothing on stdout, a way on stderr."""
    result = invoke("providers", "list")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "nr-llm[local]" in result.stderr


def test_models_are_listed(site: Path) -> None:
    """Providers that know their models list them, all or of one; of one that does not, there is nothing to list."""
    name = install(site, "nr_llm_cli_lists", MODELS)
    rows = json.loads(invoke("models", "list", "--json", env=only(name)).stdout)

    silent = invoke("models", "list", "--provider", "cli_silent", env=only(name))

    assert rows == [
        {
            "model": "cli_models:big",
            "alias": [],
            "context": 4096,
            "max_output": None,
            "max_tools": None,
            "attachments": None,
            "notice": "Slow.",
            "details": ["size: 1 GB"],
        }
    ]
    assert "cli_models:big" in invoke("models", "list", "--provider", "cli_models", env=only(name)).stdout
    assert (silent.exit_code, silent.stdout) == (3, "")
    assert "cannot list its models" in silent.stderr


def test_models_of_nobody_are_an_error(site: Path) -> None:
    """A provider that does not exist is named, with those that look alike."""
    name = install(site, "nr_llm_cli_alike", MODELS)
    result = invoke("models", "list", "--provider", "cli_model", env=only(name))

    assert result.exit_code == 3
    assert "Did you mean 'cli_models'?" in result.stderr


def test_a_provider_that_cannot_list_its_models_hides_no_other(site: Path) -> None:
    """It is named, with what it raised, and the list goes on."""
    broken = MODELS.replace("return [Model(", "return 1 / 0, [Model(").replace("cli_models", "cli_broken\\x1b")
    names = install(site, "nr_llm_cli_broken", broken), install(site, "nr_llm_cli_lists_on", MODELS)
    result = invoke("models", "list", "--json", env=only(*names))

    assert [row["model"] for row in json.loads(result.stdout)] == ["cli_models:big"]
    assert result.stderr.startswith("Provider 'cli_broken\\x1b' cannot list its models: ZeroDivisionError: ")
