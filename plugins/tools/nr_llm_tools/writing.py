"""The tools that write: a whole text file, or a file's name; in folders that a setting names, over nothing unseen."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import attrs
from nr_llm import Redactor, Tool, ToolArtifact, ToolContext, ToolError, ToolResult, tool
from nr_llm.diffs import ADDED, KEPT, REMOVED, diff_lines
from nr_llm.secrets import MASK

from nr_llm_tools._denied import STARTED_UNASKED, Denied, denied_by
from nr_llm_tools._diff import changes, count_lines, counted
from nr_llm_tools._draft import put, sync
from nr_llm_tools._guard import (
    Parts,
    UnavailableError,
    look_at,
    one_answer,
    open_child_file,
    open_parent,
    open_root,
    parse_path,
    shown,
    unavailable,
)
from nr_llm_tools._rename import rename_new
from nr_llm_tools._text import Skipped, cut, is_binary, read_exactly
from nr_llm_tools.settings import ToolsSettings

_NOT_OPEN: Final = (
    "is not open to writing: names of credentials and histories, and of files that other programs start or obey "
    "unasked, are left to people."
)

_NO_FOLDER: Final = "The folder of a file has to be there, since none is made; list_directory shows what there is."


@attrs.frozen
class _Old:
    """A file that is about to be replaced."""

    text: str
    status: os.stat_result


@attrs.frozen
class WriteTools:
    """
    The writing tools of one root folder.

    Args:
        settings: The folder, those in it that may be written to, and the caps.
        redactor: Masks credentials in what people are shown.
    """

    settings: ToolsSettings
    redactor: Redactor = attrs.field(factory=Redactor)
    _denied: Denied = attrs.field(init=False)
    _folders: tuple[Parts, ...] = attrs.field(init=False)

    @_denied.default
    def _denied_by_settings(self) -> Denied:
        return denied_by((*self.settings.deny, *STARTED_UNASKED))

    @_folders.default
    def _of_settings(self) -> tuple[Parts, ...]:
        return tuple(parse_path(path) for path in self.settings.write)

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools; none where no folder may be written to."""
        if not self._folders:
            return ()
        wrote = {"path": "notes.txt", "content": "Call the bank.\n"}
        moved = {"source": "notes.txt", "destination": "done.txt"}
        return (
            tool(
                group="writing",
                effect="write",
                data_class="content",
                timeout=30.0,
                preview=self._preview_write,
                examples=[wrote],
            )(self.write_file),
            tool(
                group="writing",
                effect="write",
                data_class="content",
                timeout=30.0,
                preview=self._preview_move,
                examples=[moved],
            )(self.move_file),
        )

    def write_file(self, context: ToolContext, path: str, content: str, *, overwrite: bool = False) -> ToolResult:
        """
        Write a whole text file: a new one, or instead of one that is there. A person has to agree first.

        Args:
            context: The call this is.
            path: File, relative to the root folder; its folder has to exist.
            content: All the file shall say; not just the part that changes.
            overwrite: Whether it may replace a file; read that file first.
        """
        parts = parse_path(path)
        data = self._encoded(content, parts)
        with self._folder(parts, tool="write_file") as folder:
            old = self._old(folder, parts, content, overwrite=overwrite)
            if old is not None and old.text == content:
                return ToolResult.text(f"{self._shown(parts)} says this already; nothing was changed.")
            done = ToolResult.text(f"{self._said(parts, old, content, done=True)}.", self._diff(parts, old, content))
            before = None if old is None else old.status
            with self._troubles(parts):
                put(folder, parts[-1], data, over=before, before_it_counts=context.raise_if_cancelled)
        return done

    def _preview_write(self, path: str, content: str, *, overwrite: bool) -> list[str]:
        """Return what `write_file` would do now."""
        try:
            parts = parse_path(path)
            self._encoded(content, parts)
            with self._folder(parts, tool="write_file") as folder:
                old = self._old(folder, parts, content, overwrite=overwrite)
        except ToolError as error:
            return [f"It would fail: {error}"]
        lines = diff_lines(self._diff(parts, old, content).data)
        return [f"{self._said(parts, old, content, done=False)}:", *map(_for_preview, lines)]

    def move_file(self, context: ToolContext, source: str, destination: str) -> ToolResult:
        """
        Move or rename one file; nothing is ever overwritten. A person has to agree first.

        Args:
            context: The call this is.
            source: The file, relative to the root folder.
            destination: Its path to be, name included; the folder has to exist.
        """
        of, to = self._way(source, destination)
        with self._folder(of, tool="move_file") as here, self._folder(to, tool="move_file") as there:
            status = self._movable(here, of)
            context.raise_if_cancelled()
            with self._troubles(to, source=of):
                rename_new(of[-1], to[-1], here=here, there=there)
                if _is_other(there, to[-1], status):
                    rename_new(to[-1], of[-1], here=there, there=here)
                    raise ToolError(f"'{self._shown(of)}' was changed by somebody else just now; it was not moved.")
            sync(there)
            sync(here)
        names = (self._shown(of), self._shown(to))
        return ToolResult.text(f"Moved {names[0]} to {names[1]}.", ToolArtifact.diff(f"Moved {names[0]}", *names))

    def _preview_move(self, source: str, destination: str) -> list[str]:
        """Return what `move_file` would do now."""
        try:
            of, to = self._way(source, destination)
            with self._folder(of, tool="move_file") as here, self._folder(to, tool="move_file") as there:
                size = self._movable(here, of).st_size
                if _is_there(there, to[-1]):
                    raise self._in_the_way(to)
        except ToolError as error:
            return [f"It would fail: {error}"]
        return [f"Moves {self._shown(of)}, {size:,} bytes, to {self._shown(to)}"]

    def _way(self, source: str, destination: str) -> tuple[Parts, Parts]:
        of, to = parse_path(source), parse_path(destination)
        for parts in (of, to):
            self._check(parts)
        if not any(_is_below(of, folder) and _is_below(to, folder) for folder in self._folders):
            raise ToolError(f"A file stays below the folder it is in: {self._named_folders()}.")
        return of, to

    def _movable(self, folder: int, parts: Parts) -> os.stat_result:
        with one_answer(parts):
            status = look_at(folder, parts[-1])
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"'{self._shown(parts)}' is a folder. move_file moves single files.")
        if not stat.S_ISREG(status.st_mode):
            raise unavailable(parts)
        return status

    @contextmanager
    def _folder(self, parts: Parts, *, tool: str) -> Iterator[int]:
        """Open the folder of a file that may be written."""
        self._check(parts)
        with open_root(self.settings.root, tool=tool) as root, ExitStack() as opened:
            try:
                folder = opened.enter_context(open_parent(root, parts, self._denied))
            except UnavailableError:
                raise unavailable(parts, lead=_NO_FOLDER) from None
            yield folder

    def _check(self, parts: Parts) -> None:
        """
        Refuse a path that nothing is written to, whatever there is.

        Raises:
            ToolError: It is such a path.
        """
        name = self._shown(parts)
        if not parts:
            raise ToolError("The path names the root folder, which is no file.")
        if not all(part.isprintable() for part in parts):
            raise ToolError(f"'{name}' is not open to writing: a name has printable characters alone.")
        if any(self._denied(parts[:depth]) for depth in range(1, len(parts) + 1)):
            raise ToolError(f"'{name}' {_NOT_OPEN}")
        if not any(_is_below(parts, folder) for folder in self._folders):
            raise ToolError(f"'{name}' is not open to writing; this is: {self._named_folders()}.")

    def _old(self, folder: int, parts: Parts, content: str, *, overwrite: bool) -> _Old | None:
        """
        Return the file that is about to be replaced, or None where there is none.

        Raises:
            ToolError: It must not be, or cannot be, replaced by this content.
        """
        if not _is_there(folder, parts[-1]):
            return None
        name = self._shown(parts)
        with one_answer(parts):
            status = look_at(folder, parts[-1])
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"'{name}' is a folder.")
        if not overwrite:
            raise self._taken(parts)
        with one_answer(parts):
            fd = open_child_file(folder, parts[-1])
        try:
            old = _Old(self._text(fd, name), os.fstat(fd))
        finally:
            os.close(fd)
        if not old.status.st_mode & 0o222:
            raise ToolError(f"'{name}' is marked as not to be written.")
        if content.count(MASK) > old.text.count(MASK) and self.redactor.redact(old.text) != old.text:
            raise ToolError(
                f"'{name}' holds credentials, which you are shown as {MASK}: what you wrote would destroy them. "
                "Leave this file to the user."
            )
        return old

    def _text(self, fd: int, name: str) -> str:
        limit = self.settings.file_bytes
        text = read_exactly(fd, limit=limit)
        if text is Skipped.LARGE:
            raise ToolError(f"'{name}' is larger than {limit:,} bytes and cannot be replaced.")
        if isinstance(text, Skipped):
            raise ToolError(f"'{name}' is no text file in UTF-8 and cannot be replaced.")
        return text

    def _encoded(self, content: str, parts: Parts) -> bytes:
        name, limit = self._shown(parts), self.settings.file_bytes
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise ToolError(f"The content of '{name}' holds half a character, which no file can hold.") from None
        if len(data) > limit:
            raise ToolError(f"The content of '{name}' has {len(data):,} bytes; the limit is {limit:,}.")
        if is_binary(data):
            raise ToolError(f"The content of '{name}' is no text.")
        return data

    @contextmanager
    def _troubles(self, parts: Parts, *, source: Parts | None = None) -> Iterator[None]:
        """Turn what the system says of a write that failed into what a model can read; nothing was changed by it."""
        try:
            yield
        except FileExistsError:
            raise (self._taken(parts) if source is None else self._in_the_way(parts)) from None
        except FileNotFoundError:
            raise unavailable(source or parts) from None
        except OSError as error:
            why = "it is on another file system" if error.errno == errno.EXDEV else os.strerror(error.errno or 0)
            raise ToolError(f"'{self._shown(parts)}' could not be written: {why}. Nothing was changed.") from None

    def _taken(self, parts: Parts) -> ToolError:
        return ToolError(
            f"There is something at '{self._shown(parts)}' already. Read it; overwrite=true replaces a file."
        )

    def _in_the_way(self, parts: Parts) -> ToolError:
        return ToolError(f"There is something at '{self._shown(parts)}' already; move_file overwrites nothing.")

    def _said(self, parts: Parts, old: _Old | None, content: str, *, done: bool) -> str:
        name, lines = self._shown(parts), _lines(count_lines(content))
        if old is None:
            return f"{'Created' if done else 'Creates'} {name}: {lines}"
        added, removed = counted(old.text, content)
        return f"{'Replaced' if done else 'Replaces'} {name}: {lines}; {added:,} added, {removed:,} removed"

    def _diff(self, parts: Parts, old: _Old | None, content: str) -> ToolArtifact:
        name, mask = self._shown(parts), self.redactor.redact
        lines = changes("" if old is None else mask(old.text), mask(content))
        return ToolArtifact.diff(f"Changes to {name}", None if old is None else name, name, lines=lines)

    def _shown(self, parts: Parts) -> str:
        return cut(self.redactor.redact(shown(parts)), 200)

    def _named_folders(self) -> str:
        return ", ".join(f"'{shown(folder)}'" for folder in self._folders)


def _is_below(parts: Parts, folder: Parts) -> bool:
    return len(parts) > len(folder) and parts[: len(folder)] == folder


def _is_other(folder: int, name: str, status: os.stat_result) -> bool:
    try:
        return not os.path.samestat(look_at(folder, name), status)
    except OSError:  # it went on from there, whose business that is
        return False


def _is_there(folder: int, name: str) -> bool:
    try:
        look_at(folder, name)
    except FileNotFoundError:
        return False
    except OSError:  # whatever it is, it is in the way
        return True
    return True


def _for_preview(line: tuple[str, str]) -> str:
    """
    Return a line of a diff as it can be read in a preview, where blanks are trimmed and collapsed.

    A kept line begins with a bar, or a kept ``- item`` would read as a removed one, and the blanks it begins and ends
    with are shown: they may be all that changes.
    """
    mark, text = line
    if mark not in {KEPT, ADDED, REMOVED}:
        return text
    rest = text[1:].lstrip(" \t")
    body = rest.rstrip(" \t")
    before, after = text[1 : len(text) - len(rest)], rest[len(body) :]
    return f"{'|' if mark == KEPT else mark}{before.translate(_BLANKS)}{body}{after.translate(_BLANKS)}"


_BLANKS: Final = {ord(" "): "·", ord("\t"): "→"}


def _lines(count: int) -> str:
    return f"{count:,} {'line' if count == 1 else 'lines'}"
