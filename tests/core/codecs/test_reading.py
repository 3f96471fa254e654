"""Odd types in replies give nothing and raise nothing; documents that are none are told."""

from __future__ import annotations

from typing import Any

import pytest
from nr_llm.codecs import json as codec_json
from nr_llm.codecs.reading import (
    count_of,
    document,
    filled,
    kept,
    malformed,
    object_of,
    objects_of,
    payload_of,
    text_of,
)
from nr_llm.errors import MalformedReplyError, RateLimitError

ODD: list[Any] = [None, 5, True, [], {}, "", "x", 1.5, [{}, 1]]


@pytest.mark.parametrize("value", ODD)
def test_only_what_has_the_shape_is_taken(value: Any) -> None:
    """Everything else is empty."""
    assert text_of(value) == (value if isinstance(value, str) else "")
    assert filled(value) == (value if isinstance(value, str) and value else None)
    assert object_of(value) == (value if isinstance(value, dict) else {})
    assert objects_of(value) == ([{}] if value == [{}, 1] else [])


@pytest.mark.parametrize(
    ("value", "count"), [(5, 5), (5.0, 5), (5.5, None), (True, None), ("5", None), (None, None), (2**63, None)]
)
def test_counts_are_whole_numbers(value: Any, count: int | None) -> None:
    """Neither texts nor truths nor what no store can keep."""
    assert count_of(value) == count


def test_a_document_is_decoded() -> None:
    """As the core decodes."""
    assert document(b'{"a": [1]}', provider="p", redact=str) == {"a": [1]}
    assert document(b"\xef\xbb\xbf[1]", provider="p", redact=str) == [1]
    assert codec_json.decode("1") == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is empty"),
        (b"  ", "is empty"),
        (b"junk\xff", "is no JSON: 'junk"),
        (b" <p>\xff", r"is a web page and no JSON \(is the base URL right\?\): '<p>"),
    ],
)
def test_what_is_no_document_is_told(body: bytes, words: str) -> None:
    """With its beginning, masked."""
    with pytest.raises(MalformedReplyError, match=words):
        document(body, provider="p", redact=str)


def test_a_malformed_reply_is_masked() -> None:
    """In text and body."""
    error = malformed("holds no answer", b"key k1", provider="p", redact=lambda text: text.replace("k1", "*"))

    assert str(error) == "p: the reply holds no answer: 'key *'"
    assert error.body == "key *"


def test_a_reply_that_reports_a_failure_is_no_payload() -> None:
    """Whatever its status said; others are."""
    assert payload_of(b'{"a": 1}', provider="p", redact=str) == {"a": 1}
    with pytest.raises(RateLimitError, match="p: slow down"):
        payload_of(b'{"error": {"message": "slow down", "type": "rate_limit"}}', provider="p", redact=str)


def test_what_goes_back_is_copied_or_told() -> None:
    """What no store can keep is no answer either."""
    given = {"blocks": [{"a": 1}]}
    copied = kept(given, path="content", provider="p")

    assert copied == given
    assert copied is not given
    with pytest.raises(MalformedReplyError, match=r"cannot be kept for the next turn: content\.blocks"):
        kept({"blocks": float("nan")}, path="content", provider="p")
