"""The documented table of attachments is what the plugins do, cell by cell."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from nr_llm import Attachment, ChatMessage, CompletionRequest, InvalidRequestError

from tests.support import ROOT

KINDS = {
    "image": ("image/png", b"\x89PNG\r\n\x1a\n"),
    "PDF": ("application/pdf", b"%PDF-1.7"),
    "plain text": ("text/plain", b"hi"),
    "audio": ("audio/wav", b"RIFF0000WAVE"),
    "video": ("video/mp4", b"0000ftyp"),
}
MADE: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "openai": ("nr_llm_openai", "OpenAI", "gpt-4o", {}),
    "openai, api = responses": ("nr_llm_openai", "OpenAI", "gpt-4o", {"api": "responses"}),
    "openai, any other server": ("nr_llm_openai", "OpenAI", "m", {"base_url": "http://gpu.test/v1"}),
    "anthropic": ("nr_llm_anthropic", "Anthropic", "claude-sonnet-4-5", {}),
    "gemini": ("nr_llm_gemini", "Gemini", "gemini-2.5-flash", {}),
    "ollama": ("nr_llm_ollama", "Ollama", "gemma3", {}),
    "local": ("nr_llm_local.provider", "LocalProvider", "", {}),
}
"""For each row of the table, what makes the provider, and a model that the provider knows if it knows any."""


def rows() -> dict[str, dict[str, str]]:
    """Return the table of the page."""
    lines = (ROOT / "docs/reference/attachments.md").read_text("utf-8").splitlines()
    cells = [
        [cell.replace("`", "").strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| ")
    ]
    head, *found = cells
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in found}


def sends(provider: Any, model: str, attachment: Attachment) -> bool:
    """Say whether an attachment would leave for a model."""
    reads = provider.describe(model).attachments
    if reads is not None and not any(attachment.media_type.startswith(prefix) for prefix in reads):
        return False
    request = CompletionRequest(model=model, messages=(ChatMessage.user("x", attachment),), run_id="r")
    try:
        provider.codec.encode(request)
    except InvalidRequestError:
        return False
    return True


@pytest.mark.parametrize("name", MADE)
def test_each_cell(name: str) -> None:
    """What the table says of a provider is what is sent to it."""
    module, kind, model, settings = MADE[name]
    provider = getattr(importlib.import_module(module), kind)(**settings)
    words = {(True, True): "yes", (True, False): "bytes", (False, False): "no"}

    assert rows()[name] == {
        heading: words[
            sends(provider, model, Attachment(media_type, data, name="file")),
            sends(provider, model, Attachment(media_type, url="https://files.test/file")),
        ]
        for heading, (media_type, data) in KINDS.items()
    }


def test_each_provider_has_a_row() -> None:
    """The table names the providers that are tried here, and no other."""
    assert list(rows()) == list(MADE)
