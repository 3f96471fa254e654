"""Who types: on whose behalf runs act here, and who decides about those that wait."""

from __future__ import annotations

import os

from nr_llm.actors import Actor


def me() -> Actor:
    """Return the user of the operating system: on whose behalf runs act."""
    return Actor(_name())


def decider() -> Actor:
    """
    Return the user of the operating system as who decides.

    Whoever has the store's file or password may decide on the runs of others; what a configuration or a tool asks
    beyond that, such as a second pair of eyes, they are no exception of.
    """
    return Actor(_name(), approver=True)


def _name() -> str:
    """Return the name that belongs to the process, not one that its environment claims, where the system tells."""
    try:
        import pwd
    except ImportError:  # Windows
        return os.environ.get("USERNAME", "somebody")
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number that has no name
        return f"uid {os.getuid()}"
