"""What was encoded before is kept, and no byte of a request differs for it, in whatever order requests come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nr_llm import ChatMessage, CompletionRequest
from nr_llm.memo import Memo, Segment
from nr_llm.testing import Harness

from tests.integration.depth import tried
from tests.integration.world import Script, World, model, scripts

openai = pytest.importorskip("nr_llm_openai", reason="the OpenAI plugin is not installed here")
LONG: Script = [[("read", {}), ("nobody", {"n": 1})], [("write", {"n": 2})], [("boom", {}), ("picture", {})]]


def requests(script: Script) -> list[CompletionRequest]:
    """Return what a run asks its model."""
    with Harness() as harness:
        harness.run("Sag 'ü'.", replies=[model(script)], tools=World().tools, system="Be brief.")
        return [attrs.evolve(request, model="m") for request in harness.requests]


@tried(30)
@given(scripts, st.randoms(use_true_random=False), st.booleans())
@example(LONG, None, True)
def test_a_memo_changes_no_byte(script: Script, order: Any, streamed: bool) -> None:
    """The requests of a run, then the same in any order, are encoded alike with and without what is kept."""
    codec, memo = openai.OpenAI(base_url="http://host/v1").codec, Memo()
    asked = [attrs.evolve(request, stream=streamed) for request in requests(script)]
    again = [*asked, *asked]
    if order is not None:
        order.shuffle(again)

    for request in [*asked, *again]:
        assert codec.encode(request) == codec.encode(request, memo)


def test_a_round_encodes_what_is_new() -> None:
    """Each request of a run costs the messages that came since the one before it."""
    codec, memo, costs = openai.OpenAI(base_url="http://host/v1").codec, Memo(), list[int]()

    def counted(messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        costs.append(len(messages) - start)
        return codec.segments(messages, start)  # type: ignore[no-any-return]

    for request in requests(LONG):
        memo.messages(request.messages, counted)

    assert [2, 3, 2, 3] == costs
