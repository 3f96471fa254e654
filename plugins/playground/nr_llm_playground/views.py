"""Who may see how much of a run: everything, what its level leaves, or the bare facts."""

from __future__ import annotations

from enum import StrEnum

from nr_llm.actors import Actor, Scope
from nr_llm.feed import Feed
from nr_llm.privacy import PrivacyLevel, StepFilter
from nr_llm.redaction import Redactor


class View(StrEnum):
    """How much of a run somebody sees."""

    WHOLE = "whole"
    """Every step as it is, artifacts and all: for administrators, and where the run is kept in full."""
    LEVEL = "level"
    """What the run's privacy level leaves: for its owner, and whoever else may read it."""
    FACTS = "facts"
    """Kinds, times and counts: for who may decide on a run and not read it."""


def view_of(actor: Actor, *, owner: Actor | None, level: PrivacyLevel) -> View:
    """
    Return how much of a run an actor sees.

    Args:
        actor: Who watches.
        owner: On whose behalf the run acts.
        level: How much of the run is kept.
    """
    if actor.administers:
        return View.WHOLE
    if not actor.may(Scope.READ, owner=owner):
        return View.FACTS
    return View.WHOLE if level is PrivacyLevel.FULL else View.LEVEL


def level_of(view: View, level: PrivacyLevel) -> PrivacyLevel | None:
    """Return the level that a view is filtered to, or None for one that is not."""
    return {View.WHOLE: None, View.LEVEL: level, View.FACTS: PrivacyLevel.METADATA}[view]


def feed_of(view: View, level: PrivacyLevel, redactor: Redactor) -> Feed:
    """Return what writes the lines of a view."""
    seen = level_of(view, level)
    return Feed(filter=None if seen is None else StepFilter(seen, redactor), redactor=redactor)
