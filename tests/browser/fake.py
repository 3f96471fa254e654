"""
Speaks the playground's protocol for tests of the page, and breaks in ways that the real server cannot be asked to.

Runs are real ones of the shop; what is broken is the way of their lines to the browser.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
from nr_llm import Decision, DecisionError, Limits, NrLlmError, RunHistory, RunStore, Runtime, Submission
from nr_llm.feed import Feed, lines
from nr_llm.inputs import InvalidInputError
from nr_llm.streams import RunStream

from tests.browser.shop import ANN, make_shop

PAGE = Path(__file__).resolve().parents[2] / "plugins/playground/nr_llm_playground/page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@attrs.define(eq=False)
class Told:
    """The lines of one segment, and who waits for more of them."""

    stream: RunStream | None
    lines: list[str] = attrs.field(factory=list)
    over: bool = False
    news: threading.Condition = attrs.field(factory=threading.Condition)

    def add(self, line: str) -> None:
        with self.news:
            self.lines.append(line)
            self.news.notify_all()

    def end(self) -> None:
        with self.news:
            self.over = True
            self.news.notify_all()

    def read(self, start: int) -> Iterator[str]:
        while True:
            with self.news:
                while not self.over and len(self.lines) <= start:
                    self.news.wait()
                ready = self.lines[start:]
                if not ready:
                    return
            yield from ready
            start += len(ready)


@attrs.define(eq=False)
class World:
    """
    What the server serves, and how it breaks.

    Attributes:
        runtime: Runs what is asked.
        store: Where it keeps them.
        changes: What is different in the context for the form.
        cut: Lines after which the next response breaks off, or None.
        lost: Lines of the next resumed response that are gone.
        asked: Bodies of the requests, by path.
        feed: Makes what writes a segment's lines.
        extra: Lines to tell right after the first one of a new run.
        canned: Lines of further stored runs, by id.
        down: Whether nothing is answered but with an error.
    """

    runtime: Runtime
    store: RunStore
    changes: dict[str, Any] = attrs.field(factory=dict)
    cut: int | None = None
    lost: int = 0
    asked: list[tuple[str, Any]] = attrs.field(factory=list)
    feed: Callable[[], Feed] = Feed
    canned: dict[str, list[dict[str, Any]]] = attrs.field(factory=dict)
    info: dict[str, Any] = attrs.field(factory=dict)
    down: bool = False
    segments: dict[str, list[Told]] = attrs.field(factory=dict)

    def tell(self, stream: RunStream) -> Told:
        told = Told(stream)
        mine = self.segments.setdefault(stream.run_id, [])
        facts = {"segment": len(mine), "local": True, "host": "this process", "level": "full", "filtered": False}
        mine.append(told)

        def drive() -> None:
            try:
                for line in lines(stream, self.feed(), **facts):
                    told.add(line)
            finally:
                told.end()

        threading.Thread(target=drive, daemon=True).start()
        return told

    def context(self) -> dict[str, Any]:
        groups: dict[str, list[dict[str, Any]]] = {}
        for name, each in self.runtime.tools().items():
            about = {"name": name, "description": each.spec.description, "effect": str(each.effect)}
            about |= {"asks_first": each.needs_approval, "enabled": str(each.effect) == "read", "plugin": "shop"}
            groups.setdefault(each.group or "other", []).append({**about, "distribution": "shop", "version": "1.0"})
        model = {
            "name": "scripted:shop",
            "local": True,
            "leaves_machine": False,
            "host": "this process",
            "notice": None,
        }
        return {
            "version": "0.1.0",
            "actor": {"id": "ann", "admin": True},
            "models": [model],
            "default_model": "scripted:shop",
            "configurations": [{"name": "desk", "model": "scripted:shop", "tools": ["orders"], "limits": {}}],
            "tool_groups": [{"name": name, "tools": tools} for name, tools in groups.items()],
            "limits": {"defaults": {"rounds": 5}, "caps": {"rounds": 20}, "body_bytes": 1 << 20},
            "plugins": [{"name": "shop", "state": "active", "reason": None}],
            "store": {"kept": True, "level": "full", "encrypted": False},
            "demo": True,
            "advice": [],
            **self.changes,
        }

    def begin(self, body: Mapping[str, Any]) -> Told:
        limits = Limits(**body["limits"]) if body.get("limits") else None
        tools = body["tools"] if body.get("tools") is not None else None
        settings = {"tools": tools, "limits": limits, "dry_run": body.get("dry_run", False), "actor": ANN}
        return self.tell(self.runtime.stream(body["prompt"], **settings))

    def decide(self, run_id: str, body: Mapping[str, Any]) -> Told:
        waiting = next(one for one in RunHistory(self.store, ANN).inbox() if one.run.run_id == run_id)
        made = [
            waiting.decision(one["index"], approve=one["approve"], arguments=one["arguments"])
            if "arguments" in one
            else Decision(**one)
            for one in body["decisions"]
        ]
        return self.tell(self.runtime.stream_decide(run_id, made, by=ANN))

    def submit(self, run_id: str, body: Mapping[str, Any]) -> Told:
        return self.tell(self.runtime.stream_submit(run_id, [Submission(**one) for one in body["submissions"]], by=ANN))

    def history(self, query: Mapping[str, str]) -> dict[str, Any]:
        found = [self.summary(run_id) for run_id in [*self.segments, *self.canned]]
        kept = [one for one in found if query.get("status", one["status"]) == one["status"]]
        text = query.get("text", "").lower()
        return {"runs": [one for one in reversed(kept) if text in json.dumps(one).lower()], "next": None}

    def summary(self, run_id: str) -> dict[str, Any]:
        run = RunHistory(self.store, ANN).get(run_id)
        if run is None:
            about = {"run_id": run_id, "status": "completed", "reason": "completed", "model": "scripted:shop"}
            return {**about, "usage": {}, "began": 1.8e9, "level": "full", **self.info}
        about = {"run_id": run_id, "status": str(run.status), "reason": run.raw_reason, "model": run.head.model}
        first = next((json.loads(line) for line in self.segments[run_id][0].lines[1:2]), {})
        sent = first.get("step", {}).get("messages_sent", [{}])
        usage = run.totals.usage.to_dict()
        return {**about, "usage": usage, "began": run.head.began, "prompt": sent[-1].get("content"), "level": "full"}

    def detail(self, run_id: str) -> dict[str, Any]:
        told = self.segments[run_id][-1] if run_id in self.segments else None
        last = json.loads(told.lines[-1]) if told and told.lines else {}
        about = {"run": self.summary(run_id), "pending": last.get("pending"), "live": bool(told and not told.over)}
        return {**about, "level": "full", "replayable": True, "why_not": None, **self.info}

    def stored(self, run_id: str) -> list[str]:
        """Return all segments as one feed."""
        if run_id in self.canned:
            found = self.canned[run_id]
        else:
            every = [json.loads(line) for told in self.segments[run_id] for line in told.lines]
            deltas = {"text", "reasoning", "tool_call", "progress", "tool_finished"}
            steps = [line for line in every if line["event"] == "step" and line["event"] not in deltas]
            found = [every[0], *steps, every[-1]]
        return [json.dumps({**line, "seq": seq}) + "\n" for seq, line in enumerate(found)]

    def demo(self) -> list[str]:
        told = self.begin({"prompt": "Show me the orders", "tools": ["orders"]})
        self.segments.pop(told.stream.run_id if told.stream else "")
        return [json.dumps({**json.loads(line), "t": 40 * at}) + "\n" for at, line in enumerate(told.read(0))]


class Handler(BaseHTTPRequestHandler):
    """Answers one request; the connection ends with its response, so that a stream needs no framing."""

    world: World

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        self.answer(address.path, {name: values[0] for name, values in parse_qs(address.query).items()}, None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.world.asked.append((self.path, body))
        self.answer(self.path, {}, body)

    def answer(self, path: str, query: Mapping[str, str], body: Any) -> None:
        try:
            self.route(path.strip("/").split("/"), query, body)
        except InvalidInputError as error:
            self.json(422, {"error": {"code": "invalid", "message": str(error), "id": "e1"}, "faults": error.faults})
        except DecisionError as error:
            self.json(409, {"error": {"code": "stale", "message": str(error), "id": "e2"}})
        except (NrLlmError, KeyError, StopIteration) as error:
            self.json(404, {"error": {"code": "unknown_run", "message": f"No such thing: {error}", "id": "e3"}})
        except (BrokenPipeError, ConnectionResetError):
            pass

    def route(self, parts: list[str], query: Mapping[str, str], body: Any) -> None:
        world = self.world
        if parts[0] != "api":
            return self.file(parts[-1] or "index.html")
        if self.headers["X-NR-LLM"] != "1" or world.down:
            return self.json(401, {"error": {"code": "no_session", "message": "There is no session.", "id": "e4"}})
        match parts[1:], body:
            case ["session"], _:
                return self.json(204, None)
            case ["context"], _:
                return self.json(200, world.context())
            case ["demo"], _:
                return self.stream(world.demo())
            case ["runs"], None:
                return self.json(200, world.history(query))
            case ["runs"], _:
                return self.stream(world.begin(body).read(0))
            case ["runs", run_id], _:
                return self.json(200, world.detail(run_id))
            case ["runs", run_id, "events"], _:
                return self.events(run_id, int(query.get("after", -1)), query.get("segment"))
            case ["runs", run_id, "cancel"], _:
                stream = world.segments[run_id][-1].stream
                stream.cancel("a person said so") if stream else None
                return self.json(202, {"cancelled": True})
            case ["runs", run_id, "decide"], _:
                return self.stream(world.decide(run_id, body).read(0))
            case ["runs", run_id, "submit"], _:
                return self.stream(world.submit(run_id, body).read(0))
            case ["runs", run_id, "export"], _:
                return self.stream(world.stored(run_id))
        raise KeyError(self.path)

    def events(self, run_id: str, after: int, segment: str | None) -> None:
        told = self.world.segments.get(run_id, [None])[-1 if segment is None else int(segment)]
        if told is None or (told.over and after < 0):
            return self.stream(line for at, line in enumerate(self.world.stored(run_id)) if at > after)
        gone, self.world.lost = self.world.lost, 0
        gap = [json.dumps({"event": "gap", "from": after + 1, "to": after + gone}) + "\n"] if gone else []
        return self.stream(item for part in (gap, told.read(after + 1 + gone)) for item in part)

    def stream(self, told: Any) -> None:
        self.head(200, "application/x-ndjson")
        for number, line in enumerate(told):
            if self.world.cut == number:
                self.world.cut = None
                return
            self.wfile.write(line.encode())
            self.wfile.flush()

    def json(self, status: int, body: Any) -> None:
        self.head(status, "application/json")
        if body is not None:
            self.wfile.write(json.dumps(body).encode())

    def file(self, name: str) -> None:
        path = PAGE / name
        if not path.is_file():
            self.json(404, None)
            return
        self.head(200, TYPES[path.suffix])
        self.wfile.write(path.read_bytes())

    def head(self, status: int, kind: str) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def serving(world: World) -> Iterator[str]:
    """Serve a world on a free port of this machine, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"world": world}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    with serving(World(*make_shop())) as address:
        print(address, flush=True)
        time.sleep(3600)
