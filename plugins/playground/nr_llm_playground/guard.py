"""
Who may ask at all: this host, this origin, and no page of anybody else's; written down once, in front of everything.

A browser sends requests to this machine for any page that it shows, and what it sends cannot be told from its user's
own by address or cookie alone.  So a request has to name a host that is served here (a name that somebody else
points at this machine is none), come from the page's own origin, and carry a header that no other page can send
without being asked first; it is never asked, since there is no answer to such a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import attrs
from starlette.datastructures import Headers

from nr_llm_playground.refusals import Refusal

HEADER: Final = "x-nr-llm"
"""A header that every call of the API carries; a page of another origin cannot set it."""

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine, as a browser sends them."""

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What the page may do: its own scripts and styles, its own server, no markup from text."""

ALWAYS: Final = (
    ("Content-Security-Policy", CSP),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)
"""Headers of every answer, refusals included."""

_NAME: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}))*|\[[0-9A-Fa-f:.]{2,45}\])"
_HOST: Final = re.compile(rf"({_NAME})(?::([0-9]{{1,5}}))?")
_ORIGIN: Final = re.compile(rf"https?://({_NAME}(?::[0-9]{{1,5}})?)")


@attrs.frozen
class Doors:
    """
    Which hosts and origins are served.

    Args:
        hosts: Names as a browser sends them, with a port where only that one is meant; None where whatever stands in
            front has checked it.
        origins: Origins beside the request's own host, such as ``https://example.org``.

    Raises:
        ValueError: One of them is none.
    """

    hosts: frozenset[str] | None
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hosts: Iterable[str] | None, origins: Iterable[str] = ()) -> Doors:
        """Return doors for names in any case."""
        named = None if hosts is None else frozenset(_named(hosts, _HOST, "host"))
        return cls(named, frozenset(_named(origins, _ORIGIN, "origin")))

    def check_host(self, given: Sequence[str]) -> str:
        """
        Return the host that a request names.

        Raises:
            Refusal: It names none, several, or one that is not served here.
        """
        found = _HOST.fullmatch(given[0]) if len(given) == 1 else None
        if found is None:
            raise Refusal(400, "host", "The request names no host.")
        host = given[0].lower()
        if self.hosts is not None and not {host, found[1].lower()} & self.hosts:
            raise Refusal(400, "host", f"{host[:100]} is not served here.")
        return host

    def check_origin(self, headers: Headers, host: str, *, scheme: str = "http") -> None:
        """
        Refuse what another origin's page sends.

        Args:
            headers: Of the request.
            host: The host that it names.
            scheme: That of the request; ``http`` may be what something in front makes of ``https``.

        Raises:
            Refusal: So it is.
        """
        for origin in headers.getlist("origin"):
            found = _ORIGIN.fullmatch(origin)
            own = found is not None and found[1].lower() == host and not (scheme == "https" and origin[:5] == "http:")
            if found is None or not (own or origin.lower() in self.origins):
                raise Refusal(403, "origin", "The request comes from a page of another origin.")
        site = headers.get("sec-fetch-site", "same-origin")
        if site not in {"same-origin", "none"} and not (self.origins and "origin" in headers):
            raise Refusal(403, "origin", "The request comes from a page of another origin.")


def check_header(headers: Headers) -> None:
    """
    Refuse a call that lacks the header of the API.

    Raises:
        Refusal: So it is.
    """
    if headers.getlist(HEADER) != ["1"]:
        raise Refusal(403, "header", "A call of the API carries the header X-NR-LLM: 1.")


def is_host(name: str) -> bool:
    """Return whether a name can be that of a host as a browser sends it."""
    return _HOST.fullmatch(name) is not None


def is_loopback(host: str) -> bool:
    """Return whether a server bound to an address is reached from this machine alone."""
    from nr_llm._reach import loopback

    return loopback(host)


def _named(given: Iterable[str], form: re.Pattern[str], what: str) -> Iterable[str]:
    if isinstance(given, str):
        raise ValueError(f"{what}s are a list, such as [{given!r}]")
    for name in given:
        if form.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no {what}; write it as a browser sends it")
        yield name.lower()
