"""Encrypts what a run needs to go on, so that a stolen file holds no conversation that was not to be kept."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from nr_llm.errors import ConfigurationError, StoreError
from nr_llm.secrets import Secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SETTING: Final = "`keys` in [plugins.store] or the variable NR_LLM_STORE_KEYS"
"""How messages name the setting."""

MARK: Final = "nr1:"
"""What an encrypted value begins with; JSON, which is what a plain one is, never does."""

_BYTES: Final = 32  # AES-256
_NONCE: Final = 12  # NIST SP 800-38D, section 8.2
_MAKE: Final = 'Make one with: python -c "import base64, os; print(base64.b64encode(os.urandom(32)).decode())"'


class Seal:
    """
    Encrypts with the first of some keys, and decrypts with any.

    Args:
        keys: Each base64 of 32 bytes; several in one text are parted by blanks or commas.

    Raises:
        ConfigurationError: A key is of another form, or the package that encrypts is not installed.
    """

    def __init__(self, keys: Iterable[Secret | str] = ()) -> None:
        self._ciphers: dict[str, AESGCM] = {}
        for key in checked(keys):
            self._ciphers.setdefault(hashlib.sha256(key).hexdigest()[:8], _cipher(key))
        self.first = next(iter(self._ciphers), None)

    def close(self, text: str, purpose: str) -> str:
        """
        Return a text encrypted, or as it is if there is no key.

        Args:
            text: JSON.
            purpose: Where it will stand: elsewhere it cannot be opened.
        """
        if self.first is None:
            return text
        nonce = os.urandom(_NONCE)
        sealed = self._ciphers[self.first].encrypt(nonce, text.encode(), purpose.encode())
        return f"{MARK}{self.first}:{base64.b64encode(nonce + sealed).decode()}"

    def open(self, text: str, purpose: str) -> str:
        """
        Return the text that `close` was given.

        Raises:
            StoreError: Its key is not among ours, or it was changed or moved.
        """
        if not text.startswith(MARK):
            return text
        name, _, sealed = text.removeprefix(MARK).partition(":")
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise StoreError(f"The live state of a run is encrypted with the key {name!r}, which is not in {SETTING}.")
        from cryptography.exceptions import InvalidTag

        try:
            data = base64.b64decode(sealed, validate=True)
            return cipher.decrypt(data[:_NONCE], data[_NONCE:], purpose.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise StoreError(
                f"The live state of a run cannot be decrypted with the key {name!r}: it was changed or moved."
            ) from error

    def stale(self, text: str) -> bool:
        """Return whether a stored text is not as `close` would leave it now."""
        return self.first is not None and not text.startswith(f"{MARK}{self.first}:")


def state_of(run_id: str) -> str:
    """Return the purpose of a run's live state."""
    return f"nr_llm_run.live_state:{run_id}"


def message_of(run_id: str, number: int) -> str:
    """Return the purpose of one of its live messages."""
    return f"nr_llm_live_message.message:{number}:{run_id}"


def parts(keys: Iterable[Secret | str]) -> tuple[str, ...]:
    """Return each key of texts that may hold several."""
    texts = (key.reveal() if isinstance(key, Secret) else key for key in keys)
    return tuple(part for text in texts for part in re.split(r"[\s,]+", text) if part)


def checked(keys: Iterable[Secret | str]) -> tuple[bytes, ...]:
    """
    Return the keys as bytes.

    Raises:
        ConfigurationError: A key is of another form.
    """
    return tuple(map(_key, parts(keys)))


def _key(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise ConfigurationError(f"A key in {SETTING} is not base64 of {_BYTES} bytes.", remedy=_MAKE)
    return key


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{SETTING} is set, and the package that encrypts is missing.",
            remedy='Install it with: pip install "nr-llm-store[encryption]"',
        ) from error
    return AESGCM(key)
