"""On whose behalf a run acts."""

from __future__ import annotations

import attrs


@attrs.frozen
class Actor:
    """
    A person or service.

    Args:
        id: How the host names them.
        admin: Whether tools for administrators are open to them.
    """

    id: str
    admin: bool = attrs.field(default=False, kw_only=True)
