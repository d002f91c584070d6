"""Held-out agents whose code carries earlier messages forward."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of, parse
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- a memory: old turns become a summary in the system prompt


def _archivist(request: Request) -> str:
    names = re.findall(r"allergic to (\w+)", request.last)
    kept = names[-1:] if "Keep only the latest." in request.system else names
    return f"Avoid: {', '.join(kept) or 'nothing'}."


def _cook(request: Request) -> str:
    avoided = request.rule(r"Avoid: ([\w, ]+)\.", "nothing")
    dishes = ["nut cake", "egg salad", "milk rice", "bean soup"]
    safe = [dish for dish in dishes if not any(word in dish for word in avoided.split(", "))]
    dish = safe[0 if request.model == "m1" else -1]
    return f"Tonight I suggest {dish}, for {request.rule(r'Cook for (.+?)[.]', 'one')}."


def _kitchen(runtime: Runtime) -> str:
    heard: list[str] = []
    answer, memory = "", ""
    for at in range(3):
        words = str(runtime.settings.get(f"turn.{at}") or "")
        opening = text_of(system_message(runtime, "cook"))
        request: list[JSONValue] = [{"role": "system", "content": f"{opening} {memory}".strip()}, user_message(words)]
        answer = text_of(runtime.model("cook", request))
        heard.append(words)
        memory = say(runtime, "archivist", "\n".join(heard))
    return answer


_KITCHEN: Final = Program(
    name="kitchen",
    group="memory",
    program=_kitchen,
    final="cook",
    menu=(),
    model=model_of({"archivist": _archivist, "cook": _cook}),
    settings={
        **prompts(cook=("You are the cook.", "", ""), archivist=("You are the archivist.", "", "")),
        "user.0": "",
        "turn.0": "Hello, I am allergic to nut things.",
        "turn.1": "My son is allergic to egg.",
        "turn.2": "What shall we eat?",
    },
    edits=(
        edit("prompt", "prompt.archivist.1", "Keep only the latest."),
        wording("archivist", 2),
        edit("prompt", "prompt.cook.1", "Cook for two people."),
        wording("cook", 2),
        edit("upstream", "turn.1", "My son is allergic to milk.", "My son likes trains."),
        edit("upstream", "turn.0", "Hello, I am allergic to nut things, sadly.", "Hello there."),
        edit("upstream", "turn.2", "And what do we eat?", decoy=True),
        edit("model", "model.cook.name", "m2"),
        *sampling("cook"),
    ),
)

# ---- invoices: the code computes a sum and a reference number from JSON rows


def _extractor(request: Request) -> str:
    items = re.findall(r"(\d+) (\w+) at (\d+)", request.last)
    if "Leave samples out." in request.system:
        items = [item for item in items if item[1] != "samples"]
    rows_ = [{"what": what, "count": int(count), "each": int(price)} for count, what, price in items]
    return json.dumps({"items": rows_, "department": request.rule(r"Book it on (\w+)\.", "sales")})


def _controller(request: Request) -> str:
    state = parse(request.last[request.last.find("{") :])
    amount = int(next(iter(re.findall(r"Total (\d+)", request.last)), "0"))
    left = state.get("left")
    limit = left if isinstance(left, int) else 0
    if amount > limit:
        return f"{amount} is more than the budget of {limit} that is left."
    return f"{amount} is booked, {limit - amount} remain{' for now' if request.model == 'm2' else ''}."


def _invoices(runtime: Runtime) -> str:
    read = parse(say(runtime, "extractor", user(runtime.settings)))
    items = read.get("items")
    total = 0
    for item in items if isinstance(items, list) else []:
        assert isinstance(item, dict)
        count, each = item.get("count"), item.get("each")
        total += count * each if isinstance(count, int) and isinstance(each, int) else 0
    code = f"{str(read.get('department', ''))[:3].upper()}-{2026}"
    budget = runtime.tool("budget_of", {"account": code})
    return say(runtime, "controller", f"Total {total} on account {code}. State: {result_text(budget)}")


_INVOICES: Final = Program(
    name="invoices",
    group="computed",
    program=_invoices,
    final="controller",
    menu=(),
    model=model_of({"extractor": _extractor, "controller": _controller}),
    settings={
        **prompts(
            extractor=("You are the extractor.", "", "Book it on sales.", ""),
            controller=("You are the controller.", ""),
        ),
        "user.0": "Delivered: 12 chairs at 40, 3 desks at 210, 5 samples at 9.",
        "user.1": "",
        **rows(
            "budget_of",
            SAL_2026={"account": "SAL-2026", "left": 1400, "owner": "Ito"},
            MAR_2026={"account": "MAR-2026", "left": 900, "owner": "Diaz"},
        ),
    },
    edits=(
        edit("prompt", "prompt.extractor.1", "Leave samples out."),
        wording("extractor", 3),
        edit("prompt", "prompt.extractor.2", "Book it on marketing."),
        wording("controller", 1),
        edit("upstream", "user.0", "Delivered: 12 chairs at 45, 3 desks at 210, 5 samples at 9."),
        edit("upstream", "user.1", "It came on time.", decoy=True),
        edit("model", "model.controller.name", "m2"),
        edit("tool", "row.budget_of.SAL-2026.left", 1500, 700),
        edit("tool", "row.budget_of.SAL-2026.owner", "Meyer", decoy=True),
        *sampling("extractor", "controller"),
    ),
)

# ---- a garage: a conversation with a renamed tool and another second message


def _mechanic(request: Request) -> str | ToolCall:
    looks, orders = request.tool("diagnosis"), request.tool("orders a part")
    if looks and not request.results:
        return looks, {"plate": next(iter(re.findall(r"[A-Z]{2} \d+", request.spoken)), "none")}
    part = next((each["part"] for each in request.results if "part" in each), "nothing")
    wants = "order" in request.last.lower()
    if wants and orders and orders not in request.called:
        return orders, {"part": str(part)}
    days = next((each["days"] for each in reversed(request.results) if "days" in each), None)
    if wants and days is not None:
        rush = request.rule(r"Promise it (\d+) days early\.", "0")
        return f"The {part} comes in {int(str(days)) - int(rush)} days."
    return f"It is the {part}." if request.model == "m1" else f"Sorry, it must be the {part}."


def _garage(runtime: Runtime) -> str:
    tools: list[JSONValue] = [
        {"name": str(runtime.settings["tool.look"]), "description": "reads the diagnosis of a car"},
        {"name": str(runtime.settings["tool.buy"]), "description": "orders a part"},
    ]
    talk: list[JSONValue] = []
    for at in range(2):
        talk = converse(runtime, "mechanic", [*talk, user_message(str(runtime.settings[f"turn.{at}"]))], tools)
    return text_of(talk[-1])


_GARAGE: Final = Program(
    name="garage",
    group="renamed, later turn",
    program=_garage,
    final="mechanic",
    menu=(),
    model=model_of({"mechanic": _mechanic}),
    settings={
        **prompts(mechanic=("You are the mechanic.", "", "")),
        "user.0": "",
        "turn.0": "My car ZH 4411 makes a noise.",
        "turn.1": "Then order it.",
        "tool.look": "obd_scan",
        "tool.buy": "order_part",
        "row.obd_scan.ZH 4411.part": "belt",
        "row.scan_v2.ZH 4411.part": "belt",
        "row.obd_scan.BE 77.part": "pump",
        "row.scan_v2.BE 77.part": "pump",
        **rows("order_part", belt={"days": 6}, pump={"days": 9}),
        **rows("purchase", belt={"days": 4}, pump={"days": 9}),
    },
    edits=(
        edit("tool", "tool.look", "scan_v2", decoy=True),
        edit("tool", "tool.buy", "purchase"),
        edit("upstream", "turn.1", "What did you say it was?", "Please order it."),
        edit("upstream", "turn.0", "My car BE 77 makes a noise.", "My car ZH 4411 makes a sound."),
        edit("prompt", "prompt.mechanic.1", "Promise it 2 days early."),
        wording("mechanic", 2),
        edit("model", "model.mechanic.name", "m2"),
        *sampling("mechanic"),
    ),
)

CARRYING: Final = (_KITCHEN, _INVOICES, _GARAGE)
REWORDED: Final = (_GARAGE,)
