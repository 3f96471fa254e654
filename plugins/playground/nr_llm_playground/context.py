"""What the form needs to know: models and where they are, tools and where they are from, bounds, plugins, the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import attrs
from nr_llm._choice import Source
from nr_llm._json import JSON, copy_json
from nr_llm._listing import declares
from nr_llm.actors import Actor
from nr_llm.aliases import facts_of
from nr_llm.errors import NrLlmError
from nr_llm.limits import BOUNDS, Limits
from nr_llm.plugins import RegisteredTool
from nr_llm.privacy import PrivacyLevel
from nr_llm.providers import Model, Provider
from nr_llm.runtime import Runtime
from nr_llm.stores import MemoryStore
from nr_llm.tools import Tool

from nr_llm_playground.caps import Caps

UNGROUPED: Final = "other"
"""The group of tools that name none and are of no plugin."""


def context_of(runtime: Runtime, actor: Actor, caps: Caps) -> dict[str, JSON]:
    """
    Return what the form needs; loads all plugins, and asks nobody over the network.

    Args:
        runtime: What runs the conversations.
        actor: Who asks: what is not open to them is left out.
        caps: Bounds of the server.
    """
    toolbox = runtime.toolbox(actor=actor)
    tools = {name: toolbox.registered[name] for name in toolbox.offered}
    models, default, advice = _models(runtime)
    admin = actor.administers
    if not tools:
        advice.append(_advice("no_plugins", "No tools are installed: a run is a conversation without them."))
    store = runtime.store
    if store is None:
        advice.append(_advice("no_store", "No store is installed: runs are shown while they last and not kept."))
    return {
        "version": _version(),
        "actor": {"id": actor.id, "admin": admin},
        "models": models,
        "default_model": default,
        "configurations": [_configuration(one) for one in runtime.configurations().values()],
        "default_configuration": None if runtime.host is None else runtime.host.default_configuration,
        "tool_groups": list(_groups(tools, runtime.host, toolbox.gate.usual)),
        "limits": {
            "defaults": _figures(runtime.limits),
            "caps": {"rounds": caps.rounds},
            "body_bytes": caps.body_bytes,
            "upload_bytes": caps.upload_bytes,
        },
        "plugins": list(_plugins(runtime.host)) if admin else [],
        "store": {
            "kept": store is not None,
            "memory": isinstance(store, MemoryStore),
            "level": None if store is None else str(runtime.privacy or PrivacyLevel.METADATA),
            "encrypted": bool(getattr(store, "encrypts", False)),
        },
        "demo": True,
        "advice": advice,
    }


def _version() -> str | None:
    try:
        return version("nr-llm-playground")
    except PackageNotFoundError:  # a checkout on PYTHONPATH
        return None


def _advice(code: str, text: str, *, command: str | None = None) -> JSON:
    return {"code": code, "text": text, "command": command}


def place_of(provider: Provider, model: Model) -> dict[str, JSON]:
    """Return where a provider's model runs: host and whether a conversation stays on this machine."""
    return {"host": provider.endpoint.host, "local": provider.endpoint.local and not model.elsewhere}


def _models(runtime: Runtime) -> tuple[list[JSON], str | None, list[JSON]]:
    """Return the models that are known without asking anybody, the default one, and advice where there is none."""
    found: dict[str, JSON] = {}
    default, advice = None, list[JSON]()
    try:
        provider, model = runtime.describe()
    except NrLlmError as error:
        advice.append(_advice("no_model", f"There is no model to begin with: {error}"))
    else:
        default = f"{provider.name}:{model.name}"
        found[default] = _model(default, provider, model)
        state = model.details.get("state", "")
        if state.startswith("fetch it: "):
            text = f"The model {default} is not on this machine yet; fetching it takes some minutes, once."
            advice.append(_advice("no_weights", text, command=state.removeprefix("fetch it: ")))
    aliases = {} if runtime.host is None else runtime.host.models()
    for alias in aliases:
        with _Skipped():
            found[alias] = _model(alias, *runtime.describe(alias))
    for provider in _providers(runtime.host):
        with _Skipped():
            for model in declares(provider) or ():
                name = f"{provider.name}:{model.name}"
                found.setdefault(name, _model(name, provider, facts_of(model, aliases.values())))
    return list(found.values()), default, advice


class _Skipped:
    """Leaves out what cannot be described: one model must not hide the others."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, Exception)


def _providers(host: Source | None) -> Iterator[Provider]:
    for given in getattr(host, "providers", tuple)():
        yield given.provider


def _model(name: str, provider: Provider, model: Model) -> JSON:
    place = place_of(provider, model)
    return {
        "name": name,
        "model": f"{provider.name}:{model.name}",
        "notice": model.notice,
        "details": dict(model.details),
        "attachments": None if model.attachments is None else list(model.attachments),
        "max_tools": model.max_tools,
        "priced": model.price is not None,
        **place,
        "leaves_machine": not place["local"],
    }


def _configuration(one: Any) -> JSON:
    return {
        "name": one.name,
        "model": one.model,
        "tools": None if one.tools is None else list(one.tools),
        "limits": {name: _figure(value) for name, value in one.limits.items()},
        "privacy": None if one.privacy is None else str(one.privacy),
        "four_eyes": one.four_eyes,
        "zone": None if one.zone is None else str(one.zone),
    }


def _groups(tools: Mapping[str, Tool], host: Source | None, usual: Callable[[str, Tool], bool]) -> Iterator[JSON]:
    """Yield the tools by group, each with where it is from."""
    known = {} if host is None else {given.wire_name: given for given in host.tools()}
    groups: dict[str, list[JSON]] = {}
    for name, tool in tools.items():
        given = known.get(name)
        group = tool.group or (UNGROUPED if given is None else given.plugin)
        groups.setdefault(group, []).append(_tool(name, tool, given, ticked=usual(name, tool)))
    for group, members in sorted(groups.items()):
        yield {"name": group, "tools": members}


def _tool(name: str, tool: Tool, given: RegisteredTool | None, *, ticked: bool) -> JSON:
    return {
        "name": name,
        "description": tool.description,
        "effect": str(tool.effect),
        "asks_first": tool.needs_approval,
        "form": tool.form is not None,
        "enabled": ticked,
        "remote": tool.remote,
        "plugin": None if given is None else given.plugin,
        "distribution": None if given is None else given.distribution,
        "version": None if given is None else given.version,
        "parameters": copy_json(tool.spec.parameters),
    }


def _plugins(host: Source | None) -> Iterable[JSON]:
    for record in getattr(host, "records", tuple)():
        state, reason = str(record.state), record.reason
        yield {"name": record.name, "distribution": record.distribution, "state": state, "reason": reason}


def _figures(limits: Limits) -> JSON:
    return {name: _figure(value) for name, value in attrs.asdict(limits).items() if name in BOUNDS}


def _figure(value: Any) -> JSON:
    return str(value) if isinstance(value, Decimal) else value
