"""Specs, steps, responses, options, limits, errors: the small values."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from nr_llm import (
    ChatMessage,
    CompletionResponse,
    ConfigurationError,
    FinishReason,
    InvalidValueError,
    Limits,
    MissingCredentialError,
    NrLlmError,
    Options,
    PluginError,
    ProviderError,
    RunStep,
    StepKind,
    ToolArtifact,
    ToolCall,
    ToolSpec,
    UnknownNameError,
    Usage,
    errors,
    tool,
)
from nr_llm.providers import HttpReply, HttpRequest


class TestToolSpec:
    """What a model is told of a tool."""

    def test_empty_properties_stay_an_object(self) -> None:
        """Case 19: a tool without parameters has an object of properties, at every depth, and round trips."""
        nested = ToolSpec("f", "d", {"properties": {"a": {"type": "object", "properties": {}}}})

        assert {"type": "object", "properties": {}} == ToolSpec("f", "", {}).parameters
        assert {} == nested.to_wire()["function"]["parameters"]["properties"]["a"]["properties"]  # type: ignore[index,call-overload]
        assert (
            nested
            == ToolSpec.from_wire(nested.to_wire())
            == ToolSpec.from_wire(ToolSpec.from_wire(nested.to_wire()).to_wire())
        )

    @pytest.mark.parametrize(
        ("wire", "text"),
        [
            ({}, "function: is missing"),
            ({"function": "x"}, "function: must be a mapping"),
            ({"function": {}}, "function.name: is missing"),
            ({"function": {"name": ""}}, "name: '' is no tool name"),
        ],
    )
    def test_malformed_wire(self, wire: Any, text: str) -> None:
        """Case 20: each malformed spec is refused with a text of its own."""
        with pytest.raises(InvalidValueError, match=text):
            ToolSpec.from_wire(wire)

    def test_strict(self) -> None:
        """Strictness travels when it is set."""
        assert ToolSpec("f", "", {}, strict=True) == ToolSpec.from_wire(ToolSpec("f", "", {}, strict=True).to_wire())
        assert "strict" not in ToolSpec("f", "", {}).to_wire()["function"]  # type: ignore[operator]

    def test_what_a_tool_changes_is_known_and_not_sent(self) -> None:
        """Providers that steer their model heed it; nobody else is told."""

        @tool(effect="write")
        def erase() -> str:
            """Erase."""
            return ""

        assert erase.spec.writes
        assert erase.spec.to_wire() == ToolSpec("erase", "Erase.", erase.parameters).to_wire()

    @pytest.mark.parametrize("name", ["a", "_", "A-b_9", "x" * 64])
    def test_names(self, name: str) -> None:
        """Names every provider accepts are accepted."""
        assert name == ToolSpec(name, "", {}).name

    @pytest.mark.parametrize("name", ["", "9a", "a.b", "a b", "x" * 65, "a\n", "é", None, 5])
    def test_bad_names(self, name: Any) -> None:
        """Other names are refused."""
        with pytest.raises(InvalidValueError, match="is no tool name"):
            ToolSpec(name, "", {})

    def test_description_is_text(self) -> None:
        """A description that is none is refused."""
        with pytest.raises(InvalidValueError, match="description"):
            ToolSpec("f", None, {})  # type: ignore[arg-type]


class TestRunStep:
    """Steps as JSON."""

    def test_zero_and_false_are_kept(self) -> None:
        """Case 22: zeros, False and empty values stay, None goes, milliseconds have two places."""
        step = RunStep(
            kind="tool", round=1, duration_ms=12.3456, input_tokens=0, tool_is_error=False, content="", tool_specs=()
        )

        assert {
            "kind": "tool",
            "round": 1,
            "duration_ms": 12.35,
            "input_tokens": 0,
            "tool_is_error": False,
            "content": "",
            "tool_specs": [],
        } == step.to_dict()

    def test_values_become_plain(self) -> None:
        """Messages, calls and artifacts are written as JSON."""
        step = RunStep(
            kind=StepKind.REQUEST,
            round=1,
            messages_sent=(ChatMessage.user("x"),),
            requested_tool_calls=(ToolCall("c", "n", {"a": 1}),),
            tool_artifacts=(ToolArtifact.text("t", "x"),),
        ).to_dict()

        assert [{"role": "user", "content": "x"}] == step["messages_sent"]
        assert [{"id": "c", "name": "n", "arguments": {"a": 1}}] == step["requested_tool_calls"]
        assert [{"type": "text", "label": "t", "data": {"text": "x"}}] == step["tool_artifacts"]


class TestResponses:
    """Replies and usage."""

    def test_usage_adds_what_is_known(self) -> None:
        """Unknown counts stay unknown, never 0."""
        assert Usage(3, None) == Usage(1) + Usage(2)
        assert (None, 5) == (Usage().total_tokens, Usage(2, 3).total_tokens)
        assert Usage(0) == Usage(-4)
        assert {"input_tokens": 1, "total_tokens": 1} == Usage(1).to_dict()

    def test_no_calls_are_none(self) -> None:
        """An empty list of calls is no calls."""
        assert CompletionResponse(tool_calls=()).tool_calls is None
        with pytest.raises(InvalidValueError, match=r"tool_calls\[0\]"):
            CompletionResponse(tool_calls=["x"])  # type: ignore[list-item]

    def test_message_of_a_reply(self) -> None:
        """Reasoning and opaque state are kept under the provider's name."""
        reply = CompletionResponse(content="x", provider="p", reasoning="hm", provider_state=[1])

        assert ChatMessage("assistant", "x", reasoning={"p": "hm"}, provider_state={"p": [1]}) == reply.to_message()
        assert ChatMessage.assistant("x") == CompletionResponse(content="x").to_message()

    def test_cost_is_that_of_all_attempts(self) -> None:
        """Tokens of failed attempts count."""
        assert Usage(9) == CompletionResponse(usage=Usage(1), spent=Usage(9)).total_usage
        assert FinishReason.STOP is CompletionResponse(finish_reason="stop").finish_reason


class TestOptions:
    """Settings and bounds within their ranges."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"temperature": 2.1},
            {"temperature": True},
            {"temperature": "1"},
            {"max_tokens": 0},
            {"max_tokens": True},
            {"top_p": -0.1},
            {"presence_penalty": 3},
            {"response_schema": []},
            {"provider_options": {"a": {"b": object()}}},
            {"provider_options": {"a": 5}},
            {"provider_options": 5},
        ],
    )
    def test_out_of_range(self, fields: dict[str, Any]) -> None:
        """A setting out of its range is refused by name."""
        with pytest.raises(InvalidValueError, match=next(iter(fields))):
            Options(**fields)

    def test_stop_words(self) -> None:
        """One word or many."""
        assert (("a",), ("a", "b")) == (Options(stop="a").stop, Options(stop=["a", "b"]).stop)

    @pytest.mark.parametrize(
        "fields", [{"rounds": -1}, {"result_bytes": 60_000}, {"parallel_calls": 0}, {"seconds": -1}]
    )
    def test_limits(self, fields: dict[str, Any]) -> None:
        """A bound out of its range is refused by name."""
        with pytest.raises(InvalidValueError, match=next(iter(fields))):
            Limits(**fields)


class TestErrors:
    """Errors say what, where and what to do."""

    def test_every_error_has_one_root(self) -> None:
        """Each error of nr-llm is an `NrLlmError` and drawn at the top of its module."""
        found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]

        assert all(issubclass(kind, NrLlmError) for kind in found)
        assert all(kind.__name__ in (errors.__doc__ or "") for kind in found)

    def test_texts_and_attributes(self) -> None:
        """Attributes tell what the text says."""
        unknown = UnknownNameError("tool", "ecko", known=["echo", "x"])
        missing = MissingCredentialError("openai", variables=("A", "B"))
        provider = ProviderError("down", provider="p", status=503, body="x" * 900)

        assert ("There is no tool named 'ecko'. Did you mean 'echo'?", ("echo",)) == (str(unknown), unknown.suggestions)
        assert ("Provider 'openai' has no API key. Set A or B.", "Set A or B.") == (str(missing), missing.remedy)
        assert ("p: down (HTTP 503)", 500) == (str(provider), len(provider.body))
        assert "Plugin 'x' (from d 1): no" == str(PluginError("no", plugin="x", distribution="d 1"))
        assert "Plugin 'x': no" == str(PluginError("no", plugin="x"))
        assert "bad" == str(ConfigurationError("bad"))
        assert "There is no tool named 'q'." == str(UnknownNameError("tool", "q"))

    def test_requests_hide_their_headers(self) -> None:
        """Keys stay out of reprs."""
        request = HttpRequest("POST", "https://h", headers=(("authorization", "Bearer sk-1"),), body=b"abc")

        assert "sk-1" not in repr(request)
        assert "sk-1" not in repr(HttpReply(200, {"set-cookie": "sk-1"}, b"abc"))
        assert "<3 bytes>" in repr(request)


def test_public_values_are_frozen() -> None:
    """Every public value class is frozen."""
    import nr_llm

    classes = [
        value for name in nr_llm.__all__ if isinstance(value := getattr(nr_llm, name), type) and attrs.has(value)
    ]
    assert len(classes) > 25
    assert all(c.__setattr__ is not object.__setattr__ for c in classes)
