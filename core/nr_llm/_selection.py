"""Which plugins may load is decided on their names and versions, before any of their code runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from nr_llm._versions import admits, normalised
from nr_llm.config import Config
from nr_llm.plugins import HOST, PluginRecord, PluginState

if TYPE_CHECKING:
    from nr_llm._entrypoints import EntryPoint  # at run time it would import the metadata reader

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_OFF = frozenset({"", "0", "false", "no", "off"})


@attrs.frozen(kw_only=True)
class Selection:
    """
    Which distributions may contribute plugins.

    Attributes:
        allow: Normalised names of those that may, or None for all.
        allowed_by: Where that list is from.
        deny: Normalised names of those that may not, with where that is from.
    """

    allow: frozenset[str] | None
    allowed_by: str
    deny: Mapping[str, str]

    def refusal(self, distribution: str) -> str | None:
        """Return why a distribution may not contribute, or None."""
        if distribution in self.deny:
            return f"denied by {self.deny[distribution]}"
        if self.allow is not None and distribution not in self.allow:
            return f"not allowed by {self.allowed_by}"
        return None


def select(
    allow: Iterable[str] | None, deny: Iterable[str], *, environ: Mapping[str, str], config: Config
) -> Selection:
    """
    Return the selection the program, the environment and the configuration make together.

    The first allow-list found counts (program, ``NR_LLM_PLUGINS``, configuration); all deny-lists count.
    ``NR_LLM_DISABLE_PLUGIN_AUTOLOAD`` makes having no allow-list an empty one.
    """
    allow, deny = _one(allow), _one(deny)
    denied = dict.fromkeys(map(normalised, config.deny), "the configuration")
    denied |= dict.fromkeys(_listed(environ.get("NR_LLM_PLUGINS_DENY", "")), "NR_LLM_PLUGINS_DENY")
    denied |= dict.fromkeys(map(normalised, deny), "the program")
    lists = [(allow, "the program")]
    if "NR_LLM_PLUGINS" in environ:
        lists.append((_listed(environ["NR_LLM_PLUGINS"]), "NR_LLM_PLUGINS"))
    lists.append((config.allow, "the configuration"))
    if environ.get("NR_LLM_DISABLE_PLUGIN_AUTOLOAD", "").strip().lower() not in _OFF:
        lists.append(((), "NR_LLM_DISABLE_PLUGIN_AUTOLOAD"))
    for names, source in lists:
        if names is not None:
            return Selection(allow=frozenset(map(normalised, names)), allowed_by=source, deny=denied)
    return Selection(allow=None, allowed_by="", deny=denied)


def _one(names: Iterable[str] | None) -> Any:
    """Take a name for a list of one: its letters would be names that nobody has."""
    return (names,) if isinstance(names, str) else names


def judge(
    entry_points: Sequence[EntryPoint], selection: Selection, *, host: str | None, taken: Iterable[str] = ()
) -> tuple[PluginRecord, ...]:
    """
    Return the record each entry point begins with, in the same order.

    Args:
        entry_points: What is installed.
        selection: What may load.
        host: Version of this host, or None if unknown (then every range fits).
        taken: Plugin names the program has given itself.
    """
    records = [_record(point, selection, host) for point in entry_points]
    groups: dict[str, list[int]] = {}
    for i, record in enumerate(records):
        if record.usable:
            # Names that differ in case or separators share their variables and wire names.
            groups.setdefault(normalised(record.name), []).append(i)
    own = {normalised(name) for name in taken}
    for name, group in groups.items():
        for i in group:
            rivals = [records[j] for j in group if j != i]
            records[i] = _contended(records[i], rivals, own=name in own)
    return tuple(records)


def _record(point: EntryPoint, selection: Selection, host: str | None) -> PluginRecord:
    state, reason = PluginState.DISCOVERED, ""
    refusal = selection.refusal(point.distribution)
    if refusal is not None:
        state, reason = PluginState.DENIED, refusal
    elif not _NAME.match(point.name):
        state, reason = PluginState.FAILED, "its name may hold letters, digits, '.', '_' and '-' only"
    elif host is not None and point.requires is not None:
        try:
            fits = admits(point.requires, host)
        except ValueError as error:
            state, reason = PluginState.INCOMPATIBLE, f"its range for {HOST} cannot be judged: {error}"
        else:
            if not fits:
                state, reason = PluginState.INCOMPATIBLE, f"it needs {HOST} {point.requires}, and this is {host}"
    return PluginRecord(
        name=point.name,
        distribution=point.distribution,
        version=point.version,
        origin=point.origin,
        value=point.value,
        requires=point.requires,
        state=state,
        reason=reason,
    )


def _contended(record: PluginRecord, rivals: Sequence[PluginRecord], *, own: bool) -> PluginRecord:
    others = ", ".join(dict.fromkeys(str(rival.label) for rival in rivals))
    if own:
        reason = f"the program passed a plugin named {record.name!r} itself"
    elif not rivals or (record.first_party and not any(rival.first_party for rival in rivals)):
        return record
    elif any(rival.first_party for rival in rivals) and not record.first_party:
        reason = f"{others} has the name {record.name!r} and is this project's own"
    else:
        reason = f"{record.label} and {others} both call a plugin {record.name!r}, so neither has the name"
    return attrs.evolve(record, state=PluginState.CLASH, reason=reason)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(normalised(name) for name in re.split(r"[\s,]+", text) if name)
