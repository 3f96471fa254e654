"""Credentials nobody registered are known by their shape: this table says which shapes there are."""

from __future__ import annotations

import re
from typing import Final

import attrs


@attrs.frozen
class Shape:
    """
    One recognisable form of a credential.

    Attributes:
        name: What it is, for tables and tests.
        pattern: Finds it; a group named ``v`` is the part to mask, else the whole match is.
        hints: Lower-case texts of which one stands in every text the pattern matches; they make looking cheap.
    """

    name: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]


# Rules for the patterns, each held by a property test:
#
# * linear: a run of characters is entered at one place only, so no text makes the search quadratic;
# * idempotent: to its left a pattern looks at nothing but token characters and escapes, to its right at nothing.
#   The redactor extends a mask to the end of its token, so what remains beside a mask matches as it did before;
# * one line: only a private key spans lines, and a match that crosses a blank holds one of LINE_WORDS before that
#   blank.  This is what lets a stream be cut at all.
_FLAGS = re.IGNORECASE | re.ASCII
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2}))"

_TOKENS = (
    r"sk-(?=[a-z_-]*[A-Z0-9])[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic, OpenRouter; not a hyphenated word
    r"(?:gsk_|xai-|pplx-|hf_|r8_|nvapi-)[A-Za-z0-9_-]{24,}",  # Groq, xAI, Perplexity, Hugging Face, …
    r"gh[opsur]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{20,}",
    r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",  # AWS
    r"AIza[A-Za-z0-9_-]{30,}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"xox[abceoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}",
    r"[prs]k_(?:live|test)_[A-Za-z0-9]{10,}",  # Stripe
    r"whsec_[A-Za-z0-9]{20,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,}",  # JWT (three parts) and JWE (five)
)
_TOKEN_HINTS = (
    *("sk-", "gsk_", "xai-", "pplx-", "hf_", "r8_", "nvapi-", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_"),
    *("glpat-", "glptt-", "gldt-", "glrt-", "akia", "asia", "abia", "acca", "aiza", "ya29.", "xox", "xapp-"),
    *("k_live_", "k_test_", "whsec_", "sg.", "npm_", "pypi-", "eyj"),
)

_NAMES = (
    r"pass(?:word|wd|phrase)s?|pwd|secrets?|(?:api|access|auth|encryption|private|secret|signing)[_-]?keys?"
    r"|credentials?|authorization|(?:set-)?cookie|(?<!page)(?<!page[_-])(?<!continuation)(?<!continuation[_-])token"
)
_NAME_HINTS = ("pass", "pwd", "secret", "key", "credential", "authorization", "cookie", "token")
_SCHEMES = r"(?:apikey|basic|bearer|digest|token)"

_KEY_LABEL = r"(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
KEY_HEAD: Final = re.compile(f"-----BEGIN {_KEY_LABEL}")
"""Begins a private key: from here to its closing line all is masked."""

LINE_WORDS: Final = re.compile(
    r"-----|bearer|pass|pwd|secret|[_-]key|(?:api|access|auth|encryption|private|signing)key"
    r"|credential|authorization|cookie|token",
    _FLAGS,
)
"""A line without any of these holds no shape that crosses a blank."""

SHAPES: Final = (
    Shape(
        "private key",
        re.compile(
            KEY_HEAD.pattern
            + rf"(?:(?:(?!-----)[\s\S])*-----END {_KEY_LABEL}"
            # Without a closing line (the text was cut) the lines that look like the key's are taken.
            + r"|(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{16,})*)"
        ),
        ("-----begin ",),
    ),
    Shape("token", re.compile(f"{_START}(?:{'|'.join(_TOKENS)})"), _TOKEN_HINTS),
    Shape(
        "password in a URL",  # `host:80?…@` is a port and a query
        re.compile(r"""://[^\s/:@"'`<>]*:(?!\d{1,5}[?#])(?P<v>[^\s/"'`<>]+)@"""),
        ("://",),
    ),
    Shape("user token in a URL", re.compile(r"""https?://(?P<v>[^\s/:@"'`<>]{16,})@""", _FLAGS), ("://",)),
    Shape("Slack webhook", re.compile(r"hooks\.slack\.com/services/(?P<v>[A-Za-z0-9/]{20,})"), ("hooks.slack",)),
    Shape(
        "query parameter",
        re.compile(
            rf"[?&;](?:auth|key|sig|(?:[a-z0-9]+[_-])*(?:signature|{_NAMES}))"
            r"""=(?P<v>[^\s&;#"'`<>\\]+)""",
            _FLAGS,
        ),
        ("=",),
    ),
    Shape(
        "header",
        re.compile(
            rf"{_START}(?:(?:proxy-)?authorization|(?:x-(?:[a-z]+-)*|private-|api-)(?:key|token))"
            rf"""["']?[ \t]*:[ \t]*["']?(?:{_SCHEMES}[ \t]+)?"""
            rf"""(?!{_SCHEMES}(?![^\s"',;]))(?P<v>[\w+/=.~-][^\s"'`,;]*)""",
            _FLAGS,
        ),
        (":",),
    ),
    Shape("cookie", re.compile(rf"{_START}(?:set-)?cookie:[ \t]*(?P<v>[^\s\"'][^\n\"']*)", _FLAGS), ("cookie:",)),
    Shape(
        "bearer",
        re.compile(rf"{_START}bearer[ \t]+(?P<v>(?=[a-z._~+/=-]*[0-9])[a-z0-9._~+/=-]{{8,}})", _FLAGS),
        ("bearer",),
    ),
    Shape(
        "environment line",  # not `TOKEN=$OTHER`, `TOKEN=<yours>`, `TOKEN=function(`
        re.compile(
            rf"{_START}(?:[A-Z0-9]+_)*(?:PASSWORD|PASSWD|TOKEN|SECRET|(?:API|ACCESS|PRIVATE|SECRET)_?KEY)"
            r"""=["']?(?P<v>[^\s"'`<>${(][^\s"'`]*)"""
        ),
        ("=",),
    ),
    Shape(
        "quoted name and value",
        re.compile(
            rf"""(?P<q>\\{{0,4}}["'])[A-Za-z0-9_-]*?(?:{_NAMES})(?P=q)[ \t]*[:=][ \t]*(?P<o>\\{{0,4}}["'])"""
            r"(?P<v>(?:(?!(?P=o))(?:\\.|[^\n]))+)",
            _FLAGS,
        ),
        _NAME_HINTS,
    ),
)
"""The shapes; the redactor collects the matches of all of them before it masks any."""

_CREDENTIAL_NAME = re.compile(rf"(?:{_NAMES})\Z", _FLAGS)


def names_credential(name: str) -> bool:
    """Return whether a mapping's key says that its value is a credential (page and continuation tokens are none)."""
    return _CREDENTIAL_NAME.search(name) is not None
