"""The six pipelines: their code, what they are made of, and the menus from which changes are taken."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tests.bench.attribution.mechanisms.running import Model, Program, Runtime, answered, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, system, user
from traces.core.json_types import JSONObject, JSONValue

Category = Literal["prompt", "retrieval", "tool", "model", "upstream"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An entry that a change may set, and to what; `idle` ones never matter and may accompany any change."""

    category: Category
    path: str
    values: tuple[JSONValue, ...]
    idle: bool = False


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    name: str
    program: Program
    settings: Mapping[str, JSONValue]
    menu: tuple[Choice, ...]
    final: str  # the node that gives the answer
    model: Model = answered


def _chat(runtime: Runtime, node: str, tools: list[JSONValue], turns: int = 9) -> str:
    """An agent loop: ask the model, run what it asks for, until it says something."""
    messages: list[JSONValue] = [_system(runtime, node), {"role": "user", "content": user(runtime.settings)}]
    for _ in range(turns):
        message = runtime.model(node, messages, tools)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            return _content(message)
        messages = [*messages, message]
        for call in calls:
            assert isinstance(call, dict)
            arguments = call["arguments"]
            assert isinstance(arguments, dict)
            result = runtime.tool(str(call["name"]), arguments, str(call["id"]))
            messages.append({"role": "tool", "content": result_text(result), "tool_call_id": call["id"]})
    return "The agent went round in circles."


def _said(runtime: Runtime, node: str, *texts: str) -> str:
    """One call of a node that only talks."""
    messages: list[JSONValue] = [_system(runtime, node)]
    messages += [{"role": "user", "content": text} for text in texts]
    return _content(runtime.model(node, messages))


def _system(runtime: Runtime, node: str) -> JSONObject:
    return {"role": "system", "content": system(runtime.settings, node)}


def _content(message: JSONObject) -> str:
    return str(message.get("content") or "")


def _rag(runtime: Runtime) -> str:
    found = runtime.retrieve("search", "within how many days can I send something back", 4)
    return _said(runtime, "answerer", user(runtime.settings), "Documents:\n" + "\n".join(found))


def _desk(runtime: Runtime) -> str:
    names = ("get_order", "get_policy", "issue_refund", "send_replacement", "escalate")
    return _chat(runtime, "desk", [{"name": name} for name in names])


def _crew(runtime: Runtime) -> str:
    regions = re.findall(r"\b(north|south|west)\b", user(runtime.settings)) or ["north"]
    figures = [runtime.tool("load_figures", {"region": region}) for region in regions]
    plan = _said(runtime, "planner", user(runtime.settings))
    table = "\n".join(result_text(each) for each in figures)
    found = [
        _said(runtime, "worker", f"{plan}\nFigures:\n{table}\nDo item {number}.")
        for number in range(1, len(regions) + 1)
    ]
    return _said(runtime, "critic", "\n".join(found))


def _map_reduce(runtime: Runtime) -> str:
    chunks = runtime.retrieve("load_report", "incidents of the team", 4)
    counted = [
        _said(runtime, "mapper", f"<{number}>{chunk}</{number}>\nDo item {number}.")
        for number, chunk in enumerate(chunks, 1)
    ]
    return _said(runtime, "reducer", "\n".join(counted))


def _retry(runtime: Runtime) -> str:
    return _chat(runtime, "analyst", [{"name": "query"}])


def _guarded(runtime: Runtime) -> str:
    settings = runtime.settings
    variables: JSONObject = {name: settings[f"variable.{name}"] for name in ("product", "discount", "channel")}
    template = "Write an offer for the {product} with {discount} percent off, to be sent by {channel}."
    wanted = runtime.prompt("offer", template, variables)
    price = runtime.tool("get_price", {"product": "lamp"})
    draft = _said(runtime, "writer", wanted, f"Price list: {result_text(price)}")
    verdict = _said(runtime, "validator", draft)
    return _said(runtime, "editor", f"{draft}\n{verdict}")


# ---- what prompts may say

_POLITE: Final = (
    "Stay friendly.",
    "Stay friendly at all times.",
    "stay  friendly.",
    "Be kind and patient.",
    "The customer comes first.",
)
_HOUSE: Final = (
    "We are a small shop.",
    "We are a small shop in Bern.",
    "Our shop was founded in 1987.",
    "Our customers are mostly families.",
    "WE ARE A SMALL SHOP.",
)
_DATE: Final = ("Today is a working day.", "Today is a nice working day.", "It is early in the morning.")
_MANNERS: Final = (
    "",
    "Begin with a greeting.",
    "Sign as Team North.",
    "Sign as the office.",
    "Answer in German.",
    "Answer in at most 5 words.",
    "Answer in at most 7 words.",
)


def _prompt(node: str, slot: int, *values: str, idle: bool = False) -> Choice:
    return Choice(category="prompt", path=f"prompt.{node}.{slot}", values=values, idle=idle)


def _wording(node: str, *slots: int) -> tuple[Choice, ...]:
    return tuple(
        _prompt(node, slot, *texts, idle=True) for slot, texts in zip(slots, (_POLITE, _HOUSE, _DATE), strict=False)
    )


def _row(tool: str, path: str, *values: JSONValue, idle: bool = False) -> Choice:
    return Choice(category="tool", path=f"row.{tool}.{path}", values=values, idle=idle)


def _doc(path: str, *values: JSONValue, idle: bool = False) -> Choice:
    return Choice(category="retrieval", path=f"doc.{path}", values=values, idle=idle)


def _models(*nodes: str) -> tuple[Choice, ...]:
    return tuple(
        choice
        for node in nodes
        for choice in (
            Choice(category="model", path=f"model.{node}.name", values=("m2", "m3")),
            Choice(category="model", path=f"model.{node}.temperature", values=(0.2, 0.7), idle=True),
            Choice(category="model", path=f"model.{node}.max_tokens", values=(6, 9, 200)),
        )
    )


def _users(*texts: str) -> Choice:
    return Choice(category="upstream", path="user.2", values=texts, idle=True)


_USERS: Final = _users("Thanks!", "Thank you in advance.", "I wrote to you last week already.")

RAG: Final = Pipeline(
    name="rag",
    program=_rag,
    final="answerer",
    settings={
        **prompts(
            answerer=(
                "You are the answerer.",
                _POLITE[0],
                "Use only the first 3 documents.",
                "Where sources disagree, take the first one.",
                _HOUSE[0],
                "",
                "",
                _DATE[0],
            )
        ),
        "user.0": "Hello.",
        "user.1": "Until when can I send my lamp back?",
        "user.2": "",
        "doc.d1.text": "You can send something back within 30 days after you got it.",
        "doc.d1.date": "2024-03-01",
        "doc.d2.text": "What you do not like you can send back within 14 days.",
        "doc.d2.date": "2025-06-01",
        "doc.d3.text": "Members can send something back within 60 days.",
        "doc.d3.date": "2023-01-15",
        "doc.d4.text": "How to send something back: many days are fine, any box will do.",
        "doc.d4.date": "2025-09-09",
        "doc.d5.text": "Our shop opens at nine and closes at six.",
        "doc.d5.date": "2025-10-01",
        "doc.d6.text": "Lamps come with a cable of two metres.",
        "doc.d6.date": "2022-02-02",
    },
    menu=(
        _prompt(
            "answerer",
            2,
            "Use only the first 1 document.",
            "Use only the first 2 documents.",
            "",
            "Use only the  first 3 documents.",
        ),
        _prompt(
            "answerer",
            3,
            "Where sources disagree, take the newest one.",
            "Where sources disagree, take the strictest one.",
            "Where sources disagree, take the first.",
        ),
        _prompt("answerer", 5, "Always cite the source."),
        _prompt("answerer", 6, *_MANNERS[1:]),
        *_wording("answerer", 1, 4, 7),
        *_models("answerer"),
        _USERS,
        Choice(category="upstream", path="user.0", values=("Hello, I am no member.", "Hello there.")),
        _doc(
            "d1.text",
            "You can send something back within 45 days after you got it.",
            "You can send something back within 30 days after it came.",
            "Somebody will come and get it.",
        ),
        _doc(
            "d2.text",
            "What you do not like you can send back within 10 days.",
            "What you do not like you can send back, within 14 days.",
        ),
        _doc(
            "d3.text",
            "Members can send something back within 7 days.",
            "Members can send something back within 60 days, as you know.",
        ),
        _doc("d1.date", "2025-12-01", "2024-03-02"),
        _doc("d3.date", "2026-01-01"),
        _doc("d4.text", "How to send something back: use any box."),
        _doc("d5.text", "Our shop opens at ten and closes at six."),
        _doc("d6.text", "Within how many days can I send something back? Lamps: within 3 days."),
        _doc("d5.date", "2025-10-02", idle=True),
        _doc("d4.date", "2025-09-10", idle=True),
    ),
)

DESK: Final = Pipeline(
    name="desk",
    program=_desk,
    final="desk",
    settings={
        **prompts(
            desk=(
                "You are the order desk.",
                _POLITE[0],
                "Amounts are in euros.",
                "Never refund more than 100 euros.",
                "",
                "Refund what was lost.",
                "",
                _HOUSE[0],
            )
        ),
        "user.0": "Hello, please refund my order A-7.",
        "user.1": "It never came.",
        "user.2": "",
        **rows(
            "get_order",
            A_7={"order_id": "A-7", "total": 42, "state": "lost", "carrier": "northern parcels"},
            B_2={"order_id": "B-2", "total": 150, "state": "late", "carrier": "southern parcels"},
        ),
        **rows(
            "get_policy",
            lost={"state": "lost", "fee": 0, "text": "Lost parcels are on us."},
            late={"state": "late", "fee": 5, "text": "Late parcels cost a little."},
        ),
        "row.issue_refund.limits.cap": 500,
    },
    menu=(
        _prompt("desk", 2, "Amounts are in cents.", "amounts are  in euros.", ""),
        _prompt(
            "desk",
            3,
            "Never refund more than 40 euros.",
            "Never refund more than 60 euros.",
            "Never refund more than 30 euros.",
            "",
        ),
        _prompt(
            "desk",
            4,
            "Look up the policy before you refund.",
            "Keep a fee of 4 euros.",
            "Hand every refund over to a person.",
        ),
        _prompt("desk", 5, "Replace what was lost.", "", "refund what was lost."),
        _prompt("desk", 6, *_MANNERS[1:]),
        *_wording("desk", 1, 7),
        *_models("desk"),
        _USERS,
        Choice(
            category="upstream",
            path="user.0",
            values=("Hello, please refund my order B-2.", "Good morning, please refund my order A-7."),
        ),
        Choice(category="upstream", path="user.1", values=("It has not come.", "It never came, I fear."), idle=True),
        _row("get_order", "A-7.total", 46, 38, 70, 130),
        _row("get_order", "A-7.state", "late", "returned"),
        _row("get_order", "A-7.carrier", "western parcels", idle=True),
        _row("get_policy", "lost.fee", 4, 10),
        _row("get_policy", "late.fee", 0, 9),
        _row("get_policy", "lost.text", "Lost parcels are on the house.", idle=True),
        _row("issue_refund", "limits.cap", 1000, 5000, 40),
    ),
)

CREW: Final = Pipeline(
    name="crew",
    program=_crew,
    final="critic",
    settings={
        **prompts(
            planner=("You are the planner.", _POLITE[0], "Report the total.", "", _HOUSE[0], "", _DATE[0]),
            worker=("You are the worker.", _POLITE[0], "Amounts are in euros.", "", _HOUSE[0], ""),
            critic=("You are the critic.", _POLITE[0], "Distrust figures above 900.", "", _HOUSE[0], ""),
        ),
        "user.0": "Which of the regions north, south and west leads?",
        "user.1": "",
        "user.2": "",
        **rows(
            "load_figures",
            north={"region": "north", "mon": 40, "tue": 50, "sat": 90},
            south={"region": "south", "mon": 60, "tue": 70, "sat": 20},
            west={"region": "west", "mon": 30, "tue": 20, "sat": 10},
        ),
    },
    menu=(
        _prompt(
            "planner", 2, "Report the average.", "Report the maximum.", "Report the minimum.", "", "report the total."
        ),
        _prompt("planner", 3, "Take the regions in reverse order."),
        _prompt("planner", 5, "Begin with a greeting.", "Sign as the planner."),
        _prompt("worker", 2, "Amounts are in cents.", ""),
        _prompt("worker", 3, "Leave out weekends."),
        _prompt("worker", 5, "Begin with a greeting."),
        _prompt(
            "critic",
            2,
            "Distrust figures above 150.",
            "Distrust figures above 160.",
            "Distrust figures above 80.",
            "",
            "Distrust figures above 9000.",
        ),
        _prompt("critic", 3, *_MANNERS[1:]),
        *_wording("planner", 1, 4, 6),
        *_wording("worker", 1, 4),
        *_wording("critic", 1, 4),
        *_models("planner", "worker", "critic"),
        _USERS,
        _row("load_figures", "north.sat", 15, 100, 880),
        _row("load_figures", "south.mon", 95, 130, 62),
        _row("load_figures", "west.tue", 25, 400, 24),
        _row("load_figures", "west.mon", 31, 900),
        _row("load_figures", "south.sat", 70, 21),
        _row("load_figures", "west.sat", 11, 12),
    ),
)

MAP_REDUCE: Final = Pipeline(
    name="map-reduce",
    program=_map_reduce,
    final="reducer",
    settings={
        **prompts(
            mapper=("You are the mapper.", _POLITE[0], "Report the total.", "", _HOUSE[0], ""),
            reducer=(
                "You are the reducer.",
                _POLITE[0],
                "Report the total.",
                "Name only teams with more than 4.",
                "",
                _HOUSE[0],
                "",
            ),
        ),
        "user.0": "How many incidents were there?",
        "user.1": "",
        "user.2": "",
        "doc.r1.text": "The team red had 12 incidents. On the weekend there were 5 incidents.",
        "doc.r1.date": "2025-01-06",
        "doc.r2.text": "The team blue had 3 incidents. On the weekend there were 8 incidents.",
        "doc.r2.date": "2025-01-06",
        "doc.r3.text": "The team green had 9 incidents, all of them small.",
        "doc.r3.date": "2025-01-06",
        "doc.r4.text": "The team gold had 4 incidents, and nobody was hurt.",
        "doc.r4.date": "2025-01-06",
    },
    menu=(
        _prompt("mapper", 2, "Report the maximum.", "Report the minimum.", "", "report the  total."),
        _prompt("mapper", 3, "Leave out weekends."),
        _prompt("mapper", 5, "Begin with a greeting."),
        _prompt("reducer", 2, "Report the average.", "Report the maximum.", ""),
        _prompt(
            "reducer",
            3,
            "Name only teams with more than 3.",
            "Name only teams with more than 10.",
            "",
            "Name only teams with more than 7.",
            "name only teams with more than 4.",
        ),
        _prompt("reducer", 4, "Use only the first 2 documents.", "Use only the first 3 documents."),
        _prompt("reducer", 6, *_MANNERS[1:]),
        *_wording("mapper", 1, 4),
        *_wording("reducer", 1, 5),
        *_models("mapper", "reducer"),
        _doc(
            "r1.text",
            "The team red had 12 incidents. On the weekend there were 9 incidents.",
            "The team red had 2 incidents. On the weekend there were 15 incidents.",
            "The team red, as ever, had 12 incidents. On the weekend there were 5 incidents.",
        ),
        _doc(
            "r2.text",
            "The team blue had 3 incidents. On the weekend there were 11 incidents.",
            "The team blue had 7 incidents. On the weekend there were 8 incidents.",
        ),
        _doc(
            "r3.text",
            "The team green had 13 incidents, all of them small.",
            "The team green had 9 incidents, all of them tiny.",
        ),
        _doc(
            "r4.text",
            "The team gold had 6 incidents, and nobody was hurt.",
            "The team gold had 4 incidents, and nobody was harmed.",
            "The team gold had 2 incidents, and nobody was hurt.",
        ),
        _doc("r1.date", "2025-01-07", idle=True),
        _doc("r3.date", "2025-01-08", idle=True),
    ),
)

RETRY: Final = Pipeline(
    name="retry",
    program=_retry,
    final="analyst",
    settings={
        **prompts(
            analyst=(
                "You are the analyst.",
                _POLITE[0],
                "Try the column amount first.",
                "Of several hints take the first one.",
                "Give up after 3 attempts.",
                "Amounts are in euros.",
                "",
                _HOUSE[0],
            )
        ),
        "user.0": "What was the revenue of the week?",
        "user.1": "",
        "user.2": "",
        **rows(
            "query",
            amount={"error": "unknown column amount", "hints": "total, gross"},
            total={"error": "unknown column total", "hints": "net, gross"},
            net={"column": "net", "value": 120},
            gross={"column": "gross", "value": 143},
            brutto={"column": "brutto", "value": 143},
        ),
    },
    menu=(
        _prompt(
            "analyst",
            2,
            "Try the column net first.",
            "Try the column gross first.",
            "",
            "Try the column brutto first.",
            "Try the column total first.",
            "try the column amount first.",
        ),
        _prompt("analyst", 3, "Of several hints take the last one.", "", "Of several hints take the first."),
        _prompt("analyst", 4, "Give up after 2 attempts.", "Give up after 1 attempt.", "Give up after 5 attempts.", ""),
        _prompt("analyst", 5, "Amounts are in cents.", ""),
        _prompt("analyst", 6, *_MANNERS[1:]),
        *_wording("analyst", 1, 7),
        *_models("analyst"),
        _USERS,
        Choice(
            category="upstream",
            path="user.0",
            values=("What was the revenue of the month?", "Please tell me: what was the revenue of the week?"),
        ),
        _row("query", "amount.hints", "gross, total", "net, gross", "total, net", "brutto"),
        _row("query", "total.hints", "gross, net", "net", "brutto, net"),
        _row("query", "net.value", 143, 99),
        _row("query", "gross.value", 120, 150),
        _row("query", "amount.error", "no column amount", idle=True),
        _row("query", "total.error", "no such column", idle=True),
    ),
)

GUARDED: Final = Pipeline(
    name="guarded",
    program=_guarded,
    final="editor",
    settings={
        **prompts(
            writer=("You are the writer.", _POLITE[0], "", "", _HOUSE[0], ""),
            validator=("You are the validator.", _POLITE[0], "Reject discounts above 20 percent.", _HOUSE[0], ""),
            editor=("You are the editor.", _POLITE[0], "", "", _HOUSE[0]),
        ),
        "user.0": "",
        "user.1": "",
        "user.2": "",
        "variable.product": "lamp",
        "variable.discount": 15,
        "variable.channel": "mail",
        **rows("get_price", lamp={"product": "lamp", "price": 44, "stock": 3}),
    },
    menu=(
        Choice(category="prompt", path="variable.discount", values=(25, 30, 18, 10)),
        Choice(category="prompt", path="variable.channel", values=("post", "letter"), idle=True),
        Choice(category="prompt", path="variable.product", values=("desk",)),
        _prompt("writer", 2, "Add 10 percent for members.", "Add 3 percent for members."),
        _prompt("writer", 3, "Round prices."),
        _prompt("writer", 5, "Begin with a greeting.", "Sign as the writer."),
        _prompt(
            "validator",
            2,
            "Reject discounts above 12 percent.",
            "Reject discounts above 40 percent.",
            "",
            "reject discounts above 20 percent.",
        ),
        _prompt("validator", 4, "Begin with a greeting."),
        _prompt("editor", 2, "Cut a rejected discount to 5 percent.", "Cut a rejected discount to 12 percent."),
        _prompt("editor", 3, *_MANNERS[1:]),
        *_wording("writer", 1, 4),
        *_wording("validator", 1, 3),
        *_wording("editor", 1, 4),
        *_models("writer", "validator", "editor"),
        _row("get_price", "lamp.price", 50, 41, 48),
        _row("get_price", "lamp.stock", 2, 9, idle=True),
    ),
)

PIPELINES: Final = (RAG, DESK, CREW, MAP_REDUCE, RETRY, GUARDED)
