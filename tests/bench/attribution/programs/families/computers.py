"""A code interpreter whose errors go back to the model, and tools found by a search, with units converted by code."""

import ast
import re
from collections.abc import Mapping
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- interpreter: the model writes an expression over named inputs, code evaluates it, an error is sent back


def evaluate(expression: str, names: Mapping[str, float]) -> float:
    """Evaluate sums and products of numbers and names. Raises ValueError for anything else."""

    def value_of(node: ast.AST) -> float:
        match node:
            case ast.Expression():
                return value_of(node.body)
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name):
                raise ValueError(f"name '{name}' is not defined")
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return _combine(node.op, value_of(node.left), value_of(node.right))
        raise ValueError(f"unsupported: {ast.dump(node)[:20]}")

    try:
        return value_of(ast.parse(expression.strip(), mode="eval"))
    except SyntaxError as error:
        raise ValueError("invalid syntax") from error


def _combine(op: ast.operator, left: float, right: float) -> float:
    if isinstance(op, ast.Add | ast.Sub):
        return left + right if isinstance(op, ast.Add) else left - right
    return left * right if isinstance(op, ast.Mult) else left / right if right else 0.0


def _write_code(request: Request) -> str:
    names = find(r"^Inputs: (.+)$", request.last).split(", ")
    question = find(r"^Question: (.+)$", request.last).lower()
    area = "length * width" if "length" in names else "area"
    if "height" in question or "volume" in question:
        area = f"({area}) * height"
    expression = f"{area} * price" if "cost" in question else area
    if "Add 10 % for waste." in request.system:
        expression = f"({expression}) * 1.1"
    if request.model == "m2" or "The sandbox knows no price." in request.system:
        expression = expression.replace("price", "unit_price")
    unknown = re.findall(r"name '(\w+)' is not defined", request.last)
    expression = expression.replace("unit_price", "price") if "unit_price" in unknown else expression
    extra = int(request.rule(r"Add (\d+) euros for delivery\.", "0"))
    return (
        f"```python\n{expression} + {extra}\n```" if extra and "cost" in question else f"```python\n{expression}\n```"
    )


def _interpret(request: Request) -> str:
    result = find(r"^Result: (.+)$", request.last, "unknown")
    value = float(result) if re.fullmatch(r"[\d.]+", result) else 0.0
    budget = int(request.rule(r"The budget is (\d+) euros\.", "0"))
    if "Round to full tens." in request.system:
        value = round(value / 10) * 10
    tail = " That is within the budget." if budget and value <= budget else " That is too much." if budget else ""
    return f"The result is {value:.0f}.{tail}" if value else "I could not work it out."


def _build(runtime: Runtime) -> str:
    room, goods = fields(runtime.tool("room", {"id": "R-7"})), fields(runtime.tool("price_list", {"goods": "oak"}))
    inputs: dict[str, float] = {name: real(room[name]) / 100 for name in ("length", "width", "height") if name in room}
    inputs["price"] = real(goods.get("price"))
    heading = f"Inputs: {', '.join(inputs)}\nQuestion: {user(runtime.settings)}"
    result, error = "none", ""
    for _ in range(3):
        code = find(r"```python\n(.+)\n```", say(runtime, "coder", f"{heading}{error}"))
        try:
            result = f"{evaluate(code, inputs):.2f}"
            break
        except ValueError as problem:
            error = f"\nYour code `{code}` failed: {problem}"
    return say(runtime, "reporter", f"Question: {user(runtime.settings)}\nResult: {result}")


_BUILDER: Final = Program(
    name="floor calculator",
    group="code interpreter",
    program=_build,
    final="reporter",
    model=model_of({"coder": _write_code, "reporter": _interpret}),
    menu=(),
    settings={
        **prompts(
            coder=("You are the coder. Write one expression.", "Add 10 % for waste.", "", "", ""),
            reporter=("You are the reporter.", "The budget is 2000 euros.", "", ""),
        ),
        "user.0": "What does an oak floor cost?",
        "user.1": "",
        **rows("room", R_7={"length": 620, "width": 410, "height": 260, "note": "north side"}),
        **rows("price_list", oak={"price": 64.5, "stock": 80}),
    },
    edits=(
        edit("upstream", "user.0", "How large is the floor?", "What would be the cost of an oak floor?"),
        edit("upstream", "user.1", "It is for a school.", "Please answer today.", decoy=True),
        edit("prompt", "prompt.coder.1", "", "Include waste of ten percent."),
        edit("prompt", "prompt.coder.2", "Add 90 euros for delivery.", "Add 600 euros for delivery."),
        edit("prompt", "prompt.coder.3", "The sandbox knows no price.", decoy=True),
        wording("coder", 4),
        edit("prompt", "prompt.reporter.1", "The budget is 1500 euros.", "The budget is 2500 euros."),
        edit("prompt", "prompt.reporter.2", "Round to full tens."),
        wording("reporter", 3),
        edit("model", "model.coder.name", "m2", decoy=True),
        edit("tool", "row.room.R-7.length", 780, 400),
        edit("tool", "row.room.R-7.width", 300),
        edit("tool", "row.room.R-7.height", 240, decoy=True),
        edit("tool", "row.room.R-7.note", "south side", decoy=True),
        edit("tool", "row.price_list.oak.price", 81.0, 39.9),
        edit("tool", "row.price_list.oak.stock", 8, decoy=True),
        *sampling("coder", "reporter"),
    ),
)

# ---- hike: a search finds the tools to offer; code converts feet and Fahrenheit before the model sees a result

_SCHEMAS: Final[Mapping[str, JSONValue]] = {
    "trail_profile": tool("trail_profile", "Height profile of a trail.", "trail"),
    "weather_report": tool("weather_report", "Weather at a hut.", "hut"),
    "free_beds": tool("free_beds", "Free beds in a hut.", "hut"),
    "bus_times": tool("bus_times", "Bus times from a village.", "village"),
}
_METRES_PER_FOOT: Final = 0.3048


def _hike(request: Request) -> str | ToolCall:
    offered = [str(schema.get("name")) for schema in request.tools]
    calls = {"trail_profile": {"trail": "ridge"}, "weather_report": {"hut": "alp"}, "free_beds": {"hut": "alp"}}
    wanted = [name for name in offered if name in calls and name not in request.called]
    if wanted and len(request.called) < int(request.rule(r"Use at most (\d) tools\.", "3")):
        return wanted[0], dict(calls[wanted[0]])
    facts = {name: value for result in request.results for name, value in result.items()}
    climb, degrees = real(facts.get("climb_m")), real(facts.get("celsius"), 99)
    hours = climb / int(request.rule(r"Count (\d+) metres per hour\.", "400"))
    if degrees < int(request.rule(r"Do not go below (-?\d+) degrees\.", "0")):
        return f"Stay at home: it has only {degrees:.0f} degrees."
    bed = f" {facts['beds']} beds are free." if "beds" in facts else ""
    return f"The climb of {climb:.0f} m takes {hours:.1f} hours.{bed}"


def _plan_hike(runtime: Runtime) -> str:
    text = user(runtime.settings)
    hits = runtime.retrieve("tool_index", text, int(real(runtime.settings["search.count"])))
    names = [find(r"^\[(\w+)\]", hit) for hit in hits]
    offered = [_SCHEMAS[name] for name in names if name in _SCHEMAS]
    talk: list[JSONValue] = [user_message(text)]
    for _ in range(6):
        message = runtime.model("guide", [system_message(runtime, "guide"), *talk], offered)
        talk.append(message)
        calls = items(message.get("tool_calls"))
        if not calls:
            break
        for call in calls:
            result = runtime.tool(str(call["name"]), fields(call["arguments"]), str(call["id"]))
            talk.append({"role": "tool", "content": _metric(fields(result)), "tool_call_id": call["id"]})
    return say(runtime, "texter", f"{text}\nGuide: {text_of(talk[-1])}")


def _metric(result: Mapping[str, JSONValue]) -> str:
    """Return a result in metres and degrees Celsius."""
    converted = {
        "climb_m": round(_METRES_PER_FOOT * real(result["climb_ft"])) if "climb_ft" in result else None,
        "celsius": round((real(result["fahrenheit"]) - 32) / 1.8) if "fahrenheit" in result else None,
        "beds": result.get("beds"),
    }
    parts = [f'"{name}": {value}' for name, value in converted.items() if value is not None]
    return f"{{{', '.join(parts)}}}"


def _text_guest(request: Request) -> str:
    answer = find(r"^Guide: (.+)$", request.last, "nothing")
    hours = number(r"takes (\d+)\.", answer)
    if hours >= int(request.rule(r"Warn from (\d+) hours on\.", "9")):
        answer = f"{answer} Start early!"
    return answer if "Leave out the beds." not in request.system else re.sub(r" \d+ beds are free\.", "", answer)


_HIKE: Final = Program(
    name="hiking guide",
    group="tools found by a search",
    program=_plan_hike,
    final="texter",
    model=model_of({"guide": _hike, "texter": _text_guest}),
    menu=(),
    settings={
        **prompts(
            guide=("You are the guide.", "Use at most 3 tools.", "Count 400 metres per hour.", "", ""),
            texter=("You are the texter. Repeat the guide's answer.", "Warn from 3 hours on.", "", ""),
        ),
        "user.0": "How long is the climb on the ridge trail, and how is the weather at the hut?",
        "user.1": "",
        "search.count": 2,
        "doc.trail_profile.date": "2025",
        "doc.trail_profile.text": "Height profile of a trail: length and climb in feet.",
        "doc.weather_report.date": "2025",
        "doc.weather_report.text": "Weather at a hut: degrees and wind.",
        "doc.free_beds.date": "2024",
        "doc.free_beds.text": "Beds for one night at a time.",
        "doc.bus_times.date": "2024",
        "doc.bus_times.text": "Buses between villages.",
        **rows("trail_profile", ridge={"climb_ft": 4100, "miles": 7.5}),
        **rows("weather_report", alp={"fahrenheit": 50, "wind": "west"}),
        **rows("free_beds", alp={"beds": 6}),
    },
    edits=(
        edit("upstream", "user.0", "How long is the climb on the ridge trail, and are there beds for one night?"),
        edit("upstream", "user.1", "Best wishes!", decoy=True),
        edit("retrieval", "search.count", 3, 1),
        edit("retrieval", "doc.free_beds.text", "Beds for the night in the hut on the ridge trail."),
        edit("retrieval", "doc.bus_times.text", "Departures of buses.", decoy=True),
        edit("prompt", "prompt.guide.1", "Use at most 1 tools."),
        edit("prompt", "prompt.guide.2", "Count 300 metres per hour.", "Count 650 metres per hour."),
        edit("prompt", "prompt.guide.3", "Do not go below 12 degrees.", "Do not go below 5 degrees."),
        wording("guide", 4),
        edit("prompt", "prompt.texter.1", "Warn from 2 hours on.", "Warn from 5 hours on."),
        edit("prompt", "prompt.texter.2", "Leave out the beds."),
        wording("texter", 3),
        edit("tool", "row.trail_profile.ridge.climb_ft", 2300, 5200),
        edit("tool", "row.trail_profile.ridge.miles", 8.0, decoy=True),
        edit("tool", "row.weather_report.alp.fahrenheit", 30, 68),
        edit("tool", "row.weather_report.alp.wind", "east", decoy=True),
        edit("tool", "row.free_beds.alp.beds", 2),
        *sampling("guide", "texter"),
    ),
)

COMPUTERS: Final = (_BUILDER, _HIKE)
