"""A trip whose plan is a graph of tasks, and spare parts found by native tools whose results code converts."""

import json
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real, tool
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
from traces.core.json_types import JSONObject, JSONValue

# ---- trip graph: a plan with dependencies, code runs it in order, another tool after a failure, a host


def _planner(request: Request) -> str:
    city, nights = find(r"to (\w+)", request.last, "Rome"), number(r"(\d) nights", request.last, 2)
    tasks: list[JSONValue] = [
        {"id": "travel", "tool": request.rule(r"Travel by (\w+)\.", "train"), "city": city, "needs": []},
        {"id": "stay", "tool": "hotel", "city": city, "times": nights, "needs": ["travel"]},
    ]
    if "Plan a show." in request.system:
        tasks.insert(0, {"id": "show", "tool": "show", "city": city, "needs": ["stay"]})
    return json.dumps({"tasks": tasks[: 2 if request.model == "m2" else 3]})


def _host(request: Request) -> str:
    lines = [line.removeprefix("- ") for line in request.last.splitlines() if line.startswith("- ")]
    total, limit = number(r"^Sum: (\d+)", request.last), int(request.rule(r"Warn above (\d+)\.", "999"))
    warning = " That is a lot." if total > limit else ""
    shown = ", then ".join(line if "State prices." in request.system else line.split(" at ")[0] for line in lines)
    return f"{shown or 'Stay at home'}.{warning}{request.rule(r'Close with (.)')}"


def _order(tasks: list[JSONObject], *, by_needs: bool) -> list[JSONObject]:
    """Order tasks so that each follows what it needs."""
    if not by_needs:
        return tasks
    ordered: list[JSONObject] = []
    remaining = list(tasks)
    while remaining:
        done = [task.get("id") for task in ordered]
        ready = [task for task in remaining if all(need in done for need in _needs(task))] or remaining[:1]
        ordered.append(ready[0])
        remaining.remove(ready[0])
    return ordered


def _needs(task: JSONObject) -> list[JSONValue]:
    needs = task.get("needs")
    return needs if isinstance(needs, list) else []


def _trip(runtime: Runtime) -> str:
    settings = runtime.settings
    plan = json_in(say(runtime, "planner", user(settings)))
    tasks = _order(items(plan.get("tasks")), by_needs=settings["code.host.order"] == "needs")
    lines: list[str] = []
    total = 0.0
    for task in tasks:
        name = f"get_{task.get('tool')}"
        found = fields(runtime.tool(name, {"city": str(task.get("city"))}))
        if "error" in found and settings["code.get_bus.fallback"] == "on":
            found = fields(runtime.tool("get_bus", {"city": str(task.get("city"))}))
        if "error" in found:
            lines.append(f"- no {task.get('id')} at 0")
            continue
        cost = real(found.get("price")) * real(task.get("times"), 1.0)
        if settings["code.host.discount"] == "on" and task.get("id") == "stay":
            cost *= 0.8
        total += cost
        unit = str(settings["code.host.currency"])
        lines.append(f"- {found.get('name')} at {cost * (1.1 if unit == 'USD' else 1):.0f} {unit}")
    return say(runtime, "host", "\n".join([*lines, f"Sum: {total:.0f}"]))


_TRIP: Final = Program(
    name="trip graph",
    group="graph of tasks",
    program=_trip,
    final="host",
    model=model_of({"planner": _planner, "host": _host}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Plan in JSON.", "Travel by train.", "Plan a show.", "", ""),
            host=("You are the host. Present it.", "State prices.", "Warn above 400.", "", "", ""),
        ),
        "user.0": "A trip to Rome for 3 nights.",
        "user.1": "",
        "code.host.order": "needs",
        "code.get_bus.fallback": "on",
        "code.host.discount": "off",
        "code.host.currency": "EUR",
        **rows(
            "get_train",
            Rome={"name": "night train", "price": 90, "seats": 12},
            Oslo={"error": "no line", "seats": 0},
        ),
        **rows("get_plane", Rome={"name": "early flight", "price": 140, "gate": 4}),
        **rows("get_bus", Rome={"name": "coach", "price": 50}, Oslo={"name": "night coach", "price": 65}),
        **rows(
            "get_hotel",
            Rome={"name": "Hotel Sole", "price": 95, "stars": 3},
            Oslo={"name": "Hotel Fjord", "price": 130, "stars": 4},
        ),
        **rows("get_show", Rome={"name": "Opera", "price": 60}, Oslo={"name": "Ballet", "price": 45}),
    },
    edits=(
        edit("upstream", "user.0", "A trip to Oslo for 3 nights.", "A trip to Rome for 2 nights."),
        edit("upstream", "user.1", "We love art.", decoy=True),
        edit("prompt", "prompt.planner.1", "Travel by plane.", "Travel by ship."),
        edit("prompt", "prompt.planner.2", ""),
        wording("planner", 3),
        edit("prompt", "prompt.host.1", ""),
        edit("prompt", "prompt.host.2", "Warn above 410.", decoy=True),
        edit("prompt", "prompt.host.3", "Close with !"),
        wording("host", 4),
        edit("model", "model.planner.name", "m2"),
        edit("upstream", "code.host.order", "plan"),
        edit("upstream", "code.get_bus.fallback", "off", decoy=True),
        edit("upstream", "code.host.discount", "on"),
        edit("upstream", "code.host.currency", "USD"),
        edit("tool", "row.get_hotel.Rome.price", 80),
        edit("tool", "row.get_hotel.Rome.name", "Hotel Luna"),
        edit("tool", "row.get_train.Rome.error", "strike"),
        edit("tool", "row.get_train.Rome.seats", 3, decoy=True),
        edit("tool", "row.get_hotel.Rome.stars", 4, decoy=True),
        edit("model", "model.host.max_tokens", 300, decoy=True),
        *sampling("planner", "host"),
    ),
)

# ---- spare parts: native tools whose results code converts, renames and cuts; code may replace the answer


def _finder(request: Request) -> str | ToolCall:
    known = {name: value for result in request.results for name, value in result.items()}
    model = find(r"bike (\w+)", request.last, "X1")
    steps = (
        ("the part", {"bike": model}),
        ("the stock", {"part": known.get("part")}),
        ("the price", {"part": known.get("part")}),
    )
    for purpose, arguments in steps[: 3 if "State the price." in request.system else 2]:
        name = request.tool(purpose)
        if name and name not in request.called:
            return name, {key: str(value) for key, value in arguments.items()}
    count = int(real(known.get("stock")))
    few = count < int(request.rule(r"Few are below (\d+)\.", "2"))
    amount = "no" if not count else "few" if few else str(count + (request.model == "m2"))
    price = f" for {known.get('price')} {known.get('unit', '')}" if "State the price." in request.system else ""
    size = f", {known.get('size', known.get('length', 'any'))} long" if "State the size." in request.system else ""
    return f"We have {amount} {known.get('part', 'part')}{size}{price}."


_PURPOSES: Final = {
    "part": "Returns the part of a bike.",
    "stock": "Returns the stock of a part.",
    "price": "Returns the price of a part.",
}


def _shown(result: JSONValue, settings: dict[str, JSONValue]) -> JSONObject:
    """What the model sees of a result."""
    shown = dict(fields(result))
    if settings["units"] == "inch" and "size" in shown:
        shown["size"] = f"{real(str(shown['size']).removesuffix(' mm')) / 25.4:.1f} in"
    if settings["vat"] == "added" and "price" in shown:
        shown["price"] = round(real(shown["price"]) * 1.2, 2)
    if settings["reserve"]:
        shown = {
            name: real(value) - real(settings["reserve"]) if name == "stock" else value for name, value in shown.items()
        }
    hidden = str(settings["hidden"]).split("+")
    return {name: value for name, value in shown.items() if name not in hidden}


def _parts(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool(str(settings[f"tool.{name}"]), text, "key") for name, text in _PURPOSES.items()]
    filters = {name: settings[f"code.finder.{name}"] for name in ("units", "vat", "reserve", "hidden")}
    conversation: list[JSONValue] = [user_message(user(settings))]
    answer = ""
    for _ in range(int(real(settings["code.finder.turns"]))):
        message = runtime.model("finder", [system_message(runtime, "finder"), *conversation], tools)
        conversation.append(message)
        calls = items(message.get("tool_calls"))
        answer = text_of(message)
        if not calls:
            break
        for call in calls:
            result = runtime.tool(str(call["name"]), fields(call["arguments"]), str(call["id"]))
            content = json.dumps(_shown(result, filters))
            conversation.append({"role": "tool", "content": content, "tool_call_id": call["id"]})
    banned = str(settings["code.finder.banned"])
    if not answer or (banned and banned in answer):
        return "Please call the shop."
    return answer


_PARTS: Final = Program(
    name="spare parts",
    group="converted results",
    program=_parts,
    final="finder",
    model=model_of({"finder": _finder}),
    menu=(),
    settings={
        **prompts(
            finder=("You are the finder.", "State the price.", "State the size.", "Few are below 3.", "", "", "")
        ),
        "user.0": "A chain for my bike X1, please.",
        "user.1": "",
        "tool.part": "get_part",
        "tool.stock": "get_stock",
        "tool.price": "get_price",
        "code.finder.units": "mm",
        "code.finder.vat": "none",
        "code.finder.reserve": 0,
        "code.finder.hidden": "",
        "code.finder.turns": 6,
        "code.finder.banned": "",
        **rows("get_part", X1={"part": "K10", "size": "254 mm"}, X2={"part": "K20", "size": "508 mm"}),
        **rows("find_part", X1={"part": "K10", "size": "254 mm"}, X2={"part": "K20", "size": "508 mm"}),
        **rows("get_stock", K10={"stock": 4, "shelf": "B2"}, K20={"stock": 9, "shelf": "C1"}),
        **rows("get_price", K10={"price": 12, "unit": "EUR"}, K20={"price": 15, "unit": "EUR"}),
    },
    edits=(
        edit("upstream", "user.0", "A chain for my bike X2, please."),
        edit("upstream", "user.1", "It rains.", decoy=True),
        edit("prompt", "prompt.finder.1", "Be short."),
        edit("prompt", "prompt.finder.2", "Be quick."),
        edit("prompt", "prompt.finder.3", "Few are below 5."),
        wording("finder", 4),
        edit("model", "model.finder.name", "m2"),
        edit("tool", "tool.part", "find_part", decoy=True),
        edit("upstream", "code.finder.units", "inch"),
        edit("upstream", "code.finder.vat", "added"),
        edit("upstream", "code.finder.reserve", 3),
        edit("upstream", "code.finder.hidden", "size"),
        edit("upstream", "code.finder.turns", 2),
        edit("upstream", "code.finder.banned", "few", decoy=True),
        edit("tool", "row.get_stock.K10.stock", 2, 7),
        edit("tool", "row.get_price.K10.price", 14),
        edit("tool", "row.get_stock.K10.shelf", "D4", decoy=True),
        edit("model", "model.finder.max_tokens", 300, decoy=True),
        wording("finder", 5),
        *sampling("finder"),
    ),
)

JOURNEYS: Final[tuple[Program, ...]] = (_TRIP, _PARTS)
