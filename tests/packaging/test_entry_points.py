"""Loads what is installed, as a host would find it."""

from __future__ import annotations

import importlib.metadata

import pytest

from tests.packaging.members import PLUGINS, Member


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_entry_point_loads(plugin: Member) -> None:
    """The installed distribution has its entry point, and what it names can be imported."""
    try:
        distribution = importlib.metadata.distribution(plugin.name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{plugin.name} is not installed here; pip install -r requirements.txt -c constraints.txt")
    points = distribution.entry_points.select(group="nr_llm.tool")

    assert [point.name for point in points] == [plugin.folder.name]
    assert next(iter(points)).load().__name__ == plugin.package.name


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_installed_version_is_the_checkout_s(plugin: Member) -> None:
    """The tests run against this checkout and no older installation."""
    try:
        version = importlib.metadata.version(plugin.name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{plugin.name} is not installed here; pip install -r requirements.txt -c constraints.txt")

    assert version == plugin.project["version"]
