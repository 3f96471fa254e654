"""Builds each member and looks inside: nothing is missing from an archive, and nothing strays into it."""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.packaging.members import MEMBERS, Member

sdists = pytest.importorskip("hatchling.builders.sdist", reason="hatchling builds the members; it is not installed")
wheels = pytest.importorskip("hatchling.builders.wheel")

CACHE = re.compile(r"/(__pycache__|\.\w+_cache)/")
"""Folders that tools leave behind; `.gitignore` keeps them out of archives."""

each_member = pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)


def sources(member: Member) -> set[str]:
    """Return the package's files as an archive names them."""
    found = (path for path in member.package.rglob("*") if path.is_file() and not CACHE.search(str(path)))
    return {path.relative_to(member.package.parent).as_posix() for path in found}


def wheel(member: Member, folder: Path) -> zipfile.ZipFile:
    builder = wheels.WheelBuilder(os.fspath(member.folder))
    return zipfile.ZipFile(next(builder.build(directory=os.fspath(folder), versions=["standard"])))


@each_member
def test_wheel_holds_the_package_and_its_metadata(member: Member, tmp_path: Path) -> None:
    """A wheel has every file of the package, the licence, and no test or other folder."""
    with wheel(member, tmp_path) as archive:
        names = set(archive.namelist())
    about = f"{member.package.name}-{member.project['version']}.dist-info"

    assert {name for name in names if not name.startswith(about)} == sources(member)
    assert f"{member.package.name}/py.typed" in names
    assert f"{about}/licenses/LICENSE" in names


@each_member
def test_wheel_says_what_the_project_says(member: Member, tmp_path: Path) -> None:
    """Name, version, licence and the required Python arrive in the metadata, with the README as description."""
    with wheel(member, tmp_path) as archive:
        about = f"{member.package.name}-{member.project['version']}.dist-info/METADATA"
        metadata = Parser().parsestr(archive.read(about).decode("utf-8"))

    assert metadata["Name"] == member.name
    assert metadata["Version"] == member.project["version"]
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_payload().startswith(f"# {member.name}")


@each_member
def test_sdist_can_build_the_wheel(member: Member, tmp_path: Path) -> None:
    """A source archive has the sources, the licence, the README and the manifest, and no test."""
    builder = sdists.SdistBuilder(os.fspath(member.folder))
    with tarfile.open(next(builder.build(directory=os.fspath(tmp_path), versions=["standard"]))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    prefix = member.package.parent.relative_to(member.folder).as_posix()
    inside = {name if prefix == "." else f"{prefix}/{name}" for name in sources(member)}

    assert names - {".gitignore"} == inside | {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
