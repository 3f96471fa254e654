"""`nr-llm config`: files are found and trusted, every value has its source, every fault is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nr_llm_cli.lines import located
from nr_llm_cli.places import folder, project_file, project_folders
from nr_llm_cli.trust import digest

from tests.plugins.cli.installed import install, on_path
from tests.plugins.cli.shell import invoke, last_error
from tests.plugins.cli.test_configuration import FORM

USER = """
default_model = "quick"

[providers.near]
plugin = "cli_found"
base_url = "http://near.test:1"

[models.quick]
provider = "near"
id = "tiny"

[configurations.brief]
system = "Be brief."
tools = []
limits = { rounds = 2 }
"""

PROJECT = '[models.quick]\nlimits = { rounds = 3 }\n[configurations.brief]\nprivacy = "none"\n'


class World:
    """A user with a home, and a repository in whose subfolder commands are run."""

    def __init__(self, root: Path, plugin: str) -> None:
        self.home, self.repository = root / "home", root / "repository"
        self.folder = self.repository / "src" / "deep"
        self.own, self.project = self.home / "config" / "nr-llm.toml", self.repository / "nr-llm.toml"
        self._plugin = plugin
        self.own.parent.mkdir(parents=True)
        self.folder.mkdir(parents=True)
        (self.repository / ".git").mkdir()
        self.own.write_text(USER, encoding="utf-8")

    def run(self, *arguments: str | Path, **env: str) -> Any:
        """Run a command."""
        return invoke(*arguments, env={"NR_LLM_HOME": str(self.home), "NR_LLM_PLUGINS": self._plugin, **env})

    def shown(self, **env: str) -> dict[str, tuple[Any, str]]:
        """Return values and sources by name."""
        rows = json.loads(self.run("config", "show", "--json", **env).stdout)
        return {row["name"]: (row["value"], row["source"]) for row in rows}

    def files(self) -> dict[str, str]:
        """Return the state of each file, by what it is."""
        rows = json.loads(self.run("config", "path", "--json").stdout)
        return {row["what"]: row["state"] for row in rows if row["counts"] is not None}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a world, its subfolder the current one."""
    site = tmp_path / "site"
    site.mkdir()
    made = World(tmp_path, install(on_path(site, monkeypatch), "nr_llm_cli_found", FORM))
    monkeypatch.chdir(made.folder)
    return made


class TestFound:
    def test_the_user_s_own(self, world: World):
        """The file in the user's folder counts."""
        assert world.run("run", "hi").stdout == "It is near.\n"
        assert world.files() == {"user file": "own"}

    def test_the_project_s_over_it(self, world: World):
        """A project's file goes before the user's, from any folder of the repository."""
        world.project.write_text(PROJECT, encoding="utf-8")
        values = world.shown()

        assert values["models.quick.limits.rounds"] == (3, f"{world.project}:2")
        assert values["models.quick.id"] == ("tiny", f"{world.own}:10")
        assert values["configurations.brief.privacy"] == ("none", f"{world.project}:4")

    def test_a_pyproject(self, world: World):
        """The nearest of both kinds counts; a pyproject without our table is passed over."""
        world.project.write_text(PROJECT, encoding="utf-8")
        near = world.folder.parent / "pyproject.toml"
        near.write_text("[tool.nr-llm.models.quick]\nlimits = { rounds = 4 }\n", encoding="utf-8")

        assert world.shown()["models.quick.limits.rounds"] == (4, f"{near}:2")
        near.write_text('[project]\nname = "nr-llm-mine"\n', encoding="utf-8")
        assert world.shown()["models.quick.limits.rounds"][0] == 3

    @pytest.mark.parametrize(
        ("text", "ours"), [("[tool.nr-llm\n", True), ("nr-llm = [\n", False), ("tool = 5\n", False)]
    )
    def test_a_pyproject_that_is_broken(self, world: World, text: str, ours: bool):
        """One that cannot be read is an error if it speaks of us, and else nobody's business."""
        path = world.folder / "pyproject.toml"
        path.write_text(text + "# nr-llm", encoding="utf-8")

        assert project_file(world.folder) == (path if ours else None)

    def test_outside_of_a_repository(self, tmp_path: Path):
        """There the current folder alone is looked at: what lies above may be a stranger's."""
        inner = tmp_path / "a" / "b"
        inner.mkdir(parents=True)
        (tmp_path / "nr-llm.toml").write_text("", encoding="utf-8")

        assert project_folders(inner) == (inner,)
        assert project_file(inner) is None

    def test_a_file_that_is_named_stands_alone(self, world: World, tmp_path: Path):
        """--config goes before NR_LLM_CONFIG, both before what is found; one that is missing is an error."""
        world.project.write_text(PROJECT, encoding="utf-8")
        one, two = tmp_path / "one.toml", tmp_path / "two.toml"
        one.write_text('default_model = "one:"', encoding="utf-8")
        two.write_text('default_model = "two:"', encoding="utf-8")
        rows = json.loads(world.run("config", "show", "--json", "--config", one, NR_LLM_CONFIG=str(two)).stdout)

        assert {row["name"]: row["value"] for row in rows}["default_model"] == "one:"
        assert world.shown(NR_LLM_CONFIG=str(two))["default_model"] == ("two:", f"{two}:1")
        assert "models.quick.id" not in world.shown(NR_LLM_CONFIG=str(two))
        assert world.run("run", "hi", NR_LLM_CONFIG=str(tmp_path / "none.toml")).exit_code == 3

    def test_variables_go_first(self, world: World):
        """A variable goes before files, an option before both."""
        values = world.shown(NR_LLM_MODEL="near:other", NR_LLM_NEAR_BASE_URL="http://far.test")

        assert values["model"] == ("near:other", "NR_LLM_MODEL")
        assert values["providers.near.base_url"] == ("http://far.test", "NR_LLM_NEAR_BASE_URL")

    def test_the_user_s_file_is_no_project(self, world: World, monkeypatch: pytest.MonkeyPatch):
        """In the user's own folder the user's own file stays that."""
        monkeypatch.chdir(world.own.parent)

        assert world.files() == {"user file": "own"}

    def test_a_folder_that_is_gone(self, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        """Where there is no current folder there is no project."""
        gone = tmp_path / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()

        assert world.files() == {"user file": "own"}
        assert world.run("config", "trust").exit_code == 2

    def test_the_system_s_folders(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        """Without a home of ours they are where the system has them, four different ones."""
        monkeypatch.delenv("NR_LLM_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        places = [folder(kind) for kind in ("config", "data", "state", "cache")]

        assert len(set(places)) >= 3  # macOS keeps state beside data
        assert all(place.name == "nr-llm" and place.is_relative_to(tmp_path) for place in places)


class TestConfiguration:
    def test_by_name(self, world: World):
        """-C, else NR_LLM_CONFIGURATION, else the file's default says what a run begins with."""
        named = world.run("run", "hi", "-C", "brief", "--dry-run").stdout
        variable = world.run("run", "hi", "--dry-run", NR_LLM_CONFIGURATION="brief").stdout
        world.own.write_text('default_configuration = "brief"\n' + USER, encoding="utf-8")

        assert "Be brief." in named
        assert "Be brief." in variable
        assert "Be brief." in world.run("run", "hi", "--dry-run").stdout
        assert "Be kind." in world.run("run", "hi", "--dry-run", "-s", "Be kind.").stdout

    def test_its_model(self, world: World):
        """A configuration's model is asked, an option goes first."""
        text = USER.replace('"quick"', '"gone:"', 1) + '[configurations.near]\nmodel = "quick"\n'
        world.own.write_text(text, encoding="utf-8")

        assert world.run("run", "hi", "-C", "near").stdout == "It is near.\n"
        assert world.run("chat", "-C", "near").exit_code == 0
        assert world.run("run", "hi", "-C", "near", "-m", "gone:").exit_code == 3

    def test_a_name_that_is_nobody_s(self, world: World):
        """Those that look alike are named."""
        result = world.run("run", "hi", "-C", "breif", "--json")

        assert result.exit_code == 3
        assert "Did you mean 'brief'?" in last_error(result.stderr)["message"]


class TestTrust:
    FILE = '[providers.far]\nplugin = "cli_found"\n'

    def test_asked_for(self, world: World):
        """A file that says what only the user may is refused, until it is trusted, and again when it changes."""
        world.project.write_text(self.FILE, encoding="utf-8")
        refused = world.run("providers", "list")
        world.run("config", "trust")
        trusted = world.run("providers", "list")
        world.project.write_text(self.FILE + "# a change\n", encoding="utf-8")
        changed = world.run("providers", "list")

        assert (refused.exit_code, trusted.exit_code, changed.exit_code) == (3, 0, 3)
        assert "nr-llm config trust" in refused.stderr
        assert "far" in trusted.stdout
        assert "It was trusted and has changed since." in changed.stderr

    def test_a_default_elsewhere(self, world: World):
        """It does not choose a default of another provider than the user's, which is the embedded one for most."""
        same = 'default_model = "other"\n[models.other]\nprovider = "near"\n'
        world.project.write_text(same, encoding="utf-8")
        within = world.run("run", "hi")
        world.project.write_text(same.replace('"near"', '"far"'), encoding="utf-8")
        elsewhere = world.run("run", "hi")
        world.own.write_text(USER.replace("default_model", "# default_model"), encoding="utf-8")
        without = world.run("run", "hi")
        world.run("config", "trust")

        assert within.stdout == "It is near.\n"
        assert "a model of 'far', and yours is of 'near'" in elsewhere.stderr
        assert "a model of 'far', and yours is of 'local'" in without.stderr
        assert (elsewhere.exit_code, without.exit_code) == (3, 3)
        assert "yours is of" not in world.run("run", "hi").stderr

    def test_a_link_is_another_file(self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """A link to a trusted file is not trusted: what that names lies beside the link then."""
        world.project.write_text(self.FILE, encoding="utf-8")
        world.run("config", "trust")
        other = tmp_path / "other"
        other.mkdir()
        (other / "nr-llm.toml").symlink_to(world.project)

        assert world.files()["project file"] == "trusted"
        monkeypatch.chdir(other)
        assert world.files()["project file"] == "not trusted"

    def test_states(self, world: World):
        """The states of a project's file are shown."""
        world.project.write_text(PROJECT, encoding="utf-8")
        states = [world.files()["project file"]]
        world.run("config", "trust")
        states.append(world.files()["project file"])
        world.project.write_text(PROJECT + "\n", encoding="utf-8")
        states.append(world.files()["project file"])
        warned = world.run("config", "show").stderr
        world.run("config", "untrust")
        states.append(world.files()["project file"])

        assert states == ["not trusted", "trusted", "changed", "not trusted"]
        assert "has changed since it was trusted" in warned

    def test_by_name(self, world: World):
        """A file or its folder may be named; what was not trusted is said to be so."""
        world.project.write_text(self.FILE, encoding="utf-8")

        assert "is trusted as it is now" in world.run("config", "trust", world.repository).stderr
        assert world.files()["project file"] == "trusted"
        assert "is not trusted any more" in world.run("config", "untrust", world.project).stderr
        assert "is not trusted." in world.run("config", "untrust", world.project).stderr
        assert world.run("config", "trust", world.folder / "none.toml").exit_code == 3
        world.project.unlink()
        assert "There is no project file here" in world.run("config", "trust").stderr

    def test_kept_for_the_user_alone(self, world: World):
        """The list is the user's own file, whole at any time."""
        world.project.write_text(self.FILE, encoding="utf-8")
        world.run("config", "trust")
        place = world.home / "config" / "trusted.json"

        assert place.stat().st_mode & 0o077 == 0
        assert list(json.loads(place.read_text(encoding="utf-8"))) == [str(world.project.resolve())]
        assert sorted(path.name for path in place.parent.iterdir()) == ["nr-llm.toml", "trusted.json"]

    @pytest.mark.parametrize("text", ["[", "[]"])
    def test_a_list_that_is_broken(self, world: World, text: str):
        """It is named; nothing counts as trusted meanwhile."""
        world.project.write_text(self.FILE, encoding="utf-8")
        (world.home / "config" / "trusted.json").write_text(text, encoding="utf-8")
        result = world.run("providers", "list")

        assert result.exit_code == 3
        assert "trusted.json" in result.stderr

    def test_a_list_that_cannot_be_written(self, world: World):
        """The error names another home as the way out."""
        world.project.write_text(self.FILE, encoding="utf-8")
        result = world.run("config", "trust", NR_LLM_HOME="/dev/null/home")

        assert result.exit_code == 3
        assert "NR_LLM_HOME" in result.stderr

    def test_of_a_pyproject_its_table(self, tmp_path: Path):
        """A change elsewhere in it is none."""
        path, ours = tmp_path / "pyproject.toml", b'[tool.nr-llm]\ndefault_model = "a:"\n'

        assert digest(path, b'[project]\nversion = "1"\n' + ours) == digest(path, ours)
        assert digest(path, ours) != digest(path, ours.replace(b"a:", b"b:"))
        assert digest(path, b"[tool") != digest(path, b"[tool.x]")
        assert digest(tmp_path / "nr-llm.toml", ours) != digest(path, ours)


class TestShow:
    def test_a_table(self, world: World):
        """People see name, value and source, long texts cut."""
        world.own.write_text(USER.replace("Be brief.", "Be brief. " * 30), encoding="utf-8")
        lines = world.run("config", "show").stdout.splitlines()

        assert lines[0].split() == ["name", "value", "source"]
        assert any(line.split()[:2] == ["models.quick.provider", "near"] for line in lines)
        assert max(map(len, lines)) < 400

    def test_no_secret(self, world: World):
        """Keys are masked, wherever they are from."""
        result = world.run("config", "show", NR_LLM_NEAR_API_KEY="tiger-in-a-hat")

        assert "tiger" not in result.output
        assert any(
            line.split()[:3] == ["providers.near.api_key", "[redacted]", "NR_LLM_NEAR_API_KEY"]
            for line in result.stdout.splitlines()
        )

    def test_what_is_wrong_is_said_aside(self, world: World):
        """A row with a fault hides no other."""
        world.own.write_text(USER + "[configurations.odd]\nzone = 'moon'\n", encoding="utf-8")
        result = world.run("config", "show")

        assert result.exit_code == 0
        assert "✗ The configuration 'odd' cannot be used.\n  why: " in result.stderr
        assert "configurations.brief.system" in result.stdout


class TestCheck:
    def test_well(self, world: World):
        """Where all is well it says so."""
        result = world.run("config", "check")

        assert (result.exit_code, result.stdout) == (0, "")
        assert "no problems" in result.stderr

    def test_all_faults(self, world: World):
        """Each is told with what, why and what to do; the exit code is that of configuration."""
        text = USER.replace('provider = "near"', 'provider = "naer"') + "[configurations.odd]\nzone = 'moon'\n"
        world.own.write_text(text, encoding="utf-8")
        result, document = world.run("config", "check"), world.run("config", "check", "--json")

        assert (result.exit_code, document.exit_code) == (3, 3)
        assert "Did you mean 'near'?" in result.stdout
        assert "The configuration 'odd' cannot be used." in result.stdout
        assert {finding["what"] for finding in json.loads(document.stdout)} >= {"The model 'quick' cannot be used."}

    def test_files_that_cannot_be_read(self, world: World):
        """Both are told."""
        world.own.write_text("[", encoding="utf-8")
        world.project.write_text('default_configuration = "brief"', encoding="utf-8")
        result = world.run("config", "check")

        assert result.exit_code == 3
        assert f"{world.own} cannot be used." in result.stdout
        assert f"{world.project} cannot be used." in result.stdout
        assert "2 problems" in result.stderr

    def test_a_remark_is_no_problem(self, world: World):
        """What nothing reads is told and no failure."""
        world.own.write_text("defalt_model = 'x'\n" + USER, encoding="utf-8")
        result = world.run("config", "check")

        assert result.exit_code == 0
        assert "Did you mean default_model?" in result.stdout
        assert result.stderr == "The configuration has no problems, 1 remark.\n"


class TestLines:
    TEXT = '''# a file
default_model = "x"
[configurations.brief]
system = """
tools = 5
"""
tools = []
limits = { rounds = 2, "tokens" = 3 }
[providers."a.b"]
base_url.x = 5
[policy]
tools."tools:write_file" = false
restrict = { "@files" = ["admin"] }
'''

    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("default_model", 2),
            ("configurations.brief.system", 4),
            ("configurations.brief.tools", 7),
            ("configurations.brief.limits.rounds", 8),
            ("providers.a.b.base_url.x", 10),
            ("policy.tools.tools:write_file", 12),
            ("policy.restrict.@files", 13),
        ],
    )
    def test_found(self, tmp_path: Path, name: str, line: int):
        """A setting's line is found, not one inside of a text."""
        path = tmp_path / "a.toml"
        path.write_text(self.TEXT, encoding="utf-8")

        assert located(str(path), name) == f"{path}:{line}"

    def test_not_found(self, tmp_path: Path):
        """Without a line the source stays as it is."""
        path = tmp_path / "a.toml"
        path.write_text(self.TEXT, encoding="utf-8")

        assert located(str(path), "models.fast.id") == str(path)
        assert located("NR_LLM_MODEL", "default_model") == "NR_LLM_MODEL"
        assert located(str(tmp_path / "none.toml"), "default_model") == str(tmp_path / "none.toml")
