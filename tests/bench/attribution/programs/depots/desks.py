"""A report cut by code, a concierge who forgets early turns, and a counter whose tools get other names."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Edit,
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

# ---- bugs: a triager labels a report that code cut, the label chooses the team, a helper replies


def _triage(request: Request) -> str:
    text = request.last.lower()
    for label, words in (("crash", "crash"), ("slow", request.rule(r"Slow means ([\w]+)\.", "seconds"))):
        if words in text:
            grade = "urgent" if request.rule(r"Urgent is (\w+)\.", "money") in text else "normal"
            return f"LABEL {label} {grade}"
    return "LABEL question normal" if request.model == "m1" else "LABEL crash normal"


def _reply(request: Request) -> str:
    team, hours = find(r"^Team: (.+)$", request.last, "nobody"), find(r"^Hours: (\d+)", request.last, "?")
    urgent = "URGENT" in request.last
    promise = f" within {hours} hours" if "Promise a time." in request.system else " soon"
    close = request.rule(r"Close with (\w+)\.", "Thanks")
    first = "At once: " if urgent and "Put urgent ones first." in request.system else ""
    return f"{first}{team} will answer{promise}. {close}!"


def _intake(runtime: Runtime) -> str:
    settings = runtime.settings
    report = user(settings)[: int(real(settings["code.triager.cut"], 120))]
    label = re.findall(r"LABEL (\w+) (\w+)", say(runtime, "triager", report)) or [("question", "normal")]
    kind, grade = label[0]
    team = fields(runtime.tool("get_team", {"label": kind}))
    hours = real(team.get("hours"), 24) / (int(real(settings["code.helper.haste"], 2)) if grade == "urgent" else 1)
    mark = grade.upper() if settings["code.helper.form"] == "capitals" else grade
    lines = [f"Team: {team.get('name')}", f"Hours: {hours:.0f}", f"Grade: {mark}"]
    if settings["code.helper.shows"] == "report":
        lines.append(f"Report: {report[:30]}")
    return say(runtime, "helper", "\n".join(lines))


_INTAKE: Final = Program(
    name="bug intake",
    group="report cut and labelled",
    program=_intake,
    final="helper",
    model=model_of({"triager": _triage, "helper": _reply}),
    menu=(),
    settings={
        **prompts(
            triager=("You are the triager. Label it.", "Slow means seconds.", "Urgent is payment.", ""),
            helper=(
                "You are the helper. Reply.",
                "Promise a time.",
                "Put urgent ones first.",
                "Close with Thanks.",
                "",
            ),
        ),
        "user.0": "The page takes nine seconds to load after the payment.",
        "user.1": "",
        "code.triager.cut": 120,
        "code.helper.haste": 4,
        "code.helper.form": "capitals",
        "code.helper.shows": "report",
        **rows(
            "get_team",
            slow={"name": "the speed team", "hours": 24, "room": 4},
            crash={"name": "the core team", "hours": 8, "room": 2},
            question={"name": "the help team", "hours": 48, "room": 9},
        ),
    },
    edits=(
        edit("upstream", "user.0", "The app does crash after the payment.", "The page takes nine seconds to load."),
        edit("upstream", "user.1", "I use a phone.", "Best regards.", decoy=True),
        edit("prompt", "prompt.triager.1", "Slow means minutes."),
        edit("prompt", "prompt.triager.2", "Urgent is login."),
        wording("triager", 3),
        edit("model", "model.triager.name", "m2", decoy=True),
        edit("prompt", "prompt.helper.1", "Promise nothing."),
        edit("prompt", "prompt.helper.2", "Keep the order."),
        edit("prompt", "prompt.helper.3", "Close with Cheers."),
        wording("helper", 4),
        edit("upstream", "code.triager.cut", 20, 40),
        edit("upstream", "code.helper.haste", 1, 3),
        edit("upstream", "code.helper.form", "as read"),
        edit("upstream", "code.helper.shows", "nothing", decoy=True),
        edit("tool", "row.get_team.slow.name", "the web team"),
        edit("tool", "row.get_team.slow.hours", 36, 12),
        edit("tool", "row.get_team.slow.room", 7, decoy=True),
        *sampling("triager", "helper"),
    ),
)

# ---- hotel: one agent with native tools over several turns, of which code keeps the last ones


def _concierge(request: Request) -> str | ToolCall:
    wish, spoken = request.last.lower(), request.spoken.lower()
    nights = number(r"(\d+) nights", spoken, 1)
    room = find(r"\b(single|double|suite)\b", spoken, "single")
    if "price" in wish or "cost" in wish:
        if "get_rate" not in request.called:
            return "get_rate", {"room": room}
        rate = int(real(request.latest_result.get("rate")))
        cut = int(request.rule(r"Members pay (\d+) less\.", "0")) if "member" in spoken else 0
        total = (rate - cut) * (nights if request.model == "m1" else 1)
        extra = " with breakfast" if request.latest_result.get("breakfast") == "yes" else ""
        return f"The {room} costs {total} for {nights} nights{extra}."
    if "table" in wish:
        if "find_table" not in request.called:
            return "find_table", {"day": find(r"on (\w+day)", wish, "friday")}
        hour = request.latest_result.get("hour", "?")
        return f"A table is free at {hour}."
    greeting = request.rule(r"Greet with (\w+)\.", "Hello")
    return f"{greeting}, how can I help?"


_HOTEL_TOOLS: Final[tuple[JSONValue, ...]] = (
    tool("get_rate", "Returns the rate of a room.", "room"),
    tool("find_table", "Finds a free table.", "day"),
)


def _window(conversation: Sequence[JSONValue], most: int) -> list[JSONValue]:
    """The last messages, from one of the user's on."""
    recent = list(conversation[-most:]) if most else []
    while recent and fields(recent[0]).get("role") != "user":
        recent.pop(0)
    return recent


def _hotel(runtime: Runtime) -> str:
    settings = runtime.settings
    conversation: list[JSONValue] = []
    for turn in range(4):
        if words := str(settings.get(f"turn.{turn}") or ""):
            recent = _window(conversation, int(real(settings["code.concierge.window"], 20)))
            talk = converse(runtime, "concierge", [*recent, user_message(words)], _HOTEL_TOOLS)
            conversation = [*conversation, *talk[len(recent) :]]
    return text_of(conversation[-1]) if conversation else ""


_HOTEL: Final = Program(
    name="hotel concierge",
    group="turns kept by a window",
    program=_hotel,
    final="concierge",
    model=model_of({"concierge": _concierge}),
    menu=(),
    settings={
        **prompts(concierge=("You are the concierge.", "Members pay 10 less.", "Greet with Welcome.", "")),
        "user.0": "",
        "turn.0": "Hello, I am a member and stay 3 nights.",
        "turn.1": "Is there a table on Friday?",
        "turn.2": "What does the double cost?",
        "turn.3": "",
        "code.concierge.window": 20,
        **rows(
            "get_rate",
            single={"rate": 80, "breakfast": "no", "floor": 1},
            double={"rate": 120, "breakfast": "yes", "floor": 2},
            suite={"rate": 240, "breakfast": "yes", "floor": 5},
        ),
        **rows("find_table", friday={"hour": "19:30", "seats": 2}, sunday={"hour": "18:00", "seats": 4}),
    },
    edits=(
        edit("upstream", "turn.0", "Hello, I stay 3 nights.", "Hello, I am a member and stay 5 nights."),
        edit("upstream", "turn.1", "Is there a table on Sunday?", "Is it quiet here?", decoy=True),
        edit("upstream", "turn.2", "What does the suite cost?", "What does the single cost?"),
        edit("upstream", "turn.3", "And is there a table on Sunday?", "Thank you."),
        edit("prompt", "prompt.concierge.1", "Members pay 20 less."),
        edit("prompt", "prompt.concierge.2", "Greet with Hi.", decoy=True),
        wording("concierge", 3),
        edit("model", "model.concierge.name", "m2"),
        edit("upstream", "code.concierge.window", 2, 4),
        edit("tool", "row.get_rate.double.rate", 140, 95),
        edit("tool", "row.get_rate.double.breakfast", "no"),
        edit("tool", "row.get_rate.double.floor", 3, decoy=True),
        edit("tool", "row.find_table.friday.hour", "21:00", decoy=True),
        *sampling("concierge"),
    ),
)
_HOTEL_REWORDED: Final = replace(
    _HOTEL, name="hotel concierge, reworded", group="turns kept by a window, reworded", rewords=True
)

# ---- parts: a seller with native tools that get other names


def _sell(request: Request) -> str | ToolCall:
    part, amount = find(r"\b(belt|lamp|tyre)s?\b", request.last, "belt"), number(r"(\d+) \w+", request.last, 1)
    finder, pricer, shipper = request.tool("part number"), request.tool("price"), request.tool("delivery")
    known = {name: value for result in request.results for name, value in result.items()}
    if finder and finder not in request.called:
        return finder, {"part": part}
    number_of_part = str(known.get("number", "?"))
    if pricer and pricer not in request.called:
        return pricer, {"number": number_of_part}
    if shipper and shipper not in request.called and "Name the delivery." in request.system:
        return shipper, {"number": number_of_part}
    total = real(known.get("price")) * amount
    if amount >= int(request.rule(r"From (\d+) on, take 10 percent off\.", "99")):
        total *= 0.9
    days = f" It takes {known.get('days', '?')} days." if "Name the delivery." in request.system else ""
    figure = f"{total:.2f}" if request.model == "m1" else f"{total:.0f}"
    return f"{amount} of {number_of_part} cost {figure}.{days}"


_PURPOSES: Final = {
    "find": "Finds the part number.",
    "price": "Returns the price of a number.",
    "ship": "Returns the delivery of a number.",
}


def _counter(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [
        tool(str(settings[f"tool.{name}"]), text, "key") for name, text in _PURPOSES.items() if settings[f"tool.{name}"]
    ]
    talk = converse(
        runtime, "seller", [user_message(user(settings))], tools, int(real(settings["code.seller.turns"], 6))
    )
    return text_of(talk[-1]) or "The seller was stopped."


_PARTS: Final[dict[str, dict[str, dict[str, JSONValue]]]] = {
    "find_part": {"belt": {"number": "B7", "shelf": 3}, "lamp": {"number": "L2", "shelf": 8}},
    "part_search": {"belt": {"number": "B7", "shelf": 3}, "lamp": {"number": "L2", "shelf": 8}},
    "get_price": {"B7": {"price": 14.5, "tax": 25}, "L2": {"price": 6.25, "tax": 25}},
    "price_lookup": {"B7": {"price": 16.0, "tax": 25}, "L2": {"price": 6.25, "tax": 25}},
    "get_delivery": {"B7": {"days": 2, "by": "van"}, "L2": {"days": 5, "by": "post"}},
    "delivery_time": {"B7": {"days": 3, "by": "van"}, "L2": {"days": 5, "by": "post"}},
}


def _both(path: str, value: JSONValue, *names: str) -> Edit:
    """An edit of the same data under each name of a tool."""
    return Edit(category="tool", variants=(tuple((f"row.{name}.{path}", value) for name in names),))


_COUNTER: Final = Program(
    name="parts counter",
    group="tools with other names",
    program=_counter,
    final="seller",
    model=model_of({"seller": _sell}),
    menu=(),
    settings={
        **prompts(
            seller=(
                "You are the seller.",
                "From 4 on, take 10 percent off.",
                "Name the delivery.",
                "",
            )
        ),
        "user.0": "I need 4 belts.",
        "user.1": "",
        "tool.find": "find_part",
        "tool.price": "get_price",
        "tool.ship": "get_delivery",
        "code.seller.turns": 6,
        **{path: value for name, parts in _PARTS.items() for path, value in rows(name, **parts).items()},
    },
    edits=(
        edit("upstream", "user.0", "I need 2 belts.", "I need 4 lamps."),
        edit("upstream", "user.1", "It is for a van.", decoy=True),
        edit("prompt", "prompt.seller.1", "From 9 on, take 10 percent off."),
        edit("prompt", "prompt.seller.2", "Be quick."),
        wording("seller", 3),
        edit("model", "model.seller.name", "m2"),
        edit("tool", "tool.find", "part_search", decoy=True),
        edit("tool", "tool.price", "price_lookup"),
        edit("tool", "tool.ship", "delivery_time", ""),
        edit("upstream", "code.seller.turns", 2, 3),
        _both("B7.price", 12.0, "get_price", "price_lookup"),
        _both("B7.days", 9, "get_delivery", "delivery_time"),
        edit("tool", "row.find_part.belt.shelf", 5, decoy=True),
        edit("tool", "row.get_price.B7.tax", 20, decoy=True),
        edit("tool", "row.get_delivery.B7.by", "bike", decoy=True),
        *sampling("seller"),
    ),
)

DESKS: Final[tuple[Program, ...]] = (_INTAKE, _HOTEL, _HOTEL_REWORDED, _COUNTER)
