"""A browser for all tests, and a page that fails its test on an error, or on a request to anywhere else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.fake import World, serving
from tests.browser.shop import GATE, make_shop

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium here; on Debian: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="install playwright, or run the session `browser`")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=SWITCHES)


@pytest.fixture
def world() -> Iterator[World]:
    """The shop behind a server that can be made to break."""
    GATE.clear()
    runtime, store = make_shop()
    with runtime:
        yield World(runtime, store)
        GATE.set()


@pytest.fixture
def address(world: World) -> Iterator[str]:
    with serving(world) as address:
        yield address


class Watch:
    """What a page did that it must not do."""

    def __init__(self, page: Any, address: str) -> None:
        self.faults: list[str] = []
        self.expected: list[str] = []
        origin = urlsplit(address).netloc
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda said: said.type == "error" and self.faults.append(f"console: {said.text}"))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda sent: urlsplit(sent.url).netloc not in {origin, ""} and self.faults.append(f"left: {sent.url}"),
        )

    def expect(self, text: str) -> None:
        """Say that the browser will report this, as it does with each failed request."""
        self.expected.append(text)

    def left(self) -> list[str]:
        return [fault for fault in self.faults if not any(text in fault for text in self.expected)]


@pytest.fixture
def context_settings() -> dict[str, Any]:
    """How the browser is set up; a test's own parameters replace it."""
    return {"viewport": {"width": 1440, "height": 900}}


@pytest.fixture
def page(browser: Any, address: str, context_settings: dict[str, Any]) -> Iterator[Any]:
    """A page on the playground."""
    context = browser.new_context(accept_downloads=True, reduced_motion="reduce", **context_settings)
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.watch, page.address = Watch(page, address), address
    page.goto(address)
    page.locator("#model option").nth(1).wait_for(state="attached")
    yield page
    context.close()
    assert page.watch.left() == []
