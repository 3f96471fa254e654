"""Attacks on the server: each is refused by name, nothing leaks, and nothing grows without a bound."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from nr_llm.testing import calling
from nr_llm_playground import Caps, create_app
from nr_llm_playground.assets import assets
from nr_llm_playground.guard import ALWAYS
from nr_llm_playground.tokens import Token

from tests.plugins.playground.client import Client, Reply
from tests.plugins.playground.shop import Gate, ended, opened, runtime_of

GETS = ["/api/context", "/api/runs", "/api/runs/r", "/api/runs/r/events", "/api/runs/r/export", "/api/demo"]
POSTS = ["/api/session", "/api/runs", "/api/runs/r/cancel", "/api/runs/r/decide", "/api/runs/r/submit"]
CALLS = [*(("GET", path) for path in GETS), *(("POST", path) for path in POSTS)]
BODY = {"prompt": "hi"}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Expect nothing in the log: what is refused is no fault of the server."""
    yield
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def refused(reply: Reply, status: int, code: str) -> None:
    """Check a refusal: its status and word, the headers of every answer, and no more than three fields."""
    assert (reply.status, reply.code) == (status, code)
    for name, value in ALWAYS:
        assert reply.headers[name.lower()] == value
    assert reply.headers["cache-control"] == "no-store"
    assert not [name for name in reply.headers if name.startswith("access-control-")]
    assert set(reply.json()["error"]) == {"code", "message", "id"}
    assert "Traceback" not in reply.body.decode()


async def each(client: Client) -> list[Reply]:
    """Ask for everything there is."""
    return [await client.ask(method, path, BODY if method == "POST" else None) for method, path in CALLS]


class TestStrangers:
    """Whoever should not ask."""

    @pytest.mark.parametrize(
        "host", ["evil.test", "evil@localhost", "localhost.evil.test", "", "127.0.0.1:80,evil.test"]
    )
    def test_another_host(self, host: str) -> None:
        """A name that somebody else points at this machine is not served, not even the page."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                for reply in await each(client.with_headers(host=host)):
                    refused(reply, 400, "host")
                refused(await client.with_headers(host=host).get("/"), 400, "host")

        asyncio.run(main())

    def test_two_hosts(self) -> None:
        """Nor is one that is named beside ours."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                refused(await client.get("/api/context", headers=[("host", "evil.test")]), 400, "host")

        asyncio.run(main())

    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "http://evil.test"},
            {"origin": "null"},
            {"origin": "http://localhost:9999"},
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},
        ],
    )
    def test_another_origin(self, headers: dict[str, str]) -> None:
        """A page of somebody else's may call nothing, with whatever cookies the browser adds."""

        async def main() -> None:
            async with opened("hello") as (client, _, runtime):
                for reply in await each(client.with_headers(**headers)):
                    refused(reply, 403, "origin")
                provider: Any = runtime.provider("scripted")
                assert provider.requests == []

        asyncio.run(main())

    def test_nobody_is_asked_first(self) -> None:
        """A browser that asks whether another page may call gets no leave."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                ask = client.with_headers(
                    origin="http://evil.test", access_control_request_method="POST", x_nr_llm=None
                )
                refused(await ask.ask("OPTIONS", "/api/runs"), 403, "origin")
                refused(await client.ask("OPTIONS", "/api/runs"), 405, "method")

        asyncio.run(main())

    def test_without_the_header(self) -> None:
        """What a form or an image of any page could send is refused."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                for reply in await each(client.with_headers(x_nr_llm=None)):
                    refused(reply, 403, "header")

        asyncio.run(main())

    @pytest.mark.parametrize(
        "kind",
        [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "application/jsonx",
            "text/plain; application/json",
            "",
        ],
    )
    def test_another_kind(self, kind: str) -> None:
        """A body has to be declared as JSON, which no form can do."""

        async def main() -> None:
            async with opened("hello") as (client, _, runtime):
                for path in POSTS:
                    refused(await client.with_headers(content_type=kind).post(path, BODY), 415, "kind")
                two = [("content-type", "text/plain")]
                refused(await client.post("/api/runs", BODY, headers=two), 415, "kind")
                provider: Any = runtime.provider("scripted")
                assert provider.requests == []

        asyncio.run(main())

    def test_a_web_socket(self) -> None:
        """There is none."""

        async def main() -> None:
            async with opened("hello") as (_, app, _):
                sent: list[Any] = []

                async def send(message: Any) -> None:
                    sent.append(message)

                await app({"type": "websocket", "path": "/api/runs"}, None, send)  # type: ignore[arg-type]
                assert sent == [{"type": "websocket.close", "code": 1008}]

        asyncio.run(main())


class TestToken:
    """A playground that is let into by its token."""

    def app(self) -> tuple[Client, Token]:
        """Return a client of one that nobody else guards."""
        token = Token()
        return Client(create_app(runtime_of("hello"), token=token)), token

    def test_without_it(self) -> None:
        """Nothing is told to whoever lacks the cookie, has a wrong one, or has the token where it does not belong."""

        async def main() -> None:
            client, token = self.app()
            others = Token().set_cookie(path="/", secure=False).partition(";")[0]
            wrong: list[dict[str, str]] = [
                {},
                {"cookie": ""},
                {"cookie": others},
                {"cookie": f"{token.cookie}={'0' * 64}"},
                {"cookie": f"{token.cookie}={token.secret}"},
                {"authorization": f"Bearer {token.secret}"},
            ]
            for headers in wrong:
                for reply in await each(client.with_headers(**headers)):
                    if reply.code != "unknown_field":  # the call that takes the token
                        refused(reply, 401, "token")

        asyncio.run(main())

    @pytest.mark.parametrize("given", ["", "x" * 43, None, 7, ["a"]])
    def test_guessing(self, given: Any) -> None:
        """A wrong token is refused, and so is one more guess than the rate lets."""

        async def main() -> None:
            client, _ = self.app()
            reply = await client.post("/api/session", {"token": given})
            refused(reply, 401, "token")
            assert "set-cookie" not in reply.headers
            slow = Client(create_app(runtime_of("hello"), token=Token(), caps=Caps(requests=2)))
            codes = [(await slow.post("/api/session", {"token": given})).code for _ in range(3)]
            assert codes == ["token", "token", "rate"]

        asyncio.run(main())

    def test_the_page_itself(self) -> None:
        """It is shown to anybody: it holds nothing, and takes the token from its address."""

        async def main() -> None:
            client, _ = self.app()
            assert (await client.get("/")).status == 200
            assert (await client.get("/assets/main.js")).status == 200

        asyncio.run(main())

    def test_the_exchange(self) -> None:
        """The token is exchanged for a cookie that scripts cannot read and other sites do not send."""

        async def main() -> None:
            client, token = self.app()
            reply = await client.post("/api/session", {"token": token.secret})
            cookie = reply.headers["set-cookie"]
            assert (reply.status, reply.body) == (204, b"")
            assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
            inside = client.with_headers(cookie=cookie.partition(";")[0])
            assert (await inside.get("/api/context")).json()["actor"] == {"id": "playground", "admin": True}
            secure = await client.ask("POST", "/api/session", {"token": token.secret}, scheme="https")
            assert secure.headers["set-cookie"].endswith("; Secure")

        asyncio.run(main())

    def test_nobody_in_particular(self) -> None:
        """Where a host says who asks, nobody may do nothing, the page included; without anybody there is no server."""

        async def main() -> None:
            async with opened("hello", user="unknown") as (client, _, _):
                for reply in await each(client):
                    if reply.code not in {"unknown_field", "token"}:
                        refused(reply, 401, "nobody")
                refused(await client.get("/"), 401, "nobody")

        asyncio.run(main())
        with pytest.raises(ValueError, match="say who may use it"):
            create_app(runtime_of("hello"))


class TestBodies:
    """What is sent."""

    @pytest.mark.parametrize("path", POSTS)
    def test_too_large(self, path: str) -> None:
        """More than the bound is refused by what is declared, and by what comes, without taking it in."""

        async def main() -> None:
            async with opened("hello", caps=Caps(body_bytes=100, upload_bytes=200)) as (client, app, _):
                most = 200 if path == "/api/runs" else 100
                declared = [("content-length", str(most + 1))]
                refused(await client.ask("POST", path, pieces=[b"{}"], headers=declared), 413, "too_large")
                endless = client.begin("POST", path, pieces=[b" " * 60] * 1_000)
                assert endless.task is not None
                await endless.task
                refused(endless.reply, 413, "too_large")
                assert len(endless.pieces) >= 990, "the rest was not taken in"
                assert endless.reply.headers["connection"] == "close"
                assert app._server.bodies.size == 0

        asyncio.run(main())

    @pytest.mark.parametrize("length", ["-1", "1e3", "abc", "9" * 30, "9" * 5_000])
    def test_a_length_that_is_none(self, length: str) -> None:
        """It is refused as too large."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                reply = await client.ask("POST", "/api/runs", BODY, headers=[("content-length", length)])
                refused(reply, 413, "too_large")

        asyncio.run(main())

    def test_all_bodies_together(self) -> None:
        """Many that are each within their bound do not fill the memory."""

        async def main() -> None:
            async with opened("hello", caps=Caps(held_bytes=1_000)) as (client, app, _):
                slow = [client.begin("POST", "/api/runs", pieces=[b" " * 400], unfinished=True) for _ in range(2)]
                await asyncio.sleep(0)
                assert app._server.bodies.size == 800
                reply = await client.ask("POST", "/api/runs", pieces=[b" " * 201])
                refused(reply, 503, "busy")
                for one in slow:
                    one.leave()
                    assert one.task is not None
                    await one.task
                assert app._server.bodies.size == 0

        asyncio.run(main())

    def test_a_body_that_never_ends(self) -> None:
        """It is waited for no longer than the bound says."""

        async def main() -> None:
            async with opened("hello", caps=Caps(body_seconds=0.001)) as (client, app, _):
                slow = client.begin("POST", "/api/runs", pieces=[b"{"], unfinished=True)
                assert slow.task is not None
                await slow.task
                refused(slow.reply, 408, "slow")
                assert app._server.bodies.size == 0

        asyncio.run(main())

    def test_a_body_that_is_broken_off(self) -> None:
        """Nothing begins."""

        async def main() -> None:
            async with opened("hello") as (client, app, _):
                exchange = client.begin("POST", "/api/runs", pieces=[b"{}"], unfinished=True)
                exchange.leave()
                assert exchange.task is not None
                await exchange.task
                assert ended(app)

        asyncio.run(main())

    @pytest.mark.parametrize(
        "body",
        [b"", b"{", b"[]", b"null", b'"x"', b'{"prompt": NaN}', b"\xff", b'{"a": 1e999}', b"[" * 100_000, b"1" * 5_000],
    )
    def test_what_is_no_object(self, body: bytes) -> None:
        """It is refused, however deep or odd."""

        async def main() -> None:
            async with opened("hello") as (client, app, _):
                for path in POSTS:
                    refused(await client.ask("POST", path, pieces=[body]), 400, "invalid")
                assert app._server.bodies.size == 0

        asyncio.run(main())


class TestPaths:
    """What an address can say."""

    @pytest.mark.parametrize(
        "path",
        [
            "/assets/../app.py",
            "/assets/..%2fapp.py",
            "/assets/%2e%2e/app.py",
            "/assets/index.html/../../demo.ndjson",
            "/assets/",
            "/assets/demo.ndjson",
            "/assets//etc/passwd",
            "/etc/passwd",
            "/api",
            "/api/",
            "/api/nothing",
            "/api/runs/",
            "//evil.test/",
            "/index.html",
        ],
    )
    def test_no_way_to_a_file(self, path: str) -> None:
        """A name is looked up among the page's own files, and nothing else is served."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                refused(await client.get(path), 404, "unknown")

        asyncio.run(main())

    def test_the_pages_own_files(self) -> None:
        """They are of kinds that a browser takes for what they are."""
        assert all(not name.startswith(".") and "/" not in name for name in assets())

    @pytest.mark.parametrize(
        "query",
        ["after=-1", "after=x", "after=1&after=2", "segment=1e3", "after=" + "9" * 10, "token=x", "after=%C2%B2"],
    )
    def test_parameters(self, query: str) -> None:
        """What is no number, stands twice or is not known is refused."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                reply = await client.get(f"/api/runs/r/events?{query}")
                assert (reply.status, reply.code) in {(400, "invalid"), (400, "unknown_field")}

        asyncio.run(main())

    @pytest.mark.parametrize(
        "query", ["status=odd", "limit=x", "before=x", "nothing=1", "status=running&status=failed"]
    )
    def test_parameters_of_the_list(self, query: str) -> None:
        """As elsewhere."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                reply = await client.get(f"/api/runs?{query}")
                assert (reply.status, reply.code) in {(400, "invalid"), (400, "unknown_field")}

        asyncio.run(main())

    @pytest.mark.parametrize("name", ["x" * 5_000, "%00", "..", "' OR 1=1 --", "%F0%9F%92%A9"])
    def test_odd_names_of_runs(self, name: str) -> None:
        """They name no run."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                for call in ("", "/events", "/export"):
                    reply = await client.get(f"/api/runs/{name}{call}")
                    assert (reply.status, reply.code) == (404, "unknown_run")
                    assert len(reply.body) < 1_000

        asyncio.run(main())

    def test_other_methods(self) -> None:
        """A call has one."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                for method in ("PUT", "DELETE", "PATCH", "TRACE"):
                    refused(await client.ask(method, "/api/runs"), 405, "method")
                refused(await client.get("/api/session"), 405, "method")

        asyncio.run(main())


class TestLoad:
    """Many at once, and slow ones."""

    def test_200_readers(self) -> None:
        """Each has every line; what is kept for them is one copy, and nothing of them is left."""

        async def main() -> None:
            gate = Gate()
            caps = Caps(streams=201, requests=10_000)
            async with opened(calling(("wait", {})), "word " * 200, tools=[gate.tool], caps=caps) as (client, app, _):
                async with client.watching("POST", "/api/runs", BODY) as first:
                    run_id = (await first.until("context"))["run_id"]
                    readers = [client.begin("GET", f"/api/runs/{run_id}/events") for _ in range(200)]
                    await asyncio.gather(*(reader.started() for reader in readers))
                    alone = app.live.size
                    assert app._server.streams == 201
                    gate.opened.set()
                    await first.until("done")
                    for reader in readers:
                        assert reader.task is not None
                        await reader.task
                    assert {reader.reply.body for reader in readers} == {first.reply.body}
                    assert alone < 20_000
                    assert app.live.size < 3 * (len(first.reply.body) + 128 * len(first.reply.lines))
                await settled(client)
                assert app._server.streams == 0
                assert ended(app)

        asyncio.run(main())

    def test_200_readers_of_64(self) -> None:
        """Whoever is one too many is told when to come again, the others are served, and places come back."""

        async def main() -> None:
            gate = Gate()
            async with opened(calling(("wait", {})), "hello", tools=[gate.tool], caps=Caps(requests=10_000)) as (
                client,
                app,
                _,
            ):
                async with client.watching("POST", "/api/runs", BODY) as first:
                    run_id = (await first.until("context"))["run_id"]
                    readers = [client.begin("GET", f"/api/runs/{run_id}/events") for _ in range(200)]
                    heads = await asyncio.gather(*(reader.started() for reader in readers))
                    busy = [reader for reader, head in zip(readers, heads, strict=True) if head.status == 429]
                    assert (len(busy), app._server.streams) == (137, 64)
                    for reader in busy:
                        assert reader.task is not None
                        await reader.task
                        refused(reader.reply, 429, "busy")
                        assert reader.reply.headers["retry-after"] == "5"
                    gate.opened.set()
                    await first.until("done")
                    for reader in readers:
                        assert reader.task is not None
                        await reader.task
                assert (await client.get(f"/api/runs/{run_id}/events")).status == 200
                assert app._server.streams == 0

        asyncio.run(main())

    def test_200_runs_at_once(self) -> None:
        """As many as the server takes run, the others are told so."""

        async def main() -> None:
            gate = Gate()
            caps = Caps(requests=10_000, runs=8)

            def answer(request: Any) -> Any:
                return calling(("wait", {})) if request.messages[-1].role == "user" else "hello"

            async with opened(answer, tools=[gate.tool], caps=caps) as (client, app, _):
                begun = [client.begin("POST", "/api/runs", BODY) for _ in range(200)]
                heads = await asyncio.gather(*(one.started() for one in begun))
                statuses = [head.status for head in heads]
                assert (statuses.count(200), statuses.count(429)) == (8, 192)
                assert app.live.under_way == 8
                gate.opened.set()
                for one in begun:
                    assert one.task is not None
                    await one.task
                assert ended(app)
                assert app.live.size < 8 * 20_000

        asyncio.run(main())

    def test_a_reader_that_takes_nothing(self) -> None:
        """The run does not wait for it, nothing is piled up for it, and in the end it is left."""

        async def main() -> None:
            gate = Gate()
            caps = Caps(tail_bytes=8_000, stalled_seconds=0.01)
            words = "word " * 1_000
            async with opened(calling(("wait", {})), words, tools=[gate.tool], caps=caps) as (client, app, _):
                slow = client.begin("POST", "/api/runs", BODY)
                run_id = (await slow.until("context"))["run_id"]
                slow.stall()
                taken = slow.taken
                gate.opened.set()
                rest = await client.get(f"/api/runs/{run_id}/events?after=0")
                assert rest.lines[-1]["event"] == "done", "the run has ended meanwhile"
                assert app.live.size <= 2 * (8_000 + len(words) + 1_000)
                assert slow.task is not None
                await slow.task
                assert (slow.taken, slow.more) == (taken, True), "it was left without an end"
                assert app._server.streams == 0

        asyncio.run(main())

    def test_what_has_ended_is_forgotten(self) -> None:
        """Lines of old segments go by their bytes, the oldest first, and by their age."""

        async def main() -> None:
            async with opened("word " * 100, caps=Caps(kept_bytes=30_000, requests=10_000)) as (client, app, _):
                names = [(await client.post("/api/runs", BODY)).lines[0]["run_id"] for _ in range(30)]
                app.live.sweep()
                assert app.live.size <= 30_000
                assert app.live.find(names[0]) is None
                assert app.live.find(names[-1]) is not None
                old = await client.get(f"/api/runs/{names[0]}/events")
                assert (old.lines[0]["source"], old.told) == ("store", ["context", "done"])
                app.live._clock = lambda: 1e12
                app.live.sweep()
                assert app.live.size == 0

        asyncio.run(main())

    def test_asking_too_often(self) -> None:
        """One actor's rate is no other's."""

        async def main() -> None:
            async with opened("hello", caps=Caps(requests=3)) as (client, _, _):
                codes = [(await client.get("/api/runs")).status for _ in range(4)]
                assert codes == [200, 200, 200, 429]
                assert (await client.with_headers(x_user="ann").get("/api/runs")).status == 200

        asyncio.run(main())


async def settled(client: Client) -> None:
    """Let what was left come to its end."""
    for _ in range(3):
        await client.get("/api/demo")


class TestLeaks:
    """What is told of a failure."""

    def test_an_answer_that_breaks(self) -> None:
        """Once it has begun there is no second one: the server closes the connection."""

        async def main() -> None:
            async with opened("hello") as (_, app, _):
                taken: list[Any] = []

                async def broken(message: Any) -> None:
                    taken.append(message["type"])
                    raise OSError("gone")

                headers = [(b"host", b"localhost"), (b"x-user", b"root")]
                scope = {"type": "http", "method": "GET", "path": "/", "headers": headers, "query_string": b""}
                with pytest.raises(OSError, match="gone"):
                    await app(scope, None, broken)  # type: ignore[arg-type]
                assert taken == ["http.response.start"]

        asyncio.run(main())

    def test_a_fault_of_ours(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        """An id and nothing of it; the log has it under that id."""

        async def main() -> Reply:
            async with opened("hello") as (client, _, runtime):

                def broken(**_: Any) -> Any:
                    raise ZeroDivisionError("/home/ann/.key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF")

                monkeypatch.setattr(runtime, "toolbox", broken)
                return await client.get("/api/context")

        reply = asyncio.run(main())
        refused(reply, 500, "unexpected")
        assert b"ann" not in reply.body
        assert reply.json()["error"]["id"] in caplog.text
        assert "ZeroDivisionError" in caplog.text
        assert "sk-proj" not in caplog.text
        caplog.clear()

    def test_secrets_in_errors_of_ours(self) -> None:
        """What the redactor knows is masked wherever it is told."""

        async def main() -> None:
            async with opened("hello", secrets={"k": "tiger-lily-7781"}) as (client, _, _):
                reply = await client.post("/api/runs", BODY | {"model": "tiger-lily-7781:x"})
                assert reply.status == 400
                assert b"tiger-lily" not in reply.body

        asyncio.run(main())

    def test_markup_stays_text(self) -> None:
        """Whatever a model, a tool or a request says is JSON in every answer, and never HTML."""

        async def main() -> None:
            markup = "<img src=x onerror=alert(1)>\u202e\x00</script>"
            async with opened(markup) as (client, _, _):
                reply = await client.post("/api/runs", {"prompt": markup})
                wrong = await client.post("/api/runs", {"prompt": "a", markup: 1})
                for one in (reply, wrong):
                    assert "html" not in one.headers["content-type"]
                    assert one.headers["x-content-type-options"] == "nosniff"
                assert reply.lines[-1]["content"] == markup
                assert json.loads(wrong.body)["field"] == markup

        asyncio.run(main())

    def test_a_stranger_sees_no_run(self) -> None:
        """In no list, under no address, in no error: it looks like one that does not exist."""

        async def main() -> None:
            async with opened("my secret", user="ann", privacy="full") as (ann, _, _):
                run_id = (await ann.post("/api/runs", BODY)).lines[0]["run_id"]
                eve = ann.with_headers(x_user="eve")
                for call in ("", "/events", "/events?segment=0", "/export"):
                    theirs, none = await eve.get(f"/api/runs/{run_id}{call}"), await eve.get(f"/api/runs/none{call}")
                    assert theirs.status == none.status == 404
                    said = theirs.json()["error"]["message"]
                    assert said.replace(run_id, "none") == none.json()["error"]["message"]
                assert (await eve.get("/api/runs")).json()["runs"] == []
                assert (await eve.post(f"/api/runs/{run_id}/cancel")).status == 404
                assert (await ann.get(f"/api/runs/{run_id}/events")).lines[-1]["content"] == "my secret"

        asyncio.run(main())
