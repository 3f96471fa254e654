"""The secret of one launch: shown once, exchanged for a cookie, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from starlette.requests import cookie_parser

BYTES: Final = 32
"""Of chance in a token: 256 bits."""


class Token:
    """
    Lets in whoever knows it; the cookie is derived from it, and it cannot be learned from the cookie.

    Args:
        secret: The token; a new one unless given.

    Raises:
        ValueError: It is too short to be a secret.
    """

    def __init__(self, secret: str | None = None) -> None:
        self.secret = secrets.token_urlsafe(BYTES) if secret is None else secret
        if len(self.secret) < BYTES:
            raise ValueError(f"a token has at least {BYTES} characters")
        self._value = self._derived("cookie")
        self.cookie = f"nr-llm-{self._derived('name')[:8]}"  # cookies know no ports: two launches must not share one

    def __repr__(self) -> str:
        return "Token(***)"

    def is_it(self, given: object) -> bool:
        """Return whether somebody knows the token."""
        return isinstance(given, str) and _same(given, self.secret)

    def admits(self, headers: list[str]) -> bool:
        """Return whether a request carries the cookie."""
        given = [cookie_parser(header).get(self.cookie) for header in headers]
        return any(value is not None and _same(value, self._value) for value in given)

    def set_cookie(self, *, path: str, secure: bool) -> str:
        """Return the header that gives a browser the cookie: for this page alone, out of reach of scripts."""
        parts = (f"{self.cookie}={self._value}", f"Path={path}", "HttpOnly", "SameSite=Strict")
        return "; ".join((*parts, "Secure") if secure else parts)

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
