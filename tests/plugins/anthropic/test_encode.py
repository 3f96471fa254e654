"""A conversation becomes turns of content blocks as the service takes them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from nr_llm.errors import InvalidRequestError, InvalidValueError
from nr_llm.memo import Memo
from nr_llm.messages import Attachment, ChatMessage, ToolCall

from tests.plugins.anthropic.replies import (
    CODEC,
    MODEL,
    SIGNED,
    asked,
    body_of,
    called,
    payload,
    read,
    text,
    turns_of,
    use,
)

USER = ChatMessage.user("Hello")
RESULT = ChatMessage.tool_result("toolu_1", "2")


def kept(*blocks: dict[str, Any], model: str = MODEL, **changes: Any) -> ChatMessage:
    """Return the turn that a reply of `blocks` by `model` becomes."""
    return read(payload(*blocks), asked(model=model)).to_message(**changes)


class TestTurns:
    def test_neighbours_of_one_side_are_one_turn(self) -> None:
        """The service wants sides to alternate."""
        turns = turns_of(
            USER,
            ChatMessage.user("Still there?"),
            ChatMessage.assistant("Yes"),
            called("c", content="So"),
            ChatMessage.tool_result("c", "2"),
            ChatMessage.user("Go on"),
        )

        assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
        assert turns[0]["content"] == [text("Hello"), text("Still there?")]
        assert turns[1]["content"] == [text("Yes"), text("So"), use({"a": 1}, call_id="c")]
        assert turns[2]["content"] == [{"type": "tool_result", "tool_use_id": "c", "content": "2"}, text("Go on")]

    def test_system_messages_are_hoisted_wherever_they_stand(self) -> None:
        """And part no turn."""
        body = body_of(
            asked(ChatMessage.system("Be brief."), USER, ChatMessage.system("Be kind."), ChatMessage.user("?"))
        )

        assert body["system"] == "Be brief.\n\nBe kind."
        assert body["messages"] == [{"role": "user", "content": [text("Hello"), text("?")]}]

    @pytest.mark.parametrize("blank", ["", " \n"])
    def test_blank_texts_are_left_out(self, blank: str) -> None:
        """A turn of nothing else is none, and does not part its neighbours; a blank instruction is none."""
        body = body_of(asked(ChatMessage.system(blank), USER, ChatMessage.assistant(blank), ChatMessage.user("?")))

        assert "system" not in body
        assert body["messages"] == [{"role": "user", "content": [text("Hello"), text("?")]}]

    def test_a_turn_of_another_provider_s_state_alone_is_none(self) -> None:
        """What only another service understands does not part the turns of this one."""
        foreign = ChatMessage("assistant", "", provider_state={"other": {"x": 1}}, reasoning={"other": "Hm."})

        assert turns_of(USER, foreign, ChatMessage.user("?")) == [
            {"role": "user", "content": [text("Hello"), text("?")]}
        ]

    def test_a_final_assistant_turn_has_no_blanks_at_its_end(self) -> None:
        """The service goes on from it; earlier turns stay as they are."""
        turns = turns_of(USER, ChatMessage.assistant("One "), ChatMessage.user("?"), ChatMessage.assistant("Two: \n"))

        assert [turn["content"][0]["text"] for turn in turns] == ["Hello", "One ", "?", "Two:"]

    def test_a_final_turn_of_calls_is_refused_for_its_open_calls(self) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidValueError, match="have no result"):
            CODEC.encode(asked(USER, called("c")))

    @pytest.mark.parametrize("messages", [(ChatMessage.system("Be brief."),), (ChatMessage.user(" "),)])
    def test_a_conversation_of_nothing_is_refused(self, messages: tuple[ChatMessage, ...]) -> None:
        """The service wants a turn."""
        with pytest.raises(InvalidValueError, match="no message to send"):
            CODEC.encode(asked(*messages))

    def test_the_last_turn_stays_open(self) -> None:
        """A later message may join it: with a memo each request equals the one encoded afresh."""
        messages = (
            USER,
            called("c", "d"),
            ChatMessage.tool_result("c", "2"),
            ChatMessage.tool_result("d", "3"),
            ChatMessage.system("Be kind."),
            ChatMessage.user("Go on"),
            ChatMessage.assistant("Well "),
            ChatMessage.assistant("then"),
            ChatMessage.user("?"),
        )
        memo = Memo()

        assert [segment.closed for segment in CODEC.segments(messages, 0)] == [True, True, True, True, False]
        for count in (1, 4, 5, 6, 7, 8, 9):
            assert CODEC.encode(asked(*messages[:count]), memo) == CODEC.encode(asked(*messages[:count]))


class TestCalls:
    @pytest.mark.lesson(64)
    def test_results_are_in_one_turn_and_say_whether_they_failed(self) -> None:
        """Blank ones have no content."""
        turns = turns_of(
            USER, called("c", "d"), ChatMessage.tool_result("d", "no", is_error=True), ChatMessage.tool_result("c", "")
        )

        assert turns[2]["content"] == [
            {"type": "tool_result", "tool_use_id": "d", "content": "no", "is_error": True},
            {"type": "tool_result", "tool_use_id": "c"},
        ]

    @pytest.mark.parametrize("blank", ["", " \n"])
    def test_a_failure_without_words_gets_some(self, blank: str) -> None:
        """The service refuses an error without content."""
        turns = turns_of(USER, called("c"), ChatMessage.tool_result("c", blank, is_error=True))

        assert turns[2]["content"] == [
            {"type": "tool_result", "tool_use_id": "c", "content": "(no message)", "is_error": True}
        ]

    @pytest.mark.parametrize("call_id", ["functions.add:0", "c 1", "ü", "a\n"])
    def test_ids_the_service_refuses_are_replaced_in_call_and_result(self, call_id: str) -> None:
        """By the same one each time."""
        [_, turn, results] = turns_of(USER, called(call_id), ChatMessage.tool_result(call_id, "2"))

        assert turn["content"][0]["id"] == results["content"][0]["tool_use_id"]
        assert turn["content"][0]["id"].removeprefix("toolu_").isalnum()

    def test_arguments_that_are_none_are_shown_as_they_were(self) -> None:
        """The model sees what it wrote; nobody takes it for no arguments."""
        turn = ChatMessage.assistant_tool_calls([ToolCall("c", "files.read", malformed='{"a": ')])

        [block] = turns_of(USER, turn, ChatMessage.tool_result("c", "bad"))[1]["content"]

        assert block["input"] == {"_raw": '{"a": '}
        assert block["name"].startswith("files_read_")


class TestReplay:
    def test_thinking_goes_back_as_it_came(self) -> None:
        """Signed, in order, beside what this service alone understands."""
        blocks = [
            SIGNED,
            {"type": "redacted_thinking", "data": "x"},
            text("So"),
            use({"a": 1}, caller={"type": "direct"}),
        ]

        assert turns_of(USER, kept(*blocks), RESULT)[1]["content"] == blocks

    def test_an_empty_thought_with_a_signature_goes_back(self) -> None:
        """It is legal, and the call after it wants it."""
        blocks = [SIGNED | {"thinking": ""}, use({"a": 1})]

        assert turns_of(USER, kept(*blocks), RESULT)[1]["content"] == blocks

    @pytest.mark.lesson(51)
    def test_another_model_s_thinking_stays_behind(self) -> None:
        """Its other blocks go along."""
        server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}

        turns = turns_of(USER, kept(SIGNED, server, text("So"), model="claude-opus-4-5"), ChatMessage.user("?"))

        assert turns[1]["content"] == [server, text("So")]

    @pytest.mark.parametrize(
        "blocks",
        [[{"type": "thinking", "thinking": "Hm", "signature": ""}, text("So")], [text("So"), SIGNED]],
        ids=["unsigned", "last"],
    )
    def test_thinking_that_was_cut_off_stays_behind(self, blocks: list[dict[str, Any]]) -> None:
        """The service takes none without a signature, and none with nothing after it."""
        assert turns_of(USER, kept(*blocks), ChatMessage.user("?"))[1]["content"] == [text("So")]

    def test_a_turn_of_thinking_alone_is_none(self) -> None:
        """The people's turns around it are one."""
        assert len(turns_of(USER, kept(SIGNED), ChatMessage.user("?"))) == 1

    def test_ids_and_names_and_arguments_are_those_of_the_message(self) -> None:
        """A call that was renamed answers to its new name."""
        turn = kept(SIGNED, use({"a": 1}), tool_calls=(ToolCall("call_7", "mul", {"b": 2}),))

        turns = turns_of(USER, turn, ChatMessage.tool_result("call_7", "2"))

        assert turns[1]["content"] == [SIGNED, use({"b": 2}, name="mul", call_id="call_7")]

    def test_calls_that_were_taken_away_take_the_blocks_along(self) -> None:
        """Thinking before a call that was not made would be refused."""
        turn = kept(SIGNED, text("So"), use({"a": 1}), tool_calls=())

        assert turns_of(USER, turn, ChatMessage.user("?"))[1]["content"] == [text("So")]

    @pytest.mark.parametrize(
        ("blocks", "sent"),
        [
            ([SIGNED, text("One"), text("Two")], [SIGNED, text("New")]),
            ([SIGNED, use({"a": 1})], [SIGNED, text("New"), use({"a": 1})]),
            ([SIGNED, {"type": "x"}], [SIGNED, {"type": "x"}, text("New")]),
        ],
    )
    def test_a_changed_text_is_told_in_place_of_the_old_one(
        self, blocks: list[dict[str, Any]], sent: list[dict[str, Any]]
    ) -> None:
        """Also where there was none."""
        turn = kept(*blocks, content="New")
        after = (RESULT,) if turn.tool_calls else (ChatMessage.user("?"),)

        assert turns_of(USER, turn, *after)[1]["content"] == sent

    @pytest.mark.parametrize("state", [5, "x", {}, {"content": "x"}, {"content": [5]}])
    def test_state_of_no_known_form_is_left_alone(self, state: Any) -> None:
        """It may come from a file."""
        turn = ChatMessage("assistant", "So", provider_state={"test": state})

        assert turns_of(USER, turn, ChatMessage.user("?"))[1]["content"] == [text("So")]

    def test_a_paused_turn_goes_back_unchanged(self) -> None:
        """As the last one; the service goes on from it."""
        blocks = [text("I look."), {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}]

        assert turns_of(USER, kept(*blocks))[1] == {"role": "assistant", "content": blocks}


class TestAttachments:
    @pytest.mark.parametrize(
        ("attachment", "block"),
        [
            (
                Attachment("image/PNG", b"x"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
            ),
            (
                Attachment("image/jpg", b"x"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "eA=="}},
            ),
            (
                Attachment("image/*", url="https://host/a"),
                {"type": "image", "source": {"type": "url", "url": "https://host/a"}},
            ),
            (
                Attachment("application/pdf", b"x", name="a.pdf"),
                {
                    "type": "document",
                    "title": "a.pdf",
                    "source": {
                        "type": "base64",
                        "media_type": "application/pdf",
                        "data": base64.b64encode(b"x").decode(),
                    },
                },
            ),
            (
                Attachment("application/pdf", url="https://host/a"),
                {"type": "document", "source": {"type": "url", "url": "https://host/a"}},
            ),
            (
                Attachment("text/plain; charset=utf-8", "ä".encode(), name="a.txt"),
                {
                    "type": "document",
                    "title": "a.txt",
                    "source": {"type": "text", "media_type": "text/plain", "data": "ä"},
                },
            ),
        ],
    )
    def test_files_the_service_reads_go_before_the_text(self, attachment: Attachment, block: dict[str, Any]) -> None:
        """As bytes, as an address, or as plain text, documents with their names."""
        assert turns_of(ChatMessage.user("What?", attachment))[0]["content"] == [block, text("What?")]

    @pytest.mark.parametrize(
        ("attachment", "message"),
        [
            (Attachment("audio/wav", b"x"), "no 'audio/wav' can be sent; image/jpeg"),
            (Attachment("image/bmp", b"x"), "no 'image/bmp' can be sent"),
            (Attachment("video/mp4", url="https://host/a"), "no 'video/mp4' can be sent"),
            (Attachment("text/plain", url="https://host/a"), "attach the bytes"),
        ],
    )
    def test_other_files_are_refused_with_what_can_be_sent(self, attachment: Attachment, message: str) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidRequestError, match=message):
            CODEC.encode(asked(ChatMessage.user("What?", attachment)))
