"""What the embedded model can be told beyond the common options."""

from __future__ import annotations

from typing import ClassVar

import attrs
from nr_llm.options import ProviderOptions


@attrs.frozen(kw_only=True)
class LocalOptions(ProviderOptions):
    """
    Settings of the embedded model.

    Attributes:
        raw: Sampling parameters by the engine's own names.
    """

    namespace: ClassVar[str] = "local"
