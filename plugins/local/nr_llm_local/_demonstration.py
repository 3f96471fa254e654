"""The conversation a small model is shown before the real one: how tools are chosen, with tools nobody has."""

from __future__ import annotations

import functools

from nr_llm.messages import ToolCall
from nr_llm.specs import ToolSpec

from nr_llm_local._constraint import REPLY
from nr_llm_local._open import Step, open_points
from nr_llm_local._prompt import answer_text, result_text, system_text, turn

_TEXT = {"type": "string"}

TOOLS = (
    ToolSpec(
        "find_rooms",
        "Find free hotel rooms in a city.",
        {"properties": {"city": _TEXT, "max_price": {"type": "number"}}, "required": ["city"]},
    ),
    ToolSpec("book_room", "Book a hotel room.", {"properties": {"room": {"type": "integer"}}, "required": ["room"]}),
    ToolSpec(
        "find_artist",
        "Find out where an artist comes from and how many albums there are.",
        {"properties": {"artist": _TEXT}, "required": ["artist"]},
    ),
)

_DIALOGUES = (
    (
        "Find a room in Bergen under 100 EUR.",
        (("find_rooms", {"city": "Bergen", "max_price": 100}, "room 3: 90 EUR"),),
        "Room 3 in Bergen is free and costs 90 EUR.",
    ),
    (
        "Book the cheapest room in Lisbon.",
        (
            ("find_rooms", {"city": "Lisbon"}, "room 12: 80 EUR\nroom 14: 65 EUR"),
            ("book_room", {"room": 14}, "room 14 is booked"),
        ),
        "I booked room 14 in Lisbon, the cheapest one, for 65 EUR.",
    ),
    ("Hello, how are you?", (), "I am fine, thank you. What can I do for you?"),
    ("Who wrote Hamlet?", (), "William Shakespeare wrote Hamlet."),
    (
        "How many albums did Björk and Enya make?",
        (
            ("find_artist", {"artist": "Björk"}, "Björk: Iceland, 10 albums"),
            ("find_artist", {"artist": "Enya"}, "Enya: Ireland, 8 albums"),
        ),
        "Björk made 10 albums and Enya made 8.",
    ),
)


@functools.cache
def demonstration() -> str:
    """Return the demonstration as text: the same each time, so that the engine keeps what it has read of it."""
    turns = [turn("system", system_text(TOOLS))]
    for request, steps, answer in _DIALOGUES:
        turns.append(turn("user", request))
        made = list[Step]()
        for name, arguments, result in steps:
            made.append((ToolCall("c", name, arguments), result))
            turns.append(turn("assistant", answer_text(name, arguments)))  # type: ignore[arg-type]
            turns.append(turn("user", result_text(result, request, left=open_points(request, made))))
        turns.append(turn("assistant", answer_text(REPLY, {"text": answer})))
    return "".join(turns)
