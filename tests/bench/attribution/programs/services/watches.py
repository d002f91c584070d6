"""Logs that are read in batches with counts kept by code, and meetings placed into calendars that code reads."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- logs: each batch gets findings, code adds them up over the stream and stops at a limit, a pager writes

_FAULTS: Final = ("timeout", "disk", "login", "memory")


def _inspect(request: Request) -> str:
    lines = request.last.lower().split("\n")
    words = ("error", "warning") if "Warnings count as well." in request.system else ("error",)
    ignored = request.rule(r"Leave out (\w+)\.")
    counts = {
        fault: sum(fault in line and any(word in line for word in words) for line in lines)
        for fault in _FAULTS
        if fault != ignored
    }
    if request.model == "m2":
        counts.pop("disk", None)
    found = [f"{fault} x{count}" for fault, count in counts.items() if count]
    return f"Found: {', '.join(found)}." if found else "Found: nothing."


def _page(request: Request) -> str:
    fault, count = find(r"Fault: (\w+)", request.last, "none"), number(r"seen (\d+) times", request.last)
    owner, hours = find(r"Owner: (\w+)", request.last, "nobody"), number(r"answers within (\d+) hours", request.last)
    if fault == "none":
        return "All is quiet."
    grave = count >= int(request.rule(r"From (\d+) on it is grave\.", "4"))
    level = "Grave" if grave else "Minor"
    advice = request.rule(r"Close with: ([\w ]+)\.")
    late = f" Expect {hours} hours." if "Say how long it takes." in request.system else ""
    return f"{level}: {fault}, {owner} please look.{late}{f' {advice}.' if advice else ''}"


def _logs(runtime: Runtime) -> str:
    settings = runtime.settings
    tally: dict[str, int] = {}
    alarm = ""
    for batch in find(r"batches ([\w, ]+)\.", user(settings), "one").split(", "):
        lines = str(fields(runtime.tool("read_logs", {"batch": batch})).get("lines", "")).split("; ")
        for fault, count in re.findall(r"(\w+) x(\d+)", say(runtime, "sentry", "\n".join(lines))):
            tally[fault] = tally.get(fault, 0) + int(count)
        reached = [
            fault
            for fault, count in tally.items()
            if count >= number(r"(\d)", str(settings["code.pager+get_owner.limit"]))
        ]
        if reached:
            alarm = max(reached, key=lambda fault: tally[fault])
            if settings["code.sentry+read_logs+get_owner+pager.stop"] == "at the first":
                break
    if not alarm:
        return say(runtime, "pager", "No fault.")
    duty = fields(runtime.tool("get_owner", {"fault": alarm}))
    return say(
        runtime,
        "pager",
        f"Fault: {alarm}, seen {tally[alarm]} times.\n"
        f"Owner: {duty.get('name')}, answers within {duty.get('hours')} hours.",
    )


_LOGS: Final = Program(
    name="log watch",
    group="counts over a stream",
    program=_logs,
    final="pager",
    model=model_of({"sentry": _inspect, "pager": _page}),
    menu=(),
    settings={
        **prompts(
            sentry=("You are the sentry. Count the faults.", "Leave out login.", "", ""),
            pager=("You are the pager. Call for help.", "From 4 on it is grave.", "Close with: thank you.", "", ""),
        ),
        "user.0": "Watch the batches one, two, three.",
        "user.1": "",
        "code.pager+get_owner.limit": 3,
        "code.sentry+read_logs+get_owner+pager.stop": "at the end",
        **rows(
            "read_logs",
            one={"lines": "error timeout at api; info start; error disk full; warning timeout", "host": "a1"},
            two={"lines": "error login failed; error disk full; error timeout at db", "host": "a1"},
            three={"lines": "error timeout at db; error timeout at api; error login failed", "host": "a2"},
            four={"lines": "error memory low; error memory low; error memory low; error memory low", "host": "a3"},
        ),
        **rows(
            "get_owner",
            timeout={"name": "Nora", "hours": 2, "room": "4b"},
            disk={"name": "Emil", "hours": 6, "room": "4c"},
            memory={"name": "Tuva", "hours": 1, "room": "4d"},
            login={"name": "Olav", "hours": 3, "room": "4e"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Watch the batches one, two, four.", "Watch the batches one, two."),
        edit("upstream", "user.1", "I am at lunch.", "It is Monday.", decoy=True),
        edit("prompt", "prompt.sentry.1", "Leave out timeout.", "Skip login."),
        edit("prompt", "prompt.sentry.2", "Warnings count as well.", decoy=True),
        wording("sentry", 3),
        edit("model", "model.sentry.name", "m2", decoy=True),
        edit("prompt", "prompt.pager.1", "From 9 on it is grave."),
        edit("prompt", "prompt.pager.2", "Close with: good luck."),
        edit("prompt", "prompt.pager.3", "Say how long it takes."),
        wording("pager", 4),
        edit("upstream", "code.pager+get_owner.limit", 5, 2),
        edit("upstream", "code.sentry+read_logs+get_owner+pager.stop", "at the first", decoy=True),
        edit(
            "tool",
            "row.read_logs.two.lines",
            "error memory low; error memory low; error memory low; error memory low; error memory low",
        ),
        edit("tool", "row.read_logs.three.lines", "info stop", "error disk full; error disk full; error disk full"),
        edit("tool", "row.read_logs.one.host", "b7", decoy=True),
        edit("tool", "row.get_owner.timeout.name", "Ivar"),
        edit("tool", "row.get_owner.timeout.hours", 5, decoy=True),
        edit("tool", "row.get_owner.disk.name", "Siri", decoy=True),
        *sampling("sentry", "pager"),
    ),
)

# ---- meetings: a request is read, code finds free hours in calendars, a model picks one until a room is free

_DAY: Final = range(9, 17)


def _read_meeting(request: Request) -> str:
    people = re.findall(r"\b(Ana|Bo|Cleo)\b", request.last)
    hours = number(r"(\d) hours?", request.last, int(request.rule(r"A meeting takes (\d) hours?\.", "1")))
    day = find(r"on (\w+day)", request.last, "Monday")
    if (extra := request.rule(r"Always invite (\w+)\.")) and extra not in people:
        people.append(extra)
    return f"People: {', '.join(people)}. Hours: {hours}. Day: {day}."


def _pick_slot(request: Request) -> str:
    free = [int(hour) for hour in re.findall(r"^(\d+):00 is free", request.last, re.MULTILINE)]
    taken = {int(hour) for hour in re.findall(r"No room at (\d+):00", request.last)}
    left = [hour for hour in free if hour not in taken]
    if "Keep noon free." in request.system:
        left = [hour for hour in left if hour != 12]
    if not left:
        return "Slot: none"
    late = "late" in request.rule(r"Prefer (early|late) hours\.", "early") or request.model == "m2"
    return f"Slot: {left[-1] if late else left[0]}"


def _invite(request: Request) -> str:
    slot, room = find(r"Hour: (\w+)", request.last, "none"), find(r"Room: (\w+)", request.last, "none")
    people, day = find(r"People: ([\w, ]+)", request.last), find(r"Day: (\w+)", request.last)
    if "none" in (slot, room):
        return "No time suits everyone."
    hello = request.rule(r"Address them as (\w+)\.", "team")
    snack = " Coffee is served." if "Mention the coffee." in request.system and int(slot) < 12 else ""
    return f"Dear {hello}, {people} meet on {day} at {slot} in {room}.{snack}"


def _busy(text: str) -> set[int]:
    spans = re.findall(r"(\d+)-(\d+)", text)
    return {hour for start, end in spans for hour in range(int(start), int(end))}


def _meeting(runtime: Runtime) -> str:
    settings = runtime.settings
    plan = say(runtime, "reader", user(settings))
    people = [name for name in find(r"People: ([\w, ]+)\.", plan).split(", ") if name]
    length, day = number(r"Hours: (\d)", plan, 1), find(r"Day: (\w+)", plan, "Monday")
    busy: set[int] = set()
    for name in people:
        busy |= _busy(str(fields(runtime.tool("get_calendar", {"person": name})).get(day, "")))
    pause = 1 if settings["code.picker+find_room+host.pause"] == "an hour" else 0
    free = [hour for hour in _DAY if not busy & set(range(hour, hour + length + pause)) and hour + length <= 17]
    lines = [f"{hour}:00 is free" for hour in free]
    slot, room = "none", "none"
    for _ in range(3):
        slot = find(r"Slot: (\w+)", say(runtime, "picker", "\n".join(["These hours:", *lines])), "none")
        if slot == "none":
            break
        room = str(fields(runtime.tool("find_room", {"hour": slot})).get("room", "none"))
        if room != "none":
            break
        lines.append(f"No room at {slot}:00")
    return say(runtime, "host", f"People: {', '.join(people)}\nDay: {day}\nHour: {slot}\nRoom: {room}")


_ROOMS: Final[dict[str, JSONValue]] = {
    f"row.find_room.{hour}.room": room
    for hour, room in {
        9: "Fjord",
        10: "none",
        11: "Oslo",
        12: "Oslo",
        13: "Elm",
        14: "Elm",
        15: "Fjord",
        16: "Oslo",
    }.items()
}
_MEETING: Final = Program(
    name="meeting host",
    group="calendars and rooms",
    program=_meeting,
    final="host",
    model=model_of({"reader": _read_meeting, "picker": _pick_slot, "host": _invite}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Read the request.", "A meeting takes 1 hour.", "", ""),
            picker=("You are the picker. Choose an hour.", "Prefer early hours.", "", ""),
            host=("You are the host. Write the invitation.", "Address them as team.", "Mention the coffee.", ""),
        ),
        "user.0": "Please place a meeting",
        "user.1": "of Ana and Bo on Tuesday.",
        "user.2": "",
        "code.picker+find_room+host.pause": "none",
        **rows(
            "get_calendar",
            Ana={"Tuesday": "9-10", "Friday": "9-15", "desk": "3"},
            Bo={"Tuesday": "12-13", "Friday": "10-12", "desk": "7"},
            Cleo={"Tuesday": "9-14", "Friday": "", "desk": "8"},
        ),
        **_ROOMS,
    },
    edits=(
        edit("upstream", "user.0", "Kindly place a meeting", "I want a meeting", decoy=True),
        edit(
            "upstream",
            "user.1",
            "of Ana and Bo on Friday.",
            "of Ana and Cleo on Tuesday.",
            "of Ana and Bo, 3 hours, on Tuesday.",
        ),
        edit("upstream", "user.2", "Thank you!", "Bye.", decoy=True),
        edit("prompt", "prompt.reader.1", "A meeting takes 2 hours."),
        edit("prompt", "prompt.reader.2", "Always invite Cleo.", "Sometimes invite Cleo."),
        wording("reader", 3),
        edit("prompt", "prompt.picker.1", "Prefer late hours.", "Prefer quiet hours."),
        edit("prompt", "prompt.picker.2", "Keep noon free.", decoy=True),
        wording("picker", 3),
        edit("model", "model.picker.name", "m2"),
        edit("prompt", "prompt.host.1", "Address them as friends."),
        edit("prompt", "prompt.host.2", "Mention the tea."),
        wording("host", 3),
        edit("upstream", "code.picker+find_room+host.pause", "an hour"),
        edit("tool", "row.get_calendar.Ana.Tuesday", "9-12", ""),
        edit("tool", "row.get_calendar.Bo.Tuesday", "10-16"),
        edit("tool", "row.get_calendar.Ana.desk", "5", decoy=True),
        edit("tool", "row.find_room.10.room", "Birch"),
        edit("tool", "row.find_room.11.room", "none", "Lake"),
        edit("tool", "row.find_room.15.room", "Birch", decoy=True),
        *sampling("reader", "host"),
    ),
)

_NOISY_LOGS: Final = replace(
    _LOGS,
    name="log watch by chance",
    group="counts by chance",
    chance=Chance(rate=0.1, alternatives=((" x1", " x2"), ("Grave", "Minor"))),
    controls=8,
)
_REWORDED_MEETING: Final = replace(
    _MEETING, name="meeting host, reworded", group="calendars and rooms, reworded", rewords=True, controls=8
)

WATCHES: Final[tuple[Program, ...]] = (_LOGS, _NOISY_LOGS, _MEETING, _REWORDED_MEETING)
