"""Files handed over with a question."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from nr_llm_cli import attach as module
from nr_llm_cli.attach import attach, media_type

from tests.plugins.cli.shell import ask, plugin_file


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"\x89PNG\r\n\x1a\n\0", "image/png"),
        ("a", b"\xff\xd8\xff\xe0\0", "image/jpeg"),
        ("a", b"GIF89a\0", "image/gif"),
        ("a", b"%PDF-1.7", "application/pdf"),
        ("a", b"RIFF\0\0\0\0WEBP", "image/webp"),
        ("a.mp3", b"\xff\xfb\0", "audio/mpeg"),
        ("a.py", b"print()", None),
        ("a", b"\0\1", None),
    ],
)
def test_the_content_tells_the_kind(name: str, data: bytes, kind: str | None) -> None:
    """A file is what it holds; its name is asked only where the content says nothing."""
    assert media_type(name, data) == kind


def test_text_goes_into_the_prompt_and_images_beside_it(tmp_path: Path) -> None:
    """Every model reads text; an image is handed over as it is."""
    text, image = tmp_path / "notes.md", tmp_path / "a.png"
    text.write_bytes(b"\xef\xbb\xbfbuy milk")
    image.write_bytes(b"\x89PNG\r\n\x1a\n")

    attached = attach([text, image])

    assert attached.text == "\n\nFile notes.md:\nbuy milk"
    assert [(a.media_type, a.name, a.data) for a in attached.attachments] == [
        ("image/png", "a.png", image.read_bytes())
    ]


@pytest.mark.parametrize(
    ("data", "said"), [(b"\0\1", "neither text"), (b"\xff\xfe\xfd", "neither text"), (b"x" * 11, "larger")]
)
def test_a_file_of_no_use_is_refused(data: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no text and of no known kind, or too large, is named before anybody is asked."""
    monkeypatch.setattr(module, "MOST", 10)
    path = tmp_path / "thing"
    path.write_bytes(data)

    with pytest.raises(click.UsageError, match=said):
        attach([path])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The error has the path and the system's reason."""
    with pytest.raises(click.UsageError, match=r"gone\.txt cannot be read"):
        attach([tmp_path / "gone.txt"])


def test_what_a_model_does_not_read_is_not_sent(tmp_path: Path) -> None:
    """A model that is known to read images only gets no document; one of which nothing is known gets it."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7")
    picky = plugin_file(tmp_path, '"hi"', model='attachments=("image/",)', name="picky")
    result = ask(picky, "-a", path)

    assert ask(plugin_file(tmp_path, '"hi"'), "-a", path).exit_code == 0
    assert (result.exit_code, result.stdout) == (4, "")
    assert "reads no application/pdf (a.pdf), only image/*" in result.stderr
