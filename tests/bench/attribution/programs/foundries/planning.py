"""Free slots that code computes, dishes that code sends back with reasons, and quotes that code adds up."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- meeting planner: code subtracts calendars from the working day, a planner chooses a slot, a host invites


def _planner(request: Request) -> str:
    slots = re.findall(r"^(\d\d:\d\d)-(\d\d:\d\d)$", request.last, re.MULTILINE)
    if not slots:
        return "PICK none"
    index = len(slots) - 1 if request.rule(r"Prefer the (\w+) slot\.", "first") == "last" else 0
    if request.model == "m2":
        index = len(slots) // 2
    start, end = slots[index]
    side = request.rule(r"Meet at the (\w+) of it", "start")
    return f"PICK {start if side == 'start' else end}"


def _host(request: Request) -> str:
    when, room = find(r"^When: (.+)$", request.last, "never"), find(r"^Room: (\w+)", request.last, "none")
    people = find(r"^People: (.+)$", request.last, "you")
    place = "online" if room == "none" else f"in {room}"
    sign = request.rule(r"Close with (\w+)\.")
    lunch = " Lunch is served." if "Serve lunch." in request.system and when.startswith(("12", "11")) else ""
    return f"Dear {people}, we meet at {when} {place}.{lunch}{f' {sign}!' if sign else ''}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"


def _minutes(clock: str) -> int:
    return number(r"^(\d\d):", clock) * 60 + number(r":(\d\d)$", clock)


def _free(busy: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    slots: list[tuple[int, int]] = []
    for begin, close in sorted(busy):
        if begin > start:
            slots.append((start, min(begin, end)))
        start = max(start, close)
    return [*slots, (start, end)] if start < end else slots


def _meet(runtime: Runtime) -> str:
    settings = runtime.settings
    names = find(r"with ([\w, ]+?)(?: for|\.)", user(settings), "Ana").split(", ")
    length = number(r"for (\d+) minutes", user(settings), 30)
    names = names[: int(real(settings["code.get_calendar.most"], 9))]
    busy: list[tuple[int, int]] = []
    pause = int(real(settings["code.planner.pause"]))
    for name in names:
        calendar = fields(runtime.tool("get_calendar", {"person": name}))
        for start, end in re.findall(r"(\d\d:\d\d)-(\d\d:\d\d)", str(calendar.get("busy"))):
            busy.append((_minutes(start) - pause, _minutes(end) + pause))
    evening = int(real(settings["code.planner.evening"], 17)) * 60
    slots = [(start, end) for start, end in _free(busy, 9 * 60, evening) if end - start >= length]
    if settings["code.planner.order"] == "longest":
        slots.sort(key=lambda slot: slot[0] - slot[1])
    lines = "\n".join(f"{_clock(start)}-{_clock(end)}" for start, end in slots)
    pick = find(r"PICK (\d\d:\d\d)", say(runtime, "planner", f"Free for {length} minutes:\n{lines}"))
    if not pick:
        return "There is no common time."
    seats = len(names) + int(real(settings["code.find_room.guests"], 1))
    room = fields(runtime.tool("find_room", {"seats": "small" if seats < 4 else "large"}))
    when = _clock(_minutes(pick) + 60 * int(real(settings["code.host.zone"])))
    people = (" and " if settings["code.host.list"] == "and" else ", ").join(names)
    return say(runtime, "host", f"When: {when}\nRoom: {room.get('room', 'none')}\nPeople: {people}")


_MEETING: Final = Program(
    name="meeting planner",
    group="slots between calendars",
    program=_meet,
    final="host",
    model=model_of({"planner": _planner, "host": _host}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Pick a slot.", "Prefer the first slot.", "Meet at the start of it.", ""),
            host=("You are the host. Invite them.", "Serve lunch.", "", ""),
        ),
        "user.0": "Meet with Ana, Bo for 45 minutes.",
        "user.1": "",
        "code.get_calendar.most": 9,
        "code.planner.pause": 0,
        "code.planner.evening": 17,
        "code.planner.order": "time",
        "code.find_room.guests": 1,
        "code.host.zone": 0,
        "code.host.list": "and",
        **rows(
            "get_calendar",
            Ana={"busy": "09:00-10:30 12:00-12:40 15:00-16:00", "zone": "CET"},
            Bo={"busy": "10:00-11:10 13:30-14:00", "zone": "CET"},
            Cy={"busy": "09:30-12:30", "zone": "EET"},
        ),
        **rows("find_room", small={"room": "Oak", "floor": 1}, large={"room": "Beech", "floor": 2}),
    },
    edits=(
        edit("upstream", "user.0", "Meet with Ana, Cy for 45 minutes.", "Meet with Ana, Bo for 75 minutes."),
        edit("upstream", "user.1", "It is about the spring plan.", "Bring coffee.", decoy=True),
        edit("prompt", "prompt.planner.1", "Prefer the last slot."),
        edit("prompt", "prompt.planner.2", "Meet at the end of it."),
        wording("planner", 3),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.host.1", "Skip lunch."),
        edit("prompt", "prompt.host.2", "Close with Regards."),
        wording("host", 3),
        edit("upstream", "code.get_calendar.most", 1),
        edit("upstream", "code.planner.pause", 5, 15),
        edit("upstream", "code.planner.evening", 20, decoy=True),
        edit("upstream", "code.planner.order", "longest"),
        edit("upstream", "code.find_room.guests", 2),
        edit("upstream", "code.host.zone", 1, -3),
        edit("upstream", "code.host.list", "comma"),
        edit("tool", "row.get_calendar.Ana.busy", "09:00-10:30 11:00-12:40", "14:00-16:00"),
        edit("tool", "row.get_calendar.Bo.busy", "10:00-13:00 13:30-14:00"),
        edit("tool", "row.get_calendar.Ana.zone", "GMT", decoy=True),
        edit("tool", "row.find_room.small.room", "Elm"),
        edit("tool", "row.find_room.small.floor", 3, decoy=True),
        *sampling("planner", "host"),
    ),
)

# ---- meal planner: a cook proposes dishes, code checks their prices and allergens and sends the bad ones back

_DISHES: Final = ("Lasagne", "Curry", "Risotto", "Tacos", "Stew", "Salad")


def _cook(request: Request) -> str:
    asked = int(request.rule(r"Propose (\d) dishes\.", "2"))
    refused = {name for line in request.spoken.split("\n") for name in find(r"^Not (.+?)(?:,|$)", line).split(" + ")}
    order = _DISHES[::-1] if request.model == "m2" else _DISHES
    first = request.rule(r"Begin with (\w+)\.")
    menu = [name for name in dict.fromkeys([first, *order]) if name and name not in refused]
    if "cheaper" in request.spoken and "Save money." in request.system:
        menu = [name for name in menu if name in {"Stew", "Salad", "Tacos"}]
    return "MENU " + ", ".join(menu[:asked])


def _maitre(request: Request) -> str:
    dishes = re.findall(r"^\* (\w+): (\d+)$", request.last, re.MULTILINE)
    total = sum(int(price) for _, price in dishes)
    price = f" for {total}" if "Give the price." in request.system else ""
    note = request.rule(r"Add (\w+)\.")
    names = [name for name, _ in dishes] or ["nothing"]
    return f"Tonight: {' then '.join(names)}{price}.{f' With {note}.' if note else ''}"


def _meal(runtime: Runtime) -> str:
    settings = runtime.settings
    people = number(r"for (\d+) people", user(settings), 2)
    budget, allergy = number(r"under (\d+)", user(settings), 50), find(r"without (\w+)", user(settings))
    wishes, good = [user(settings)], list[tuple[str, int]]()
    for _ in range(int(real(settings["code.cook.rounds"], 3))):
        names = find(r"MENU (.+)$", say(runtime, "cook", "\n".join(wishes))).split(", ")
        refusals: list[str] = []
        good = []
        for name in names:
            dish = fields(runtime.tool("get_dish", {"dish": name}))
            cost = int(real(dish.get("price"))) * (people if settings["code.cook+maitre.price"] == "each" else 1)
            is_dear = cost >= budget if settings["code.cook.limit"] == "strict" else cost > budget
            if allergy and allergy in str(dish.get("contains")) and settings["code.cook.allergens"] == "checked":
                refusals.append(f"Not {name}, it contains {allergy}")
            elif is_dear:
                refusals.append(f"Not {name}, cheaper please")
            else:
                good.append((name, cost))
        if not refusals:
            break
        is_short = settings["code.cook.feedback"] == "names"
        wishes += [refusal.partition(",")[0] for refusal in refusals] if is_short else refusals
    if settings["code.maitre.order"] == "price":
        good.sort(key=lambda entry: entry[1])
    return say(runtime, "maitre", "\n".join(f"* {name}: {cost}" for name, cost in good))


_MEAL: Final = Program(
    name="meal planner",
    group="dishes sent back",
    program=_meal,
    final="maitre",
    model=model_of({"cook": _cook, "maitre": _maitre}),
    menu=(),
    settings={
        **prompts(
            cook=("You are the cook. Propose dishes.", "Propose 2 dishes.", "Save money.", "", ""),
            maitre=("You are the maitre. Announce the menu.", "Give the price.", "", ""),
        ),
        "user.0": "Dinner for 2 people under 40 without gluten.",
        "user.1": "",
        "code.cook.rounds": 3,
        "code.cook.limit": "loose",
        "code.cook.allergens": "checked",
        "code.cook.feedback": "reasons",
        "code.cook+maitre.price": "each",
        "code.maitre.order": "as served",
        **rows(
            "get_dish",
            Lasagne={"price": 14, "contains": "gluten, milk", "origin": "Bologna"},
            Curry={"price": 22, "contains": "nuts", "origin": "Pune"},
            Risotto={"price": 16, "contains": "milk", "origin": "Milan"},
            Tacos={"price": 12, "contains": "gluten", "origin": "Puebla"},
            Stew={"price": 15, "contains": "celery", "origin": "Cork"},
            Salad={"price": 8, "contains": "nuts", "origin": "Nice"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Dinner for 2 people under 50 without gluten.",
            "Dinner for 2 people under 40 without nuts.",
        ),
        edit("upstream", "user.1", "We look forward to it.", decoy=True),
        edit("prompt", "prompt.cook.1", "Propose 1 dishes.", "Propose 3 dishes."),
        edit("prompt", "prompt.cook.2", "Spend freely."),
        edit("prompt", "prompt.cook.3", "Begin with Stew."),
        wording("cook", 4),
        edit("model", "model.cook.name", "m2"),
        edit("prompt", "prompt.maitre.1", "Keep it short."),
        edit("prompt", "prompt.maitre.2", "Add bread."),
        wording("maitre", 3),
        edit("upstream", "code.cook.rounds", 1, 2),
        edit("upstream", "code.cook.limit", "strict", decoy=True),
        edit("upstream", "code.cook.allergens", "ignored"),
        edit("upstream", "code.cook.feedback", "names"),
        edit("upstream", "code.cook+maitre.price", "once"),
        edit("upstream", "code.maitre.order", "price"),
        edit("tool", "row.get_dish.Lasagne.contains", "milk", decoy=True),
        edit("tool", "row.get_dish.Curry.price", 18),
        edit("tool", "row.get_dish.Stew.price", 19, 25),
        edit("tool", "row.get_dish.Curry.origin", "Delhi", decoy=True),
        edit("tool", "row.get_dish.Lasagne.origin", "Rome", decoy=True),
        *sampling("cook", "maitre"),
    ),
)

# ---- freight quotes: a clerk reads the load, code prices each carrier in its own units, a broker recommends


def _clerk(request: Request) -> str:
    boxes, kilos = number(r"(\d+) boxes", request.last, 1), number(r"(\d+) kg", request.last, 10)
    spare = int(request.rule(r"Add (\d+) kg of packing\.", "0"))
    kind = "fragile" if re.search(request.rule(r"Fragile is (\w+)\.", "glass"), request.last) else "plain"
    weight = boxes * kilos + spare + (5 if request.model == "m2" else 0)
    return f"boxes={boxes} weight={weight} kind={kind}"


def _broker(request: Request) -> str:
    quotes = re.findall(r"^(\w+),([\d.]+),(\d+)$", request.last, re.MULTILINE)
    if not quotes:
        return "Nobody carries it."
    if fast := request.rule(r"Take nobody above (\d) days\."):
        quotes = [quote for quote in quotes if int(quote[2]) <= int(fast)] or quotes
    if "Take the fastest." in request.system:
        quotes.sort(key=lambda quote: int(quote[2]))
    name, cost, days = quotes[0]
    runner = f" Else {quotes[1][0]}." if "Name another." in request.system and len(quotes) > 1 else ""
    return f"Send it with {name}: {cost} in {days} days.{runner}"


def _freight(runtime: Runtime) -> str:
    settings = runtime.settings
    load = say(runtime, "clerk", user(settings))
    weight, kind = number(r"weight=(\d+)", load, 1), find(r"kind=(\w+)", load)
    rounding = int(real(settings["code.broker.step"], 1))
    weight = -(-weight // rounding) * rounding
    quotes: list[tuple[str, float, int]] = []
    for carrier in str(settings["code.get_tariff.carriers"]).split(", "):
        tariff = fields(runtime.tool("get_tariff", {"carrier": carrier}))
        cost = real(tariff.get("base")) + weight * real(tariff.get("per_kg"))
        if kind == "fragile":
            cost *= 1 + real(settings["code.broker.fragile"]) / 100
        fuel = real(tariff.get("fuel")) / 100
        cost = cost * (1 + fuel) if settings["code.broker.fuel"] == "added" else cost
        if weight <= real(tariff.get("most"), 999):
            quotes.append((carrier, cost, int(real(tariff.get("days")))))
    if settings["code.broker.sort"] == "cost":
        quotes.sort(key=lambda quote: quote[1])
    digits = int(real(settings["code.broker.digits"], 2))
    return say(runtime, "broker", "\n".join(f"{name},{cost:.{digits}f},{days}" for name, cost, days in quotes))


_FREIGHT: Final = Program(
    name="freight quotes",
    group="quotes added up",
    program=_freight,
    final="broker",
    model=model_of({"clerk": _clerk, "broker": _broker}),
    menu=(),
    settings={
        **prompts(
            clerk=("You are the clerk. Read the load.", "Add 6 kg of packing.", "Fragile is glass.", ""),
            broker=("You are the broker. Recommend one.", "Take the best.", "", "Name another.", ""),
        ),
        "user.0": "Ship 4 boxes of 12 kg each, with glass inside.",
        "user.1": "",
        "user.2": "",
        "code.get_tariff.carriers": "Avia, Barge, Cargo",
        "code.broker.step": 1,
        "code.broker.fragile": 10,
        "code.broker.fuel": "added",
        "code.broker.sort": "cost",
        "code.broker.digits": 2,
        **rows(
            "get_tariff",
            Avia={"base": 40, "per_kg": 2.1, "fuel": 12, "days": 2, "most": 100, "hub": "ZRH"},
            Barge={"base": 25, "per_kg": 1.6, "fuel": 5, "days": 9, "most": 500, "hub": "RTM"},
            Cargo={"base": 10, "per_kg": 2.0, "fuel": 8, "days": 4, "most": 80, "hub": "LEJ"},
            Dray={"base": 5, "per_kg": 1.5, "fuel": 3, "days": 6, "most": 90, "hub": "CHI"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Ship 4 boxes of 22 kg each, with glass inside.",
            "Ship 4 boxes of 12 kg each, of wool.",
        ),
        edit("upstream", "user.1", "Pick it up at noon.", decoy=True),
        edit("upstream", "user.2", "Insure it, please.", decoy=True),
        edit("prompt", "prompt.clerk.1", "Add 9 kg of packing.", "Add nothing."),
        edit("prompt", "prompt.clerk.2", "Fragile is china."),
        wording("clerk", 3),
        edit("model", "model.clerk.name", "m2"),
        edit("prompt", "prompt.broker.1", "Take the fastest."),
        edit("prompt", "prompt.broker.2", "Take nobody above 5 days."),
        edit("prompt", "prompt.broker.3", "Name one."),
        wording("broker", 4),
        edit("upstream", "code.get_tariff.carriers", "Avia, Barge, Cargo, Dray", "Avia, Cargo"),
        edit("upstream", "code.broker.step", 10, 25),
        edit("upstream", "code.broker.fragile", 30),
        edit("upstream", "code.broker.fuel", "left out"),
        edit("upstream", "code.broker.sort", "name"),
        edit("upstream", "code.broker.digits", 0, 1),
        edit("tool", "row.get_tariff.Barge.per_kg", 1.9, 2.6),
        edit("tool", "row.get_tariff.Barge.days", 7),
        edit("tool", "row.get_tariff.Cargo.per_kg", 1.7),
        edit("tool", "row.get_tariff.Barge.hub", "ANR", decoy=True),
        edit("tool", "row.get_tariff.Cargo.hub", "BRU", decoy=True),
        edit("tool", "row.get_tariff.Avia.hub", "FRA", decoy=True),
        *sampling("clerk", "broker"),
    ),
)

PLANNING: Final[tuple[Program, ...]] = (_MEETING, _MEAL, _FREIGHT)
