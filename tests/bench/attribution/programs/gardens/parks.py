"""A talk in a park with a window over its messages, and a vote on a hedge that code counts."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
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

# ---- park talk: three turns, code shows the last messages


def _warden(request: Request) -> str:
    speech, last = request.spoken, request.last
    people = number(r"(\d+) (?:people|children)", speech, 1)
    price = int(request.rule(r"A place costs (\d+)\.", "4")) + (2 if request.model == "m2" else 0)
    if "cost" in last:
        cut = int(request.rule(r"Schools pay (\d+) less\.", "0")) if "school" in speech else 0
        return f"{people} places cost {people * (price - cut)}."
    if "dog" in last:
        return "Dogs stay outside."
    garden = find(r"the (\w+) garden", speech, "park")
    return f"Welcome to the {garden}."


def _talk(runtime: Runtime) -> str:
    settings = runtime.settings
    messages: list[JSONValue] = []
    answer = ""
    for turn in range(3):
        text = str(settings[f"turn.{turn}"])
        if not text:
            continue
        messages.append(user_message(text))
        view = messages[-int(real(settings["code.warden.window"], 9)) :]
        reply = runtime.model("warden", [system_message(runtime, "warden"), *view])
        messages.append(reply)
        answer = text_of(reply)
    return answer


_TALK: Final = Program(
    name="park talk",
    group="park talk",
    program=_talk,
    final="warden",
    model=model_of({"warden": _warden}),
    menu=(),
    settings={
        **prompts(warden=("You are the warden. Answer.", "A place costs 4.", "Schools pay 1 less.", "", "")),
        "turn.0": "We are 12 children of a school and want to see the rose garden.",
        "turn.1": "May we bring a dog?",
        "turn.2": "What does it cost?",
        "code.warden.window": 9,
    },
    edits=(
        edit("upstream", "turn.0", "We are 9 children and want to see the rose garden.", "We are 15 people."),
        edit("upstream", "turn.1", "Is there a bench?", "May we bring a bird?", decoy=True),
        edit("upstream", "turn.2", "And a dog, really?", "Thank you."),
        edit("prompt", "prompt.warden.1", "A place costs 5.", "A place costs 3."),
        edit("prompt", "prompt.warden.2", "Schools pay 2 less.", ""),
        wording("warden", 3),
        edit("prompt", "prompt.warden.4", "Never shout.", "Use plain words.", decoy=True),
        edit("model", "model.warden.name", "m2"),
        edit("upstream", "code.warden.window", 3, 1),
        *sampling("warden"),
    ),
)

# ---- hedge vote: three jurors give marks, code weighs them, a speaker announces

_HEDGES: Final = ("Box", "Yew", "Thuja")


def _juror(request: Request) -> str:
    bonus = request.rule(r"Prefer (\w+)\.")
    marks = {hedge: number(rf"{hedge} (\d)", request.last) + 2 * (hedge == bonus) for hedge in _HEDGES}
    if request.model == "m2":
        marks["Thuja"] += 2
    return ", ".join(f"{hedge}={mark}" for hedge, mark in marks.items())


def _speaker(request: Request) -> str:
    winner, points = find(r"^Best: (\w+)", request.last), number(r"\((\d+)", request.last)
    gap = number(r"^Ahead by (\d+)", request.last)
    close = int(request.rule(r"Call it close below (\d+)\.", "0"))
    return f"{winner} wins with {points}{' by a hair' if gap < close else ''}{request.rule(r'End with (.)', '.')}"


def _vote(runtime: Runtime) -> str:
    settings = runtime.settings
    sheet = fields(runtime.tool("get_sheet", {"street": find(r"in (\w+) street", user(settings), "Mill")}))
    totals = dict.fromkeys(_HEDGES, 0)
    for juror in ("ada", "ben", "cleo"):
        marks = say(runtime, juror, f"Marks of {juror}: {sheet.get(juror)}")
        weight = int(real(settings["code.speaker.weight"], 1)) if juror == "ada" else 1
        for hedge in _HEDGES:
            totals[hedge] += weight * number(rf"{hedge}=(\d+)", marks)
    ranks = sorted(_HEDGES, key=lambda hedge: (-totals[hedge], hedge))
    if settings["code.speaker.rank"] == "worst":
        ranks.reverse()
    ahead = abs(totals[ranks[0]] - totals[ranks[1]])
    return say(runtime, "speaker", f"Best: {ranks[0]} ({totals[ranks[0]]} points)\nAhead by {ahead}")


_VOTE: Final = Program(
    name="hedge vote",
    group="hedge vote",
    program=_vote,
    final="speaker",
    model=model_of({"ada": _juror, "ben": _juror, "cleo": _juror, "speaker": _speaker}),
    menu=(),
    settings={
        **prompts(
            ada=("You are the ada. Mark the hedges.", "", "", ""),
            ben=("You are the ben. Mark the hedges.", "Prefer Box.", "", ""),
            cleo=("You are the cleo. Mark the hedges.", "", "", ""),
            speaker=("You are the speaker. Announce it.", "Call it close below 2.", "", ""),
        ),
        "user.0": "Which hedge wins in Mill street?",
        "user.1": "",
        "code.speaker.weight": 1,
        "code.speaker.rank": "best",
        **rows(
            "get_sheet",
            Mill={"ada": "Box 3, Yew 5, Thuja 2", "ben": "Box 3, Yew 3, Thuja 4", "cleo": "Box 4, Yew 2, Thuja 3"},
            Lake={"ada": "Box 1, Yew 2, Thuja 5", "ben": "Box 2, Yew 1, Thuja 4", "cleo": "Box 1, Yew 2, Thuja 5"},
        ),
        "row.get_sheet.Mill.clerk": "Ida",
    },
    edits=(
        edit("upstream", "user.0", "Which hedge wins in Lake street?"),
        edit("upstream", "user.1", "We are curious.", decoy=True),
        edit("prompt", "prompt.ada.1", "Prefer Yew."),
        edit("prompt", "prompt.ben.1", "Prefer Thuja.", ""),
        edit("prompt", "prompt.speaker.1", "Call it close below 9."),
        edit("prompt", "prompt.speaker.2", "End with !"),
        wording("ada", 3),
        wording("speaker", 3),
        edit("model", "model.cleo.name", "m2"),
        edit("upstream", "code.speaker.weight", 2),
        edit("upstream", "code.speaker.rank", "worst"),
        edit("tool", "row.get_sheet.Mill.cleo", "Box 2, Yew 5, Thuja 3", "Box 6, Yew 2, Thuja 3"),
        edit("tool", "row.get_sheet.Mill.clerk", "Per", decoy=True),
        *sampling("ada", "speaker"),
    ),
)

PARKS: Final[tuple[Program, ...]] = (_TALK, _VOTE)
