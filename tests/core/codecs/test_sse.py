"""The stream readers give the same events and lines however the bytes are cut."""

from __future__ import annotations

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm.codecs.sse import Event, EventDecoder, LineDecoder
from nr_llm.errors import MalformedReplyError


def is_json(data: str) -> bool:
    """Tell a whole payload from a cut one."""
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def events_of(*pieces: bytes) -> list[Event]:
    """Feed `pieces` and return all events."""
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.finish(is_json)


def lines_of(*pieces: bytes) -> list[bytes]:
    """Feed `pieces` and return all lines and what was left over."""
    decoder = LineDecoder()
    lines = [line for piece in pieces for line in decoder.feed(piece)]
    return [*lines, decoder.finish()]


def slow_lines(data: bytes) -> list[bytes]:
    """Cut `data` into lines one byte at a time, as the standard is written."""
    lines, line, i = [], b"", 0
    data = data.removeprefix(codecs.BOM_UTF8)
    while i < len(data):
        byte = data[i : i + 1]
        if byte in b"\r\n":
            lines.append(line)
            line = b""
            i += data[i : i + 2] == b"\r\n"
        else:
            line += byte
        i += 1
    return [*lines, line]


def slow_events(data: bytes) -> list[Event]:
    """Read events line by line as the standard is written, and a last one as servers leave it."""
    *lines, rest = slow_lines(data)
    events: list[Event] = []
    kept: list[str] = []
    name = ""
    for line in [*lines, *([rest] if rest else [])]:
        if line == b"":
            events += [Event("\n".join(kept), name)] if kept else []
            kept, name = [], ""
            continue
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value[1:] if value[:1] == " " else value
        kept += [value] if field == "data" else []
        name = value if field == "event" else name
    tail = "\n".join(kept)
    return events + ([Event(tail, name)] if kept and is_json(tail) else [])


FRAGMENTS = st.sampled_from(
    [
        b"data: ", b"data:", b"data", b"event: ", b"event:ping", b"id: 7", b"retry: 3", b": hello", b":", b"other: x",
        b"\n", b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\r", b" ", b"{}", b'{"a": "b"}', b"[DONE]",
        "\u00e9\u2028\U0001f600".encode(), b"\xff\xc3", b"\x0b\x0c\x1c\x85", codecs.BOM_UTF8, b"\xef\xbb",
    ]
)  # fmt: skip
STREAMS = st.lists(FRAGMENTS, max_size=24).map(b"".join)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    """Cut `data` at the given places."""
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@given(STREAMS, st.lists(st.integers(0, 400), max_size=8))
def test_events_are_the_same_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    """Any cutting gives the events that a slow reader of the standard gives."""
    assert slow_events(data) == events_of(*pieces_of(data, cuts))


WHOLE = st.sampled_from(
    [
        b"data: 1\n\n", b"data: 2\r\n\r\n", b"data: 3\n", b"\n", b"\r", b"event: x\n", b": c\n\n", b"data: \xff\n\n",
        b"data: a\rb\n\n", b"data: \n\n", b"data: 1\n\n\n", b"data: 1\ndata: 2\n\n", codecs.BOM_UTF8 + b"data: 1\n\n",
    ]
)  # fmt: skip


@given(st.lists(WHOLE, max_size=8))
def test_events_that_come_one_by_one_are_those_that_come_together(pieces: list[bytes]) -> None:
    """Pieces that look like whole events are read in the light of what came before."""
    assert events_of(*pieces) == slow_events(b"".join(pieces))


def test_whole_events_in_a_row() -> None:
    """As services send them: one to a piece."""
    assert events_of(b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n") == [Event("1"), Event("2"), Event("3")]


@given(STREAMS)
def test_events_are_the_same_byte_by_byte(data: bytes) -> None:
    """One byte at a time gives the same events as all at once."""
    assert events_of(data) == events_of(*(data[i : i + 1] for i in range(len(data))))


@given(STREAMS, st.lists(st.integers(0, 400), max_size=8))
def test_lines_are_the_same_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    """Any cutting gives the lines that a slow reader gives."""
    assert slow_lines(data) == [*lines_of(*pieces_of(data, cuts))]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_each_line_end_of_the_standard_ends_an_event(end: bytes) -> None:
    """LF, CRLF and CR are line ends."""
    assert [Event("1"), Event("2")] == events_of(b"data: 1" + end + end + b"data: 2" + end + end)


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"], ids=ascii)
def test_other_separators_do_not_end_a_line(mark: str) -> None:
    """Characters that `str.splitlines` cuts at stay inside the data (reports 182, 183, 184)."""
    assert [Event(f"a{mark}b")] == events_of(f"data: a{mark}b\n\n".encode())


@pytest.mark.parametrize("comment", [b":", b": ping", b":ping", b": OPENROUTER PROCESSING"])
def test_comments_are_no_events(comment: bytes) -> None:
    """A comment, with or without text, gives nothing (reports 176, 177, 178, 180)."""
    assert [Event("1")] == events_of(comment + b"\n\n" + comment + b"\ndata: 1\n" + comment + b"\n\n")


def test_several_data_lines_are_joined_by_a_newline() -> None:
    """Data lines of one event are one text (report 181)."""
    assert [Event('{"a":\n1}')] == events_of(b'data: {"a":\ndata: 1}\n\n')


def test_one_space_after_the_colon_is_taken_off() -> None:
    """`data:x`, `data: x` and `data:  x` differ by what follows the first space."""
    assert [Event("x"), Event("x"), Event(" x")] == events_of(b"data:x\n\ndata: x\n\ndata:  x\n\n")


def test_id_retry_and_unknown_fields_are_ignored() -> None:
    """Only `data` and `event` lines count (report 179)."""
    assert [Event("1", "note")] == events_of(b"id: 4\nretry: 10\nfoo: bar\nevent: note\ndata: 1\n\n")


def test_an_event_name_without_data_is_forgotten() -> None:
    """A name belongs to its own event only."""
    assert [Event("1")] == events_of(b"event: ping\n\ndata: 1\n\n")


def test_a_byte_order_mark_is_taken_off_even_in_pieces() -> None:
    """The mark may straddle chunks; only the first one counts."""
    assert [Event("1"), Event("\ufeff2")] == events_of(b"\xef", b"\xbb\xbfdata: 1\n\ndata: \xef\xbb\xbf2\n\n")


def test_a_stream_of_half_a_byte_order_mark_is_empty() -> None:
    """Nothing is invented from a mark that never ends."""
    assert events_of(b"\xef\xbb") == []


def test_characters_cut_in_two_are_whole_again() -> None:
    """A character that straddles chunks is decoded once (reports 186, 187, 188)."""
    assert [Event("\U0001f600")] == events_of(b"data: \xf0\x9f", b"\x98\x80\n\n")


def test_bytes_that_are_no_utf8_become_visible() -> None:
    """Broken bytes are replaced, and the stream goes on."""
    assert [Event("a\ufffdb"), Event("1")] == events_of(b"data: a\xffb\n\ndata: 1\n\n")


def test_a_last_event_without_blank_line_counts_when_it_is_whole() -> None:
    """Some servers end the stream right after the last payload."""
    assert [Event('{"a": 1}')] == events_of(b'data: {"a": 1}')
    assert [Event('{"a": 1}')] == events_of(b'data: {"a": 1}\n')


def test_a_last_event_without_blank_line_is_dropped_when_it_was_cut() -> None:
    """Half a payload is no event."""
    assert events_of(b'data: {"a": ') == []


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_an_event_beyond_the_limit_is_refused(cut: int) -> None:
    """An endless event ends in a typed error, however it is cut."""
    data = b"data: 123\n" * 4
    decoder = EventDecoder(limit=10)

    with pytest.raises(MalformedReplyError, match="an event of the stream exceeds 10 bytes"):
        for i in range(0, len(data), cut):
            decoder.feed(data[i : i + cut])


@pytest.mark.parametrize("cut", [1, 7, 1000])
@pytest.mark.parametrize("data", [b"x" * 9, b"x\n" + b"y" * 9 + b"\nz\n"], ids=["open", "closed"])
def test_a_line_beyond_the_limit_is_refused(data: bytes, cut: int) -> None:
    """An endless line ends in a typed error, however it is cut."""
    decoder = LineDecoder(limit=8)

    with pytest.raises(MalformedReplyError, match="exceeds 8 bytes"):
        for i in range(0, len(data), cut):
            decoder.feed(data[i : i + cut])


def test_what_fits_the_limit_exactly_passes() -> None:
    """The bound is inclusive, and counts an event, not the stream."""
    decoder = EventDecoder(limit=14)

    assert [Event("12345678")] * 3 == decoder.feed(b"data: 12345678\n\n" * 3)


def test_lines_of_a_stream_of_json_documents() -> None:
    """A document may straddle chunks and several may share one (reports 189 to 193)."""
    assert lines_of(b'{"a"', b': 1}\n{"b": 2}\n{"c"') == [b'{"a": 1}', b'{"b": 2}', b'{"c"']
