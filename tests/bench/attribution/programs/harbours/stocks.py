"""A ship that waits for the tide, and units of blood that code picks."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- tide: a pilot states the depth that is needed, code finds the hours with enough water, a master decides


def _pilot(request: Request) -> str:
    draught = decimal(r"draught (\d+\.\d)", request.last)
    spare = int(request.rule(r"Keep (\d+) cm under the keel\.", "50")) + (30 if request.model == "m2" else 0)
    return f"It needs {draught + spare / 100:.1f} m."


def _master(request: Request) -> str:
    hour, wind = find(r"^Hours: (\d+)", request.last), find(r"^Wind: (\w+)", request.last)
    if not hour:
        return "Anchor outside."
    limit = request.rule(r"Close the port in a (\w+)\.", "gale")
    if wind == limit:
        return "The port is closed."
    tug = (
        " Take a tug."
        if request.rule(r"From (\d+) m on, order a tug\.", "99") <= find(r"^Length: (\d+)", request.last)
        else ""
    )
    return f"Enter at {hour}.{tug}"


def _tide(runtime: Runtime) -> str:
    settings = runtime.settings
    ship = fields(runtime.tool("get_ship", {"name": find(r"the (\w+) may", user(settings), "Alma")}))
    need = decimal(r"([\d.]+) m", say(runtime, "pilot", f"{user(settings)} It has a draught {ship.get('draught')}."))
    tides = items(fields(runtime.tool("get_tides", {"port": "Vik"})).get("tides"))
    weather = fields(runtime.tool("get_weather", {"port": "Vik"}))
    hours = [str(tide.get("hour")) for tide in tides if real(tide.get("depth")) >= need]
    if settings["code.master.pick"] == "last":
        hours.reverse()
    lines = [
        f"Hours: {', '.join(hours[: int(real(settings['code.master.shown'], 2))])}",
        f"Length: {ship.get('length')}",
    ]
    return say(runtime, "master", "\n".join([*lines, f"Wind: {weather.get('wind')}"]))


def _tides(*depths: float) -> list[JSONValue]:
    return [{"hour": hour, "depth": depth} for hour, depth in zip((6, 9, 12, 15), depths, strict=True)]


_TIDE: Final = Program(
    name="tide window",
    group="tide window",
    program=_tide,
    final="master",
    model=model_of({"pilot": _pilot, "master": _master}),
    menu=(),
    settings={
        **prompts(
            pilot=("You are the pilot. State the depth.", "Keep 60 cm under the keel.", "", ""),
            master=("You are the master. Decide.", "Close the port in a gale.", "From 90 m on, order a tug.", "", ""),
        ),
        "user.0": "When the Alma may enter?",
        "user.1": "",
        "code.master.pick": "first",
        "code.master.shown": 2,
        **rows(
            "get_ship", Alma={"draught": "5.2", "length": 80, "flag": "Malta"}, Bora={"draught": "6.4", "length": 95}
        ),
        "row.get_tides.Vik.tides": _tides(5.1, 6.0, 7.2, 6.3),
        "row.get_tides.Vik.source": "table",
        **rows("get_weather", Vik={"wind": "breeze", "sky": "clear"}),
    },
    edits=(
        edit("upstream", "user.0", "When the Bora may enter?"),
        edit("upstream", "user.1", "We are in a hurry.", decoy=True),
        edit("prompt", "prompt.pilot.1", "Keep 90 cm under the keel.", "Keep 120 cm under the keel."),
        wording("pilot", 2),
        edit("model", "model.pilot.name", "m2"),
        edit("prompt", "prompt.master.1", "Close the port in a breeze."),
        edit("prompt", "prompt.master.2", "From 70 m on, order a tug."),
        wording("master", 3),
        edit("upstream", "code.master.pick", "last"),
        edit("upstream", "code.master.shown", 0),
        edit("tool", "row.get_ship.Alma.draught", "5.9", "6.7"),
        edit("tool", "row.get_ship.Alma.flag", "Panama", decoy=True),
        edit("tool", "row.get_tides.Vik.tides", _tides(5.9, 6.0, 7.2, 6.3), _tides(5.1, 5.4, 7.0, 6.9)),
        edit("tool", "row.get_tides.Vik.source", "gauge", decoy=True),
        edit("tool", "row.get_weather.Vik.wind", "gale"),
        edit("tool", "row.get_weather.Vik.sky", "grey", decoy=True),
        *sampling("pilot", "master"),
    ),
)

# ---- blood: code picks units, a nurse orders, code sends the order back until it fits


def _nurse(request: Request) -> str:
    offered, wanted = number(r"^Units: (\d+)", request.last), number(r"(\d+) units", request.last)
    more = int(request.rule(r"Add (\d+) in reserve\.", "0")) if request.model == "m1" else 0
    if "too many" in request.last:
        return f"Order {offered}."
    return f"Order {wanted + more}."


def _ward(request: Request) -> str:
    order, oldest = number(r"^Order: (\d+)", request.last), number(r"^Oldest: (\d+)", request.last)
    fridge = find(r"^From: (\w+)", request.last)
    warning = " Check the date." if oldest > int(request.rule(r"Warn above (\d+) days\.", "99")) else ""
    return f"{order} units come from {fridge}.{warning}" if order else "Call the bank."


def _blood(runtime: Runtime) -> str:
    settings = runtime.settings
    stock = fields(runtime.tool("get_stock", {"group": find(r"group (\w+)", user(settings), "A")}))
    units = [
        unit for unit in items(stock.get("units")) if real(unit.get("age")) <= real(settings["code.nurse.age"], 30)
    ]
    notes: list[str] = []
    order = 0
    for _ in range(int(real(settings["code.nurse+ward.tries"], 2))):
        order = number(
            r"Order (\d+)", say(runtime, "nurse", "\n".join([user(settings), f"Units: {len(units)}", *notes]))
        )
        if order <= len(units):
            break
        notes = ["That is too many."]
    given = min(order, len(units)) if settings["code.ward.short"] == "part" else order * (order <= len(units))
    oldest = max((int(real(unit.get("age"))) for unit in units), default=0)
    return say(runtime, "ward", f"Order: {given}\nOldest: {oldest}\nFrom: {stock.get('fridge')}")


def _units(*ages: int) -> list[JSONValue]:
    units: list[JSONObject] = [{"unit": f"u{place}", "age": age} for place, age in enumerate(ages)]
    return list[JSONValue](units)


_BLOOD: Final = Program(
    name="blood bank",
    group="blood bank",
    program=_blood,
    final="ward",
    model=model_of({"nurse": _nurse, "ward": _ward}),
    menu=(),
    settings={
        **prompts(
            nurse=("You are the nurse. Order blood.", "Add 1 in reserve.", "", ""),
            ward=("You are the ward. Tell the doctor.", "Warn above 25 days.", "", ""),
        ),
        "user.0": "We need 3 units of group A.",
        "user.1": "",
        "code.nurse.age": 30,
        "code.nurse+ward.tries": 2,
        "code.ward.short": "none",
        "row.get_stock.A.units": _units(4, 12, 20, 33),
        "row.get_stock.A.fridge": "west",
        "row.get_stock.A.keeper": "Ida",
        "row.get_stock.B.units": _units(2, 28),
        "row.get_stock.B.fridge": "east",
    },
    edits=(
        edit("upstream", "user.0", "We need 1 units of group A.", "We need 1 units of group B."),
        edit("upstream", "user.1", "The doctor is waiting.", decoy=True),
        edit("prompt", "prompt.nurse.1", "Add 2 in reserve.", "Add 0 in reserve.", decoy=True),
        wording("nurse", 2),
        edit("model", "model.nurse.name", "m2", decoy=True),
        edit("prompt", "prompt.ward.1", "Warn above 10 days."),
        wording("ward", 2),
        edit("upstream", "code.nurse.age", 15, 40),
        edit("upstream", "code.nurse+ward.tries", 1),
        edit("upstream", "code.ward.short", "part", decoy=True),
        edit("tool", "row.get_stock.A.units", _units(4, 12), _units(4, 12, 29, 33)),
        edit("tool", "row.get_stock.A.fridge", "north"),
        edit("tool", "row.get_stock.A.keeper", "Per", decoy=True),
        *sampling("nurse", "ward"),
    ),
)

STOCKS: Final[tuple[Program, ...]] = (_TIDE, _BLOOD)
