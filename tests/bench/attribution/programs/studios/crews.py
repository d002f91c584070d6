"""Shops surveyed in parts, two advocates before a judge, and a mechanic that measures until it knows."""

import re
from dataclasses import replace
from statistics import median
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, real, tool
from tests.bench.attribution.programs.later.reading import decimal, find, number
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

# ---- survey: a planner chooses shops, a counter reads each report, code reduces the figures, a reporter writes


def _plan(request: Request) -> str:
    shops = re.findall(r"[A-Z]\d", find(r"^Shops: (.+)$", request.last))
    most = int(request.rule(r"Ask (\d) shops at most\.", "9"))
    topic = request.rule(r"Ask for the (\w+)\.", "sales")
    if request.model == "m2":
        shops = shops[::-1]
    return "\n".join(f"ASK {shop} FOR {topic}" for shop in shops[:most]) or "ASK nobody"


def _count(request: Request) -> str:
    shop, topic = find(r"^Shop: (.+)$", request.last, "?"), find(r"^Topic: (\w+)", request.last, "sales")
    value = number(rf"\b{topic} (\d+)", request.last)
    if "Round to tens." in request.system:
        value = round(value / 10) * 10
    if request.model == "m2":
        value += 1
    return f"{shop} has {value}"


def _tell(request: Request) -> str:
    figure, best = decimal(r"^Figure: ([\d.]+)", request.last), find(r"^First: (\w+)", request.last, "none")
    unit = request.rule(r"Write (\w+) after figures\.", "pieces")
    verdict = "good" if figure >= float(request.rule(r"From (\d+) on it is good\.", "100")) else "weak"
    named = f" {best} leads." if "Name the leader." in request.system else ""
    return f"{figure:g} {unit}, {verdict}.{named}"


def _survey(runtime: Runtime) -> str:
    settings = runtime.settings
    region = find(r"shops of (\w+)", user(settings), "north")
    shops = str(fields(runtime.tool("list_shops", {"region": region})).get("shops"))
    plan = say(runtime, "planner", f"{user(settings)}\nShops: {shops}")
    counts: list[tuple[str, int]] = []
    for shop, topic in re.findall(r"^ASK (\w\d) FOR (\w+)$", plan, re.MULTILINE):
        report = fields(runtime.tool("read_report", {"shop": shop}))
        text = ", ".join(f"{name} {value}" for name, value in report.items() if name != "by")
        answer = say(runtime, "counter", f"Shop: {shop}\nTopic: {topic}\nReport: {text}")
        counts.append((shop, number(r"has (\d+)", answer)))
    if settings["code.reporter.order"] == "most":
        counts.sort(key=lambda item: -item[1])
    values = [value for _, value in counts] or [0]
    reduce = settings["code.reporter.reduce"]
    figure = sum(values) if reduce == "sum" else median(values) if reduce == "median" else max(values)
    return say(runtime, "reporter", f"Figure: {figure:g}\nFirst: {counts[0][0] if counts else 'none'}")


_SURVEY: Final = Program(
    name="shop survey",
    group="reports counted in parts",
    program=_survey,
    final="reporter",
    model=model_of({"planner": _plan, "counter": _count, "reporter": _tell}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Choose shops.", "Ask 3 shops at most.", "Ask for the sales.", ""),
            counter=("You are the counter. Count.", "", ""),
            reporter=(
                "You are the reporter. Write.",
                "Write pieces after figures.",
                "From 100 on it is good.",
                "Name the leader.",
                "",
            ),
        ),
        "user.0": "Survey the shops of north.",
        "user.1": "",
        "code.reporter.reduce": "sum",
        "code.reporter.order": "most",
        **rows("list_shops", north={"shops": "A1, B2, C3, D4", "made": 2024}, south={"shops": "B2, D4"}),
        **rows(
            "read_report",
            A1={"sales": 34, "stock": 8, "by": "Ann"},
            B2={"sales": 41, "stock": 22, "by": "Bo"},
            C3={"sales": 27, "stock": 13, "by": "Cy"},
            D4={"sales": 66, "stock": 5, "by": "Di"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Survey the shops of south.", "Look at the shops of north."),
        edit("upstream", "user.1", "Be quick.", "Thank you.", decoy=True),
        edit("prompt", "prompt.planner.1", "Ask 2 shops at most.", "Ask 4 shops at most."),
        edit("prompt", "prompt.planner.2", "Ask for the stock."),
        wording("planner", 3),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.counter.1", "Round to tens."),
        wording("counter", 2),
        edit("model", "model.counter.name", "m2"),
        edit("prompt", "prompt.reporter.1", "Write units after figures."),
        edit("prompt", "prompt.reporter.2", "From 120 on it is good."),
        edit("prompt", "prompt.reporter.3", "Hide the leader."),
        edit("model", "model.reporter.max_tokens", 3),
        edit("upstream", "code.reporter.reduce", "median", "most"),
        edit("upstream", "code.reporter.order", "asked"),
        edit("tool", "row.list_shops.north.shops", "A1, C3, D4", "B2, A1"),
        edit("tool", "row.list_shops.north.made", 2025, decoy=True),
        edit("tool", "row.read_report.B2.sales", 14, 44),
        edit("tool", "row.read_report.A1.by", "Abe", decoy=True),
        *sampling("planner", "counter", "reporter"),
    ),
)

# ---- advocates: two models argue in rounds from the facts of a tool, a judge scores what code shows of it


def _argue(request: Request) -> str:
    side, rounds = find(r"^For: (\w+)", request.last, "bus"), len(re.findall(r"^\w+ says", request.last, re.MULTILINE))
    topics = request.rule(r"Argue with ([\w, ]+)\.", "cost").split(", ")
    topic = topics[(rounds // 2) % len(topics)]
    value = find(rf"\b{topic} of {side}: (\w+)", request.last, "unknown")
    extra = " and it is fair" if request.model == "m2" else ""
    return f"{side} has {topic} {value}{extra}"


def _judge(request: Request) -> str:
    lines = re.findall(r"^\w+ says: (\w+) has (\w+) (\w+)", request.last, re.MULTILINE)
    scores: dict[str, int] = {"bus": 0, "tram": 0}
    for side, topic, value in lines:
        weight = int(request.rule(rf"{topic.capitalize()} counts (\d)\.", "1"))
        good = value in {"low", "high"} and (value == "low") is (topic in {"cost", "noise"})
        scores[side] = scores.get(side, 0) + weight * good
    winner = max(sorted(scores), key=lambda side: scores[side])
    if scores["bus"] == scores["tram"]:
        winner = request.rule(r"In a tie take the (\w+)\.", "bus")
    points = f" with {scores.get(winner, 0)} points" if "Give the points." in request.system else ""
    return f"Buy the {winner}{points}."


def _debate(runtime: Runtime) -> str:
    settings = runtime.settings
    town = find(r"town of (\w+)", user(settings), "Lund")
    facts = fields(runtime.tool("get_facts", {"town": town}))
    known = "\n".join(f"{name.replace('_', ' of ')}: {value}" for name, value in facts.items() if "_" in name)
    said: list[str] = []
    sides = ("bus", "tram") if settings["code.pro+con.first"] == "bus" else ("tram", "bus")
    for _ in range(int(real(settings["code.pro+con.rounds"], 2))):
        for side in sides:
            node = "pro" if side == "bus" else "con"
            answer = say(runtime, node, "\n".join([user(settings), f"For: {side}", known, *said]))
            said.append(f"{node} says: {answer}")
    shown = said if settings["code.judge.shown"] == "all" else said[-2:]
    return say(runtime, "judge", "\n".join([user(settings), *shown]))


_DEBATE: Final = Program(
    name="two advocates",
    group="debate before a judge",
    program=_debate,
    final="judge",
    model=model_of({"advocate": _argue, "opponent": _argue, "judge": _judge}),
    menu=(),
    settings={
        **prompts(
            pro=("You are the advocate. Argue.", "Argue with cost, riders.", ""),
            con=("You are the opponent. Argue.", "Argue with riders, noise.", ""),
            judge=("You are the judge. Decide.", "Cost counts 2.", "Riders counts 3.", "Give the points.", ""),
        ),
        "user.0": "What should the town of Lund buy?",
        "user.1": "",
        "code.pro+con.rounds": 2,
        "code.pro+con.first": "bus",
        "code.judge.shown": "all",
        **rows(
            "get_facts",
            Lund={
                "cost_bus": "low",
                "cost_tram": "high",
                "riders_bus": "low",
                "riders_tram": "high",
                "noise_bus": "high",
                "noise_tram": "low",
                "year": 2023,
            },
            Ystad={"cost_bus": "low", "cost_tram": "low", "riders_bus": "high", "riders_tram": "low"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "What should the town of Ystad buy?", "What can the town of Lund buy?"),
        edit("upstream", "user.1", "We have time.", "Please help.", decoy=True),
        edit("prompt", "prompt.pro.1", "Argue with cost.", "Argue with noise."),
        wording("pro", 2),
        edit("prompt", "prompt.con.1", "Argue with cost, noise.", "Argue with noise."),
        wording("con", 2),
        edit("model", "model.con.name", "m2", decoy=True),
        edit("prompt", "prompt.judge.1", "Cost counts 9.", "Cost counts 6."),
        edit("prompt", "prompt.judge.2", "Riders counts 1."),
        edit("prompt", "prompt.judge.3", "Give the winner."),
        wording("judge", 4),
        edit("upstream", "code.pro+con.rounds", 1, 3),
        edit("upstream", "code.pro+con.first", "tram", decoy=True),
        edit("upstream", "code.judge.shown", "last"),
        edit("tool", "row.get_facts.Lund.riders_tram", "low", "falling"),
        edit("tool", "row.get_facts.Lund.noise_tram", "high"),
        edit("tool", "row.get_facts.Lund.year", 2024, decoy=True),
        *sampling("pro", "con", "judge"),
    ),
)
_CHANCE: Final = Chance(
    rate=0.1, alternatives=(("tram has riders high", "tram has noise low"), ("cost low", "cost ok"))
)
_DEBATE_BY_CHANCE: Final = replace(
    _DEBATE, name="two advocates, by chance", group="debate before a judge, by chance", chance=_CHANCE, controls=8
)

# ---- mechanic: one agent with native tool calls that measures part after part and notes what it found


def _repair(request: Request) -> str | ToolCall:
    measure, order = request.tool("measure"), request.rule(r"Check ([\w, ]+)\.", "battery").split(", ")
    limit = float(request.rule(r"Below (\d+) a part is worn\.", "50"))
    results = {str(result.get("part")): real(result.get("value"), 100) for result in request.results}
    worn = [part for part, value in results.items() if value < limit]
    part = next((part for part in order if part not in results), "")
    go_on = part and (not worn or "Check everything." in request.system)
    if measure and go_on:
        return measure, {"part": part}
    if not worn:
        return "Nothing is worn."
    bike = find(r"bike (\w+)", request.spoken, "bike")
    chosen = min(worn, key=lambda name: results[name]) if request.model == "m2" else worn[0]
    value = f" ({results[chosen]:g})" if "Give the value." in request.system else ""
    return f"Replace the {chosen} of {bike}{value}."


def _garage(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool("get_value", str(settings["tool.value"]), "part")]
    turns = int(real(settings["code.mechanic.turns"], 6))
    text = user(settings)
    if settings["code.mechanic.history"]:
        text += f"\nHistory: {fields(runtime.tool('get_history', {'shop': 'main'})).get('last')}"
    return text_of(converse(runtime, "mechanic", [user_message(text)], tools, turns)[-1]) or "No answer."


_GARAGE: Final = Program(
    name="bike garage",
    group="one agent that measures",
    program=_garage,
    final="mechanic",
    model=model_of({"mechanic": _repair}),
    menu=(),
    settings={
        **prompts(
            mechanic=(
                "You are the mechanic. Find the fault.",
                "Check battery, chain, brake.",
                "Below 40 a part is worn.",
                "Give the value.",
                "",
                "",
            )
        ),
        "user.0": "My bike Zora is loud.",
        "user.1": "",
        "tool.value": "Gives a measure of a part.",
        "code.mechanic.turns": 6,
        "code.mechanic.history": True,
        **rows("get_history", main={"last": "oiled in May", "by": "Lou"}),
        **rows(
            "get_value",
            battery={"part": "battery", "value": 71, "unit": "percent"},
            chain={"part": "chain", "value": 33, "unit": "percent"},
            brake={"part": "brake", "value": 22, "unit": "percent"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "My bike Mira is loud.", "My bike Zora is very loud."),
        edit("upstream", "user.1", "It is blue.", "Thanks.", decoy=True),
        edit("prompt", "prompt.mechanic.1", "Check brake, battery.", "Check battery, brake, chain."),
        edit("prompt", "prompt.mechanic.2", "Below 30 a part is worn.", "Below 80 a part is worn."),
        edit("prompt", "prompt.mechanic.3", "Keep it short."),
        edit("prompt", "prompt.mechanic.4", "Check everything."),
        wording("mechanic", 5),
        edit("model", "model.mechanic.name", "m2", decoy=True),
        edit("model", "model.mechanic.max_tokens", 3),
        edit("tool", "tool.value", "Gives one measure of a part.", "Reads a meter."),
        edit("upstream", "code.mechanic.turns", 2, 1),
        edit("upstream", "code.mechanic.history", False, decoy=True),
        edit("tool", "row.get_value.battery.value", 12, 64),
        edit("tool", "row.get_value.chain.value", 55, 37),
        edit("tool", "row.get_value.chain.unit", "per cent", decoy=True),
        edit("tool", "row.get_history.main.last", "washed in June", decoy=True),
        *sampling("mechanic"),
    ),
)

CREWS: Final = (_SURVEY, _DEBATE, _DEBATE_BY_CHANCE, _GARAGE)
