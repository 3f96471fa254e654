"""What went wrong in other projects and is held by no other test here: each test has the lesson's number."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated, Any

import attrs
import pytest
from nr_llm import (
    Cancellation,
    ChatMessage,
    InvalidValueError,
    PluginHost,
    Role,
    RunState,
    Suspended,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    tool,
)
from nr_llm._json import decode, encode_bytes
from nr_llm._seam import admit
from nr_llm.limits import Limits
from nr_llm.results import ToolResult
from nr_llm.testing import Harness, calling

from tests.core.plugin_parts import Model
from tests.core.waiting import AGES
from tests.distributions import Site, site

__all__ = ["site"]


@tool
def look(what: str = "") -> str:
    """Look."""
    return f"saw {what}"


def noting(ran: list[str]) -> Tool:
    """Return a tool that writes with a person's consent, and notes what it wrote."""

    @tool(effect="write")
    def note(what: str) -> str:
        """Write a note."""
        ran.append(what)
        return f"wrote {what}"

    return note


def stored(state: RunState) -> RunState:
    """Return a state as another process reads it."""
    return RunState.from_json(decode(encode_bytes(state.to_json())))  # type: ignore[arg-type]


class TestWords:
    """What the model is told."""

    @pytest.mark.lesson(45, 46)
    @pytest.mark.parametrize(("written", "hinted"), [('{"what": "a', True), ("", True), ("null", True), ("[1]", False)])
    def test_a_model_whose_arguments_were_cut_is_told_how_to_get_them_through(self, written: str, hinted: bool) -> None:
        """Sent again at the same length they would be cut again; what was not cut needs no such hint."""
        told = admit(ToolCall("c", "look", {}, written), Toolbox.of([look]), limits=Limits())

        assert isinstance(told, ToolResult)
        assert told.is_error
        assert ("cut at its limit of tokens, send less in one call" in told.content) is hinted

    @pytest.mark.lesson(40)
    def test_an_unknown_name_reveals_no_tool_that_is_not_offered(self) -> None:
        """Neither in the list nor as a suggestion, however near the guess."""
        hidden = attrs.evolve(look, name="look_inside")
        toolbox = Toolbox({"look": look, "look_inside": hidden}, ("look",))

        told = admit(ToolCall("c", "look_insid"), toolbox, limits=Limits())

        assert isinstance(told, ToolResult)
        assert "The tools are: look." in told.content
        assert "look_inside" not in told.content

    @pytest.mark.lesson(27)
    def test_an_instruction_is_in_the_first_request_and_in_what_is_shown_of_it(self) -> None:
        """The step that tells of a request has the messages of the request."""
        with Harness() as harness:
            harness.run("Hi", replies=["Hello."], system="Be brief.")

        [request] = harness.requests
        assert request.messages == (ChatMessage.system("Be brief."), ChatMessage.user("Hi"))
        assert harness.steps[0].messages_sent == request.messages


class TestHeldTurns:
    """Turns that wait for a person."""

    TWICE = (("note", {"what": "same"}), ("note", {"what": "same"}))

    @pytest.mark.lesson(70, 71, 73)
    def test_every_call_that_waits_is_told_and_each_verdict_reaches_its_own(self) -> None:
        """Two equal calls of one turn are two; what ran does so once, and nobody is asked a second time."""
        ran: list[str] = []
        with Harness(tools=[noting(ran)]) as harness:
            held = harness.run(replies=[calling(*self.TWICE), "done"], tools=["note"])
            assert isinstance(held, Suspended)
            waiting = [pending.index for pending in held.pending]
            result = harness.resume(stored(held.state), {0: False, 1: True}, replies=["done"])

        assert waiting == [0, 1]
        assert ran == ["same"]
        assert [call.is_error for call in result.invocations] == [True, False]  # type: ignore[union-attr]
        assert result.content == "done"  # type: ignore[union-attr]

    @pytest.mark.lesson(38)
    def test_a_resumed_run_has_its_whole_conversation(self) -> None:
        """From the question to the answer, so that the next run can begin with it."""
        with Harness(tools=[noting([])]) as harness:
            held = harness.run("Go.", replies=[calling(("note", {"what": "a"}))], tools=["note"])
            assert isinstance(held, Suspended)
            result = harness.resume(stored(held.state), replies=["done"])
            harness.run((*result.messages, ChatMessage.user("And?")), replies=["yes"])  # type: ignore[union-attr]
            asked = harness.requests[0].messages

        roles = [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER]
        assert [message.role for message in asked] == roles
        assert asked[2].content == "wrote a"

    @pytest.mark.lesson(55, 83)
    def test_an_approved_call_runs_with_what_the_program_passes_anew(self) -> None:
        """What tools get from the program is no part of the state, and asks for no second approval."""
        seen: list[Any] = []

        @tool(effect="write")
        def use(context: ToolContext) -> str:
            """Use what is there."""
            seen.append(context.deps)
            return "used"

        with Harness(tools=[use]) as harness:
            held = harness.run(replies=[calling(("use", {}))], tools=["use"], deps=threading.Lock())
            assert isinstance(held, Suspended)
            live = threading.Lock()
            result = harness.resume(stored(held.state), replies=["done"], deps=live)

        assert not isinstance(result, Suspended)
        assert seen == [live]

    @pytest.mark.lesson(121)
    def test_an_approved_call_that_was_cancelled_is_not_run_again(self) -> None:
        """Whichever state was kept last, it ran once at most and nobody says that it did not."""
        ran: list[str] = []
        cancel = Cancellation()

        @tool(effect="write")
        def stop(what: str) -> str:
            """Write, while the run is told to stop."""
            ran.append(what)
            cancel.cancel("enough")
            return "written"

        with Harness(tools=[stop]) as harness:
            held = harness.run(replies=[calling(("stop", {"what": "a"}))], tools=["stop"])
            assert isinstance(held, Suspended)
            before = len(harness.checkpoints.states)
            harness.resume(held.state, replies=["done"], cancel=cancel)
            kept = list(harness.checkpoints.states[before + 1 :])  # after the one it was taken up with
            results = [harness.resume(stored(state), replies=["done"]) for state in kept]

        assert ran == ["a"]
        told = [message.content for result in results for message in result.messages if message.role is Role.TOOL]  # type: ignore[union-attr]
        assert told
        assert not any(text.startswith("Not executed") for text in told)


class TestTools:
    """What tools are made of, and what they raise."""

    @pytest.mark.lesson(56)
    def test_what_a_tool_raises_is_not_taken_for_the_cancelling_of_its_neighbour(self) -> None:
        """Each call has the fate of its own tool, also where one fails while another one waits."""
        failed = asyncio.Event()

        @tool
        async def waits() -> str:
            """Wait for the failure."""
            await asyncio.wait_for(failed.wait(), AGES)
            return "waited"

        @tool
        async def fails() -> str:
            """Fail."""
            failed.set()
            raise KeyError("x")

        async def main() -> Any:
            with Harness(tools=[waits, fails]) as harness:
                return await harness.arun(replies=[calling(("waits", {}), ("fails", {})), "done"])

        result = asyncio.run(main())

        assert result.invocations[0].content == "waited"
        assert "failed with KeyError" in result.invocations[1].content
        assert result.content == "done"

    @pytest.mark.lesson(80)
    def test_markers_of_others_in_an_annotation_are_passed_over(self) -> None:
        """A parameter is described by what is known of its annotation, whatever else stands there."""

        class Marker:
            """Something of another library."""

            def __eq__(self, other: object) -> bool:
                raise RuntimeError

            __hash__ = None  # type: ignore[assignment]

        def find(count: Annotated[int, Marker(), Marker, "How many.", lambda: None]) -> str:
            return str(count)

        made = Tool.from_function(find, description="Find.")

        assert made.spec.parameters["properties"] == {"count": {"type": "integer", "description": "How many."}}


TAGGED: list[Any] = [
    {"py/object": "os.system", "py/reduce": ["echo"]},
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "echo"}},
    {"__class__": "os.system", "__reduce__": ["os.system", ["echo"]]},
    {"__type__": "subprocess:Popen", "args": ["echo"]},
]


class TestStates:
    """A stored state is data, whoever wrote it."""

    @pytest.mark.lesson(84, 85)
    @pytest.mark.parametrize("value", TAGGED, ids=lambda value: next(iter(value)))
    def test_a_state_names_no_class_to_make(self, value: dict[str, Any]) -> None:
        """What other formats take for one is a fault in place of our own values, and plain data inside a call's."""
        whole = {"run_id": "r", "model": "m"}
        for wrong in (value, whole | value, whole | {"messages": [value]}, whole | {"options": value}):
            with pytest.raises(InvalidValueError):
                RunState.from_json(wrong)

        call = ToolCall("c", "look", {"what": value})
        messages = (ChatMessage.assistant_tool_calls([call]), ChatMessage.tool_result("c", json.dumps(value)))
        state = stored(RunState(run_id="r", model="m", messages=messages))

        assert state.messages[0].tool_calls[0].arguments == {"what": value}  # type: ignore[index]


class TestProviders:
    """Our own providers are plugins like any."""

    @pytest.mark.lesson(11)
    def test_a_provider_of_ours_can_be_denied_and_replaced(self, site: Site) -> None:
        """It is not even imported, and its name is the program's to give."""
        site.add("nr-llm-openai", entry_points={"openai": "plugin_own"}, modules={"plugin_own": "raise RuntimeError"})
        mine = Model("openai")

        host = PluginHost.discover(["nr-llm-openai"], ["nr-llm-openai"], plugins={"mine": mine})

        assert host.provider("openai").provider is mine
        assert [registered.provider for registered in host.providers()] == [mine]
