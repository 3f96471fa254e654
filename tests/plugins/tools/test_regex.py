"""Regular expressions of a model: Python's meaning, linear time, everything else refused by name."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm_tools._automaton import MAX_INSTRUCTIONS, MAX_POSITIONS, MAX_STEPS, PatternError
from nr_llm_tools._regex import MAX_COUNT, MAX_DEPTH, compile_regex, parse_regex, required_text

PLACES = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
CLASSES = [".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[ab]", "[^a]", "[a-c_]", r"[\d_]", r"[^\w]", "[]a]", "[a-]"]
CHARS = ["a", "b", "_", "é", " ", r"\.", r"\x61", r"\u00e9", r"\t", r"[\]b]", r"[\b]"]
ATOMS = st.sampled_from([*PLACES, *CLASSES, *CHARS])
QUANTIFIERS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{,}", "*?", "+?", "??", "{1,2}?"])


def patterns() -> st.SearchStrategy[str]:
    """Return patterns of the subset, made of each other."""
    return st.recursive(
        ATOMS,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
            st.tuples(inner, QUANTIFIERS).map(lambda pair: f"({pair[0]}){pair[1]}"),
        ),
        max_leaves=6,
    )


def _texts(pattern: str, texts: list[str]) -> list[str]:
    r"""Leave out the empty text for \B: Python 3.14 changed, to ours, what that means."""
    return [text for text in texts if text or r"\B" not in pattern]


@given(patterns(), st.lists(st.text("ab_é1 -.]\t", max_size=8), min_size=1, max_size=6), st.booleans())
def test_a_pattern_means_what_it_means_in_python(pattern: str, texts: list[str], fold: bool) -> None:
    """For every pattern of the subset and every line, both find a match or neither does."""
    source = f"(?i){pattern}" if fold else pattern

    ours, pythons = compile_regex(source), re.compile(source)

    for text in _texts(pattern, [*texts, *(text.upper() for text in texts)]):
        assert bool(pythons.search(text)) is ours.search(text), text


@given(st.text("ab()[]{}|*+?.^$\\-,0:=!<>#Piwds ", max_size=12))
def test_any_text_is_a_pattern_or_is_refused(text: str) -> None:
    """What is accepted means what it means in Python; nothing else but a refusal comes out."""
    try:
        ours = compile_regex(text)
    except PatternError:
        return

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # sets of sets, which neither has today
        pythons = re.compile(text)

    for line in ("", "a", "ab", "b a", "0-", "(a)", "a{b}"):
        assert bool(pythons.search(line)) is ours.search(line), line


@pytest.mark.parametrize("line", ["Ab", "aB", "É", "é"])
def test_a_leading_flag_ignores_case(line: str) -> None:
    """(?i) makes letters and classes match in both cases."""
    assert compile_regex("(?i)^(?:ab|[é])$").search(line)


EVIL = [
    "(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "(a*)*b",
    "((a*)*)*b",
    "(.*)*=(.*)*;",
    ".*.*.*.*.*.*=",
    r"(\w+\s?)*$",
    "(a?){50}a{50}",
    "(a|b)*a(a|b){60}c",
    "([ab]*){9}b",
]


@pytest.mark.parametrize("pattern", EVIL)
@pytest.mark.parametrize("line", ["a" * 2_000 + "!", "ab" * 1_000 + "!", "a" * 1_000 + "=" + "b" * 1_000])
def test_no_pattern_costs_more_than_its_size_for_each_character(pattern: str, line: str) -> None:
    """The visits of instructions, not the time, are counted: at most one of each for each gap between characters."""
    matcher = compile_regex(pattern)

    matcher.search(line)

    assert 0 < matcher.work <= (len(line) + 1) * matcher.size


def test_remembered_steps_are_bounded_and_forgetting_changes_nothing() -> None:
    """A text with more kinds of steps than are kept is matched all the same."""
    matcher = compile_regex("(x.){2}!")
    line = "".join(map(chr, range(0x4E00, 0x4E00 + MAX_STEPS + 100)))

    assert not matcher.search(line)
    assert matcher.search(line + "xaxb!")
    assert sum(len(state.steps) for state in matcher._states.values()) <= MAX_STEPS


def test_remembered_states_are_bounded() -> None:
    """A pattern that is at hundreds of positions at once does not fill the memory with them."""
    matcher = compile_regex("[ab]*a[ab]{400}c")
    numbers = (f"{number:b}".translate({48: "a", 49: "b"}) for number in range(300))

    assert not matcher.search("".join(numbers))
    assert sum(len(state.positions) for state in matcher._states.values()) <= MAX_POSITIONS + matcher.size


@pytest.mark.parametrize(
    "pattern",
    [
        f"a{{{MAX_INSTRUCTIONS}}}",
        "((a{50}){50}){50}",
        "(((){1000}){1000}){1000}",
        "|".join("a" * 600),
        "(ab?c*){200}",
    ],
)
def test_a_large_pattern_is_refused_while_it_is_built(pattern: str) -> None:
    """Counted repeats cannot be used to build a program that is large, or that takes long to build."""
    with pytest.raises(PatternError, match="too large"):
        compile_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)", "look-ahead"),
        ("(?!a)", "look-ahead"),
        ("(?<=a)", "look-behind"),
        ("(?<!a)", "look-behind"),
        (r"(a)\1", "back-reference"),
        ("(?P<x>a)(?P=x)", "back-reference"),
        ("(?>a)", "atomic"),
        ("(?(1)a|b)", "conditional"),
        ("(?#a)", "comment"),
        ("(?x)a", "unknown group"),
        ("a(?i)b", "unknown group"),
        ("a*+", "possessive"),
        ("a**", "repeat of a repeat"),
        ("a{2}{3}", "repeat of a repeat"),
        ("*a", "nothing before"),
        ("^*", "repeats a position"),
        (r"\b+", "repeats a position"),
        ("(a", r"'\(' without"),
        ("a)", r"'\)' without"),
        ("[a", "ends inside a class"),
        ("a\\", "ends inside an escape"),
        ("[\\", "ends inside an escape"),
        ("[b-a]", "not in order"),
        (r"[a-\d]", "not in order"),
        (r"[\1]", "octal"),
        (r"\xg1", r"incomplete '\\x'"),
        (r"\U00110000", r"incomplete '\\U'"),
        (r"\q", r"unknown escape '\\q'"),
        ("a{3,2}", "minimum"),
        (f"a{{{MAX_COUNT + 1}}}", "more than 1000"),
        (f"a{{1,{MAX_COUNT + 1}}}", "more than 1000"),
        ("(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1), "inside each other"),
    ],
)
def test_what_cannot_be_matched_is_refused_by_name(pattern: str, reason: str) -> None:
    """The text names the construct and where it stands."""
    with pytest.raises(PatternError, match=reason):
        compile_regex(pattern)


@pytest.mark.parametrize("pattern", ["a{", "a{x}", "{", "a{1", "{}", "a{}", "x{1,2"])
def test_a_brace_that_is_no_count_is_a_brace(pattern: str) -> None:
    """As in Python, which models have learnt from."""
    assert compile_regex(pattern).search(pattern)


@pytest.mark.parametrize("pattern", ["(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH, f"(a?){{{MAX_INSTRUCTIONS // 2 - 1}}}"])
def test_the_largest_patterns_pass(pattern: str) -> None:
    """Each bound is itself allowed."""
    assert compile_regex(pattern).search("a")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("def (main|run)", "def "),
        ("(abc)d", "abcd"),
        ("(?P<name>abc)d", "abcd"),
        ("a|b", ""),
        (r"\d+", ""),
        ("(?i)abc1", "1"),
        ("x?yz", "yz"),
        ("ab*cde", "cde"),
    ],
)
def test_the_text_every_match_has_is_known(pattern: str, text: str) -> None:
    """It lets whole files be passed by at the speed of a plain search."""
    assert text == required_text(parse_regex(pattern))


@given(patterns(), st.text("ab_é1 -", max_size=8))
def test_a_match_contains_the_required_text(pattern: str, line: str) -> None:
    """Passing by a line without it never loses a match."""
    node = parse_regex(pattern)
    if compile_regex(pattern).search(line):
        assert required_text(node) in line
