"""The page's own files, from the package and from nowhere else: a name in a request is looked up, never opened."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import attrs
from starlette.requests import Request
from starlette.responses import Response

PAGE: Final = "index.html"

KINDS: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
}
"""The kinds of files a page has, by the end of the name."""


@attrs.frozen
class Asset:
    """
    A file of the page.

    Attributes:
        content: Its bytes.
        packed: The same, packed with gzip.
        kind: Its media type.
        tag: What a browser asks with whether it has changed.
    """

    content: bytes
    packed: bytes
    kind: str
    tag: str


@cache
def assets() -> Mapping[str, Asset]:
    """Return the files of the page by name, read once."""
    found: dict[str, Asset] = {}
    for entry in files("nr_llm_playground").joinpath("page").iterdir():
        kind = KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None and entry.is_file():
            content = entry.read_bytes()
            packed, digest = gzip.compress(content, mtime=0), hashlib.sha256(content).hexdigest()[:32]
            found[entry.name] = Asset(content, packed, kind, digest)
    return found


def served(asset: Asset, request: Request) -> Response:
    """Return the answer with a file, packed where the browser takes that, or that it has not changed."""
    packs = "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{asset.tag}-gzip"' if packs else f'"{asset.tag}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers |= {"Content-Type": asset.kind}
    if packs:
        return Response(asset.packed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.content, headers=headers)
