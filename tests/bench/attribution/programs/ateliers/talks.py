"""A talk about a holiday: a scribe takes notes of every turn, code merges them, an adviser sees the last turns only."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows
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

_TURNS: Final = 4


def _scribe(request: Request) -> str:
    notes = []
    if people := find(r"(\d+) people", request.last):
        notes.append(f"people={people}")
    if place := find(r"\b(lake|coast|hills)\b", request.last):
        notes.append(f"place={place}")
    if (nights := find(r"(\d+) nights", request.last)) and "Ignore nights." not in request.system:
        notes.append(f"nights={nights}")
    if request.model == "m2":
        notes = notes[:1]
    return "; ".join(notes) or "nothing new"


def _adviser(request: Request) -> str:
    notes = dict(re.findall(r"(\w+)=(\w+)", find(r"^Notes: (.+)$", request.last)))
    people = number(r"(\d+)", notes.get("people", ""), 1)
    nights = number(r"(\d+)", notes.get("nights", ""), 2)
    price = number(r"^Price: (\d+)", request.last, 50)
    if "cost" in request.last:
        discount = int(request.rule(r"Groups of 4 save (\d+)\.", "0")) if people >= 4 else 0
        return f"{people} people pay {people * nights * price - discount} francs for {nights} nights."
    if "weather" in request.last:
        return "Take a coat with you." if "coat" in request.system else "It may rain."
    place = notes.get("place", "town")
    return f"The {place} is a fine idea{', as ever' if 'holiday' in request.spoken else ''}."


def _holiday(runtime: Runtime) -> str:
    settings = runtime.settings
    notes: dict[str, str] = {}
    talk: list[JSONValue] = []
    answer = ""
    for turn in range(_TURNS):
        words = str(settings[f"turn.{turn}"])
        if not words:
            continue
        fresh = re.findall(r"(\w+)=(\w+)", say(runtime, "scribe", words))
        first_wins = settings["code.adviser.merge"] == "first wins"
        notes = {**dict(fresh), **notes} if first_wins else {**notes, **dict(fresh)}
        price = fields(runtime.tool("get_price", {"place": notes.get("place", "town")}))
        summary = "; ".join(f"{name}={value}" for name, value in sorted(notes.items()))
        question = f"{words}\nNotes: {summary or 'none'}\nPrice: {real(price.get('night'), 50):.0f}"
        shown = talk[-int(real(settings["code.adviser.window"], 4)) :]
        reply = runtime.model("adviser", [system_message(runtime, "adviser"), *shown, user_message(question)])
        answer = text_of(reply)
        talk += [user_message(words), reply]
    return answer


_HOLIDAY: Final = Program(
    name="holiday talk",
    group="notes merged over several turns",
    program=_holiday,
    final="adviser",
    model=model_of({"scribe": _scribe, "adviser": _adviser}),
    menu=(),
    settings={
        **prompts(
            scribe=("You are the scribe. Note the facts.", "", ""),
            adviser=("You are the adviser. Answer.", "Groups of 4 save 30.", "", ""),
        ),
        "turn.0": "We are 4 people and plan a holiday at the lake.",
        "turn.1": "We want to stay 3 nights.",
        "turn.2": "How is the weather?",
        "turn.3": "What does it cost?",
        "code.adviser.merge": "last wins",
        "code.adviser.window": 4,
        **rows(
            "get_price",
            lake={"night": 60, "hotel": "Seehof"},
            coast={"night": 80, "hotel": "Miramar"},
            hills={"night": 45, "hotel": "Alpina"},
            town={"night": 55, "hotel": "Central"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "turn.0",
            "We are 2 people and plan a holiday at the lake.",
            "We are 4 people bound for the coast.",
        ),
        edit("upstream", "turn.1", "We want to stay 5 nights.", "Rather the hills, for 3 nights."),
        edit("upstream", "turn.2", "Are dogs welcome?", "Will there be weather like last year?", decoy=True),
        edit("upstream", "turn.3", "What does it cost for 6 people?", "Thank you."),
        edit("prompt", "prompt.scribe.1", "Ignore nights."),
        wording("scribe", 2),
        edit("model", "model.scribe.name", "m2"),
        edit("prompt", "prompt.adviser.1", "Groups of 4 save 50.", ""),
        edit("prompt", "prompt.adviser.2", "Mention a coat.", "Never joke.", decoy=True),
        wording("adviser", 3),
        edit("tool", "row.get_price.lake.night", 70, 52),
        edit("tool", "row.get_price.lake.hotel", "Bellevue", decoy=True),
        edit("tool", "row.get_price.coast.hotel", "Playa", decoy=True),
        edit("upstream", "code.adviser.window", 2, 1, decoy=True),
        *sampling("scribe", "adviser"),
    ),
)
_HOLIDAY_REWORDED: Final = replace(
    _HOLIDAY, name="holiday talk, reworded", group="notes merged over several turns, reworded", rewords=True
)

TALKS: Final[tuple[Program, ...]] = (_HOLIDAY, _HOLIDAY_REWORDED)
