"""Which public fault reports there are, by their numbers, and which of them concern no client."""

from __future__ import annotations

from collections.abc import Mapping

SECTIONS: Mapping[str, range] = {
    "arguments that are empty or missing": range(1, 12),
    "objects and lists that are empty": range(12, 22),
    "what is encoded twice": range(22, 30),
    "JSON that is broken or cut": range(30, 39),
    "ids": range(39, 58),
    "pieces of calls": range(58, 80),
    "empty lists": range(80, 87),
    "content that is null or empty": range(87, 95),
    "content that is a list": range(95, 101),
    "results of tools": range(101, 105),
    "Anthropic": range(105, 124),
    "Gemini": range(124, 149),
    "reasoning elsewhere": range(149, 157),
    "Responses": range(157, 165),
    "failures inside a success": range(165, 176),
    "framing": range(176, 194),
    "choices": range(194, 200),
    "reasons for the end": range(200, 204),
    "Ollama": range(204, 210),
    "Mistral's order": range(210, 214),
    "limits and parameters": range(214, 217),
    "schemas": range(217, 222),
    "names": range(222, 225),
    "Unicode": range(225, 227),
    "usage": range(227, 231),
    "retries and errors of providers": range(231, 243),
}
"""The collection's sections with the numbers of their reports."""

NO_CLIENT: Mapping[int, str] = {}
"""Reports that no client can meet, each with the reason; so far there is none."""
