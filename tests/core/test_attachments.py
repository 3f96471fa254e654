"""An attachment that the model is known not to read is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm import Attachment, ChatMessage, InvalidRequestError, Runtime, tool
from nr_llm.testing import ScriptedProvider, calling

IMAGE = Attachment("image/png", b"\x89PNG", name="chart.png")
PDF = Attachment("application/pdf", b"%PDF-")


def runtime(reads: tuple[str, ...] | None, *replies: Any, **settings: Any) -> Runtime:
    """Return a Runtime whose model reads these kinds."""
    provider = ScriptedProvider(*(replies or ("hi",)), attachments=reads)
    return Runtime(providers=[provider], model="scripted:m", **settings)


def test_refused() -> None:
    """The error names the kind, the file, the model, what it reads and what to do."""
    with pytest.raises(InvalidRequestError) as caught:
        runtime(("image/", "text/plain")).run("hi", attachments=[IMAGE, PDF])

    assert str(caught.value) == (
        "scripted: the model 'm' reads no application/pdf, only image/*, text/plain; leave it out, hand over its text, "
        "or name another model"
    )
    assert not caught.value.retryable


def test_a_model_that_reads_none() -> None:
    """A model without attachments refuses each, by its file's name."""
    with pytest.raises(InvalidRequestError, match=r"reads no image/png \(chart\.png\), and no other attachment"):
        runtime(()).run("hi", attachments=[IMAGE])


@pytest.mark.parametrize("reads", [None, ("image/",), ("image/png", "x/")])
def test_let_through(reads: tuple[str, ...] | None) -> None:
    """What it reads is sent; where that is unknown, the codec decides."""
    assert runtime(reads).run("hi", attachments=[IMAGE, Attachment("Image/PNG", b"")]).content == "hi"


def test_everywhere() -> None:
    """A conversation's earlier messages, a single completion and a resumed run are held to the same."""

    @tool(effect="write", approval=True)
    def write() -> str:
        """Write."""
        return "written"

    messages = [ChatMessage.user("look", PDF), ChatMessage.assistant("yes"), ChatMessage.user("hi")]
    blind = runtime(())
    suspended = runtime(None, calling(("write", {})), tools=[write]).run(messages, tools=["write"])

    for attempt in (blind.run, blind.complete, lambda _: blind.resume(suspended, True)):
        with pytest.raises(InvalidRequestError, match="application/pdf"):
            attempt(messages)
