"""A planner whose scratchpad is trimmed, and a search that keeps the best partial routes."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- mountains: a planner sees the last lines of its scratchpad, code looks things up, a guide decides


def _next_look(request: Request) -> str:
    order, _, pad = request.last.partition("Scratchpad:")
    day = find(r"\bon (\w+day)\b", order, "Saturday")
    hut = find(r"\bto the (\w+) hut", order, "Kesch")
    crossing = find(r"hut .*?pass (\w+)", pad, "Fuorcla")
    looks = [f"get_hut {hut}", f"get_pass {crossing}", f"get_weather {day}"]
    if "Look at the weather first." in request.system:
        looks = [looks[2], *looks[:2]]
    if "Ask about trains." in request.system:
        looks.append(f"get_train {day}")
    if request.model == "m2":
        looks = [look for look in looks if not look.startswith("get_pass")]
    if "beds 0" in pad and (other := request.rule(r"If a hut is full, look at (\w+)\.")):
        looks.insert(1, f"get_hut {other}")
    missing = [look for look in looks if f"{look.removeprefix('get_')}:" not in pad]
    return f"LOOK {missing[0]}" if missing else "DONE"


def _guide(request: Request) -> str:
    pad = request.last
    party = number(r"(\d+) people", pad, 2)
    huts = re.findall(r"^hut (\w+): beds (\d+)", pad, re.MULTILINE)
    open_ = [name for name, beds in huts if int(beds) >= party]
    snow = number(r"snow (\d+)", pad, 0)
    wind = number(r"wind (\d+)", pad, 0)
    if not open_:
        return "There is no room in a hut."
    if "wind" not in pad:
        return "I do not know the weather."
    if snow > int(request.rule(r"At most (\d+) cm of snow\.", "30")):
        return f"The pass has {snow} cm of snow: stay at home."
    if wind > int(request.rule(r"At most (\d+) km/h of wind\.", "60")):
        return f"With {wind} km/h of wind, wait a day."
    leaves = find(r"leaves (\S+)", pad)
    train = f" Take the train at {leaves}." if leaves else ""
    return f"Go to {open_[0]}.{train}"


def _tour(runtime: Runtime) -> str:
    settings = runtime.settings
    order = user(settings)
    lines: list[str] = []
    kept = number(r"(\d)", str(settings["code.planner.lines"]))
    for _ in range(6):
        answer = say(runtime, "planner", f"{order}\nScratchpad:\n" + "\n".join(lines[-kept:]))
        look = re.search(r"LOOK (get_\w+) (\w+)", answer)
        if look is None:
            break
        result = fields(runtime.tool(look[1], {"name": look[2]}))
        facts = ", ".join(f"{name} {value}" for name, value in result.items())
        lines.append(f"{look[1].removeprefix('get_')} {look[2]}: {facts}")
    notes = lines if settings["code.guide.notes"] == "all" else lines[-2:]
    return say(runtime, "guide", f"{order}\n" + "\n".join(notes))


_TOUR: Final = Program(
    name="mountain hut",
    group="trimmed scratchpad",
    program=_tour,
    final="guide",
    model=model_of({"planner": _next_look, "guide": _guide}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. One look at a time.", "If a hut is full, look at Ela.", "", "", ""),
            guide=("You are the guide.", "At most 40 cm of snow.", "At most 50 km/h of wind.", ""),
        ),
        "user.0": "Hello.",
        "user.1": "Can 4 people walk to the Kesch hut on Saturday?",
        "user.2": "",
        "code.planner.lines": 5,
        "code.guide.notes": "all",
        **rows(
            "get_hut",
            Kesch={"beds": 0, "pass": "Fuorcla", "meals": "yes"},
            Ela={"beds": 9, "pass": "Orgels", "meals": "no"},
            Jenatsch={"beds": 12, "pass": "Suvretta", "meals": "yes"},
        ),
        **rows(
            "get_pass",
            Fuorcla={"snow": 20, "height": 2700},
            Orgels={"snow": 35, "height": 2500},
            Suvretta={"snow": 55, "height": 2600},
        ),
        **rows("get_weather", Saturday={"wind": 30, "sun": 6}, Sunday={"wind": 70, "sun": 2}),
        **rows("get_train", Saturday={"leaves": "7:05"}, Sunday={"leaves": "8:35"}),
    },
    edits=(
        edit("upstream", "user.0", "Hi.", "Good evening.", decoy=True),
        edit(
            "upstream",
            "user.1",
            "Can 4 people walk to the Jenatsch hut on Saturday?",
            "Can 4 people walk to the Kesch hut on Sunday?",
            "Could 4 people walk to the Kesch hut on Saturday?",
        ),
        edit("upstream", "user.2", "We like views.", "It is our first tour.", decoy=True),
        edit("prompt", "prompt.planner.1", "If a hut is full, look at Jenatsch.", "If a hut is full, wait."),
        edit("prompt", "prompt.planner.2", "Look at the weather first.", decoy=True),
        edit("prompt", "prompt.planner.3", "Ask about trains.", "Ask about cars."),
        wording("planner", 4),
        edit("model", "model.planner.name", "m2", decoy=True),
        edit("prompt", "prompt.guide.1", "At most 15 cm of snow.", "At most 60 cm of snow."),
        edit("prompt", "prompt.guide.2", "At most 25 km/h of wind.", "At most 55 km/h of wind."),
        wording("guide", 3),
        edit("upstream", "code.planner.lines", 1, 8),
        edit("upstream", "code.guide.notes", "last two"),
        edit("tool", "row.get_hut.Kesch.beds", 6, 2),
        edit("tool", "row.get_hut.Kesch.meals", "no", decoy=True),
        edit("tool", "row.get_hut.Ela.beds", 3, 8),
        edit("tool", "row.get_pass.Fuorcla.snow", 50, 25),
        edit("tool", "row.get_pass.Fuorcla.height", 2750, decoy=True),
        edit("tool", "row.get_weather.Saturday.wind", 65, 35),
        edit("tool", "row.get_weather.Saturday.sun", 1, decoy=True),
        *sampling("planner", "guide"),
    ),
)

# ---- cycling: partial routes are extended and rated, code keeps the best ones, a narrator describes the winner


def _extend(request: Request) -> str:
    links = re.findall(r"^- (\w+), (\d+) km, (\w+)", request.last, re.MULTILINE)
    most = int(request.rule(r"No stage above (\d+) km\.", "99"))
    avoid = request.rule(r"Avoid (\w+) roads\.")
    names = [name for name, km, road in links if int(km) <= most and road != avoid]
    count = int(request.rule(r"Propose (\d)\.", "2"))
    return f"Next: {', '.join(names[:count]) or 'none'}"


def _rate(request: Request) -> str:
    km = number(r"(\d+) km in all", request.last)
    quiet = len(re.findall(r"\bquiet\b", request.last))
    good = int(request.rule(r"Good is up to (\d+) km\.", "60"))
    fair = int(request.rule(r"Fair is up to (\d+) km\.", "90"))
    if request.model == "m2":
        km -= 20 * quiet
    rating = "good" if km <= good else "fair" if km <= fair else "poor"
    return f"Rating: {rating}"


def _narrate(request: Request) -> str:
    route, km = find(r"^Route: (.+?) \(", request.last), number(r"(\d+) km in all", request.last)
    if not route:
        return "No route fits."
    length = f", {km} km" if "State the length." in request.system else ""
    speed = int(request.rule(r"Ride (\d+) km an hour\.", "15"))
    return f"Ride {route}{length}, about {round(km / speed)} hours."


# Towns, kilometres and roads.
_Path = tuple[tuple[str, ...], int, tuple[str, ...]]
_RATINGS: Final = {"good": 3, "fair": 2, "poor": 1}


def _cycle(runtime: Runtime) -> str:
    settings = runtime.settings
    start = find(r"\bfrom (\w+)", user(settings), "Thun")
    beam: list[_Path] = [((start,), 0, ())]
    for _ in range(number(r"(\d)", str(settings["code.scout+rater.stages"]))):
        rated: list[tuple[int, _Path]] = []
        for towns, km, roads in beam:
            links = items(fields(runtime.tool("get_links", {"town": towns[-1]})).get("links"))
            shown = "\n".join(
                f"- {link.get('to')}, {real(link.get('km')):.0f} km, {link.get('road')}" for link in links
            )
            answer = say(runtime, "scout", f"{' - '.join(towns)}\n{shown}")
            for name in re.findall(r"\w+", answer.partition("Next:")[2]):
                link = next((item for item in links if item.get("to") == name), None)
                if link is None or name in towns:
                    continue
                path = ((*towns, name), km + int(real(link.get("km"))), (*roads, str(link.get("road"))))
                rated.append((_RATINGS.get(find(r"Rating: (\w+)", say(runtime, "rater", _shown(path))), 0), path))
        rated.sort(key=lambda entry: -entry[0])
        beam = [path for _, path in rated[: number(r"(\d)", str(settings["code.scout+rater.width"]))]] or beam
    return say(runtime, "narrator", f"{user(settings)}\nRoute: {_shown(beam[0])}")


def _shown(path: _Path) -> str:
    towns, km, roads = path
    return f"{' - '.join(towns)} ({km} km in all; {', '.join(roads)})"


def _links(*entries: tuple[str, int, str]) -> JSONValue:
    return [{"to": town, "km": km, "road": road} for town, km, road in entries]


_CYCLE: Final = Program(
    name="cycling weekend",
    group="beam of partial routes",
    chance=Chance(rate=0.1, alternatives=(("Rating: good", "Rating: fair"), ("Rating: fair", "Rating: poor"))),
    controls=8,
    program=_cycle,
    final="narrator",
    model=model_of({"scout": _extend, "rater": _rate, "narrator": _narrate}),
    menu=(),
    settings={
        **prompts(
            scout=("You are the scout. Propose the next town.", "Propose 2.", "", ""),
            rater=("You are the rater.", "Good is up to 45 km.", "Fair is up to 70 km.", ""),
            narrator=("You are the narrator.", "Ride 15 km an hour.", "State the length.", ""),
        ),
        "user.0": "A ride for two days from Thun, please.",
        "user.1": "",
        "code.scout+rater.stages": 2,
        "code.scout+rater.width": 2,
        "row.get_links.Thun.links": _links(("Bern", 30, "busy"), ("Spiez", 12, "quiet"), ("Gstaad", 55, "steep")),
        "row.get_links.Thun.station": "yes",
        "row.get_links.Bern.links": _links(("Murten", 28, "quiet"), ("Biel", 38, "busy")),
        "row.get_links.Spiez.links": _links(("Kandersteg", 26, "steep"), ("Interlaken", 20, "quiet")),
        "row.get_links.Gstaad.links": _links(("Bulle", 38, "quiet")),
        "row.get_links.Luzern.links": _links(("Zug", 28, "quiet"), ("Sarnen", 20, "busy")),
        "row.get_links.Zug.links": _links(("Baar", 4, "busy")),
        "row.get_links.Sarnen.links": _links(("Giswil", 10, "quiet")),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "A ride for two days from Luzern, please.",
            "A ride of two days from Thun, please.",
        ),
        edit("upstream", "user.1", "We have tents.", "My bicycle is new.", decoy=True),
        edit("prompt", "prompt.scout.1", "Propose 1.", "Propose 3."),
        edit("prompt", "prompt.scout.2", "No stage above 20 km.", "Avoid busy roads.", "No stage above 80 km."),
        wording("scout", 3),
        edit("model", "model.scout.name", "m2", decoy=True),
        edit("prompt", "prompt.rater.1", "Good is up to 35 km.", "Good is up to 10 km."),
        edit("prompt", "prompt.rater.2", "Fair is up to 65 km.", decoy=True),
        wording("rater", 3),
        edit("model", "model.rater.name", "m2"),
        edit("prompt", "prompt.narrator.1", "Ride 10 km an hour.", "Ride 15 km an hour at most."),
        edit("prompt", "prompt.narrator.2", "", "State the stages."),
        wording("narrator", 3),
        edit("upstream", "code.scout+rater.stages", 1),
        edit("upstream", "code.scout+rater.width", 1, 3),
        edit(
            "tool",
            "row.get_links.Thun.links",
            _links(("Bern", 30, "busy"), ("Spiez", 19, "quiet"), ("Gstaad", 55, "steep")),
            _links(("Bern", 14, "busy"), ("Spiez", 12, "quiet"), ("Gstaad", 55, "steep")),
        ),
        edit("tool", "row.get_links.Spiez.links", _links(("Kandersteg", 22, "steep"), ("Interlaken", 20, "quiet"))),
        edit("tool", "row.get_links.Thun.station", "no", decoy=True),
        edit("tool", "row.get_links.Bern.links", _links(("Murten", 29, "quiet"), ("Biel", 38, "busy")), decoy=True),
        *sampling("scout", "rater", "narrator"),
    ),
)

PLANNERS: Final[tuple[Program, ...]] = (_TOUR, _CYCLE)
