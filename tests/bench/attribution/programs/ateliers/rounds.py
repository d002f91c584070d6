"""A courier's round that is planned again after failures, and replies that a guard has rewritten."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- courier round: a planner lists stops, code books them, failed ones are planned again, a dispatcher reports

_TOWNS: Final = ("Arth", "Brig", "Chur", "Davos")


def _planner(request: Request) -> str:
    towns = [town for town in _TOWNS if town in request.spoken]
    most = int(request.rule(r"Plan at most (\d) stops\.", "3"))
    failed = re.findall(r"^Failed: (\w+)", request.last, re.MULTILINE)
    if failed:
        spare = request.rule(r"Instead of a failed stop use (\w+)\.", "Egg")
        return f"stop {spare}"
    if request.model == "m2":
        towns.reverse()
    skipped = request.rule(r"Leave out (\w+)\.")
    return "\n".join(f"stop {town}" for town in towns[:most] if town != skipped)


def _dispatcher(request: Request) -> str:
    stops = re.findall(r"^(\w+) at (\d+)", request.last, re.MULTILINE)
    minutes = number(r"^Minutes: (\d+)", request.last)
    limit = int(request.rule(r"Call above (\d+) minutes long\.", "999"))
    route = request.rule(r"Separate with (\S)\.", ",")
    names = f"{route} ".join(name for name, _ in stops) or "nowhere"
    return f"Round: {names}; {minutes} minutes{' (long)' if minutes > limit else ''}."


def _round(runtime: Runtime) -> str:
    settings = runtime.settings
    failures: list[str] = []
    booked: list[tuple[str, float, float]] = []
    for _ in range(1 + int(real(settings["code.planner.tries"], 1))):
        plan = say(runtime, "planner", "\n".join([user(settings), *(f"Failed: {town}" for town in failures)]))
        failures = []
        for town in re.findall(r"stop (\w+)", plan):
            slot = fields(runtime.tool("book_stop", {"town": town}))
            if slot.get("state") == "open":
                booked.append((town, real(slot.get("hour")), real(slot.get("minutes"))))
            else:
                failures.append(town)
        if not failures:
            break
    if settings["code.dispatcher.order"] == "by hour":
        booked.sort(key=lambda stop: stop[1])
    minutes = sum(stop[2] for stop in booked) * real(settings["code.dispatcher.pace"], 1)
    lines = [f"{town} at {hour:.0f}" for town, hour, _ in booked]
    return say(runtime, "dispatcher", "\n".join([*lines, f"Minutes: {minutes:.0f}"]))


_ROUND: Final = Program(
    name="courier round",
    group="plans made again after failures",
    program=_round,
    final="dispatcher",
    model=model_of({"planner": _planner, "dispatcher": _dispatcher}),
    menu=(),
    settings={
        **prompts(
            planner=(
                "You are the planner. List the stops.",
                "Plan at most 3 stops.",
                "Instead of a failed stop use Egg.",
                "",
                "",
            ),
            dispatcher=("You are the dispatcher. Report.", "Call above 90 minutes long.", "", ""),
        ),
        "user.0": "Go to Arth, Brig and Chur today.",
        "user.1": "",
        "code.planner.tries": 1,
        "code.dispatcher.order": "as booked",
        "code.dispatcher.pace": 1,
        **rows(
            "book_stop",
            Arth={"state": "open", "hour": 10, "minutes": 25, "ramp": "R1"},
            Brig={"state": "full", "hour": 11, "minutes": 30, "ramp": "R2"},
            Chur={"state": "open", "hour": 8, "minutes": 20, "ramp": "R3"},
            Davos={"state": "open", "hour": 9, "minutes": 40, "ramp": "R4"},
            Egg={"state": "open", "hour": 12, "minutes": 15, "ramp": "R5"},
            Flims={"state": "open", "hour": 13, "minutes": 50, "ramp": "R6"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Go to Arth, Chur and Davos today.", "Go to Brig and Chur today."),
        edit("upstream", "user.1", "The van is white.", "Mind the snow.", decoy=True),
        edit("prompt", "prompt.planner.1", "Plan at most 2 stops."),
        edit("prompt", "prompt.planner.2", "Instead of a failed stop use Flims."),
        edit("prompt", "prompt.planner.3", "Leave out Chur."),
        wording("planner", 4),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.dispatcher.1", "Call above 50 minutes long."),
        edit("prompt", "prompt.dispatcher.2", "Separate with /."),
        wording("dispatcher", 3),
        edit("upstream", "code.planner.tries", 0),
        edit("upstream", "code.dispatcher.order", "by hour"),
        edit("upstream", "code.dispatcher.pace", 2),
        edit("tool", "row.book_stop.Arth.minutes", 35, 75),
        edit("tool", "row.book_stop.Brig.state", "open"),
        edit("tool", "row.book_stop.Chur.state", "closed"),
        edit("tool", "row.book_stop.Arth.ramp", "R9", decoy=True),
        edit("tool", "row.book_stop.Chur.ramp", "R8", decoy=True),
        *sampling("planner", "dispatcher"),
    ),
)

# ---- review reply: a writer drafts, a guard names faults, a rewriter corrects them, code appends a footer


def _writer(request: Request) -> str:
    product = find(r"^Product: (\w+)", request.last, "product")
    stars = number(r"^Stars: (\d)", request.last, 3)
    words = ["Thanks" if stars > 3 else "Sorry", f"about the {product}"]
    if stars <= int(request.rule(r"Offer a refund up to (\d) stars\.", "0")):
        words.append("we guarantee a refund")
    if request.model == "m2":
        words.append("honestly")
    return f"{', '.join(words)}{request.rule(r'End with (.)', '.')}"


def _guard(request: Request) -> str:
    text = find(r"^Draft: (.+)$", request.last)
    banned = request.rule(r"Forbid ([\w, ]+)\.").split(", ")
    faults = [word for word in banned if word and word in text]
    if len(text.split()) > int(request.rule(r"Allow (\d+) words\.", "99")):
        faults.append("length")
    return f"faults: {', '.join(faults)}" if faults else "fine"


def _rewriter(request: Request) -> str:
    text = find(r"^Draft: (.+)$", request.last)
    for fault in find(r"^Faults: (.+)$", request.last).split(", "):
        if fault == "length":
            text = f"{text.partition(', ')[0]}."
        elif fault:
            text = text.replace(fault, request.rule(r"Write (\w+) instead\.", "promise"))
    return text


def _reply(runtime: Runtime) -> str:
    settings = runtime.settings
    order = fields(runtime.tool("get_order", {"id": find(r"order (\w+)", user(settings), "A1")}))
    stars = number(r"(\d) stars", user(settings), 3) + int(real(settings["code.writer.bonus"]))
    draft = say(runtime, "writer", f"Product: {order.get('product')}\nStars: {stars}\n{user(settings)}")
    for _ in range(int(real(settings["code.rewriter.rounds"], 2))):
        verdict = say(runtime, "guard", f"Draft: {draft}")
        faults = find(r"faults: (.+)", verdict)
        if not faults:
            break
        draft = say(runtime, "rewriter", f"Draft: {draft}\nFaults: {faults}")
    policy = fields(runtime.tool("get_policy", {"country": str(order.get("country"))}))
    footer = f" ({policy.get('office')}, {policy.get('days')} days)" if settings["code.footer"] == "on" else ""
    return f"{draft}{footer}"


_REPLY: Final = Program(
    name="review reply",
    group="drafts that a guard has rewritten",
    program=_reply,
    final="writer",
    model=model_of({"writer": _writer, "guard": _guard, "rewriter": _rewriter}),
    menu=(),
    settings={
        **prompts(
            writer=("You are the writer. Reply.", "Offer a refund up to 2 stars.", "", ""),
            guard=("You are the guard. Check.", "Forbid guarantee, honestly.", "Allow 12 words.", ""),
            rewriter=("You are the rewriter. Correct.", "Write promise instead.", ""),
        ),
        "user.0": "My order A1 gets 2 stars.",
        "user.1": "",
        "code.writer.bonus": 0,
        "code.rewriter.rounds": 2,
        "code.footer": "on",
        **rows(
            "get_order",
            A1={"product": "kettle", "country": "CH", "carrier": "Post"},
            B2={"product": "lamp", "country": "DE", "carrier": "DHL"},
        ),
        **rows(
            "get_policy",
            CH={"office": "Bern", "days": 30, "phone": "031"},
            DE={"office": "Bonn", "days": 14, "phone": "0228"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "My order A1 gets 4 stars.", "My order B2 gets 2 stars."),
        edit("upstream", "user.1", "It came on Monday.", "Greetings to all.", decoy=True),
        edit("prompt", "prompt.writer.1", "Offer a refund up to 1 stars."),
        edit("prompt", "prompt.writer.2", "End with !"),
        wording("writer", 3),
        edit("model", "model.writer.name", "m2"),
        edit("prompt", "prompt.guard.1", "Forbid refund, honestly.", "Forbid honestly."),
        edit("prompt", "prompt.guard.2", "Allow 6 words."),
        wording("guard", 3),
        edit("prompt", "prompt.rewriter.1", "Write offer instead."),
        wording("rewriter", 2),
        edit("upstream", "code.writer.bonus", 2),
        edit("upstream", "code.rewriter.rounds", 0),
        edit("tool", "row.get_order.A1.product", "toaster"),
        edit("tool", "row.get_order.A1.country", "DE"),
        edit("tool", "row.get_policy.CH.days", 20, 60),
        edit("tool", "row.get_order.A1.carrier", "Planzer", decoy=True),
        edit("tool", "row.get_policy.CH.phone", "044", decoy=True),
        *sampling("writer", "guard", "rewriter"),
    ),
)

ROUNDS: Final[tuple[Program, ...]] = (_ROUND, _REPLY)
