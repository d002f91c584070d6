"""Specialists that hand a customer over with a note, and a profile that is rewritten after every turn."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of, parse
from tests.bench.attribution.programs.shapes import (
    Edit,
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

# ---- telephone company: `HANDOFF TO desk: note` ends a specialist's turn; code cuts the note and forbids circles

_DESKS: Final = ("billing", "technical", "retention")


def _triage(request: Request) -> str:
    letter = request.last.lower()
    desks = [desk for word, desk in re.findall(r"Mails about (\w+) go to (\w+)\.", request.system) if word in letter]
    desk = (desks or ["billing"])[-1 if request.model == "m2" else 0]
    urgency = 1 if request.rule(r"The word (\w+) makes it urgent\.", "lawyer") in letter else 3
    return json.dumps({"route": desk, "urgency": urgency})


def _account(request: Request) -> str:
    return find(r"customer number is (K\d{4}-\d\d)", request.spoken, "none")


def _bill(request: Request) -> str | ToolCall:
    if "get_invoice" not in request.called:
        return "get_invoice", {"account": _account(request)}
    invoice = request.latest_result
    extra, reason = str(invoice.get("extra", "0")), str(invoice.get("reason", "none"))
    limit = int(request.rule(rf"Credit {reason} up to (\d+) euros\.", "0"))
    credit = min(decimal(r"([\d.]+)", extra), limit)
    if "slow" in request.spoken and "Hand over to technical when the line is slow." in request.system:
        return f"HANDOFF TO technical: credit of {credit:.2f} euros for {reason} granted, line is slow."
    return f"We credit {credit:.2f} euros of the {extra} euros for {reason}."


def _repair_line(request: Request) -> str | ToolCall:
    if "line_test" not in request.called:
        return "line_test", {"account": _account(request)}
    test = request.latest_result
    measured, promised = (number(r"(\d+)", str(test.get(name, 0))) for name in ("megabits", "promised"))
    share = 100 * measured // max(promised, 1)
    if share < int(request.rule(r"Hand over to retention below (\d+) percent\.", "0")):
        return f"HANDOFF TO retention: only {share} percent of the speed. {find(r'NOTE: (.+)', request.spoken)}"
    visit = request.rule(r"Send an engineer within (\d+) days\.", "7")
    return f"The line reaches {share} percent; an engineer repairs {test.get('fault', 'it')} within {visit} days."


def _retain(request: Request) -> str | ToolCall:
    tool = request.tool("contract")
    if tool and tool not in request.called:
        return tool, {"account": _account(request)}
    contract = request.latest_result
    years = number(r"(\d+)", str(contract.get("years", 0)))
    off = int(request.rule(r"Offer (\d+) percent off\.", "5"))
    off += int(request.rule(r"Add (\d+) percent for loyal customers\.", "0")) if years >= 5 else 0
    credit = find(r"CREDIT OF ([\d.]+)", request.spoken)
    thanks = f" on top of the {credit} euros" if credit and "Mention earlier credits." in request.system else ""
    return f"You get {off} percent off the {contract.get('plan', 'basic')} plan for 6 months{thanks}."


def _telephone(runtime: Runtime) -> str:
    letter = user(runtime.settings)
    ticket = parse(find(r"(\{.*\})", say(runtime, "triage", letter), "{}"))
    desk, path, text, task = str(ticket.get("route", "billing")), list[str](), "", letter
    while desk in _DESKS and desk not in path:
        path.append(desk)
        text = runtime.agent(f"{desk} specialist", task, _specialist(runtime, desk, task))
        desk, note = find(r"HANDOFF TO (\w+):", text), find(r"HANDOFF TO \w+: (.+)", text)
        task = f"{letter}\nNOTE: {note.upper()[:74]}"
    mark = "!" if ticket.get("urgency") == 1 else ""
    return f"[{' > '.join(path)}{mark}] {text}"


def _specialist(runtime: Runtime, node: str, task: str) -> Callable[[], str]:
    return partial(_work, runtime, node, task)


def _work(runtime: Runtime, node: str, task: str) -> str:
    tools: list[JSONValue] = [
        {"name": "get_invoice", "description": "shows the last invoice of an account"},
        {"name": "line_test", "description": "measures the line of an account"},
        {"name": "get_contract", "description": runtime.settings["tool.contract"]},
    ]
    return text_of(converse(runtime, node, [user_message(task)], tools)[-1])


_TELEPHONE: Final = Program(
    name="telephone company",
    group="hand-over notes",
    most=4,
    program=_telephone,
    final="retention",
    model=model_of(
        {
            "triage agent": _triage,
            "billing specialist": _bill,
            "line specialist": _repair_line,
            "retention specialist": _retain,
        }
    ),
    menu=(),
    settings={
        **prompts(
            triage=(
                "You are the triage agent. Answer with a JSON object.",
                "Mails about invoice go to billing.",
                "Mails about slow go to technical.",
                "",
                "",
            ),
            billing=(
                "You are the billing specialist. Look at the invoice first.",
                "Credit roaming up to 20 euros.",
                "Hand over to technical when the line is slow.",
                "",
            ),
            technical=(
                "You are the line specialist. Measure before you promise.",
                "Hand over to retention below 40 percent.",
                "Send an engineer within 3 days.",
                "",
            ),
            retention=(
                "You are the retention specialist. Keep customers who want to leave.",
                "Offer 10 percent off.",
                "Mention earlier credits.",
                "",
                "",
            ),
        ),
        "user.0": "My last invoice is far too high and the line has been slow for weeks.",
        "user.1": "My customer number is K7712-04.",
        "user.2": "",
        "tool.contract": "shows the contract of an account",
        **rows(
            "get_invoice",
            K7712_04={"amount": "89.40", "extra": "24.50", "reason": "roaming", "month": "January"},
        ),
        **rows("line_test", K7712_04={"megabits": 31, "promised": 100, "fault": "the cabinet", "noise": 4}),
        **rows("get_contract", K7712_04={"plan": "Home 100", "years": 6, "agent": "Bill"}),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "My last invoice is far too high.",
            "The line has been slow for weeks and I have had enough.",
            "My lawyer has seen the invoice, and the line is slow.",
        ),
        edit("upstream", "user.2", "I have been with you for years.", "Please answer by mail.", decoy=True),
        edit("prompt", "prompt.triage.1", "Mails about payment go to billing.", "Mails about invoice go to retention."),
        edit("prompt", "prompt.triage.3", "The word weeks makes it urgent.", "The word today makes it urgent."),
        wording("triage", 4),
        edit("model", "model.triage.name", "m2"),
        edit("prompt", "prompt.billing.1", "Credit roaming up to 15 euros.", "Credit roaming up to 50 euros."),
        edit("prompt", "prompt.billing.2", ""),
        wording("billing", 3),
        edit("prompt", "prompt.technical.1", "Hand over to retention below 25 percent."),
        edit("prompt", "prompt.technical.2", "Send an engineer within 5 days.", decoy=True),
        wording("technical", 3),
        edit("model", "model.technical.name", "m2", decoy=True),
        edit("prompt", "prompt.retention.1", "Offer 15 percent off.", "Offer 20 percent off."),
        edit("prompt", "prompt.retention.2", ""),
        edit("prompt", "prompt.retention.3", "Add 5 percent for loyal customers."),
        wording("retention", 4),
        edit("tool", "tool.contract", "for internal use", "shows the plan and the contract of an account"),
        edit("tool", "row.get_invoice.K7712-04.extra", "18.20", "31.00"),
        edit("tool", "row.get_invoice.K7712-04.month", "February", decoy=True),
        edit("tool", "row.line_test.K7712-04.megabits", 52, 38),
        edit("tool", "row.line_test.K7712-04.noise", 6, decoy=True),
        Edit(
            category="tool",
            variants=((("row.get_contract.K7712-04.plan", "Home 250"), ("row.get_contract.K7712-04.agent", "Ann")),),
        ),
        *sampling("triage", "billing", "technical", "retention"),
    ),
)

# ---- flights: a model rewrites a profile after each turn; only the profile reaches the agent's prompt

_CITIES: Final = r"\b(Oslo|Porto|Vienna|Athens)\b"


def _remember(request: Request) -> str:
    text, profile = find(r"Turn: (.+)", request.last), parse(find(r"Profile: (\{.*\})", request.last, "{}"))
    cities = re.findall(_CITIES, text)
    correction = bool(re.search(r"\b(actually|sorry|rather|instead)\b", text.lower()))
    fresh: JSONObject = {
        "to": cities[-1] if cities else None,
        "travellers": number(r"(\d+) (?:of us|people|adults)", text) or None,
        "limit": number(r"(?:budget|at most|up to) (?:is )?(\d+)", text) or None,
        "bags": "yes" if re.search(r"\b(bags?|suitcases?)\b", text) else None,
    }
    stubborn = "Never overwrite what is known." in request.system or (request.model == "m2" and not correction)
    for name, value in fresh.items():
        if value is not None and not (stubborn and name in profile):
            profile[name] = value
    return f"Profile: {json.dumps({name: profile[name] for name in sorted(profile)})}"


def _offer_flight(request: Request) -> str | ToolCall:
    profile = parse(find(r"Known so far: (\{.*\})", request.system, "{}"))
    if "to" not in profile:
        return "Where would you like to go?"
    if "find_flights" not in request.called:
        fare = "-FLEX" if request.tool("-FLEX") and "budget" not in request.last else ""
        return "find_flights", {"route": f"LHR-{str(profile['to'])[:3].upper()}{fare}"}
    flight = request.latest_result
    people = number(r"(\d+)", str(profile.get("travellers", 1)), 1)
    each = number(r"(\d+)", str(flight.get("fare", 0)))
    each += number(r"(\d+)", str(flight.get("bag", 0))) if profile.get("bags") == "yes" else 0
    total = people * each - int(request.rule(r"Take (\d+) pounds off groups of three or more\.", "0")) * (people > 2)
    limit = number(r"(\d+)", str(profile.get("limit", 0)))
    over, is_open = limit and total > limit, "Be open about the budget." in request.system
    note = f", {total - limit} pounds over your budget" if over and is_open else ""
    return f"Flight {flight.get('number', 'unknown')} to {profile['to']} for {people} costs {total} pounds{note}."


def _flight_desk(runtime: Runtime) -> str:
    profile, reply = "{}", ""
    for turn in range(4):
        text = str(runtime.settings[f"turn.{turn}"])
        update = say(runtime, "memory", f"Profile: {profile}\nTurn: {text}")
        profile = find(r"Profile: (\{.*\})", update, profile)
        opening = system_message(runtime, "agent")
        opening["content"] = f"{opening['content']} Known so far: {profile}"
        reply = _agent_turn(runtime, [opening, user_message(text)])
    return reply


def _agent_turn(runtime: Runtime, messages: list[JSONValue]) -> str:
    """Let the agent answer one turn, with at most two searches."""
    tools: list[JSONValue] = [{"name": "find_flights", "description": runtime.settings["tool.flights"]}]
    for _ in range(3):
        message = runtime.model("agent", messages, tools)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            return text_of(message)
        messages.append(message)
        for call in calls:
            assert isinstance(call, dict)
            assert isinstance(call["arguments"], dict)
            row = runtime.tool(str(call["name"]), call["arguments"], str(call["id"]))
            messages.append({"role": "tool", "content": json.dumps(row), "tool_call_id": call["id"]})
    return "I could not find a flight."


_FLIGHT_DESK: Final = Program(
    name="flight desk",
    group="corrected profile",
    most=5,
    program=_flight_desk,
    final="agent",
    model=model_of({"memory keeper": _remember, "flight agent": _offer_flight}),
    menu=(),
    settings={
        **prompts(
            memory=(
                "You are the memory keeper. Write the traveller's profile as JSON after every turn.",
                "Use the newest value when the traveller changes their mind.",
                "",
            ),
            agent=(
                "You are the flight agent. Use what is known and never ask twice.",
                "Be open about the budget.",
                "",
                "",
            ),
        ),
        "user.0": "",
        "turn.0": "Hello, we want to fly to Porto in May.",
        "turn.1": "There are 3 of us and our budget is 500 pounds.",
        "turn.2": "Sorry, my sister cannot come, so it is 2 people.",
        "turn.3": "Each of us takes a bag. What does it cost?",
        "tool.flights": "lists the flights of a route",
        **rows(
            "find_flights",
            LHR_POR={"number": "TP 1331", "fare": 214, "bag": 40, "seats": 9},
            LHR_POR_FLEX={"number": "TP 1331", "fare": 271, "bag": 0, "seats": 9},
            LHR_VIE={"number": "OS 452", "fare": 168, "bag": 35, "seats": 4},
            LHR_OSL={"number": "SK 806", "fare": 131, "bag": 30, "seats": 21},
        ),
    },
    edits=(
        edit("upstream", "turn.0", "Hello, we want to fly to Vienna in May.", "Hi, is there a flight to Porto in May?"),
        edit("upstream", "turn.1", "There are 3 of us and our budget is 450 pounds.", "There are 4 people coming."),
        edit("upstream", "turn.2", "Actually, make that Oslo.", "My sister is still thinking about it."),
        edit("upstream", "turn.3", "What does it cost without luggage?", "Each of us has a suitcase. How much is it?"),
        edit("prompt", "prompt.memory.1", "Never overwrite what is known.", "Keep the profile short."),
        wording("memory", 2),
        edit("model", "model.memory.name", "m2", decoy=True),
        edit("model", "model.memory.max_tokens", 120, decoy=True),
        edit("prompt", "prompt.agent.1", "Do not talk about the budget."),
        edit("prompt", "prompt.agent.2", "Take 60 pounds off groups of three or more.", "Sign as Anna."),
        wording("agent", 3),
        edit("model", "model.agent.name", "m2", decoy=True),
        edit("tool", "row.find_flights.LHR-POR.fare", 229, 198),
        edit("tool", "row.find_flights.LHR-POR.bag", 55),
        edit(
            "tool",
            "tool.flights",
            "lists the flights of a route, or with -FLEX after it those that can be changed",
            "lists all flights of a route",
        ),
        Edit(
            category="tool",
            variants=((("row.find_flights.LHR-POR.number", "TP 1337"), ("row.find_flights.LHR-POR.seats", 2)),),
        ),
        edit("tool", "row.find_flights.LHR-POR.seats", 3, decoy=True),
        edit("tool", "row.find_flights.LHR-OSL.fare", 149, decoy=True),
        *sampling("memory", "agent"),
    ),
)

HANDOVERS: Final = (_TELEPHONE, _FLIGHT_DESK)
REWORDABLE: Final = (_TELEPHONE,)
