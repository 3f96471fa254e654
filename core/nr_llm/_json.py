"""
The one JSON encoder: whatever passes it can be stored, streamed and sent, since every sink uses it too.

Two encoders that differ in one flag are how a value accepted at the seam crashes a sink later.  So `json.dumps`
appears here and nowhere else, non-finite numbers are refused (they are no JSON), and text is made valid
Unicode first (a lone surrogate cannot be encoded).
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, get_origin

from nr_llm.errors import InvalidValueError, MalformedJsonError

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")

JSON: TypeAlias = Union[bool, int, float, str, list["JSON"], dict[str, "JSON"], None]  # noqa: UP007  # recursive
"""A JSON value: what `decode` gives and `encode` takes."""

MAX_DEPTH = 64
"""Nesting a JSON value may have: below every sink's own limit, with room to wrap it (the reference system's figure)."""

MAX_DIGITS = 4300
"""Digits an integer may have: Python writes and reads no more (its own default, against quadratic work)."""

_TOO_LARGE = 10**MAX_DIGITS

# A cycle is found by its depth: to look for one costs every value that has none.
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def _encode_function() -> Callable[[object], str]:
    """
    Return what encodes: `_encoder`, by its inner part alone where this Python has that.

    `JSONEncoder.encode` makes the part in C anew for each value, which costs more than most values do.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _encoder.encode
    text, inner = json.encoder.encode_basestring, _encoder  # as `JSONEncoder.iterencode` has it
    parts = make(None, inner.default, text, None, inner.key_separator, inner.item_separator, False, False, False)
    return lambda value: "".join(parts(value, 0))


_encode = _encode_function()


def encode(value: object) -> str:
    """
    Encode a JSON value compactly, non-ASCII as it is.

    Raises:
        InvalidValueError: The value is no JSON value (non-finite number, foreign type, cycle, too deep).
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"not encodable as JSON: {error}") from error


def encode_bytes(value: object) -> bytes:
    """
    Encode a JSON value as UTF-8; lone surrogates become U+FFFD.

    Raises:
        InvalidValueError: As `encode`.
    """
    return valid_text(encode(value)).encode()


def decode(text: str | bytes) -> JSON:
    """
    Decode one JSON document; raw control characters inside strings are tolerated, since models write them.

    Raises:
        MalformedJsonError: The text is no JSON, holds NaN or Infinity, is not UTF-8, or nests too deeply.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        value: JSON = _decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise MalformedJsonError(f"not JSON: {error}") from error
    return value


def finite(number: float) -> bool:
    """Return whether a number is one that a float can have; a whole number may be beyond them all."""
    return abs(number) <= sys.float_info.max  # false for NaN; `math.isfinite` fails for a long whole number


def _refuse_constant(name: str) -> JSON:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is beyond every float")
    return number


# `json.loads` would make one per call.
_decoder = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_float=_finite)


def valid_text(text: str) -> str:
    """
    Return `text` with each lone surrogate replaced by U+FFFD; the same object when there is none.

    Of a subclass the text it holds is returned, as a `str`: an enum's value, whatever it says of itself.
    """
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def copy_json(value: object, *, path: str = "") -> JSON:
    """
    Copy a JSON value deeply and check it on the way.

    Mappings become `dict`, lists and tuples `list`, text is made valid Unicode.

    Args:
        value: The value to copy.
        path: Where the value sits, for the error message.

    Raises:
        InvalidValueError: A key that is no string, a non-finite number, a foreign type, or nesting beyond 64.
    """
    try:
        return _copy(value, MAX_DEPTH)
    except _BadValueError as bad:
        raise InvalidValueError(bad.rule, path=path + "".join(reversed(bad.steps)) if path else bad.where()) from None


class _BadValueError(Exception):
    """Carries a fault up to the root, gathering the path on the way, so that good values pay nothing for it."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.steps: list[str] = []

    def where(self) -> str:
        return "".join(reversed(self.steps)).removeprefix(".")


def _copy(value: object, depth: int) -> JSON:
    if isinstance(value, str):
        return valid_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) >= _TOO_LARGE:
            raise _BadValueError(f"an integer of more than {MAX_DIGITS:,} digits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _BadValueError(f"{value} is no JSON number")
        return float(value)
    if depth == 0 and isinstance(value, (Mapping, list, tuple)):
        raise _BadValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, _MAPPINGS):
        return _copy_mapping(value, depth - 1)
    if isinstance(value, (list, tuple)):
        return _copy_list(value, depth - 1)
    raise _BadValueError(f"a {type(value).__name__} is no JSON value")


_MAPPINGS = (dict, Mapping)  # nearly all are dicts, which to find by the abstract class takes far longer


def _copy_mapping(value: Mapping[Any, object], depth: int) -> JSON:
    copied: dict[str, JSON] = {}
    for key, item in value.items():
        name = _key(key)
        try:
            copied[name] = _copy(item, depth)
        except _BadValueError as bad:
            bad.steps.append(f".{key}")
            raise
    return copied


def _copy_list(value: Sequence[object], depth: int) -> JSON:
    copied: list[JSON] = []
    for i, item in enumerate(value):
        try:
            copied.append(_copy(item, depth))
        except _BadValueError as bad:
            bad.steps.append(f"[{i}]")
            raise
    return copied


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise _BadValueError(f"key {key!r} is no string")
    return valid_text(key)


def copy_object(value: object, *, path: str = "") -> dict[str, JSON]:
    """
    Copy a JSON object deeply, as `copy_json`.

    Raises:
        InvalidValueError: As `copy_json`, or the value is no mapping.
    """
    if not isinstance(value, _MAPPINGS):
        raise InvalidValueError(f"must be a mapping, not a {type(value).__name__}", path=path)
    copied = copy_json(value, path=path)
    assert isinstance(copied, dict)
    return copied


def dump_value(value: object) -> dict[str, JSON]:
    """Return one of nr-llm's values as a JSON object that `load_value` reads back, lossless."""
    dumped: dict[str, JSON] = _converter().unstructure(value)
    return dumped


def dump_field(value: object) -> JSON:
    """Return a field of one of nr-llm's values as `dump_value` gives it."""
    dumped: JSON = _converter().unstructure(value)
    return dumped


def load_value(value: object, kind: type[T]) -> T:
    """
    Read what `dump_value` gave.

    Raises:
        InvalidValueError: A field is missing, unknown or of another type; every fault is named with its path.
    """
    from cattrs import transform_error

    if not isinstance(value, Mapping):
        raise InvalidValueError(
            f"must be the object that to_json gave, not a {type(value).__name__}; read a text with json.loads first"
        )
    try:
        return _converter().structure(value, kind)
    except Exception as error:
        faults = "; ".join(transform_error(error, path=kind.__name__))
        raise InvalidValueError(f"not a stored {kind.__name__}: {faults}") from error


@functools.cache
def _converter() -> Converter:
    """Return the converter, made at first use: cattrs is dear to import and most processes store nothing."""
    import base64

    from cattrs import Converter

    converter = Converter(forbid_extra_keys=True, omit_if_default=True)
    for plain in (str, int, float, bool):
        converter.register_structure_hook(plain, _exactly(plain))
    converter.register_structure_hook(bytes, lambda text, _: base64.b64decode(text, validate=True))
    converter.register_unstructure_hook(bytes, lambda data: base64.b64encode(data).decode())
    converter.register_unstructure_hook(StrEnum, lambda member: member.value)
    converter.register_structure_hook(StrEnum, _word)  # else one would be read as the text it is too
    converter.register_structure_hook(Decimal, _decimal)
    converter.register_unstructure_hook(Decimal, str)
    converter.register_structure_hook_func(_is_mapping, lambda value, _: copy_object(value))
    converter.register_unstructure_hook_func(_is_mapping, copy_object)
    return converter


def _decimal(value: object, _: object) -> Decimal:
    """Read an amount from its text: a float would have lost what it was written as."""
    if isinstance(value, str):
        with suppress(InvalidOperation):
            return Decimal(value)
    raise InvalidValueError(f"must be a decimal number as text, not {value!r:.40}")


def _word(value: object, kind: type[StrEnum]) -> StrEnum:
    """Read a word of a closed set."""
    found = next((word for word in kind if word == value), None)
    if found is None:
        raise InvalidValueError(f"{value!r:.40} is none of {', '.join(kind)}")
    return found


def _is_mapping(kind: object) -> bool:
    """JSON objects are kept as they are, whatever they hold."""
    return get_origin(kind) is Mapping


def _exactly(kind: type) -> Any:
    """Refuse what cattrs would convert: `5` is no text, and no `7.9` a count."""

    def check(value: object, _: object) -> object:
        if type(value) is kind or (kind is float and type(value) is int):
            return value
        raise InvalidValueError(f"must be {kind.__name__}, not {type(value).__name__}")

    return check
