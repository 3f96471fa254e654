"""A key may lie in the system's keyring: the table names it, the library is optional, nothing shows it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from nr_llm import _keyring
from nr_llm.errors import ConfigurationError

from tests.core.test_services import VLLM, refusal, service


class Keyring(ModuleType):
    """The library, with a keyring in memory."""

    def __init__(self, **trouble: Exception) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.trouble = trouble
        self.errors = ModuleType("keyring.errors")
        self.errors.NoKeyringError = type("NoKeyringError", (RuntimeError,), {})

    def get_password(self, service: str, name: str) -> str | None:
        self._raise("get")
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, key: str) -> None:
        self._raise("set")
        self.kept[service, name] = key

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]

    def _raise(self, what: str) -> None:
        if what in self.trouble:
            raise self.trouble[what]


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    """Return a keyring that is installed for one test."""
    own = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", own)
    monkeypatch.setitem(sys.modules, "keyring.errors", own.errors)
    return own


class TestTable:
    LINE = VLLM + 'api_key_keyring = "nr-llm/work"\n'

    def test_read(self, keyring: Keyring, tmp_path: Path):
        """The key is that of the service and name; a slash may stand in the name."""
        keyring.kept["nr-llm", "work"], keyring.kept["team", "a/b"] = "tiger-in-a-hat", "tiger-2"

        assert service(tmp_path, self.LINE).key == "tiger-in-a-hat"
        assert service(tmp_path, self.LINE.replace("nr-llm/work", "team/a/b")).key == "tiger-2"

    def test_after_the_variable(self, keyring: Keyring, tmp_path: Path):
        """The provider's own variable goes first."""
        keyring.kept["nr-llm", "work"] = "tiger-in-a-hat"

        assert service(tmp_path, self.LINE, NR_LLM_VLLM_API_KEY="tiger-9").key == "tiger-9"

    def test_learned(self, keyring: Keyring, tmp_path: Path):
        """The redactor masks it."""
        from tests.core.test_services import host

        keyring.kept["nr-llm", "work"] = "tiger-in-a-hat"
        own = host(tmp_path, self.LINE)
        own.provider("vllm")
        (value,) = (value for value in own.effective() if value.name == "providers.vllm.api_key")

        assert "tiger" not in own.redactor.redact("the tiger-in-a-hat")
        assert (value.value, value.source) == ("[redacted]", "keyring nr-llm/work")

    def test_missing(self, keyring: Keyring, tmp_path: Path):
        """The error says how to put it there."""
        ours = refusal(tmp_path, self.LINE)
        theirs = refusal(tmp_path, self.LINE.replace("nr-llm/work", "team/work"))

        assert "the keyring has no key 'nr-llm/work'" in str(ours)
        assert ours.remedy == "nr-llm keys set work"
        assert theirs.remedy == "Put it there under team."

    @pytest.mark.parametrize("value", ["5", '""', '"work"', '"/work"', '"nr-llm/"', '"sk-proj-0123456789abcdefghij/x"'])
    def test_no_name(self, keyring: Keyring, tmp_path: Path, value: str):
        """What names no key is refused and not shown, since it may be the key."""
        error = refusal(tmp_path, VLLM + f"api_key_keyring = {value}\n")

        assert "api_key_keyring names no key of the keyring" in str(error)
        assert "sk-proj" not in str(error)


class TestTrouble:
    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch):
        """Without the library the error names the extra."""
        monkeypatch.setitem(sys.modules, "keyring", None)

        with pytest.raises(ConfigurationError, match=r"not installed\. pip install 'nr-llm\[keyring\]'"):
            _keyring.stored("nr-llm", "work")

    def test_no_backend(self, keyring: Keyring):
        """Without a keyring the error says what else there is."""
        keyring.trouble["get"] = keyring.errors.NoKeyringError("none")

        with pytest.raises(ConfigurationError, match=r"no keyring on this system.*api_key_env"):
            _keyring.stored("nr-llm", "work")

    def test_refused(self, keyring: Keyring):
        """What a backend says may hold the key, so only its kind is told."""
        keyring.trouble["set"] = RuntimeError("cannot keep tiger-7")

        with pytest.raises(ConfigurationError, match="refused: RuntimeError") as caught:
            _keyring.store("nr-llm", "work", "tiger-7")
        assert "tiger" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_kept_and_forgotten(keyring: Keyring) -> None:
    """A key is kept, read, forgotten; forgetting it twice is no error, and an empty one is none."""
    _keyring.store("nr-llm", "work", "tiger-7")
    assert _keyring.stored("nr-llm", "work") == "tiger-7"

    _keyring.remove("nr-llm", "work")
    _keyring.remove("nr-llm", "work")
    assert _keyring.stored("nr-llm", "work") is None

    _keyring.store("nr-llm", "work", "")
    assert _keyring.stored("nr-llm", "work") is None
