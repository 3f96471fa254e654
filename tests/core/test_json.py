"""The one encoder, and the lossless form of values."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import (
    Attachment,
    ChatMessage,
    InvalidValueError,
    Limits,
    MalformedJsonError,
    Options,
    PendingCall,
    PrivacyLevel,
    RunState,
    TerminationReason,
    ToolCall,
    Usage,
    Verdict,
    _json,
)
from nr_llm._json import copy_json, copy_object, decode, encode, encode_bytes, valid_text

from tests.core.test_messages import json_values, messages


class TestEncoder:
    """Encoding and decoding."""

    def test_compact_and_readable(self) -> None:
        """No spaces, and letters as they are."""
        assert '{"ä":[1,null]}' == encode({"ä": [1, None]})

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", object()])
    def test_refusals(self, value: Any) -> None:
        """What is no JSON is refused, never turned into null."""
        with pytest.raises(InvalidValueError, match="not encodable"):
            encode([value])

    @given(value=json_values)
    def test_it_writes_what_json_writes(self, value: Any) -> None:
        """By its inner part alone, or by the whole of it where there is no such part."""
        whole = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(value)

        assert encode(value) == whole
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json.encoder, "c_make_encoder", None)
            assert _json._encode_function()(value) == whole

    def test_cycles_and_depth(self) -> None:
        """A cycle and a bottomless nesting are refused."""
        loop: list[Any] = []
        loop.append(loop)
        deep: Any = 0
        for _ in range(100_000):
            deep = [deep]
        for value in (loop, deep):
            with pytest.raises(InvalidValueError):
                encode(value)

    def test_bytes_are_always_valid(self) -> None:
        """A lone surrogate cannot stop an encoder."""
        assert '"\ufffd"'.encode() == encode_bytes("\ud800")

    @pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", b"\xff", "[" * 100_000])
    def test_malformed(self, text: Any) -> None:
        """What is no JSON raises one error."""
        with pytest.raises(MalformedJsonError):
            decode(text)

    def test_valid_text_is_not_copied(self) -> None:
        """A valid text comes back as the same object."""
        for text in ("ascii", "ümlaut", "\U0001f600"):
            assert text is valid_text(text)


class TestCopy:
    """Checked copies."""

    @pytest.mark.parametrize(
        ("value", "path"),
        [
            ({"a": [1, {"b": {1}}]}, "a[1].b"),
            ([float("inf")], "[0]"),
            ({"a": {2: 1}}, "a"),
            (object(), ""),
        ],
    )
    def test_faults_are_named_by_path(self, value: Any, path: str) -> None:
        """The path to the fault is told."""
        with pytest.raises(InvalidValueError) as caught:
            copy_json(value)
        assert path == caught.value.path

    def test_a_path_may_be_given(self) -> None:
        """The place of the whole value comes first."""
        with pytest.raises(InvalidValueError) as caught:
            copy_json({"a": [b"x"]}, path="root")
        assert "root.a[0]" == caught.value.path

    def test_depth(self) -> None:
        """64 levels pass, 65 do not, a cycle does not."""
        deep: Any = []
        for _ in range(63):
            deep = [deep]
        assert deep == copy_json(deep)
        loop: dict[str, Any] = {}
        loop["a"] = loop
        for value in ([deep], loop):
            with pytest.raises(InvalidValueError, match="nested deeper than 64"):
                copy_json(value)

    def test_subclasses_become_plain(self) -> None:
        """Enums and other subclasses of plain types lose their class."""
        copied = copy_json({"a": (True, Verdict.DENIED, 1.0, type("Int", (int,), {})(3))})
        assert {"a": [True, "denied", 1.0, 3]} == copied
        assert [bool, str, float, int] == [type(item) for item in copied["a"]]  # type: ignore[index,call-overload]

    def test_objects_only(self) -> None:
        """A list is no object."""
        with pytest.raises(InvalidValueError, match="must be a mapping, not a list"):
            copy_object([])

    @given(json_values)
    def test_copies_are_equal(self, value: Any) -> None:
        """A JSON value is its copy, and survives the encoder."""
        assert value == copy_json(value) == decode(encode_bytes(value))


states = st.builds(
    RunState,
    run_id=st.text(),
    model=st.text(),
    messages=st.lists(messages, max_size=4).map(tuple),
    start=st.integers(0, 9),
    allowed=st.none() | st.lists(st.text(), max_size=2).map(tuple),
    rounds=st.integers(0, 9),
    usage=st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
    pending=st.lists(
        st.builds(
            PendingCall,
            index=st.integers(0, 9),
            call=st.builds(ToolCall, st.text(min_size=1), st.text(min_size=1), st.just({}), st.none() | st.text()),
            started=st.booleans(),
            verdict=st.sampled_from(Verdict),
        ),
        max_size=2,
    ).map(tuple),
    answer=st.none() | st.text(),
    reason=st.none() | st.sampled_from(TerminationReason),
)


class TestState:
    """A run state through JSON."""

    @pytest.mark.lesson(24, 25, 130)
    @given(states)
    def test_nothing_is_lost(self, state: RunState) -> None:
        """Any state survives JSON."""
        assert state == RunState.from_json(decode(encode_bytes(state.to_json())))  # type: ignore[arg-type]

    @pytest.mark.lesson(52)
    def test_side_fields_survive(self) -> None:
        """Attachments, reasoning, provider state and extra keys are part of a stored state."""
        state = RunState(
            run_id="r",
            model="m",
            messages=(
                ChatMessage.user(
                    "x", Attachment("image/png", b"\xff\x00", name="n"), Attachment("image/*", url="https://h")
                ),
                ChatMessage(
                    "assistant", "", reasoning={"p": "t"}, provider_state={"p": [1, {"a": None}]}, extra={"k": 1}
                ),
                ChatMessage("assistant", "", tool_calls=[ToolCall("c", "n", {}, malformed="{")]),
                ChatMessage.tool_result("c", "no", is_error=True),
            ),
            options=Options(
                temperature=0.5, stop="x", response_schema={"type": "object"}, provider_options={"p": {"k": [1]}}
            ),
            limits=Limits(rounds=3, seconds=1),
        )
        assert state == RunState.from_json(json.loads(json.dumps(state.to_json())))

    def test_faults_are_all_named(self) -> None:
        """A broken state names every fault with its path."""
        with pytest.raises(InvalidValueError) as caught:
            RunState.from_json({"run_id": 5, "messages": [{"role": "user", "content": "x", "nope": 1}]})

        text = str(caught.value)
        assert all(part in text for part in ("RunState.run_id", "RunState.model", "nope", "messages[0]"))

    def test_numbers_are_not_converted(self) -> None:
        """`7.9` is no count and `5` no text, but `1` is a number of seconds."""
        for bad in ({"rounds": 7.9}, {"rounds": "7"}, {"answer": 5}, {"start": True}):
            with pytest.raises(InvalidValueError):
                RunState.from_json({"run_id": "r", "model": "m"} | bad)
        assert 1 == RunState.from_json({"run_id": "r", "model": "m", "seconds": 1}).seconds

    def test_words_come_back_as_what_they_are(self) -> None:
        """A level, a reason and a verdict are members of their sets again, not texts that look alike."""
        pending = PendingCall(index=0, call=ToolCall("c", "n"), verdict=Verdict.APPROVED)
        state = RunState(run_id="r", model="m", privacy=PrivacyLevel.FULL, reason="length", pending=(pending,))
        again = RunState.from_json(json.loads(json.dumps(state.to_json())))

        assert again.privacy is PrivacyLevel.FULL
        assert again.reason is TerminationReason.LENGTH
        assert again.pending[0].verdict is Verdict.APPROVED
        assert RunState(run_id="r", model="m", privacy="redacted").privacy is PrivacyLevel.REDACTED

    @pytest.mark.parametrize("bad", [{"privacy": "total"}, {"privacy": 7}, {"reason": "bored"}])
    def test_words_nobody_knows_are_refused(self, bad: dict[str, Any]) -> None:
        """The text says where."""
        with pytest.raises(InvalidValueError, match=rf"RunState\.{next(iter(bad))}"):
            RunState.from_json({"run_id": "r", "model": "m"} | bad)

    @pytest.mark.lesson(87)
    def test_no_field_can_hold_an_artifact(self) -> None:
        """No type reachable from a run state is a result or an artifact."""
        names = repr(reachable(RunState))

        assert "ChatMessage" in names
        assert "Artifact" not in names
        assert "ToolResult" not in names


def reachable(kind: type) -> set[str]:
    """Return the annotations of all attrs classes a class reaches."""
    found: set[str] = set()
    queue, seen = [kind], set()
    while queue:
        current = queue.pop()
        if current in seen:
            continue
        seen.add(current)
        for field in attrs.fields(attrs.resolve_types(current)):
            found.add(str(field.type))
            queue += [t for t in flattened(field.type) if attrs.has(t)]
    return found


def flattened(kind: Any) -> list[Any]:
    """Return the classes a type is made of."""
    parts = getattr(kind, "__args__", ())
    return [kind] if not parts and isinstance(kind, type) else [t for part in parts for t in flattened(part)]
