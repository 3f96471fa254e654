"""Markers are found wherever they leave, and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import pytest
from nr_llm import ChatMessage, CompletionResponse, Retry, Runtime, ToolContext, ToolError, ToolResult, tool
from nr_llm._json import encode_bytes
from nr_llm.memo import Memo, Segment, encode_messages
from nr_llm.providers import HttpRequest
from nr_llm.testing import Canary, assert_no_leak


class Codec:
    """The simplest wire format."""

    provider = "plain"

    def segments(self, messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        for i in range(start, len(messages)):
            yield Segment(i + 1, encode_bytes(messages[i].to_wire()))

    def encode(self, request: Any, memo: Memo | None = None) -> HttpRequest:
        return HttpRequest("POST", "https://x", body=encode_messages(request.messages, self.segments, memo))


def test_the_core_leaks_nothing() -> None:
    """Artifacts and secrets stay where they belong, in both colours and in a failure."""
    assert_no_leak()
    assert_no_leak(codec=Codec())  # type: ignore[arg-type]
    assert_no_leak(middleware=[Retry()])


def test_a_leaking_codec_is_found() -> None:
    """What a codec adds to the bytes is searched."""
    canary = Canary()

    class Leaking(Codec):
        def encode(self, request: Any, memo: Memo | None = None) -> HttpRequest:
            return HttpRequest("POST", f"https://x/?{canary.data}", body=b"")

    with pytest.raises(AssertionError, match=r"^the data marker is in the bytes of a request$"):
        assert_no_leak(canary=canary, codec=Leaking())  # type: ignore[arg-type]


def test_leaking_middleware_is_found() -> None:
    """Text that middleware puts into a request is searched in every form a request has."""
    canary = Canary()

    def layer(inner: Any) -> Any:
        def completer(request: Any) -> Any:
            extra = ChatMessage.user(f"{canary.label} {canary.secret}")
            return (yield from inner(attrs.evolve(request, messages=(*request.messages, extra))))

        return completer

    with pytest.raises(AssertionError) as caught:
        assert_no_leak(canary=canary, middleware=[layer])

    assert {"the label marker is in a request", "the secret marker is in a request"} <= set(
        str(caught.value).split("\n")
    )


def test_a_leaking_answer_is_found_in_state_and_events() -> None:
    """What a reply repeats is found in the stored states and the events, too."""
    canary = Canary()

    def layer(inner: Any) -> Any:
        def completer(request: Any) -> Any:
            yield from inner(request)
            return CompletionResponse(content=canary.data)

        return completer

    with pytest.raises(AssertionError) as caught:
        assert_no_leak(canary=canary, middleware=[layer])

    places = {"a stored state", "the repr of a state", "the repr of a step", "the repr of an event"}
    assert {f"the data marker is in {place}" for place in places} <= set(str(caught.value).split("\n"))


def test_artifacts_that_reach_nobody_are_told() -> None:
    """A check of runs that planted nothing would prove nothing."""

    def layer(inner: Any) -> Any:
        def completer(request: Any) -> Any:
            yield from inner(request)
            return CompletionResponse(content="no calls")

        return completer

    with pytest.raises(AssertionError, match=r"canarydata[0-9a-f]+ is in no live step, where people look for it"):
        assert_no_leak(middleware=[layer])


def careless(where: str) -> Any:
    """Return a tool that lets its secret out somewhere."""

    @tool(effect="write")
    def fetch(context: ToolContext) -> ToolResult:
        """Fetch."""
        secret = context.secret("key")
        if where == "content":
            return ToolResult.text(f"signed in with {secret}")
        if where == "exception":
            raise ValueError(secret)
        if where == "error":
            raise ToolError(secret)
        if where == "log":
            logging.getLogger("acme").info("with %s", secret)
        if where == "artifact":
            from nr_llm import ToolArtifact

            return ToolResult.text("x", ToolArtifact.text("debug", secret))
        return ToolResult.text("fetched")

    return fetch


@pytest.mark.parametrize(("where", "told"), [("log", "the log"), ("artifact", "a live step")])
def test_a_tool_that_lets_its_secret_out_is_found(where: str, told: str) -> None:
    """What the core does not mask for a tool, its own logger and its artifacts, is searched for its secrets."""
    with pytest.raises(AssertionError, match=f"^the secret marker is in {told}$"):
        assert_no_leak(careless(where), secrets=["key"])


@pytest.mark.parametrize("where", ["nowhere", "exception", "content", "error"])
def test_a_tool_whose_secret_is_kept_passes(where: str) -> None:
    """What reaches the model and the core's log is masked, whatever the tool writes there."""
    assert_no_leak(careless(where), secrets=["key"])


def test_a_tool_that_was_refused_is_told() -> None:
    """Arguments that do not fit would let the check pass for nothing."""
    with pytest.raises(AssertionError, match=r"(?s)the tool did not run: .*bogus"):
        assert_no_leak(careless("nowhere"), {"bogus": 1}, secrets=["key"])


def test_a_canary_by_itself() -> None:
    """Its tools plant markers in a run of one's own; what they leave can be searched."""
    canary = Canary()
    with Runtime(secrets={"canary": canary.secret}) as runtime:
        result = runtime.call(canary.tools[0])
    label, data = f"the label marker is in {__name__}", f"the data marker is in {__name__}"

    assert [] == canary.leaks([("the content", result.content)])
    assert [data, label] == canary.leaks([(__name__, str([a.to_dict() for a in result.artifacts]))])
