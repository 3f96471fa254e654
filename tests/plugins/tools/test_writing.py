"""The tools that write: where, over what, and what is left where something is in the way."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nr_llm_tools
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nr_llm import (
    ConfigurationError,
    PluginHost,
    RunCancelledError,
    Runtime,
    Suspended,
    Tool,
    ToolContext,
    ToolEffect,
    ToolError,
    ToolResult,
)
from nr_llm.bounds import bound_result
from nr_llm.diffs import unified
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_tools import FileTools, ToolsSettings, WriteTools, _draft, _rename
from nr_llm_tools import nr_llm_tools as contributed

from tests.plugins.tools.conftest import OUTSIDE, Desk

KEY = "sk-" + "Ab1" * 12
WAYS = ["the system's step", "two names"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rename by the system's own step, and where it has none."""
    if request.param == WAYS[1]:
        monkeypatch.setattr(_rename, "find_step", lambda: None)
    elif _rename.find_step() is None:
        pytest.skip("this system has no such step")
    return str(request.param)


class Pen:
    """The writing tools of a desk's root folder."""

    def __init__(self, desk: Desk, *folders: str, **settings: Any) -> None:
        self.root = desk.root
        self.tools = WriteTools(ToolsSettings(root=desk.root, write=folders or (".",), **settings))

    def result(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool."""
        made: ToolResult = getattr(self.tools, name)(ToolContext(), **arguments)
        return made

    def call(self, name: str, **arguments: Any) -> str:
        """Return what a model reads."""
        try:
            return self.result(name, **arguments).content
        except ToolError as error:
            return f"refused: {error}"

    def write(self, path: str, content: str = "new\n", **more: Any) -> str:
        return self.call("write_file", path=path, content=content, **more)

    def move(self, source: str, destination: str) -> str:
        return self.call("move_file", source=source, destination=destination)

    def preview(self, name: str, **arguments: Any) -> str:
        """Return what a person sees before they decide."""
        (made,) = (tool for tool in self.tools.tools() if tool.name == name)
        assert made.previewer is not None
        lines = made.previewer(arguments, ToolContext())
        assert isinstance(lines, list)
        return "\n".join(lines)

    @property
    def names(self) -> list[str]:
        """All there is below the root, drafts included."""
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*"))


@pytest.fixture
def pen(desk: Desk) -> Pen:
    """Return tools that may write everywhere below the root."""
    return Pen(desk)


class TestOffer:
    """Nobody gets these tools without having asked for them."""

    def test_off_unless_a_folder_is_named(self, desk: Desk) -> None:
        """Without the setting there are none."""
        names = {tool.name for tool in contributed(ToolsSettings(root=desk.root))}

        assert not names & {"write_file", "move_file"}

    def test_they_write_and_wait_for_a_person(self, pen: Pen) -> None:
        """In a group of their own: who chooses the readers does not choose them."""
        tools = pen.tools.tools()

        assert [tool.name for tool in tools] == ["write_file", "move_file"]
        assert {tool.effect for tool in tools} == {ToolEffect.WRITE}
        assert all(tool.needs_approval and tool.group == "writing" for tool in tools)

    def test_a_run_of_the_default_set_has_none(self, desk: Desk) -> None:
        """Writes are chosen by name."""
        settings = {"tools": {"root": desk.root, "write": ["."]}}
        with (
            PluginHost({"tools": nr_llm_tools}, settings=settings, environ={}) as host,
            Runtime(host, providers=[ScriptedProvider("x")], model="scripted:") as runtime,
        ):
            result = runtime.run("x")

        assert result.content == "x"
        assert "write_file" in [found.name for found in host.tools()]

    def test_a_file_that_is_not_trusted_cannot_switch_them_on(self, desk: Desk) -> None:
        """A cloned project that could would write where it likes."""
        from nr_llm.config import read_config

        config = desk.root / "nr-llm.toml"
        config.write_text('[plugins.tools]\nwrite = ["."]\n')

        with pytest.raises(ConfigurationError):
            PluginHost({"tools": nr_llm_tools}, environ={}, config=read_config(config, trusted=False)).require("tools")

    @pytest.mark.parametrize("folders", ["notes", ["../notes"], ["/etc"], [""]])
    def test_a_folder_that_is_none_is_an_error(self, desk: Desk, folders: Any) -> None:
        """It is a list of folders below the root."""
        with pytest.raises(ConfigurationError, match=r"plugins\.tools\.write"):
            ToolsSettings(root=desk.root, write=folders)

    def test_a_run_shows_the_preview_then_writes(self, desk: Desk) -> None:
        """From the call over the person to the file, with the diff for people alone."""
        desk.write("a.txt", "one\n")
        tools = WriteTools(ToolsSettings(root=desk.root, write=(".",))).tools()
        call = calling(("write_file", {"path": "a.txt", "content": "two\n", "overwrite": True}))
        with Runtime(tools=tools, providers=[ScriptedProvider(call, "done")], model="scripted:") as runtime:
            held = runtime.run("x", tools=["write_file"])
            assert isinstance(held, Suspended)
            assert (desk.root / "a.txt").read_text() == "one\n"
            result = runtime.resume(held, True)

        assert held.previews[0].lines == (
            "Replaces a.txt: 1 line; 1 added, 1 removed:",
            *("--- a.txt", "+++ a.txt", "@@ -1 +1 @@", "-one", "+two"),
        )
        assert (desk.root / "a.txt").read_text() == "two\n"
        (invocation,) = result.invocations
        assert invocation.content == "Replaced a.txt: 1 line; 1 added, 1 removed."
        assert [artifact.type for artifact in invocation.artifacts] == ["diff"]


class TestWrite:
    """A whole file, or nothing."""

    def test_a_new_file(self, pen: Pen, way: str) -> None:
        """It says what was given, and the answer how much that is."""
        result = pen.result("write_file", path="a.txt", content="ä\nb\n")

        assert (pen.root / "a.txt").read_text(encoding="utf-8") == "ä\nb\n"
        assert result.content == "Created a.txt: 2 lines."
        assert unified(result.artifacts[0].data) == "--- /dev/null\n+++ a.txt\n@@ -0,0 +1,2 @@\n+ä\n+b\n"
        assert pen.names == ["a.txt"]

    def test_an_old_file(self, pen: Pen, desk: Desk, way: str) -> None:
        """Replaced as a whole; nothing of the old one is left."""
        desk.write("notes/a.txt", "one\ntwo\n")
        result = pen.result("write_file", path="notes/a.txt", content="one\n", overwrite=True)

        assert (pen.root / "notes/a.txt").read_text() == "one\n"
        assert result.content == "Replaced notes/a.txt: 1 line; 0 added, 1 removed."
        assert pen.names == ["notes", "notes/a.txt"]

    def test_an_old_file_is_not_replaced_unasked(self, pen: Pen, desk: Desk, way: str) -> None:
        """Whatever is there: the model is told to read it first."""
        desk.write("a.txt", "old\n")
        (pen.root / "dangling").symlink_to("nowhere")

        for name in ("a.txt", "dangling"):
            assert pen.write(name).startswith(f"refused: There is something at '{name}' already. Read it;")
        assert (pen.root / "a.txt").read_text() == "old\n"
        assert pen.names == ["a.txt", "dangling"]

    def test_the_same_again_is_no_write(self, pen: Pen, desk: Desk) -> None:
        """The file keeps its time."""
        path = desk.write("a.txt", "old\n")
        before = path.stat()

        assert pen.write("a.txt", "old\n", overwrite=True) == "a.txt says this already; nothing was changed."
        assert path.stat() == before

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
    def test_permissions_stay(self, pen: Pen, desk: Desk, mode: int, way: str) -> None:
        """A private file stays private, a program executable."""
        path = desk.write("a.txt", "old\n")
        path.chmod(mode)
        pen.write("a.txt", overwrite=True)

        assert stat.S_IMODE(path.stat().st_mode) == mode

    def test_a_right_to_act_as_its_owner_is_not_kept(self, pen: Pen, desk: Desk) -> None:
        """What a model wrote must not run as somebody else."""
        path = desk.write("a.sh", "old\n")
        path.chmod(0o4755)
        pen.write("a.sh", overwrite=True)

        assert stat.S_IMODE(path.stat().st_mode) == 0o755

    def test_a_new_file_is_as_readable_as_any(self, pen: Pen) -> None:
        """As the process's mask says."""
        mask = os.umask(0o027)
        try:
            pen.write("a.txt")
        finally:
            os.umask(mask)

        assert stat.S_IMODE((pen.root / "a.txt").stat().st_mode) == 0o640

    def test_a_second_name_of_a_file_keeps_the_old_text(self, pen: Pen, desk: Desk) -> None:
        """A hard link out of the root is no way to write out of it."""
        (desk.root / "a.txt").hardlink_to(desk.base / "outside.txt")
        pen.write("a.txt", overwrite=True)

        assert (desk.base / "outside.txt").read_text() == OUTSIDE
        assert (desk.root / "a.txt").read_text() == "new\n"

    def test_a_file_nobody_may_write_stays(self, pen: Pen, desk: Desk) -> None:
        """Renaming would not ask for its permission, so the tool does."""
        desk.write("a.txt", "old\n").chmod(0o444)

        assert pen.write("a.txt", overwrite=True) == "refused: 'a.txt' is marked as not to be written."

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ("a\0b", "is no text"),
            ("a\ud800", "half a character"),
            ("x" * 101, "has 101 bytes; the limit is 100"),
            ("ä" * 51, "has 102 bytes"),
        ],
    )
    def test_what_is_no_text_or_too_much_is_not_written(self, desk: Desk, content: str, why: str) -> None:
        """Text in UTF-8 alone, within the cap."""
        pen = Pen(desk, file_bytes=100)

        assert why in pen.write("a.txt", content)
        assert why in pen.preview("write_file", path="a.txt", content=content)
        assert pen.names == []

    @pytest.mark.parametrize(
        ("old", "why"), [(b"\xff\xfe", "no text file"), (b"\0", "no text"), (b"x" * 101, "larger")]
    )
    def test_what_is_no_text_or_too_large_is_not_replaced(self, desk: Desk, old: bytes, why: str) -> None:
        """What a model cannot have read whole, it does not replace."""
        path, pen = desk.write("a.txt", old), Pen(desk, file_bytes=100)

        assert why in pen.write("a.txt", overwrite=True)
        assert path.read_bytes() == old

    def test_a_masked_credential_is_not_destroyed(self, pen: Pen, desk: Desk) -> None:
        """A model that was shown a mask and writes it back would lose what is behind it."""
        path = desk.write("settings.py", f'KEY = "{KEY}"\nDEBUG = True\n')
        shown = FileTools(ToolsSettings(root=desk.root)).read_file(ToolContext(), "settings.py").content
        assert "[redacted]" in shown

        answer = pen.write("settings.py", 'KEY = "[redacted]"\nDEBUG = False\n', overwrite=True)

        assert "would destroy them" in answer
        assert KEY in path.read_text()

    def test_a_credential_is_masked_for_people(self, pen: Pen) -> None:
        """The diff is kept with the run, so it is masked like everything that is read."""
        arguments = {"path": "a.py", "content": f'KEY = "{KEY}"\n'}

        assert KEY not in pen.preview("write_file", **arguments, overwrite=False)
        assert KEY not in unified(pen.result("write_file", **arguments).artifacts[0].data)
        assert KEY in (pen.root / "a.py").read_text()

    def test_a_preview_shows_the_blanks_that_count(self, pen: Pen, desk: Desk) -> None:
        """Previews have their blanks collapsed: without their marks these lines would all look the same, or kept."""
        desk.write("a.py", "- item\nif x:\n    y\n\n")
        said = pen.preview("write_file", path="a.py", content="- item\nif x:\n  \ty \n   \n", overwrite=True)

        assert said.splitlines()[4:] == ["|- item", "|if x:", "-····y", "-", "+··→y·", "+···"]

    def test_a_large_diff_is_cut_and_passes_the_bounds(self, pen: Pen) -> None:
        """The artifact says how much is missing instead of being left out."""
        result = pen.result("write_file", path="a.txt", content='"\\\n' * 20_000)
        (artifact,) = bound_result(result).artifacts

        assert artifact.type == "diff"
        assert artifact.data["lines"][-1][1].endswith("more lines")

    def test_a_call_nobody_waits_for_changes_nothing(self, pen: Pen) -> None:
        """It is asked in the last moment before the file counts."""
        context = ToolContext()
        context.cancelled.cancel("timed out")

        with pytest.raises(RunCancelledError):
            pen.tools.write_file(context, "a.txt", "x")
        assert pen.names == []


class TestPlaces:
    """Where nothing is written, whatever is approved."""

    PATHS = (
        ("../outside.txt", "no '..'"),
        ("/etc/motd", "begin without '/'"),
        ("a\0", "NUL"),
        (".", "root folder"),
        (".env", "names of credentials"),
        ("id_rsa.bak", "names of credentials"),
        (".git/hooks/pre-commit", "names of credentials"),
        ("nr-llm.toml", "names of credentials"),
        (".bashrc", "names of credentials"),
        (".vscode/tasks.json", "names of credentials"),
        (".nr-llm-draft-1", "names of credentials"),
        ("secret.sqlite", "names of credentials"),
        ("a\x1b", "printable"),
        ("a\u202etxt", "printable"),
        ("missing/a.txt", "There is no readable file or folder 'missing/a.txt'. The folder of a file has to be there"),
        ("link/a.txt", "There is no readable file or folder 'link/a.txt'. The folder of a file has to be there"),
    )

    @pytest.mark.parametrize(("path", "why"), PATHS)
    def test_a_path_that_is_refused(self, desk: Desk, path: str, why: str) -> None:
        """For a new file, for both ends of a move, and in what people see before."""
        desk.write("a.txt")
        desk.write(".git/hooks/old")
        (desk.root / "link").symlink_to("..")
        pen = Pen(desk, deny=("*.sqlite",))
        before = pen.names

        assert why in pen.write(path)
        assert why in pen.move("a.txt", path)
        assert why in pen.move(path, "b.txt")
        assert "It would fail: " in pen.preview("write_file", path=path, content="x", overwrite=True)
        assert "It would fail: " in pen.preview("move_file", source="a.txt", destination=path)
        assert pen.names == before
        assert (desk.base / "outside.txt").read_text() == OUTSIDE

    def test_a_name_that_is_too_long(self, desk: Desk) -> None:
        """For any file system."""
        desk.write("a.txt")

        assert "There is no readable" in Pen(desk).write("x" * 300)
        assert "File name too long. Nothing was changed." in Pen(desk).move("a.txt", "x" * 300)

    def test_below_the_folders_of_the_setting_alone(self, desk: Desk) -> None:
        """A neighbour whose name begins the same is none of them."""
        for name in ("notes/a.txt", "notes-evil/a.txt", "drafts/deep/a.txt", "a.txt"):
            desk.write(name, "old\n")
        pen = Pen(desk, "notes", "drafts/")

        assert pen.write("notes/b.txt").startswith("Created")
        assert pen.write("drafts/deep/b.txt").startswith("Created")
        for path in ("b.txt", "notes-evil/b.txt", "notes"):
            assert pen.write(path) == f"refused: '{path}' is not open to writing; this is: 'notes', 'drafts'."
        assert "is not open to writing" in pen.move("a.txt", "notes/c.txt")
        assert "is not open to writing" in pen.move("notes/a.txt", "c.txt")

    def test_a_move_stays_below_its_folder(self, desk: Desk) -> None:
        """One folder may be somebody else's than the other."""
        desk.write("notes/a.txt")
        desk.write("drafts/b.txt")

        assert Pen(desk, "notes", "drafts").move("notes/a.txt", "drafts/a.txt") == (
            "refused: A file stays below the folder it is in: 'notes', 'drafts'."
        )
        assert Pen(desk, "notes", "drafts", ".").move("notes/a.txt", "drafts/a.txt").startswith("Moved")

    @pytest.mark.parametrize("overwrite", [True, False])
    def test_what_is_no_regular_file_is_not_replaced(self, pen: Pen, desk: Desk, overwrite: bool) -> None:
        """Links, folders and pipes; a link is not followed either."""
        (desk.root / "out").symlink_to("../outside.txt")
        (desk.root / "folder").mkdir()
        os.mkfifo(desk.root / "pipe")

        for name in ("out", "folder", "pipe"):
            assert pen.write(name, overwrite=overwrite).startswith("refused: ")
            assert pen.move(name, "elsewhere").startswith("refused: ")
        assert (desk.base / "outside.txt").read_text() == OUTSIDE
        assert pen.names == ["folder", "out", "pipe"]

    def test_no_tool_shows_a_draft(self, desk: Desk) -> None:
        """One that a killed process left is nothing to read, list or find."""
        desk.write(".nr-llm-draft-00ff", "half")

        assert {line.startswith("refused") for line in desk.all_readers(".nr-llm-draft-00ff")} == {True}
        assert "draft" not in desk.call("list_directory")


class TestMove:
    """A file gets another path, and nothing is lost."""

    def test_a_file(self, pen: Pen, desk: Desk, way: str) -> None:
        """Of any content, with its permissions and time."""
        path = desk.write("a.bin", b"\x00\xff")
        path.chmod(0o600)
        desk.write("folder/b.txt")
        before = path.stat()
        result = pen.result("move_file", source="a.bin", destination="folder/a.bin")

        after = (pen.root / "folder/a.bin").stat()
        assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)
        assert pen.names == ["folder", "folder/a.bin", "folder/b.txt"]
        assert result.content == "Moved a.bin to folder/a.bin."
        assert unified(result.artifacts[0].data) == "rename from a.bin\nrename to folder/a.bin\n"
        assert [artifact.type for artifact in bound_result(result).artifacts] == ["diff"]

    def test_nothing_is_overwritten(self, pen: Pen, desk: Desk, way: str) -> None:
        """Not by a file, a folder, a link, or itself."""
        desk.write("a.txt", "a")
        desk.write("b.txt", "b")
        (desk.root / "folder").mkdir()
        (desk.root / "dangling").symlink_to("nowhere")

        for name in ("b.txt", "folder", "dangling", "a.txt"):
            why = f"There is something at '{name}' already; move_file overwrites nothing."
            assert pen.move("a.txt", name) == f"refused: {why}"
            assert pen.preview("move_file", source="a.txt", destination=name) == f"It would fail: {why}"
        assert ((pen.root / "a.txt").read_text(), (pen.root / "b.txt").read_text()) == ("a", "b")

    def test_the_preview(self, pen: Pen, desk: Desk) -> None:
        """What is moved where, and how much it is."""
        desk.write("a.txt", "x" * 1_234)

        said = pen.preview("move_file", source="a.txt", destination="b.txt")
        assert said == "Moves a.txt, 1,234 bytes, to b.txt"

    def test_a_missing_file(self, pen: Pen) -> None:
        """The answer is that of the readers."""
        assert pen.move("a.txt", "b.txt").startswith("refused: There is no readable file or folder 'a.txt'.")

    def test_a_call_nobody_waits_for_moves_nothing(self, pen: Pen, desk: Desk) -> None:
        """It is asked before."""
        desk.write("a.txt")
        context = ToolContext()
        context.cancelled.cancel("timed out")

        with pytest.raises(RunCancelledError):
            pen.tools.move_file(context, "a.txt", "b.txt")
        assert pen.names == ["a.txt"]


Change = Callable[[], object]


class TestRaces:
    """Somebody else writes at the worst moment."""

    @pytest.fixture
    def meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Change], None]]:
        """Have something happen when the draft is durable and has not replaced anything yet."""
        sync = os.fsync

        def arrange(change: Change) -> None:
            changes = [change]

            def fsync(fd: int) -> None:
                sync(fd)
                if changes:
                    changes.pop()()

            monkeypatch.setattr(os, "fsync", fsync)

        return arrange  # type: ignore[return-value]

    def test_a_file_that_appears_is_not_replaced(self, pen: Pen, way: str, meanwhile: Any) -> None:
        """There was none when the tool looked."""
        meanwhile(lambda: (pen.root / "a.txt").write_text("theirs"))

        assert "There is something at 'a.txt' already." in pen.write("a.txt")
        assert (pen.root / "a.txt").read_text() == "theirs"
        assert pen.names == ["a.txt"]

    def test_a_file_that_changes_is_not_replaced(self, pen: Pen, desk: Desk, way: str, meanwhile: Any) -> None:
        """A person decided about another text."""
        path = desk.write("a.txt", "old\n")
        meanwhile(lambda: path.write_text("theirs, longer\n"))

        assert "changed by somebody else just now" in pen.write("a.txt", overwrite=True)
        assert path.read_text() == "theirs, longer\n"
        assert pen.names == ["a.txt"]

    @pytest.mark.parametrize("gone", [True, False])
    def test_a_file_that_goes_is_not_made_anew(
        self, pen: Pen, desk: Desk, way: str, meanwhile: Any, gone: bool
    ) -> None:
        """Or that another one, a link out of the root, stands in for."""
        path = desk.write("a.txt", "old\n")

        def swapped() -> None:
            path.unlink()
            if not gone:
                path.symlink_to("../outside.txt")

        meanwhile(swapped)

        assert "changed by somebody else just now" in pen.write("a.txt", overwrite=True)
        assert (desk.base / "outside.txt").read_text() == OUTSIDE
        assert pen.names == ([] if gone else ["a.txt"])

    def test_a_folder_swapped_for_a_link_is_not_followed(self, pen: Pen, desk: Desk, way: str, meanwhile: Any) -> None:
        """What was opened is what is written to, wherever it is by then."""
        desk.write("notes/old.txt")

        def swapped() -> None:
            (desk.root / "notes").rename(desk.root / "aside")
            (desk.root / "notes").symlink_to("../root-evil")

        meanwhile(swapped)
        pen.write("notes/a.txt")

        assert (desk.root / "aside/a.txt").read_text() == "new\n"
        assert [path.name for path in (desk.base / "root-evil").iterdir()] == ["file.txt"]

    @pytest.mark.parametrize("gone", [True, False])
    def test_what_is_written_between_the_last_look_and_the_exchange_is_given_back(
        self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch, gone: bool
    ) -> None:
        """The exchanged file is looked at once more; if its place is free again by then, it goes back there."""
        if _rename.find_step() is None:
            pytest.skip("this system has no such step")
        path = desk.write("a.txt", "old\n")
        swaps = [lambda: path.write_text("theirs, longer\n"), path.unlink if gone else lambda: None]
        swap = _draft.swap

        def late(one: str, other: str, *, folder: int) -> bool:
            swaps.pop(0)()
            return swap(one, other, folder=folder)

        monkeypatch.setattr(_draft, "swap", late)

        assert "changed by somebody else just now" in pen.write("a.txt", overwrite=True)
        assert path.read_text() == "theirs, longer\n"
        assert pen.names == ["a.txt"]

    def test_a_file_swapped_before_it_is_moved_stays(
        self, pen: Pen, desk: Desk, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What a person agreed to move was another file: it goes back."""
        desk.write("a.txt", "agreed")
        rename = nr_llm_tools.writing.rename_new
        turns = iter([lambda: desk.write("b.txt", "theirs").replace(desk.root / "a.txt"), lambda: None])

        def late(*names: str, **folders: int) -> None:
            next(turns)()
            rename(*names, **folders)

        monkeypatch.setattr(nr_llm_tools.writing, "rename_new", late)

        assert "changed by somebody else just now; it was not moved" in pen.move("a.txt", "c.txt")
        assert pen.names == ["a.txt"]
        assert (desk.root / "a.txt").read_text() == "theirs"

    def test_a_file_that_goes_before_it_is_moved(
        self, pen: Pen, desk: Desk, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The answer is that of a file that was never there."""
        path = desk.write("a.txt")
        rename = nr_llm_tools.writing.rename_new

        def late(*names: str, **folders: int) -> None:
            path.unlink()
            rename(*names, **folders)

        monkeypatch.setattr(nr_llm_tools.writing, "rename_new", late)

        assert "There is no readable file or folder 'a.txt'" in pen.move("a.txt", "b.txt")

    def test_a_file_that_goes_on_has_been_moved(self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """What others do with it afterwards is their business."""
        desk.write("a.txt")
        rename = nr_llm_tools.writing.rename_new

        def and_on(*names: str, **folders: int) -> None:
            rename(*names, **folders)
            (desk.root / "b.txt").rename(desk.root / "c.txt")

        monkeypatch.setattr(nr_llm_tools.writing, "rename_new", and_on)

        assert pen.move("a.txt", "b.txt") == "Moved a.txt to b.txt."

    def test_without_the_systems_step_another_file_of_the_name_stays(
        self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Put there between the two steps, it is not the one that was moved."""
        desk.write("a.txt", "ours")
        link = os.link

        def late(*names: Any, **folders: Any) -> None:
            link(*names, **folders)
            desk.write("new.txt", "theirs").replace(desk.root / "a.txt")

        monkeypatch.setattr(_rename, "find_step", lambda: None)
        monkeypatch.setattr(os, "link", late)

        assert pen.move("a.txt", "b.txt") == "Moved a.txt to b.txt."
        assert ((desk.root / "a.txt").read_text(), (desk.root / "b.txt").read_text()) == ("theirs", "ours")


class TestTroubles:
    """The disk says no."""

    @pytest.mark.parametrize("overwrite", [True, False])
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
    def test_a_disk_that_is_full_leaves_everything(
        self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch, number: int, overwrite: bool
    ) -> None:
        """Half a draft is no file."""
        desk.write("a.txt", "old\n")
        before = pen.names

        def full(fd: int, data: Any) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "write", full)
        answer = pen.write("a.txt" if overwrite else "b.txt", overwrite=overwrite)

        assert f"could not be written: {os.strerror(number)}. Nothing was changed." in answer
        assert pen.names == before
        assert (pen.root / "a.txt").read_text() == "old\n"

    def test_a_file_of_somebody_else_stays_theirs(self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where it cannot be given to them again it is not replaced."""
        desk.write("a.txt", "old\n")

        def refused(*_: Any) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "fchown", refused)
        monkeypatch.setattr(_draft, "_own", lambda _: (-2, -2))

        assert "could not be written: Operation not permitted" in pen.write("a.txt", overwrite=True)
        assert (pen.root / "a.txt").read_text() == "old\n"

    def test_another_file_system(self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """A mount below the root is no place to rename to."""
        desk.write("a.txt")

        def elsewhere(*_: Any, **__: Any) -> None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

        monkeypatch.setattr(nr_llm_tools.writing, "rename_new", elsewhere)

        assert "it is on another file system" in pen.move("a.txt", "b.txt")

    def test_a_step_the_file_system_does_not_know(self, pen: Pen, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then the way of two names is gone, as where the system has no such step."""
        import ctypes

        def unknown(*_: Any) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

        monkeypatch.setattr(_rename, "find_step", lambda: _rename.Step(unknown, 1, 2))
        desk.write("a.txt", "old\n")

        assert pen.write("a.txt", overwrite=True).startswith("Replaced")
        assert pen.move("a.txt", "b.txt") == "Moved a.txt to b.txt."
        assert pen.names == ["b.txt"]

    def test_a_system_without_such_a_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is looked for once, by both of its names."""
        import ctypes

        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())

        assert _rename.find_step.__wrapped__() is None

    def test_a_platform_without_the_guard_is_refused_by_name(self, pen: Pen, monkeypatch: pytest.MonkeyPatch) -> None:
        """As the readers do."""
        monkeypatch.delattr(os, "O_NOFOLLOW")

        assert "write_file does not run on this platform" in pen.write("a.txt")


def test_each_tool_has_a_preview(pen: Pen) -> None:
    """A person decides about what a call would do, and not about its arguments alone."""
    tools: tuple[Tool, ...] = pen.tools.tools()

    assert all(tool.preview is not None for tool in tools)


def test_the_root_is_not_the_current_folder(pen: Pen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are those below the root, wherever the process is."""
    monkeypatch.chdir(tmp_path)
    pen.write("a.txt")

    assert not (tmp_path / "a.txt").exists()
    assert (pen.root / "a.txt").exists()


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
        for folder in (root, root / "a", root / "a" / "b"):
            (folder / "up").symlink_to("..")
            (folder / "abs").symlink_to(base)
            (folder / "evil").symlink_to(base / "root-evil")
            (folder / "out").symlink_to(base / "out")
        yield root


PIECES = st.sampled_from(
    ["a", "b", "in", "up", "abs", "evil", "out", "..", ".", "", "root", "root-evil", " ", "\0", "~"]
)
PATHS = st.lists(PIECES | st.text(max_size=3), max_size=5).map("/".join)


@given(path=PATHS, other=PATHS, overwrite=st.booleans())
def test_no_path_leads_outside(trap: Path, path: str, other: str, overwrite: bool) -> None:
    """Whatever pieces a path is made of, nothing outside of the root is written, moved or moved to."""
    tools = WriteTools(ToolsSettings(root=trap, write=("a", "root", ".")))
    for call in (
        lambda: tools.write_file(ToolContext(), path, "written", overwrite=overwrite),
        lambda: tools.move_file(ToolContext(), path, other),
    ):
        with suppress(ToolError):
            call()

    outside = {path.relative_to(trap.parent).as_posix() for path in trap.parent.glob("*")}
    assert outside == {"out", "root", "root-evil"}
    assert [path.name for path in (trap.parent / "root-evil").iterdir()] == ["out"]
    assert {(trap.parent / name).read_text() for name in ("out", "root-evil/out")} == {OUTSIDE}
