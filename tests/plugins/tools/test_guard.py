"""Nothing outside the root folder is read, however the path is written or the disk changes meanwhile."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import Redactor, ToolContext, ToolError
from nr_llm_tools import FileTools, ToolsSettings
from nr_llm_tools import _guard as guard
from nr_llm_tools._denied import denied_by

from tests.plugins.tools.conftest import OUTSIDE, Desk

ONE_ANSWER = "refused: There is no readable file or folder '{}'. list_directory and find_files show what there is."


def _assert_one_answer(desk: Desk, path: str) -> None:
    assert {ONE_ANSWER.format(path)} == set(desk.all_readers(path))


def test_a_missing_path_gets_the_one_answer(desk: Desk) -> None:
    """It is the sentence every other refusal has to share."""
    _assert_one_answer(desk, "nothing/here.txt")


@pytest.mark.parametrize("target", ["../outside.txt", "inside.txt", "missing.txt", "/etc/passwd"])
def test_a_symbolic_link_to_a_file_is_not_followed(desk: Desk, target: str) -> None:
    """Not even to a file within the root: what a link names can change."""
    desk.write("inside.txt", OUTSIDE)
    (desk.root / "link.txt").symlink_to(target)

    _assert_one_answer(desk, "link.txt")


@pytest.mark.parametrize("target", ["..", "../root-evil", "inside", "."])
def test_a_symbolic_link_to_a_folder_is_not_followed(desk: Desk, target: str) -> None:
    """Neither as the folder itself nor as a part of the path."""
    desk.write("inside/file.txt", OUTSIDE)
    (desk.root / "link").symlink_to(target)

    _assert_one_answer(desk, "link")
    sentence = ONE_ANSWER.format("link/file.txt").partition(" list_directory")[0]
    assert {f"{sentence} Did you mean 'inside/file.txt'?"} == set(desk.all_readers("link/file.txt"))


def test_a_search_enters_no_link(desk: Desk) -> None:
    """A link to the parent folder, to a neighbour and to a file are passed by."""
    desk.write("real.txt", "marker")
    (desk.root / "up").symlink_to("..")
    (desk.root / "evil").symlink_to("../root-evil")
    (desk.root / "out.txt").symlink_to("../outside.txt")

    assert desk.call("find_files", "*").splitlines() == [
        "1 file matching '*' in .",
        "bytes | path",
        "6 | real.txt",
    ]
    assert "real.txt:1: marker" in desk.call("search_code", "marker")
    assert OUTSIDE not in desk.call("search_code", "marker")


@pytest.mark.parametrize("path", ["..", "../outside.txt", "a/../../outside.txt", "../root-evil/file.txt", "a/.."])
def test_a_path_upwards_is_refused(desk: Desk, path: str) -> None:
    """Also where it would end inside: folders in between may be links."""
    desk.write("a/b.txt")

    assert all("no '..'" in text for text in desk.all_readers(path))


@pytest.mark.parametrize("path", ["/etc/passwd", "/", "//", " /etc", "/proc/self/environ"])
def test_an_absolute_path_is_refused(desk: Desk, path: str) -> None:
    """Even when it names the root itself."""
    assert all("without '/'" in text for text in desk.all_readers(path))
    assert all("without '/'" in text for text in desk.all_readers(str(desk.root)))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        (" \t\n", "empty"),
        ("a\0b", "NUL"),
        ("a" * 1_001, "1,000 characters"),
        ("a/" * 65, "64 parts"),
    ],
)
def test_a_malformed_path_is_refused(desk: Desk, path: str, reason: str) -> None:
    """The text says what a path looks like."""
    assert all(text.startswith("refused") and reason in text for text in desk.all_readers(path))


@pytest.mark.parametrize(
    "path", ["a" * 300, "/".join(["a"] * 64), "\ud800", "~", "~/x", "file:x", "$HOME", "a\\b", "*"]
)
def test_a_strange_path_is_a_missing_path(desk: Desk, path: str) -> None:
    """Nothing is expanded or translated."""
    for text in desk.all_readers(path):
        assert text.startswith("refused: There is no readable")


@pytest.mark.parametrize("path", ["./a//b.txt", "a/b.txt/", " a/b.txt ", "./a/./b.txt"])
def test_a_sloppy_path_is_read(desk: Desk, path: str) -> None:
    """Empty and single-dot parts mean nothing, and blanks around a path are a model's."""
    desk.write("a/b.txt", "hello")

    assert "1: hello" in desk.call("read_file", path)


def test_a_pipe_is_neither_opened_nor_waited_for(desk: Desk) -> None:
    """Opening a pipe without a writer would block for ever."""
    os.mkfifo(desk.root / "pipe")

    _assert_one_answer(desk, "pipe")
    assert "pipe" not in desk.call("find_files", "*")
    assert "other | - | pipe" in desk.call("list_directory")


def test_a_socket_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no regular file."""
    monkeypatch.chdir(desk.root)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")

        _assert_one_answer(desk, "sock")


def test_a_device_is_refused(desk: Desk) -> None:
    """It is not even opened, since opening may act."""
    with pytest.raises(ToolError, match="no readable"):
        _read(Path("/dev"), "null")


def _read(root: Path, path: str) -> str:
    return FileTools(ToolsSettings(root=root)).read_file(ToolContext(), path).content


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO])
def test_a_file_the_system_refuses_gets_the_one_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whether it exists is nobody's business."""
    desk.write("forbidden.txt", "marker")
    opened = os.open

    def refusing(path: object, *args: object, **kwargs: object) -> int:
        if path == "forbidden.txt":
            raise OSError(number, os.strerror(number))
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(guard, "guarded", lambda: True)  # it compares os.open, which is ours now
    monkeypatch.setattr(os, "open", refusing)

    assert ONE_ANSWER.format("forbidden.txt") == desk.call("read_file", "forbidden.txt")


@pytest.mark.parametrize(
    "path", [".env", "deep/.env.local", "server.key", ".git/config", ".ssh/id_rsa", "a/credentials"]
)
def test_a_credential_gets_the_one_answer_and_is_never_shown(desk: Desk, path: str) -> None:
    """Present or not, the answer is the same, and listings and searches pass it by."""
    absent = desk.all_readers(path)
    desk.write(path, "marker")

    assert absent == desk.all_readers(path)
    _assert_one_answer(desk, path)
    name = path.rpartition("/")[2]
    assert name not in desk.call("find_files", "*")
    assert "marker'; in 0 of" in desk.call("search_code", "marker")
    assert f"| {path.partition('/')[0]}" not in desk.call("list_directory") or path.startswith(("deep", "a/"))


def test_a_refused_folder_does_not_count(desk: Desk) -> None:
    """The number of entries would tell of it."""
    desk.write(".git/config")
    desk.write("a.txt")

    assert desk.call("list_directory").splitlines()[0] == ".: 1 entry"


def test_a_host_can_refuse_more_names(desk: Desk) -> None:
    """Its patterns join the list."""
    desk.write("data.sqlite")

    with pytest.raises(ToolError, match="no readable"):
        desk.tools(deny=("*.sqlite",)).read_file(ToolContext(), "data.sqlite")


class _Descriptors:
    """Counts what is opened and closed, by passing each call on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open: set[int] = set()
        monkeypatch.setattr(guard, "guarded", lambda: True)  # it compares os.open, which is ours now
        for name in ("open", "dup"):
            monkeypatch.setattr(os, name, self._opening(getattr(os, name)))
        self._close = os.close
        monkeypatch.setattr(os, "close", self._closing)

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def opening(*args: object, **kwargs: object) -> int:
            fd = real(*args, **kwargs)
            self.open.add(fd)
            return fd

        return opening

    def _closing(self, fd: int) -> None:
        self._close(fd)
        self.open.remove(fd)


class _Swap:
    """Runs `action` after the system was asked for `name` the second time, which is the last look before the open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, action: Callable[[], None]) -> None:
        self._stat = os.stat
        self._name = name
        self._action = action
        self._looks = 0
        monkeypatch.setattr(guard, "guarded", lambda: True)  # it compares os.stat, which is ours now
        monkeypatch.setattr(os, "stat", self)

    def __call__(self, path: object, *args: object, **kwargs: object) -> os.stat_result:
        status = self._stat(path, *args, **kwargs)
        if path == self._name:
            self._looks += 1
            if self._looks == 2:
                self._action()
        return status


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "gone"])
def test_a_file_swapped_after_the_check_is_not_read(desk: Desk, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Winning the race gains nothing: the open refuses links, and what was opened is looked at once more."""
    path = desk.write("a.txt", "harmless")

    def swap() -> None:
        path.unlink()
        if kind == "link":
            path.symlink_to(desk.base / "outside.txt")
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()

    _Swap(monkeypatch, "a.txt", swap)
    descriptors = _Descriptors(monkeypatch)

    assert ONE_ANSWER.format("a.txt") == desk.call("read_file", "a.txt")
    assert descriptors.open == set()


def test_a_folder_swapped_for_a_link_between_listing_and_opening_is_not_entered(desk: Desk) -> None:
    """The walk opens each folder by itself, below the descriptor it was listed from."""
    desk.write("a.txt")
    desk.write("sub/file.txt")
    tools = desk.tools()
    scan = tools._scan(ToolContext())
    with guard.open_root(desk.root, tool="test") as root:
        walk = scan.files(root, ())
        assert next(walk)[1] == ("a.txt",)  # the folder is listed by now
        (desk.root / "sub").rename(desk.root / "moved")
        (desk.root / "sub").symlink_to(desk.base / "root-evil")

        assert list(walk) == []
    assert scan.notes() == ["Folders that could not be read: 1."]


class _SwappingRedactor(Redactor):
    """Runs `action` while a search is in the middle of its first file."""

    def __init__(self, action: Callable[[], None]) -> None:
        super().__init__()
        self._actions = [action]

    def redact(self, text: str) -> str:
        while self._actions:
            self._actions.pop()()
        return super().redact(text)


def test_a_file_swapped_for_a_link_between_listing_and_opening_is_not_searched(desk: Desk) -> None:
    """It counts as unreadable, and the search goes on."""
    for name in ("a.txt", "b.txt", "c.txt"):
        desk.write(name, "marker")

    def swap() -> None:
        (desk.root / "b.txt").unlink()
        (desk.root / "b.txt").symlink_to(desk.base / "outside.txt")

    tools = FileTools(ToolsSettings(root=desk.root), redactor=_SwappingRedactor(swap))

    assert tools.search_code(ToolContext(), "marker").content.splitlines() == [
        "2 lines with 'marker'; in 2 of the 2 files of .",
        "a.txt:1: marker",
        "c.txt:1: marker",
        "Files not searched, unreadable: 1.",
    ]


def test_a_parent_moved_away_while_open_still_leads_where_it_led(desk: Desk) -> None:
    """A descriptor is a folder, not a name: the path is never looked up again."""
    desk.write("sub/a.txt", "inside")
    with guard.open_root(desk.root, tool="test") as root, guard.open_folder(root, ("sub",), denied_by()) as folder:
        (desk.root / "sub").rename(desk.root / "moved")
        (desk.root / "sub").symlink_to(desk.base / "root-evil")
        fd = guard.open_child_file(folder, "a.txt")
        try:
            assert os.read(fd, 100) == b"inside"
        finally:
            os.close(fd)


def test_an_error_of_this_machine_is_not_called_a_missing_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open files says nothing about the path."""
    desk.write("a/b.txt")
    opened = os.open

    def failing(path: object, *args: object, **kwargs: object) -> int:
        if path == "a":
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(guard, "guarded", lambda: True)
    monkeypatch.setattr(os, "open", failing)

    with pytest.raises(OSError, match="Too many"):
        desk.call("read_file", "a/b.txt")


def test_no_descriptor_is_left_open(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a call succeeds or is refused at any depth."""
    desk.write("a/b/c.txt", "marker")
    (desk.root / "a" / "link").symlink_to("b")
    descriptors = _Descriptors(monkeypatch)

    for path in (".", "a", "a/b", "a/b/c.txt", "a/link/c.txt", "a/b/c.txt/d", "x/y", ".env", "a/.git/x"):
        desk.all_readers(path)

    assert descriptors.open == set()


@pytest.mark.parametrize("tool", ["list_directory", "find_files", "read_file", "search_code"])
def test_a_platform_without_the_guard_is_refused_by_name(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """A tool that cannot be safe does not run."""
    monkeypatch.delattr(os, "O_NOFOLLOW")

    assert desk.call(tool, "a.txt").startswith(f"refused: {tool} does not run on this platform")


@pytest.mark.parametrize("tool", ["list_directory", "find_files", "read_file", "search_code"])
def test_a_root_that_is_missing_is_said_without_its_path(tmp_path: Path, tool: str) -> None:
    """The text tells the user what to set; the model learns no path of the machine."""
    tools = FileTools(ToolsSettings(root=tmp_path / "gone"))

    with pytest.raises(ToolError, match="configured root folder cannot be opened") as caught:
        getattr(tools, tool)(ToolContext(), "a.txt")
    assert str(tmp_path) not in str(caught.value)


def test_the_whole_file_system_is_no_root(tmp_path: Path) -> None:
    """It would hold /proc and every home; also when a link hides it."""
    (tmp_path / "link").symlink_to("/")

    for root in (Path("/"), tmp_path / "link"):
        with pytest.raises(ToolError, match="whole file system"):
            _read(root, "etc/hostname")


def test_the_root_itself_may_be_a_link(desk: Desk) -> None:
    """The operator chose it."""
    desk.write("a.txt", "hello")
    (desk.base / "alias").symlink_to(desk.root)

    assert "1: hello" in _read(desk.base / "alias", "a.txt")


def test_a_hard_link_is_read_like_any_file(desk: Desk) -> None:
    """Documented: no descriptor tells which of its names a file was meant by."""
    (desk.root / "hard.txt").hardlink_to(desk.base / "outside.txt")

    assert OUTSIDE in desk.call("read_file", "hard.txt")


@pytest.fixture(scope="module")
def trap() -> Iterator[Path]:
    """A root full of links to the outside, shared by all generated paths."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        root = base / "root"
        (root / "a" / "b").mkdir(parents=True)
        (base / "root-evil").mkdir()
        for folder in (base, base / "root-evil"):
            (folder / "out").write_text(OUTSIDE)
            (folder / OUTSIDE).touch()
        for folder in (root, root / "a", root / "a" / "b"):
            (folder / "in").write_text("inside")
            (folder / "up").symlink_to("..")
            (folder / "abs").symlink_to(base)
            (folder / "evil").symlink_to(base / "root-evil")
            (folder / "out").symlink_to(base / "out")
        yield root


PIECES = st.sampled_from(
    ["a", "b", "in", "up", "abs", "evil", "out", "..", ".", "", "root", "root-evil", " ", "\0", "~"]
)


@given(path=st.lists(PIECES | st.text(max_size=3), max_size=7).map("/".join))
def test_no_path_leads_outside(trap: Path, path: str) -> None:
    """Whatever pieces a path is made of, no tool shows what lies outside."""
    tools = FileTools(ToolsSettings(root=trap))
    for name, arguments in (
        ("read_file", (path,)),
        ("list_directory", (path,)),
        ("find_files", ("*", path)),
        ("search_code", ("e", path)),
    ):
        try:
            content = getattr(tools, name)(ToolContext(), *arguments).content
        except ToolError as error:
            content = str(error)
        assert OUTSIDE not in content
