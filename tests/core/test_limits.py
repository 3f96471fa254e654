"""The bounds of a run: which were given, as against those left as usual."""

from __future__ import annotations

import copy
import inspect

import attrs
import pytest
from nr_llm import Limits
from nr_llm.limits import BOUNDS


class TestGiven:
    """Limits that know what their maker named."""

    def test_none(self) -> None:
        """Whoever names no bound has given none."""
        assert Limits().given == frozenset()

    def test_a_usual_value_counts(self) -> None:
        """A bound that is named counts, also where it is the usual one or none at all."""
        assert Limits(rounds=5, tokens=None).given == {"rounds", "tokens"}

    def test_equality_is_that_of_the_figures(self) -> None:
        """Two limits with the same figures are equal and hash alike, whoever named them."""
        assert Limits(rounds=5) == Limits()
        assert hash(Limits(rounds=5)) == hash(Limits())
        assert repr(Limits(rounds=5)) == repr(Limits())

    def test_an_evolved_copy_gives_what_is_unusual(self) -> None:
        """`attrs.evolve` names each field; what it left as usual is not taken for given."""
        assert attrs.evolve(Limits(), calls=3).given == {"calls"}

    def test_a_deep_copy_keeps_them(self) -> None:
        """A copy is as good as the original."""
        assert copy.deepcopy(Limits(rounds=5)).given == {"rounds"}

    def test_a_misspelt_bound(self) -> None:
        """A bound nobody knows is an error like any unexpected keyword."""
        with pytest.raises(TypeError, match="'round'"):
            Limits(round=3)  # type: ignore[call-arg]

    def test_the_signature_names_them(self) -> None:
        """Whoever asks for the signature sees every bound."""
        assert tuple(inspect.signature(Limits).parameters) == BOUNDS
