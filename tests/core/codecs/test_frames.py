"""Whatever a stream holds, its bytes are cut alike, a document is told from it, and a broken one is no answer."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from nr_llm.codecs import frames
from nr_llm.codecs.frames import FrameStream
from nr_llm.codecs.json import JSON
from nr_llm.codecs.reading import object_of, text_of
from nr_llm.codecs.sse import Event
from nr_llm.errors import MalformedReplyError, StreamInterruptedError
from nr_llm.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from nr_llm.responses import CompletionResponse


class Words(FrameStream):
    """A made-up form: each payload is ``{"say": …}``, the last one has ``"end": true``."""

    end_mark = "[END]"

    def __init__(self, framing: Literal["events", "lines"] = "events") -> None:
        super().__init__(provider="words", redact=lambda text: text.replace("k1", "*"), whole=whole, framing=framing)
        self._over = False

    @property
    def ended(self) -> bool:
        return self._over

    def needed(self, event: Event) -> bool:
        return event.name != "ping" and super().needed(event)

    def frame(self, payload: JSON, event: Event, deltas: list[Delta]) -> None:
        fields = object_of(payload)
        if text := text_of(fields.get("say")):
            self._content.append(text)
            deltas.append(TextDelta(text))
        if thought := text_of(fields.get("think")):
            deltas.append(ReasoningDelta(thought))
        if do := object_of(fields.get("do")):
            deltas.append(ToolCallDelta(text_of(do.get("key")), do.get("name"), text_of(do.get("with"))))
        self._over = self._over or bool(fields.get("end"))

    def answer(self) -> CompletionResponse:
        return CompletionResponse(content=self.partial)


def whole(body: bytes) -> CompletionResponse:
    """Read a reply that is no stream."""
    return CompletionResponse(content=f"whole {len(body)}")


def events(*payloads: object) -> bytes:
    """Return a stream of events."""
    return b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads)


def read(*pieces: bytes, framing: Literal["events", "lines"] = "events") -> tuple[str, str]:
    """Return what the deltas and the answer say."""
    stream = Words(framing)
    deltas = [delta for piece in pieces for delta in stream.feed(piece)]
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)), stream.finish().content


GOOD = events({"say": "ä"}, {"say": "b", "end": True})
LINES = b'{"say": "\xc3\xa4"}\r\n\n{"say": "b", "end": true}\n'


def test_a_stream_is_read_however_it_is_cut() -> None:
    """In both framings."""
    for body, framing in ((GOOD, "events"), (LINES, "lines")):
        for i in range(len(body) + 1):
            assert read(body[:i], body[i:], framing=framing) == ("äb", "äb")  # type: ignore[arg-type]


def test_an_end_mark_ends_it() -> None:
    """What follows is not read."""
    stream = Words()
    stream.feed(events({"say": "a"}) + b"data: [END]\n\n" + events({"say": "b"}))

    assert stream.done
    assert stream.finish().content == "a"
    assert read(events({"say": "a"}) + b"data: [END]") == ("a", "a")


def test_a_last_frame_without_its_end_counts_if_it_is_whole() -> None:
    """Half a payload does not."""
    assert read(GOOD.rstrip()) == ("ä", "äb")
    assert read(LINES.rstrip(), framing="lines") == ("ä", "äb")
    for body, framing in ((GOOD[:-9], "events"), (LINES[:-6], "lines")):
        with pytest.raises(StreamInterruptedError) as caught:
            read(body, framing=framing)  # type: ignore[arg-type]
        assert caught.value.partial == "ä"
        assert caught.value.retryable


@pytest.mark.parametrize("body", [b'{"a": 1}', b"[1]", b"<html>", b" \n{}"])
def test_a_document_in_place_of_a_stream_is_read_as_one(body: bytes) -> None:
    """Some servers ignore the wish for a stream."""
    assert read(*(body[i : i + 1] for i in range(len(body)))) == ("", f"whole {len(body)}")


def test_a_byte_order_mark_is_none_of_it() -> None:
    """In front of a stream or of a document, in one piece or in several."""
    mark = b"\xef\xbb\xbf"
    for body in (mark + b"{}", mark + b" [1]"):
        assert read(*(body[i : i + 1] for i in range(len(body)))) == ("", f"whole {len(body)}")
    for body, framing in ((mark + GOOD, "events"), (mark + LINES, "lines")):
        assert read(body, framing=framing) == ("äb", "äb")  # type: ignore[arg-type]
        assert read(body[:2], body[2:], framing=framing) == ("äb", "äb")  # type: ignore[arg-type]


def test_blanks_are_no_stream() -> None:
    """Nor is nothing at all."""
    for body in (b"", b" "):
        with pytest.raises(StreamInterruptedError):
            read(body)


def test_a_document_without_end_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is collected is bounded."""
    monkeypatch.setattr(frames, "MAX_FRAME", 20)

    with pytest.raises(MalformedReplyError, match="exceeds 20 bytes"):
        Words().feed(b"<" + b"x" * 30)


def test_junk_is_told_unless_nobody_needs_it() -> None:
    """With its beginning, masked."""
    assert read(b"event: ping\ndata: junk\n\n" + GOOD) == ("äb", "äb")
    with pytest.raises(MalformedReplyError, match=r"is no JSON: 'junk \*'"):
        Words().feed(b"data: junk k1\n\n")


def deltas_of(*payloads: object) -> list[Delta]:
    """Return what payloads add, and `[END]`."""
    return Words().feed(events(*payloads) + b"data: [END]\n\n")


def test_a_character_in_two_halves_is_one() -> None:
    """As in the answer, whatever comes between them."""
    body = events({"say": "a\ud83d", "think": "b\ud83d"}, {"say": "\ude00"}, {"think": "\ude00c", "end": True})

    assert read(body) == ("a\U0001f600",) * 2
    assert deltas_of({"say": "a\ud83d", "think": "b\ud83d"}, {"say": "\ude00"}, {"think": "\ude00c"}) == [
        TextDelta("a"),
        ReasoningDelta("b"),
        TextDelta("\U0001f600"),
        ReasoningDelta("\U0001f600c"),
    ]


def test_half_a_character_is_shown_as_none() -> None:
    """In text, and in the arguments of the call it belongs to."""
    assert deltas_of({"say": "\ude00ä"}, {"say": "\ud83d"}) == [TextDelta("\ufffdä"), TextDelta("\ufffd")]
    assert deltas_of({"do": {"key": "0", "name": "f", "with": '"\ud83d'}}, {"do": {"key": "1", "name": "g"}}) == [
        ToolCallDelta("0", "f", '"'),
        ToolCallDelta("1", "g"),
        ToolCallDelta("0", None, "\ufffd"),
    ]


def test_the_text_until_a_break_is_valid() -> None:
    """Also when it broke in the middle of a character."""
    with pytest.raises(StreamInterruptedError) as caught:
        read(events({"say": "a\ud83d"}))

    assert caught.value.partial == "a\ufffd"
