"""What a person does on the page, in the words of the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ask(page: Any, prompt: str, *, tools: Iterable[str] | None = None, wait: str | None = "done") -> None:
    """Fill in the form and run it; unless None, wait for the run's status."""
    if page.locator("#again").is_visible():
        page.click("#again")
    page.fill("#prompt", prompt)
    if tools is not None:
        choose(page, tools)
    page.click("#ask button[type=submit]")
    if wait:
        status(page, wait)


def choose(page: Any, tools: Iterable[str]) -> None:
    """Tick these tools alone."""
    if page.locator("#tools[open]").count() == 0:
        page.click("#tools > summary")
    page.get_by_role("button", name="None", exact=True).click()
    for name in tools:
        page.locator(f'#tool-list input[value="{name}"]').check()


def status(page: Any, wanted: str) -> None:
    """Wait until the run has a status."""
    page.locator(f'#strip[data-status="{wanted}"]').wait_for()


def step(page: Any, title: str) -> Any:
    """Return the row of the timeline with a title."""
    return page.locator(".step", has=page.get_by_text(title, exact=True)).first


def tab(page: Any, name: str) -> None:
    """Open a tab of the details."""
    page.get_by_role("tab", name=name).click()


def column(page: Any, number: int) -> Any:
    """Return the cells of one column of the table shown; what they hold is to be waited for, since a frame draws it."""
    return page.locator(f"#detail tbody td:nth-child({number})")


def module(page: Any, name: str, expression: str, argument: Any = None) -> Any:
    """Evaluate an expression over a module of the page, named ``m``, and an argument, ``a``."""
    code = f"a => import(new URL('assets/{name}.js', document.baseURI)).then(m => ({expression}))"
    return page.evaluate(code, argument)
