"""A secret shows its value in one way only."""

from __future__ import annotations

import copy
import json
import logging
import pickle

import attrs
import pytest
from nr_llm.errors import InvalidValueError
from nr_llm.secrets import MASK, Secret

VALUE = "correct horse battery"


@pytest.fixture
def secret() -> Secret:
    """Return a secret."""
    return Secret(VALUE)


class TestShown:
    @pytest.mark.parametrize("form", ["{}", "{!s}", "{!r}", "{!a}", "{:>40}", "{0!s:.3}"])
    def test_masked(self, secret: Secret, form: str):
        """However it is formatted, the value stays out and the gap is visible."""
        shown = form.format(secret)

        assert VALUE[:3] not in shown
        assert MASK[:3] in shown

    def test_containers(self, secret: Secret):
        """Containers show the mask."""
        assert f"{{'key': [Secret({MASK!r})]}}" == repr({"key": [secret]})

    def test_reveal(self, secret: Secret):
        """`reveal` is the one way to the value."""
        assert secret.reveal() == VALUE

    def test_log(self, secret: Secret, caplog: pytest.LogCaptureFixture):
        """A log line that is handed a secret holds the mask."""
        with caplog.at_level(logging.INFO):
            logging.getLogger("x").info("key %s %r", secret, secret)

        assert VALUE not in caplog.text


class TestKept:
    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle(self, secret: Secret, protocol: int):
        """No pickle protocol takes it."""
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(secret, protocol)

    def test_json(self, secret: Secret):
        """It is no JSON value."""
        with pytest.raises(TypeError):
            json.dumps({"key": secret})

    def test_asdict(self, secret: Secret):
        """`attrs.asdict` of what holds it keeps it closed."""

        @attrs.frozen
        class Settings:
            key: Secret

        assert {"key": secret} == attrs.asdict(Settings(secret))
        assert VALUE not in repr(Settings(secret))

    def test_no_dict(self, secret: Secret):
        """There is no instance dictionary to dump."""
        with pytest.raises(TypeError):
            vars(secret)

    def test_copies(self, secret: Secret):
        """A copy of a structure shares the secret."""
        assert copy.copy(secret) is secret
        assert copy.deepcopy([secret])[0] is secret


class TestValue:
    def test_equality(self, secret: Secret):
        """Secrets of one value are equal and hash alike; a plain text is no secret."""
        assert Secret(VALUE) == secret
        assert hash(Secret(VALUE)) == hash(secret)
        assert Secret("other") != secret
        assert secret != VALUE

    def test_surrogates(self):
        """Undecodable bytes of an environment variable make no comparison raise."""
        assert Secret("a\udcff") == Secret("a\udcff")

    def test_fixed(self, secret: Secret):
        """It can neither be changed nor emptied."""
        with pytest.raises(AttributeError, match="does not change"):
            secret._value = "x"  # type: ignore[misc]
        with pytest.raises(AttributeError, match="does not change"):
            del secret._value

    @pytest.mark.parametrize(("value", "kind"), [("", "empty"), (None, "NoneType"), (b"x", "bytes"), (5, "int")])
    def test_refused(self, value, kind: str):
        """An empty or foreign value is refused by kind, without showing it."""
        with pytest.raises(InvalidValueError, match=kind):
            Secret(value)
