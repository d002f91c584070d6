"""Code that executes answers, looks them up, adds them or searches for them."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, model_of, parse
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- a triage whose code word selects a desk, with figures of a table in the code

_FEES: Final = {"ALPHA": 10, "BRAVO": 40, "DELTA": 90}


def _sort(request: Request) -> str:
    rules = re.findall(r"Take (\w+) for (\w+)\.", request.system)
    words = [word for word, thing in rules if thing in request.last.lower()]
    return f"My choice would be {(words or ['ALPHA'])[0 if request.model == 'm1' else -1]} here."


def _charge(request: Request) -> str:
    fee = int(next(iter(re.findall(r"fee of (\d+)", request.last)), "0"))
    free = int(request.rule(r"Up to (\d+) is free\.", "0"))
    return (
        f"You pay {fee} francs at the {request.rule(r'Sign for the (.+?)[.]', 'desk')}."
        if fee > free
        else "It is free."
    )


def _customs(runtime: Runtime) -> str:
    word = next(iter(re.findall(r"be ([A-Z]+)", say(runtime, "sorter", user(runtime.settings)))), "ALPHA")
    desk = "red" if word == "DELTA" else "green"
    return say(runtime, desk, f"There is a fee of {_FEES.get(word, 0)} francs.")


_CUSTOMS: Final = Program(
    name="gate, table",
    group="gate",
    program=_customs,
    final="green",
    model=model_of({"sorter": _sort, "cashier": _charge}),
    menu=(),
    settings={
        **prompts(
            sorter=("You are the sorter.", "Take BRAVO for wine.", "Take DELTA for gold.", ""),
            green=("You are the cashier.", "Up to 20 is free.", "Sign for the green desk.", ""),
            red=("You are the cashier.", "Up to 0 is free.", "Sign for the red desk.", ""),
        ),
        "user.0": "I bring a bottle of wine.",
        "user.1": "",
    },
    edits=(
        edit("upstream", "user.1", "And a coin of gold.", "My wine is old."),
        edit("upstream", "user.0", "I bring a loaf of bread.", "I bring gold.", "I have a bottle of wine."),
        edit("prompt", "prompt.sorter.1", "Take DELTA for wine.", "Take ALPHA for wine."),
        wording("sorter", 3),
        edit("prompt", "prompt.green.1", "Up to 50 is free.", "Up to 15 is free."),
        wording("green", 3),
        edit("model", "model.sorter.name", "m2"),
        *sampling("sorter", "green"),
    ),
)

# ---- a plan whose lines the code executes with tools


def _plan(request: Request) -> str:
    towns = re.findall(r"\b(olten|thun|chur)\b", request.last.lower())
    acts = ["load", *(["wind"] if "Look at the wind." in request.system else [])]
    lines = [f"{act} {town}" for town in towns for act in acts]
    return "\n".join(lines[:2] if request.model == "m2" else lines)


def _decide(request: Request) -> str:
    loads = [(int(load), town) for town, load in re.findall(r"(\w+) load=(\d+)", request.last)]
    winds = dict(re.findall(r"(\w+) wind=(\d+)", request.last))
    limit = int(request.rule(r"Not above (\d+)\.", "999"))
    open_ = [town for load, town in sorted(loads) if load <= limit and int(winds.get(town, 0)) < 60]
    return f"Send it over {open_[0]}." if open_ else "Send nothing today."


def _grid(runtime: Runtime) -> str:
    plan = say(runtime, "planner", user(runtime.settings))
    lines = []
    for act, town in re.findall(r"(\w+) (\w+)", plan):
        row = runtime.tool(f"read_{act}", {"town": town})
        lines.append(f"{town} {act}={row.get('value') if isinstance(row, dict) else 0}")
    return say(runtime, "operator", " / ".join(lines))


_GRID: Final = Program(
    name="plan, carried out",
    group="plan",
    program=_grid,
    final="operator",
    model=model_of({"planner": _plan, "operator": _decide}),
    menu=(),
    settings={
        **prompts(planner=("You are the planner.", "", ""), operator=("You are the operator.", "Not above 70.", "")),
        "user.0": "Over Olten, Thun or Chur?",
        **rows("read_load", olten={"value": 44, "at": 1}, thun={"value": 61, "at": 1}, chur={"value": 52, "at": 1}),
        **rows("read_wind", olten={"value": 80}, thun={"value": 10}, chur={"value": 75}),
    },
    edits=(
        edit("upstream", "user.0", "Over Thun or Chur?", "Is it Olten, Thun or Chur?"),
        edit("prompt", "prompt.planner.1", "Look at the wind."),
        wording("planner", 2),
        edit("prompt", "prompt.operator.1", "Not above 40.", "Not above 60."),
        wording("operator", 2),
        edit("tool", "row.read_load.olten.value", 66, 91),
        edit("tool", "row.read_load.thun.value", 31),
        edit("tool", "row.read_load.chur.at", 2, decoy=True),
        edit("model", "model.planner.name", "m2"),
        *sampling("planner", "operator"),
    ),
)

# ---- receipts: JSON rows that the code adds up, and a search for their limits


def _read(request: Request) -> str:
    items = re.findall(r"(\w+) (\d+)\.-", request.last)
    if "Leave out drinks." in request.system:
        items = [item for item in items if item[0] not in {"beer", "juice"}]
    return json.dumps({"items": [{"what": name, "price": int(price)} for name, price in items]})


def _judge(request: Request) -> str:
    total = int(next(iter(re.findall(r"Total: (\d+)", request.spoken)), "0"))
    limits = re.findall(r"limit for (\w+) is (\d+)", request.spoken)
    limit = int(limits[0 if request.model == "m1" else -1][1]) if limits else 0
    return f"{total - limit} francs are yours to pay." if total > limit else f"We pay {total} francs."


def _receipts(runtime: Runtime) -> str:
    items = parse(say(runtime, "scanner", user(runtime.settings))).get("items")
    item_rows = [row for row in items if isinstance(row, dict)] if isinstance(items, list) else []
    total = sum(price for row in item_rows if isinstance(price := row.get("price"), int))
    names = " ".join(sorted(str(row.get("what")) for row in item_rows))
    limits = runtime.retrieve("find_rules", f"limit {names}", 2)
    return say(runtime, "auditor", "\n".join(limits), f"Total: {total}")


_RECEIPTS: Final = Program(
    name="sum, searched",
    group="sum",
    program=_receipts,
    final="auditor",
    model=model_of({"scanner": _read, "auditor": _judge}),
    menu=(),
    settings={
        **prompts(scanner=("You are the scanner.", "", ""), auditor=("You are the auditor.", "")),
        "user.0": "soup 12.- bread 4.- beer 7.-",
        "user.1": "",
        "doc.d1.text": "The limit for soup is 20 francs.",
        "doc.d1.date": "2025-02-01",
        "doc.d2.text": "The limit for hotels is 150 francs.",
        "doc.d2.date": "2025-02-01",
        "doc.d3.text": "The limit for beer is 9 francs.",
        "doc.d3.date": "2025-02-01",
    },
    edits=(
        edit("prompt", "prompt.scanner.1", "Leave out drinks."),
        wording("scanner", 2),
        wording("auditor", 1),
        edit("upstream", "user.1", "cake 9.-", "juice 3.-", "No more."),
        edit("retrieval", "doc.d1.text", "The limit for soup is 15 francs.", "The limit for soup is 30 francs."),
        edit("retrieval", "doc.d3.text", "The limit for beer is 11 francs."),
        edit("model", "model.auditor.name", "m2"),
        *sampling("scanner", "auditor"),
    ),
)

COMPUTING: Final = (_CUSTOMS, _GRID, _RECEIPTS)
