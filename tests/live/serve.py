"""Serves a model file by a real llama.cpp server, whichever is installed; prints the address, ends with its parent."""

from __future__ import annotations

import sys
import threading
import time
from importlib.util import find_spec

CONTEXT = 4096
"""Tokens of the model's window."""


def main() -> None:
    """Serve until standard input ends."""
    serve = by_xllamacpp if find_spec("xllamacpp") else by_llama_cpp
    print(serve(sys.argv[1], int(sys.argv[2])), flush=True)
    sys.stdin.read()


def by_xllamacpp(weights: str, port: int) -> str:
    """Return the address of llama.cpp's own server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.use_jinja = True
    params.warmup = False
    params.port = port
    globals()["kept"] = server = xllamacpp.Server(params)  # it ends with its last reference
    return getattr(server, "listening_address", f"http://127.0.0.1:{port}")


def by_llama_cpp(weights: str, port: int) -> str:
    """Return the address of the server of llama-cpp-python, once it listens."""
    import uvicorn
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings

    model = ModelSettings(
        model=weights, n_ctx=CONTEXT, n_threads=2, chat_format="chatml-function-calling", verbose=False
    )
    app = create_app(server_settings=ServerSettings(port=port), model_settings=[model])
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{port}"


if __name__ == "__main__":
    main()
