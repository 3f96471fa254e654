"""A home of its own for every test, and a small model in the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nr_llm_local import _pull
from nr_llm_local._cache import Shelf, shelf_of
from nr_llm_local.catalogue import WEIGHTS

from tests.plugins.local.small_weights import Wanted, server, small_weights


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the cache below the test's folder, and no file of the user's own in the way."""
    monkeypatch.setenv("NR_LLM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NR_LLM_LOCAL_MODEL", raising=False)
    monkeypatch.setattr(_pull, "check_cpu", lambda: None)  # whatever machine the tests run on
    return tmp_path / "home"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return the folder that part wheels are in."""
    return tmp_path / "index"


@pytest.fixture
def shelf(home: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Return where the files of the model ``tiny`` are; the folder exists."""
    weights = small_weights(index)
    monkeypatch.setitem(WEIGHTS, "tiny", weights)
    shelf = shelf_of(weights)
    shelf.folder.mkdir(parents=True)
    return shelf


@pytest.fixture
def served() -> Iterator[Wanted]:
    """Serve the small model on this machine."""
    with server() as wanted:
        yield wanted
