"""One conversation with two tools and an image through every provider in turn: they read each other's turns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from nr_llm import Attachment, ChatMessage, Provider, RunResult, Runtime, tool

from tests.integration.formats import FORMATS, IMAGE
from tests.integration.services import Services

COLOURS = ("sync", "async", "sync-stream", "async-stream")


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"{what} is bright"


@tool
def weigh(item: str, *, grams: bool = False) -> str:
    """Weigh something."""
    return f"{item} weighs 4{'000 g' if grams else ' kg'}"


ANSWER = "look: lämp is bright; weigh: chair weighs 4000 g"


@pytest.fixture
def services() -> Iterator[Services]:
    """Return the services, running."""
    with Services() as running:
        yield running


def provider(name: str, url: str) -> Provider:
    """Return the provider of a format, or skip where its plugin is not installed."""
    module = {"chat": "openai", "responses": "openai"}.get(name, name)
    plugin: Any = pytest.importorskip(f"nr_llm_{module}", reason=f"the {module} plugin is not installed here")
    match name:
        case "chat":
            made = plugin.OpenAI(name, base_url=f"{url}/v1")
        case "responses":
            made = plugin.OpenAI(name, base_url=f"{url}/v1", api="responses")
        case "anthropic":
            made = plugin.Anthropic(name, base_url=url, api_key="sk-ant-test")
        case "gemini":
            made = plugin.Gemini(name, base_url=url, api_key="AIza-test")
        case _:
            made = plugin.Ollama(name, base_url=url)
    found: Provider = made
    return found


def converse(services: Services, order: Sequence[str], colour: str) -> tuple[ChatMessage, ...]:
    """Ask the providers in turn, each with the whole conversation so far."""
    runtime = Runtime(providers=[provider(name, services.url) for name in order], tools=[look, weigh])
    if colour.startswith("async"):
        return asyncio.run(converse_later(runtime, order, streamed=colour == "async-stream"))
    messages = START
    with runtime:
        for name in order:
            messages = (*messages, question(name))
            if colour == "sync":
                messages = checked(runtime.run(messages, model=f"{name}:m", tools=[look, weigh]))
            else:
                with runtime.stream(messages, model=f"{name}:m", tools=[look, weigh]) as stream:
                    for _ in stream:
                        pass
                messages = checked(stream.outcome)
    return messages


async def converse_later(runtime: Runtime, order: Sequence[str], *, streamed: bool) -> tuple[ChatMessage, ...]:
    """Ask the providers in turn, awaiting."""
    messages = START
    async with runtime:
        for name in order:
            messages = (*messages, question(name))
            if not streamed:
                messages = checked(await runtime.arun(messages, model=f"{name}:m", tools=[look, weigh]))
                continue
            async with runtime.astream(messages, model=f"{name}:m", tools=[look, weigh]) as stream:
                async for _ in stream:
                    pass
            messages = checked(stream.outcome)
    return messages


START = (ChatMessage.system("Be brief."), ChatMessage.system("Be kind."))


def question(name: str) -> ChatMessage:
    """Return what a person asks."""
    return ChatMessage.user(f"Ask {name}: what is it?", Attachment("image/png", IMAGE))


def checked(outcome: Any) -> tuple[ChatMessage, ...]:
    """Return the conversation after a run that came to the answer."""
    assert isinstance(outcome, RunResult)
    assert outcome.content == ANSWER
    return outcome.messages


def canonical(messages: Sequence[ChatMessage]) -> list[Any]:
    """Return what must be the same whoever answered: without reasoning, state and ids."""
    plain = []
    for message in messages:
        calls = [(call.name, dict(call.arguments)) for call in message.tool_calls or ()]
        plain.append((message.role, message.content, message.is_error, len(message.attachments), calls))
    return plain


ORDERS = [[form.name for form in (*FORMATS[i:], *FORMATS[:i])] for i in range(len(FORMATS))]


@pytest.mark.lesson(49)
@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_a_conversation_goes_through_every_provider(services: Services, order: list[str], colour: str) -> None:
    """Each reads the turns, results and images of all before it, and none gets what another wants back."""
    messages = converse(services, order, colour)

    assert [name for name, _, _ in services.requests] == [name for name in order for _ in range(2)]
    for i, (name, _, asked) in enumerate(services.requests):
        assert asked.images == i // 2 + 1
        assert set(asked.results) == ({"look", "weigh"} if i % 2 else set())
        stateful = next(form.stateful for form in FORMATS if form.name == name)
        assert asked.replayed is (stateful and i % 2 == 1), (name, i)
    assert len(messages) == 2 + 5 * len(order)


@pytest.mark.lesson(35)
def test_the_result_is_the_same_in_all_colours_and_orders() -> None:
    """But for reasoning, state and ids."""
    seen: list[list[Any]] = []
    for colour in COLOURS:
        with Services() as services:
            seen.append(canonical(converse(services, ORDERS[0], colour)))
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize("name", [form.name for form in FORMATS])
def test_the_second_request_holds_both_typed_turns(services: Services, name: str) -> None:
    """The calls with their arguments, the results with what they answer."""
    converse(services, [name], "sync")

    _, body, asked = services.requests[1]
    text = body.decode()
    assert asked.results == {"look": "lämp is bright", "weigh": "chair weighs 4000 g"}
    for part in ("look", "weigh", "lämp", "grams", "lämp is bright", "chair weighs 4000 g"):
        assert part in text


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("second", [form.name for form in FORMATS])
@pytest.mark.parametrize("first", [form.name for form in FORMATS])
def test_a_turn_that_one_began_is_ended_by_another(services: Services, first: str, second: str, streamed: bool) -> None:
    """Calls of one model, their results and an image, with reasoning that only it knows again: the other goes on."""
    makers = {name: provider(name, services.url) for name in (first, second)}
    with Runtime(providers=list(makers.values()), tools=[look, weigh]) as runtime:
        begun = checked(runtime.run([*START, question(first)], model=f"{first}:m", tools=[look, weigh]))[:-1]
        if streamed:
            with runtime.stream(begun, model=f"{second}:n", tools=[look, weigh]) as stream:
                for _ in stream:
                    pass
            ended = checked(stream.outcome)
        else:
            ended = checked(runtime.run(begun, model=f"{second}:n", tools=[look, weigh]))

    assert [name for name, _, _ in services.requests] == [first, first, second]
    _, _, asked = services.requests[-1]
    assert (set(asked.results), asked.images) == ({"look", "weigh"}, 1)
    assert asked.replayed is (first == second and first in FORGIVING)
    assert ended[:-1] == begun


FORGIVING = ("chat", "responses", "gemini")
"""Formats whose models know what another model of the same service wanted back; the others have or want none of it."""
