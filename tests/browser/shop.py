"""A small shop whose model is a script: what the playground is shown with, wherever a browser looks at it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import attrs
from nr_llm import (
    Actor,
    AuthenticationError,
    CompletionRequest,
    MemoryStore,
    PrivacyLevel,
    Runtime,
    ToolArtifact,
    ToolContext,
    ToolError,
    ToolResult,
    Usage,
    tool,
)
from nr_llm.responses import CompletionResponse
from nr_llm.testing import ScriptedProvider, calling

ANN = Actor("ann", admin=True)
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script><b>bold</b>"
"""Must stay text wherever it turns up."""

ORDERS: list[list[Any]] = [
    ["A-10", "Lamp, brass", 12, 89.5, "2026-03-09", True],
    ["A-9", "Sofa", 1, 1290.0, "2026-11-02", False],
    ["A-2", "=SUM(A1:A9)", 100, 4.0, "2025-12-31", True],
    ["A-100", "Chair \u202egpj.exe", 9, 45.25, "2026-01-15", None],
    ["A-1", "", None, -3.5, "2026-02-01", False],
]
USED = Usage(input_tokens=612, output_tokens=48)


@tool(group="stock")
def orders(context: ToolContext, status: str = "open") -> ToolResult:
    """List the shop's orders of one status."""
    context.progress("reading the ledger")
    columns = ["order", "article", "pieces", "price", "placed", "paid"]
    lines = "\n".join(f"{row[0]}: {row[1]}" for row in ORDERS)
    return ToolResult.text(lines, ToolArtifact.table(f"Orders, {status}", columns, ORDERS))


@tool(group="stock")
def stock(article: str) -> str:
    """Say how many of an article are in stock."""
    return f"12 of {article} are in stock."


def would_rename(article: str, name: str) -> list[str]:
    return ["catalogue.toml, 1 line changes:", "@@ 4 @@", "| [article]", f"-name = {article!r}", f"+name = {name!r}"]


@tool(effect="write", preview=would_rename, group="catalogue")
def rename(article: str, name: str) -> ToolResult:
    """Give an article another name."""
    lines = [("@", "-4 +4"), (" ", "[article]"), ("-", f"name = {article!r}"), ("+", f"name = {name!r}")]
    diff = ToolArtifact.diff("catalogue.toml", "catalogue.toml", "catalogue.toml", lines=lines)
    return ToolResult.text(f"{article} is now called {name}.", diff)


@tool(effect="write", group="catalogue", preview=lambda article: f"removes {article}, of which 12 are in stock")
def remove(article: str) -> str:
    """Remove an article from the catalogue."""
    return f"{article} is removed."


@attrs.frozen
class Delivery:
    """Where to."""

    street: str
    floor: int = 0
    express: bool = False


@tool(form=Delivery, group="catalogue")
def deliver(article: str, street: str = "", floor: int = 0, *, express: bool = False) -> str:
    """Have an article delivered; a person says where to."""
    return f"{article} goes to {street}, floor {floor}{', express' if express else ''}."


@tool(group="stock")
def count_all(context: ToolContext) -> str:
    """Count the whole stock, which takes long."""
    context.progress("counting shelf 3 of 40")
    GATE.wait(20)
    return "1,204 pieces."


@tool(group="stock")
def audit() -> str:
    """Look for mistakes in the ledger."""
    raise ToolError("The ledger is locked by another program. Try again later.")


@tool(group="stock")
def echo(text: str) -> ToolResult:
    """Give a text back in every way there is."""
    return ToolResult.text(
        text,
        ToolArtifact.table(text, [text, "b"], [[text, 1]]),
        ToolArtifact.text(text, text),
        ToolArtifact.diff(text, text.replace("\n", ""), text.replace("\n", ""), lines=[("+", text.replace("\n", ""))]),
    )


GATE = threading.Event()
"""Lets `count_all` go on."""

TOOLS = [orders, stock, rename, remove, deliver, count_all, audit, echo]

Turn = str | CompletionResponse | Exception
SCRIPTS: dict[str, list[Callable[[], Turn]]] = {
    "orders": [
        lambda: calling(("orders", {"status": "open"}), content="Let me look at the ledger.", usage=USED),
        lambda: said("There are five open orders. The largest is A-9, a sofa for 1,290.00, which is not paid yet."),
    ],
    "tidy": [
        lambda: calling(
            ("rename", {"article": "lamp", "name": "Lamp, brass"}),
            ("remove", {"article": "sofa\u200b"}),
            ("orders", {"status": "open"}),
            usage=USED,
        ),
        lambda: said("The lamp has its new name. The sofa stays, as you wished."),
    ],
    "deliver": [lambda: calling(("deliver", {"article": "lamp"}), usage=USED), lambda: said("It is on its way.")],
    "count": [lambda: calling(("count_all", {}), usage=USED), lambda: said("1,204 pieces.")],
    "audit": [lambda: calling(("audit", {}), ("stock", {"article": "lamp"})), lambda: said("The ledger is locked.")],
    "refuse": [lambda: AuthenticationError("The key is not accepted.", provider="scripted", status=401)],
    "forever": [lambda: calling(("stock", {"article": "lamp"}), usage=USED)] * 40,
    "write": [lambda: said("It was a quiet day in the shop. " * 60)],
    "echo": [
        lambda: attrs.evolve(
            calling(("echo", {"text": MARKUP}), content=MARKUP, usage=USED), reasoning=MARKUP, raw={"said": MARKUP}
        ),
        lambda: said(MARKUP),
    ],
}


def said(text: str) -> CompletionResponse:
    return CompletionResponse(content=text, usage=Usage(input_tokens=938, output_tokens=31))


def answer(request: CompletionRequest) -> Turn:
    """Return what the script of the question's first known word says next."""
    last = max(i for i, message in enumerate(request.messages) if message.role == "user")
    words = re.findall(r"\w+", request.messages[last].content.lower())
    script = next((SCRIPTS[word] for word in words if word in SCRIPTS), [lambda: said("I know nothing of that.")])
    made = sum(message.role == "assistant" for message in request.messages[last:])
    return script[min(made, len(script) - 1)]()


def make_shop(level: PrivacyLevel = PrivacyLevel.FULL, **settings: Any) -> tuple[Runtime, MemoryStore]:
    """Return a runtime with the shop's tools, and the store in memory that keeps its runs."""
    store, script = MemoryStore(), ScriptedProvider(answer)
    given = {"tools": TOOLS, "providers": [script], "model": "scripted:shop", "store": store, "privacy": level}
    return Runtime(**given | settings), store
