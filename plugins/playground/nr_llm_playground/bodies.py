"""Bodies of requests: of one kind, of a bounded size, in time, with nothing in them that nobody asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from nr_llm._json import decode
from nr_llm.errors import MalformedJsonError, similar
from starlette.requests import ClientDisconnect, Request

from nr_llm_playground.refusals import Refusal


async def read_object(request: Request, *, fields: Iterable[str], most: int, seconds: float) -> dict[str, Any]:
    """
    Return the JSON object in a request's body.

    Args:
        request: The request.
        fields: Names that it may have; another one is refused by name, since it would be ignored.
        most: Bytes that it may have.
        seconds: Time in which it has to come.

    Raises:
        Refusal: It is of another kind, too large, too slow, or no such object.
    """
    check_kind(request.headers.getlist("content-type"))
    try:
        async with asyncio.timeout(seconds):
            body = await _bytes(request, most)
    except TimeoutError:
        raise Refusal(408, "slow", f"The body has not come within {seconds:g} seconds.", headers=_LAST) from None
    except ClientDisconnect:
        raise Refusal(400, "broken_off", "The body was broken off.") from None
    try:
        value = decode(body)
    except MalformedJsonError as error:
        raise Refusal(400, "invalid", f"The body is no JSON: {error}") from None
    return known(value, fields, where="the body")


_LAST = {"Connection": "close"}


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


async def _bytes(request: Request, most: int) -> bytes:
    declared = request.headers.get("content-length", "0")
    body = bytearray()
    if declared.isdecimal() and int(declared) <= most:
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                break
        else:
            return bytes(body)
    raise Refusal(413, "too_large", f"The body has more than {most:,} bytes.", headers=_LAST)


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
