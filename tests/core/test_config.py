"""The plugin part of a configuration file says what loads and what each plugin is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from nr_llm.config import Config, Table, read_config
from nr_llm.errors import ConfigurationError


def write(folder: Path, text: str) -> Path:
    """Write a configuration file."""
    path = folder / "nr-llm.toml"
    path.write_text(text, "utf-8")
    return path


class TestRead:
    def test_lists_and_tables(self, tmp_path: Path):
        """Lists, tables of plugins and their source are read; other tables are somebody else's."""
        path = write(tmp_path, '[plugins]\nallow = ["a"]\ndeny = ["b"]\n[plugins.sql]\nrows = 5\n[run]\nmodel = "x"\n')

        config = read_config(path, trusted=True)

        assert (config.allow, config.deny) == (("a",), ("b",))
        assert config.tables == {"sql": (Table({"rows": 5}, str(path), folder=tmp_path),)}

    @pytest.mark.parametrize("text", ["", "[run]\nmodel = 'x'\n", "[plugins]\n"])
    def test_nothing_said(self, tmp_path: Path, text: str):
        """A file that says nothing of plugins leaves all open; an empty allow-list is one."""
        assert read_config(write(tmp_path, text), trusted=True) == Config()
        assert read_config(write(tmp_path, "[plugins]\nallow = []"), trusted=True).allow == ()

    @pytest.mark.parametrize("key", ["allow", "deny"])
    def test_not_trusted(self, tmp_path: Path, key: str):
        """A cloned project's file may not choose what loads."""
        path = write(tmp_path, f"[plugins]\n{key} = ['x']\n")

        with pytest.raises(ConfigurationError, match=rf"not trusted and sets plugins\.{key}") as caught:
            read_config(path, trusted=False)

        assert "NR_LLM_PLUGINS" in caught.value.remedy

    def test_marked(self, tmp_path: Path):
        """Tables of a file that is not trusted are marked so."""
        config = read_config(write(tmp_path, "[plugins.sql]\nrows = 5\n"), trusted=False)

        assert [table.trusted for table in config.tables["sql"]] == [False]

    def test_relative(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """A file named relative to the current folder has a folder that stays right when that changes."""
        write(tmp_path, "[plugins.sql]\nrows = 5\n")
        monkeypatch.chdir(tmp_path)

        assert read_config(Path("nr-llm.toml"), trusted=True).tables["sql"][0].folder == tmp_path

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("plugins = 5\n", "plugins is no table"),
            ("[plugins]\nallow = 'a'\n", "plugins.allow is no list"),
            ("[plugins]\ndeny = [5]\n", "plugins.deny is no list"),
            ("[plugins]\ndeny = ['']\n", "plugins.deny is no list"),
            ("[plugins]\nalow = ['a']\n", "'alow'.*'allow'"),
            ("[plugins\n", "no TOML file"),
            ("x = " + "[" * 100_000, "no TOML file"),
        ],
    )
    def test_wrong(self, tmp_path: Path, text: str, why: str):
        """What is not as expected is named with the file."""
        with pytest.raises(ConfigurationError, match=rf"nr-llm\.toml.*{why}"):
            read_config(write(tmp_path, text), trusted=True)

    def test_unreadable(self, tmp_path: Path):
        """A file that is missing or no text is named with the reason."""
        path = tmp_path / "nr-llm.toml"
        with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
            read_config(path, trusted=True)
        path.write_bytes(b"\xff")
        with pytest.raises(ConfigurationError, match="no TOML file"):
            read_config(path, trusted=True)


class TestOver:
    def test_project_over_user(self):
        """The first allow-list counts, deny-lists add up, tables stand in order."""
        a, b, c = Table({"x": 1}), Table({"x": 2}), Table({"y": 3})
        project = Config(deny=("p",), tables={"one": (a,)})
        user = Config(allow=("u",), deny=("u",), tables={"one": (b,), "two": (c,)})

        both = project.over(user)

        assert (both.allow, both.deny) == (("u",), ("p", "u"))
        assert both.tables == {"one": (a, b), "two": (c,)}
        assert Config(allow=()).over(user).allow == ()

    def test_repr(self):
        """A table shows names and no values."""
        assert "tiger" not in repr(Config(tables={"a": (Table({"api_key": "tiger-7"}),)}))


class TestPlaces:
    def test_a_pyproject(self, tmp_path: Path):
        """Of a pyproject.toml our table is read, and nothing if it has none."""
        path = tmp_path / "pyproject.toml"
        path.write_text(
            '[project]\nname = "x"\n[tool.nr-llm]\ndefault_model = "a:b"\n[tool.nr-llm.models.m]\n', "utf-8"
        )

        assert read_config(path, trusted=True).default_model == "a:b"
        path.write_text('[project]\nname = "x"\n', "utf-8")
        assert read_config(path, trusted=True) == Config()

    @pytest.mark.parametrize("text", ["tool = 5", "[tool]\nnr-llm = 5"])
    def test_a_pyproject_of_another_shape(self, tmp_path: Path, text: str):
        """What is no table is refused."""
        path = tmp_path / "pyproject.toml"
        path.write_text(text, "utf-8")

        with pytest.raises(ConfigurationError, match="is no table"):
            read_config(path, trusted=True)

    def test_trusted_by_its_bytes(self, tmp_path: Path):
        """Trust may depend on what the file holds, and it is asked about the bytes that are read."""
        path = write(tmp_path, "[plugins]\ndeny = ['x']\n")
        seen: list[bytes] = []

        assert read_config(path, trusted=lambda data: not seen.append(data)).deny == ("x",)
        assert seen == [path.read_bytes()]
        with pytest.raises(ConfigurationError, match="is not trusted"):
            read_config(path, trusted=lambda data: data == b"")
