"""The tree of commands: found lazily, extended by plugins, described truly."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import click
import nr_llm_cli
import pytest
from nr_llm_cli.groups import LazyGroup
from nr_llm_cli.root import COMMANDS, program

from tests.plugins.cli.installed import declare, install, on_path
from tests.plugins.cli.shell import invoke, plugin_file

ADDING = '''
import click
from nr_llm.errors import ConfigurationError
from nr_llm.hookspecs import hookimpl


@click.command("models pull")
@click.argument("name", default="small")
def pull(name):
    """Fetch a model."""
    click.echo(f"pulled {name}", err=True)


@click.command("greet")
def greet():
    """Greet."""
    raise ConfigurationError("Nobody to greet.", remedy="Invite somebody.")


@click.command("cache disk clear")
def clear():
    """Clear."""
    click.echo("cleared")


@click.command("run")
def run():
    """Take a name that is taken."""
    click.echo("stolen")


@hookimpl
def nr_llm_commands():
    return [pull, greet, clear, run]
'''


@pytest.fixture
def adding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a plugin that adds commands."""
    return {"NR_LLM_PLUGINS": install(on_path(tmp_path, monkeypatch), "nr_llm_adding", ADDING)}


def tree(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every built-in command with its path."""
    yield path, command
    if isinstance(command, LazyGroup):
        for name, place in command.places.items():
            yield from tree(place.load(), f"{path} {name}".strip())


def test_lists_say_what_commands_say_of_themselves() -> None:
    """The one-line help that a list has without importing a command is the command's own."""
    for path, command in tree(program):
        if isinstance(command, LazyGroup):
            for name, place in command.places.items():
                assert place.help == inspect.cleandoc(place.load().help or "").partition("\n")[0], f"{path} {name}"


@pytest.mark.parametrize("path", [path for path, _ in tree(program)])
def test_every_command_has_help(path: str) -> None:
    """-h and --help work everywhere."""
    short, long = invoke(*path.split(), "-h"), invoke(*path.split(), "--help")

    assert short.exit_code == 0
    assert short.stdout == long.stdout
    assert short.stdout.startswith("Usage: nr-llm ")


@pytest.mark.parametrize("path", ["", "tools", "plugins", "providers", "models"])
def test_a_group_alone_shows_its_help(path: str) -> None:
    """A command that is missing is a usage error, told by the list of commands."""
    result = invoke(*path.split())

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Commands:" in result.stderr


def test_a_typing_error_is_met_with_a_suggestion() -> None:
    """Commands and options that look alike are named."""
    assert "There is no command 'rnu'. Did you mean 'run'? See nr-llm --help." in invoke("rnu").stderr
    assert "There is no command 'zzz'. See nr-llm tools --help." in invoke("tools", "zzz").stderr
    assert "Did you mean 'plugins doctor'? See nr-llm --help." in invoke("doctor").stderr
    assert "unexpected extra argument (b). See nr-llm run --help." in invoke("run", "a", "b").stderr
    assert invoke("run", "hi", "--modle", "x").exit_code == 2
    assert invoke("--nope").exit_code == 2
    assert invoke("rnu").exit_code == 2


def test_the_version_is_told() -> None:
    """On stdout, with Python's."""
    result = invoke("--version")

    assert result.exit_code == 0
    assert result.stdout.startswith("nr-llm ")
    assert "Python 3." in result.stdout


def test_the_plugin_offers_the_built_in_commands() -> None:
    """A listing shows the commands, and no other plugin can have their names."""
    assert [command.name for command in nr_llm_cli.nr_llm_commands()] == list(COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str) -> None:
    """The script asks the program for completions."""
    text = invoke("completion", shell).stdout

    assert "_NR_LLM_COMPLETE" in text
    assert "nr-llm" in text


def test_completion_of_another_shell_is_a_usage_error() -> None:
    """The shells that work are named."""
    assert invoke("completion", "csh").exit_code == 2


def test_commands_are_completed() -> None:
    """A shell that asks is answered with the commands that begin so."""
    env = {"_NR_LLM_COMPLETE": "bash_complete", "COMP_WORDS": "nr-llm to", "COMP_CWORD": "1"}

    assert invoke(env=env).stdout.split() == ["plain,tools"]


def test_a_plugin_adds_a_command(adding: dict[str, str]) -> None:
    """Its name is its path; its errors are ours."""
    result = invoke("greet", env=adding)

    assert result.exit_code == 3
    assert result.stderr == "Error: Nobody to greet. Invite somebody.\n"


def test_a_plugin_adds_to_a_group(adding: dict[str, str]) -> None:
    """`models pull` stands beside `models list`, in the group's help too."""
    assert invoke("models", "pull", "big", env=adding).stderr == "pulled big\n"
    assert "  pull  Fetch a model.\n" in invoke("models", "-h", env=adding).stdout


def test_a_plugin_adds_groups(adding: dict[str, str]) -> None:
    """The words before the last are groups of their own."""
    assert invoke("cache", "disk", "clear", env=adding).stdout == "cleared\n"
    assert "  disk  Commands of plugins.\n" in invoke("cache", "-h", env=adding).stdout


def test_a_plugin_cannot_take_a_built_in_name(adding: dict[str, str]) -> None:
    """`run` stays `run`."""
    assert "stolen" not in invoke("run", "-h", env=adding).stdout


def test_the_program_s_own_plugin_adds_nothing(
    adding: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command offers as a plugin is built in already."""
    own = declare(on_path(tmp_path, monkeypatch), "nr_llm_cli", name="cli")
    env = {"NR_LLM_PLUGINS": f"{own},{adding['NR_LLM_PLUGINS']}"}
    rows = {row["name"]: row for row in json.loads(invoke("plugins", "list", "--load", "--json", env=env).stdout)}

    assert rows["cli"]["commands"] == list(COMMANDS)
    assert invoke("greet", env=env).exit_code == 3


def test_the_program_s_help_loads_no_plugin(adding: dict[str, str]) -> None:
    """The first help is quick and works whatever is installed; it says how to see more."""
    text = invoke("-h", env=adding).stdout

    assert "greet" not in text
    assert "nr-llm plugins list --load" in text


def test_added_commands_are_listed_with_their_plugin(adding: dict[str, str]) -> None:
    """`plugins list --load` says who adds what."""
    rows = {row["name"]: row for row in json.loads(invoke("plugins", "list", "--load", "--json", env=adding).stdout)}

    assert rows["adding"]["commands"] == ["models pull", "greet", "cache disk clear", "run"]


@pytest.mark.parametrize(
    ("model", "said"), [("adding:big", "pulled big\n"), ("adding:", "pulled small\n"), ("scripted:x", "")]
)
def test_run_pulls_the_model_of_the_plugin_that_can(
    model: str, said: str, adding: dict[str, str], tmp_path: Path
) -> None:
    """`--pull` calls `models pull` of the model's own plugin; another provider's model needs no fetching."""
    path = plugin_file(tmp_path, '"hi"', model=f'name="{model.partition(":")[0]}"', name="script_pull")
    result = invoke("run", "hi", "-m", model, "--pull", "--plugin", path, env=adding)

    assert result.stdout == "hi\n"
    assert result.stderr.startswith(said)
    assert ("pulled" in result.stderr) == bool(said)


def test_pulling_without_such_a_plugin_changes_nothing(tmp_path: Path) -> None:
    """`--pull` is harmless where nothing can be fetched."""
    result = invoke("run", "hi", "-m", "scripted:", "--pull", "--plugin", plugin_file(tmp_path, '"hi"'))

    assert result.stdout == "hi\n"
