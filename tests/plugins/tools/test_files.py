"""What the file tools show, in which order, up to which cap, and what they say they left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import Cancellation, Redactor, RunCancelledError, ToolContext, ToolError, ToolResult
from nr_llm.bounds import bound_result
from nr_llm_tools import FileTools, ToolsSettings
from nr_llm_tools._leads import near
from nr_llm_tools._search import Query
from nr_llm_tools._table import TABLE_BYTES, piped

from tests.plugins.tools.conftest import Desk

TOKEN = "ghp_" + "Ab1" * 12


class Ticks:
    """A clock that advances by one second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def rows(result: ToolResult) -> list[list[object]]:
    """Return the rows of a result's only table."""
    (artifact,) = result.artifacts
    return artifact.data["rows"]


# list_directory


def test_a_listing_has_folders_first_then_names_in_order(desk: Desk) -> None:
    """Kind, size and name, one entry a line, and the same cells in the table."""
    desk.write("b.txt", "12345")
    desk.write("a.txt", "")
    desk.write("src/x.py")
    (desk.root / "link").symlink_to("b.txt")

    result = desk.tools().list_directory(ToolContext())

    assert result.content.splitlines() == [
        ".: 4 entries",
        "kind | bytes | name",
        "folder | - | src",
        "file | 0 | a.txt",
        "file | 5 | b.txt",
        "link | - | link",
    ]
    assert result.artifacts[0].data["columns"] == ["kind", "bytes", "name"]
    assert [piped(tuple(row)) for row in rows(result)] == result.content.splitlines()[2:]


def test_an_empty_folder_is_said_to_be_empty(desk: Desk) -> None:
    """No header without rows."""
    assert desk.call("list_directory") == ".: 0 entries"


@pytest.mark.parametrize(("count", "first"), [(100, ".: 100 entries"), (101, ".: showing 100 of 101 entries")])
def test_a_long_listing_says_what_it_shows(desk: Desk, count: int, first: str) -> None:
    """Exactly the cap passes unmarked; one more is named."""
    for i in range(count):
        desk.write(f"{i:03}.txt")

    lines = desk.call("list_directory").splitlines()

    assert first == lines[0]
    assert len(lines) == 2 + 100 + (count > 100)
    assert (lines[-1] == "find_files with a pattern finds the others.") is (count > 100)


def test_a_listing_of_a_file_names_the_right_tool(desk: Desk) -> None:
    """And the other way round."""
    desk.write("a/b.txt")

    assert desk.call("list_directory", "a/b.txt") == "refused: 'a/b.txt' is a file. read_file shows what is in it."
    assert desk.call("read_file", "a") == "refused: 'a' is a folder. list_directory shows what is in it."
    assert "names the root folder" in desk.call("read_file", ".")


def test_a_folder_of_more_entries_than_are_looked_at(desk: Desk) -> None:
    """What was seen is shown; that there is more is said."""
    for i in range(20):
        desk.write(f"{i:02}.txt")

    content = desk.tools(entries_visited=7).list_directory(ToolContext()).content

    assert content.startswith(".: showing 7 of at least 7 entries")
    assert content.endswith("Stopped after 7 entries; name a folder in `path` to look at less.")


def test_an_entry_that_is_gone_has_no_size(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may change while it is listed."""
    path = desk.write("a.txt")
    real = os.scandir

    class Listing:
        def __init__(self, folder: int) -> None:
            with real(folder) as entries:
                self._entries = list(entries)

        def __enter__(self) -> list[os.DirEntry[str]]:
            path.unlink()
            return self._entries

        def __exit__(self, *_: object) -> None:
            return None

    monkeypatch.setattr("nr_llm_tools._guard.guarded", lambda: True)
    monkeypatch.setattr(os, "scandir", Listing)

    assert "file | - | a.txt" in desk.call("list_directory")


ODD = [
    (b"new\nline.txt", r"new\x0aline.txt"),
    (b"tab\there", r"tab\x09here"),
    (b"esc\x1b[31mred", r"esc\x1b[31mred"),
    (b"latin-\xe9.txt", r"latin-\xe9.txt"),
    ("bidi-\u202etxt.exe".encode(), r"bidi-\u202etxt.exe"),
    ("zero\u200bwidth".encode(), r"zero\u200bwidth"),
    ("high\U000e0001".encode(), r"high\U000e0001"),
    ("größe.txt".encode(), "größe.txt"),
    (b"a | file | 9", "a | file | 9"),
]


@pytest.mark.parametrize(("name", "shown"), ODD)
def test_an_odd_name_is_shown_on_one_line(desk: Desk, name: bytes, shown: str) -> None:
    """Control characters, invalid bytes and reordering marks are written out, in every tool."""
    try:
        Path(os.fsdecode(os.fsencode(desk.root) + b"/" + name)).write_bytes(b"marker")
    except OSError:
        pytest.skip("this file system takes no such name")

    listing = desk.call("list_directory").splitlines()
    found = desk.call("find_files", "*").splitlines()
    hits = desk.call("search_code", "marker").splitlines()

    assert listing[2:] == [f"file | 6 | {shown}"]
    assert found[2:] == [f"6 | {shown}"]
    assert hits[1:] == [f"{shown}:1: marker"]


def test_a_name_that_is_no_unicode_can_still_be_encoded(desk: Desk) -> None:
    """Content and table pass the bounds unchanged: nothing in them needs replacing."""
    Path(os.fsdecode(os.fsencode(desk.root) + b"/\xff\xfe")).write_bytes(b"")
    result = desk.tools().list_directory(ToolContext())

    bounded = bound_result(result)

    assert bounded.content == result.content
    assert bounded.artifacts[0].to_dict() == result.artifacts[0].to_dict()


def test_a_token_in_a_file_name_is_masked(desk: Desk) -> None:
    """Names pass the redactor as lines do."""
    desk.write(f"{TOKEN}.txt", "marker")

    for text in (desk.call("list_directory"), desk.call("find_files", "*"), desk.call("search_code", "marker")):
        assert TOKEN not in text
        assert "[redacted]" in text


def test_a_folder_that_cannot_be_listed_gets_the_one_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be opened and still not be read."""

    def failing(folder: int) -> object:
        raise PermissionError

    desk.write("a/b.txt")
    monkeypatch.setattr("nr_llm_tools._guard.guarded", lambda: True)
    monkeypatch.setattr(os, "scandir", failing)

    assert desk.call("list_directory", "a").startswith("refused: There is no readable file or folder 'a'.")


# find_files


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", ".", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.py", "src", ["src/b.py", "src/deep/c.py"]),
        ("src/*.py", ".", ["src/b.py"]),
        ("src/**/*.py", ".", ["src/b.py", "src/deep/c.py"]),
        ("./src/*.py", ".", ["src/b.py"]),
        ("src/*.py", "src", ["src/b.py"]),
        ("deep/*.py", "src", ["src/deep/c.py"]),
        ("EADM", ".", ["README.md"]),
        ("deep/c", ".", ["src/deep/c.py"]),
        ("?.py", ".", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.{md,toml}", ".", ["README.md"]),
        (" *.md ", ".", ["README.md"]),
        ("nothing", ".", []),
    ],
)
def test_files_are_found_by_part_of_the_name_or_by_pattern(
    desk: Desk, pattern: str, path: str, expected: list[str]
) -> None:
    """A folder's own files come first, then those below it, by name."""
    for name in ("a.py", "src/b.py", "src/deep/c.py", "README.md"):
        desk.write(name)

    result = desk.tools().find_files(ToolContext(), pattern, path)

    assert [row[1] for row in rows(result)] == expected
    assert [piped(tuple(row)) for row in rows(result)] == result.content.splitlines()[2:]


@pytest.mark.parametrize("pattern", ["", "  ", "a" * 201])
def test_an_empty_or_endless_pattern_is_refused(desk: Desk, pattern: str) -> None:
    """With an example of a good one."""
    assert desk.call("find_files", pattern).startswith("refused: A file name pattern has 1 to 200 characters, such as")
    assert desk.call("find_files", "a" * 200).startswith("0 files")


def test_finding_nothing_names_other_ways(desk: Desk) -> None:
    """A shorter part of the name, or a search inside the files."""
    desk.write("notes.txt")

    assert desk.call("find_files", "note_book").splitlines()[1:] == [
        "A shorter part of the name may find more; search_code looks inside files."
    ]
    assert "search_code" not in desk.call("find_files", "note")


def test_a_pattern_that_needs_a_large_program_is_refused(desk: Desk) -> None:
    """Alternatives multiply what follows them."""
    assert "too large" in desk.call("find_files", "{" + "," * 90 + "}" + "?" * 90)


@pytest.mark.parametrize(
    ("limit", "shown"), [(1, 1), (0, 50), (-5, 50), (200, 200), (201, 200), (10**30, 200), (-(10**30), 50)]
)
def test_a_limit_is_clamped(desk: Desk, limit: int, shown: int) -> None:
    """Numbers of a model are brought into their bounds, and the text says how many there are."""
    for i in range(203):
        desk.write(f"{i:03}.txt")

    content = desk.tools().find_files(ToolContext(), "*.txt", limit=limit).content

    assert content.startswith(f"showing {shown} of 203 files matching '*.txt' in .\n")
    assert len(content.splitlines()) == shown + 2


def test_ten_thousand_files_are_counted(desk: Desk) -> None:
    """Within the cap on entries the count is exact."""
    for folder in range(10):
        (desk.root / f"{folder}").mkdir()
        for i in range(1_000):
            (desk.root / f"{folder}" / f"{i}.txt").touch()

    first = desk.call("find_files", "*.txt").splitlines()[0]

    assert first == "showing 50 of 10,000 files matching '*.txt' in ."


@pytest.mark.parametrize(("cap", "first"), [(7, "5 files"), (6, "showing 4 of at least 4 files")])
def test_a_search_stops_at_the_cap_on_entries_and_says_so(desk: Desk, cap: int, first: str) -> None:
    """What had been listed by then is still shown."""
    for name in ("a/1", "b/2", "b/3", "b/4"):
        desk.write(name)
    desk.write("0")
    # Entries in order: 0, a, b; a/1; b/2, b/3, b/4.
    content = desk.tools(entries_visited=cap).find_files(ToolContext(), "*").content

    assert content.startswith(first)
    assert ("Stopped after" in content) is (cap < 7)


def test_a_deep_tree_is_walked_to_its_bound_and_no_further(desk: Desk) -> None:
    """Each level holds a descriptor, so depth has a cap; the walk goes on beside it."""
    deep = "/".join(["d"] * 80)
    desk.write(f"{deep}/far.txt")
    desk.write("/".join(["d"] * 64) + "/near.txt")
    desk.write("zz/other.txt")

    content = desk.call("find_files", "*.txt")

    assert "near.txt" in content
    assert "far.txt" not in content
    assert "zz/other.txt" in content
    assert content.endswith("Folders more than 64 levels deep, not entered: 1.")


def test_generated_folders_are_passed_by_unless_named(desk: Desk) -> None:
    """The note says which and how to look there."""
    desk.write("node_modules/x/a.js")
    desk.write("src/__pycache__/a.pyc")
    desk.write("src/a.py")

    assert desk.call("find_files", "a.").splitlines() == [
        "1 file matching 'a.' in .",
        "bytes | path",
        "8 | src/a.py",
        "Not entered: __pycache__, node_modules; name one in `path` to look there.",
    ]
    assert "node_modules/x/a.js" in desk.call("find_files", "a.", "node_modules")


def test_a_folder_that_cannot_be_read_is_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes on without it."""
    desk.write("a/x.txt")
    desk.write("b.txt")
    real, calls = os.scandir, []

    def failing(folder: int) -> object:
        calls.append(folder)
        if len(calls) == 2:
            raise PermissionError
        return real(folder)

    monkeypatch.setattr("nr_llm_tools._guard.guarded", lambda: True)
    monkeypatch.setattr(os, "scandir", failing)

    assert desk.call("find_files", "*").splitlines()[-2:] == ["8 | b.txt", "Folders that could not be read: 1."]


# read_file


def test_a_file_is_read_with_line_numbers(desk: Desk) -> None:
    """The heading says which lines of how many."""
    desk.write("a.txt", "one\ntwo\r\nthree")

    assert desk.call("read_file", "a.txt") == "a.txt: lines 1 to 3 of 3\n1: one\n2: two\n3: three"


@pytest.mark.parametrize(
    ("start", "lines", "first", "last"),
    [
        (1, 2, 1, 2),
        (4, 2, 4, 5),
        (5, 100, 5, 5),
        (0, 0, 1, 5),
        (-9, -9, 1, 5),
        (2, 10**30, 2, 5),
    ],
)
def test_a_part_of_a_file(desk: Desk, start: int, lines: int, first: int, last: int) -> None:
    """Numbers are clamped; where the file goes on, the next line is named."""
    desk.write("a.txt", "a\nb\nc\nd\ne\n")
    more = f"; the next line is start_line={last + 1}" if last < 5 else ""

    content = desk.call("read_file", "a.txt", start, lines)

    assert content.splitlines()[0] == f"a.txt: lines {first} to {last} of 5{more}"
    assert content.splitlines()[1:] == [f"{n}: {'abcde'[n - 1]}" for n in range(first, last + 1)]


@pytest.mark.parametrize(("text", "start", "count"), [("", 1, 0), ("a\n", 2, 1), ("a\n", 10**30, 1)])
def test_no_lines_are_said_to_be_none(desk: Desk, text: str, start: int, count: int) -> None:
    """An empty file, and a start behind the end."""
    desk.write("a.txt", text)

    assert desk.call("read_file", "a.txt", start) == f"a.txt: {count} lines; none from line {count + 1} on"


def test_at_most_a_thousand_lines_are_shown(desk: Desk) -> None:
    """Unless two hundred, when nobody asks."""
    desk.write("a.txt", "x\n" * 1_500)

    assert "lines 1 to 200 of 1,500; the next line is start_line=201" in desk.call("read_file", "a.txt")
    assert "lines 1 to 1,000 of 1,500; the next" in desk.call("read_file", "a.txt", 1, 5_000)


def test_a_reading_keeps_below_the_bound_of_a_result(desk: Desk) -> None:
    """It ends on a whole line and says where to go on."""
    desk.write("a.txt", ("é" * 500 + "\n") * 100)

    content = desk.call("read_file", "a.txt")

    shown = len(content.splitlines()) - 1
    assert f"lines 1 to {shown} of 100; the next line is start_line={shown + 1}" in content
    assert 30_000 < len(content.encode()) < 50_000
    assert content.endswith("é" * 500)


def test_a_long_line_is_cut_and_says_so(desk: Desk) -> None:
    """Exactly the cap passes whole."""
    desk.write("a.txt", "x" * 1_000 + "\n" + "y" * 1_001)

    lines = desk.call("read_file", "a.txt").splitlines()

    assert lines[1] == "1: " + "x" * 1_000
    assert lines[2] == "2: " + "y" * 1_000 + "… (+1 characters)"


@pytest.mark.parametrize(("size", "read"), [(1_000, True), (1_001, False)])
def test_a_large_file_is_refused_before_it_is_read(desk: Desk, size: int, read: bool) -> None:
    """Exactly the cap is read."""
    desk.write("a.txt", "x" * size)

    try:
        content = desk.tools(file_bytes=1_000).read_file(ToolContext(), "a.txt").content
    except ToolError as error:
        content = str(error)

    assert content.startswith("a.txt: lines 1 to 1") is read
    assert (content == "'a.txt' is larger than 1,000 bytes and cannot be read.") is not read


def test_a_file_that_grows_while_it_is_read_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds for what is read, not only for what was promised."""
    desk.write("a.txt", "x" * 100)
    piece = iter([b"x" * 100, b"x" * 901])
    monkeypatch.setattr(os, "read", lambda fd, most: next(piece, b"")[:most])

    with pytest.raises(ToolError, match="larger than 1,000"):
        desk.tools(file_bytes=1_000).read_file(ToolContext(), "a.txt")


@pytest.mark.parametrize(
    "data",
    [b"\0", b"text\0text", "utf-16".encode("utf-16"), os.urandom(512) + b"\0", bytes(range(1, 9)) * 10, b"\xff" * 100],
)
def test_a_file_that_is_no_text_is_refused(desk: Desk, data: bytes) -> None:
    """By a NUL, or by many bytes that are no text."""
    desk.write("a.bin", data)

    assert desk.call("read_file", "a.bin") == "refused: 'a.bin' is no text file."
    assert desk.call("search_code", "x").splitlines()[-1] == "Files not searched, binary: 1."


def test_text_that_is_no_utf8_is_shown_with_visible_marks(desk: Desk) -> None:
    """Latin-1 prose is still prose; a byte order mark is no text."""
    desk.write("a.txt", "Größe und Maß\n".encode("latin-1"))
    desk.write("b.txt", b"\xef\xbb\xbfhello")

    assert "1: Gr\ufffd\ufffde und Ma\ufffd" in desk.call("read_file", "a.txt")
    assert "1: hello" in desk.call("read_file", "b.txt")


def test_control_characters_in_a_line_are_written_out(desk: Desk) -> None:
    """No text of a file acts on a terminal, adds a line, or reorders one; tabs stay."""
    desk.write("a.txt", "\x1b[2J\tx\u2028y\u202ez\x9b0\n")

    assert desk.call("read_file", "a.txt").splitlines()[1] == "1: \\x1b[2J\tx\\u2028y\\u202ez\\x9b0"


def test_a_file_that_cannot_be_read_gets_the_one_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening may succeed where reading does not."""
    desk.write("a.txt", "marker")

    def failing(fd: int, most: int) -> bytes:
        raise BlockingIOError

    monkeypatch.setattr(os, "read", failing)

    assert desk.call("read_file", "a.txt").startswith("refused: There is no readable")
    assert "Files not searched, unreadable: 1." in desk.call("search_code", "marker")
    assert "Files not searched, unreadable: 1." in desk.call("search_code", "marker", "a.txt")


# Credentials inside files


def test_a_credential_in_a_line_is_masked(desk: Desk) -> None:
    """By its shape, in readings and in searches, in content and table."""
    desk.write("a.txt", f"token: {TOKEN}\n")

    result = desk.tools().search_code(ToolContext(), "token")

    assert TOKEN not in desk.call("read_file", "a.txt")
    assert TOKEN not in result.content
    assert TOKEN not in str(rows(result))
    assert "a.txt:1: token: [redacted]" in result.content


@pytest.mark.parametrize(
    ("query", "regex"), [(TOKEN[:8], False), (f"{TOKEN[:8]}|token: .redacted", True), (TOKEN[-6:], False)]
)
def test_a_search_cannot_guess_a_masked_credential(desk: Desk, query: str, regex: bool) -> None:
    """What is searched is what is shown: a right guess and a wrong one find the same."""
    desk.write("a.txt", f"token: {TOKEN}\n")
    wrong = query.replace(TOKEN[:8], "ghp_zzzz").replace(TOKEN[-6:], "zzzzzz")

    guess = desk.tools().search_code(ToolContext(), query, regex=regex)
    other = desk.tools().search_code(ToolContext(), wrong, regex=regex)

    assert rows(guess) == rows(other)


@given(
    before=st.text("ghp_Ab1 :[]red", max_size=6),
    after=st.text("ghp_Ab1 :[]red", max_size=6),
    needle=st.text("ghp_Ab1 :[]red", min_size=1, max_size=8) | st.integers(0, 30).map(lambda i: TOKEN[i : i + 6]),
)
def test_leaving_out_the_masking_never_changes_what_is_found(before: str, after: str, needle: str) -> None:
    """A text that is ruled out by a look at the unmasked text has no match in the masked one."""
    text = f"{before} {TOKEN} {after}"

    if Query(needle, None).rules_out(text):
        assert needle not in Redactor().redact(text)


@pytest.mark.parametrize("query", ["redacted", "[redacted]", "n: [", "acted] e", "token: [redacted] end"])
def test_a_mask_is_found_like_any_text(desk: Desk, query: str) -> None:
    """Also by a part of it: what can be read can be searched."""
    desk.write("a.txt", f"token: {TOKEN} end\n")

    assert rows(desk.tools().search_code(ToolContext(), query)) == [["a.txt", 1, "token: [redacted] end"]]


def test_a_host_may_pass_a_redactor_that_knows_its_secrets(desk: Desk) -> None:
    """Known values are masked whatever their shape."""
    desk.write("a.txt", "the door code is open-sesame\n")
    tools = FileTools(ToolsSettings(root=desk.root), redactor=Redactor(["open-sesame"]))

    assert "open-sesame" not in tools.read_file(ToolContext(), "a.txt").content
    assert rows(tools.search_code(ToolContext(), "sesame")) == []


# search_code


def test_a_search_shows_file_line_number_and_line(desk: Desk) -> None:
    """In the form that people and models know, from the table's own cells."""
    desk.write("b.py", "x\n    def main():\n        main()\n        main()\n")
    desk.write("a/c.py", "main = 1\n")

    result = desk.tools().search_code(ToolContext(), " main ")

    assert result.content.splitlines() == [
        "4 lines with 'main'; in 2 of the 2 files of .",
        "b.py:2: def main():",
        "b.py:3: main()",
        "b.py:4: main()",
        "a/c.py:1: main = 1",
    ]
    assert result.artifacts[0].data["columns"] == ["path", "line", "text"]
    assert [f"{path}:{line}: {text}" for path, line, text in rows(result)] == result.content.splitlines()[1:]


def test_a_search_may_be_limited_to_a_file_or_to_names(desk: Desk) -> None:
    """By path, and by a pattern of names."""
    desk.write("a.py", "hit")
    desk.write("b.md", "hit")

    assert desk.call("search_code", "hit", "b.md").splitlines()[1:] == ["b.md:1: hit"]
    assert desk.call("search_code", "hit", pattern="*.py").splitlines()[1:] == ["a.py:1: hit"]
    assert "1 to 200 characters" in desk.call("search_code", "hit", pattern="")


def test_a_regular_expression_is_matched_line_by_line(desk: Desk) -> None:
    """Anchors are those of the line."""
    desk.write("a.py", "def one():\n  def two():\nundef three\n")

    assert desk.call("search_code", r"^\s*def \w+\(", regex=True).splitlines()[1:] == [
        "a.py:1: def one():",
        "a.py:2: def two():",
        "a.py-3- undef three",
    ]


def test_a_plain_text_is_no_pattern(desk: Desk) -> None:
    """Special characters mean themselves."""
    desk.write("a.py", "a.*b\naxxb\n")

    assert desk.call("search_code", "a.*b").splitlines()[1:] == ["a.py:1: a.*b", "a.py-2- axxb"]


@pytest.mark.parametrize(
    ("text", "regex", "reason"),
    [
        ("", False, "is empty"),
        ("  ", True, "is empty"),
        ("a\nb", False, "one line"),
        ("x" * 301, False, "at most 300"),
        ("(", True, "Use regex=false"),
        (r"(a)\1", True, "back-reference"),
        ("a{9999}", True, "repeats more than"),
    ],
)
def test_a_query_that_cannot_be_used_is_refused(desk: Desk, text: str, regex: bool, reason: str) -> None:
    """The text says what to change."""
    refused = desk.call("search_code", text, regex=regex)

    assert refused.startswith("refused")
    assert reason in refused


def test_few_hits_are_shown_between_the_lines_around_them(desk: Desk) -> None:
    """Two lines on either side, each once, in the text as in the table; more than three hits are shown alone."""
    desk.write("a.py", "one\ntwo\nthree\nfour hit\nfive\nsix hit\nseven\neight\nnine\n")

    result = desk.tools().search_code(ToolContext(), "hit")

    assert result.content.splitlines() == [
        "2 lines with 'hit'; in 1 of the 1 files of .",
        *("a.py-2- two", "a.py-3- three", "a.py:4: four hit", "a.py-5- five", "a.py:6: six hit", "a.py-7- seven"),
        "a.py-8- eight",
    ]
    assert [row[1] for row in rows(result)] == [2, 3, 4, 5, 6, 7, 8]
    assert "a.py-" not in desk.call("search_code", "e")


def test_lines_around_a_hit_are_masked(desk: Desk) -> None:
    """A credential beside a hit is no more shown than one in it."""
    desk.write("a.py", f"hit\nkey = '{TOKEN}'\n")

    content = desk.call("search_code", "hit")

    assert "a.py-2- key" in content
    assert TOKEN not in content


@pytest.mark.parametrize(
    ("text", "path", "lines"),
    [
        ("main", ".", ["1 line with 'main' in capital or small letters; in 1 of the 2 files of .", "a.py:1: Main = 7"]),
        (
            "main",
            "b",
            ["1 line with 'main', none where it was looked for; in 1 of the 2 files of .", "a.py:1: Main = 7"],
        ),
        (
            "gear ratios",
            ".",
            ["1 line with 'gear ratios': none, but with 'rati'; in 1 of the 2 files of .", "b/c.txt:1: the ratio"],
        ),
        ("zzzz", "b", ["0 lines with 'zzzz'; in 0 of the 1 files of b"]),
    ],
)
def test_a_text_that_is_not_there_is_looked_for_less_strictly(
    desk: Desk, text: str, path: str, lines: list[str]
) -> None:
    """Capitals or not, then elsewhere, then each word but for its ending; the first line says which it was."""
    desk.write("a.py", "Main = 7")
    desk.write("b/c.txt", "the ratio")

    assert desk.call("search_code", text, path).splitlines() == lines


def test_a_pattern_that_matches_nothing_is_looked_for_as_it_is(desk: Desk) -> None:
    """Who writes a pattern says whether capitals matter."""
    desk.write("a.py", "Main")

    assert desk.call("search_code", "main", regex=True) == "0 lines with 'main'; in 0 of the 1 files of ."
    assert "a.py:1: Main" in desk.call("search_code", "(?i)main", regex=True)


def test_looking_further_neither_finds_masked_nor_refused_text(desk: Desk) -> None:
    """The looser search has the same guards: what is masked or refused is no hit in it either."""
    desk.write(".env", "Marker\n")
    desk.write("a.py", f"key = '{TOKEN}'\n")

    assert desk.call("search_code", "marker").startswith("0 lines")
    assert desk.call("search_code", TOKEN.lower()).startswith("0 lines")


def test_looking_further_keeps_to_the_time(desk: Desk) -> None:
    """All walks of a call share its seconds."""
    for number in range(20):
        desk.write(f"{number}.txt", "text")
    tools = FileTools(ToolsSettings(root=desk.root, seconds=30), clock=Ticks())

    content = tools.search_code(ToolContext(), "nowhere").content

    assert content.startswith("showing 0 of at least 0 lines with 'nowhere'")


def test_a_name_that_no_file_has_leads_on(desk: Desk) -> None:
    """To files of nearly that name, and to lines that mention it."""
    desk.write("docs/backup.md", "Backups run at night.\nThey are kept for a week.\n")

    assert desk.call("find_files", "backups").splitlines() == [
        "0 files matching 'backups' in .",
        "Nearly so named: 'docs/backup.md'",
        "search_code finds 'backups' in 1 line:",
        "docs/backup.md:1: Backups run at night.",
        "docs/backup.md-2- They are kept for a week.",
    ]
    assert "docs/backup.md:1:" in desk.call("find_files", "nightly_run.py")


def test_a_name_without_a_lead(desk: Desk) -> None:
    """Then it is said what else may find it."""
    desk.write("a.py")

    assert desk.call("find_files", "zz").splitlines()[1:] == [
        "A shorter part of the name may find more; search_code looks inside files."
    ]


def test_a_lead_tells_of_no_file_that_is_refused(desk: Desk) -> None:
    """Neither its name nor its text."""
    desk.write("credentials", "marker\n")

    assert "credentials" not in desk.call("find_files", "credential_s.txt").replace("'credential_s.txt'", "")
    assert "search_code finds" not in desk.call("find_files", "marker")


def test_a_missing_path_is_answered_with_files_of_nearly_its_name(desk: Desk) -> None:
    """A model that has the folder or an ending wrong needs no search."""
    desk.write("settings/watering.ini")
    lead = "Did you mean 'settings/watering.ini'?"

    assert {answer.endswith(lead) for answer in desk.all_readers("config/watering.ini")} == {True}
    assert desk.call("read_file", "waterings.toml").endswith(lead)


def test_names_are_compared_within_the_time_and_the_first_of_their_letters() -> None:
    """Strangers choose names, and to compare long ones takes long."""
    left = [True, True, False]
    files = [(f"confi{letter}.txt",) for letter in "abcd"]

    assert near("config", files, on_time=lambda: left.pop(0)) == [("confib.txt",), ("confia.txt",)]
    assert near("x" * 64 + "ab", [("x" * 64 + "cd",)], on_time=lambda: True) == [("x" * 64 + "cd",)]


def test_a_path_that_is_too_long_to_be_asked_for_is_no_lead() -> None:
    """And would drown what else there is."""
    far, beside = (*("d" * 100,) * 10, "config.txt"), ("d", "config.txt")

    assert near("configs", [far, beside], on_time=lambda: True) == [beside]


def test_looking_for_leads_shares_the_time_of_the_search(desk: Desk) -> None:
    """Who has used it up gets none, and reads how long it was."""
    for number in range(20):
        desk.write(f"configs{number}.txt")
    tools = FileTools(ToolsSettings(root=desk.root, seconds=15), clock=Ticks())

    assert tools.find_files(ToolContext(), "config_s").content.splitlines()[1:] == [
        "A shorter part of the name may find more; search_code looks inside files.",
        "Stopped after 15 seconds; name a folder in `path` to look at less.",
    ]


def test_leads_end_when_nobody_waits_any_more(desk: Desk) -> None:
    """In the middle of looking for them too."""
    desk.write("config.txt")
    cancelled = Cancellation()

    def clock() -> float:
        cancelled.cancel("stop")
        return 0.0

    with pytest.raises(RunCancelledError):
        FileTools(ToolsSettings(root=desk.root), clock=clock).read_file(ToolContext(cancelled=cancelled), "configs")


def test_lines_that_lead_on_are_few(desk: Desk) -> None:
    """However long the paths are in which a word stands."""
    folder = "/".join(["d" * 200] * 12)
    for number in range(3):
        desk.write(f"{folder}/{number}.txt", "marker\n" * 3)

    found = desk.call("find_files", "marker")

    assert "search_code finds 'marker' in 9 lines, among them:" in found
    assert len(found.encode()) < 11_000


def test_an_excerpt_has_letters_that_are_two_in_small_letters(desk: Desk) -> None:
    """The place of a hit is counted in them."""
    desk.write("a.txt", "ß" * 300 + "Needle")

    assert desk.call("search_code", "needle").splitlines()[1].endswith("e")


@pytest.mark.parametrize(("limit", "shown"), [(2, 2), (0, 30), (100, 100), (101, 100), (10**20, 100)])
def test_hits_are_counted_beyond_the_limit(desk: Desk, limit: int, shown: int) -> None:
    """The limit is clamped, and the first line says how many there are."""
    desk.write("a.py", "hit\n" * 150)

    content = desk.call("search_code", "hit", limit=limit)

    assert content.startswith(f"showing {shown} of 150 lines with 'hit'; in 1 of the 1 files of .\n")
    assert len(content.splitlines()) == shown + 1


def test_a_hit_far_in_a_line_is_shown_with_its_surroundings(desk: Desk) -> None:
    """Lines are cut around the text found, at both ends visibly."""
    desk.write("a.txt", "x" * 500 + "needle" + "y" * 500)

    line = desk.call("search_code", "needle").splitlines()[1]

    assert line.startswith("a.txt:1: … xxx")
    assert "needle" in line
    assert line.endswith("yyy …")
    assert len(line) < 240


def test_a_pattern_sees_the_beginning_of_an_endless_line(desk: Desk) -> None:
    """And the text says so, for it bounds the work."""
    desk.write("a.txt", "a1" + "x" * 1_998 + "\n" + "x" * 2_000 + "b1\n")

    content = desk.call("search_code", r"[ab]\d", regex=True)

    assert content.splitlines()[1].startswith("a.txt:1: a1xxx")
    assert content.splitlines()[-1] == "Lines matched in their first 2,000 characters only: 1."
    assert content.startswith("1 line with")


def test_large_files_are_not_searched_and_counted(desk: Desk) -> None:
    """The cap is the one of readings."""
    desk.write("a.txt", "hit" * 1_000)
    desk.write("b.txt", "hit")

    content = desk.tools(file_bytes=100).search_code(ToolContext(), "hit").content

    assert content.splitlines()[1:] == ["b.txt:1: hit", "Files not searched, too large: 1."]


def test_a_table_keeps_below_the_bound_of_a_result(desk: Desk) -> None:
    """Wide characters make fewer rows, never a lost table; the text says how many."""
    desk.write("a.txt", ("漢" * 190 + '"\\\n') * 100)

    result = desk.tools().search_code(ToolContext(), "漢", limit=100)

    assert len(rows(result)) < 100
    assert result.content.startswith(f"showing {len(rows(result))} of 100 lines")
    assert bound_result(result).content == result.content
    assert bound_result(result).artifacts[0].label == "Lines with '漢'"
    assert len(str(rows(result)).encode()) > TABLE_BYTES * 0.8


# Time and cancellation


@pytest.mark.parametrize("regex", [False, True])
def test_a_search_stops_when_its_time_is_over(desk: Desk, regex: bool) -> None:
    """The clock is asked at each entry and each line, so no file is finished first."""
    for i in range(5):
        desk.write(f"{i}.txt", "hit\n" * 1_000)
    tools = FileTools(ToolsSettings(root=desk.root, seconds=100), clock=Ticks())

    content = tools.search_code(ToolContext(), "hit", regex=regex, limit=1).content

    assert content.startswith("showing 1 of at least 93 lines with 'hit'; in 1 of the 1 files of .\n")
    assert content.endswith("Stopped after 100 seconds; name a folder in `path` to look at less.")


def test_a_listing_and_a_find_stop_too(desk: Desk) -> None:
    """Whatever was seen by then is shown."""
    for i in range(30):
        desk.write(f"{i:02}/x.txt")
    settings = ToolsSettings(root=desk.root, seconds=40)

    listing = FileTools(settings.__class__(root=desk.root, seconds=10), clock=Ticks()).list_directory(ToolContext())
    found = FileTools(settings, clock=Ticks()).find_files(ToolContext(), "*")

    assert "of at least 9 entries" in listing.content
    assert "Stopped after 10 seconds" in listing.content
    assert "of at least" in found.content
    assert "Stopped after 40 seconds" in found.content


def test_a_search_ends_before_the_call_times_out(desk: Desk) -> None:
    """With time left to answer."""
    desk.write("a.txt", "hit\n" * 10)
    tools = FileTools(ToolsSettings(root=desk.root, seconds=100), clock=Ticks())

    content = tools.search_code(ToolContext(deadline=8.0), "hit").content

    assert "Stopped after 6.5 seconds" in content
    assert "Stopped after 0 seconds" in tools.search_code(ToolContext(deadline=1.0), "hit").content


def test_a_cancelled_call_stops_at_the_next_entry(desk: Desk) -> None:
    """Nobody waits for it any more."""
    desk.write("a.txt", "hit")
    cancelled = Cancellation()
    cancelled.cancel("enough")
    context = ToolContext(cancelled=cancelled)

    for name, arguments in (
        ("list_directory", ()),
        ("find_files", ("*",)),
        ("search_code", ("hit",)),
        ("read_file", ("a.txt",)),
    ):
        with pytest.raises(RunCancelledError, match="enough"):
            getattr(desk.tools(), name)(context, *arguments)
