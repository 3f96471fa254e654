"""A root folder with neighbours that must never be read, and file tools that look into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm import ToolContext, ToolError
from nr_llm_tools import FileTools, ToolsSettings

OUTSIDE = "outside-marker-7f3a"
"""Text of every file that must not be reached."""


class Desk:
    """One root folder and the calls a model can make on it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "root"
        self.root.mkdir()
        (base / "outside.txt").write_text(OUTSIDE)
        (base / "root-evil").mkdir()
        (base / "root-evil" / "file.txt").write_text(OUTSIDE)

    def write(self, name: str, text: str | bytes = "content\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def tools(self, **settings: object) -> FileTools:
        return FileTools(ToolsSettings(root=self.root, **settings))

    def call(self, name: str, /, *args: object, **kwargs: object) -> str:
        """Return what a model reads: the content, or the text of a refusal."""
        try:
            return getattr(self.tools(), name)(ToolContext(), *args, **kwargs).content
        except ToolError as error:
            return f"refused: {error}"

    def all_readers(self, path: str) -> list[str]:
        """Return what each file tool says of a path."""
        return [
            self.call("read_file", path),
            self.call("list_directory", path),
            self.call("find_files", "*", path),
            self.call("search_code", "marker", path),
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a fresh root folder with its neighbours."""
    return Desk(tmp_path)
