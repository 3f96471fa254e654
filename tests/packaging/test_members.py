"""Holds the members together: one version, one licence, one direction of dependency, nothing unpinned."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.packaging.members import CORE, MEMBERS, PLUGINS, Member, read, requirement_name
from tests.support import ROOT

each_member = pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
each_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in text if line and not line.startswith("#")]


def test_the_workspace_has_its_members() -> None:
    """The first five plugins are there: what is below is not true of an empty list."""
    names = {plugin.name for plugin in PLUGINS}

    assert names >= {
        f"nr-llm-{name}" for name in ("anthropic", "cli", "gemini", "local", "ollama", "openai", "sql", "tools")
    }


def test_versions_are_equal() -> None:
    """All members carry the same static version, without a development suffix."""
    versions = {member.project["version"] for member in MEMBERS}

    assert len(versions) == 1
    assert re.fullmatch(r"\d+\.\d+\.\d+", versions.pop())


def test_core_dependencies_are_these() -> None:
    """Those that the design names, httpcore, on which its httpx is built, and the parser of replies; no others."""
    names = {requirement_name(each) for each in CORE.project["dependencies"]}

    assert names == {
        "attrs",
        "cattrs",
        "docstring-parser",
        "httpcore",
        "httptools",
        "httpx",
        "importlib-metadata",
        "jsonschema-rs",
        "platformdirs",
        "pluggy",
        "sniffio",
        "truststore",
    }


def test_core_installs_no_command_and_is_no_plugin() -> None:
    """The core alone brings no script and no entry point of the plugin group."""
    assert "scripts" not in CORE.project
    assert "nr_llm.tool" not in CORE.project.get("entry-points", {})


@each_plugin
def test_plugin_depends_on_this_line_of_the_core(plugin: Member) -> None:
    """A plugin asks for the core of its own minor version, any patch."""
    line = ".".join(CORE.project["version"].split(".")[:2])

    assert f"nr-llm~={line}.0" in plugin.project["dependencies"]


@each_plugin
def test_plugin_depends_on_no_sibling(plugin: Member) -> None:
    """A plugin needs no other plugin, except that one may add a command to the cli."""
    siblings = {other.name for other in PLUGINS} - {"nr-llm-cli"}

    assert {requirement_name(each) for each in plugin.project["dependencies"]} & siblings == set()


@each_plugin
def test_plugin_is_one_entry_point_named_like_its_folder(plugin: Member) -> None:
    """A plugin registers its package under its short name, which is its namespace."""
    name = plugin.folder.name

    assert plugin.project["entry-points"] == {"nr_llm.tool": {name: f"nr_llm_{name}"}}


@each_member
def test_member_carries_licence_readme_and_types(member: Member) -> None:
    """Each member stands alone: the licence text, a page about it, the marker of its types."""
    assert (member.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (member.folder / "README.md").read_text(encoding="utf-8").startswith(f"# {member.name}\n")
    assert (member.package / "py.typed").is_file()
    assert member.project["license"] == "MIT"
    assert member.project["requires-python"] == ">=3.11"


def test_extras_name_each_plugin_and_nothing_else() -> None:
    """There is one extra for each plugin and `all` is their sum; but for two none brings anything else."""
    line = ".".join(CORE.project["version"].split(".")[:2])
    pins = {plugin.folder.name: f"{plugin.name}~={line}.0" for plugin in PLUGINS}
    extras = {name: [pin] for name, pin in pins.items()}

    extras |= {"all": sorted(pins.values()), "keyring": ["keyring>=25"], "prices": ["genai-prices>=0.2"]}
    assert CORE.project["optional-dependencies"] == extras


def test_requirements_name_every_member() -> None:
    """The requirement file installs the whole workspace from the checkout."""
    folders = {"." if member is CORE else member.folder.relative_to(ROOT).as_posix() for member in MEMBERS}

    assert set(lines("requirements.txt")) == {f"-e {folder}" for folder in folders}


def test_constraints_pin_every_requirement() -> None:
    """All that the members and the tests ask for by name has an exact version."""
    asked = {requirement_name(each) for member in MEMBERS for each in member.project["dependencies"]}
    asked |= {requirement_name(each) for each in lines("requirements-dev.txt")}
    ours = {member.name for member in MEMBERS}
    pins = lines("constraints.txt")

    assert all(re.fullmatch(r"[a-z0-9-]+==[^\s=]+", pin) for pin in pins)
    assert asked - ours - {requirement_name(pin) for pin in pins} == set()


def test_constraints_are_within_the_declared_ranges() -> None:
    """The pinned versions are ones that the members allow."""
    packaging = pytest.importorskip("packaging.requirements")
    pins = dict(pin.split("==") for pin in lines("constraints.txt"))
    asked = [packaging.Requirement(each) for member in MEMBERS for each in member.project["dependencies"]]

    outside = [
        str(each) for each in asked if (pin := pins.get(requirement_name(each.name))) and pin not in each.specifier
    ]

    assert outside == []


def test_uv_has_the_same_pins() -> None:
    """`uv run`, which reads no constraint file, resolves to the same versions."""
    assert read(ROOT)["tool"]["uv"]["constraint-dependencies"] == lines("constraints.txt")


def test_members_are_known_to_every_tool() -> None:
    """A new plugin is checked for types and boundaries, too."""
    tool = read(ROOT)["tool"]
    packages = {member.package.name for member in MEMBERS}

    assert set(tool["importlinter"]["root_packages"]) == packages
    assert set(tool["mypy"]["mypy_path"]) == {m.package.parent.relative_to(ROOT).as_posix() for m in MEMBERS}
    assert set(tool["uv"]["sources"]) == {member.name for member in MEMBERS}


def test_no_lock_file_is_tracked() -> None:
    """Lock files record the addresses of indexes; the constraint file pins without them."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so nothing is tracked")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout

    assert [
        name for name in tracked.splitlines() if re.search(r"(^|/)(uv|poetry|pylock|Pipfile)[\w.]*\.?lock", name)
    ] == []
