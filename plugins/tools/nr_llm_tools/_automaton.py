"""
Matches text in time linear in its length, because the patterns come from a model and must never hang a host.

The standard library's `re` backtracks: a pattern of twelve characters can keep it busy for hours, it cannot be
interrupted from another thread, and it holds the interpreter's lock meanwhile.  So patterns are not handed to it.
They become a program of a few instructions, and a matcher follows *all* ways through the program at once, one
character at a time (Thompson's construction).  A set of positions in the program is a state; states and the steps
between them are remembered, so on ordinary text a character costs one dictionary look-up.

What bounds the work:

- The program has at most `MAX_INSTRUCTIONS` instructions; building it stops there too.
- A character costs at most one visit of each instruction, whatever the pattern: no input makes it worse.
- Remembered steps are thrown away when there are more than `MAX_STEPS`, or states of more than `MAX_POSITIONS`.

The price is that nothing can be matched that needs memory of what was matched: no back-references, no look-around.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

import attrs

MAX_INSTRUCTIONS: Final = 500
"""Instructions of a program; a pattern that needs more is refused."""

MAX_STEPS: Final = 20_000
"""Remembered steps of one matcher, each of about 100 bytes."""

MAX_POSITIONS: Final = 200_000
"""Positions in the remembered states of one matcher, each of about 50 bytes: states of large patterns are large."""

MAX_VISITS: Final = 20_000
"""Tree nodes visited while a program is built: repeats of nothing add no instruction but take time."""


class PatternError(ValueError):
    """A pattern cannot be used; the text says why and is meant for the model."""


class Place(Enum):
    """A condition on the gap between two characters."""

    START = "start"
    END = "end"
    BOUNDARY = "word boundary"
    INSIDE = "no word boundary"


@attrs.frozen
class Take:
    """One character for which `accepts` holds; `literal` is that character when there is only one."""

    accepts: Callable[[str], bool]
    literal: str | None = None


@attrs.frozen
class Seq:
    """One node after the other."""

    items: tuple[Node, ...]


@attrs.frozen
class Alt:
    """Any one of the nodes."""

    options: tuple[Node, ...]


@attrs.frozen
class Repeat:
    """A node `low` to `high` times; no `high` means any number."""

    node: Node
    low: int
    high: int | None


Node = Take | Place | Seq | Alt | Repeat


@attrs.define
class _Split:
    ways: tuple[int, ...]


@attrs.frozen
class _Check:
    place: Place
    after: int


@attrs.frozen
class _Eat:
    accepts: Callable[[str], bool]
    after: int


_Instruction = _Split | _Check | _Eat | None  # None: the pattern has matched


class _Builder:
    """Writes a program back to front, so that each instruction knows the one that follows."""

    def __init__(self) -> None:
        self.program: list[_Instruction] = [None]
        self._visits = 0

    def emit(self, node: Node, after: int) -> int:
        """Append the instructions of `node`, which continue at `after`; return where they begin."""
        self._visits += 1
        if self._visits > MAX_VISITS:
            raise PatternError("the pattern is too large; use smaller repeat counts")
        match node:
            case Take():
                return self._append(_Eat(node.accepts, after))
            case Place():
                return self._append(_Check(node, after))
            case Seq():
                for item in reversed(node.items):
                    after = self.emit(item, after)
                return after
            case Alt():
                return self._append(_Split(tuple(self.emit(option, after) for option in node.options)))
            case _:
                return self._repeat(node, after)

    def _repeat(self, repeat: Repeat, end: int) -> int:
        after = end
        if repeat.high is None:
            loop = _Split((end,))
            after = self._append(loop)
            loop.ways = (self.emit(repeat.node, after), end)
        else:
            for _ in range(repeat.high - repeat.low):
                after = self._append(_Split((self.emit(repeat.node, after), end)))
        for _ in range(repeat.low):
            after = self.emit(repeat.node, after)
        return after

    def _append(self, instruction: _Instruction) -> int:
        if len(self.program) >= MAX_INSTRUCTIONS:
            raise PatternError("the pattern is too large; use fewer alternatives or smaller repeat counts")
        self.program.append(instruction)
        return len(self.program) - 1


class _Side(Enum):
    """What stands on one side of a gap."""

    EDGE = 0
    WORD = 1
    OTHER = 2


def is_word(char: str) -> bool:
    r"""Return whether `\w` matches."""
    return char == "_" or char.isalnum()


def _side(char: str) -> _Side:
    return _Side.WORD if is_word(char) else _Side.OTHER


def _holds(place: Place, before: _Side, after: _Side) -> bool:
    if place is Place.START:
        return before is _Side.EDGE
    if place is Place.END:
        return after is _Side.EDGE
    boundary = (before is _Side.WORD) != (after is _Side.WORD)
    return boundary is (place is Place.BOUNDARY)


class _State:
    """Everything the past can tell the future: positions in the program and the side just left."""

    __slots__ = ("before", "positions", "steps")

    def __init__(self, positions: frozenset[int], before: _Side) -> None:
        self.positions = positions
        self.before = before
        self.steps: dict[str, _State] = {}


_FOUND = _State(frozenset(), _Side.OTHER)


class Matcher:
    """
    A compiled pattern.

    Threads may share one: a state knows all it needs, so steps found twice or forgotten meanwhile are only slower.

    Args:
        node: The pattern.

    Attributes:
        size: Instructions of the program.
        work: Instructions visited so far, at most `size` for each character searched and one end of text.

    Raises:
        PatternError: The pattern is too large.
    """

    def __init__(self, node: Node) -> None:
        builder = _Builder()
        self._start = builder.emit(node, 0)
        self._program = builder.program
        self.size = len(self._program)
        self.work = 0
        self._forget()

    def search(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in `text`."""
        state = self._initial
        for char in text:
            following = state.steps.get(char)
            if following is None:
                following = self._step(state, char)
            if following is _FOUND:
                return True
            state = following
        return self._reach(state, _Side.EDGE) is None

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[int], _Side], _State] = {}
        self._steps = self._positions = 0
        self._initial = self._state(frozenset(), _Side.EDGE)

    def _state(self, positions: frozenset[int], before: _Side) -> _State:
        state = self._states.get((positions, before))
        if state is None:
            self._positions += len(positions)
            state = self._states.setdefault((positions, before), _State(positions, before))
        return state

    def _step(self, state: _State, char: str) -> _State:
        if self._steps >= MAX_STEPS or self._positions >= MAX_POSITIONS:
            self._forget()
        self._steps += 1
        side = _side(char)
        reached = self._reach(state, side)
        if reached is None:
            following = _FOUND
        else:
            positions = frozenset(eat.after for eat in reached if eat.accepts(char))
            following = self._state(positions, side)
        state.steps[char] = following
        return following

    def _reach(self, state: _State, after: _Side) -> list[_Eat] | None:
        """Return the characters that may come next, or None when the pattern has matched in this gap."""
        eats = []
        open_ = [self._start, *state.positions]
        seen = set(open_)
        while open_:
            instruction = self._program[open_.pop()]
            self.work += 1
            ways: tuple[int, ...] = ()
            match instruction:
                case None:
                    return None
                case _Eat():
                    eats.append(instruction)
                case _Check():
                    ways = (instruction.after,) if _holds(instruction.place, state.before, after) else ()
                case _:
                    ways = instruction.ways
            open_ += [way for way in ways if way not in seen]
            seen.update(ways)
        return eats
