"""Holds the store to the promises every run store keeps, on both databases, with and without a key."""

from __future__ import annotations

import base64

from nr_llm.testing.stores import check_store

from tests.plugins.store.conftest import Make

KEY = base64.b64encode(bytes(range(32))).decode()


def test_the_store_keeps_every_promise(make: Make) -> None:
    """Whatever the core expects of a store holds."""
    assert check_store(make) == ()


def test_an_encrypting_store_keeps_every_promise(make: Make) -> None:
    """Encryption changes nothing that the core can see."""
    assert check_store(lambda: make(keys=[KEY])) == ()
