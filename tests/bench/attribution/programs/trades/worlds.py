"""Readings that code averages, an auction that code runs, and a world that code simulates."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- greenhouse: a model names the sensor, code averages its readings and finds the trend, an adviser decides


def _name_sensor(request: Request) -> str:
    text = request.last.lower()
    bed = next(
        (name for name in ("north", "south") if name in text), request.rule(r"By default, look (\w+)\.", "north")
    )
    if request.model == "m2" and "tomato" in text:
        bed = "south"
    return f"Sensor: {bed}"


def _advise(request: Request) -> str:
    average, trend = decimal(r"Average: ([\d.]+)", request.last), find(r"Trend: (\w+)", request.last, "steady")
    limit = int(request.rule(r"Open the vents above (\d+) degrees\.", "25"))
    if average > limit:
        step = "Open the vents."
    elif "Water when it rises." in request.system and trend == "rising":
        step = "Water the bed."
    else:
        step = "All is well."
    return f"{step} It is {average:.1f} on average." if "Give the average." in request.system else step


def _greenhouse(runtime: Runtime) -> str:
    settings = runtime.settings
    bed = find(r"Sensor: (\w+)", say(runtime, "finder", user(settings)), "north")
    readings = [
        float(text) for text in str(fields(runtime.tool("get_readings", {"sensor": bed})).get("temps", "")).split()
    ]
    window = int(real(settings["code.adviser.window"], 3))
    recent = readings[-window:] or [0.0]
    rise = recent[-1] - recent[0]
    trend = "rising" if rise > 1 else "falling" if rise < -1 else "steady"
    return say(runtime, "adviser", f"Average: {sum(recent) / len(recent):.1f}\nTrend: {trend}")


_GREENHOUSE: Final = Program(
    name="greenhouse",
    group="moving average",
    program=_greenhouse,
    final="adviser",
    model=model_of({"finder": _name_sensor, "adviser": _advise}),
    menu=(),
    settings={
        **prompts(
            finder=("You are the finder. Name the sensor.", "By default, look north.", ""),
            adviser=(
                "You are the adviser. Decide.",
                "Open the vents above 25 degrees.",
                "Water when it rises.",
                "Give the average.",
                "",
            ),
        ),
        "user.0": "How are the tomatoes?",
        "user.1": "",
        "code.adviser.window": 3,
        **rows(
            "get_readings",
            north={"temps": "19 22 23 26", "type": "digital"},
            south={"temps": "24 27 28 29", "type": "digital"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "How are the southern tomatoes?", "How are those tomatoes?"),
        edit("upstream", "user.1", "It is sunny.", "I am away.", decoy=True),
        edit("prompt", "prompt.finder.1", "By default, look south."),
        wording("finder", 2),
        edit("model", "model.finder.name", "m2"),
        edit("prompt", "prompt.adviser.1", "Open the vents above 22 degrees.", "Open the vents above 20 degrees."),
        edit("prompt", "prompt.adviser.2", "Water by hand."),
        edit("prompt", "prompt.adviser.3", "Hide the average."),
        wording("adviser", 4),
        edit("model", "model.adviser.name", "m2", decoy=True),
        edit("upstream", "code.adviser.window", 2, 4),
        edit("tool", "row.get_readings.north.temps", "19 22 23 30", "19 22 23 23"),
        edit("tool", "row.get_readings.north.type", "analogue", decoy=True),
        edit("tool", "row.get_readings.south.type", "analogue", decoy=True),
        *sampling("finder", "adviser"),
    ),
)

# ---- auction: three bidders see the lot, code finds the winner and the price, a clerk announces

_BIDDERS: Final = ("anna", "bruno", "carla")


def _bid(request: Request) -> str:
    estimate = number(r"Estimate: (\d+)", request.last)
    share = int(request.rule(r"Bid (\d+) percent\.", "80"))
    if request.rule(r"You love (\w+)\.", "-") in request.last.lower():
        share += 30
    if request.model == "m2":
        share += 5
    return f"Bid: {estimate * share // 100}"


def _announce(request: Request) -> str:
    name, price = find(r"Winner: (\w+)", request.last, "nobody"), number(r"Price: (\d+)", request.last)
    if name == "nobody":
        return "The lot is not sold."
    fee = int(request.rule(r"Add (\d+) percent\.", "0"))
    text = f"Sold to {name.capitalize()} for {price + price * fee // 100}."
    return f"{text} Congratulations!" if "Congratulate." in request.system else text


def _auction(runtime: Runtime) -> str:
    settings = runtime.settings
    lot = fields(runtime.tool("get_lot", {"lot": find(r"lot (\d+)", user(settings), "7")}))
    description = f"{lot.get('kind')} of {lot.get('year')}\nEstimate: {lot.get('estimate')}"
    bids = {name: number(r"Bid: (\d+)", say(runtime, name, description)) for name in _BIDDERS}
    ranking = sorted(bids.items(), key=lambda bid: -bid[1])
    step = int(real(settings["code.clerk.step"], 5))
    bid = ranking[1 if settings["code.clerk.price"] == "second" else 0][1]
    price = -(-bid // step) * step
    is_sold = ranking[0][1] >= real(lot.get("reserve"))
    return say(runtime, "clerk", f"Winner: {ranking[0][0]}\nPrice: {price}" if is_sold else "Winner: nobody")


_AUCTION: Final = Program(
    name="wine auction",
    group="auction run by code",
    program=_auction,
    final="clerk",
    model=model_of({"anna": _bid, "bruno": _bid, "carla": _bid, "clerk": _announce}),
    menu=(),
    settings={
        **prompts(
            anna=("You are the anna.", "Bid 80 percent.", "You love port.", ""),
            bruno=("You are the bruno.", "Bid 95 percent.", "", ""),
            carla=("You are the carla.", "Bid 90 percent.", "", ""),
            clerk=("You are the clerk. Announce it.", "Add 10 percent.", "", ""),
        ),
        "user.0": "Sell lot 7.",
        "user.1": "",
        "code.clerk.step": 5,
        "code.clerk.price": "second",
        "row.get_lot.7.kind": "rioja",
        "row.get_lot.7.year": 1998,
        "row.get_lot.7.estimate": 400,
        "row.get_lot.7.reserve": 300,
        "row.get_lot.8.kind": "port",
        "row.get_lot.8.year": 1977,
        "row.get_lot.8.estimate": 500,
        "row.get_lot.8.reserve": 300,
    },
    edits=(
        edit("upstream", "user.0", "Sell lot 8.", "Please sell lot 7."),
        edit("upstream", "user.1", "It is late.", "The hall is full.", decoy=True),
        edit("prompt", "prompt.anna.1", "Bid 99 percent.", "Bid 120 percent."),
        edit("prompt", "prompt.anna.2", "You love rioja.", "You love malbec."),
        wording("anna", 3),
        edit("prompt", "prompt.bruno.1", "Bid 70 percent."),
        edit("prompt", "prompt.bruno.2", "You love madeira.", decoy=True),
        edit("prompt", "prompt.carla.1", "Bid 93 percent.", "Bid 60 percent."),
        wording("carla", 3),
        edit("model", "model.carla.name", "m2"),
        edit("prompt", "prompt.clerk.1", "Add 20 percent."),
        edit("prompt", "prompt.clerk.2", "Congratulate."),
        wording("clerk", 3),
        edit("upstream", "code.clerk.step", 50),
        edit("upstream", "code.clerk.price", "first"),
        edit("tool", "row.get_lot.7.estimate", 450, 410),
        edit("tool", "row.get_lot.7.reserve", 390),
        edit("tool", "row.get_lot.7.year", 1999, decoy=True),
        *sampling("anna", "bruno", "clerk"),
    ),
)

# ---- cellar: a walker moves through rooms that code simulates; a reporter tells what was found

_DIRECTIONS: Final = ("east", "south", "west", "north")


def _walk(request: Request) -> str:
    doors = re.findall(r"door (\w+)", request.last)
    first = request.rule(r"Go (\w+) first\.", "east")
    order = [first, *(way for way in _DIRECTIONS if way != first)]
    if request.model == "m2":
        order.reverse()
    danger = request.rule(r"Stay out of the (\w+)\.", "-")
    open_ways = [way for way in order if way in doors and f"door {way} to the {danger}" not in request.last]
    if "Take what you find." in request.system and "a lamp" in request.last and "You hold: nothing" in request.last:
        return "Action: take"
    return f"Action: {open_ways[0]}" if open_ways else "Action: stop"


def _tell(request: Request) -> str:
    room, thing_in_hand = (
        find(r"Ended in the (\w+)", request.last, "dark"),
        find(r"Holding: (\w+)", request.last, "nothing"),
    )
    count = number(r"after (\d+) moves", request.last)
    text = f"The walk ended in the {room}, holding {thing_in_hand}."
    return f"{text} It took {count} moves." if "Count the moves." in request.system else text


def _cellar(runtime: Runtime) -> str:
    settings = runtime.settings
    room, thing_in_hand, moves = find(r"from the (\w+)", user(settings), "hall"), "nothing", 0
    rooms: set[str] = set()
    while moves < real(settings["code.walker+get_room+teller.most"], 5) and room != "exit":
        rooms.add(room)
        here = fields(runtime.tool("get_room", {"room": room}))
        ways = {way: str(here[way]) for way in _DIRECTIONS if here.get(way)}
        doors = ", ".join(f"door {way} to the {goal}" for way, goal in ways.items() if goal not in rooms)
        thing = f" There is {here.get('thing')}." if here.get("thing") else ""
        action = find(
            r"Action: (\w+)", say(runtime, "walker", f"You see {doors or 'no door'}.{thing}\nYou hold: {thing_in_hand}")
        )
        if action == "take":
            thing_in_hand = find(r"(\w+)$", str(here.get("thing")), "nothing")
        elif action in ways:
            room = ways[action]
        else:
            break
        moves += 1
    return say(runtime, "teller", f"Ended in the {room} after {moves} moves\nHolding: {thing_in_hand}")


_CELLAR: Final = Program(
    name="cellar",
    group="simulated world",
    program=_cellar,
    final="teller",
    model=model_of({"walker": _walk, "teller": _tell}),
    menu=(),
    settings={
        **prompts(
            walker=("You are the walker. Find the exit.", "Go east first.", "", "", ""),
            teller=("You are the teller. Report.", "Count the moves.", ""),
        ),
        "user.0": "Start from the hall.",
        "user.1": "",
        "code.walker+get_room+teller.most": 5,
        **rows(
            "get_room",
            hall={"east": "pantry", "south": "stairs", "thing": "", "light": "dim"},
            pantry={"south": "vault", "west": "hall", "thing": "a lamp", "light": "dim"},
            stairs={"east": "vault", "north": "hall", "thing": "", "light": "dim"},
            vault={"south": "exit", "west": "stairs", "thing": "", "light": "dark"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Start from the stairs.", "Begin from the hall."),
        edit("upstream", "user.1", "Mind your head.", "Hurry.", decoy=True),
        edit("prompt", "prompt.walker.1", "Go west first.", "Go south first."),
        edit("prompt", "prompt.walker.2", "Stay out of the vault.", "Stay out of the exit."),
        edit("prompt", "prompt.walker.3", "Take what you find."),
        wording("walker", 4),
        edit("model", "model.walker.name", "m2", decoy=True),
        edit("prompt", "prompt.teller.1", "Hide the moves."),
        wording("teller", 2),
        edit("upstream", "code.walker+get_room+teller.most", 2),
        edit("tool", "row.get_room.pantry.south", "", "exit"),
        edit("tool", "row.get_room.vault.south", ""),
        edit("tool", "row.get_room.pantry.light", "bright", decoy=True),
        edit("tool", "row.get_room.hall.light", "bright", decoy=True),
        *sampling("walker", "teller"),
    ),
)

WORLDS: Final[tuple[Program, ...]] = (_GREENHOUSE, _AUCTION, _CELLAR)
