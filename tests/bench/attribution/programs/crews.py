"""A planner, workers that are separate agents, and a writer; code passes each its part of the work."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

_TOOLS: Final[tuple[JSONValue, ...]] = ({"name": "read_meter", "description": "reads a meter"},)
_QUARTERS: Final = r"\b(harbour|station|market)\b"


def _plan(request: Request) -> str:
    """Plan one line per quarter of the task, at most as many as the prompt allows."""
    quarters = re.findall(_QUARTERS, request.last)
    limit = int(request.rule(r"Plan at most (\d+) parts\.", "9"))
    metric = request.rule(r"Ask for the (\w+)\.", "usage" if request.model == "m1" else "peak")
    order = quarters[::-1] if "Begin with the last." in request.system else quarters
    return "\n".join(f"{at}. {metric} of the {quarter}" for at, quarter in enumerate(order[:limit], 1))


def _work(request: Request) -> str | ToolCall:
    """Read the meter of the quarter and report one figure."""
    quarter = next(iter(re.findall(_QUARTERS, request.last)), "nowhere")
    if not request.results:
        return "read_meter", {"quarter": quarter}
    metric = "peak" if "peak" in request.last else "usage"
    value = request.results[-1].get(metric)
    figure = value if isinstance(value, int) else 0
    if "Report in hundreds." in request.system:
        figure = figure // 100 * 100
    return f"I have read it: {figure} for the {quarter}."


def _write(request: Request) -> str:
    figures = [(name, int(number)) for name, number in re.findall(r"(\w+) = (\d+)", request.last)]
    limit = int(request.rule(r"Warn above (\d+)\.", "99999"))
    high = [name for name, number in figures if number > limit]
    if not figures:
        return "There is nothing to report."
    top = max(figures, key=lambda figure: figure[1])
    return f"{top[0]} leads with {top[1]}." + (f" Warning for {', '.join(high)}." if high else "")


MODEL: Final = model_of({"planner": _plan, "worker": _work, "writer": _write})


def _run(runtime: Runtime, *, is_nested: bool) -> str:
    plan = say(runtime, "planner", user(runtime.settings))
    reports: list[str] = []
    for part in re.findall(r"\d+\. (.+)", plan):
        task = f"Please report the {part}."

        def work(task: str = task) -> str:
            return text_of(converse(runtime, "worker", [user_message(task)], _TOOLS)[-1])

        reports.append(runtime.agent("worker", task, work) if is_nested else work())
    figures = re.findall(r"(\d+) for the (\w+)", "\n".join(reports))
    return say(runtime, "writer", "\n".join(f"{quarter} = {figure}" for figure, quarter in figures))


def _flat(runtime: Runtime) -> str:
    return _run(runtime, is_nested=False)


def _run_nested(runtime: Runtime) -> str:
    return _run(runtime, is_nested=True)


_EDITS: Final = (
    edit("prompt", "prompt.planner.1", "Ask for the peak."),
    edit("prompt", "prompt.planner.2", "Plan at most 2 parts."),
    edit("prompt", "prompt.planner.3", "Begin with the last.", decoy=True),
    wording("planner", 4),
    edit("prompt", "prompt.worker.1", "Report in hundreds."),
    wording("worker", 2),
    edit("prompt", "prompt.writer.1", "Warn above 300.", "Warn above 700."),
    wording("writer", 2),
    edit("model", "model.planner.name", "m2"),
    *sampling("planner", "worker", "writer"),
    edit("tool", "row.read_meter.market.usage", 918, 471),
    edit("tool", "row.read_meter.harbour.usage", 655),
    edit("tool", "row.read_meter.station.tariff", "B", decoy=True),
    edit("upstream", "user.0", "How much did the harbour and the station use?"),
)
_SETTINGS: Final[dict[str, JSONValue]] = {
    **prompts(
        planner=("You are the planner.", "Ask for the usage."),
        worker=("You are the worker.",),
        writer=("You are the writer.", "Warn above 500."),
    ),
    "user.0": "How much did the harbour, the station and the market use?",
    **rows(
        "read_meter",
        harbour={"usage": 412, "peak": 88, "tariff": "A"},
        station={"usage": 377, "peak": 95, "tariff": "A"},
        market={"usage": 538, "peak": 61, "tariff": "A"},
    ),
}

CREWS: Final = tuple(
    Program(
        name=f"crew, {name}",
        group="crew",
        program=run,
        final="writer",
        model=MODEL,
        menu=(),
        settings=_SETTINGS,
        edits=_EDITS,
    )
    for name, run in (("flat", _flat), ("nested agents", _run_nested))
)
