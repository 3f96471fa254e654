"""Each trouble with plugins is told with its reason and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from nr_llm._names import Offer
from nr_llm._selection import Selection
from nr_llm.errors import similar
from nr_llm.plugins import Finding, PluginRecord, PluginState

_SAID = {
    PluginState.FAILED: "failed",
    PluginState.CLASH: "clashes with another",
    PluginState.SLOW: "is slow",
    PluginState.DENIED: "is denied",
    PluginState.INCOMPATIBLE: "is incompatible",
}
"""What people read of the states there is something to find in."""


@attrs.frozen(kw_only=True)
class Case:
    """
    What is looked at.

    Attributes:
        records: All plugins, loaded.
        unreadable: Packages whose metadata cannot be read, with the reason.
        selection: What may load, or None where nothing was searched for.
        disputed: Tool names that several claim.
        disputed_providers: Providers' names that several claim.
        configured: Names of plugins that have settings from code or files.
        read: Names of plugins that asked for their settings.
    """

    records: Sequence[PluginRecord]
    unreadable: Mapping[str, str]
    selection: Selection | None
    disputed: Mapping[str, Sequence[Offer]]
    disputed_providers: Mapping[str, Sequence[Offer]]
    configured: Sequence[str]
    read: Sequence[str]


def examine(case: Case, more: Iterable[Finding] = ()) -> tuple[Finding, ...]:
    """Return what a person should know, with further findings, the serious first."""
    findings = [
        *(finding for record in case.records for finding in _of_record(record)),
        *(_of_package(name, reason) for name, reason in case.unreadable.items()),
        *(_of_dispute(name, offers) for name, offers in case.disputed.items()),
        *(_of_providers(name, offers) for name, offers in case.disputed_providers.items()),
        *_of_selection(case),
        *_of_settings(case),
        *more,
    ]
    return tuple(sorted(findings, key=lambda finding: not finding.serious))


def _of_record(record: PluginRecord) -> Iterator[Finding]:
    package = record.distribution or "the program's own plugin"
    fixes = {
        PluginState.FAILED: f"Update {package} (pip install --upgrade {package}), or deny it.",
        PluginState.INCOMPATIBLE: f"Install a release of {package} for this host, or update nr-llm.",
        PluginState.CLASH: f"Uninstall or deny one of them (NR_LLM_PLUGINS_DENY={package}).",
        PluginState.SLOW: f"Tell the authors of {package}: heavy imports belong inside the functions that need them.",
        PluginState.DENIED: f"Nothing, if that is meant; else take {package} off the list.",
    }
    if record.reason.startswith(f"Plugin {record.name!r}"):  # as errors about settings do, which say from where
        fixes[PluginState.FAILED] = f"Correct the setting; nr-llm config show lists those of {record.name!r}."
    if record.distribution is None:
        fixes[PluginState.FAILED] = fixes[PluginState.CLASH] = "Correct the object that is passed to PluginHost."
    if record.state in fixes:
        yield Finding(
            what=f"Plugin {record.name!r} ({record.label or 'passed in code'}) {_SAID[record.state]}.",
            why=record.reason,
            fix=fixes[record.state],
            plugin=record.name,
            distribution=record.distribution,
            serious=record.state not in (PluginState.SLOW, PluginState.DENIED),
        )


def _of_package(name: str, reason: str) -> Finding:
    return Finding(
        what=f"The metadata of {name} cannot be read, so its plugins are unknown.",
        why=reason,
        fix=f"Install it anew: pip install --force-reinstall {name}",
        distribution=name,
    )


def _of_dispute(name: str, offers: Sequence[Offer]) -> Finding:
    addresses = " or ".join(f"{offer.record.name}:{name}" for offer in offers)
    return Finding(
        what=f"Several plugins have a tool named {name!r}, so none has the name.",
        why=", ".join(f"{offer.record.name!r} ({offer.record.label or 'passed in code'})" for offer in offers),
        fix=f"Name it {addresses}, or deny one of the packages.",
    )


def _of_providers(name: str, offers: Sequence[Offer]) -> Finding:
    return Finding(
        what=f"Several plugins have a provider named {name!r}, so none has the name.",
        why=", ".join(f"{offer.record.name!r} ({offer.record.label or 'passed in code'})" for offer in offers),
        fix=f"Deny one of the packages, or describe it yourself in [providers.{name}].",
    )


def _of_selection(case: Case) -> Iterator[Finding]:
    installed = {record.distribution for record in case.records if record.distribution}
    selection = case.selection
    for name in sorted((selection.allow or frozenset()) - installed) if selection else ():
        yield _unknown(f"{name} is allowed to load plugins", "it is not installed or declares none", name, installed)
    for name in sorted(set(selection.deny) - installed) if selection else ():
        yield _unknown(f"{name} is denied", "it is not installed or declares no plugin", name, installed)


def _of_settings(case: Case) -> Iterator[Finding]:
    names = {record.name: record for record in case.records}
    for name in case.configured:
        if name not in names:
            yield _unknown(f"There are settings for a plugin {name!r}", "there is no such plugin", name, names)
        elif names[name].usable and name not in case.read:
            yield Finding(
                what=f"Plugin {name!r} has settings that it never reads.",
                why="none of its hooks takes settings",
                fix=f"Remove [plugins.{name}].",
                plugin=name,
                serious=False,
            )


def _unknown(what: str, why: str, name: str, known: Iterable[str]) -> Finding:
    alike = similar(name, known)
    fix = f"Did you mean {alike[0]}?" if alike else "Install it, or take it off."
    return Finding(what=f"{what}.", why=why, fix=fix, serious=False)
