"""A plugin's settings come from the first place that has them, strictly typed, and no error shows a value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from nr_llm.config import Table
from nr_llm.errors import ConfigurationError, InvalidValueError, MissingCredentialError
from nr_llm.redaction import Redactor
from nr_llm.secrets import MASK, Secret
from nr_llm.settings import load_settings, resolve_settings, setting, variable


class Tone(StrEnum):
    """Texts as values."""

    WARM = "warm"
    COOL = "cool"


class Level(Enum):
    """Numbers as values."""

    ONE = 1
    TWO = 2


@attrs.frozen(kw_only=True)
class Settings:
    """One setting of every type."""

    text: str = "t"
    number: int = 1
    ratio: float = 0.5
    flag: bool = False
    path: Path | None = None
    names: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    numbers: tuple[int, ...] = ()
    tone: Tone = Tone.WARM
    level: Level = Level.ONE
    kind: Literal["a", "b", 3] = "a"
    options: Mapping[str, Any] = attrs.field(factory=dict)
    more: dict[str, Any] | None = None
    api_key: Secret | None = setting(default=None, env=("ACME_KEY",))
    base_url: str = setting(default="https://acme.example", env=("ACME_URL", "ACME_HOST"))
    _hidden: int = 0


def load(environ: Mapping[str, str] | None = None, **more: Any) -> Settings:
    """Return the settings of a plugin ``acme``."""
    return load_settings(Settings, plugin="acme", environ=environ or {}, **more)


class TestOrder:
    def test_first_place_counts(self):
        """The program goes before the environment, that before files, those before defaults."""
        values = {"text": "file", "number": 2, "ratio": 1.5}
        environ = {"NR_LLM_ACME_TEXT": "variable", "NR_LLM_ACME_NUMBER": "3"}

        loaded = resolve_settings(
            Settings, plugin="acme", environ=environ, values=[Table(values, "x.toml")], overrides={"text": "program"}
        )

        assert (loaded.settings.text, loaded.settings.number, loaded.settings.ratio) == ("program", 3, 1.5)
        assert loaded.sources["text"] == "the program"
        assert loaded.sources["number"] == "NR_LLM_ACME_NUMBER"
        assert loaded.sources["ratio"] == "x.toml"
        assert loaded.sources["flag"] == "default"

    def test_own_variable_before_the_vendors(self):
        """Our variable goes before the vendor's, and those in their order."""
        environ = {"ACME_HOST": "c", "ACME_URL": "b", "NR_LLM_ACME_BASE_URL": "a"}

        assert load(environ).base_url == "a"
        assert load({"ACME_HOST": "c", "ACME_URL": "b"}).base_url == "b"
        assert load({"ACME_HOST": "c"}).base_url == "c"

    def test_variables_that_other_settings_tell(self):
        """A function sees what the others hold and where that is from, wherever it is declared."""
        seen: list[tuple[dict[str, object], dict[str, str]]] = []

        def told(found: Mapping[str, object], sources: Mapping[str, str]) -> list[str]:
            seen.append((dict(found), dict(sources)))
            return [f"{found['vendor']}_KEY"]

        @attrs.frozen
        class Choosing:
            key: Secret = setting(env=told)
            vendor: str = "x"
            region: str = "eu"

        def chosen(**environ: str) -> Choosing:
            return load_settings(Choosing, plugin="acme", values={"vendor": "TWO"}, environ=environ)

        assert chosen(ONE_KEY="one", TWO_KEY="two").key == Secret("two")
        assert seen == [({"vendor": "TWO"}, {"key": "default", "vendor": "the program", "region": "default"})]
        assert chosen(TWO_KEY="two", NR_LLM_ACME_KEY="own").key == Secret("own")
        with pytest.raises(MissingCredentialError) as caught:
            chosen(ONE_KEY="one")
        assert caught.value.variables == ("NR_LLM_ACME_KEY", "TWO_KEY")

    def test_empty_variable(self):
        """An empty variable counts as none."""
        assert load({"NR_LLM_ACME_TEXT": "", "ACME_KEY": ""}) == Settings()

    def test_tables_in_order(self):
        """Of several tables the first counts, for each name."""
        tables = [Table({"text": "project"}), Table({"text": "user", "number": 5})]

        assert load(values=tables) == Settings(text="project", number=5)

    def test_alias(self):
        """A private attribute is set by the name its class takes it under."""
        assert load({"NR_LLM_ACME_HIDDEN": "4"})._hidden == 4
        assert load(values={"hidden": 5})._hidden == 5

    def test_variable(self):
        """Variables are upper-case with underscores."""
        assert variable("a-b.c", "x_y") == "NR_LLM_A_B_C_X_Y"


class TestSecrets:
    def test_learned(self):
        """A secret is wrapped and learned by the redactor, wherever it is from."""
        redactor = Redactor()
        settings = load({"ACME_KEY": " tiger-7\n"}, redactor=redactor)

        assert settings.api_key == Secret("tiger-7")
        assert redactor.redact("a tiger-7") == f"a {MASK}"
        assert "tiger" not in repr(settings)

    def test_file(self, tmp_path: Path):
        """A variable with _FILE names a file that holds it; the plain variable goes first."""
        file = tmp_path / "key"
        file.write_text("tiger-7\n")
        environ = {"ACME_KEY_FILE": str(file)}
        loaded = resolve_settings(Settings, plugin="acme", environ=environ)

        assert loaded.settings.api_key == Secret("tiger-7")
        assert loaded.sources["api_key"] == "ACME_KEY_FILE"
        assert load({**environ, "NR_LLM_ACME_API_KEY": "lion-88"}).api_key == Secret("lion-88")

    def test_file_only_for_secrets(self):
        """Other settings are read from no file."""
        assert load({"NR_LLM_ACME_TEXT_FILE": "/nowhere"}) == Settings()

    @pytest.mark.parametrize(
        ("data", "why"),
        [(None, "No such file"), (b"\xff\xfe", "no UTF-8"), (b"x" * 70_000, "too large"), (b" \n", "empty")],
    )
    def test_unreadable_file(self, tmp_path: Path, data: bytes | None, why: str):
        """A file that is missing, no text, too large or empty is refused, naming variable and reason."""
        file = tmp_path / "key"
        if data is not None:
            file.write_bytes(data)

        with pytest.raises(ConfigurationError, match=f"NR_LLM_ACME_API_KEY_FILE.*{why}"):
            load({"NR_LLM_ACME_API_KEY_FILE": str(file)})

    def test_unknown_home(self):
        """A home folder that does not exist is refused as well."""
        with pytest.raises(ConfigurationError, match="home folder"):
            load({"ACME_KEY_FILE": "~nobody-of-that-name/key"})

    def test_missing(self):
        """A secret without default that is nowhere names the variables."""

        @attrs.frozen
        class Needs:
            api_key: Secret = setting(env=("ACME_KEY",))

        with pytest.raises(MissingCredentialError, match="NR_LLM_ACME_API_KEY or ACME_KEY") as caught:
            load_settings(Needs, plugin="acme", environ={})

        assert caught.value.variables == ("NR_LLM_ACME_API_KEY", "ACME_KEY")

    def test_wrong(self):
        """A secret of the wrong type is refused without showing it."""
        with pytest.raises(ConfigurationError, match="api_key") as caught:
            load(values={"api_key": 71_377_731})

        assert "71377731" not in str(caught.value)

    def test_refused_by_a_validator(self):
        """What a validator says of a secret is masked."""

        def refuse(_: object, field: attrs.Attribute[Any], value: Secret) -> None:
            raise InvalidValueError(f"{value.reveal()} is no key", path=field.name)

        @attrs.frozen
        class Checked:
            key: Secret = setting(validator=refuse)

        with pytest.raises(ConfigurationError, match="is no key") as caught:
            load_settings(Checked, plugin="acme", environ={"NR_LLM_ACME_KEY": "tiger-7"})

        assert "tiger-7" not in str(caught.value)
        assert caught.value.__suppress_context__


class TestVariables:
    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            ("text", "x", "x"),
            ("number", " -12 ", -12),
            ("ratio", "1e-3", 0.001),
            ("ratio", "2", 2.0),
            ("flag", "Yes", True),
            ("flag", "0", False),
            ("path", "a/b", Path("a/b")),
            ("path", "~/b", Path.home() / "b"),
            ("names", "a, b,,c ", ("a", "b", "c")),
            ("numbers", "1,2", (1, 2)),
            ("tone", "cool", Tone.COOL),
            ("level", "2", Level.TWO),
            ("kind", "3", 3),
            ("options", '{"a": [1]}', {"a": [1]}),
            ("more", "{}", {}),
        ],
    )
    def test_read(self, name: str, text: str, expected: object):
        """Each type is read from a variable's text."""
        value = getattr(load({variable("acme", name): text}), name)

        assert value == expected
        assert type(value) is type(expected)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            *(("number", text) for text in ("x", "1.0", "1_000", "0x1", "٣x", "true")),
            *(("ratio", text) for text in ("x", "nan", "inf", "-Infinity")),
            *(("flag", text) for text in ("x", "2", "truee")),
            *(("tone", "WARMER"), ("level", "3"), ("kind", "c"), ("numbers", "1,x"), ("path", "a\0b")),
            *(("options", text) for text in ("[]", "{", "x", "NaN")),
        ],
    )
    def test_refused(self, name: str, text: str):
        """What is not of the type is refused, naming setting, variable and type."""
        with pytest.raises(ConfigurationError, match=variable("acme", name)) as caught:
            load({variable("acme", name): text})

        assert repr(name) in str(caught.value)
        assert caught.value.remedy.startswith("It is declared as ")


class TestTables:
    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            ("number", 5, 5),
            ("ratio", 5, 5.0),
            ("flag", True, True),
            ("names", ["a"], ("a",)),
            ("names", ("a",), ("a",)),
            ("path", "a", Path("a")),
            ("path", Path("a"), Path("a")),
            ("tone", "cool", Tone.COOL),
            ("tone", Tone.COOL, Tone.COOL),
            ("level", 2, Level.TWO),
            ("kind", 3, 3),
            ("options", {"a": {"b": 1}}, {"a": {"b": 1}}),
            ("api_key", "tiger-7", Secret("tiger-7")),
            ("api_key", Secret("tiger-7"), Secret("tiger-7")),
        ],
        ids=repr,
    )
    def test_read(self, name: str, value: object, expected: object):
        """Each type is taken from a table as TOML gives it."""
        assert getattr(load(values={name: value}), name) == expected

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *(("number", value) for value in ("5", 5.0, True, None)),
            *(("ratio", value) for value in ("0.5", True, float("nan"), 10**400, None)),
            *(("flag", value) for value in ("true", 1, None)),
            *(("text", value) for value in (5, None, ["a"])),
            *(("names", value) for value in ("a", {"a": 1}, [1])),
            *(("path", value) for value in (5, "")),
            *(("tone", 1), ("level", "2"), ("level", True), ("kind", True), ("options", "{}"), ("options", {"a": {1}})),
        ],
    )
    def test_strict(self, name: str, value: object):
        """Nothing is guessed from another type."""
        with pytest.raises(ConfigurationError, match=repr(name)):
            load(values={name: value})

    def test_relative_paths(self, tmp_path: Path):
        """A path in a file is relative to the file's folder."""
        table = Table({"path": "a", "paths": ["b", "/c"]}, folder=tmp_path)

        assert load(values=[table]) == Settings(path=tmp_path / "a", paths=(tmp_path / "b", Path("/c")))

    def test_unknown_name(self):
        """A name that is no setting is refused with the one that was meant, the place and all there are."""
        with pytest.raises(ConfigurationError, match=r"x\.toml.*'nubmer'.*'number'.*It has text, number") as caught:
            load(values=[Table({"nubmer": 1}, "x.toml")])

        assert caught.value.remedy.startswith("It has ")

    def test_no_settings(self):
        """A class without attributes says so."""

        @attrs.frozen
        class Empty:
            pass

        with pytest.raises(ConfigurationError, match="It has none"):
            load_settings(Empty, plugin="acme", environ={}, values={"a": 1})

    def test_missing(self):
        """A setting without default that is nowhere says where to set it."""

        @attrs.frozen
        class Needs:
            place: str
            made: str = attrs.field(init=False, default="")

        with pytest.raises(ConfigurationError, match="NR_LLM_ACME_PLACE") as caught:
            load_settings(Needs, plugin="acme", environ={})

        assert "[plugins.acme]" in caught.value.remedy


class TestUntrusted:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("api_key", "x"),
            ("base_url", "https://evil.example"),
            ("path", "/etc/passwd"),
            ("path", "../x"),
            ("path", "a/../../x"),
            ("path", "~nobody-of-that-name/x"),
            ("paths", ["ok", "../x"]),
        ],
    )
    def test_refused(self, tmp_path: Path, name: str, value: object):
        """A file that is not trusted sets no key, no address and no path outside of its folder."""
        table = Table({name: value}, "x.toml", folder=tmp_path, trusted=False)

        with pytest.raises(ConfigurationError, match=r"x\.toml is not trusted and sets") as caught:
            load(values=[table])

        assert variable("acme", name) in caught.value.remedy

    def test_allowed(self, tmp_path: Path):
        """It may set what redirects nothing."""
        table = Table({"text": "x", "path": "data/x", "paths": ["a"]}, folder=tmp_path, trusted=False)

        assert load(values=[table]).path == tmp_path / "data/x"

    def test_symlink(self, tmp_path: Path):
        """A link in the folder leads no way out."""
        (tmp_path / "way").symlink_to("/etc")
        table = Table({"path": "way/passwd"}, folder=tmp_path, trusted=False)

        with pytest.raises(ConfigurationError, match="not trusted"):
            load(values=[table])

    def test_no_folder(self):
        """Without a folder of its own it may name no path."""
        with pytest.raises(ConfigurationError, match="not trusted"):
            load(values=[Table({"path": "a"}, trusted=False)])

    def test_declared(self):
        """A settings class may protect more, or less."""

        @attrs.frozen
        class Own:
            root: str = setting(default="", protected=True)
            help_url: str = setting(default="", protected=False)

        def of(**values: str) -> Own:
            return load_settings(Own, plugin="acme", environ={}, values=[Table(values, trusted=False)])

        assert of(help_url="x") == Own(help_url="x")
        with pytest.raises(ConfigurationError, match="not trusted"):
            of(root="x")

    def test_wrong_type(self, tmp_path: Path):
        """A wrong type in such a file is told as such."""
        with pytest.raises(ConfigurationError, match="no list"):
            load(values=[Table({"paths": "x"}, folder=tmp_path, trusted=False)])


class TestClasses:
    def test_no_attrs_class(self):
        """Only attrs classes will do."""
        with pytest.raises(ConfigurationError, match="no settings class"):
            load_settings(dict, plugin="acme", environ={})

    def test_types_that_do_not_exist(self):
        """Types that exist for type checkers only are named."""

        @attrs.frozen
        class Postponed:
            place: Nowhere = None  # type: ignore[name-defined]  # noqa: F821

        with pytest.raises(ConfigurationError, match="Nowhere"):
            load_settings(Postponed, plugin="acme", environ={})

    @pytest.mark.parametrize("wanted", [list[str], int | str, tuple[str, str], tuple, set[str], object], ids=str)
    def test_types_that_cannot_be_set(self, wanted: Any):
        """A type that no text or table can say is named."""
        cls = attrs.make_class("Odd", {"odd": attrs.field(default=None, type=wanted)}, frozen=True)

        with pytest.raises(ConfigurationError, match="'odd'"):
            load_settings(cls, plugin="acme", environ={"NR_LLM_ACME_ODD": "x"})

    def test_validator(self):
        """A validator's refusal is a configuration error, with its type where it says nothing."""

        @attrs.frozen
        class Checked:
            number: int = attrs.field(default=0, validator=attrs.validators.ge(0))
            broken: int = attrs.field(default=0, converter=lambda value: 1 // value if value else value)

        def of(**values: int) -> Checked:
            return load_settings(Checked, plugin="acme", environ={}, values=values)

        with pytest.raises(ConfigurationError, match="number"):
            of(number=-1)
        assert of(broken=1) == Checked(broken=1)

    def test_silent_refusal(self):
        """An exception without text is named by its type."""

        def refuse(_: object) -> int:
            raise KeyError

        @attrs.frozen
        class Checked:
            number: int = attrs.field(default=0, converter=refuse)

        with pytest.raises(ConfigurationError, match="KeyError"):
            load_settings(Checked, plugin="acme", environ={})
