"""Takes a conversation in any form people have it in: a question, a message, mappings in OpenAI form, a mixture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from nr_llm.errors import InvalidValueError
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall

Prompt: TypeAlias = str | ChatMessage | Mapping[str, Any] | Sequence[ChatMessage | Mapping[str, Any]]
"""A question, or a whole conversation."""


def as_messages(
    prompt: Prompt, *, system: str | None = None, attachments: Iterable[Attachment] = ()
) -> tuple[ChatMessage, ...]:
    """
    Return `prompt` as messages whose calls and results pair.

    Args:
        prompt: A question, a message, or a conversation; mappings are read in OpenAI form.
        system: An instruction to put in front.
        attachments: Images and documents to add to the last message, which must be a user's.

    Raises:
        InvalidValueError: A message breaks a rule, or a call has no result or a result no call; `path` says where.
    """
    messages = list(_read(prompt))
    if system is not None:
        messages.insert(0, ChatMessage.system(system))
    given: object = attachments
    if not isinstance(given, Iterable):
        raise InvalidValueError(f"must be attachments, not a {type(given).__name__}", path="attachments")
    if attached := tuple(attachments):
        if not messages or messages[-1].role is not Role.USER:
            raise InvalidValueError(
                "attachments belong to a user message, and the last message is none", path="attachments"
            )
        last = messages[-1]
        messages[-1] = attrs.evolve(last, attachments=(*last.attachments, *attached))
    if not messages:
        raise InvalidValueError("is empty; give at least one message", path="prompt")
    check_pairs(messages)
    return tuple(messages)


def _read(prompt: Prompt) -> Iterable[ChatMessage]:
    if isinstance(prompt, str):
        return (ChatMessage.user(prompt),)
    if isinstance(prompt, (ChatMessage, Mapping)):
        prompt = (prompt,)
    given: object = prompt
    if not isinstance(given, Iterable):
        raise InvalidValueError(f"must be a text, a message or messages, not a {type(given).__name__}", path="prompt")
    return (_message(item, i) for i, item in enumerate(prompt))


def _message(item: ChatMessage | Mapping[str, Any], i: int) -> ChatMessage:
    if isinstance(item, ChatMessage):
        return item
    try:
        return ChatMessage.from_wire(item)
    except InvalidValueError as error:
        raise InvalidValueError(str(error), path=f"messages[{i}]") from error


def check_pairs(messages: Sequence[ChatMessage], *, start: int = 0, pending: Sequence[ToolCall] = ()) -> None:
    """
    Check that each call is answered before the next turn, once, and that each result answers a call.

    Providers refuse any other conversation, most of them with an error that names neither call nor message.

    Args:
        messages: The conversation.
        start: Index of the first message that was not checked before.
        pending: Calls of its last turn that are still to be answered.

    Raises:
        InvalidValueError: A pair is broken; `path` names the message.
    """
    first = start  # of what was checked before, only the turn that `start` falls into matters
    while first and messages[first - 1].role is Role.TOOL:
        first -= 1
    open_calls: list[ToolCall] = []
    for i in range(max(first - 1, 0), len(messages)):
        message = messages[i]
        if message.role is Role.TOOL:
            answered = next((call for call in open_calls if call.id == message.tool_call_id), None)
            if answered is None:
                raise InvalidValueError(
                    f"answers {message.tool_call_id!r}, which no open call has", path=f"messages[{i}]"
                )
            open_calls.remove(answered)
            continue
        _refuse_open(open_calls, i)
        open_calls = list(message.tool_calls or ())
        if len({call.id for call in open_calls}) < len(open_calls):
            ids = ", ".join(repr(call.id) for call in open_calls)
            raise InvalidValueError(f"has two calls of one id among {ids}", path=f"messages[{i}]")
    if pending and open_calls != list(pending):
        raise InvalidValueError("the pending calls are not those its last turn has open", path="messages")
    if not pending:
        _refuse_open(open_calls, len(messages))


def _refuse_open(open_calls: Sequence[ToolCall], i: int) -> None:
    if open_calls:
        ids = ", ".join(repr(call.id) for call in open_calls)
        raise InvalidValueError(f"the calls {ids} have no result; add one tool message for each", path=f"messages[{i}]")
