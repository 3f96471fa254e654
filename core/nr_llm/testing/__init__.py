"""What plugin authors and hosts test with; nothing here is imported by nr-llm itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nr_llm import _lazy

if TYPE_CHECKING:
    from nr_llm.testing.arguments import arguments_for
    from nr_llm.testing.canary import Canary, assert_no_leak
    from nr_llm.testing.contract import ToolContract, check_tool
    from nr_llm.testing.harness import Harness
    from nr_llm.testing.installed import check_installed, installed_tools
    from nr_llm.testing.providers import ProviderContract, check_provider
    from nr_llm.testing.recorder import Checkpoints, Recorder, Recording
    from nr_llm.testing.samples import ProviderSample
    from nr_llm.testing.scripted import ScriptedProvider, calling
    from nr_llm.testing.stores import StoreContract, check_store

_HOMES = {
    "Canary": "canary",
    "Checkpoints": "recorder",
    "Harness": "harness",
    "ProviderContract": "providers",
    "ProviderSample": "samples",
    "Recorder": "recorder",
    "Recording": "recorder",
    "ScriptedProvider": "scripted",
    "StoreContract": "stores",
    "ToolContract": "contract",
    "arguments_for": "arguments",
    "assert_no_leak": "canary",
    "calling": "scripted",
    "check_installed": "installed",
    "check_provider": "providers",
    "check_store": "stores",
    "check_tool": "contract",
    "installed_tools": "installed",
}
"""Where each name lives; its module is imported when the name is first asked for, since pytest imports this package."""

__all__ = [
    "Canary",
    "Checkpoints",
    "Harness",
    "ProviderContract",
    "ProviderSample",
    "Recorder",
    "Recording",
    "ScriptedProvider",
    "StoreContract",
    "ToolContract",
    "arguments_for",
    "assert_no_leak",
    "calling",
    "check_installed",
    "check_provider",
    "check_store",
    "check_tool",
    "installed_tools",
]

__getattr__, __dir__ = _lazy.lazy(globals(), _HOMES)
