"""Bodies of requests: of one kind, of a bounded size, in time, with nothing in them that nobody asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
from nr_llm._json import decode
from nr_llm.errors import MalformedJsonError, similar
from starlette.requests import ClientDisconnect, Request

from nr_llm_playground.refusals import Refusal


@attrs.define
class Held:
    """
    The bodies that are being read, which together have a bound as each of them has.

    Attributes:
        most: Bytes that they may have.
        size: Bytes that they have.
    """

    most: int
    size: int = 0

    def take(self, size: int) -> None:
        """
        Count bytes that came.

        Raises:
            Refusal: They are too many.
        """
        if self.size + size > self.most:
            raise Refusal(503, "busy", "The server is reading as much as it can hold; try again.", headers=_LAST)
        self.size += size


async def read_object(
    request: Request, *, fields: Iterable[str], most: int, seconds: float, held: Held
) -> dict[str, Any]:
    """
    Return the JSON object in a request's body.

    Args:
        request: The request.
        fields: Names that it may have; another one is refused by name, since it would be ignored.
        most: Bytes that it may have.
        seconds: Time in which it has to come.
        held: What is being read beside it.

    Raises:
        Refusal: It is of another kind, too large, too slow, or no such object.
    """
    check_kind(request.headers.getlist("content-type"))
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            await _read(request, body, most=most, held=held)
        value = decode(bytes(body))
    except TimeoutError:
        raise Refusal(408, "slow", f"The body has not come within {seconds:g} seconds.", headers=_LAST) from None
    except ClientDisconnect:
        raise Refusal(400, "broken_off", "The body was broken off.") from None
    except MalformedJsonError as error:
        raise Refusal(400, "invalid", f"The body is no JSON: {error}") from None
    finally:
        held.size -= len(body)
    return known(value, fields, where="the body")


LONGEST: Final = 20
"""Digits of a length that is read as a number; Python reads none of thousands."""

_LAST = {"Connection": "close"}
"""A refused body may still be on its way: the connection is not used again."""


def check_kind(given: list[str]) -> None:
    """
    Refuse a body that is not declared as JSON in UTF-8, such as one that a form of another page may send.

    Raises:
        Refusal: So it is.
    """
    kind, _, parameters = given[0].partition(";") if len(given) == 1 else ("", "", "")
    charset = parameters.strip().lower() in {"", "charset=utf-8", 'charset="utf-8"'}
    if kind.strip().lower() != "application/json" or not charset:
        raise Refusal(415, "kind", "The body has to be JSON: Content-Type: application/json.")


async def _read(request: Request, body: bytearray, *, most: int, held: Held) -> None:
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > LONGEST or int(declared) > most:
        raise _too_large(most)
    async for piece in request.stream():
        if len(body) + len(piece) > most:
            raise _too_large(most)
        held.take(len(piece))
        body += piece


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too_large", f"The body has more than {most:,} bytes.", headers=_LAST)


def known(value: object, fields: Iterable[str], *, where: str) -> dict[str, Any]:
    """
    Return an object whose names are all known.

    Args:
        value: What was given.
        fields: The names it may have.
        where: What it is, for people.

    Raises:
        Refusal: It is no object, or has another name.
    """
    if not isinstance(value, Mapping):
        raise Refusal(400, "invalid", f"{where} has to be an object.".capitalize())
    names = sorted(fields)
    for name in value:
        if name not in names:
            near = similar(name, names)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}."
            raise Refusal(
                400, "unknown_field", f"There is no field {name[:100]!r} in {where}; {hint}", field=name[:100]
            )
    return dict(value)
