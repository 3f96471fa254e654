"""Says where tests find material that is no part of the repository, so that they skip legibly without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
"""The root of the checkout."""


def shared_folder() -> Path:
    """
    Return the folder of recorded traffic, request checkers and benchmarks, or skip the test.

    It is the folder that the variable ``NR_LLM_SHARED`` names, else the folder ``shared`` beside the checkout.

    Returns:
        An existing folder.
    """
    named = os.environ.get("NR_LLM_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no shared test material at {folder}; set NR_LLM_SHARED to its folder")
    return folder
