"""A toolset is opened when it is needed and closed with the host."""

from __future__ import annotations

import asyncio
import threading

import pytest
from nr_llm._host import PluginHost

from tests.core.plugin_parts import Shared


class TestToolsets:
    @pytest.mark.lesson(20)
    def test_opened_on_first_use(self):
        """It is asked for its tools once, opened before the first call of one, and closed with the host."""
        shared = Shared("a", "b")
        with PluginHost([shared]) as host:
            a, b = host.tools()
            before = list(shared.log)
            results = [a.tool(text="!"), b.tool(), a.tool()]

        assert before == ["tools"]
        assert results == ["a!", "b", "a"]
        assert shared.log == ["tools", "open", "a", "b", "a", "close"]

    def test_unused(self):
        """One that was never used is not closed, and closing twice closes once."""
        used, unused = Shared("a"), Shared("b")
        host = PluginHost([used, unused])
        host.tool("a").tool()
        host.close()
        host.close()

        assert used.log == ["tools", "open", "a", "close"]
        assert unused.log == ["tools"]

    def test_used_again(self):
        """A host that was closed opens it again."""
        shared = Shared("a")
        host = PluginHost([shared])
        for _ in range(2):
            host.tool("a").tool()
            host.close()

        assert shared.log == ["tools", *["open", "a", "close"] * 2]

    def test_open_raises(self):
        """A failure to open is the call's, and the next call tries again."""
        shared = Shared("a")
        shared.trouble["open"] = OSError("no")
        with PluginHost([shared]) as host:
            with pytest.raises(OSError, match="no"):
                host.tool("a").tool()
            shared.trouble.clear()
            assert host.tool("a").tool() == "a"

        assert shared.log == ["tools", "open", "open", "a", "close"]

    def test_close_raises(self, caplog: pytest.LogCaptureFixture):
        """One that raises on closing is logged, masked, and keeps no other open; the last opened goes first."""
        first, second = Shared("a"), Shared("b")
        second.trouble["close"] = OSError("key sk-proj-A1b2C3d4E5f6G7h8I9j0")
        with PluginHost([first, second]) as host:
            for registered in host.tools():
                registered.tool()

        assert first.log[-1] == second.log[-1] == "close"
        assert "closing the toolset Shared raised" in caplog.text
        assert "A1b2" not in caplog.text

    def test_async_tools(self):
        """An async tool's coroutine comes back, opened before it is awaited."""

        class Async(Shared):
            def _function(self, name: str):
                async def function() -> str:
                    self.log.append(name)
                    return name

                return function

        shared = Async("a")
        with PluginHost([shared]) as host:
            assert asyncio.run(host.tool("a").tool()) == "a"

        assert shared.log == ["tools", "open", "a", "close"]

    def test_opened_once(self):
        """Called by many threads at once, it is opened once and nobody goes ahead."""
        shared, start = Shared("a"), threading.Barrier(8)
        with PluginHost([shared]) as host:
            call = host.tool("a").tool

            def use() -> None:
                start.wait()
                call()

            threads = [threading.Thread(target=use) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        assert shared.log == ["tools", "open", *["a"] * 8, "close"]

    def test_renamed(self):
        """A tool that lost its name is opened as well."""
        one, two = Shared("a"), Shared("a")
        with PluginHost({"one": one, "two": two}) as host:
            assert host.tool("two:a").wire_name == "two__a"
            host.tool("two:a").tool()

        assert one.log == ["tools"]
        assert two.log == ["tools", "open", "a", "close"]
