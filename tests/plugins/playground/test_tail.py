"""The last lines of a segment: bounded in bytes, read by anybody at any pace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from nr_llm._json import encode_bytes
from nr_llm_playground.lines import LONGEST_TEXT, bounded, stamped
from nr_llm_playground.tail import ENTRY_BYTES, HEARTBEAT, Tail

LINE = b"x" * (100 - ENTRY_BYTES % 100) + b"\n"
Wait = Callable[[], Awaitable[None]]


def numbered(count: int) -> Tail:
    """Return a tail of so many lines that has ended, with room for three."""
    tail = Tail(3 * (ENTRY_BYTES + 10))
    for number in range(count):
        tail.add(f"line {number:04}\n".encode())
    tail.end()
    return tail


def all_of(tail: Tail, after: int = -1) -> bytes:
    """Return what a reader gets."""

    async def read() -> bytes:
        return b"".join([piece async for piece in tail.read(after, heartbeat=60)])

    return asyncio.run(read())


class TestRead:
    """What a reader gets."""

    @pytest.mark.parametrize(("after", "first"), [(-1, 0), (-7, 0), (0, 1), (1, 2), (2, None), (9, None)])
    def test_what_is_behind_a_number(self, after: int, first: int | None) -> None:
        """A reader names the last line they have, and gets what follows."""
        expected = [] if first is None else [f"line {number:04}" for number in range(first, 3)]

        assert all_of(numbered(3), after).decode().split("\n")[:-1] == expected

    @pytest.mark.parametrize("after", [-1, 3])
    def test_what_is_gone_is_told(self, after: int) -> None:
        """In place of lines that were given up stands one that says which."""
        head, *rest = all_of(numbered(10), after).decode().splitlines()

        assert json.loads(head) == {"event": "gap", "from": after + 1, "to": 6}
        assert rest == ["line 0007", "line 0008", "line 0009"]

    def test_lines_come_as_they_are_written(self) -> None:
        """A reader who waits is woken, and one who comes late has what was before."""

        async def main() -> tuple[list[bytes], list[bytes]]:
            tail = Tail(1000)
            early = asyncio.create_task(collected(tail))
            await asyncio.sleep(0)
            for number in range(3):
                tail.add(f"{number}\n".encode())
                await asyncio.sleep(0)
            late = asyncio.create_task(collected(tail))
            await asyncio.sleep(0)
            tail.end()
            return await early, await late

        early, late = asyncio.run(main())
        assert b"".join(early) == b"".join(late) == b"0\n1\n2\n"
        assert len(late) == 1, "what is there comes at once"

    def test_a_heartbeat_while_nothing_happens(self) -> None:
        """It has no number, and the lines go on behind it."""

        async def main() -> list[bytes]:
            tail, got = Tail(1000), []
            async for piece in tail.read(-1, heartbeat=0.001):
                got.append(piece)
                if len(got) == 2:
                    tail.add(b"news\n")
                    tail.end()
            return got

        assert asyncio.run(main()) == [HEARTBEAT, HEARTBEAT, b"news\n"]

    def test_a_slow_reader_gets_a_gap(self) -> None:
        """Who has not taken what was there before it was given up is told, and goes on with what is there."""

        async def main() -> list[bytes]:
            tail, got = Tail(2 * (ENTRY_BYTES + 4)), []
            tail.add(b"0\n")
            async for piece in tail.read(-1, heartbeat=60):
                got.append(piece)
                if len(got) == 1:
                    for number in range(1, 9):
                        tail.add(f"{number}\n".encode())
                    tail.end()
            return got

        assert asyncio.run(main()) == [b"0\n", b'{"event":"gap","from":1,"to":6}\n', b"7\n8\n"]


async def collected(tail: Tail) -> list[bytes]:
    """Return the pieces that a reader gets."""
    return [piece async for piece in tail.read(-1, heartbeat=60)]


class TestBound:
    """How much is kept."""

    def test_bytes_are_counted(self) -> None:
        """However many lines come, and however short they are, what is kept stays below the bound."""
        tail = Tail(10_000)
        for _ in range(5_000):
            tail.add(b"\n")
            assert tail.size <= 10_000

        assert tail.size == (tail.next - tail.first) * (1 + ENTRY_BYTES)

    def test_the_newest_line_is_kept(self) -> None:
        """Whatever it has: a run's end is never lost."""
        tail = Tail(1_000)
        tail.add(b"a\n")
        tail.add(b"b" * 5_000)
        tail.end()

        assert (tail.first, tail.next) == (1, 2)


class TestLines:
    """What a line becomes."""

    def test_stamped(self) -> None:
        """The time is its last field."""
        assert json.loads(stamped('{"event":"done","seq":3}   \n', 12.6)) == {"event": "done", "seq": 3, "t": 13}

    def test_short_enough(self) -> None:
        """A line within the bound is not touched."""
        line = encode_bytes({"event": "step"}) + b"\n"

        assert bounded(line, most=len(line)) is line

    def test_texts_are_cut(self) -> None:
        """In a longer one, wherever they stand; the rest stays, and the line says so."""
        text = "ü" * (LONGEST_TEXT + 700)
        line = encode_bytes({"event": "step", "seq": 4, "step": {"list": [text, 1, None]}}) + b"\n"
        cut = bounded(line, most=len(line) - 1)

        assert json.loads(cut) == {
            "event": "step",
            "seq": 4,
            "step": {"list": [f"{'ü' * LONGEST_TEXT}… [700 more characters]", 1, None]},
            "cut": True,
        }
        assert cut.endswith(b"}\n")

    def test_what_is_too_long_all_the_same(self) -> None:
        """It says which line it is, and no more."""
        line = encode_bytes({"event": "step", "seq": 4, "step": ["x"] * 9_000, "t": 5}) + b"\n"

        assert json.loads(bounded(line, most=1_000)) == {
            "event": "step",
            "seq": 4,
            "t": 5,
            "cut": True,
            "withheld": f"{len(line):,} bytes are too many to show",
        }
