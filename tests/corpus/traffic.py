"""Recorded traffic and reported faults as test parameters, or one parameter that skips where they are absent."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import attrs
import pytest
from _pytest.mark import ParameterSet

from tests.support import shared_folder


@attrs.frozen
class Case:
    """
    One exchange with a service, read when it is used.

    Attributes:
        provider: The service's kind, such as ``openai_compat``.
        path: The file it was recorded in, or None where the recordings are absent.
    """

    provider: str
    path: Path | None

    @property
    def exchange(self) -> dict[str, Any]:
        """The exchange; where the recordings are absent this skips the test."""
        if self.path is None:
            shared_folder()
            pytest.skip(f"no recorded traffic of {self.provider}")
        exchange: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return exchange

    @property
    def body(self) -> bytes:
        """The reply's body as it came."""
        exchange = self.exchange
        if "response_sse" in exchange:
            return str(exchange["response_sse"]).encode()
        if "response_json" in exchange:
            return json.dumps(exchange["response_json"]).encode()
        return str(exchange.get("response_text", "")).encode()


def recorded(
    *providers: str,
    holding: str = "",
    failed: bool | None = None,
    among: Collection[str] | None = None,
    besides: Collection[str] = (),
) -> list[ParameterSet]:
    """
    Return the recorded cases of some services.

    Args:
        providers: The services.
        holding: A key the exchange must hold, such as ``response_sse``.
        failed: Whether its status must, or must not, be one of failure.
        among: Names of the only cases wanted.
        besides: Names of cases that are not wanted.
    """
    try:
        folder = shared_folder() / "corpus" / "recorded"
    except pytest.skip.Exception:
        return [pytest.param(Case(providers[0], None), id="absent")]
    cases = [Case(provider, path) for provider in providers for path in sorted((folder / provider).glob("*.json"))]
    return [
        pytest.param(case, id=f"{case.provider}/{case.path.stem}")
        for case in cases
        if case.path is not None
        and (not holding or holding in case.exchange)
        and (among is None or case.path.stem in among)
        and case.path.stem not in besides
        and (failed is None or (case.exchange["status"] >= 400) is failed)
    ]


def reported(*providers: str) -> dict[str, dict[str, Any]]:
    """Return the reported faults of some services by id; empty where they are absent."""
    try:
        path = shared_folder() / "corpus" / "reported.json"
    except pytest.skip.Exception:
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {row["id"]: row for row in rows if row["provider"] in providers}
