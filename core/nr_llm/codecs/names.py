"""Names and ids as services take them, and the way back: a model, a host or history may have written others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from nr_llm.messages import ChatMessage

WIRE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names a service takes for a tool; a model may have written others, and history repeats them."""


def wire_name(name: str) -> str:
    """Return `name` as services take it: itself, or its permitted characters with a digest that keeps it apart."""
    if WIRE_NAME.fullmatch(name):
        return name
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '_', name)[:55]}_{digest(name)[:8]}"


def own_name(name: str, messages: Sequence[ChatMessage]) -> str:
    """Return the name in `messages` that services know as `name`: what a model repeats from history maps back."""
    names = (call.name for message in messages for call in message.tool_calls or ())
    return next((own for own in names if own != name and wire_name(own) == name), name)


def digest(text: str) -> str:
    """Return 64 letters and digits that stand for `text`, always the same ones."""
    return hashlib.sha256(text.encode()).hexdigest()
