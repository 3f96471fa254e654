"""The playground inside other applications: under any path, with their own way to say who asks."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from fastapi import FastAPI
from nr_llm import Actor
from nr_llm_playground import Caps, Playground, create_app
from nr_llm_playground.assets import assets
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.plugins.playground.client import Client
from tests.plugins.playground.shop import PEOPLE, opened, runtime_of, who

BODY = {"prompt": "hi"}


def in_starlette(app: Playground) -> Any:
    return Starlette(routes=[Mount("/tools/pg", app)])


def in_fastapi(app: Playground) -> Any:
    outer = FastAPI()
    outer.mount("/tools/pg", app)
    return outer


def in_two(app: Playground) -> Any:
    return Starlette(routes=[Mount("/tools", Starlette(routes=[Mount("/pg", app)]))])


def by_hand(app: Playground, *, strips: bool) -> Any:
    """Return an application that hands on what begins with a path, as an `asgi.py` of Django would."""

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        assert scope["path"].startswith("/tools/pg")
        inner = dict(scope, root_path="/tools/pg")
        if strips:
            inner["path"] = scope["path"].removeprefix("/tools/pg")
        await app(inner, receive, send)

    return outer


WAYS = {
    "starlette": in_starlette,
    "fastapi": in_fastapi,
    "two": in_two,
    "whole path": lambda app: by_hand(app, strips=False),
    "rest of path": lambda app: by_hand(app, strips=True),
}


@pytest.mark.parametrize("way", WAYS)
class TestPaths:
    """Under a path."""

    def test_every_call(self, way: str) -> None:
        """The page, its files and its calls are found below the mount point."""

        async def main() -> None:
            async with opened("hello") as (client, app, _):
                outer = Client(WAYS[way](app), root="/tools/pg").with_headers(**client.headers)
                page = await outer.get("/")
                assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
                assert (await outer.get("/assets/main.js")).status == 200
                reply = await outer.post("/api/runs", BODY)
                assert reply.told == ["context", "done"]
                run_id = reply.lines[0]["run_id"]
                assert (await outer.get(f"/api/runs/{run_id}")).json()["run"]["status"] == "completed"
                assert (await outer.get("/api/nothing")).code == "unknown"
                assert (await outer.get("/api/session")).code == "method"

        asyncio.run(main())

    def test_the_mount_point_without_its_slash(self, way: str) -> None:
        """It leads to the one with it, on which the page's addresses rest."""

        async def main() -> None:
            async with opened("hello") as (client, app, _):
                outer = Client(WAYS[way](app), root="/tools/pg").with_headers(**client.headers)
                reply = await outer.get("")
                assert reply.status == 307
                assert reply.headers["location"].removeprefix("http://localhost") == "/tools/pg/"

        asyncio.run(main())

    def test_the_cookie(self, way: str) -> None:
        """It is for the mount point alone."""

        async def main() -> None:
            app = create_app(runtime_of("hello"), token="x" * 40)
            outer = Client(WAYS[way](app), root="/tools/pg")
            reply = await outer.post("/api/session", {"token": "x" * 40})
            assert "; Path=/tools/pg/; " in reply.headers["set-cookie"]

        asyncio.run(main())


class TestActors:
    """Whoever the application says asks."""

    def test_async(self) -> None:
        """The function may be async, as one that looks into a database."""

        async def slow(request: Any) -> Actor | None:
            await asyncio.sleep(0)
            return who(request)

        async def main() -> None:
            app = create_app(runtime_of("hello"), actor=slow)
            client = Client(app, x_user="ann")
            assert (await client.get("/api/context")).json()["actor"] == {"id": "ann", "admin": False}
            assert (await client.with_headers(x_user="nobody").get("/api/context")).code == "nobody"

        asyncio.run(main())

    def test_what_a_function_may_return(self) -> None:
        """Anything but an actor is nobody."""

        async def main() -> None:
            app = create_app(runtime_of("hello"), actor=lambda _: "ann")  # type: ignore[arg-type,return-value]
            assert (await Client(app).get("/api/context")).code == "nobody"

        asyncio.run(main())

    def test_a_run_is_theirs(self) -> None:
        """It acts on behalf of whoever began it, and is in their history alone."""

        async def main() -> None:
            async with opened("hello", user="ann") as (ann, _, runtime):
                run_id = (await ann.post("/api/runs", BODY)).lines[0]["run_id"]
                assert runtime.store is not None
                run = runtime.store.run(run_id)
                assert run is not None
                assert run.head.actor == PEOPLE["ann"]
                names = {}
                for name in PEOPLE:
                    listed = (await ann.with_headers(x_user=name).get("/api/runs")).json()["runs"]
                    names[name] = [one["run_id"] for one in listed]
                assert names == {"ann": [run_id], "bob": [], "eve": [], "root": [run_id]}

        asyncio.run(main())

    def test_tools_that_are_not_theirs(self) -> None:
        """They are not in the form, and not in a run that names them."""

        async def main() -> None:
            async with opened("hello", user="ann") as (ann, _, _):
                root = ann.with_headers(x_user="root")
                for client, sees in ((ann, False), (root, True)):
                    context = (await client.get("/api/context")).json()
                    names = [tool["name"] for group in context["tool_groups"] for tool in group["tools"]]
                    assert ("close_shop" in names) is sees
                reply = await ann.post("/api/runs", BODY | {"tools": ["close_shop", "stock"], "privacy": "full"})
                [request] = [line["step"] for line in reply.lines if line.get("step", {}).get("kind") == "request"]
                assert request["tool_specs"] == ["stock"]

        asyncio.run(main())

    def test_hosts_and_origins(self) -> None:
        """An application says under which names it is reached; other names are refused."""

        async def main() -> None:
            app = create_app(
                runtime_of("hello"), actor=who, hosts=["shop.test"], origins=["https://front.test"], caps=Caps()
            )
            client = Client(app, x_user="ann")
            assert (await client.get("/api/context")).code == "host"
            there = client.with_headers(host="shop.test", origin="https://shop.test")
            assert (await there.get("/api/context")).status == 200
            front = client.with_headers(host="shop.test", origin="https://front.test", sec_fetch_site="cross-site")
            assert (await front.get("/api/context")).status == 200
            anywhere = create_app(runtime_of("hello"), actor=who, hosts=None)
            assert (await Client(anywhere, x_user="ann", host="any.test").get("/api/context")).status == 200

        asyncio.run(main())


class TestLifespan:
    """Its end."""

    def test_by_itself(self) -> None:
        """As the only application of a server it is closed by the server."""

        async def main() -> None:
            async with opened("hello") as (client, app, _):
                messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
                sent: list[str] = []

                async def receive() -> Any:
                    return messages.pop(0)

                async def send(message: Any) -> None:
                    sent.append(message["type"])

                await app({"type": "lifespan"}, receive, send)
                assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
                assert (await client.post("/api/runs", BODY)).code == "stopping"
                assert "0 runs" in repr(app)

        asyncio.run(main())


class TestFiles:
    """The page's files."""

    def test_unchanged(self) -> None:
        """A browser that has a file is told so, and one that takes packed files gets them packed."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                for path, kind in (("/", "text/html"), ("/assets/main.js", "text/javascript")):
                    plain = await client.get(path)
                    packed = await client.with_headers(accept_encoding="gzip, br").get(path)
                    assert plain.headers["content-type"].startswith(kind)
                    assert gzip.decompress(packed.body) == plain.body
                    assert packed.headers["content-encoding"] == "gzip"
                    assert packed.headers["etag"] != plain.headers["etag"]
                    again = await client.with_headers(if_none_match=plain.headers["etag"]).get(path)
                    assert (again.status, again.body) == (304, b"")
                    assert plain.headers["vary"] == "Accept-Encoding"

        asyncio.run(main())

    def test_the_page_is_linked_from_anywhere(self) -> None:
        """A link of another site opens it: it holds nothing, and its calls are guarded."""

        async def main() -> None:
            async with opened("hello") as (client, _, _):
                link = client.with_headers(sec_fetch_site="cross-site", sec_fetch_mode="navigate")
                assert (await link.get("/")).status == 200
                assert (await link.get("/assets/main.js")).code == "origin"

        asyncio.run(main())

    def test_what_there_is(self) -> None:
        """Every file of the page is served, and nothing else of the package."""
        assert "index.html" in assets()
        assert not {"app.py", "demo.ndjson"} & set(assets())
