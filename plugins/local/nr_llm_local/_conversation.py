"""Puts a request into the one text a small model reads, and says what it may answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from nr_llm._json import JSON
from nr_llm._turns import declined
from nr_llm.messages import ChatMessage, Role, ToolCall
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

from nr_llm_local._constraint import REPLY, Schema, choice_schema
from nr_llm_local._demonstration import demonstration
from nr_llm_local._open import Step, named, open_points
from nr_llm_local._prompt import answer_text, plain, result_text, system_text, turn

ASSISTANT = "<|im_start|>assistant\n"
CHAT = "You are a helpful assistant. Answer in a few sentences."
CLOSING = "Answer the question in one short sentence using only the data."
_CLOSING_SHOTS = (
    ("room 12: 80 EUR\nroom 14: 65 EUR", "Which room is cheaper?", "Room 14 is cheaper: it costs 65 EUR."),
    ("3 trains, the next one at 10:42", "When does the next train leave?", "The next train leaves at 10:42."),
)


@attrs.frozen(kw_only=True)
class Task:
    """
    What the engine is given.

    Attributes:
        prompt: The whole text.
        schema: What the answer is held to; None for free text.
        made: Calls that were made already and shall not be repeated.
        said: What everybody has said so far: arguments that nobody thought of may be told by it.
        named: What the first call of a request should be about; empty if that cannot be told.
    """

    __hash__ = None  # type: ignore[assignment]  # holds mappings

    prompt: str
    schema: Schema | None
    made: tuple[ToolCall, ...] = ()
    said: str = ""
    named: tuple[str, ...] = ()


def task_of(
    request: CompletionRequest, *, without: Sequence[str] = (), results: int | None = None, calling: bool = False
) -> Task:
    """
    Return the task for a request.

    Args:
        request: The request.
        without: Names of tools that may not be chosen this time.
        results: Results after which the model has to reply, or None.
        calling: Whether it has to call one of the other tools, if there is one.
    """
    tools = _offered(request)
    if not tools:
        return _free(request)
    system = turn("system", system_text(tools, _system(request.messages)))
    prompt = "".join((demonstration(), system, *_turns(request.messages), ASSISTANT))
    enough = results is not None and _found(request.messages) >= results
    allowed = tuple(tool for tool in tools if tool.name not in without and not enough)
    said = "\n".join(message.content for message in request.messages)
    made = tuple(_made(request.messages))
    free = len(allowed) > 1 and request.options.tool_choice in (None, "auto", "required") and not made
    about = named(_question(request.messages)) if free and not _any_writes(tools) else ()
    return Task(prompt=prompt, schema=_schema(request, allowed, calling=calling), made=made, said=said, named=about)


def _offered(request: CompletionRequest) -> tuple[ToolSpec, ...]:
    return () if request.options.tool_choice == "none" else request.tools


def _schema(request: CompletionRequest, tools: Sequence[ToolSpec], *, calling: bool) -> Schema:
    choice = request.options.tool_choice
    if choice not in (None, "auto", "required"):
        tools = tuple(tool for tool in tools if tool.name == choice) or tools
    forced = bool(tools) and (calling or choice not in (None, "auto") or _unfinished(request))
    return choice_schema(tools, reply=False if forced else _reply(request))


def _reply(request: CompletionRequest) -> bool | dict[str, JSON]:
    schema = request.options.response_schema
    return True if schema is None else dict(schema)


def _free(request: CompletionRequest) -> Task:
    """Return a task without tools: closing sentence after results, or plain chat."""
    schema = request.options.response_schema
    held = None if schema is None else choice_schema((), reply=dict(schema))
    data = _data(request.messages)
    if data and schema is None:
        return Task(prompt=_closing(data, _question(request.messages)), schema=None)
    system = turn("system", plain(_system(request.messages)) or CHAT)
    return Task(prompt="".join((system, *_turns(request.messages, spoken=schema is None), ASSISTANT)), schema=held)


def _closing(data: str, question: str) -> str:
    turns = [turn("system", CLOSING)]
    for facts, asked, answer in (*_CLOSING_SHOTS, (plain(data), plain(question), "")):
        turns.append(turn("user", f"Data: {facts}\nQuestion: {asked}"))
        turns.append(turn("assistant", answer) if answer else ASSISTANT)
    return "".join(turns)


def _system(messages: Sequence[ChatMessage]) -> str:
    return "\n\n".join(message.content for message in messages if message.role is Role.SYSTEM)


def _question(messages: Sequence[ChatMessage]) -> str:
    return next((message.content for message in reversed(messages) if message.role is Role.USER), "")


def _data(messages: Sequence[ChatMessage]) -> str:
    """Return the results that came after the last question."""
    results = [message.content for message in _since_question(messages) if message.role is Role.TOOL]
    return "\n".join(reversed(results))


def _found(messages: Sequence[ChatMessage]) -> int:
    """Return how many calls since the last question gave a result."""
    return sum(message.role is Role.TOOL and not message.is_error for message in _since_question(messages))


def _since_question(messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    """Yield what came after the last question, the latest first."""
    for message in reversed(messages):
        if message.role is Role.USER:
            return
        yield message


def _made(messages: Sequence[ChatMessage]) -> Iterator[ToolCall]:
    """Yield the calls that were made since the last question."""
    for message in _since_question(messages):
        yield from message.tool_calls or ()


def _turns(messages: Sequence[ChatMessage], *, spoken: bool = False) -> Iterator[str]:
    """
    Yield the conversation as turns; each call is followed by its result, as the demonstration has it.

    Args:
        messages: The conversation.
        spoken: Whether the assistant speaks plainly, as against in JSON.
    """
    results = {m.tool_call_id: m for m in messages if m.role is Role.TOOL}
    request, steps = "", list[Step]()
    for message in messages:
        if message.role is Role.USER:
            request, steps = message.content, []
            yield turn("user", plain(request))
        elif message.role is Role.ASSISTANT:
            yield from _assistant(message, results, request=request, steps=steps, spoken=spoken)


def _assistant(
    message: ChatMessage, results: dict[str | None, ChatMessage], *, request: str, steps: list[Step], spoken: bool
) -> Iterator[str]:
    if message.content and not message.tool_calls:
        said = message.content if spoken else answer_text(REPLY, {"text": message.content})
        yield turn("assistant", plain(said))
    for call in message.tool_calls or ():
        yield turn("assistant", plain(answer_text(call.name, call.arguments)))
        if (result := results.get(call.id)) is not None:
            steps.append((call, "" if result.is_error else result.content))
            left = open_points(request, steps)
            yield turn("user", result_text(result.content, request, failed=result.is_error, left=left))


def _any_writes(tools: Sequence[ToolSpec]) -> bool:
    """Return whether a tool that writes is on offer: then a model is steered to no call, since it might be that one."""
    return any(tool.writes for tool in tools)


def _unfinished(asked: CompletionRequest) -> bool:
    """
    Return whether the last call brought the request nearer to its end and did not reach it.

    Nobody who has declined a call is asked for another one.
    """
    if _any_writes(asked.tools):
        return False
    messages = asked.messages
    request, steps = _question(messages), list[Step]()
    results = {m.tool_call_id: m for m in messages if m.role is Role.TOOL}
    for message in reversed(tuple(_since_question(messages))):
        for call in message.tool_calls or ():
            if (result := results.get(call.id)) is not None:
                if result.content == declined(call.name):
                    return False
                steps.append((call, "" if result.is_error else result.content))
    left = open_points(request, steps)
    return bool(steps) and bool(left) and (len(steps) == 1 or len(left) < len(open_points(request, steps[:-1])))
