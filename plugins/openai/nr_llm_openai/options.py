"""What OpenAI and servers of its form can be told beyond the common options."""

from __future__ import annotations

from typing import ClassVar

import attrs
from nr_llm.options import ProviderOptions


@attrs.frozen(kw_only=True)
class OpenAIOptions(ProviderOptions):
    """
    Settings of OpenAI and of servers that speak its forms.

    Attributes:
        raw: Fields of the request body by the service's own names.
    """

    namespace: ClassVar[str] = "openai"
