"""Tool calls that are requested in parallel, and lessons from a failed attempt that join the prompt of the next one."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
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

# ---- a meeting: code turns local hours into UTC for the model, and the model's slot back into everybody's own time

_PEOPLE: Final = r"\b(Ana|Ben|Chidi|Dana)\b"
# Minutes after midnight.
_Span = tuple[int, int]


def _spans(text: str) -> list[_Span]:
    """Return the spans of `09:00-10:30, 14:00-15:00`."""
    found = re.findall(r"(\d\d):(\d\d)-(\d\d):(\d\d)", text)
    return [(60 * int(a) + int(b), 60 * int(c) + int(d)) for a, b, c, d in found]


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _schedule(request: Request) -> str | list[ToolCall]:
    people = list(dict.fromkeys(re.findall(_PEOPLE, request.spoken)))
    if "get_calendar" not in request.called:
        return [("get_calendar", {"person": person}) for person in people] or "Who should come?"
    optional = request.rule(r"(\w+) need not come\.", "nobody")
    length = number(r"(\d+) minutes", request.spoken, 30)
    calendars = [_spans(str(result.get("utc", ""))) for result in request.results if result.get("person") != optional]
    earliest = 720 if "Prefer the afternoon." in request.system else 0
    step = 30 if request.model == "m2" else 15
    starts = [
        start
        for start in range(earliest, 1440, step)
        if all(any(a <= start and start + length <= b for a, b in spans) for spans in calendars)
    ]
    if not starts:
        return "There is no slot for all of them."
    start = starts[-1] if "Take the last slot of the day." in request.system else starts[0]
    day = find(r"\b(\w+day)\b", request.spoken, "Monday")
    return f"Slot: {day} {_clock(start)} to {_clock(start + length)} UTC, {len(starts)} to choose from."


def _invite(request: Request) -> str:
    times: dict[str, list[str]] = {}
    for zone, hour in re.findall(r"^\w+ in (\w+) at (\d\d:\d\d)$", request.last, re.MULTILINE):
        times.setdefault(hour, []).append(zone)
    if not times:
        return "Sorry, we found no time for the meeting."
    day, minutes = find(r"Day: (\w+)", request.last, "that day"), number(r"Length: (\d+)", request.last)
    listing = ", ".join(f"{hour} in {' and '.join(dict.fromkeys(zones))}" for hour, zones in times.items())
    reminder = request.rule(r"Remind them (\d+) minutes before\.")
    note = f" We send a reminder {reminder} minutes before." if reminder else ""
    limit = int(request.rule(r"Plan a break in meetings over (\d+) minutes\.", "999"))
    pause = " There will be a break." if minutes > limit else ""
    return f"We meet on {day}: {listing}.{pause}{note}"


def _meeting(runtime: Runtime) -> str:
    offsets: dict[str, tuple[int, str]] = {}
    tools: list[JSONValue] = [{"name": "get_calendar", "description": runtime.settings["tool.calendar"]}]
    talk: list[JSONValue] = [user_message(user(runtime.settings))]
    for _ in range(3):
        message = runtime.model("scheduler", [system_message(runtime, "scheduler"), *talk], tools)
        talk.append(message)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            break
        for call in calls:
            assert isinstance(call, dict)
            assert isinstance(call["arguments"], dict)
            row = runtime.tool(str(call["name"]), call["arguments"], str(call["id"]))
            calendar = row if isinstance(row, dict) else {}
            person, hours = str(call["arguments"].get("person")), number(r"(-?\d+)", str(calendar.get("offset", 0)))
            offsets[person] = hours, str(calendar.get("city", "London"))
            talk.append({"role": "tool", "content": _in_utc(person, calendar, hours), "tool_call_id": call["id"]})
    answer = text_of(talk[-1])
    slot = re.search(r"Slot: (\w+) (\d\d):(\d\d) to (\d\d):(\d\d)", answer)
    if not slot:
        return say(runtime, "writer", "There is no slot.")
    start, end = 60 * int(slot[2]) + int(slot[3]), 60 * int(slot[4]) + int(slot[5])
    lines = [f"{name} in {city} at {_clock(start + 60 * hours)}" for name, (hours, city) in sorted(offsets.items())]
    return say(runtime, "writer", "\n".join([f"Day: {slot[1]}", f"Length: {end - start}", *lines]))


def _in_utc(person: str, calendar: JSONObject, hours: int) -> str:
    spans = [(a - 60 * hours, b - 60 * hours) for a, b in _spans(str(calendar.get("free", "")))]
    listing = ", ".join(f"{_clock(a)}-{_clock(b)}" for a, b in spans)
    return json.dumps({"person": person, "utc": listing})


_MEETING: Final = Program(
    name="meeting",
    group="parallel calls",
    most=4,
    program=_meeting,
    final="writer",
    model=model_of({"scheduler": _schedule, "writer": _invite}),
    menu=(),
    settings={
        **prompts(
            scheduler=(
                "You are the scheduler. Look at all calendars, then name one slot in UTC.",
                "",
                "",
                "",
            ),
            writer=("You are the writer. Write the invitation in the time of each city.", "", "", ""),
        ),
        "user.0": "Find 45 minutes for Ana, Ben and Chidi on Thursday.",
        "user.1": "",
        "tool.calendar": "lists the free hours of a person on a day",
        **rows(
            "get_calendar",
            Ana={"free": "08:30-10:30, 14:00-15:30", "offset": 0, "city": "Lisbon", "room": "B4"},
            Ben={"free": "11:00-12:00, 15:00-17:00", "offset": 1, "city": "Berlin", "room": "1.12"},
            Chidi={"free": "10:30-11:30, 15:15-16:30", "offset": 1, "city": "Lagos", "room": "none"},
            Dana={"free": "09:00-12:00, 16:30-18:00", "offset": 2, "city": "Athens", "room": "Attic"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Find 30 minutes for Ana, Ben and Chidi on Thursday.",
            "Find 45 minutes for Ana, Dana and Chidi on Thursday.",
            "Can Ana, Ben and Chidi meet for 45 minutes on Thursday?",
        ),
        edit("upstream", "user.1", "It is about the budget.", "We will use video.", decoy=True),
        edit("prompt", "prompt.scheduler.1", "Prefer the afternoon.", "Chidi need not come.", "Ana need not come."),
        edit("prompt", "prompt.scheduler.2", "Take the last slot of the day."),
        wording("scheduler", 3),
        edit("model", "model.scheduler.name", "m2"),
        edit("model", "model.scheduler.max_tokens", 60, decoy=True),
        edit("prompt", "prompt.writer.1", "Remind them 10 minutes before.", "Remind them 60 minutes before."),
        edit("prompt", "prompt.writer.2", "Plan a break in meetings over 40 minutes."),
        wording("writer", 3),
        edit("model", "model.writer.name", "m2", decoy=True),
        edit("tool", "row.get_calendar.Ana.free", "08:30-11:00, 14:00-15:30", "08:30-10:30, 14:30-15:30"),
        edit("tool", "row.get_calendar.Ben.free", "10:30-12:00, 15:00-17:00", "11:00-12:00, 13:00-15:00"),
        edit("tool", "row.get_calendar.Chidi.offset", 2, 0),
        edit("tool", "tool.calendar", "shows when a person is free on a day", decoy=True),
        edit("tool", "row.get_calendar.Chidi.city", "Kano"),
        edit("tool", "row.get_calendar.Ben.room", "2.07", decoy=True),
        edit("tool", "row.get_calendar.Ana.room", "B5", decoy=True),
        edit("tool", "row.get_calendar.Dana.free", "09:00-11:00", decoy=True),
        *sampling("scheduler", "writer"),
    ),
)

# ---- expenses: code checks the items of a receipt against its total; a lesson of the failure joins the next prompt

_ITEM: Final = r"(\d+ nights?|breakfast|city tax|minibar|taxi) at (\d+\.\d\d)"


def _itemise(request: Request) -> str:
    known = re.findall(r"Count (?:the )?([a-z ]+?)(?: too)?\.", request.system)
    items = [
        (name, price)
        for name, price in re.findall(_ITEM, request.last)
        if any(word in name for word in known) or ("night" in name)
    ]
    if request.model == "m2":
        items.reverse()
    total = sum(float(price) for _, price in items)
    lines = [f"{name}: {price}" for name, price in items]
    return "\n".join([*lines, f"Sum: {total:.2f}"])


def _learn(request: Request) -> str:
    gap = decimal(r"Gap: (-?[\d.]+)", request.last)
    items = re.findall(_ITEM, request.last.partition("\nAnswer:")[0])
    fitting = [name for name, price in items if abs(float(price) - gap) < 0.005]
    if not fitting or "Blame the receipt." in request.system:
        return "Lesson: the receipt may be wrong."
    return f"Lesson: Count the {fitting[0]} too."


def _audit(request: Request) -> str:
    items = re.findall(r"^- ([\w ]+) (\d+\.\d\d)$", request.last, re.MULTILINE)
    banned = request.rule(r"We never pay for the ([a-z ]+?)\.")
    payable = [(name, float(price)) for name, price in items if name.lower() != banned]
    nights = number(r"^- (\d+) NIGHT", request.last, 1)
    limit = nights * int(request.rule(r"A night may cost (\d+) euros\.", "999"))
    total = sum(min(price, limit) if "NIGHT" in name else price for name, price in payable)
    open_gap = "differs from the receipt" in request.last
    doubt = " Please check the receipt." if open_gap and "Report open differences." in request.system else ""
    return f"We pay {total:.2f} euros for {len(payable)} items.{doubt}"


def _expenses(runtime: Runtime) -> str:
    receipt = runtime.tool("read_receipt", {"id": find(r"receipt (R\d+)", user(runtime.settings), "none")})
    text = str(receipt.get("text", "")) if isinstance(receipt, dict) else ""
    total, lessons, answer, gap = decimal(r"total (\d+\.\d\d)", text), list[str](), "", 0.0
    for _ in range(3):
        opening = system_message(runtime, "clerk")
        opening["content"] = " ".join([str(opening["content"]), *lessons])
        answer = text_of(runtime.model("clerk", [opening, user_message(f"Receipt: {text}")]))
        gap = round(total - sum(float(price) for _, price in _items(answer)), 2)
        if abs(gap) < 0.01:
            break
        remark = say(runtime, "reflector", f"Receipt: {text}\nAnswer: {answer}\nGap: {gap:.2f}")
        lessons.append(find(r"Lesson: (.+)", remark))
    listing = "\n".join(f"- {name.upper()} {price}" for name, price in sorted(_items(answer)))
    note = "" if abs(gap) < 0.01 else "\nThis differs from the receipt."
    return say(runtime, "auditor", f"{user(runtime.settings)}\n{listing}{note}")


def _items(answer: str) -> list[tuple[str, str]]:
    """Return the names and prices above the sum."""
    return re.findall(r"^([\w ]+): (\d+\.\d\d)$", answer.partition("\nSum:")[0], re.MULTILINE)


_EXPENSES: Final = Program(
    name="expenses",
    group="lessons",
    most=5,
    program=_expenses,
    final="auditor",
    model=model_of({"expense clerk": _itemise, "reflector": _learn, "auditor": _audit}),
    menu=(),
    settings={
        **prompts(
            clerk=(
                "You are the expense clerk. List the items of the receipt and their sum.",
                "Count breakfast.",
                "",
                "",
                "",
            ),
            reflector=("You are the reflector. Explain why the sum is wrong in one lesson.", "", ""),
            auditor=(
                "You are the auditor. Decide what we pay.",
                "A night may cost 130 euros.",
                "We never pay for the minibar.",
                "Report open differences.",
                "",
            ),
        ),
        "user.0": "Please book receipt R8812 from my trip to Madrid.",
        "user.1": "",
        **rows(
            "read_receipt",
            R8812={
                "text": "Hotel Sol, 2 nights at 248.00, breakfast at 24.00, city tax at 6.60, total 278.60",
                "scanned": "2026-02-09",
            },
            R8813={"text": "Hotel Luna, 1 night at 141.00, minibar at 9.50, total 150.50", "scanned": "2026-02-09"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Please book receipt R8813 from my trip to Madrid.",
            "I was in Madrid, please book receipt R8812.",
        ),
        edit("upstream", "user.1", "The trip was for the fair.", "I need the money soon.", decoy=True),
        edit("prompt", "prompt.clerk.1", "Count taxi.", ""),
        edit("prompt", "prompt.clerk.2", "Count city tax.", decoy=True),
        edit("prompt", "prompt.clerk.3", "Count minibar.", decoy=True),
        wording("clerk", 4),
        edit("model", "model.clerk.name", "m2", decoy=True),
        edit("prompt", "prompt.reflector.1", "Blame the receipt."),
        wording("reflector", 2),
        edit("model", "model.reflector.name", "m2", decoy=True),
        edit("prompt", "prompt.auditor.1", "A night may cost 110 euros.", "A night may cost 120 euros."),
        edit("prompt", "prompt.auditor.2", "We never pay for the breakfast.", "We never pay for the city tax."),
        edit("prompt", "prompt.auditor.3", ""),
        wording("auditor", 4),
        edit(
            "tool",
            "row.read_receipt.R8812.text",
            "Hotel Sol, 2 nights at 268.00, breakfast at 24.00, city tax at 6.60, total 298.60",
            "Hotel Sol, 2 nights at 248.00, breakfast at 24.00, city tax at 6.60, total 287.60",
            "Hotel Sol, 2 nights at 248.00, breakfast at 24.00, city tax at 6.60, minibar at 9.00, total 287.60",
            "Hotel Sol: breakfast at 24.00, city tax at 6.60, 2 nights at 248.00, total 278.60",
        ),
        edit("tool", "row.read_receipt.R8812.scanned", "2026-02-11", "2026-02-19", decoy=True),
        Edit(
            category="tool",
            variants=((("row.read_receipt.R8813.text", "Hotel Luna, 1 night at 121.00, total 121.00"),),),
            decoy=True,
        ),
        *sampling("clerk", "reflector", "auditor"),
    ),
)

APPOINTMENTS: Final = (_MEETING, _EXPENSES)
REWORDABLE: Final = (_MEETING,)
