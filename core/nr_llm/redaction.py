"""What leaves the process for people, logs and stores passes here first, and its secrets stay behind."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from nr_llm._json import JSON, encode
from nr_llm._shapes import KEY_HEAD, LINE_WORDS, SHAPES, Shape, names_credential
from nr_llm.secrets import MASK, Secret

WITHHELD: Final = "[withheld: redaction failed]"
"""Stands for a text whose masking failed: nothing is shown rather than something unmasked."""

SHORT: Final = 4
"""Known values with fewer characters are masked only as a whole text: inside others they would blank everything."""

NAME_CHARACTERS: Final = 64
"""Texts up to this length that hold no secret are known again: names of tools and fields come with every step."""

NAMES_KEPT: Final = 512
"""So many of them are kept."""

_LINE: Final = 16
"""A line of a secret of several lines is a secret by itself from this length on."""

_TOKEN_REST = re.compile(r"[A-Za-z0-9_-]*")
_TOKEN_END = re.compile(r"[A-Za-z0-9_-]")

Span = tuple[int, int]


class Redactor:
    """
    Masks secrets in text: values it was told first, then whatever has the shape of a credential.

    Masking is idempotent, its time is linear in the text, and overlapping secrets leave no remainder.  A mask
    reaches to the end of the token it begins in.  Thread-safe.

    Args:
        known: Credentials in use; each is masked in its JSON, HTML, percent-encoded and `repr` form too.
        shapes: Forms of credentials to look for; `SHAPES` unless given.
    """

    def __init__(self, known: Iterable[Secret | str] = (), *, shapes: Iterable[Shape] = SHAPES) -> None:
        self._shapes = tuple(shapes)
        self._lock = threading.Lock()
        self._short: frozenset[str] = frozenset()
        self._known: tuple[str, ...] = ()
        self._clean: set[str] = set()
        for secret in known:
            self.learn(secret)

    def learn(self, secret: Secret | str) -> None:
        """Mask this value from now on; learning it again, or learning an empty text, changes nothing."""
        value = secret.reveal() if isinstance(secret, Secret) else secret
        with self._lock:
            if len(value) < SHORT:
                self._short |= {value.strip()}
            else:
                self._known = tuple(sorted({*self._known, *_forms(value)}, key=len, reverse=True))
            self._clean = set()  # another one, so that who looks just now adds to what nobody asks any more

    def redact(self, text: str) -> str:
        """
        Return `text` with its secrets replaced by ``[redacted]``.

        It never raises: where masking fails the whole text is withheld, visibly.
        """
        clean = self._clean
        if text in clean:
            return text
        masked = MASK if text and text in self._short else self.redact_part(text)
        if len(text) <= NAME_CHARACTERS and masked == text:
            if len(clean) >= NAMES_KEPT:
                clean.clear()
            clean.add(text)
        return masked

    def redact_part(self, text: str) -> str:
        """As `redact`, for a text that is only part of another: known values of up to three characters stay."""
        try:
            # Masks of an earlier pass are fences: nothing is found across them, so a second pass finds nothing.
            return MASK.join(
                self._masked(part, (*self._known_spans(part), *self._shape_spans(part))) for part in text.split(MASK)
            )
        except Exception:  # noqa: BLE001 - fail closed, whatever broke
            return WITHHELD

    def mask_known(self, text: str) -> str:
        """As `redact`, for the values it was told alone; the same object when none of them is in `text`."""
        if not text or not (self._known or self._short):
            return text
        try:
            return MASK if text in self._short else self._masked(text, self._known_spans(text))
        except Exception:  # noqa: BLE001 - fail closed, whatever broke
            return WITHHELD

    def redact_json(self, value: object) -> JSON:
        """
        Return a JSON value with every text in it redacted, keys too, and its shape kept.

        The text and numbers directly below a key that names a credential (``password``, ``api_key``, …) are
        masked whatever they are.  What is no JSON value is masked as a whole; it never raises.
        """
        try:
            return self._walk(value, credential=False)
        except Exception:  # noqa: BLE001 - fail closed, whatever broke (nesting without end, for one)
            return WITHHELD

    def stage(self) -> RedactingStage:
        """Return a fresh `RedactingStage` that masks one streamed text."""
        return RedactingStage(self)

    def spanning(self) -> Iterator[str]:
        """Yield the known values that hold a blank, so that a cut at a blank may fall into them."""
        return (form for form in self._known if " " in form or "\n" in form)

    def _masked(self, text: str, spans: Iterable[Span]) -> str:
        pieces: list[str] = []
        position = 0
        for start, end in sorted(spans):
            if start >= position:
                pieces += text[position:start], MASK
            elif end <= position:
                continue
            position = _token_end(text, end)
        return "".join((*pieces, text[position:])) if pieces else text

    def _known_spans(self, text: str) -> Iterator[Span]:
        for form in self._known:
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = text.find(form, start + 1)

    def _shape_spans(self, text: str) -> Iterator[Span]:
        lowered = text.lower()
        for shape in self._shapes:
            if any(hint in lowered for hint in shape.hints):
                group = "v" if "v" in shape.pattern.groupindex else 0
                yield from (match.span(group) for match in shape.pattern.finditer(text))

    def _walk(self, value: object, *, credential: bool) -> JSON:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self._walk(item, credential=credential) for item in value]
        if credential or not isinstance(value, str | int | float):
            return MASK
        if isinstance(value, str):
            return self.redact(value)
        return MASK if any(self._known_spans(str(value))) else value

    def _mapping(self, value: Mapping[object, object]) -> dict[str, JSON]:
        result: dict[str, JSON] = {}
        for key, item in value.items():
            name = self.redact(str(key))
            while name in result:  # two keys that look alike once masked
                name += "'"
            result[name] = self._walk(item, credential=names_credential(name))
        return result


def _forms(value: str) -> Iterator[str]:
    # The ways a value is written where texts are built: as it is, in JSON, in a repr, in HTML, in a URL.
    for text in (value, *(line.strip() for line in value.splitlines() if len(line.strip()) >= _LINE)):
        plain = text.encode("utf-8", "replace").decode()
        yield from {text, encode(plain)[1:-1], repr(text)[1:-1], html.escape(text), quote(plain, ""), quote_plus(plain)}


def _token_end(text: str, end: int) -> int:
    match = _TOKEN_REST.match(text, end) if _TOKEN_END.match(text, end - 1) else None
    return match.end() if match else end


class RedactingStage:
    """
    Masks a text that arrives in pieces: the joined output equals the redaction of the joined input.

    It holds back what may still become part of a secret: the last word, a line that speaks of credentials, an
    open private key, the beginning of a known value.

    Args:
        redactor: Whose secrets are masked.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._pieces: list[str] = []
        self._size = 0
        self._look_at = 0
        self._started = False

    def feed(self, text: str) -> str:
        """Take the next piece and return what can be shown by now, often nothing."""
        self._pieces.append(text)
        self._size += len(text)
        if self._size < self._look_at or not ("\n" in text or " " in text):
            return ""
        held = self._join()
        cut = self._cut(held, len(held))
        # Looking again only once the held text has doubled keeps the work linear in the text.
        self._look_at = 2 * len(held) if cut == 0 and len(held) > 256 else 0
        self._hold(held[cut:])
        return self._shown(held[:cut])

    def finish(self) -> str:
        """Return the rest, masked; the stage is empty again."""
        rest, whole = self._join(), not self._started
        self._hold("")
        self._look_at, self._started = 0, False
        return self._redactor.redact(rest) if whole else self._redactor.redact_part(rest)

    def _join(self) -> str:
        return "".join((self._held, *self._pieces))

    def _hold(self, text: str) -> None:
        self._held, self._pieces, self._size = text, [], len(text)

    def _shown(self, text: str) -> str:
        self._started = self._started or bool(text)
        return self._redactor.redact_part(text)

    def _cut(self, text: str, limit: int) -> int:
        """Return the last place up to `limit` over which no secret can reach, whatever follows."""
        line = text.rfind("\n", 0, limit) + 1
        blank = text.rfind(" ", line, limit) + 1
        cut = line if blank == 0 or LINE_WORDS.search(text, line, blank) else blank
        opened = _open_key(text, cut)
        if opened is not None:
            return self._cut(text, opened)
        for form in self._redactor.spanning():
            start = _straddles(text, form, cut)
            if start is not None:
                return self._cut(text, start)
        return cut


def _open_key(text: str, cut: int) -> int | None:
    heads = [head.span() for head in KEY_HEAD.finditer(text, 0, cut)]
    return heads[-1][0] if heads and text.find("-----", heads[-1][1], cut) < 0 else None


def _straddles(text: str, form: str, cut: int) -> int | None:
    for start in range(max(0, cut - len(form) + 1), cut):
        if form.startswith(text[start:cut]):
            return start
    return None
