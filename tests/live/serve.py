"""Serves a model file by the real llama.cpp server that xllamacpp brings; prints the address, ends with its parent."""

from __future__ import annotations

import sys


def main() -> None:
    """Serve until standard input ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.use_jinja = True
    params.warmup = False
    params.port = int(sys.argv[2])
    server = xllamacpp.Server(params)
    print(getattr(server, "listening_address", f"http://127.0.0.1:{sys.argv[2]}"), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
