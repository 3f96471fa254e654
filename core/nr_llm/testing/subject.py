"""What the suite for providers is told of the one it checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from unittest import SkipTest

from nr_llm.providers import Codec, DirectProvider, HttpProvider, HttpReply, Provider
from nr_llm.requests import CompletionRequest
from nr_llm.testing.samples import ProviderSample
from nr_llm.testing.talks import asking

T = TypeVar("T")


class Subject:
    """
    A provider to check.

    Attributes:
        provider: The provider, or its codec alone.
        samples: Replies of its service.
        model: A model to ask for.
        key: The key the provider was made with, to see that it stays where it belongs.
    """

    provider: Provider | Codec
    samples: Sequence[ProviderSample] = ()
    model: str = "nr-llm-model"
    key: str | None = None

    @property
    def _served(self) -> HttpProvider | DirectProvider:
        if isinstance(self.provider, HttpProvider | DirectProvider):
            return self.provider
        raise SkipTest("only its codec was given")

    @property
    def _codec(self) -> Codec:
        if isinstance(self.provider, HttpProvider):
            return self.provider.codec
        if isinstance(self.provider, DirectProvider):
            raise SkipTest("it answers by itself, without HTTP")
        return self.provider

    @property
    def _key(self) -> str:
        if self.key is None:
            raise SkipTest("no key was given")
        return self.key

    def _asked(self, sample: ProviderSample) -> CompletionRequest:
        return asking(self.model) if sample.request is None else sample.request

    def _wholes(self, *, good: bool = True) -> list[tuple[str, ProviderSample, HttpReply]]:
        """Return the whole replies among the samples, those of success or those of failure."""
        found = [
            (f"sample {sample.name or number}, whole", sample, HttpReply(sample.status, sample.headers, sample.reply))
            for number, sample in enumerate(self.samples)
            if sample.reply is not None and (sample.error is None) is good
        ]
        return _some(found, f"a whole reply of {'success' if good else 'failure'}")

    def _streams(self, *, good: bool = True) -> list[tuple[str, ProviderSample, bytes]]:
        """Return the streams among the samples, those of success or those of failure."""
        found = [
            (f"sample {sample.name or number}, streamed", sample, sample.stream)
            for number, sample in enumerate(self.samples)
            if sample.stream is not None and (sample.error is None) is good
        ]
        return _some(found, f"a stream of {'success' if good else 'failure'}")


def _some(found: list[T], what: str) -> list[T]:
    if not found:
        raise SkipTest(f"there is no sample of {what}")
    return found
