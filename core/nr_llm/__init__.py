"""nr-llm: tool-calling conversations with language models, from a small core and installable plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nr_llm import _lazy

if TYPE_CHECKING:
    from nr_llm._host import PluginHost
    from nr_llm._invoke import ainvoke, invoke
    from nr_llm._json import JSON
    from nr_llm._loop import Plan, tool_loop
    from nr_llm._observers import Observer, ObserverFactory, PluginObserver, RunEnd, RunInfo
    from nr_llm._run_settings import ResumeSettings, RunSettings
    from nr_llm._schema import ArgumentsError, Constraint, Fault
    from nr_llm._settle import settle
    from nr_llm.actors import Actor, ActorKind, Scope
    from nr_llm.aliases import ModelAlias
    from nr_llm.approvals import (
        Decision,
        DecisionError,
        NotPermittedError,
        NotWaitingError,
        SelfApprovalError,
        StaleDecisionError,
        Submission,
        WaitingCall,
        WaitingRun,
    )
    from nr_llm.artifacts import ArtifactType, ToolArtifact
    from nr_llm.budgets import ActorBudget, Ledger, MemorySpending, Spending, Spent
    from nr_llm.cancellation import Cancellation
    from nr_llm.config import Config, read_config
    from nr_llm.configurations import Configuration
    from nr_llm.contexts import ToolContext
    from nr_llm.conversation import Prompt, as_messages, check_pairs
    from nr_llm.effects import (
        CallOutcome,
        Complete,
        Completer,
        Effect,
        Flow,
        Invoke,
        Preview,
        Record,
        Wait,
        ask,
        complete,
    )
    from nr_llm.errors import (
        AuthenticationError,
        BudgetExceededError,
        ConfigurationError,
        ContentFilterError,
        ContextLengthError,
        InvalidOutputError,
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
        RunClaimedError,
        RunExistsError,
        RunNotFoundError,
        ServiceError,
        StoreError,
        StreamInterruptedError,
        SuspensionError,
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
    from nr_llm.history import HOST, RunHistory
    from nr_llm.hookspecs import hookimpl
    from nr_llm.inputs import InvalidInputError
    from nr_llm.limits import Limits
    from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall
    from nr_llm.middleware import GuardrailError, Middleware, Retry
    from nr_llm.options import Options, ProviderOptions
    from nr_llm.outputs import Output, output_of
    from nr_llm.plugins import Finding, PluginRecord, PluginState, RegisteredProvider, RegisteredTool
    from nr_llm.policy import Policy, PolicyDecision, PolicyError, PolicyReason
    from nr_llm.previews import CallPreview, open_previews
    from nr_llm.prices import Price
    from nr_llm.privacy import PrivacyLevel, StepRecord, strictest
    from nr_llm.providers import Endpoint, Model, ModelLister, ModelPage, Provider
    from nr_llm.records import (
        Checkpoint,
        RunChange,
        RunHead,
        RunStatus,
        RunTotals,
        StoredRun,
        StoredStep,
        TranscriptEntry,
        Written,
    )
    from nr_llm.redaction import Redactor
    from nr_llm.replays import Difference, Replay, replay
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
    from nr_llm.stores import MemoryStore, RunQuery, RunStore, UsageRow
    from nr_llm.streams import AsyncRunStream, RunStream
    from nr_llm.toolbox import Toolbox
    from nr_llm.tools import Tool, ToolEffect, Toolset, tool
    from nr_llm.zones import DataClass, TrustZone

_HOMES = _lazy.homes(
    {
        "_host": "PluginHost",
        "_invoke": "ainvoke invoke",
        "_json": "JSON",
        "_loop": "Plan tool_loop",
        "_observers": "Observer ObserverFactory PluginObserver RunEnd RunInfo",
        "_run_settings": "ResumeSettings RunSettings",
        "_schema": "ArgumentsError Constraint Fault",
        "_settle": "settle",
        "actors": "Actor ActorKind Scope",
        "aliases": "ModelAlias",
        "approvals": (
            "Decision DecisionError NotPermittedError NotWaitingError SelfApprovalError StaleDecisionError "
            "Submission WaitingCall WaitingRun"
        ),
        "artifacts": "ArtifactType ToolArtifact",
        "budgets": "ActorBudget Ledger MemorySpending Spending Spent",
        "cancellation": "Cancellation",
        "config": "Config read_config",
        "configurations": "Configuration",
        "contexts": "ToolContext",
        "conversation": "Prompt as_messages check_pairs",
        "effects": "CallOutcome Complete Completer Effect Flow Invoke Preview Record Wait ask complete",
        "errors": (
            "AuthenticationError BudgetExceededError ConfigurationError ContentFilterError ContextLengthError "
            "InvalidOutputError InvalidRequestError InvalidSchemaError InvalidValueError MalformedJsonError "
            "MalformedReplyError MissingCredentialError MissingToolCallError ModelNotFoundError NameClashError "
            "NrLlmError PluginError PluginLoadError ProviderError RateLimitError RunCancelledError "
            "RunClaimedError RunExistsError RunNotFoundError ServiceError StoreError StreamInterruptedError "
            "SuspensionError ToolCallRejectedError ToolError TransportError UnknownNameError"
        ),
        "events": "Delta Event Finished ReasoningDelta StepRecorded TextDelta ToolCallDelta ToolFinished ToolProgress",
        "history": "HOST RunHistory",
        "hookspecs": "hookimpl",
        "inputs": "InvalidInputError",
        "limits": "Limits",
        "messages": "Attachment ChatMessage Role ToolCall",
        "middleware": "GuardrailError Middleware Retry",
        "options": "Options ProviderOptions",
        "outputs": "Output output_of",
        "plugins": "Finding PluginRecord PluginState RegisteredProvider RegisteredTool",
        "policy": "Policy PolicyDecision PolicyError PolicyReason",
        "previews": "CallPreview open_previews",
        "prices": "Price",
        "privacy": "PrivacyLevel StepRecord strictest",
        "providers": "Endpoint Model ModelLister ModelPage Provider",
        "records": "Checkpoint RunChange RunHead RunStatus RunTotals StoredRun StoredStep TranscriptEntry Written",
        "redaction": "Redactor",
        "replays": "Difference Replay replay",
        "requests": "CompletionRequest",
        "responses": "CompletionResponse FinishReason Usage",
        "results": "ToolResult",
        "runs": "Outcome RunResult Suspended ToolInvocation decide",
        "runtime": "Runtime",
        "secrets": "Secret",
        "settings": "load_settings setting",
        "specs": "ToolSpec",
        "state": "PendingCall RunState TerminationReason Verdict",
        "steps": "RunStep StepKind",
        "stores": "MemoryStore RunQuery RunStore UsageRow",
        "streams": "AsyncRunStream RunStream",
        "toolbox": "Toolbox",
        "tools": "Tool ToolEffect Toolset tool",
        "zones": "DataClass TrustZone",
    }
)
"""Where each public name lives; its module is imported when the name is first asked for."""

__all__ = [
    "HOST",
    "JSON",
    "Actor",
    "ActorBudget",
    "ActorKind",
    "ArgumentsError",
    "ArtifactType",
    "AsyncRunStream",
    "Attachment",
    "AuthenticationError",
    "BudgetExceededError",
    "CallOutcome",
    "CallPreview",
    "Cancellation",
    "ChatMessage",
    "Checkpoint",
    "Complete",
    "Completer",
    "CompletionRequest",
    "CompletionResponse",
    "Config",
    "Configuration",
    "ConfigurationError",
    "Constraint",
    "ContentFilterError",
    "ContextLengthError",
    "DataClass",
    "Decision",
    "DecisionError",
    "Delta",
    "Difference",
    "Effect",
    "Endpoint",
    "Event",
    "Fault",
    "Finding",
    "FinishReason",
    "Finished",
    "Flow",
    "GuardrailError",
    "InvalidInputError",
    "InvalidOutputError",
    "InvalidRequestError",
    "InvalidSchemaError",
    "InvalidValueError",
    "Invoke",
    "Ledger",
    "Limits",
    "MalformedJsonError",
    "MalformedReplyError",
    "MemorySpending",
    "MemoryStore",
    "Middleware",
    "MissingCredentialError",
    "MissingToolCallError",
    "Model",
    "ModelAlias",
    "ModelLister",
    "ModelNotFoundError",
    "ModelPage",
    "NameClashError",
    "NotPermittedError",
    "NotWaitingError",
    "NrLlmError",
    "Observer",
    "ObserverFactory",
    "Options",
    "Outcome",
    "Output",
    "PendingCall",
    "Plan",
    "PluginError",
    "PluginHost",
    "PluginLoadError",
    "PluginObserver",
    "PluginRecord",
    "PluginState",
    "Policy",
    "PolicyDecision",
    "PolicyError",
    "PolicyReason",
    "Preview",
    "Price",
    "PrivacyLevel",
    "Prompt",
    "Provider",
    "ProviderError",
    "ProviderOptions",
    "RateLimitError",
    "ReasoningDelta",
    "Record",
    "Redactor",
    "RegisteredProvider",
    "RegisteredTool",
    "Replay",
    "ResumeSettings",
    "Retry",
    "Role",
    "RunCancelledError",
    "RunChange",
    "RunClaimedError",
    "RunEnd",
    "RunExistsError",
    "RunHead",
    "RunHistory",
    "RunInfo",
    "RunNotFoundError",
    "RunQuery",
    "RunResult",
    "RunSettings",
    "RunState",
    "RunStatus",
    "RunStep",
    "RunStore",
    "RunStream",
    "RunTotals",
    "Runtime",
    "Scope",
    "Secret",
    "SelfApprovalError",
    "ServiceError",
    "Spending",
    "Spent",
    "StaleDecisionError",
    "StepKind",
    "StepRecord",
    "StepRecorded",
    "StoreError",
    "StoredRun",
    "StoredStep",
    "StreamInterruptedError",
    "Submission",
    "Suspended",
    "SuspensionError",
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
    "TranscriptEntry",
    "TransportError",
    "TrustZone",
    "UnknownNameError",
    "Usage",
    "UsageRow",
    "Verdict",
    "Wait",
    "WaitingCall",
    "WaitingRun",
    "Written",
    "ainvoke",
    "as_messages",
    "ask",
    "check_pairs",
    "complete",
    "decide",
    "hookimpl",
    "invoke",
    "load_settings",
    "open_previews",
    "output_of",
    "read_config",
    "replay",
    "setting",
    "settle",
    "strictest",
    "tool",
    "tool_loop",
]

__getattr__, __dir__ = _lazy.lazy(globals(), _HOMES)
