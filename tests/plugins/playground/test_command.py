"""`nr-llm playground`, and the server that it starts."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from nr_llm import Actor, MemoryStore, PluginHost, PrivacyLevel, Runtime
from nr_llm.errors import ConfigurationError
from nr_llm.testing import ScriptedProvider, calling
from nr_llm_playground import commands, create_app, nr_llm_commands
from nr_llm_playground.commands import LEVELS, playground
from nr_llm_playground.serve import HEAD_BYTES, Server, bound, serve

from tests.plugins.cli.installed import declare
from tests.plugins.cli.shell import environment, plugin_file
from tests.plugins.playground.shop import Gate, who

SAFE = {"X-NR-LLM": "1"}
PROGRAM = "import sys; from nr_llm_cli.root import program; program.main(sys.argv[1:])"


class Started:
    """What the command would serve."""

    def __init__(self) -> None:
        self.app: Any = None
        self.listening: Any = None
        self.runtime: Any = None
        self.opened: list[str] = []

    def browse(self, address: str) -> None:
        self.opened.append(address)
        self.file = Path(address.removeprefix("file://"))
        self.page, self.mode = self.file.read_text(), self.file.stat().st_mode & 0o777

    def __call__(self, app: Any, listening: Any) -> None:
        self.app, self.listening, self.runtime = app, listening, app._server.runtime


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Take the place of the server, and of the browser."""
    found = Started()
    monkeypatch.setattr("nr_llm_playground.serve.serve", found)
    monkeypatch.setattr("webbrowser.open", found.browse)
    for name in ("NR_LLM_HOME", "NR_LLM_CONFIG", "NR_LLM_PRIVACY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NR_LLM_PLUGINS", "")
    monkeypatch.setenv("NR_LLM_HOME", "/nonexistent/nr-llm")
    return found


def invoke(*arguments: str | Path) -> Any:
    """Run the command in this process."""
    return CliRunner(catch_exceptions=False).invoke(playground, [str(one) for one in arguments])


class TestOptions:
    """What the command takes."""

    def test_its_address(self, started: Started, tmp_path: Path) -> None:
        """It is printed once, with the key of this launch behind the hash, which a browser sends nowhere."""
        done = invoke("--port", "0", "--plugin", plugin_file(tmp_path), "-m", "scripted:")
        token = started.app.token.secret
        port = done.stdout.split(":")[3].partition("/")[0]

        assert done.exit_code == 0
        assert done.stdout == f"Playground: http://127.0.0.1:{port}/#token={token}\n"
        assert token not in done.stderr
        assert started.opened == []

    def test_as_json(self, started: Started) -> None:
        """For programs it is one document."""
        done = invoke("--port", "0", "--json")
        told = json.loads(done.stdout)

        assert told["url"].endswith(f"#token={started.app.token.secret}")
        assert (told["host"], type(told["port"])) == ("127.0.0.1", int)
        assert done.stderr == ""

    def test_in_a_browser(self, started: Started) -> None:
        """It is opened where that was asked for; the key is in a file of the user's, and in no program's arguments."""
        done = invoke("--port", "0", "--open", "--json")

        [opened] = started.opened
        assert opened.startswith("file://")
        assert json.loads(done.stdout)["url"] in started.page
        assert started.mode == 0o600
        assert not started.file.exists(), "it is gone in the end"

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
    def test_other_machines(self, started: Started, host: str) -> None:
        """An address that they reach is refused unless that is said to be meant."""
        done = invoke("--port", "0", "--host", host)

        assert (done.exit_code, started.app) == (2, None)
        assert "--allow-remote" in done.stderr

    def test_other_machines_that_are_meant(self, started: Started) -> None:
        """Then the names of this machine are served, and others are not."""
        done = invoke("--port", "0", "--host", "0.0.0.0", "--allow-remote", "--json")
        port = json.loads(done.stdout)["port"]
        hosts = started.app._server.doors.hosts

        assert {f"127.0.0.1:{port}", f"localhost:{port}", f"{socket.gethostname()}:{port}".lower()} <= hosts
        assert not any("0.0.0.0" in name for name in hosts)
        assert json.loads(done.stdout)["url"].startswith(f"http://{socket.gethostname()}:{port}/#token=")
        assert "not encrypted" in done.stderr

    def test_by_the_other_family(self, started: Started) -> None:
        """The address of IPv6 stands in brackets."""
        try:
            bound("::1", 0).close()
        except ConfigurationError:
            pytest.skip("this machine has no IPv6")
        done = invoke("--port", "0", "--host", "::1", "--json")

        assert json.loads(done.stdout)["url"].startswith("http://[::1]:")

    def test_who_asks(self, started: Started) -> None:
        """The user of the operating system, as an administrator of their own machine."""
        invoke("--port", "0")
        actor = started.app._server.naming(None)

        assert isinstance(actor, Actor)
        assert (actor.admin, actor.approver) == (True, True)

    def test_what_it_runs(self, started: Started, tmp_path: Path) -> None:
        """The model, the level and the tools that are named; runs are kept in memory where there is no store."""
        plugin = plugin_file(tmp_path)
        invoke("--port", "0", "--plugin", plugin, "-m", "scripted:mine", "--privacy", "full", "--no-store")
        runtime = started.runtime

        assert isinstance(runtime.store, MemoryStore)
        assert runtime.privacy is PrivacyLevel.FULL
        assert {"add", "erase"} <= set(runtime.tools())
        assert runtime.describe()[1].name == "mine"

    def test_a_store_that_is_installed(self, started: Started, tmp_path: Path) -> None:
        """It is used, runs that were abandoned are ended first, and it is closed in the end."""
        plugin = tmp_path / "keeps.py"
        plugin.write_text(
            "from nr_llm import MemoryStore, RunChange, RunHead, RunStatus\n"
            "from nr_llm.hookspecs import hookimpl\n"
            "class Store(MemoryStore):\n"
            "    closed = 0\n"
            "    def close(self):\n"
            "        Store.closed += 1\n"
            "STORE = Store()\n"
            "STORE.create(RunHead(run_id='old', model='m:m'), RunChange(run_id='old', at=1.0, claim='x', lease=2.0))\n"
            "@hookimpl\n"
            "def nr_llm_stores():\n"
            "    return [STORE]\n"
        )
        done = invoke("--port", "0", "--plugin", plugin)
        store = started.runtime.store

        assert done.exit_code == 0
        assert (type(store).__name__, type(store).closed) == ("Store", 1)
        assert store.run("old").raw_status == "failed"

    def test_without_a_model(self, started: Started) -> None:
        """The page opens all the same, and says how to get one; a recorded run is there."""
        invoke("--port", "0")

        async def main() -> None:
            transport = httpx.ASGITransport(create_app(started.runtime, actor=lambda _: Actor("ann", admin=True)))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=SAFE) as client:
                context = (await client.get("/api/context")).json()
                assert context["default_model"] is None
                assert [advice["code"] for advice in context["advice"]] == ["no_model", "no_plugins"]
                assert "local" in context["advice"][0]["text"]
                assert context["demo"] is True
                demo = [json.loads(line) for line in (await client.get("/api/demo")).text.splitlines()]
                assert demo[0]["demo"] is True

        asyncio.run(main())

    def test_a_port_that_is_taken(self) -> None:
        """It is told with what to do."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            with pytest.raises(ConfigurationError, match="--port"):
                bound("127.0.0.1", other.getsockname()[1])
        with pytest.raises(ConfigurationError, match="Nothing can be served at no such host"):
            bound("no such host", 0)

    def test_the_levels(self) -> None:
        """They are those of the core."""
        assert tuple(PrivacyLevel) == LEVELS

    def test_a_machine_without_a_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is served under the name it has, though nobody knows its addresses."""

        def unknown(*_: Any) -> Any:
            raise OSError

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        assert commands._own_names("::") == [socket.gethostname()]
        monkeypatch.setattr(socket, "gethostname", lambda: "a_b c")
        assert commands._names("::", 1) == ["127.0.0.1:1", "localhost:1", "[::1]:1"]


class TestHook:
    """The command as a plugin offers it."""

    def test_without_a_command_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there is none there is no command, and another fault is not hidden."""
        assert [command.name for command in nr_llm_commands()] == ["playground"]
        monkeypatch.delitem(sys.modules, "nr_llm_playground.commands")
        monkeypatch.setitem(sys.modules, "nr_llm_cli.options", None)
        with pytest.raises(ModuleNotFoundError):
            list(nr_llm_commands())
        monkeypatch.setitem(sys.modules, "click", None)
        assert list(nr_llm_commands()) == []

    def test_what_it_exports(self) -> None:
        """By name, and nothing else."""
        import nr_llm_playground

        assert {getattr(nr_llm_playground, name).__name__ for name in nr_llm_playground.__all__} == {
            "Caps",
            "Playground",
            "create_app",
            "nr_llm_commands",
        }
        with pytest.raises(AttributeError, match="nothing"):
            _ = nr_llm_playground.nothing

    def test_help_imports_no_server(self, tmp_path: Path) -> None:
        """What is loaded to list commands, and to show the help of this one, is small."""
        probe = "import sys; from nr_llm_cli.root import program; program.main(sys.argv[1:], standalone_mode=False)"
        told = "; print(*sorted(sys.modules), file=sys.stderr)"
        done = run(tmp_path, "playground", "--help", program=probe + told)

        assert "Serve a page" in done.stdout
        assert not {"starlette", "uvicorn", "anyio", "httpx"} & set(done.stderr.split())


def run(folder: Path, *arguments: str | Path, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, in which the plugin looks installed."""
    return subprocess.run(
        command(*arguments, program=program),
        env=variables(folder),
        capture_output=True,
        check=True,
        encoding="utf-8",
        timeout=60,
    )


def command(*arguments: str | Path, program: str = PROGRAM) -> list[str]:
    return [sys.executable, "-c", program, *map(str, arguments)]


def variables(folder: Path) -> dict[str, str]:
    """Return an environment in which the plugin looks installed."""
    declare(folder, "nr_llm_playground")
    found = environment({"NR_LLM_PLUGINS": "nr-llm-playground"})
    return found | {"PYTHONPATH": f"{folder}:{found.get('PYTHONPATH', '')}"}


def test_from_the_shell_to_the_end(tmp_path: Path) -> None:
    """The program serves the page, lets in who has the key, runs a conversation, and stops at Ctrl-C with 0."""
    plugin = plugin_file(tmp_path)
    words = command("playground", "--port", "0", "--json", "--plugin", plugin, "-m", "scripted:")
    with subprocess.Popen(words, env=variables(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None
            address, token = json.loads(program.stdout.readline())["url"].split("/#token=")
            with httpx.Client(base_url=address, headers=SAFE, trust_env=False) as client:
                assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
                assert client.get("/api/context").status_code == 401
                assert client.post("/api/session", json={"token": token}).status_code == 204
                assert client.get("/api/context").json()["default_model"] == "scripted:script"
                reply = client.post("/api/runs", json={"prompt": "1 + 2?", "tools": ["add"]})
                assert json.loads(reply.text.splitlines()[-1])["content"] == "The sum is 3."
                assert "server" not in reply.headers
                assert client.get("/api/context", headers={"Host": "evil.test"}).status_code == 400
        finally:
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate(timeout=30)
    assert program.returncode == 0
    assert errors == b""


@contextmanager
def serving(runtime: Runtime) -> Iterator[tuple[httpx.Client, Server]]:
    """Serve in a thread, on a free port; stop in the end."""
    listening = bound("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server = Server(create_app(runtime, actor=who))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        headers = SAFE | {"X-User": "root"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False) as client:
            yield client, server
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
    assert not thread.is_alive()


class TestServer:
    """The server itself."""

    def test_a_feed_leaves_line_by_line(self) -> None:
        """A reader has the first lines while the run goes on."""
        gate = Gate()
        script = ScriptedProvider(calling(("wait", {})), "went well")
        with Runtime(tools=[gate.tool], providers=[script], model="scripted:", store=MemoryStore()) as runtime:
            with serving(runtime) as (client, _), client.stream("POST", "/api/runs", json={"prompt": "a"}) as feed:
                lines = (json.loads(line) for line in feed.iter_lines())
                first = next(lines)
                assert next(line for line in lines if line["event"] == "progress")["message"] == "waiting"
                stopped = client.post(f"/api/runs/{first['run_id']}/cancel", json={})
                assert stopped.status_code == 202
                assert [line["event"] for line in lines][-1] == "cancelled"

    def test_it_stops_though_somebody_watches(self) -> None:
        """The run under way is settled, and its feed ends in a line of its own."""
        gate = Gate()
        script = ScriptedProvider(calling(("wait", {})), "went well")
        store = MemoryStore()
        with Runtime(tools=[gate.tool], providers=[script], model="scripted:", store=store) as runtime:
            with serving(runtime) as (client, server), client.stream("POST", "/api/runs", json={"prompt": "a"}) as feed:
                lines = (json.loads(line) for line in feed.iter_lines())
                run_id = next(lines)["run_id"]
                next(line for line in lines if line["event"] == "progress")
                server.should_exit = True
                assert [line["event"] for line in lines][-1] == "cancelled"
        run = store.run(run_id)
        assert run is not None
        assert run.raw_status == "cancelled"

    def test_heads_are_bounded(self) -> None:
        """A request's headers cannot fill the memory."""
        with Runtime(PluginHost([])) as runtime, serving(runtime) as (client, _):
            place = (client.base_url.host, client.base_url.port or 0)
            with socket.create_connection(place, timeout=60) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 2 * HEAD_BYTES)  # and no end
                assert connection.recv(100).startswith(b"HTTP/1.1 400 ")

    def test_ctrl_c(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is the ordinary end."""

        def interrupted(self: Any, sockets: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Server, "run", interrupted)
        with Runtime(PluginHost([])) as runtime:
            listening = bound("127.0.0.1", 0)
            serve(create_app(runtime, actor=who), listening)
            assert listening.fileno() == -1
