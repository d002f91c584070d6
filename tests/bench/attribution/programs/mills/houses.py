"""A home controlled by tool calls, and a handbook of which every role sees other passages."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real, tool
from tests.bench.attribution.programs.later.reading import find
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- home: one agent reads rooms and switches devices, code shortens the results and ends the loop


def _steward(request: Request) -> str | ToolCall:
    rooms = re.findall(r"\b(hall|study|attic)\b", request.last)
    reader, switch = request.tool("temperature"), request.tool("heater")
    readings = len([result for result in request.results if "warmth" in result])
    if readings < len(rooms) and reader:
        return reader, {"room": rooms[readings]}
    low = float(request.rule(r"Cold is below (\d+) degrees\.", "18"))
    values = [real(result.get("warmth"), 20) for result in request.results if "warmth" in result]
    cold = [room for room, value in zip(rooms, values, strict=False) if value < low]
    heaters = [result for result in request.results if "heater" in result]
    if len(heaters) < len(cold) and switch and request.model == "m1":
        return switch, {"room": cold[len(heaters)]}
    degrees = [f"{room} {value:g}" for room, value in zip(rooms, values, strict=False)]
    done = ", ".join(str(result.get("heater")) for result in heaters) or "nothing switched"
    figures = f" ({', '.join(degrees)})" if "Give the degrees." in request.system and degrees else ""
    start = request.rule(r"Begin with (\w+)\.", "Done")
    return f"{start}: {done}{figures}."


def _home(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = []
    if settings["tool.read"]:
        tools.append(tool("read_room", str(settings["tool.read"]), "room"))
    tools.append(tool("set_heater", str(settings["tool.heat"]), "room"))
    talk: list[JSONValue] = [system_message(runtime, "steward"), user_message(user(settings))]
    for _ in range(int(real(settings["code.steward.turns"], 8))):
        message = runtime.model("steward", talk, tools)
        talk.append(message)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            break
        for call in calls:
            request = fields(call)
            arguments = fields(request.get("arguments"))
            result = fields(runtime.tool(str(request["name"]), arguments, str(request["id"])))
            excerpt = {
                name: round(value) if settings["code.steward.round"] == "whole" and isinstance(value, float) else value
                for name, value in result.items()
                if name != settings["code.steward.hides"]
            }
            talk.append({"role": "tool", "content": result_text(excerpt), "tool_call_id": request["id"]})
    return text_of(talk[-1]) or "The steward was stopped."


_HOME: Final = Program(
    name="smart home",
    group="devices switched by tool calls",
    program=_home,
    final="steward",
    model=model_of({"steward": _steward}),
    menu=(),
    settings={
        **prompts(
            steward=(
                "You are the steward. Keep it warm.",
                "Cold is below 18 degrees.",
                "Give the degrees.",
                "Begin with Ready.",
                "",
            ),
        ),
        "user.0": "Warm the hall and the study.",
        "user.1": "",
        "tool.read": "Reads the temperature of a room.",
        "tool.heat": "Turns the heater of a room on.",
        "code.steward.turns": 8,
        "code.steward.round": "as read",
        "code.steward.hides": "battery",
        **rows(
            "read_room",
            hall={"warmth": 16.5, "battery": 80, "sensor": "s1"},
            study={"warmth": 19.4, "battery": 71, "sensor": "s2"},
            attic={"warmth": 12.0, "battery": 55, "sensor": "s3"},
        ),
        **rows(
            "set_heater",
            hall={"heater": "hall on", "power": 2},
            study={"heater": "study on", "power": 1},
            attic={"heater": "attic on", "power": 2},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Warm the hall and the attic.", "Please warm the hall and the study."),
        edit("upstream", "user.1", "Guests come.", "Thank you.", decoy=True),
        edit("prompt", "prompt.steward.1", "Cold is below 20 degrees.", "Cold is below 15 degrees."),
        edit("prompt", "prompt.steward.2", "Hide the degrees."),
        edit("prompt", "prompt.steward.3", "Begin with Done."),
        wording("steward", 4),
        edit("model", "model.steward.name", "m2"),
        edit("tool", "tool.read", "Reads how warm a room is.", ""),
        edit("tool", "tool.heat", "Starts a radiator.", "Turns the heater of one room on."),
        edit("upstream", "code.steward.turns", 3, 2),
        edit("upstream", "code.steward.round", "whole"),
        edit("upstream", "code.steward.hides", "warmth", "sensor"),
        edit("tool", "row.read_room.hall.warmth", 20.5, 14.0),
        edit("tool", "row.read_room.study.warmth", 15.2),
        edit("tool", "row.read_room.study.battery", 12, decoy=True),
        edit("tool", "row.read_room.hall.sensor", "s9", decoy=True),
        edit("tool", "row.set_heater.hall.heater", "hall broken"),
        edit("tool", "row.set_heater.hall.power", 3, decoy=True),
        *sampling("steward"),
    ),
)

# ---- handbook: code drops the passages that a role may not see, a clerk answers, a checker looks at the source


def _answer(request: Request) -> str:
    passages = re.findall(r"^\[(\w+)\] (.+)$", request.last, re.MULTILINE)
    if not passages:
        return "Nobody told me."
    passage = passages[-1] if request.model == "m2" else passages[0]
    source = f" ({passage[0]})" if "Name the source." in request.system else ""
    return f"{passage[1].rstrip('.')}{source}."


def _verify(request: Request) -> str:
    text = find(r"^Answer: (.+)$", request.last, "")
    allowed = find(r"^Sources: (.+)$", request.last, "").split(", ")
    source = find(r"\((\w+)\)", text)
    if source not in allowed and "Demand a source." in request.system:
        refusal = request.rule(r"Otherwise say (\w+)\.", "No")
        return f"{refusal}."
    days = find(r"(\d+) days", text)
    if days and "Write weeks." in request.system:
        text = text.replace(f"{days} days", f"{int(days) / 7:g} weeks")
    return text


def _handbook(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"I am (\w+)", user(settings), "Kai")
    badge = fields(runtime.tool("get_badge", {"name": name}))
    roles = str(badge.get("roles")).split(" and ")
    texts = runtime.retrieve("handbook", user(settings), int(real(settings["search.top_k"], 3)))
    passages: list[tuple[str, str]] = []
    for text in texts:
        name, body = find(r"^\[(\w+)\]", text), text.partition(") ")[2]
        right = find(r"for (\w+) only", body)
        if not right or right in roles or settings["code.clerk.rights"] == "off":
            passages.append((name, body))
    if settings["code.clerk.order"] == "by name":
        passages.sort()
    excerpts = passages[: int(real(settings["code.clerk+checker.kept"], 2))]
    answer = say(runtime, "clerk", "\n".join([user(settings), *(f"[{name}] {body}" for name, body in excerpts)]))
    sources = ", ".join(name for name, _ in excerpts)
    return say(runtime, "checker", f"Answer: {answer}\nSources: {sources}")


_HANDBOOK: Final = Program(
    name="staff handbook",
    group="passages dropped by role",
    program=_handbook,
    final="checker",
    model=model_of({"clerk": _answer, "checker": _verify}),
    menu=(),
    settings={
        **prompts(
            clerk=("You are the clerk. Answer.", "Name the source.", ""),
            checker=("You are the checker. Check.", "Demand a source.", "Otherwise say Unsure.", "", ""),
        ),
        "user.0": "I am Kai, how many days of leave may I take?",
        "user.1": "",
        "search.top_k": 3,
        "code.clerk.rights": "on",
        "code.clerk.order": "as found",
        "code.clerk+checker.kept": 2,
        "doc.leave.date": "2026-01-01",
        "doc.leave.text": "Leave is 28 days of leave a year.",
        "doc.chiefs.date": "2025-06-01",
        "doc.chiefs.text": "How many days of leave may chiefs take? 35 days, for chief only.",
        "doc.travel.date": "2025-01-01",
        "doc.travel.text": "A trip may take 10 days.",
        "doc.meals.date": "2024-01-01",
        "doc.meals.text": "Meals are free at noon.",
        **rows(
            "get_badge",
            Kai={"roles": "staff", "desk": "4"},
            Mia={"roles": "staff and chief", "desk": "9"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I am Mia, how many days of leave may I take?", "I am Kai, may I have free meals?"),
        edit("upstream", "user.1", "Many thanks.", decoy=True),
        edit("prompt", "prompt.clerk.1", "Hide the source."),
        wording("clerk", 2),
        edit("model", "model.clerk.name", "m2"),
        edit("prompt", "prompt.checker.1", "Accept anything.", decoy=True),
        edit("prompt", "prompt.checker.2", "Otherwise say Sorry.", decoy=True),
        edit("prompt", "prompt.checker.3", "Write weeks."),
        wording("checker", 4),
        edit("retrieval", "search.top_k", 1, 2),
        edit("upstream", "code.clerk.rights", "off"),
        edit("upstream", "code.clerk.order", "by name", decoy=True),
        edit("upstream", "code.clerk+checker.kept", 1, decoy=True),
        edit("retrieval", "doc.leave.text", "Leave is 30 days of leave a year."),
        edit("retrieval", "doc.chiefs.text", "How many days of leave may people take? 35 days."),
        edit("retrieval", "doc.travel.date", "2020-01-01", decoy=True),
        edit("retrieval", "doc.meals.text", "Meals cost 4 euros at noon.", decoy=True),
        edit("tool", "row.get_badge.Kai.roles", "staff and chief"),
        edit("tool", "row.get_badge.Kai.desk", "5", decoy=True),
        *sampling("clerk", "checker"),
    ),
)

HOUSES: Final[tuple[Program, ...]] = (_HOME, _HANDBOOK)
