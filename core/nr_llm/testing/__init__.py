"""What plugin authors and hosts test with; nothing here is imported by nr-llm itself."""

from nr_llm.testing.scripted import ScriptedProvider, calling

__all__ = ["ScriptedProvider", "calling"]
