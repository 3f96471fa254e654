"""A browser for all tests, and a page that fails its test on an error, or on a request to anywhere else."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from nr_llm import Actor, Runtime
from nr_llm_playground.app import create_app
from nr_llm_playground.guard import LOOPBACK
from nr_llm_playground.serve import Server, bound
from nr_llm_playground.tokens import Token

from tests.browser.fake import World, serving
from tests.browser.shop import ANN, GATE, make_shop

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
    """Where the page is: behind the server of the tests, unless a module wants the playground's own."""
    with serving(world) as address:
        yield address


class Mounted:
    """Hands an application what is below a path, as a host application would."""

    def __init__(self, app: Any, path: str) -> None:
        self.app, self.path, self.aclose = app, path, app.aclose

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app({**scope, "root_path": self.path}, receive, send)


@contextmanager
def playground(
    path: str = "", *, who: Callable[[Any], Actor | None] = lambda _: ANN, shop: Runtime | None = None
) -> Iterator[str]:
    """Serve the shop by the playground's own server, as its command does, and give the address with its key."""
    GATE.clear()
    runtime = shop or make_shop()[0]
    token, listening = Token(), bound("127.0.0.1", 0)
    app: Any = create_app(runtime, actor=who, token=token, hosts=LOOPBACK)
    server: Any = Server(Mounted(app, path) if path else app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    with runtime:
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}{path}/#token={token.secret}"
        GATE.set()
        server.should_exit = True
        thread.join(20)
    listening.close()


class Watch:
    """What a page did that it must not do."""

    def __init__(self, page: Any, address: str) -> None:
        self.faults: list[str] = []
        self.expected: list[str] = []
        self.posted: list[tuple[str, Any]] = []
        origin = urlsplit(address).netloc
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda said: said.type == "error" and self.faults.append(f"console: {said.text}"))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda sent: urlsplit(sent.url).netloc not in {origin, ""} and self.faults.append(f"left: {sent.url}"),
        )

        page.on("request", self._post)

    def _post(self, sent: Any) -> None:
        if sent.method == "POST":
            self.posted.append((urlsplit(sent.url).path, json.loads(sent.post_data)))

    def sent(self, end: str) -> list[Any]:
        """Return the bodies that went to addresses with this end."""
        return [body for path, body in self.posted if path.endswith(end)]

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
