"""Agents that work for other agents: lines checked by a guardrail, and specialists with separate briefs."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
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

# ---- leaflets: one line per product, repeated products come from a cache, flagged lines are rewritten

_PRODUCTS: Final = r"\b(lamp|kettle|radio|tent)s?\b"


def _advertise(request: Request) -> str:
    thing = next(iter(re.findall(r"Product: (\w+)", request.last)), "thing")
    facts: dict[str, str] = dict(re.findall(r'"(\w+)": "?([\w ]+)', request.last))
    praise = request.rule(r"Call things (\w+)\.", "good")
    years = f", guaranteed for {facts['guarantee']} years" if "guarantee" in facts else ""
    extra = " It saves the planet." if request.model == "m2" else ""
    return f"Our {praise} {thing} for {facts.get('price', 'some')} francs{years}.{extra}"


def _censor(request: Request) -> str:
    banned = re.findall(r"Forbid the word (\w+)\.", request.system)
    lines = re.findall(r"^(\d+)\) (.+)$", request.last, re.MULTILINE)
    flags = [f"line {number} because of {word}" for number, line in lines for word in banned if word in line]
    return f"Problems: {'; '.join(flags)}" if flags else "No problems here."


def _revise(request: Request) -> str:
    line, _, reason = request.last.partition("\nAvoid: ")
    word = next(iter(re.findall(r"\w+", reason)), "")
    if "Remove the clause." in request.system:
        clauses = [clause for clause in line.rstrip(".").split(", ") if word not in clause]
        return f"{', '.join(clauses) or 'Nothing to say'}."
    return line.replace(word, request.rule(rf"Instead of {word} write (\w+)\.", "fine"))


def _publish(request: Request) -> str:
    lines = re.findall(r"^\d+\) (.+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Print at most (\d+) lines\.", "9"))
    heading = request.rule(r"Head it with (\w+)\.", "OFFERS")
    return f"{heading}: {' / '.join(lines[:most])}"


def _leaflet(runtime: Runtime) -> str:
    written: dict[str, str] = {}
    lines: list[str] = []
    for thing in re.findall(_PRODUCTS, user(runtime.settings).lower()):
        if thing not in written:
            facts = result_text(runtime.tool("get_product", {"name": thing}))
            written[thing] = say(runtime, "writer", f"Product: {thing}\nFacts: {facts}")
        lines.append(written[thing])
    for _ in range(2):
        report = say(runtime, "guard", _numbered(lines))
        flags = re.findall(r"line (\d+) because of (\w+)", report)
        if not flags:
            break
        for number, word in flags:
            lines[int(number) - 1] = say(runtime, "reviser", f"{lines[int(number) - 1]}\nAvoid: {word}")
    return say(runtime, "publisher", f"{user(runtime.settings)}\n{_numbered(list(dict.fromkeys(lines)))}")


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{number}) {line}" for number, line in enumerate(lines, 1))


_LEAFLET: Final = Program(
    name="leaflet",
    group="guardrail and cache",
    most=6,
    program=_leaflet,
    final="publisher",
    model=model_of({"copywriter": _advertise, "guard": _censor, "reviser": _revise, "publisher": _publish}),
    menu=(),
    settings={
        **prompts(
            writer=("You are the copywriter.", "Call things splendid.", ""),
            guard=("You are the guard.", "Forbid the word guaranteed.", "", ""),
            reviser=("You are the reviser.", "Instead of guaranteed write built.", "", ""),
            publisher=("You are the publisher.", "Head it with WINTER.", "", ""),
        ),
        "user.0": "Advertise the lamp, the kettle and the lamp again.",
        "user.1": "",
        **rows(
            "get_product",
            lamp={"price": 40, "stock": 17},
            kettle={"price": 60, "guarantee": 2, "stock": 8},
            radio={"price": 90, "guarantee": 3, "stock": 2},
            tent={"price": 150, "stock": 4},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Advertise the lamp and the kettle.",
            "Advertise the kettle and the lamp.",
            "Advertise the lamp, the kettle and the radio.",
        ),
        edit("upstream", "user.1", "We print on Monday.", "Make it nice.", decoy=True),
        edit("prompt", "prompt.writer.1", "Call things fresh.", "Call things planet."),
        wording("writer", 2),
        edit("model", "model.writer.name", "m2"),
        edit("prompt", "prompt.guard.1", "", "Forbid the word warranted."),
        edit(
            "prompt", "prompt.guard.2", "Forbid the word planet.", "Forbid the word splendid.", "Forbid the word radio."
        ),
        wording("guard", 3),
        edit("model", "model.guard.name", "m2", decoy=True),
        edit("prompt", "prompt.reviser.1", "Instead of guaranteed write made.", "Instead of radio write set."),
        edit("prompt", "prompt.reviser.2", "Remove the clause."),
        wording("reviser", 3),
        edit("prompt", "prompt.publisher.1", "Head it with SALE."),
        edit("prompt", "prompt.publisher.2", "Print at most 1 lines.", "Print at most 2 lines."),
        wording("publisher", 3),
        edit("tool", "row.get_product.kettle.guarantee", 3, None),
        edit("tool", "row.get_product.lamp.price", 45),
        edit("tool", "row.get_product.lamp.stock", 3, decoy=True),
        edit("tool", "row.get_product.radio.price", 95, decoy=True),
        *sampling("writer", "guard", "reviser", "publisher"),
    ),
)

# ---- a tender: specialists with separate prompts get a task from a template; code adds, sorts and truncates

_BIDS: Final[tuple[JSONValue, ...]] = (
    {"name": "get_bid", "description": "shows the price and the weeks of a bid"},
    {"name": "get_record", "description": "shows the past work of a bidder"},
)


def _choose(request: Request) -> str:
    names = re.findall(r"\b(Alpin|Brun|Cela|Dorn)\b", request.last)
    spared = request.rule(r"Leave (\w+) out\.")
    return "Bidders: " + ", ".join(name for name in dict.fromkeys(names) if name != spared)


def _price(request: Request) -> str | ToolCall:
    bidder = next(iter(re.findall(r"bidder (\w+)", request.spoken)), "")
    tool = request.tool("price")
    if tool not in request.called:
        return tool, {"bidder": bidder}
    price, weeks = (int(str(request.latest_result.get(field, 0))) for field in ("price", "weeks"))
    points = max(10 - price // int(request.rule(r"A point is (\d+) francs\.", "100")), 0)
    late = weeks - int(request.rule(r"Accept (\d+) weeks\.", "99"))
    points -= max(late, 0) if "deadline" in request.spoken or request.model == "m2" else 0
    return f"{bidder} gets {max(points, 0)} points for the price of {price}."


def _trust(request: Request) -> str | ToolCall:
    bidder = next(iter(re.findall(r"bidder (\w+)", request.spoken)), "")
    tool = request.tool("past work")
    if tool not in request.called:
        return tool, {"bidder": bidder}
    record = request.latest_result
    points = int(str(record.get("jobs", 0))) - int(request.rule(r"A complaint costs (\d+)\.", "1")) * int(
        str(record.get("complaints", 0))
    )
    most = int(request.rule(r"Give at most (\d+)\.", "9"))
    return f"{bidder} gets {min(max(points, 0), most)} points for trust."


def _award(request: Request) -> str:
    lines = re.findall(r"^(\w+): (\d+) points", request.last, re.MULTILINE)
    if not lines:
        return "There is no bidder."
    (first, points), *others = lines
    lead = int(points) - int(others[0][1]) if others else 99
    if lead < int(request.rule(r"Invite both below a lead of (\d+)\.", "0")):
        return f"We invite {first} and {others[0][0]} to talk."
    reserve = f" {others[0][0]} is the reserve." if others and "Name a reserve." in request.system else ""
    return f"The order goes to {first} with {points} points.{reserve}"


def _tender(runtime: Runtime) -> str:
    named = say(runtime, "manager", user(runtime.settings))
    bidders = re.findall(r"\w+", (re.findall(r"Bidders: ([\w, ]*)", named) or [""])[0])
    scores: list[tuple[int, str]] = []
    for bidder in bidders:
        task = f"{runtime.settings['turn.brief']} This is about the bidder {bidder}."
        reports = [runtime.agent(f"{node} desk", task, _specialist(runtime, node, task)) for node in ("price", "trust")]
        points = [int(number) for report in reports for number in re.findall(r"(\d+) points", report)]
        scores.append((sum(points), bidder))
    scores.sort(key=lambda score: (-score[0], score[1]))
    table = "\n".join(f"{bidder}: {points} points" for points, bidder in scores[:3])
    return say(runtime, "board", table)


def _specialist(runtime: Runtime, node: str, task: str) -> Callable[[], str]:
    return partial(_worked, runtime, node, task)


def _worked(runtime: Runtime, node: str, task: str) -> str:
    return text_of(converse(runtime, node, [user_message(task)], _BIDS)[-1])


_TENDER: Final = Program(
    name="tender",
    group="briefs",
    most=3,
    program=_tender,
    final="board",
    model=model_of({"manager": _choose, "estimator": _price, "referee": _trust, "board": _award}),
    menu=(),
    settings={
        **prompts(
            manager=("You are the manager.", "", ""),
            price=("You are the estimator.", "A point is 100 francs.", "Accept 6 weeks.", ""),
            trust=("You are the referee.", "A complaint costs 2.", "Give at most 6.", ""),
            board=("You are the board.", "Name a reserve.", "Invite both below a lead of 1.", ""),
        ),
        "user.0": "Compare Alpin, Brun, Cela and Dorn for the roof.",
        "user.1": "",
        "turn.brief": "Judge the offer for our roof.",
        **rows(
            "get_bid",
            Alpin={"price": 480, "weeks": 5, "clerk": "Ida"},
            Brun={"price": 390, "weeks": 8, "clerk": "Jon"},
            Cela={"price": 610, "weeks": 4, "clerk": "Kai"},
            Dorn={"price": 820, "weeks": 3, "clerk": "Lou"},
        ),
        **rows(
            "get_record",
            Alpin={"jobs": 5, "complaints": 1, "since": 1998},
            Brun={"jobs": 6, "complaints": 2, "since": 2010},
            Cela={"jobs": 4, "complaints": 0, "since": 2004},
            Dorn={"jobs": 3, "complaints": 0, "since": 2015},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Compare Alpin and Cela for the roof.",
            "Compare Dorn, Cela, Brun and Alpin for the roof.",
        ),
        edit("upstream", "user.1", "The roof is old.", "We decide in May.", decoy=True),
        edit(
            "upstream",
            "turn.brief",
            "Judge the offer for our roof, mind the deadline.",
            "Judge the offer for our roof with care.",
        ),
        edit("prompt", "prompt.manager.1", "Leave Alpin out.", "Leave Brun out.", "Leave Dorn out."),
        wording("manager", 2),
        edit("prompt", "prompt.price.1", "A point is 150 francs.", "A point is 80 francs."),
        edit("prompt", "prompt.price.2", "Accept 4 weeks.", decoy=True),
        wording("price", 3),
        edit("model", "model.price.name", "m2"),
        edit("prompt", "prompt.trust.1", "A complaint costs 1.", "A complaint costs 3."),
        edit("prompt", "prompt.trust.2", "Give at most 3.", "Give at most 5."),
        wording("trust", 3),
        edit("model", "model.trust.name", "m2", decoy=True),
        edit("prompt", "prompt.board.1", ""),
        edit("prompt", "prompt.board.2", "Invite both below a lead of 3."),
        wording("board", 3),
        edit("tool", "row.get_bid.Brun.price", 310, 590),
        edit("tool", "row.get_bid.Dorn.price", 790, decoy=True),
        edit("tool", "row.get_bid.Alpin.weeks", 9, decoy=True),
        edit("tool", "row.get_bid.Cela.clerk", "Mia", decoy=True),
        edit("tool", "row.get_record.Alpin.complaints", 0, 2),
        edit("tool", "row.get_record.Cela.jobs", 8, 3),
        *sampling("manager", "price", "trust", "board"),
    ),
)

CREWS: Final = (_LEAFLET, _TENDER)
