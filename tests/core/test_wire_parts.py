"""The parts of a message in OpenAI form that go beyond text survive the way there and back."""

from __future__ import annotations

import base64

import pytest
from nr_llm.errors import InvalidValueError
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall


def test_a_developer_s_message_is_taken_as_the_system_s() -> None:
    """Newer models have the word; the core has four roles."""
    message = ChatMessage.from_wire({"role": "developer", "content": "Be brief."})

    assert message == ChatMessage.system("Be brief.")
    assert message.role is Role.SYSTEM


@pytest.mark.parametrize(("media_type", "word"), [("audio/wav", "wav"), ("audio/mpeg", "mp3")])
def test_audio_has_a_part_of_its_own(media_type: str, word: str) -> None:
    """Bytes of the formats the form knows travel as `input_audio`."""
    message = ChatMessage.user("Listen.", Attachment(media_type, b"sound"))
    data = base64.b64encode(b"sound").decode()

    wire = message.to_wire()

    assert wire["content"][1] == {"type": "input_audio", "input_audio": {"data": data, "format": word}}  # type: ignore[index]
    assert ChatMessage.from_wire(wire) == message


def test_audio_of_another_format_is_kept_by_its_name() -> None:
    """What the form does not know is an attachment all the same."""
    part = {"type": "input_audio", "input_audio": {"data": "c291bmQ=", "format": "flac"}}

    message = ChatMessage.from_wire({"role": "user", "content": [part]})

    assert message.attachments == (Attachment("audio/flac", b"sound"),)


def test_audio_that_is_none_is_refused() -> None:
    """A part without its object, or with broken data, is named by its place."""
    for part in ({"type": "input_audio"}, {"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}):
        with pytest.raises(InvalidValueError, match=r"^content\[0\]"):
            ChatMessage.from_wire({"role": "user", "content": [part]})


def test_the_id_of_an_answered_call_is_valid_text_as_the_call_s_own_is() -> None:
    """A lone surrogate in an id is replaced on both sides, so that they still match."""
    call = ToolCall("c\ud800", "add")

    assert ChatMessage.tool_result("c\ud800", "2").tool_call_id == call.id == "c\ufffd"
