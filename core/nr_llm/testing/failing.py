"""What every provider promises of failures: typed by who has to act, and nothing secret in them."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from nr_llm._json import encode_bytes
from nr_llm.errors import (
    AuthenticationError,
    InvalidRequestError,
    ProviderError,
    RateLimitError,
    ServiceError,
)
from nr_llm.providers import HttpReply
from nr_llm.testing.promises import demand
from nr_llm.testing.samples import ProviderSample, read_stream
from nr_llm.testing.subject import Subject
from nr_llm.testing.talks import asking

PAGE = b"<!DOCTYPE html><html><head><title>Sorry</title></head><body>Try later.</body></html>"

STATUSES: tuple[tuple[int, type[ProviderError], bool], ...] = (
    (400, InvalidRequestError, False),
    (401, AuthenticationError, False),
    (403, AuthenticationError, False),
    (404, InvalidRequestError, False),
    (429, RateLimitError, True),
    (500, ServiceError, True),
    (503, ServiceError, True),
    (529, ServiceError, True),
)
"""Statuses that say enough by themselves: the error, and whether asking again may help."""


class Failing(Subject):
    """Promises of what a provider makes of failures."""

    def test_statuses(self) -> None:
        """An error says who has to act, whatever the body is: empty, a web page, a text, any JSON."""
        for status, kind, retryable in STATUSES:
            for body in (b"", PAGE, b"Sorry.", b"{}", b"[]", b"null", b"\xff"):
                error = self._codec.error(HttpReply(status, {}, body))
                given = (type(error).__name__, error.status, error.retryable, error.provider)
                fine = isinstance(error, kind) and given[1:] == (status, retryable, self._codec.provider)
                wanted = (kind.__name__, status, retryable, self._codec.provider)
                demand(fine, f"HTTP {status} with {body[:20]!r} gives {given}, not {wanted}")

    def test_patience(self) -> None:
        """An error says when to come back, where the service does."""
        error = self._codec.error(HttpReply(429, {"retry-after": "7"}, b""))
        demand(error.retry_after == 7, f"retry-after: 7 gives retry_after={error.retry_after}")

    def test_samples_of_failure(self) -> None:
        """A reply that reports a failure is the error it stands for, with a failing status or without one."""
        for where, sample, reply in self._wholes(good=False):
            if sample.status >= 400:
                _check(where, sample, self._codec.error(reply))
                continue
            try:
                answer = self._codec.decode(reply, self._asked(sample))
            except ProviderError as error:
                _check(where, sample, error)
            else:
                raise AssertionError(f"{where}: it is read as the answer {answer}")

    def test_streams_that_fail(self) -> None:
        """A failure in a stream is the error it stands for, however it is cut."""
        for where, sample, body in self._streams(good=False):
            for i in range(len(body)):
                try:
                    _, answer = read_stream(self._codec, self._asked(sample), body[:i], body[i:])
                except ProviderError as error:
                    _check(where, sample, error)
                else:
                    raise AssertionError(f"{where}: it is read as the answer {answer}")

    def test_no_answers(self) -> None:
        """A success that holds nothing, or a web page, is an error, whole and streamed."""
        request = asking(self.model)
        for body in (b"", PAGE, b"Sorry.", b"[", b"\xff"):
            for form, read in (
                ("whole", lambda data: self._codec.decode(HttpReply(200, {}, data), request)),
                ("streamed", lambda data: read_stream(self._codec, request, data)),
            ):
                try:
                    read(body)
                except ProviderError:
                    continue
                raise AssertionError(f"{body[:20]!r}, {form}, is read as an answer")

    def test_echoed_keys(self) -> None:
        """A key that the service repeats is masked wherever an error shows the reply."""
        for where, error in self._echoes(self._key):
            shown = {"text": str(error), "repr": repr(error), "body": error.body, "request_id": error.request_id or ""}
            shown["traceback"] = "".join(traceback.format_exception(error))
            found = [name for name, text in shown.items() if self._key in text]
            demand(not found, f"{where}, it shows the key in its {', '.join(found)}")

    def _echoes(self, key: str) -> Iterator[tuple[str, ProviderError]]:
        text = f"Incorrect API key provided: {key}."
        json = encode_bytes({"error": {"message": text, "code": key}, "message": text})
        for body in (json, encode_bytes({"error": text}), text.encode(), PAGE.replace(b"Sorry", key.encode())):
            headers = {"x-request-id": key, "request-id": key}
            yield "for a reply of failure", self._codec.error(HttpReply(401, headers, body))
            for form, read in (
                ("a whole reply", lambda data: self._codec.decode(HttpReply(200, {}, data), asking(self.model))),
                ("a stream", lambda data: read_stream(self._codec, asking(self.model), data)),
                ("a stream", lambda data: read_stream(self._codec, asking(self.model), b"data: " + data + b"\n\n")),
            ):
                try:
                    read(body)
                except ProviderError as error:
                    yield f"for {form} of success", error


def _check(where: str, sample: ProviderSample, error: ProviderError) -> None:
    wanted = sample.error or ProviderError
    demand(isinstance(error, wanted), f"{where}: it gives {error!r}, not {wanted.__name__}")
    compared = [
        ("retryable", error.retryable, sample.retryable),
        ("retry_after", error.retry_after, sample.retry_after),
    ]
    if sample.status >= 400:
        compared.append(("status", error.status, sample.status))
    for what, given, expected in compared:
        demand(expected is None or given == expected, f"{where}: {what} is {given}, not {expected}")
