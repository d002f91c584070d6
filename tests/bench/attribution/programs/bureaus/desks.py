"""Agents that hand a talk over with a tool, and lessons whose level code adapts to the answers."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, Role, ToolCall, model_of
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

# ---- garage: one talk, whose agent changes when the model calls the tool that hands over

_DESKS: Final = ("greeter", "repair", "sales")


def _greet(request: Request) -> str | ToolCall:
    name, said = request.tool("other desk"), request.spoken.lower()
    if not name:
        return "Please call us."
    words = request.rule(r"Broken means: ([\w, ]+)\.", "broken").split(", ")
    if any(word in said for word in words):
        return name, {"desk": "repair"}
    if "buy" in said or request.model == "m2":
        return name, {"desk": "sales"}
    return "How can we help?"


def _repair(request: Request) -> str | ToolCall:
    name, over = request.tool("parts"), request.tool("other desk")
    part = next((part for part in ("brake", "chain", "tyre") if part in request.spoken.lower()), "none")
    if part == "none":
        return "We must see it first."
    found = next((result for result in request.results if "price" in result), {})
    if name and not found and name not in request.called:
        return name, {"part": part}
    if found.get("stock") == 0 and over and "Send people on when a part is out." in request.system:
        return over, {"desk": "sales"}
    fee = int(request.rule(r"Work costs (\d+)\.", "30"))
    price = number(r"(\d+)", str(found.get("price", "")))
    when = "tomorrow" if found.get("stock") else "next week"
    return f"The {part} costs {price + fee} with work, ready {when}."


def _sell(request: Request) -> str | ToolCall:
    name = request.tool("bikes")
    kind = request.rule(r"Offer a (\w+) bike first\.", "city")
    if "mountain" in request.spoken.lower():
        kind = "mountain"
    found = next((result for result in request.results if "bike" in result), {})
    if name and not found and name not in request.called:
        return name, {"kind": kind}
    gift = " A lock is included." if "Give a lock." in request.system else ""
    return f"Take the {found.get('bike', 'next one')} for {found.get('cost', 'a good price')}.{gift}"


def _garage(runtime: Runtime) -> str:
    settings = runtime.settings
    by_desk: dict[str, list[JSONValue]] = {
        "greeter": [tool("hand_over", str(settings["tool.over"]), "desk")],
        "repair": [
            tool("get_part", str(settings["tool.parts"]), "part"),
            tool("hand_over", str(settings["tool.over"]), "desk"),
        ],
        "sales": [tool("get_bike", "Finds bikes of a kind.", "kind")],
    }
    desk, talk = "greeter", [user_message(user(settings))]
    messages: list[JSONValue] = list(talk)
    for _ in range(7):
        message = runtime.model(desk, [system_message(runtime, desk), *messages], by_desk[desk])
        messages.append(message)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            break
        for call in calls:
            entry, next_desk = fields(call), desk
            arguments = fields(entry.get("arguments"))
            result = runtime.tool(str(entry.get("name")), arguments, str(entry.get("id")))
            messages.append({"role": "tool", "content": result_text(result), "tool_call_id": str(entry.get("id"))})
            if entry.get("name") == "hand_over" and arguments.get("desk") in _DESKS:
                next_desk = str(arguments["desk"])
            desk = next_desk
    return say(runtime, "writer", f"{user(settings)}\nAnswer: {text_of(messages[-1])}")


def _write_down(request: Request) -> str:
    answer = find(r"Answer: (.+)$", request.last, "Nothing was agreed.")
    name = request.rule(r"Sign with (\w+) in the end\.")
    return f"{answer} - {name}" if name else answer


_GARAGE_ROLES: Final[dict[str, Role]] = {"greeter": _greet, "repair": _repair, "sales": _sell, "writer": _write_down}
_GARAGE: Final = Program(
    name="bicycle garage",
    group="one talk, several agents",
    program=_garage,
    final="writer",
    model=model_of(_GARAGE_ROLES),
    menu=(),
    settings={
        **prompts(
            greeter=("You are the greeter. Find the right desk.", "Broken means: broken, noise.", ""),
            repair=("You are the repair.", "Work costs 30.", "Send people on when a part is out.", ""),
            sales=("You are the sales.", "Offer a city bike first.", "", ""),
            writer=("You are the writer. Write the answer down.", "Sign with Kai in the end.", ""),
        ),
        "user.0": "Good day.",
        "user.1": "The brake of my bike makes noise.",
        "user.2": "",
        "tool.over": "Passes the talk to the other desk.",
        "tool.parts": "Finds parts in the store.",
        **rows("hand_over", repair={"state": "done"}, sales={"state": "done"}),
        **rows(
            "get_part",
            brake={"price": 45, "stock": 2, "shelf": "K1"},
            chain={"price": 25, "stock": 0, "shelf": "K2"},
            tyre={"price": 35, "stock": 5, "shelf": "K3"},
        ),
        **rows(
            "get_bike",
            city={"bike": "Fjell 3", "cost": 700, "colour": "red"},
            mountain={"bike": "Peak 7", "cost": 950, "colour": "blue"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Hello.", "Hi there.", decoy=True),
        edit(
            "upstream",
            "user.1",
            "The chain of my bike makes noise.",
            "I want to buy a mountain bike.",
            "My tyre is broken.",
            "There is noise from the brake of my bike.",
        ),
        edit("upstream", "user.2", "Thank you.", "See you.", decoy=True),
        edit("prompt", "prompt.greeter.1", "Broken means: broken, split."),
        wording("greeter", 2),
        edit("model", "model.greeter.name", "m2", decoy=True),
        edit("prompt", "prompt.repair.1", "Work costs 50.", "Work costs 10."),
        edit("prompt", "prompt.repair.2", "Keep people when a part is out.", decoy=True),
        wording("repair", 3),
        edit("prompt", "prompt.sales.1", "Offer a sports bike first.", decoy=True),
        edit("prompt", "prompt.sales.2", "Give a lock.", decoy=True),
        edit("prompt", "prompt.writer.1", "Sign with Liv in the end."),
        wording("writer", 2),
        edit("tool", "tool.over", "Passes the talk to a colleague.", "Hands the talk to the other desk."),
        edit("tool", "tool.parts", "Finds tools in the store.", "Finds all parts in the store."),
        edit("tool", "row.get_part.brake.price", 60, 38),
        edit("tool", "row.get_part.brake.stock", 0, 9),
        edit("tool", "row.get_part.brake.shelf", "L9", decoy=True),
        edit("tool", "row.get_bike.city.cost", 640, decoy=True),
        edit("tool", "row.hand_over.repair.state", "passed on", decoy=True),
        *sampling("greeter", "repair", "writer"),
    ),
)

# ---- lessons: a question of a level that code adapts, a grader, a coach that sees the marks


def _grade(request: Request) -> str:
    wanted = find(r"Expected: (.+)$", request.last).lower()
    given = find(r"Given: (.+)$", request.last).lower()
    if "Capitals do not matter." not in request.system:
        given = find(r"Given: (.+)$", request.last)
    lenient = request.rule(r"Accept the (start|end) of a word\.")
    right = (
        given == wanted
        or (lenient == "start" and given[:3] == wanted[:3])
        or (lenient == "end" and given[-3:] == wanted[-3:])
    )
    if request.model == "m2" and len(given) < 4:
        right = False
    return "Mark: right" if right else f"Mark: wrong, it is {wanted}"


def _coach(request: Request) -> str:
    marks = re.findall(r"^(\d)\. level (\d): (right|wrong)", request.last, re.MULTILINE)
    if not marks:
        return "There was no lesson."
    points = sum(int(level) for _, level, mark in marks if mark == "right")
    goal = int(request.rule(r"The goal is (\d) points\.", "4"))
    praise = request.rule(r"Praise with (\w+)\.", "Bravo")
    plan = number(r"Next level: (\d)", request.last, 1)
    verdict = f"{praise}, {points} points" if points >= goal else f"Only {points} points, practise"
    hint = " Read more." if "Advise to read after an error." in request.system and "wrong" in request.last else ""
    return f"{verdict}. Go on with level {plan}.{hint}"


def _lesson(runtime: Runtime) -> str:
    settings = runtime.settings
    level, marks = number(r"level (\d)", user(settings), 1), []
    for turn in range(1, 4):
        task = fields(runtime.tool("get_question", {"level": level}))
        given = str(settings[f"turn.{turn}"])
        answer = say(runtime, "grader", f"Question: {task.get('text')}\nExpected: {task.get('answer')}\nGiven: {given}")
        is_right = "right" in answer
        marks.append(f"{turn}. level {level}: {'right' if is_right else 'wrong'}")
        step = number(r"(\d)", str(settings["code.get_question+grader+coach.step"]), 1)
        level = min(4, level + step) if is_right else max(1, level - 1)
    return say(runtime, "coach", "\n".join([user(settings), *marks, f"Next level: {level}"]))


_LESSON: Final = Program(
    name="language lesson",
    group="level adapted by code",
    program=_lesson,
    final="coach",
    model=model_of({"grader": _grade, "coach": _coach}),
    menu=(),
    settings={
        **prompts(
            grader=("You are the grader. Mark the answer.", "Capitals do not matter.", "", ""),
            coach=("You are the coach. Sum up the lesson.", "The goal is 3 points.", "Praise with Bravo.", "", ""),
        ),
        "user.0": "Let us start.",
        "user.1": "I am at level 1.",
        "turn.1": "Hund",
        "turn.2": "Fenster",
        "turn.3": "Kirsche",
        "code.get_question+grader+coach.step": 1,
        "row.get_question.1.text": "dog in German",
        "row.get_question.1.answer": "hund",
        "row.get_question.1.topic": "animals",
        "row.get_question.2.text": "window in German",
        "row.get_question.2.answer": "fenster",
        "row.get_question.2.topic": "house",
        "row.get_question.3.text": "church in German",
        "row.get_question.3.answer": "kirche",
        "row.get_question.3.topic": "town",
        "row.get_question.4.text": "decision in German",
        "row.get_question.4.answer": "entscheidung",
        "row.get_question.4.topic": "work",
    },
    edits=(
        edit("upstream", "user.0", "Shall we start?", "Here we go.", decoy=True),
        edit("upstream", "user.1", "I am at level 2.", "I am on level 1."),
        edit("upstream", "turn.1", "Hand", "Katze"),
        edit("upstream", "turn.2", "Fensterchen", "Haus", "fenster"),
        edit("upstream", "turn.3", "Kirche"),
        edit("prompt", "prompt.grader.1", "Capitals do matter."),
        edit("prompt", "prompt.grader.2", "Accept the start of a word.", "Accept the end of a line."),
        wording("grader", 3),
        edit("model", "model.grader.name", "m2", decoy=True),
        edit("prompt", "prompt.coach.1", "The goal is 4 points.", "The goal is 2 points."),
        edit("prompt", "prompt.coach.2", "Praise with Great."),
        edit("prompt", "prompt.coach.3", "Advise to read after an error.", "Advise to sing after an error."),
        wording("coach", 4),
        edit("upstream", "code.get_question+grader+coach.step", 2),
        edit("tool", "row.get_question.2.answer", "das fenster"),
        edit("tool", "row.get_question.1.topic", "pets", decoy=True),
        edit("tool", "row.get_question.3.answer", "die kirche", decoy=True),
        edit("tool", "row.get_question.4.answer", "beschluss", decoy=True),
        *sampling("grader", "coach"),
    ),
)

DESKS: Final[tuple[Program, ...]] = (_GARAGE, _LESSON)
