"""
The promises every provider keeps, as a suite that checks any provider in one line.

``check_provider(my_provider, samples=[...])`` checks them all.  To see each promise by itself, subclass the suite in a
test module: ``class TestMine(ProviderContract): provider = my_provider``.  Nothing is sent anywhere: requests are
made and looked at, replies are samples of yours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack

from nr_llm.providers import Codec, Provider
from nr_llm.testing.answering import Answering
from nr_llm.testing.asking import Asking
from nr_llm.testing.failing import Failing
from nr_llm.testing.promises import check_all, configure
from nr_llm.testing.samples import ProviderSample


class ProviderContractSettings(TypedDict, total=False):
    """
    How a provider is checked; the attributes of `ProviderContract` by the same names say more.

    Keys:
        model: A model to ask for.
        key: The key the provider was made with.
    """

    model: str
    key: str | None


class ProviderContract(Asking, Answering, Failing):
    """
    What every provider promises; each method checks one promise and raises `AssertionError` with the fix.

    pytest collects a subclass whose name begins with ``Test``.

    Attributes:
        provider: The provider, or its codec alone.
        samples: Replies of its service, and what they must give; without them only requests and failures are checked.
        model: A model to ask for; any name will do where the form of requests does not depend on it.
        key: The key the provider was made with, to see that it stays where it belongs; None leaves that unchecked.
    """


def check_provider(
    provider: Provider | Codec,
    samples: ProviderSample | Iterable[ProviderSample] = (),
    **settings: Unpack[ProviderContractSettings],
) -> tuple[str, ...]:
    """
    Check that a provider keeps every promise of `ProviderContract`.

    Args:
        provider: A provider, or its codec alone.
        samples: Replies of its service: one or several.
        **settings: Those of `ProviderContractSettings`.

    Returns:
        What could not be checked, each with its reason.

    Raises:
        AssertionError: Promises are broken; the text lists every one.
    """
    suite = ProviderContract()
    suite.provider = provider
    suite.samples = [samples] if isinstance(samples, ProviderSample) else list(samples)
    configure(suite, dict(settings), ProviderContractSettings.__annotations__, taker="check_provider")
    name = provider.provider if not hasattr(provider, "name") else provider.name
    return check_all(suite, f"Provider {name!r}")
