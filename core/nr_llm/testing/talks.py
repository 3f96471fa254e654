"""A conversation that has everything a conversation may have: what a provider makes of it shows what it loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from nr_llm.messages import ChatMessage, Role, ToolCall
from nr_llm.options import Options
from nr_llm.requests import CompletionRequest
from nr_llm.specs import ToolSpec

STRANGER = "nr-llm-stranger"
"""A provider whose turns are in the conversation; what it keeps to itself is nobody else's."""

PRIVATE = "nrllmprivate"
"""Stands in what the stranger keeps to itself."""

LOOK = ToolSpec(
    "nr_llm_look",
    "Look something up: nrllmtool1.",
    {
        "type": "object",
        "properties": {"what": {"type": "string", "description": "What: nrllmtool2."}, "depth": {"type": "integer"}},
        "required": ["what"],
        "additionalProperties": False,
    },
)

REST = ToolSpec("nr_llm_rest", "Rest: nrllmtool3.", {"type": "object", "properties": {}})

TOOLS = (LOOK, REST)

TALK: tuple[ChatMessage, ...] = (
    ChatMessage.system("Be brief: nrllmword01."),
    ChatMessage.user('nrllmword02 "ü" \\ \n\t \u2028 \U0001f600 \0 {} </s>'),
    ChatMessage.assistant_tool_calls(
        [
            ToolCall("call_a", LOOK.name, {"what": "nrllmword03 é", "depth": 2}),
            ToolCall("call_b", LOOK.name, {"what": "nrllmword04", "more": {"empty": {}, "none": None, "list": []}}),
        ],
        "nrllmword05",
    ),
    ChatMessage.tool_result("call_b", "nrllmword06: it failed", is_error=True),
    ChatMessage.tool_result("call_a", '{"answer": "nrllmword07"}'),
    ChatMessage.assistant("nrllmword08"),
    ChatMessage.user("nrllmword09"),
    ChatMessage.assistant_tool_calls([ToolCall("call_c", REST.name)]),
    ChatMessage.tool_result("call_c", ""),
    ChatMessage(
        Role.ASSISTANT,
        "nrllmword10",
        reasoning={STRANGER: f"{PRIVATE}1"},
        provider_state={STRANGER: [{"blob": f"{PRIVATE}2"}]},
    ),
    ChatMessage.user("nrllmword11"),
    ChatMessage(
        Role.ASSISTANT,
        "",
        tool_calls=(ToolCall("call_d", LOOK.name, {"what": "nrllmword12"}), ToolCall("call_e", REST.name)),
        reasoning={STRANGER: f"{PRIVATE}3"},
        provider_state={STRANGER: {"signature": f"{PRIVATE}4"}},
    ),
    ChatMessage.tool_result("call_d", "nrllmword13"),
    ChatMessage.tool_result("call_e", "nrllmword14"),
    ChatMessage.user("nrllmword15"),
)
"""Parallel calls answered out of order, an error, empty arguments and results, odd characters, another's turns."""

WORDS = [f"nrllmword{number:02}" for number in range(1, 16)]
"""Words of the conversation, none of which may be lost."""

TOOL_WORDS = [LOOK.name, REST.name, *(f"nrllmtool{number}" for number in range(1, 4))]
"""Words of the tools on offer."""


def asking(model: str, messages: Sequence[ChatMessage] = (), **options: object) -> CompletionRequest:
    """Return a request; without messages it is a plain question, with tools on offer either way."""
    given = tuple(messages) or (ChatMessage.user("Hello"),)
    return CompletionRequest(model=model, messages=given, tools=TOOLS, options=Options(**options))  # type: ignore[arg-type]


def rounds(model: str) -> Iterator[CompletionRequest]:
    """Yield the requests of the conversation as it grows, each one that a service may be sent."""
    for end in range(2, len(TALK) + 1):
        last, following = TALK[end - 1], TALK[end] if end < len(TALK) else None
        if last.role is Role.USER or (
            last.role is Role.TOOL and (following is None or following.role is not Role.TOOL)
        ):
            yield asking(model, TALK[:end])


def plain(request: CompletionRequest) -> CompletionRequest:
    """Return a request without what the OpenAI form of messages has no place for."""
    bare = (attrs.evolve(m, is_error=False, reasoning={}, provider_state={}) for m in request.messages)
    return attrs.evolve(request, messages=tuple(bare))
