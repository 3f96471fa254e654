"""Serves the playground on a socket of this machine, and settles its runs before the server stops."""

from __future__ import annotations

import socket
from typing import Any, Final

import uvicorn
from nr_llm.errors import ConfigurationError

from nr_llm_playground.app import Playground

BACKLOG: Final = 128
"""Connections that wait to be taken."""

CONNECTIONS: Final = 512
"""Connections that are served; on one more the answer is 503."""

HEAD_BYTES: Final = 16 * 1024
"""Bytes of a request's line and headers."""


def bound(host: str, port: int) -> socket.socket:
    """
    Return a socket that listens.

    Args:
        host: A name or address of this machine.
        port: The port; 0 for any that is free.

    Raises:
        ConfigurationError: It cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _taken(host, port, error) from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise _taken(host, port, error) from error
    return found


def _taken(host: str, port: int, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"Nothing can be served at {host}, port {port}: {error.strerror or error}.",
        remedy="Choose another port (--port), or 0 for any that is free.",
    )


class Server(uvicorn.Server):
    """
    A server whose feeds end before it waits for them: a run that is watched would keep it from stopping.

    Args:
        app: What is served.
    """

    def __init__(self, app: Playground) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,  # addresses hold names of runs
                h11_max_incomplete_event_size=HEAD_BYTES,
                http="h11",
                limit_concurrency=CONNECTIONS,
                lifespan="off",
                log_config=None,
                proxy_headers=False,  # nobody stands in front, so nobody is believed who says so
                server_header=False,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=30,
                ws="none",
            )
        )
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Settle the runs, whose feeds then end, and stop."""
        await self._app.aclose()
        await super().shutdown(sockets)


def serve(app: Playground, listening: socket.socket) -> None:
    """Serve until somebody stops the process, as with Ctrl-C."""
    server: Any = Server(app)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # raised once more when everything has stopped
        return
    finally:
        listening.close()
