"""Names that are imported when asked for."""

from __future__ import annotations

import subprocess
import sys

import nr_llm
import nr_llm.testing
import pytest


@pytest.mark.parametrize("package", [nr_llm, nr_llm.testing], ids=lambda package: package.__name__)
class TestLazyPackages:
    """Both packages that list their names without importing them."""

    def test_every_listed_name_is_there(self, package):
        """Each public name can be had, and is what its module calls so."""
        assert all(getattr(package, name) is not None for name in package.__all__)

    def test_names_are_listed(self, package):
        """Interactive help sees the public names, before anything was imported."""
        assert sorted(package.__all__) == dir(package)

    def test_others_are_refused(self, package):
        """A misspelled name is an attribute error that names the module."""
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nope'"):
            _ = package.nope


def test_importing_the_package_imports_nothing_else() -> None:
    """The package itself loads one small module of its own."""
    code = "import sys, nr_llm; print(sorted(m for m in sys.modules if m.startswith('nr_llm')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert "['nr_llm', 'nr_llm._lazy']" == done.stdout.strip()
