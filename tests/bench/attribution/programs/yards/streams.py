"""Documents that are mapped and reduced, events in a queue, and a course whose early turns a summary replaces."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import (
    Edit,
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONObject, JSONValue

# ---- permit archive: a list in pages, a mapper for each permit, groups and totals by code, a reducer


def _mapper(request: Request) -> str:
    area = number(r"area (\d+)", request.last)
    small = int(request.rule(r"Small is below (\d+)\.", "0"))
    kind = find(r"for a (\w+)", request.last, "house")
    size = "small" if area < small else "large"
    fee = number(r"fee (\d+)", request.last)
    if request.rule(r"Ignore (temporary) permits\.") and "temporary" in request.last:
        return "SKIP"
    if request.model == "m2":
        kind = {"barn": "shed"}.get(kind, kind)
    return f"PERMIT {kind} | {size} | {fee}"


def _reducer(request: Request) -> str:
    groups = [line for line in request.last.splitlines() if line.startswith("* ")]
    most = int(request.rule(r"Show (\d) groups\.", "9"))
    shown = [line[2:] for line in groups][:most]
    total = find(r"^Total: (.+)", request.last)
    word = request.rule(r"Call them (\w+)\.", "permits")
    rich = int(request.rule(r"Praise above (\d+)\.", "9999"))
    praise = " A good year." if number(r"^Total: (\d+)", request.last) > rich else ""
    return f"{find(r'^Year: (.+)', request.last)} {word}: {'; '.join(shown) or 'none'}; {total} in all.{praise}"


def _archive(runtime: Runtime) -> str:
    settings = runtime.settings
    year = find(r"of (\d{4})", user(settings), "2025")
    page: str | None = f"{year}p1"
    texts: list[str] = []
    for _ in range(int(real(settings["code.list_permits+mapper.pages"]))):
        answer = fields(runtime.tool("list_permits", {"page": page}))
        texts += [text for text in str(answer.get("permits", "")).split(" | ") if text]
        page = str(answer.get("next", ""))
        if not page:
            break
    if settings["code.mapper.double"] == "dropped":
        texts = list(dict.fromkeys(texts))
    groups: dict[str, list[int]] = {}
    for text in texts:
        head = f"Year {year}. " if settings["code.mapper.year"] == "shown" else ""
        reply = say(runtime, "mapper", f"{head}{text}")
        if not reply.startswith("PERMIT"):
            continue
        kind, size, fee = (part.strip() for part in reply.removeprefix("PERMIT").split("|"))
        groups.setdefault(size if settings["code.reducer.key"] == "size" else kind, []).append(int(real(fee)))
    items = list(groups.items())
    if settings["code.reducer.order"] == "fees":
        items.sort(key=lambda item: -sum(item[1]))
    least = real(settings["code.reducer.least"])
    lines = [f"* {len(fees)} {name} for {sum(fees)}" for name, fees in items if len(fees) >= least]
    total = sum(sum(fees) for _, fees in items)
    if settings["code.reducer.tax"] == "added":
        total = round(total * 1.1)
    return say(runtime, "reducer", "\n".join([f"Year: {year}", *lines, f"Total: {total}"]))


_FIRST: Final = "Permit for a house, area 120, fee 300 | Permit for a barn, area 60, fee 90, temporary"
_SECOND: Final = "Permit for a barn, area 200, fee 150 | Permit for a house, area 120, fee 300"
_PAGES: Final[dict[str, JSONObject]] = {
    "2025p1": {"permits": _FIRST, "next": "2025p2", "clerk": "Ida"},
    "2025p2": {"permits": _SECOND, "next": "2025p3", "clerk": "Ole"},
    "2025p3": {"permits": "Permit for a shop, area 80, fee 400", "clerk": "Ida"},
    "2024p1": {"permits": "Permit for a shop, area 90, fee 500", "clerk": "Ida"},
}
_ARCHIVE: Final = Program(
    name="permit archive",
    group="mapped documents",
    program=_archive,
    final="reducer",
    model=model_of({"mapper": _mapper, "reducer": _reducer}),
    menu=(),
    settings={
        **prompts(
            mapper=("You are the mapper.", "Small is below 100.", "", "", ""),
            reducer=("You are the reducer.", "", "Praise above 900.", "", "", ""),
        ),
        "user.0": "Sum up the permits of 2025.",
        "user.1": "",
        "code.list_permits+mapper.pages": 2,
        "code.mapper.double": "kept",
        "code.mapper.year": "hidden",
        "code.reducer.key": "kind",
        "code.reducer.order": "none",
        "code.reducer.least": 1,
        "code.reducer.tax": "none",
        **rows("list_permits", **_PAGES),
    },
    edits=(
        edit("upstream", "user.0", "Sum up the permits of 2024."),
        edit("upstream", "user.1", "Thank you.", decoy=True),
        edit("prompt", "prompt.mapper.1", "Small is below 150.", decoy=True),
        edit("prompt", "prompt.mapper.2", "Ignore temporary permits."),
        wording("mapper", 3),
        edit("model", "model.mapper.name", "m2"),
        edit("prompt", "prompt.reducer.1", "Show 1 groups."),
        edit("prompt", "prompt.reducer.2", "Praise above 700."),
        edit("prompt", "prompt.reducer.3", "Call them cases."),
        wording("reducer", 4),
        edit("upstream", "code.list_permits+mapper.pages", 1, 3),
        edit("upstream", "code.mapper.double", "dropped"),
        edit("upstream", "code.mapper.year", "shown", decoy=True),
        edit("upstream", "code.reducer.key", "size"),
        edit("upstream", "code.reducer.order", "fees", decoy=True),
        edit("upstream", "code.reducer.least", 3),
        edit("upstream", "code.reducer.tax", "added"),
        edit("tool", "row.list_permits.2025p1.permits", _FIRST.replace("fee 300", "fee 420")),
        edit(
            "tool",
            "row.list_permits.2025p2.permits",
            _SECOND.replace("a barn", "a mill"),
            _SECOND.replace("fee 150", "fee 170"),
        ),
        edit("tool", "row.list_permits.2025p1.clerk", "Per", decoy=True),
        edit("tool", "row.list_permits.2025p1.next", ""),
        *sampling("mapper", "reducer"),
    ),
)

# ---- lock events: a queue of events, handlers that raise further events, an order and a limit in code, a keeper's log


def _gate(request: Request) -> str:
    level = number(r"level (\d+)", request.last)
    if level >= int(request.rule(r"Open from level (\d+)\.", "8")):
        return "RAISE alarm flood" if request.model == "m2" else "RAISE pump start"
    return f"NOTE gate closed at {level}"


def _boat(request: Request) -> str:
    name, length = find(r"boat (\w+)", request.last, "boat"), number(r"length (\d+)", request.last)
    if length > int(request.rule(r"Tow above (\d+) metres\.", "30")):
        return f"RAISE tug {name}"
    price = int(request.rule(r"Charge (\d) per metre\.", "1"))
    return f"NOTE {name} passes for {length * price}"


def _helper(request: Request) -> str:
    word = request.rule(r"Report as (\w+)\.", "done")
    task = find(r"^(?:pump|tug|alarm) (.+)", request.last, "task")
    return f"NOTE {task} {word}"


def _keeper(request: Request) -> str:
    notes = [line[2:] for line in request.last.splitlines() if line.startswith("- ")]
    if request.rule(r"Leave out (gates)\."):
        notes = [note for note in notes if not note.startswith("gate")]
    left = number(r"^Left: (\d+)", request.last)
    rest = f" {left} events are open." if left and "Tell open events." in request.system else ""
    return f"Log: {'; '.join(notes) or 'quiet'}.{rest}"


_HANDLERS: Final = {"gate": "gate", "boat": "boat", "pump": "helper", "tug": "helper", "alarm": "helper"}
_RANKS: Final = {"alarm": 0, "pump": 1, "tug": 2, "gate": 3, "boat": 4}


def _lock(runtime: Runtime) -> str:
    settings = runtime.settings
    day = fields(runtime.tool("get_events", {"day": find(r"on (\w+day)", user(settings), "Monday")}))
    queue = [event for event in str(day.get("events", "")).split(" | ") if event]
    if settings["code.gate+boat+helper.double"] == "joined":
        queue = list(dict.fromkeys(queue))
    notes: list[str] = []
    limit = int(real(settings["code.gate+boat+helper.limit"]))
    for _ in range(limit):
        if not queue:
            break
        if settings["code.gate+boat+helper.order"] == "rank":
            queue.sort(key=lambda event: _RANKS.get(event.split(" ")[0], 9))
        event = queue.pop(-1 if settings["code.gate+boat+helper.order"] == "last" else 0)
        handler = _HANDLERS.get(event.split(" ")[0])
        if handler is None:
            if settings["code.keeper.unknown"] == "noted":
                notes.append(f"unknown {event}")
            continue
        weather = f"\nWeather: {day.get('weather')}" if settings["code.boat.weather"] == "shown" else ""
        reply = say(runtime, handler, event + (weather if handler == "boat" else ""))
        if raised := find(r"RAISE (.+)", reply):
            queue.append(raised)
        elif note := find(r"NOTE (.+)", reply):
            notes.append(note)
    shown = notes[-int(real(settings["code.keeper.notes"])) :]
    return say(runtime, "keeper", "\n".join([*(f"- {note}" for note in shown), f"Left: {len(queue)}"]))


_MONDAY: Final = "boat Elsa length 20 | gate level 9 | boat Nora length 45 | siren test | boat Elsa length 20"
_LOCK: Final = Program(
    name="lock events",
    group="queue of events",
    program=_lock,
    final="keeper",
    model=model_of({"gate": _gate, "boat": _boat, "helper": _helper, "keeper": _keeper}),
    menu=(),
    settings={
        **prompts(
            gate=("You are the gate.", "Open from level 8.", "", ""),
            boat=("You are the boat.", "Tow above 40 metres.", "Charge 2 per metre.", "", ""),
            helper=("You are the helper.", "", "", ""),
            keeper=("You are the keeper.", "Tell open events.", "", "", ""),
        ),
        "user.0": "What happened on Monday?",
        "user.1": "",
        "code.gate+boat+helper.double": "kept",
        "code.gate+boat+helper.limit": 9,
        "code.gate+boat+helper.order": "first",
        "code.boat.weather": "hidden",
        "code.keeper.unknown": "dropped",
        "code.keeper.notes": 6,
        **rows(
            "get_events",
            Monday={"events": _MONDAY, "weather": "rain", "shift": "early"},
            Friday={"events": "boat Olga length 12 | gate level 3", "weather": "sun", "shift": "late"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "What happened on Friday?"),
        edit("upstream", "user.1", "I was away.", decoy=True),
        edit("prompt", "prompt.gate.1", "Open from level 10."),
        edit("model", "model.gate.name", "m2"),
        edit("prompt", "prompt.boat.1", "Tow above 50 metres."),
        edit("prompt", "prompt.boat.2", "Charge 3 per metre."),
        edit("prompt", "prompt.helper.1", "Report as finished."),
        edit("prompt", "prompt.keeper.1", "", decoy=True),
        edit("prompt", "prompt.keeper.2", "Leave out gates.", decoy=True),
        Edit(
            category="prompt",
            variants=((("prompt.gate.2", "Stay calm and kind."), ("prompt.helper.2", "Stay calm and kind.")),),
            decoy=True,
        ),
        wording("keeper", 3),
        edit("upstream", "code.gate+boat+helper.double", "joined"),
        edit("upstream", "code.gate+boat+helper.limit", 4),
        edit("upstream", "code.gate+boat+helper.order", "rank", "last"),
        edit("upstream", "code.boat.weather", "shown", decoy=True),
        edit("upstream", "code.keeper.unknown", "noted"),
        edit("upstream", "code.keeper.notes", 2),
        edit(
            "tool", "row.get_events.Monday.events", _MONDAY.replace("level 9", "level 5"), f"{_MONDAY} | gate level 2"
        ),
        edit("tool", "row.get_events.Monday.weather", "fog", decoy=True),
        edit("tool", "row.get_events.Monday.shift", "night", decoy=True),
        *sampling("boat", "keeper"),
    ),
)

# ---- sailing course: turns of a student, code has early turns summed up, keeps notes and a window of messages


def _skipper(request: Request) -> str:
    text = request.last
    told = "\n".join(text_of(message) for message in request.messages)
    wind = number(r"wind (\d+)", told, 3)
    boat = find(r"(?:sail an?|boat is an?) (\w+)", told, "dinghy")
    reef = wind >= int(request.rule(r"Reef from wind (\d)\.", "6"))
    if "sails" in text:
        return f"Put {'a reef' if reef else 'all sails'} on your {boat}."
    if "course" in text:
        fear = "afraid" in told and request.model != "m2"
        course = "downwind" if fear else request.rule(r"Teach to go (\w+)\.", "upwind")
        gear = find(r"Gear: (\w+)", told)
        rest = f" with {gear}" if gear else ""
        return f"Steer the {boat} {course}{rest}{', reefed' if reef else ''}."
    return "Aye."


def _minuter(request: Request) -> str:
    parts = []
    if boat := find(r"sail an? (\w+)", request.last):
        parts.append(f"boat is a {boat}")
    if wind := find(r"wind (\d+)", request.last):
        parts.append(f"wind {wind}")
    if request.rule(r"Note (feelings)\.") and "afraid" in request.last:
        parts.append("afraid")
    return "SUMMARY " + ", ".join(parts[: int(request.rule(r"At most (\d) points\.", "9"))])


def _course(runtime: Runtime) -> str:
    settings = runtime.settings
    turns = [str(settings[f"turn.{number}"]) for number in range(4)]
    conversation: list[JSONValue] = []
    summary = ""
    reply = ""
    gear = ""
    for position, turn in enumerate(turns):
        if position == int(real(settings["code.skipper.gear"])):
            boat = find(r"sail an? (\w+)", "\n".join(turns[: position + 1]), "dinghy")
            gear = str(fields(runtime.tool("get_gear", {"boat": boat})).get("gear", ""))
        conversation.append(user_message(turn))
        if len(conversation) > real(settings["code.minuter+skipper.most"]):
            keep = int(real(settings["code.skipper.window"]))
            early = [text_of(message) for message in conversation[:-keep]]
            if settings["code.minuter.replies"] == "left out":
                early = early[::2]
            summary = say(runtime, "minuter", "\n".join([summary, *early] if summary else early))
            conversation = conversation[-keep:]
        notes = [summary] if summary else []
        if gear and settings["code.skipper.notes"] == "on":
            notes.append(f"Gear: {gear}")
        head = [user_message("\n".join(notes))] if notes else []
        message = runtime.model("skipper", [system_message(runtime, "skipper"), *head, *conversation])
        reply = text_of(message)
        conversation.append(message)
    return reply


_COURSE: Final = Program(
    name="sailing course",
    group="summed up turns",
    program=_course,
    final="skipper",
    model=model_of({"skipper": _skipper, "minuter": _minuter}),
    menu=(),
    settings={
        **prompts(
            skipper=("You are the skipper.", "Reef from wind 5.", "", "", ""),
            minuter=("You are the minuter.", "Note feelings.", "", "", ""),
        ),
        "turn.0": "I sail a cutter and I am afraid.",
        "turn.1": "There is wind 4 today.",
        "turn.2": "Which sails do I need?",
        "turn.3": "Which course do I take?",
        "code.minuter+skipper.most": 4,
        "code.skipper.window": 2,
        "code.skipper.gear": 2,
        "code.skipper.notes": "on",
        "code.minuter.replies": "kept",
        **rows("get_gear", cutter={"gear": "spinnaker", "age": 4}, yawl={"gear": "mizzen", "age": 9}),
    },
    edits=(
        edit("upstream", "turn.0", "I sail a yawl and I am afraid.", "I sail a cutter and I am happy."),
        edit("upstream", "turn.1", "There is wind 6 today.", "There is wind 5 today."),
        edit("upstream", "turn.2", "So which sails do I need?", decoy=True),
        edit("prompt", "prompt.skipper.1", "Reef from wind 4."),
        edit("prompt", "prompt.skipper.2", "Teach to go across.", decoy=True),
        edit("prompt", "prompt.skipper.3", "Sign as Jo."),
        wording("skipper", 4),
        edit("prompt", "prompt.minuter.1", ""),
        edit("prompt", "prompt.minuter.2", "At most 1 points."),
        wording("minuter", 3),
        edit("model", "model.skipper.name", "m2"),
        edit("upstream", "code.minuter+skipper.most", 2),
        edit("upstream", "code.skipper.window", 3),
        edit("upstream", "code.skipper.gear", 9),
        edit("upstream", "code.skipper.notes", "off"),
        edit("upstream", "code.minuter.replies", "left out", decoy=True),
        edit("tool", "row.get_gear.cutter.gear", "genoa"),
        edit("tool", "row.get_gear.cutter.age", 5, decoy=True),
        edit("model", "model.skipper.max_tokens", 300, decoy=True),
        *sampling("skipper", "minuter"),
    ),
)
_COURSE_REWORDED: Final = replace(
    _COURSE, name="sailing course, reworded", group="summed up turns, reworded", rewords=True
)

STREAMS: Final[tuple[Program, ...]] = (_ARCHIVE, _LOCK, _COURSE, _COURSE_REWORDED)
