"""What a request names and what of it no call has touched yet."""

from __future__ import annotations

import pytest
from nr_llm import ToolCall
from nr_llm_local._open import beside, named, open_points


def call(**arguments: object) -> ToolCall:
    """Return a call with these arguments."""
    return ToolCall("c", "look", arguments)


@pytest.mark.parametrize(
    ("request_", "points"),
    [
        ("What does a pen in Bern and in Rome cost?", ("Bern", "Rome")),
        ("What do 5 pens cost according to lists/price.md?", ("5", "lists/price.md")),
        ("Who sold order A-17 on 2027-03-04?", ("A-17", "2027-03-04")),
        ("Add 19.99 and 5.", ("19.99", "5")),
        ("Read note.txt. Then stop.", ("note.txt",)),
        ("Where is add_tax, and what is RATE?", ("add_tax", "RATE")),
        ("What is this?", ()),
        ("Show a page, e.g. one of the U.S. from 9 a.m. on.", ("9",)),
        ("Add 8 % of 1,250.50 and 3.14.", ("8 %", "1,250.50", "3.14")),
        ("Read 3.txt, v1.2 and 5/notes.", ("3.txt", "v1.2", "5/notes")),
    ],
)
def test_points_of_a_request(request_: str, points: tuple[str, ...]) -> None:
    """Names inside a sentence, paths, codes and numbers; not the word it begins with."""
    assert points == open_points(request_, [])


@pytest.mark.parametrize("text", ["Look at " + "Bern, Rome, Oslo, " * 3, "Sum up for Ann: " + "so it goes " * 60])
def test_a_text_is_no_request(text: str) -> None:
    """What holds many names, or is long, is to be read and not looked up."""
    assert ((), ()) == (open_points(text, []), named(text + " A-17"))


def test_what_an_argument_or_a_result_has_is_touched() -> None:
    """A name in either, whatever its capitals; each is told once."""
    request = "What do pens cost in Bern, Rome, Oslo and Bern?"

    assert open_points(request, [(call(city="bern"), "in ROME: 2 EUR")]) == ("Oslo",)
    assert open_points(request, [(call(city="Bern"), "Rome"), (call(city="Oslo"), "")]) == ()


@pytest.mark.parametrize(
    ("arguments", "result", "left"),
    [
        ({}, "3 lines of 5", ("5",)),
        ({"expression": "5 * 2"}, "10", ()),
        ({"id": 5}, "", ()),
        ({"id": 5.0}, "", ()),
        ({"id": 15}, "5.5", ("5",)),
        ({}, "on row 5: blue", ()),
        ({}, "on row 50: blue", ("5",)),
    ],
)
def test_numbers_are_arguments_or_stand_behind_their_word(
    arguments: dict[str, object], result: str, left: tuple[str, ...]
) -> None:
    """Results are full of numbers that mean something else."""
    assert left == open_points("What colour is row 5?", [(call(**arguments), result)])


@pytest.mark.parametrize(
    ("request_", "expression"),
    [
        ("What is 1,000 times 3?", "1000*3"),
        ("Was ist 1.000,5 mal 3?", "1000.5 * 3"),
        ("What is 15% of 2,500?", "0.15*2500"),
        ("What is 15 % of 80?", "80 * 15 / 100"),
        ("What is 10.50 plus 007?", "10.5+7"),
        ("What is the mean of 1,2,30?", "(1 + 2 + 30) / 3"),
        ("\u0643\u0645 \u0662\u0665 + \u0664?", "25 + 4"),
    ],
)
def test_a_number_is_its_value_however_it_is_written(request_: str, expression: str) -> None:
    """A call that has it is neither beside the point nor followed by one in vain."""
    made = call(expression=expression)

    assert () == open_points(request_, [(made, "")])
    assert not beside(made, named(request_))


def test_a_number_with_a_point_is_told_by_a_result() -> None:
    """A version or an address stands nowhere by chance."""
    assert () == open_points("Is there anything at 10.0.0.7?", [(call(), "hosts: 10.0.0.7 up")])
    assert ("10.0.0.7",) == open_points("Is there anything at 10.0.0.7?", [(call(), "hosts: 10.0.0.8 up")])


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ("Who wrote order A-17?", ("A-17",)),
        ("What is ticket 501?", ("501",)),
        ("Which version does setup.cfg state?", ("setup.cfg",)),
        ("Show 2 rows of Bern.", ()),
        ("What is 5 % of 80?", ()),
    ],
)
def test_what_is_named_unmistakably(request_: str, names: tuple[str, ...]) -> None:
    """Paths, codes and long numbers; a small number counts something, and a word may be meant otherwise."""
    assert names == named(request_)


def test_calls_beside_the_point() -> None:
    """A call is about something if one of the names is in its arguments; about nothing named nothing can be said."""
    assert beside(call(), ("setup.cfg",))
    assert not beside(call(path="Setup.cfg"), ("setup.cfg", "501"))
    assert not beside(call(), ())
