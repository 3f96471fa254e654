"""The request checkers made from the services' own SDKs, loaded from the shared test material."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import pytest

from tests.support import shared_folder

Check = Callable[[dict[str, Any]], list[str]]


@lru_cache(maxsize=1)
def _validators() -> ModuleType:
    path = shared_folder() / "oracles" / "validators.py"
    spec = importlib.util.spec_from_file_location("nr_llm_request_checkers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def checker(provider: str, sdk: str, endpoint: str) -> Check:
    """
    Return a function that lists what a service would refuse in a request body.

    Skips the test where the shared material or the SDK is absent.

    Args:
        provider: The checkers' name of the service.
        sdk: Module of the service's SDK.
        endpoint: Path the body goes to.
    """
    shared_folder()
    for module in ("pydantic", sdk):
        pytest.importorskip(module, reason=f"the request checkers need {module}", exc_type=ImportError)
    validators = _validators()

    def check(body: dict[str, Any]) -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: list[str] = validators.validate(provider, body, endpoint)
        return found

    return check
