"""Columns of two tables that code joins as a model matched them, and a roster that code solves from wishes."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- mapping: a matcher names the columns, code joins and sums, an analyst explains


def _match(request: Request) -> str:
    left, right = (find(rf"^{side}: (.+)$", request.last).split(", ") for side in ("Left", "Right"))
    key = next((name for name in left if name in right), left[0])
    wanted = request.rule(r"Sum the (\w+)\.", "price")
    amount = next((name for name in (*left, *right) if wanted in name), left[-1])
    group = next((name for name in right if name in request.last.partition("\n")[0].lower()), right[-1])
    if request.model == "m2":
        group = right[-1]
    return f'{{"join": "{key}", "sum": "{amount}", "by": "{group}"}}'


def _analyse(request: Request) -> str:
    lines = re.findall(r"^([\w ]+): (-?\d+)$", request.last, re.MULTILINE)
    if not lines:
        return "There is nothing to compare."
    ranked = sorted(lines, key=lambda line: -int(line[1]))
    if "Name the weakest." in request.system:
        ranked.reverse()
    limit = int(request.rule(r"Alarm under (\d+)\.", "0"))
    alarm = " Raise the alarm." if any(int(value) < limit for _, value in lines) else ""
    total = f" of {sum(int(value) for _, value in lines)}" if "Give the total." in request.system else ""
    return f"{ranked[0][0]} has {ranked[0][1]}{total}.{alarm}"


def _mapping(runtime: Runtime) -> str:
    settings = runtime.settings
    tables = [items(fields(runtime.tool("load", {"table": name})).get("lines")) for name in ("sales", "places")]
    columns = [", ".join(table[0]) if table else "" for table in tables]
    request = f"{user(settings)}\nLeft: {columns[0]}\nRight: {columns[1]}"
    mapping = json_in(say(runtime, "matcher", request))
    key, amount, group = (str(mapping.get(name)) for name in ("join", "sum", "by"))
    sums: dict[str, float] = {}
    for line in tables[0]:
        partner = next((other for other in tables[1] if other.get(key) == line.get(key)), None)
        if partner is None and settings["code.analyst.join"] == "inner":
            continue
        joined: JSONObject = {**(partner or {}), **line}
        sums[str(joined.get(group, "unknown"))] = sums.get(str(joined.get(group, "unknown")), 0) + real(
            joined.get(amount)
        )
    scale = real(settings["code.analyst.scale"], 1)
    return say(runtime, "analyst", "\n".join(f"{name}: {round(value * scale)}" for name, value in sums.items()))


def _sales(*prices: int) -> list[JSONValue]:
    shops = ("s1", "s2", "s3", "s9")
    return [
        {"shop": shop, "price": price, "amount": at + 2}
        for at, (shop, price) in enumerate(zip(shops, prices, strict=True))
    ]


def _places(region: str = "east") -> list[JSONValue]:
    return [
        {"shop": "s1", "region": region, "size": "small"},
        {"shop": "s2", "region": "west", "size": "large"},
        {"shop": "s3", "region": "west", "size": "small"},
    ]


_MAPPING: Final = Program(
    name="column mapping",
    group="tables joined by code",
    program=_mapping,
    final="analyst",
    model=model_of({"matcher": _match, "analyst": _analyse}),
    menu=(),
    settings={
        **prompts(
            matcher=("You are the matcher. Match the columns.", "Sum the price.", "", ""),
            analyst=("You are the analyst. Explain.", "Name the strongest.", "Give the total.", "Alarm under 10.", ""),
        ),
        "user.0": "Compare the sales by region.",
        "user.1": "",
        "code.analyst.join": "inner",
        "code.analyst.scale": 1,
        "row.load.sales.lines": _sales(30, 25, 20, 12),
        "row.load.sales.month": "May",
        "row.load.places.lines": _places(),
        "row.load.places.checked": "no",
    },
    edits=(
        edit("upstream", "user.0", "Compare the sales by size.", "Contrast the sales by region."),
        edit("upstream", "user.1", "Please be short.", "See you.", decoy=True),
        edit("prompt", "prompt.matcher.1", "Sum the amount."),
        edit("prompt", "prompt.matcher.2", "Quote the names.", decoy=True),
        wording("matcher", 3),
        edit("model", "model.matcher.name", "m2"),
        edit("prompt", "prompt.analyst.1", "Name the weakest."),
        edit("prompt", "prompt.analyst.2", "Hide the sum."),
        edit("prompt", "prompt.analyst.3", "Alarm under 35.", "Alarm under 40."),
        wording("analyst", 4),
        edit("model", "model.analyst.name", "m2", decoy=True),
        edit("upstream", "code.analyst.join", "outer"),
        edit("upstream", "code.analyst.scale", 2, 0.5),
        edit("tool", "row.load.sales.lines", _sales(60, 25, 20, 12), _sales(30, 25, 4, 12)),
        edit("tool", "row.load.sales.month", "June", decoy=True),
        edit("tool", "row.load.places.lines", _places("west"), _places("north")),
        edit("tool", "row.load.places.checked", "yes", decoy=True),
        *sampling("matcher", "analyst"),
    ),
)

# ---- roster: wishes read one by one, code assigns the shifts, open ones are offered to a person, a notice

_DAYS: Final = ("Monday", "Tuesday", "Wednesday")


def _wish(request: Request) -> str:
    text = request.last.lower()
    days = [day for day in _DAYS if day.lower() in text]
    cannot = "not" in text or "cannot" in text
    if request.model == "m2":
        cannot = "cannot" in text
    if "busy" in text and "Busy people are free on Mondays only." in request.system:
        cannot, days = False, ["Monday"]
    free = [day for day in _DAYS if (day in days) != cannot] if days else list(_DAYS)
    most = number(r"(\d) shift", text, int(request.rule(r"By default, (\d) shifts?\.", "1")))
    return f"FREE {', '.join(free) or 'never'}; MOST {most}"


def _offer(request: Request) -> str:
    day, names = find(r"^Open: (\w+)", request.last), find(r"^Staff: (.+)$", request.last).split(", ")
    first = request.rule(r"Ask (\w+) first\.", names[0])
    return f"{first if first in names else names[-1]} takes {day or 'nothing'}"


def _notice(request: Request) -> str:
    shifts = re.findall(r"^(\w+day): (\w+)$", request.last, re.MULTILINE)
    title = request.rule(r"Head it (\w+)\.", "Roster")
    gaps = [day for day, name in shifts if name == "nobody"]
    end = f" Nobody works on {', '.join(gaps)}." if gaps else ""
    hours = f" {number(r'^Hours: (.+)', request.last)} hours." if "Give the hours." in request.system else ""
    return f"{title}: {', '.join(f'{day} {name}' for day, name in shifts if name != 'nobody')}.{hours}{end}"


def _roster(runtime: Runtime) -> str:
    settings = runtime.settings
    team = find(r"team (\w+)", user(settings), "red")
    wishes: dict[str, tuple[list[str], int]] = {}
    for line in items(fields(runtime.tool("get_wishes", {"team": team})).get("wishes")):
        answer = say(runtime, "reader", str(line.get("text")))
        free = find(r"FREE ([\w, ]+)", answer).split(", ")
        wishes[str(line.get("name"))] = free, number(r"MOST (\d)", answer, 1)
    names = sorted(wishes) if settings["code.writer.order"] == "by name" else list(wishes)
    load = dict.fromkeys(names, 0)
    shifts: dict[str, str] = {}
    for day in _DAYS:
        fit = [name for name in names if day in wishes[name][0] and load[name] < wishes[name][1]]
        shifts[day] = min(fit, key=load.__getitem__) if fit else "nobody"
        if fit:
            load[shifts[day]] += 1
        elif names:
            answer = say(runtime, "caller", f"Open: {day}\nStaff: {', '.join(names)}")
            taker = find(r"^(\w+) takes", answer)
            if taker in load and load[taker] < int(real(settings["code.writer.most"], 2)):
                shifts[day] = taker
                load[taker] += 1
    length = real(fields(runtime.tool("get_shift", {"team": team})).get("hours"))
    hours = sum(load.values()) * length
    return say(
        runtime, "writer", "\n".join([*(f"{day}: {name}" for day, name in shifts.items()), f"Hours: {hours:.0f}"])
    )


def _wishes(**texts: str) -> list[JSONValue]:
    return [{"name": name, "text": text} for name, text in texts.items()]


_ROSTER: Final = Program(
    name="duty roster",
    group="roster solved by code",
    program=_roster,
    final="writer",
    model=model_of({"reader": _wish, "caller": _offer, "writer": _notice}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Read the wish.", "By default, 1 shift.", "", "", ""),
            caller=("You are the caller. Find somebody.", "Ask Ugo first.", "", ""),
            writer=("You are the writer. Write the notice.", "Head it Roster.", "Give the hours.", "", ""),
        ),
        "user.0": "Plan the team red.",
        "user.1": "",
        "code.writer.order": "as written",
        "code.writer.most": 2,
        "row.get_wishes.red.wishes": _wishes(
            Vera="I cannot work on Monday.", Ugo="Monday suits me, I am busy.", Ida="Not on Wednesday, please."
        ),
        "row.get_wishes.red.week": 21,
        "row.get_wishes.blue.wishes": _wishes(Max="Any day, 3 shifts.", Zoe="Tuesday."),
        **rows("get_shift", red={"hours": 8, "room": "hall"}, blue={"hours": 6, "room": "yard"}),
    },
    edits=(
        edit("upstream", "user.0", "Plan the team blue.", "Schedule the team red."),
        edit("upstream", "user.1", "Thank you all.", "It is spring.", decoy=True),
        edit("prompt", "prompt.reader.1", "By default, 2 shifts.", "By default, 3 shifts."),
        edit("prompt", "prompt.reader.2", "Busy people are free on Mondays only.", decoy=True),
        edit("prompt", "prompt.reader.3", "Read it kindly.", decoy=True),
        wording("reader", 4),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.caller.1", "Ask Ida first.", "Ask Vera first."),
        edit("prompt", "prompt.caller.2", "Call before noon.", decoy=True),
        wording("caller", 3),
        edit("prompt", "prompt.writer.1", "Head it Plan.", "Head it Shifts."),
        edit("prompt", "prompt.writer.2", "Hide the hours."),
        wording("writer", 3),
        edit("upstream", "code.writer.order", "by name"),
        edit("upstream", "code.writer.most", 1),
        edit(
            "tool",
            "row.get_wishes.red.wishes",
            _wishes(
                Vera="I cannot work on Monday.", Ugo="Wednesday suits me, I am busy.", Ida="Not on Wednesday, please."
            ),
            _wishes(Vera="Only Tuesday.", Ugo="Monday suits me, I am busy.", Ida="Not on Wednesday, please."),
        ),
        edit("tool", "row.get_wishes.red.week", 22, decoy=True),
        edit("tool", "row.get_shift.red.hours", 7, 9),
        edit("tool", "row.get_shift.red.room", "loft", decoy=True),
        *sampling("reader", "caller", "writer"),
    ),
)

PLANS: Final[tuple[Program, ...]] = (_MAPPING, _ROSTER)
