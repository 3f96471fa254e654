"""Prints how many bytes of conversation are encoded per round of a long run: what is new, not what is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from nr_llm import ChatMessage, Limits, Runtime, ToolCall, tool
from nr_llm.memo import Memo, Segment
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_openai import OpenAI

ROUNDS = 200
SHOWN = (1, 2, 3, 10, 50, 100, 150, 200)


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def main() -> int:
    """Run `ROUNDS` rounds, encode each request as a run does, and print the bytes per round."""
    counter = iter(range(1, ROUNDS + 1))

    def reply(_: object) -> object:
        number = next(counter, None)
        return "done" if number is None else calling(ToolCall(f"call_{number}", "add", {"a": number, "b": 1}))

    provider = ScriptedProvider(reply)  # type: ignore[arg-type]
    with Runtime(providers=[provider], tools=[add], model="scripted:", limits=Limits(rounds=ROUNDS + 1)) as runtime:
        runtime.run("Add the numbers, one after the other.", system="You are a helpful assistant.")

    codec, memo, fresh = OpenAI(api_key="none").codec, Memo(), 0

    def counted(messages: Sequence[ChatMessage], start: int) -> Iterator[Segment]:
        nonlocal fresh
        for segment in codec.segments(messages, start):
            fresh += len(segment.data)
            yield segment

    print("round  bytes encoded  bytes sent")
    for number, request in enumerate(provider.requests, 1):
        fresh = 0
        sent = len(memo.messages(request.messages, counted))
        if number in SHOWN:
            print(f"{number:5}  {fresh:13,}  {sent:10,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
