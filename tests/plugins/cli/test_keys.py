"""`nr-llm keys`: a key goes into the keyring and comes out for a provider alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.core.test_keyring import Keyring
from tests.plugins.cli.installed import install, on_path
from tests.plugins.cli.shell import invoke, on_terminal
from tests.plugins.cli.test_configuration import FORM


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    """Return a keyring that is installed for one test."""
    own = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", own)
    monkeypatch.setitem(sys.modules, "keyring.errors", own.errors)
    return own


@pytest.fixture
def keys(tmp_path: Path) -> Any:
    """Return what runs `nr-llm keys` with a home of its own."""
    return lambda *arguments, **more: invoke("keys", *arguments, env={"NR_LLM_HOME": str(tmp_path)}, **more)


def test_kept_listed_and_forgotten(keyring: Keyring, keys: Any) -> None:
    """The name is listed, the key never shown."""
    kept = keys("set", "work", stdin="tiger-in-a-hat\n")
    listed = keys("list")
    document = json.loads(keys("list", "--json").stdout)
    held = dict(keyring.kept)
    removed = keys("remove", "work")

    assert held == {("nr-llm", "work"): "tiger-in-a-hat"}
    assert 'api_key_keyring = "nr-llm/work"' in kept.stderr
    assert document == [{"name": "work", "reference": "nr-llm/work"}]
    assert (removed.exit_code, keyring.kept) == (0, {})
    assert "tiger" not in kept.output + listed.output
    assert "No key is kept" in keys("list").stderr


def test_a_name_that_was_not_kept(keyring: Keyring, keys: Any) -> None:
    """It is compared with those that were."""
    keys("set", "work", stdin="tiger")
    result = keys("remove", "wrok")

    assert result.exit_code == 3
    assert "Did you mean 'work'?" in result.stderr


def test_an_empty_key(keyring: Keyring, keys: Any) -> None:
    """It is none, and nothing is kept."""
    assert keys("set", "work", stdin=" \n").exit_code == 2
    assert keyring.kept == {}


def test_without_a_keyring(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    result = keys("set", "work", stdin="tiger-in-a-hat")

    assert result.exit_code == 3
    assert "pip install 'nr-llm[keyring]'" in result.stderr
    assert "tiger" not in result.output


@pytest.mark.parametrize(("text", "code"), [("[", 3), ("{}", 0)])
def test_a_list_that_is_broken(keys: Any, tmp_path: Path, text: str, code: int) -> None:
    """It is named, and one of another form is none."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "keys.json").write_text(text, encoding="utf-8")

    assert keys("list").exit_code == code


def test_typed_without_being_shown(tmp_path: Path) -> None:
    """On a terminal it is asked for and not echoed."""
    seen, code = on_terminal(
        "keys", "set", "work", keys=[("Key work", b"tiger-in-a-hat\n")], env={"NR_LLM_HOME": str(tmp_path)}
    )

    assert code in {0, 3}  # whether there is a keyring depends on the machine
    assert "tiger" not in seen


def test_a_run_uses_it(keyring: Keyring, keys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider whose table names it answers."""
    name = install(on_path(tmp_path, monkeypatch), "nr_llm_cli_kept", FORM)
    keys("set", "work", stdin="tiger-in-a-hat")
    file = tmp_path / "nr-llm.toml"
    file.write_text('[providers.near]\nplugin = "cli_kept"\napi_key_keyring = "nr-llm/work"\n', encoding="utf-8")
    env = {"NR_LLM_PLUGINS": name, "NR_LLM_CONFIG": str(file)}

    assert invoke("run", "hi", "-m", "near:", env=env).stdout == "It is near.\n"
    shown = invoke("config", "show", env=env)
    assert "keyring nr-llm/work" in shown.stdout
    assert "tiger" not in shown.output
