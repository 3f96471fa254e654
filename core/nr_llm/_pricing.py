"""Finds the price of a model: its own, or that of the optional package genai-prices, imported when first asked for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from nr_llm.errors import ConfigurationError
from nr_llm.limits import Limits
from nr_llm.prices import Price
from nr_llm.providers import Model, Provider

_THEIRS: Final[Mapping[str, str]] = {"gemini": "google", "xai": "x-ai"}
"""Providers that genai-prices knows by another name."""

_LOG = logging.getLogger("nr_llm")


def price_of(model: Model, provider: Provider) -> Price | None:
    """Return the price of a model, or None where nobody knows it: a model of one's own has no list price."""
    if model.price is not None or provider.endpoint.local:
        return model.price
    return listed_price(model.provider, model.name)


def priced(model: Model, provider: Provider, limits: Limits) -> Price | None:
    """
    Return the price of a model whose run has limits.

    Raises:
        ConfigurationError: The run's cost is bounded and the price is not known.
    """
    price = price_of(model, provider)
    if price is None and limits.cost is not None:
        raise unknown_price(model, "The run has a limit of cost")
    return price


def unknown_price(model: Model, bound: str) -> ConfigurationError:
    """Return the error for a bound that cannot be held: it would hold nobody."""
    return ConfigurationError(
        f"{bound}, and the price of {model.provider}:{model.name} is not known.",
        remedy="Say it in nr-llm.toml, as price = { input = ..., output = ... } in a [models.NAME] of that model, "
        "install nr-llm[prices], or bound tokens instead.",
    )


@cache
def listed_price(provider: str, model: str) -> Price | None:
    """Return a model's list price as genai-prices has it, or None if that is not installed or does not know it."""
    try:
        genai_prices: Any = import_module("genai_prices")
    except ImportError:
        return None
    try:
        usage = genai_prices.Usage(input_tokens=1, output_tokens=1)
        found = genai_prices.calc_price(usage, model, provider_id=_THEIRS.get(provider, provider)).model_price
        return _price(found, f"genai-prices {genai_prices.__version__}")
    except LookupError:
        return None
    except Exception as error:  # noqa: BLE001  # another release of it: no price is known, and runs go on
        _LOG.warning("genai-prices cannot be read: %s; no price of %s:%s", type(error).__name__, provider, model)
        return None


def _price(found: Any, source: str) -> Price | None:
    """Return a price of theirs, with the one of long calls where there is one; None if it has more steps."""
    figures = [found.input_mtok, found.output_mtok, found.cache_read_mtok, found.cache_write_mtok]
    steps = {tuple(tier.start for tier in figure.tiers) for figure in figures if hasattr(figure, "tiers")}
    if figures[0] is None or figures[1] is None or len(steps) > 1 or any(len(step) > 1 for step in steps):
        return None
    short = _flat([getattr(figure, "base", figure) for figure in figures], source)
    if not steps:
        return short
    long = _flat([figure.tiers[0].price if hasattr(figure, "tiers") else figure for figure in figures], source)
    return Price(
        input=short.input,
        output=short.output,
        cached=short.cached,
        cache_write=short.cache_write,
        long=long,
        long_from=steps.pop()[0],
        source=source,
    )


def _flat(figures: list[Any], source: str) -> Price:
    read, write, cached, cache_write = figures
    return Price(input=read, output=write, cached=cached, cache_write=cache_write or read, source=source)
