"""nr-llm: tool-calling conversations with language models, from a small core and installable plugins."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nr_llm._assembly import ResumeSettings, RunSettings
    from nr_llm._desk import Store
    from nr_llm._host import PluginHost
    from nr_llm._invoke import ainvoke, invoke
    from nr_llm._json import JSON
    from nr_llm._loop import Plan, tool_loop
    from nr_llm._observers import Observer, ObserverFactory, RunInfo
    from nr_llm._schema import ArgumentsError, Constraint, Fault
    from nr_llm._settle import settle
    from nr_llm.actors import Actor
    from nr_llm.artifacts import ArtifactType, ToolArtifact
    from nr_llm.cancellation import Cancellation
    from nr_llm.config import PluginConfig, read_config
    from nr_llm.conversation import Prompt, as_messages, check_pairs
    from nr_llm.effects import CallOutcome, Complete, Completer, Effect, Flow, Invoke, Record, Wait, ask, complete
    from nr_llm.errors import (
        AuthenticationError,
        ConfigurationError,
        ContentFilterError,
        ContextLengthError,
        InvalidRequestError,
        InvalidSchemaError,
        InvalidValueError,
        MalformedJsonError,
        MalformedReplyError,
        MissingCredentialError,
        MissingToolCallError,
        ModelNotFoundError,
        NameClashError,
        NrLlmError,
        PluginError,
        PluginLoadError,
        ProviderError,
        RateLimitError,
        RunCancelledError,
        ServiceError,
        StoreError,
        StreamInterruptedError,
        ToolCallRejectedError,
        ToolError,
        TransportError,
        UnknownNameError,
    )
    from nr_llm.events import (
        Delta,
        Event,
        Finished,
        ReasoningDelta,
        StepRecorded,
        TextDelta,
        ToolCallDelta,
        ToolFinished,
        ToolProgress,
    )
    from nr_llm.hookspecs import hookimpl
    from nr_llm.limits import Limits
    from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall
    from nr_llm.middleware import Middleware, Retry
    from nr_llm.options import Options
    from nr_llm.plugins import Finding, PluginRecord, PluginState, RegisteredProvider, RegisteredTool
    from nr_llm.providers import Endpoint, Model, Provider
    from nr_llm.redaction import Redactor
    from nr_llm.requests import CompletionRequest
    from nr_llm.responses import CompletionResponse, FinishReason, Usage
    from nr_llm.results import ToolResult
    from nr_llm.runs import Outcome, RunResult, Suspended, ToolInvocation, decide
    from nr_llm.runtime import Runtime
    from nr_llm.secrets import Secret
    from nr_llm.settings import load_settings, setting
    from nr_llm.specs import ToolSpec
    from nr_llm.state import PendingCall, RunState, TerminationReason, Verdict
    from nr_llm.steps import RunStep, StepKind
    from nr_llm.streams import AsyncRunStream, RunStream
    from nr_llm.toolbox import Toolbox
    from nr_llm.tools import Tool, ToolContext, ToolEffect, Toolset, tool

_HOMES = {
    "ResumeSettings": "_assembly",
    "RunSettings": "_assembly",
    "Store": "_desk",
    "PluginHost": "_host",
    "ainvoke": "_invoke",
    "invoke": "_invoke",
    "JSON": "_json",
    "Plan": "_loop",
    "tool_loop": "_loop",
    "Observer": "_observers",
    "ObserverFactory": "_observers",
    "RunInfo": "_observers",
    "ArgumentsError": "_schema",
    "Constraint": "_schema",
    "Fault": "_schema",
    "settle": "_settle",
    "Actor": "actors",
    "ArtifactType": "artifacts",
    "ToolArtifact": "artifacts",
    "Cancellation": "cancellation",
    "PluginConfig": "config",
    "read_config": "config",
    "Prompt": "conversation",
    "as_messages": "conversation",
    "check_pairs": "conversation",
    "CallOutcome": "effects",
    "Complete": "effects",
    "Completer": "effects",
    "Effect": "effects",
    "Flow": "effects",
    "Invoke": "effects",
    "Record": "effects",
    "Wait": "effects",
    "ask": "effects",
    "complete": "effects",
    "AuthenticationError": "errors",
    "ConfigurationError": "errors",
    "ContentFilterError": "errors",
    "ContextLengthError": "errors",
    "InvalidRequestError": "errors",
    "InvalidSchemaError": "errors",
    "InvalidValueError": "errors",
    "MalformedJsonError": "errors",
    "MalformedReplyError": "errors",
    "MissingCredentialError": "errors",
    "MissingToolCallError": "errors",
    "ModelNotFoundError": "errors",
    "NameClashError": "errors",
    "NrLlmError": "errors",
    "PluginError": "errors",
    "PluginLoadError": "errors",
    "ProviderError": "errors",
    "RateLimitError": "errors",
    "RunCancelledError": "errors",
    "ServiceError": "errors",
    "StoreError": "errors",
    "StreamInterruptedError": "errors",
    "ToolCallRejectedError": "errors",
    "ToolError": "errors",
    "TransportError": "errors",
    "UnknownNameError": "errors",
    "Delta": "events",
    "Event": "events",
    "Finished": "events",
    "ReasoningDelta": "events",
    "StepRecorded": "events",
    "TextDelta": "events",
    "ToolCallDelta": "events",
    "ToolFinished": "events",
    "ToolProgress": "events",
    "hookimpl": "hookspecs",
    "Limits": "limits",
    "Attachment": "messages",
    "ChatMessage": "messages",
    "Role": "messages",
    "ToolCall": "messages",
    "Middleware": "middleware",
    "Retry": "middleware",
    "Options": "options",
    "Finding": "plugins",
    "PluginRecord": "plugins",
    "PluginState": "plugins",
    "RegisteredProvider": "plugins",
    "RegisteredTool": "plugins",
    "Endpoint": "providers",
    "Model": "providers",
    "Provider": "providers",
    "Redactor": "redaction",
    "CompletionRequest": "requests",
    "CompletionResponse": "responses",
    "FinishReason": "responses",
    "Usage": "responses",
    "ToolResult": "results",
    "Outcome": "runs",
    "RunResult": "runs",
    "Suspended": "runs",
    "ToolInvocation": "runs",
    "decide": "runs",
    "Runtime": "runtime",
    "Secret": "secrets",
    "load_settings": "settings",
    "setting": "settings",
    "ToolSpec": "specs",
    "PendingCall": "state",
    "RunState": "state",
    "TerminationReason": "state",
    "Verdict": "state",
    "RunStep": "steps",
    "StepKind": "steps",
    "AsyncRunStream": "streams",
    "RunStream": "streams",
    "Toolbox": "toolbox",
    "Tool": "tools",
    "ToolContext": "tools",
    "ToolEffect": "tools",
    "Toolset": "tools",
    "tool": "tools",
}
"""Where each public name lives; its module is imported when the name is first asked for."""

__all__ = [
    "JSON",
    "Actor",
    "ArgumentsError",
    "ArtifactType",
    "AsyncRunStream",
    "Attachment",
    "AuthenticationError",
    "CallOutcome",
    "Cancellation",
    "ChatMessage",
    "Complete",
    "Completer",
    "CompletionRequest",
    "CompletionResponse",
    "ConfigurationError",
    "Constraint",
    "ContentFilterError",
    "ContextLengthError",
    "Delta",
    "Effect",
    "Endpoint",
    "Event",
    "Fault",
    "Finding",
    "FinishReason",
    "Finished",
    "Flow",
    "InvalidRequestError",
    "InvalidSchemaError",
    "InvalidValueError",
    "Invoke",
    "Limits",
    "MalformedJsonError",
    "MalformedReplyError",
    "Middleware",
    "MissingCredentialError",
    "MissingToolCallError",
    "Model",
    "ModelNotFoundError",
    "NameClashError",
    "NrLlmError",
    "Observer",
    "ObserverFactory",
    "Options",
    "Outcome",
    "PendingCall",
    "Plan",
    "PluginConfig",
    "PluginError",
    "PluginHost",
    "PluginLoadError",
    "PluginRecord",
    "PluginState",
    "Prompt",
    "Provider",
    "ProviderError",
    "RateLimitError",
    "ReasoningDelta",
    "Record",
    "Redactor",
    "RegisteredProvider",
    "RegisteredTool",
    "ResumeSettings",
    "Retry",
    "Role",
    "RunCancelledError",
    "RunInfo",
    "RunResult",
    "RunSettings",
    "RunState",
    "RunStep",
    "RunStream",
    "Runtime",
    "Secret",
    "ServiceError",
    "StepKind",
    "StepRecorded",
    "Store",
    "StoreError",
    "StreamInterruptedError",
    "Suspended",
    "TerminationReason",
    "TextDelta",
    "Tool",
    "ToolArtifact",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallRejectedError",
    "ToolContext",
    "ToolEffect",
    "ToolError",
    "ToolFinished",
    "ToolInvocation",
    "ToolProgress",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "Toolset",
    "TransportError",
    "UnknownNameError",
    "Usage",
    "Verdict",
    "Wait",
    "ainvoke",
    "as_messages",
    "ask",
    "check_pairs",
    "complete",
    "decide",
    "hookimpl",
    "invoke",
    "load_settings",
    "read_config",
    "setting",
    "settle",
    "tool",
    "tool_loop",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
