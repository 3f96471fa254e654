"""The five wire formats of `formats` behind one local server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.integration.formats import CALLS, FORMATS, Asked, RefusedError, demand


class Services:
    """
    The server.

    Attributes:
        url: Its address.
        requests: (format, body as it came, what was understood) of each request.
    """

    def __init__(self) -> None:
        services = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two packets, and the second would wait for 40 ms

            def do_POST(self) -> None:
                services._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.requests: list[tuple[str, bytes, Asked]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers["content-length"]))
        place = handler.path.partition("?")[0]
        try:
            form = next((form for form in FORMATS if form.path.fullmatch(place)), None)
            if form is None:
                raise RefusedError(f"nothing is at {place}")
            body = json.loads(raw)
            for other in FORMATS:
                demand(other is form or other.mark.encode() not in raw, f"{form.name} is sent what {other.name} said")
            asked = form.asked(body)
            self.requests.append((form.name, raw, asked))
            text = "; ".join(f"{name}: {asked.results[name]}" for name, _ in CALLS) if asked.results else None
            number = len(self.requests)
            if form.streams(handler.path, body):
                _send(handler, 200, b"".join(form.events(text, number)), "text/event-stream")
            else:
                _send(handler, 200, json.dumps(form.payload(text, number)).encode(), "application/json")
        except RefusedError as error:
            _send(handler, 400, json.dumps({"error": {"message": f"refused: {error}"}}).encode(), "application/json")


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
