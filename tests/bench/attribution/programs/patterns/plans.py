"""A planner with an executor for each step of its plan, and a summary of many parts."""

import re
from math import ceil
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- office moves: a plan of numbered steps, an executor with tools for each of them, a quote from its notes


def _plan_move(request: Request) -> str:
    site = find(r"\bto ([A-Z]\w+ [A-Z]\w+)", request.spoken, "Argon Yard")
    day = find(r"\bon (\w+day)\b", request.spoken, "Friday")
    steps = [f"size of {site}", f"vans on {day}", f"porters on {day}"]
    if "Check the permit as well." in request.system:
        steps.append(f"permit at {site}")
    if request.model == "m2":
        steps = steps[:2]
    most = int(request.rule(r"Plan at most (\d) steps\.", "9"))
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps[:most], 1))


def _execute(request: Request) -> str | ToolCall:
    subject, _, key = find(r"^Step: (.+)$", request.last).partition(" ")
    key = re.sub(r"^(of|on|at) ", "", key)
    if not request.called and (name := request.tool(subject)):
        return name, {"key": key}
    facts = ", ".join(f"{name} {value}" for name, value in request.latest_result.items() if name != "error")
    text = facts or "unknown"
    if "Name the source." in request.system:
        text = f"{text} (from the register)"
    return f"{subject}: {text}."


def _quote(request: Request) -> str:
    desks = number(r"(\d+) desks", request.last, 10)
    area = real(find(r"size: .*?area (\d+)", request.last), 0.0)
    fee = real(find(r"vans: .*?fee (\d+)", request.last), 0.0)
    wage = real(find(r"porters: .*?wage (\d+)", request.last), 0.0)
    permit = real(find(r"permit: .*?charge (\d+)", request.last), 0.0)
    load = int(request.rule(r"A van takes (\d+) desks\.", "6"))
    space = int(request.rule(r"A desk needs (\d+) square metres\.", "8"))
    if area < desks * space:
        return f"The new place is too small for {desks} desks."
    vans = ceil(desks / load)
    total = vans * fee + 2 * wage + permit
    return f"The move takes {vans} vans and costs {total:.0f}."


def _move(runtime: Runtime) -> str:
    settings = runtime.settings
    order = user(settings)
    steps = re.findall(r"^\d\. (.+)$", say(runtime, "planner", order), re.MULTILINE)
    tools: list[JSONValue] = [
        tool("get_site", str(settings["tool.site"]), "key"),
        tool("get_vans", "Returns vans of a day.", "key"),
        tool("get_porters", "Returns porters of a day.", "key"),
        tool("get_permit", "Returns the permit of a place.", "key"),
    ]
    notes: list[str] = []
    for step in steps:
        memory = f"\nSo far: {' '.join(notes)}" if settings["code.executor.notes"] == "passed on" and notes else ""
        talk: list[JSONValue] = [user_message(f"Step: {step}{memory}")]
        notes.append(text_of(converse(runtime, "executor", talk, tools)[-1]))
    if settings["code.estimator.notes"] == "last two":
        notes = notes[-2:]
    return say(runtime, "estimator", f"{order}\n" + "\n".join(notes))


_MOVE: Final = Program(
    name="office moves",
    group="plan, executor, quote",
    program=_move,
    final="estimator",
    model=model_of({"planner": _plan_move, "executor": _execute, "estimator": _quote}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Number the steps.", "Plan at most 5 steps.", "", ""),
            executor=("You are the executor. Do one step.", "", ""),
            estimator=(
                "You are the estimator. State what it costs.",
                "A van takes 6 desks.",
                "A desk needs 8 square metres.",
                "",
            ),
        ),
        "user.0": "Good day.",
        "user.1": "We move 14 desks to Argon Yard on Friday.",
        "user.2": "",
        "tool.site": "Returns the size of a place.",
        "code.executor.notes": "passed on",
        "code.estimator.notes": "all",
        "row.get_site.Argon Yard.area": 150,
        "row.get_site.Argon Yard.floor": 2,
        "row.get_site.Xenon Court.area": 90,
        "row.get_site.Xenon Court.floor": 1,
        **rows("get_vans", Friday={"fee": 95, "free": 4}, Monday={"fee": 80, "free": 2}),
        **rows("get_porters", Friday={"wage": 60, "names": "Ada and Bo"}, Monday={"wage": 55, "names": "Cleo"}),
        "row.get_permit.Argon Yard.charge": 30,
        "row.get_permit.Xenon Court.charge": 20,
    },
    edits=(
        edit("upstream", "user.0", "Hello there.", "Hi.", decoy=True),
        edit(
            "upstream",
            "user.1",
            "We move 14 desks to Xenon Court on Friday.",
            "We move 14 desks to Argon Yard on Monday.",
            "We move 19 desks to Argon Yard on Friday.",
            "We are moving 14 desks to Argon Yard on Friday.",
        ),
        edit("upstream", "user.2", "Please hurry.", "The lift works again.", decoy=True),
        edit("prompt", "prompt.planner.1", "Plan at most 2 steps.", "Plan at most 1 steps."),
        edit("prompt", "prompt.planner.2", "Check the permit as well.", "Check the weather as well."),
        wording("planner", 3),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.executor.1", "Name the source.", decoy=True),
        wording("executor", 2),
        edit("prompt", "prompt.estimator.1", "A van takes 8 desks.", "A van takes 4 desks."),
        edit("prompt", "prompt.estimator.2", "A desk needs 12 square metres.", "A desk needs 9 square metres."),
        wording("estimator", 3),
        edit("tool", "tool.site", "Returns the floor plan.", "Returns the size and floor of a place."),
        edit("upstream", "code.executor.notes", "kept back", decoy=True),
        edit("upstream", "code.estimator.notes", "last two"),
        edit("tool", "row.get_site.Argon Yard.area", 100, 160),
        edit("tool", "row.get_site.Argon Yard.floor", 3, decoy=True),
        edit("tool", "row.get_vans.Friday.fee", 110, 85),
        edit("tool", "row.get_vans.Friday.free", 5, decoy=True),
        edit("tool", "row.get_porters.Friday.wage", 66),
        edit("tool", "row.get_porters.Friday.names", "Dora and Emil", decoy=True),
        *sampling("planner", "estimator"),
    ),
)

# ---- reviews: parts of a list go to one model each, the notes are merged in rounds, a last model words them


def _note(request: Request) -> str:
    counts: dict[str, int] = {}
    least = int(request.rule(r"Skip reviews below (\d) stars\.", "0"))
    for stars, text in re.findall(r"^- (\d): (.+)$", request.last, re.MULTILINE):
        if int(stars) < least:
            continue
        for topic in ("breakfast", "noise", "staff", "parking"):
            if topic in text.lower() and f"Leave out {topic}." not in request.system:
                counts[topic] = counts.get(topic, 0) + (1 if int(stars) > 2 else -1)
    if request.model == "m2":
        counts.pop("staff", None)
    return "; ".join(f"{topic} {count:+d}" for topic, count in counts.items()) or "nothing"


def _merge(request: Request) -> str:
    counts: dict[str, int] = {}
    for topic, count in re.findall(r"(\w+) ([+-]\d+)", request.last):
        counts[topic] = counts.get(topic, 0) + int(count)
    if "Drop what is balanced." in request.system:
        counts = {topic: count for topic, count in counts.items() if count}
    return "; ".join(f"{topic} {count:+d}" for topic, count in counts.items()) or "nothing"


def _word_digest(request: Request) -> str:
    counts = [(topic, int(count)) for topic, count in re.findall(r"(\w+) ([+-]\d+)", request.last)]
    least = int(request.rule(r"Praise from (\d) votes on\.", "1"))
    good = [topic for topic, count in counts if count >= least]
    bad = [topic for topic, count in counts if count < 0]
    text = f"Guests like {' and '.join(good) or 'nothing'}"
    if "Mention complaints." in request.system and bad:
        text = f"{text}, but not {' and '.join(bad)}"
    return f"{text}!" if request.temperature > 0.6 else f"{text}."


def _digest(runtime: Runtime) -> str:
    settings = runtime.settings
    hotel = find(r"hotel (\w+)", user(settings), "Meridian")
    result = fields(runtime.tool("get_reviews", {"hotel": hotel}))
    reviews = [f"- {review.get('stars')}: {review.get('text')}" for review in items(result.get("reviews"))]
    size = number(r"(\d)", str(settings["code.reader.size"]), 2)
    parts = [reviews[start : start + size] for start in range(0, len(reviews), size)]
    notes = [say(runtime, "reader", "Reviews:\n" + "\n".join(part)) for part in parts]
    if settings["code.merger.order"] == "shortest first":
        notes.sort(key=len)
    while len(notes) > 1:
        pairs = [notes[start : start + 2] for start in range(0, len(notes), 2)]
        notes = [say(runtime, "merger", "\n".join(pair)) if len(pair) > 1 else pair[0] for pair in pairs]
    return say(runtime, "editor", f"{user(settings)}\nVotes: {' '.join(notes)}")


def _reviews(*entries: tuple[int, str]) -> JSONValue:
    return [{"stars": stars, "text": text} for stars, text in entries]


_MERIDIAN: Final = (
    (5, "Great breakfast, kind staff."),
    (2, "So much noise at night."),
    (4, "Lovely staff."),
    (1, "No parking, and noise from the bar."),
    (4, "Breakfast until noon!"),
    (3, "Parking is fine."),
)
_DIGEST: Final = Program(
    name="hotel reviews",
    group="parts and rounds",
    rewords=True,
    program=_digest,
    final="editor",
    model=model_of({"reader": _note, "merger": _merge, "editor": _word_digest}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Note topics with votes.", "", "", ""),
            merger=("You are the merger. Add up the votes.", "Drop what is balanced.", ""),
            editor=("You are the editor. Word the result.", "Praise from 1 votes on.", "Mention complaints.", ""),
        ),
        "user.0": "What do guests say about the hotel Meridian?",
        "user.1": "",
        "code.reader.size": 2,
        "code.merger.order": "as read",
        "row.get_reviews.Meridian.reviews": _reviews(*_MERIDIAN),
        "row.get_reviews.Meridian.town": "Graz",
        "row.get_reviews.Zenith.reviews": _reviews((5, "Parking and breakfast!"), (1, "Rude staff."), (2, "Noise.")),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "What do guests say about the hotel Zenith?",
            "What do people say about the hotel Meridian?",
        ),
        edit("upstream", "user.1", "Keep it short.", "I go there in May.", decoy=True),
        edit("prompt", "prompt.reader.1", "Skip reviews below 2 stars.", "Skip reviews below 3 stars."),
        edit("prompt", "prompt.reader.2", "Leave out staff.", "Leave out breakfast."),
        wording("reader", 3),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.merger.1", "", "Drop what is balanced or odd.", decoy=True),
        wording("merger", 2),
        edit("prompt", "prompt.editor.1", "Praise from 2 votes on.", "Praise from 3 votes on."),
        edit("prompt", "prompt.editor.2", "", "Mention complaints, too."),
        wording("editor", 3),
        edit("model", "model.editor.temperature", 0.9),
        edit("model", "model.merger.name", "m2", decoy=True),
        edit("upstream", "code.reader.size", 3, 6, decoy=True),
        edit("upstream", "code.merger.order", "shortest first", decoy=True),
        edit(
            "tool",
            "row.get_reviews.Meridian.reviews",
            _reviews(*_MERIDIAN, (1, "The staff shouted."), (1, "Cold staff, cold coffee.")),
            _reviews(*_MERIDIAN[:4], (2, "Breakfast was stale."), _MERIDIAN[5]),
            _reviews(*_MERIDIAN[1:]),
        ),
        edit("tool", "row.get_reviews.Meridian.town", "Linz", decoy=True),
        edit("model", "model.reader.max_tokens", 800, decoy=True),
        *sampling("reader", "merger"),
    ),
)

PLANS: Final[tuple[Program, ...]] = (_MOVE, _DIGEST)
