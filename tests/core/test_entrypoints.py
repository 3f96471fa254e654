"""Installed plugins are read from metadata alone, and no broken package raises."""

from __future__ import annotations

import importlib.metadata
import itertools
import sys
from pathlib import Path

import importlib_metadata
import pytest
from nr_llm._entrypoints import EntryPoint, host_version, installed
from nr_llm._versions import admits, normalised, required_range
from packaging.specifiers import SpecifierSet

from tests.distributions import Site, site

__all__ = ["site"]


def mine(site: Site) -> list[EntryPoint]:
    """Return the entry points of the packages a test wrote."""
    return [point for point in installed().entry_points if point.distribution in map(normalised, site.names)]


class TestInstalled:
    def test_facts(self, site: Site):
        """Name, value, package, version, range and origin come from the metadata, and nothing is imported."""
        requires = ["attrs>=24", "nr-llm~=0.1.0", 'nr-llm[cli]; extra == "x"']
        site.add("Acme.Sea_Level", "2.1", entry_points={"sea": "acme_sea:plugin"}, requires=requires)

        (point,) = mine(site)

        assert point.distribution == "acme-sea-level"
        assert (point.name, point.value, point.version) == ("sea", "acme_sea:plugin", "2.1")
        assert (point.requires, point.origin) == ("~=0.1.0", "index")
        assert "acme_sea" not in sys.modules

    def test_load(self, site: Site):
        """`load` imports the object."""
        site.add("acme-a", entry_points={"a": "plugin_a:thing"}, modules={"plugin_a": "thing = object()"})

        (point,) = mine(site)
        thing = point.load()

        assert thing is sys.modules["plugin_a"].thing

    def test_sorted(self, site: Site):
        """The order is by package and name, not by path."""
        site.add("zeta", entry_points={"a": "m"})
        site.add("alpha", entry_points={"z": "m", "b": "m"})

        assert [(p.distribution, p.name) for p in mine(site)] == [("alpha", "b"), ("alpha", "z"), ("zeta", "a")]

    def test_other_groups(self, site: Site):
        """Packages without our group do not appear, and those with several appear with ours alone."""
        info = site.add("acme-a", entry_points={"a": "m"})
        (info / "entry_points.txt").write_text("[console_scripts]\nrun = m:run\n[nr_llm.tool]\na = m\n")
        (site.add("acme-b") / "entry_points.txt").write_text("[nr_llm_tool]\nb = m\n")

        assert [point.name for point in mine(site)] == ["a"]

    def test_found_twice(self, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Of a package found twice on the path the first counts, once."""
        site.add("acme-a", "1.0", entry_points={"old": "m"})
        first = tmp_path / "first"
        first.mkdir()
        monkeypatch.syspath_prepend(str(first))
        Site(first).add("acme-a", "2.0", entry_points={"new": "m"})

        assert [(point.name, point.version) for point in mine(site)] == [("new", "2.0")]

    def test_shadowed(self, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """A package that is shadowed by a release without plugins contributes none."""
        site.add("acme-a", "1.0", entry_points={"old": "m"})
        first = tmp_path / "first"
        first.mkdir()
        monkeypatch.syspath_prepend(str(first))
        Site(first).add("acme-a", "2.0")

        assert mine(site) == []

    @pytest.mark.parametrize(
        ("direct_url", "origin"),
        [
            ('{"url": "file:///x", "dir_info": {"editable": true}}', "editable"),
            ('{"url": "file:///x", "dir_info": {}}', "folder"),
            ('{"url": "https://h/x.git", "vcs_info": {"vcs": "git", "commit_id": "a"}}', "vcs"),
            ('{"url": "https://h/x.whl", "archive_info": {}}', "archive"),
            ("{", "unknown"),
            (None, "index"),
        ],
    )
    def test_origin(self, site: Site, direct_url: str | None, origin: str):
        """How the package was installed is told apart, and nonsense costs only that."""
        site.add("acme-a", entry_points={"a": "m"}, direct_url=direct_url)

        assert [point.origin for point in mine(site)] == [origin]


class TestBroken:
    @pytest.mark.parametrize(
        ("file", "data"),
        [
            ("METADATA", None),
            ("METADATA", b"Metadata-Version: 2.1\nName: acme-bad\n"),
            ("METADATA", b"\xff\xfe\x00"),
            ("entry_points.txt", b"[nr_llm.tool]\nno value\n"),
        ],
    )
    def test_reported(self, site: Site, file: str, data: bytes | None):
        """A package that declares plugins and cannot be read is named with the reason; the others are read."""
        site.add("acme-good", entry_points={"good": "m"})
        broken = site.add("acme-bad", entry_points={"bad": "m"}) / file
        broken.unlink()
        if data is not None:
            broken.write_bytes(data)

        found = {package.distribution: package.reason for package in installed().unreadable}

        assert [point.name for point in mine(site)] == ["good"]
        assert found["acme-bad"]

    def test_undecodable(self, site: Site):
        """An entry-point file that is no text cannot be told to declare a plugin, and is passed over."""
        site.add("acme-good", entry_points={"good": "m"})
        (site.add("acme-bad") / "entry_points.txt").write_bytes(b"[nr_llm.tool]\n\xff\xfe = m\n")

        assert [point.name for point in mine(site)] == ["good"]

    def test_half_removed(self, site: Site):
        """A folder that an uninstall left behind is named after itself."""
        left = site.folder / "-.dist-info"
        left.mkdir()
        (left / "entry_points.txt").write_text("[nr_llm.tool]\nx = m\n")

        assert "unknown" in {package.distribution for package in installed().unreadable}


class TestReader:
    def test_same_as_the_standard_library(self, site: Site):
        """Importing the backport replaces the standard finder for the process; both see the same entry points."""
        site.add("acme-a", entry_points={"a": "m"})
        ours = {(p.name, p.value) for p in importlib_metadata.entry_points(group="nr_llm.tool")}
        theirs = {(p.name, p.value) for p in importlib.metadata.entry_points(group="nr_llm.tool")}

        assert ours == theirs
        assert ("a", "m") in ours

    def test_host_version(self, site: Site, monkeypatch: pytest.MonkeyPatch):
        """The host's version is its package's, or None when it runs uninstalled."""
        site.add("nr-llm", "1.2.3")
        with_metadata = host_version()
        monkeypatch.setattr(sys, "path", [])

        assert with_metadata == "1.2.3"
        assert host_version() is None


VERSIONS = [
    *("0", "0.1", "0.1.0", "0.1.1", "0.10.1", "1.0", "1.0.0.0", "2"),
    *("0.2.0", "0.2.0rc1", "0.2.0a1", "0.2.0.dev1", "0.2.0b2.dev3"),
]


class TestRange:
    @pytest.mark.parametrize("operator", ["~=", "==", "!=", "<=", ">=", "<", ">"])
    def test_as_packaging(self, operator: str):
        """Every comparison comes out as `packaging` has it, pre-releases counted."""
        for bound, star in itertools.product(VERSIONS, ("", ".*")):
            if star and (operator not in ("==", "!=") or "dev" in bound or "a1" in bound or "rc" in bound):
                continue
            if operator == "~=" and "." not in bound:
                continue
            clause = f"{operator}{bound}{star}"
            expected = [v for v in VERSIONS if SpecifierSet(clause).contains(v, prereleases=True)]
            assert [v for v in VERSIONS if admits(clause, v)] == expected, clause

    def test_several_clauses(self):
        """All clauses have to hold; a local part of the host's version does not matter."""
        assert admits(" >=0.1, <0.3 ,", "0.2.0+local.1")
        assert not admits(">=0.1,<0.3", "0.3.0")

    @pytest.mark.parametrize(("version_range", "version"), [("about 1", "1.0"), ("==x", "1.0"), (">=1", "one")])
    def test_unreadable(self, version_range: str, version: str):
        """What is not written as expected is an error and no guess."""
        with pytest.raises(ValueError, match=r"no range|no version"):
            admits(version_range, version)

    @pytest.mark.parametrize(
        ("requirements", "expected"),
        [
            ([], None),
            (["nr-llm"], None),
            (["NR_LLM (>=0.1, <0.2)"], ">=0.1, <0.2"),
            (["nr-llm[cli,sql]~=0.1.0; python_version >= '3.11'"], "~=0.1.0"),
            (["nr-llm @ file:///x"], None),
            (["nr-llm-tools~=0.1.0", "nr-llm>=2; extra == 'new'", "nr-llm>=1"], ">=1"),
            (["???", "nr-llm>=1"], ">=1"),
        ],
    )
    def test_requirement(self, requirements: list[str], expected: str | None):
        """The range is found among a package's requirements; extras do not count."""
        assert required_range(requirements, "nr-llm") == expected
