"""Files handed over with a question: texts go into the prompt, images and documents beside it."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import attrs
import click
from nr_llm.messages import Attachment

MOST: Final = 20_000_000
"""Bytes of one file: what the large services take of an image or document."""

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


@attrs.frozen
class Attached:
    """
    Files as a run takes them.

    Attributes:
        text: What to put behind the question; empty if no file is a text.
        attachments: Images and documents.
    """

    text: str
    attachments: tuple[Attachment, ...]


def attach(paths: Iterable[Path]) -> Attached:
    """
    Read files for a question.

    Raises:
        UsageError: A file cannot be read, is too large, or is of no known kind.
    """
    texts, attachments = list[str](), list[Attachment]()
    for path in paths:
        data = _read(path)
        kind = media_type(path.name, data)
        if kind is not None:
            attachments.append(Attachment(kind, data, name=path.name))
        elif (text := _text(data)) is not None:
            texts.append(f"\n\nFile {path.name}:\n{text}")
        else:
            raise click.UsageError(f"{path} is neither text nor of a kind its name or content tells.")
    return Attached("".join(texts), tuple(attachments))


def media_type(name: str, data: bytes) -> str | None:
    """Return the kind of an image or document by its content, then by its name; None for text and the unknown."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    guessed = mimetypes.guess_type(name)[0]
    if guessed is None or _text(data) is not None:
        return None
    return guessed


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MOST:
        raise click.UsageError(f"{path} is larger than {MOST:,} bytes.")
    return data


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
