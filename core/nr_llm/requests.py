"""What a provider is asked: one request in the same form for every service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs

from nr_llm.messages import ChatMessage
from nr_llm.options import Options
from nr_llm.specs import ToolSpec


class TextStage(Protocol):
    """A filter over streamed text: it may hold text back, `finish` gives the rest."""

    def feed(self, text: str) -> str:
        """Take a piece and return what may go on."""

    def finish(self) -> str:
        """Return what was held back."""


@attrs.frozen(kw_only=True)
class CompletionRequest:
    """
    One request to a model, in the same form for every provider.

    Attributes:
        model: The model's name as the provider knows it, without the provider's prefix.
        messages: The conversation.
        tools: The tools on offer; empty for none.
        withheld: Tools the model may not call any more, where none is on offer and the conversation holds calls of
            them.  Some services refuse calls of tools that nobody declares: a form that can declare tools and forbid
            to call them says these, see `nr_llm.codecs.calls.declaring`; any other leaves them out.
        options: What the caller set.
        stages: Makers of text filters, in the order in which they see the text; middleware puts its own in front, so
            that the filter of an inner layer runs before those of outer ones.
        stream: Whether the answer is streamed.
        run_id: The run this belongs to.
        demanding: Whether an answer without the call that `tool_choice` forces is an error.  It is none to whoever
            judges the answer: services may take a forced tool for a wish.
    """

    __hash__ = None  # type: ignore[assignment]  # holds messages

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    withheld: tuple[ToolSpec, ...] = ()
    options: Options = attrs.field(factory=Options)
    stages: tuple[Callable[[], TextStage], ...] = ()
    stream: bool = False
    run_id: str = ""
    demanding: bool = True
