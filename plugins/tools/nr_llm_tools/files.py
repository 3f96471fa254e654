"""The file tools: what is in a folder, where a file is, what it says, and where a text stands."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs
from nr_llm import Redactor, Tool, ToolContext, ToolError, ToolResult, tool

from nr_llm_tools._automaton import PatternError
from nr_llm_tools._denied import Denied, denied_by
from nr_llm_tools._glob import WILDCARDS, compile_globs
from nr_llm_tools._guard import (
    Parts,
    UnavailableError,
    is_file,
    open_child_file,
    open_file,
    open_folder,
    open_root,
    parse_path,
    shown,
    unavailable,
)
from nr_llm_tools._leads import MENTIONS, anything, mentions, near, wider
from nr_llm_tools._scan import FOLDER, Scan, size_of
from nr_llm_tools._search import Hits, Query, search_text
from nr_llm_tools._table import Row, fitting, showing, table_result
from nr_llm_tools._text import MAX_LINE, Skipped, clamp, cut, read_text, split_lines, visible_line, visible_name
from nr_llm_tools.settings import ToolsSettings

MAX_ENTRIES: Final = 100
MAX_FILES: Final = 200
MAX_HITS: Final = 100
MAX_LINES: Final = 1_000
MAX_PATTERN: Final = 200
READ_BYTES: Final = 40_000
"""Bytes of text one reading returns, so that its own note on what follows is never cut off by the run's bound."""

LEAD_BYTES: Final = 10_000
"""Bytes of lines that are shown where no file was found."""

_OTHERWISE: Final = "A shorter part of the name may find more; search_code looks inside files."

Clock = Callable[[], float]
Wanted = Callable[[Parts, Parts], bool]
"""Tells whether a file, given below the folder searched and below the root, is one to look at."""


@attrs.frozen
class FileTools:
    """
    The file tools of one root folder.

    Args:
        settings: The folder and its caps.
        clock: Seconds that only grow.
        redactor: Masks credentials in every text before it is searched or shown.
    """

    settings: ToolsSettings
    clock: Clock = time.monotonic
    redactor: Redactor = attrs.field(factory=Redactor)
    _denied: Denied = attrs.field(init=False)

    @_denied.default
    def _denied_by_settings(self) -> Denied:
        return denied_by(self.settings.deny)

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools, all of them reads."""
        return (
            _read(self.list_directory, ({"path": "."}, {"path": "docs"})),
            _read(self.find_files, ({"pattern": "*.toml"}, {"pattern": "test_*.py", "path": "tests"})),
            _read(self.read_file, ({"path": "README.md"}, {"path": "src/app.py", "start_line": 201})),
            _read(self.search_code, ({"text": "def main"}, {"text": "TODO", "pattern": "*.py"})),
        )

    def list_directory(self, context: ToolContext, path: str = ".") -> ToolResult:
        """
        List what is in one folder: kind, size and name of each file and folder.

        Args:
            context: The call this is.
            path: Folder, relative to the root folder; "." is the root folder itself.
        """
        parts = parse_path(path)
        scan = self._scan(context)
        with open_root(self.settings.root, tool="list_directory") as root, self._proposing(parts, context):
            if is_file(root, parts, self._denied):
                raise ToolError(f"'{shown(parts)}' is a file. read_file shows what is in it.")
            with open_folder(root, parts, self._denied) as folder:
                try:
                    entries = scan.entries(folder, parts)
                except OSError:
                    raise unavailable(parts) from None
                entries.sort(key=lambda entry: entry[1] != FOLDER)
                rows = fitting(
                    (kind, size_of(folder, name), self._shown((name,))) for name, kind in entries[:MAX_ENTRIES]
                )
        count = showing(len(rows), len(entries), "entry", more=scan.partial)
        hint = [] if len(rows) == len(entries) else ["find_files with a pattern finds the others."]
        return table_result(
            f"{self._shown(parts)}: {count}",
            ("kind", "bytes", "name"),
            rows,
            label=f"Folder {self._shown(parts)}",
            notes=hint + scan.notes(),
        )

    def find_files(self, context: ToolContext, pattern: str, path: str = ".", limit: int = 50) -> ToolResult:
        """
        List the files that have a given name, a part of it or an ending, in a folder and all folders below it.

        Args:
            context: The call this is.
            pattern: A part of the name, such as "config", or a pattern, such as "*.py" or "src/**/test_*.py".
            path: Folder to begin in, relative to the root folder.
            limit: How many files to show, at most 200.
        """
        wanted = _name_filter(pattern)
        parts = parse_path(path)
        limit = clamp(limit, 1, MAX_FILES, default=50)
        scan = self._scan(context)
        total = 0
        found: list[Row] = []
        with (
            open_root(self.settings.root, tool="find_files") as root,
            self._proposing(parts, context),
            open_folder(root, parts, self._denied) as folder,
        ):
            for parent, file in scan.files(folder, parts):
                if wanted(file[len(parts) :], file):
                    total += 1
                    if total <= limit:
                        found.append((size_of(parent, file[-1]), self._shown(file)))
            leads = [] if total else self._leads(root, pattern, scan.again())
        rows = fitting(found)
        count = showing(len(rows), total, "file", more=scan.partial)
        return table_result(
            f"{count} matching {_quoted(pattern)} in {self._shown(parts)}",
            ("bytes", "path"),
            rows,
            label=f"Files matching {_quoted(pattern)}",
            notes=[*leads, *scan.notes()],
        )

    def read_file(self, context: ToolContext, path: str, start_line: int = 1, lines: int = 200) -> ToolResult:
        """
        Read what a text file says, whole or some of its lines, each with its line number. Credentials are masked.

        Args:
            context: The call this is.
            path: File, relative to the root folder.
            start_line: First line to show; the first line of a file is 1.
            lines: How many lines to show, at most 1000.
        """
        parts = parse_path(path)
        with self._proposing(parts, context):
            text = self._text("read_file", parts)
        context.raise_if_cancelled()
        every = split_lines(self.redactor.redact(text))
        first = clamp(start_line, 1, len(every) + 1, default=1)
        wanted = every[first - 1 :][: clamp(lines, 1, MAX_LINES, default=200)]
        body = _numbered(wanted, first)
        name = self._shown(parts)
        if not body:
            return ToolResult.text(f"{name}: {len(every):,} lines; none from line {first:,} on")
        last = first + len(body) - 1
        more = f"; the next line is start_line={last + 1}" if last < len(every) else ""
        return ToolResult.text("\n".join([f"{name}: lines {first:,} to {last:,} of {len(every):,}{more}", *body]))

    def search_code(
        self,
        context: ToolContext,
        text: str,
        path: str = ".",
        *,
        regex: bool = False,
        pattern: str = "*",
        limit: int = 30,
    ) -> ToolResult:
        """
        Search inside files for a word, text, function or class: where it is defined, used or mentioned.

        Shows file, line number and line; few hits between the lines around them.

        Args:
            context: The call this is.
            text: The text to find, such as "def main".
            path: File or folder to search, relative to the root folder.
            regex: Whether the text is a regular expression, without look-around and back-references; (?i) ignores case.
            pattern: Only files whose name matches, such as "*.py".
            limit: How many lines to show, at most 100.
        """
        query = Query.of(text, regex=regex)
        wanted = _name_filter(pattern)
        parts = parse_path(path)
        scan = self._scan(context)
        bounds = clamp(limit, 1, MAX_HITS, default=30)
        with open_root(self.settings.root, tool="search_code") as root, self._proposing(parts, context):
            hits, how = self._search_below(query, root, parts, limit=bounds, scan=scan, wanted=wanted), ""
            for step in () if hits.total or scan.partial else wider(query, parts):
                further, within = scan.again(), wanted if step.filtered else anything
                found = self._search_below(step.query, root, step.parts, limit=bounds, scan=further, wanted=within)
                if found.total:
                    hits, how, parts, scan = found, step.said, step.parts, further
                    break
        return self._hits_result(hits, scan, text=text, parts=parts, how=how)

    def _search_below(self, query: Query, root: int, parts: Parts, *, limit: int, scan: Scan, wanted: Wanted) -> Hits:
        hits = Hits(limit=limit)
        if is_file(root, parts, self._denied):
            with open_file(root, parts, self._denied) as fd:
                self._search(query, fd, parts, hits=hits, scan=scan)
            return hits
        with open_folder(root, parts, self._denied) as folder:
            for parent, file in scan.files(folder, parts):
                if wanted(file[len(parts) :], file):
                    self._search_child(query, parent, file, hits=hits, scan=scan)
        return hits

    def _search_child(self, query: Query, folder: int, parts: Parts, *, hits: Hits, scan: Scan) -> None:
        try:
            fd = open_child_file(folder, parts[-1])
        except OSError:  # gone, forbidden, or swapped for a link since it was listed
            hits.skip(Skipped.UNREADABLE.value)
            return
        try:
            self._search(query, fd, parts, hits=hits, scan=scan)
        finally:
            os.close(fd)

    def _search(self, query: Query, fd: int, parts: Parts, *, hits: Hits, scan: Scan) -> None:
        try:
            text = read_text(fd, limit=self.settings.file_bytes)
        except OSError:
            text = Skipped.UNREADABLE
        if isinstance(text, Skipped):
            hits.skip(text.value)
        elif query.rules_out(text):
            hits.searched += 1
        else:
            # Masked first: a search of the raw text would tell a secret letter by letter.
            search_text(query, self.redactor.redact(text), self._shown(parts), hits=hits, scan=scan)

    def _hits_result(self, hits: Hits, scan: Scan, *, text: str, parts: Parts, how: str) -> ToolResult:
        rows = fitting(hits.shown())
        few = min(hits.total, len(rows))
        count = showing(few, hits.total, "line", more=scan.partial)
        where = f"in {hits.files:,} of the {hits.searched:,} files of {self._shown(parts)}"
        return table_result(
            f"{count} with {_quoted(text)}{how}; {where}",
            ("path", "line", "text"),
            rows,
            label=f"Lines with {_quoted(text)}",
            render=hits.lines(),
            header=False,
            notes=[*hits.notes(), *scan.notes()],
        )

    @contextmanager
    def _proposing(self, parts: Parts, context: ToolContext) -> Iterator[None]:
        """Say which files have nearly the name of a path that cannot be had: the same ones, whatever the reason."""
        try:
            yield
        except UnavailableError:
            scan = self._scan(context)
            with open_root(self.settings.root, tool="find_files") as root:
                files = (file for _, file in scan.files(root, ()) if file != parts)
                found = near(shown(parts), files, on_time=scan.on_time)
            if not found:
                raise
            raise unavailable(parts, lead=f"Did you mean {' or '.join(self._named(found))}?") from None

    def _leads(self, root: int, pattern: str, scan: Scan) -> list[str]:
        """Return what else there is of a name that no file has: files of nearly that name, lines that mention it."""
        found = near(pattern, (file for _, file in scan.files(root, ())), on_time=scan.on_time)
        leads = [f"Nearly so named: {', '.join(self._named(found))}"] if found else []
        for query in mentions(pattern):
            scan = scan.again()
            hits = self._search_below(query, root, (), limit=MENTIONS, scan=scan, wanted=anything)
            if rows := fitting(hits.shown(), limit=LEAD_BYTES):
                count = f"{'at least ' if scan.partial else ''}{showing(hits.total, hits.total, 'line')}"
                among = ", among them" if hits.total > len(hits.rows) else ""
                return [
                    *leads,
                    f"search_code finds {_quoted(query.needle)} in {count}{among}:",
                    *map(hits.lines(), rows),
                ]
        return leads or [_OTHERWISE]

    def _scan(self, context: ToolContext) -> Scan:
        seconds = self.settings.seconds
        if context.deadline is not None:  # leave time to answer with what was found
            seconds = max(0.0, min(seconds, context.deadline - self.clock() - 0.5))
        return Scan(
            most=self.settings.entries_visited,
            seconds=seconds,
            clock=self.clock,
            check=context.raise_if_cancelled,
            denied=self._denied,
        )

    def _text(self, tool_name: str, parts: Parts) -> str:
        limit = self.settings.file_bytes
        with (
            open_root(self.settings.root, tool=tool_name) as root,
            open_file(root, parts, self._denied) as fd,
        ):
            try:
                text = read_text(fd, limit=limit)
            except OSError:
                raise unavailable(parts) from None
        if text is Skipped.LARGE:
            raise ToolError(f"'{self._shown(parts)}' is larger than {limit:,} bytes and cannot be read.")
        if isinstance(text, Skipped):
            raise ToolError(f"'{self._shown(parts)}' is no text file.")
        return text

    def _named(self, files: Sequence[Parts]) -> list[str]:
        """Return paths as they stand in a sentence: quoted, since a name may read like one."""
        return [f"'{self._shown(file)}'" for file in files]

    def _shown(self, parts: Parts) -> str:
        return self.redactor.redact(shown(parts))


def _read(function: Callable[..., ToolResult], examples: Sequence[Mapping[str, Any]]) -> Tool:
    return tool(group="files", data_class="content", timeout=30.0, examples=examples)(function)


def _name_filter(pattern: str) -> Wanted:
    """Return whether a file, given below the folder searched and below the root, is meant by `pattern`."""
    pattern = pattern.strip().removeprefix("./")
    if not pattern or len(pattern) > MAX_PATTERN:
        raise ToolError(f"A file name pattern has 1 to {MAX_PATTERN} characters, such as '*.py'.")
    if WILDCARDS.isdisjoint(pattern):
        part = pattern.casefold()
        return lambda below, _: part in ("/".join(below) if "/" in part else below[-1]).casefold()
    try:
        matcher = compile_globs(pattern)
    except PatternError as error:
        raise ToolError(f"Not searched: {error}.") from None
    if "/" in pattern:
        return lambda below, full: matcher.search("/".join(below)) or matcher.search("/".join(full))
    return lambda below, _: matcher.search(below[-1])


def _quoted(text: str) -> str:
    return f"'{cut(visible_name(text.strip()), 100)}'"


def _numbered(lines: list[str], first: int) -> list[str]:
    """Return as many numbered lines as fit into `READ_BYTES`."""
    left = READ_BYTES
    numbered = []
    for number, line in enumerate(lines, first):
        text = f"{number}: {cut(visible_line(line), MAX_LINE)}"
        left -= len(text.encode()) + 1
        if left < 0:
            break
        numbered.append(text)
    return numbered
