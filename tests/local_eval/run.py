"""Scores the embedded model on tasks with known answers; run it by hand: ``python tests/local_eval/run.py --help``."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nr_llm import Limits, RunResult, Runtime, Tool  # the checkout's root is put on the path first
from nr_llm_local.provider import LocalProvider

from tests.local_eval.scoring import LoopTask, Task, same_arguments

ROUNDS = 6


@attrs.frozen
class Verdict:
    """How one task went."""

    prompt: str
    tool_right: bool
    right: bool
    said: str
    seconds: float


def main() -> int:
    """Run the evaluation and print its tables; the exit code tells whether a demanded score was missed."""
    options = _options()
    world = import_module(f"tests.local_eval.{options.tasks}")
    scores: dict[str, tuple[int, int]] = {}
    model = f"local:{options.model}"
    with tempfile.TemporaryDirectory() as folder, Runtime(providers=[LocalProvider()], model=model) as runtime:
        tools = world.tools(Path(folder))
        if "single" in options.parts:
            calls = _shown(_single(runtime, tools, chosen=[t for t in world.TASKS if t.tool]), options)
            talk = _shown(_single(runtime, tools, chosen=[t for t in world.TASKS if not t.tool]), options)
            scores["right tool"] = sum(v.tool_right for v in calls), len(calls)
            scores["right tool and arguments"] = sum(v.right for v in calls), len(calls)
            scores["no tool where none is needed"] = sum(v.right for v in talk), len(talk)
        if "loops" in options.parts:
            loops = _shown(_loops(runtime, tools, world.LOOPS), options)
            scores["multi-step loops"] = sum(v.right for v in loops), len(loops)
    print(f"\n{options.model}, tasks of {options.tasks}")
    for name, (good, of) in scores.items():
        print(f"  {name:30} {good:3} of {of}")
    demanded = {"right tool and arguments": options.single, "multi-step loops": options.loops}
    return int(any(good < demanded.get(name, 0) for name, (good, _) in scores.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="a model of the catalogue, already pulled")
    parser.add_argument(
        "--tasks",
        default="machine",
        choices=("machine", "fresh", "ferry", "desk", "dome"),
        help="machine is scored, fresh and ferry were held back, desk and dome are for tuning",
    )
    parser.add_argument("--parts", default="single,loops", help="which parts, separated by commas")
    parser.add_argument("--all", action="store_true", help="show right answers too")
    parser.add_argument("--single", type=int, default=0, help="exit with 1 below this score of tool and arguments")
    parser.add_argument("--loops", type=int, default=0, help="exit with 1 below this score of loops")
    return parser.parse_args()


def _single(runtime: Runtime, tools: list[Tool], *, chosen: list[Task]) -> Iterator[Verdict]:
    defaults = {tool.name: _defaults(tool) for tool in tools}
    for task in chosen:
        began = time.monotonic()
        answer = runtime.complete(task.prompt, tools=tools)
        call = answer.tool_calls[0] if answer.tool_calls else None
        said = f"{call.name} {call.arguments_json}" if call else answer.content
        tool_right = (call.name if call else None) == task.tool
        right = tool_right and (
            call is None
            or any(same_arguments(call.arguments, wanted, defaults=defaults[call.name]) for wanted in task.accept)
        )
        yield Verdict(task.prompt, tool_right, right, said, time.monotonic() - began)


def _defaults(tool: Tool) -> dict[str, Any]:
    properties: Any = tool.parameters["properties"]
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def _loops(runtime: Runtime, tools: list[Tool], tasks: tuple[LoopTask, ...]) -> Iterator[Verdict]:
    for task in tasks:
        began = time.monotonic()
        result = runtime.run(task.prompt, tools=tools, limits=Limits(rounds=ROUNDS))
        assert isinstance(result, RunResult), "no tool of the evaluation needs an approval"
        made = [f"{i.name} {dict(i.arguments)}" for i in result.invocations]
        said = "\n      ".join(
            [
                *(f"{call} = {i.content[:100]!r}" for call, i in zip(made, result.invocations, strict=True)),
                result.content,
            ]
        )
        right = (
            all(re.search(pattern, result.content) for pattern in task.patterns)
            and not any(re.search(pattern, result.content) for pattern in task.wrong)
            and all(
                any(wanted.split(":", 1)[1] in call for call in made if call.startswith(wanted.split(":")[0]))
                for wanted in task.calls
            )
        )
        yield Verdict(task.prompt, right, right, said, time.monotonic() - began)


def _shown(verdicts: Iterator[Verdict], options: argparse.Namespace) -> list[Verdict]:
    """Print each verdict as it comes, and return them all."""
    seen = []
    for verdict in verdicts:
        seen.append(verdict)
        if options.all or not verdict.right:
            mark = "ok   " if verdict.right else "WRONG"
            print(f"{mark} {verdict.prompt} ({verdict.seconds:.0f} s)\n      {verdict.said}", flush=True)
    return seen


if __name__ == "__main__":
    raise SystemExit(main())
