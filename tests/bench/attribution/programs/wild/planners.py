"""A travel planner with tools in parallel, and an analyst who queries a database."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import find
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
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
from traces.core.json_types import JSONObject, JSONValue

# ---- weekends: one request calls several tools at once, a second agent checks the plan against a budget


def _plan(request: Request) -> str | list[ToolCall]:
    city = find(r"\bto ([A-Z]\w+)", request.spoken, "Oslo")
    if not request.called:
        calls: list[ToolCall] = []
        for purpose, name in (("trains", "city"), ("rooms", "city"), ("forecast", "city")):
            if tool_name := request.tool(purpose):
                calls.append((tool_name, {name: city}))
        if calls:
            return calls
    facts: JSONObject = {}
    for result in request.results:
        facts |= result
    fare, night = real(facts.get("fare"), 100.0), real(facts.get("night"), 100.0)
    nights = int(find(r"(\d) nights", request.spoken, "2"))
    visit = "museum" if facts.get("sky") == "rain" else request.rule(r"On dry days visit the (\w+)\.", "centre")
    if request.model == "m2":
        nights += 1
    return f"Plan: {city}, {nights} nights, total {fare + nights * night:.0f}, see the {visit}."


def _approve(request: Request) -> str:
    total = real(find(r"total (\d+)", request.last), 0.0)
    budget = real(find(r"budget (\d+)", request.last), 999.0)
    margin = int(request.rule(r"Allow (\d+) more than the budget\.", "0"))
    city = find(r"Plan: (\w+)", request.last, "there")
    visit = find(r"see the (\w+)", request.last, "city")
    if total > budget + margin:
        return f"No: {city} costs {total:.0f}, too much by {total - budget:.0f}."
    fact = f" Visit the {visit}." if "Mention the visit." in request.system else ""
    return f"Yes: {city} costs {total:.0f}.{fact}"


def _weekend(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [
        tool("find_trains", str(settings["tool.trains"]), "city"),
        tool("find_rooms", "Lists rooms in a city.", "city"),
    ]
    if settings["tool.weather"]:
        tools.append(tool("get_weather", str(settings["tool.weather"]), "city"))
    talk: list[JSONValue] = [user_message(user(settings))]
    if settings["turn.1"]:
        talk.append(user_message(str(settings["turn.1"])))
    plan = text_of(converse(runtime, "planner", talk, tools)[-1])
    if settings["code.clerk.plan"] == "one line":
        plan = find(r"(Plan: [^.]+\.)", plan, plan)
    budget = find(r"budget is (\d+)", user(settings), "999")
    return say(runtime, "clerk", f"{plan}\nbudget {budget}")


_WEEKEND: Final = Program(
    name="weekend trips",
    group="tools at once",
    rewords=True,
    controls=8,
    program=_weekend,
    final="clerk",
    model=model_of({"planner": _plan, "clerk": _approve}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Ask all tools at once.", "On dry days visit the park.", ""),
            clerk=("You are the clerk. Say yes or no.", "Allow 20 more than the budget.", "Mention the visit.", ""),
        ),
        "user.0": "We want to go to Bergen for 2 nights.",
        "user.1": "Our budget is 300.",
        "user.2": "",
        "turn.1": "",
        "tool.trains": "Lists trains to a city.",
        "tool.weather": "Shows the forecast of a city.",
        "code.clerk.plan": "whole",
        **rows(
            "find_trains",
            Bergen={"fare": 96, "line": "F4"},
            Tromso={"fare": 190, "line": "N1"},
        ),
        **rows(
            "find_rooms",
            Bergen={"night": 101, "hotel": "Fjord"},
            Tromso={"night": 88, "hotel": "Polar"},
        ),
        **rows("get_weather", Bergen={"sky": "sun", "wind": 3}, Tromso={"sky": "rain", "wind": 8}),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "We want to go to Tromso for 2 nights.",
            "We want to go to Bergen for 3 nights.",
            "We would like to go to Bergen for 2 nights.",
        ),
        edit("upstream", "user.1", "Our budget is 270.", "Our budget is 310."),
        edit("upstream", "user.2", "There are two of us.", decoy=True),
        edit(
            "upstream", "turn.1", "Make it 1 nights, please.", "Sorry, to Tromso it is.", "We like hiking.", decoy=True
        ),
        edit("prompt", "prompt.planner.1", "On dry days visit the harbour.", "On dry days visit the park, too."),
        wording("planner", 2),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.clerk.1", "Allow 10 more than the budget.", decoy=True),
        edit("prompt", "prompt.clerk.2", "", "Mention the visit. Mention it last."),
        wording("clerk", 3),
        edit("tool", "tool.trains", "Lists trains and their fares to a city.", "Lists connections to a city."),
        edit("tool", "tool.weather", "", "Shows the forecast of a place.", decoy=True),
        edit("tool", "row.find_trains.Bergen.fare", 146, 92),
        edit("tool", "row.find_trains.Bergen.line", "F5", decoy=True),
        edit("tool", "row.find_rooms.Bergen.night", 118, 99),
        edit("tool", "row.find_rooms.Bergen.hotel", "Brygge", decoy=True),
        edit("tool", "row.get_weather.Bergen.sky", "rain", "clouds"),
        edit("tool", "row.get_weather.Bergen.wind", 6, decoy=True),
        edit("upstream", "code.clerk.plan", "one line", decoy=True),
        *sampling("planner", "clerk"),
    ),
)

# ---- warehouse: a model writes a query from a schema, code runs it, another model words the result


def _write_query(request: Request) -> str:
    text = request.last.lower()
    column = request.rule(r"Revenue is the column (\w+)\.", "gross")
    if request.model == "m2" and "error" not in text:
        column = "revenue"
    year = find(r"\b(20\d\d)\b", text, request.rule(r"The current year is (\d{4})\.", "2026"))
    group = next((name for name in ("region", "product") if name in text), "region")
    state = " where paid" if "Count paid orders only." in request.system else ""
    return f"```sql\nselect {group} sum {column} from orders_{year}{state}\n```"


def _word(request: Request) -> str:
    pairs = re.findall(r"^(\w+) = ([\d,]+)$", request.last, re.MULTILINE)
    if not pairs:
        return "The query gave nothing."
    most = int(request.rule(r"Name the best (\d)\.", "3"))
    unit = request.rule(r"Amounts are in (\w+)\.", "euros")
    text = ", ".join(f"{name} with {value} {unit}" for name, value in pairs[:most])
    hint = " Ask me for a chart." if request.temperature > 0.6 else ""
    return f"Best: {text}.{hint}"


def _analysis(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    talk: list[JSONValue] = [user_message(question)]
    result: JSONObject = {}
    for _ in range(2):
        message = runtime.model("coder", [system_message(runtime, "coder"), *talk])
        query = find(r"^(select .+)$", text_of(message))
        result = fields(runtime.tool("run_query", {"query": query}))
        if "rows" in result or settings["code.coder+run_query.errors"] == "ignored":
            break
        talk = [*talk, message, user_message(f"{question}\nThe database reports an error: {result.get('error')}")]
    table = items(result.get("rows"))
    if settings["code.speaker.order"] == "by amount":
        table.sort(key=lambda row: -real(row.get("sum")))
    lines = [f"{row.get('name')} = {real(row.get('sum')):,.0f}" for row in table]
    return say(runtime, "speaker", f"{question}\n" + "\n".join(lines))


def _table(**sums: int) -> JSONValue:
    return [{"name": name, "sum": value} for name, value in sums.items()]


_TABLES: Final[dict[str, JSONValue]] = {
    "region sum gross from orders_2025": _table(south=48100, north=51700, west=12050),
    "region sum gross from orders_2024": _table(south=47000, north=39900, west=15010),
    "region sum gross from orders_2026": _table(south=9100, north=8800, west=2100),
    "region sum net from orders_2025": _table(south=40420, north=43445, west=10126),
    "region sum net from orders_2024": _table(south=39495, north=33529, west=12613),
    "product sum gross from orders_2025": _table(tents=70200, boots=41650),
    "product sum net from orders_2025": _table(tents=58991, boots=35000),
    "region sum gross from orders_2025 where paid": _table(south=47900, north=44010, west=11900),
}
_ANALYSIS: Final = Program(
    name="warehouse analyst",
    group="queries and rows",
    program=_analysis,
    final="speaker",
    model=model_of({"coder": _write_query, "speaker": _word}),
    menu=(),
    settings={
        **prompts(
            coder=(
                "You are the coder. Write one query. Table orders_YEAR has region, product, gross, net, paid.",
                "Revenue is the column gross.",
                "The current year is 2025.",
                "",
                "",
            ),
            speaker=("You are the speaker. Word the result.", "Name the best 2.", "Amounts are in euros.", ""),
        ),
        "user.0": "Good morning.",
        "user.1": "What is the revenue per region?",
        "user.2": "",
        "code.coder+run_query.errors": "sent back",
        "code.speaker.order": "by amount",
        **{f"row.run_query.select {query}.rows": table for query, table in _TABLES.items()},
    },
    edits=(
        edit("upstream", "user.0", "Hello.", "Good evening.", decoy=True),
        edit(
            "upstream",
            "user.1",
            "What was the revenue per region in 2024?",
            "What is the revenue per product?",
            "What is the revenue of each region?",
        ),
        edit("upstream", "user.2", "It is for the board.", "Thanks.", decoy=True),
        edit("prompt", "prompt.coder.1", "Revenue is the column net.", "Revenue is the column gross, not net."),
        edit("prompt", "prompt.coder.2", "The current year is 2024.", "The current year is 2026."),
        edit("prompt", "prompt.coder.3", "Count paid orders only.", "Count paid things."),
        wording("coder", 4),
        edit("model", "model.coder.name", "m2", decoy=True),
        edit("prompt", "prompt.speaker.1", "Name the best 1.", "Name the best 3."),
        edit("prompt", "prompt.speaker.2", "Amounts are in francs.", "Amounts are in euros, rounded."),
        wording("speaker", 3),
        edit("model", "model.speaker.temperature", 0.8),
        edit("model", "model.speaker.name", "m2", decoy=True),
        edit("upstream", "code.coder+run_query.errors", "ignored", decoy=True),
        edit("upstream", "code.speaker.order", "as found"),
        edit(
            "tool",
            "row.run_query.select region sum gross from orders_2025.rows",
            _table(south=53900, north=51700, west=12050),
            _table(south=48100, north=51700, west=13000),
        ),
        edit(
            "tool",
            "row.run_query.select region sum gross from orders_2024.rows",
            _table(south=47000, north=39900, west=16000),
            decoy=True,
        ),
        edit("model", "model.coder.max_tokens", 900, decoy=True),
        *sampling("coder"),
    ),
)

PLANNERS: Final[tuple[Program, ...]] = (_WEEKEND, _ANALYSIS)
