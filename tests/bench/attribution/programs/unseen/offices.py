"""Office agents: escalated claims, forms requested again, plans executed by code."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of, parse
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- claims: a score above a limit in the code is escalated to another desk


def _assess(request: Request) -> str:
    weights = re.findall(r"Count (\w+) as (\d+)\.", request.system)
    score = sum(int(points) for word, points in weights if word in request.last.lower())
    return f"I put the severity at {score + (25 if request.model == 'm2' else 0)} of 100."


def _handle(request: Request) -> str:
    return f"We offer {request.rule(r'Offer (.+?)[.]')} of up to {request.rule(r'Up to ([0-9]+) francs')} francs."


def _claims(runtime: Runtime) -> str:
    report = user(runtime.settings)
    score = re.search(r"at (\d+)", say(runtime, "assessor", report))
    desk = "senior" if score and int(score.group(1)) > 50 else "junior"
    return say(runtime, desk, f"Claim: {report}")


_CLAIMS: Final = Program(
    name="claims",
    group="escalated",
    program=_claims,
    final="junior",
    model=model_of({"assessor": _assess, "handler": _handle}),
    menu=(),
    settings={
        **prompts(
            assessor=("You are the assessor.", "Count dent as 20.", "Count leak as 45.", ""),
            junior=("You are the handler.", "Offer a voucher.", "Up to 100 francs.", ""),
            senior=("You are the handler.", "Offer a visit by our expert.", "Up to 900 francs.", ""),
        ),
        "user.0": "The container came with a dent.",
        "user.1": "",
    },
    edits=(
        edit("upstream", "user.1", "And there is a leak in it.", "The leak is the worst."),
        edit("prompt", "prompt.assessor.1", "Count dent as 60.", "Count dent as 15."),
        wording("assessor", 3),
        edit("prompt", "prompt.junior.1", "Offer a refund."),
        edit("prompt", "prompt.junior.2", "Up to 150 francs."),
        wording("junior", 3),
        edit("model", "model.assessor.name", "m2"),
        *sampling("assessor", "junior"),
    ),
)

# ---- labels: an incomplete form is requested again


def _fill_in(request: Request) -> str:
    details = dict(re.findall(r"(name|city|phone) is (\w+)", request.spoken))
    careful = "Be complete." in request.system or "once more" in request.last
    fields = ["name", "city"] if careful else ["name"]
    if "Give the phone too." in request.system:
        fields.append("phone")
    return json.dumps({field: details.get(field, "unknown") for field in fields})


def _print_label(request: Request) -> str:
    city = next(iter(re.findall(r"TO: ([A-Z]+)", request.last)), "NOWHERE")
    carrier = request.rule(rf"For {city} take (\w+)\.", "Post")
    name = next(iter(re.findall(r"FOR: (\w+)", request.last)), "nobody")
    signature = " Signature needed." if "Ask for signatures." in request.system else ""
    return f"{carrier} brings it to {name} in {city.title()}.{signature}"


def _labels(runtime: Runtime) -> str:
    letter = user(runtime.settings)
    form = parse(say(runtime, "clerk", letter))
    if "city" not in form:
        form = parse(say(runtime, "clerk", letter, "Fill in the form once more, with the city."))
    return say(runtime, "printer", f"FOR: {form.get('name')}\nTO: {str(form.get('city')).upper()}")


_LABELS: Final = Program(
    name="labels",
    group="asked again",
    program=_labels,
    final="printer",
    model=model_of({"clerk": _fill_in, "printer": _print_label}),
    menu=(),
    settings={
        **prompts(
            clerk=("You are the clerk.", "", "", ""),
            printer=("You are the printer.", "For BERN take Velo.", "For GENF take Rail.", "", ""),
        ),
        "user.0": "My name is Anna, my city is Bern, my phone is none.",
        "user.1": "",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "My name is Anna, my city is Genf, my phone is none.",
            "My name is Otto, my city is Bern.",
        ),
        edit("upstream", "user.1", "Thank you.", "I wait for it.", decoy=True),
        edit("prompt", "prompt.clerk.1", "Be complete.", decoy=True),
        edit("prompt", "prompt.clerk.2", "Give the phone too.", decoy=True),
        wording("clerk", 3),
        edit("prompt", "prompt.printer.1", "For BERN take Truck."),
        edit("prompt", "prompt.printer.3", "Ask for signatures."),
        wording("printer", 4),
        *sampling("clerk", "printer"),
    ),
)

# ---- purchases: the code executes the planner's lines and reports the results


def _plan(request: Request) -> str:
    item = next(iter(re.findall(r"\b(bolt|nut|gear)s?\b", request.last)), "bolt")
    steps = [f"check_stock({item})", f"check_price({item})"]
    if "Look for offers." in request.system:
        steps.append(f"check_offers({item})")
    return "; ".join(steps[::-1] if request.model == "m2" else steps)


def _report(request: Request) -> str:
    facts = {key: int(value) for key, value in re.findall(r"(stock|price|offer): (\d+)", request.last)}
    if facts.get("stock", 0) < int(request.rule(r"Keep at least (\d+)\.", "5")):
        return f"Buy more at {min(facts.get('price', 0), facts.get('offer', 999))} francs."
    return "There is enough in stock."


def _purchases(runtime: Runtime) -> str:
    plan = say(runtime, "planner", user(runtime.settings))
    facts = []
    for tool, item in re.findall(r"(\w+)\((\w+)\)", plan):
        row = runtime.tool(tool, {"item": item})
        assert isinstance(row, dict)
        facts += [f"{key}: {value}" for key, value in row.items()]
    return say(runtime, "buyer", "\n".join(sorted(facts)))


_PURCHASES: Final = Program(
    name="purchases",
    group="carried out",
    program=_purchases,
    final="buyer",
    model=model_of({"planner": _plan, "buyer": _report}),
    menu=(),
    settings={
        **prompts(planner=("You are the planner.", "", ""), buyer=("You are the buyer.", "Keep at least 9.", "")),
        "user.0": "Do we need bolts?",
        **rows("check_stock", bolt={"stock": 4, "hall": 2}, gear={"stock": 70, "hall": 1}),
        **rows("check_price", bolt={"price": 12}, gear={"price": 80}),
        **rows("check_offers", bolt={"offer": 10}, gear={"offer": 85}),
    },
    edits=(
        edit("upstream", "user.0", "Do we need gears?", "Tell me, do we need bolts?"),
        edit("prompt", "prompt.planner.1", "Look for offers."),
        wording("planner", 2),
        edit("prompt", "prompt.buyer.1", "Keep at least 3."),
        wording("buyer", 2),
        edit("tool", "row.check_stock.bolt.stock", 31, 2),
        edit("tool", "row.check_stock.bolt.hall", 3, decoy=True),
        edit("tool", "row.check_price.bolt.price", 15),
        edit("model", "model.planner.name", "m2", decoy=True),
        *sampling("planner", "buyer"),
    ),
)

# ---- customers: a tool result about a customer becomes a sentence of the system prompt


def _advise(request: Request) -> str:
    tier = request.rule(r"They are a (\w+) customer\.", "new")
    discount = request.rule(rf"For {tier} customers take (\d+) percent off\.", "0")
    thing = "service" if "service" in request.last else "bike"
    return f"The {thing} comes with {discount} percent off{' and a gift' if request.model == 'm2' else ''}."


def _customers(runtime: Runtime) -> str:
    row = runtime.tool("find_customer", {"mail": "anna@example.org"})
    assert isinstance(row, dict)
    opening = system_message(runtime, "seller")
    opening["content"] = f"{opening['content']} They are a {row.get('tier')} customer."
    return text_of(runtime.model("seller", [opening, user_message(user(runtime.settings))]))


_CUSTOMERS: Final = Program(
    name="customers",
    group="put into the prompt",
    program=_customers,
    final="seller",
    model=model_of({"seller": _advise}),
    menu=(),
    settings={
        **prompts(
            seller=(
                "You are the seller.",
                "For silver customers take 5 percent off.",
                "For gold customers take 15 percent off.",
                "",
            )
        ),
        **rows("find_customer", **{"anna@example": {}}),
        "row.find_customer.anna@example.org.tier": "silver",
        "row.find_customer.anna@example.org.since": 2019,
        "user.0": "What do I pay for the bike?",
        "user.1": "",
    },
    edits=(
        edit("tool", "row.find_customer.anna@example.org.tier", "gold"),
        edit("tool", "row.find_customer.anna@example.org.since", 2021, decoy=True),
        edit("prompt", "prompt.seller.1", "For silver customers take 8 percent off."),
        wording("seller", 3),
        edit("upstream", "user.0", "What do I pay for a service?", "Tell me what I pay for the bike."),
        edit("upstream", "user.1", "I am in no hurry.", "See you soon.", decoy=True),
        edit("model", "model.seller.name", "m2"),
        *sampling("seller"),
    ),
)

# ---- leave: the code puts a notice with a tool result before the user's next message

_TOOLS: Final[tuple[JSONValue, ...]] = ({"name": "book_leave", "description": "books days off"},)


def _grant(request: Request) -> str | ToolCall:
    days = next(iter(re.findall(r"(\d+) days", request.last)), "")
    if not days:
        return "How many days do you want?"
    if "book_leave" in request.called:
        return f"Your {days} days are {request.results[-1].get('state', 'open')}."
    left = int(next(iter(re.findall(r"Days left: (\d+)", request.spoken)), "0"))
    spare = int(request.rule(r"Keep (\d+) days back\.", "0"))
    if left - spare < int(days):
        return f"You have only {left - spare} days."
    return "book_leave", {"days": int(days), "month": "May" if request.model == "m2" else "June"}


def _leave(runtime: Runtime) -> str:
    talk = converse(runtime, "personnel", [user_message(str(runtime.settings["turn.0"]))], _TOOLS)
    account = runtime.tool("leave_account", {"person": "Otto"})
    talk.append({"role": "system", "content": f"Days left: {json.loads(result_text(account)).get('days')}"})
    talk.append(
        user_message(f"Days left: {json.loads(result_text(account)).get('days')}\n{runtime.settings['turn.1']}")
    )
    return text_of(converse(runtime, "personnel", talk, _TOOLS)[-1])


_LEAVE: Final = Program(
    name="leave",
    group="noted in a talk",
    program=_leave,
    final="personnel",
    model=model_of({"personnel": _grant}),
    menu=(),
    settings={
        **prompts(personnel=("You are the personnel.", "Keep 2 days back.", "")),
        "user.0": "",
        "turn.0": "Hello, I want to be away.",
        "turn.1": "I want 6 days.",
        **rows("leave_account", Otto={"days": 11, "year": 2026}),
        "row.book_leave.6.state": "booked",
        "row.book_leave.10.state": "asked for",
    },
    edits=(
        edit("upstream", "turn.0", "Good morning, I want to be away.", decoy=True),
        edit("upstream", "turn.1", "I want 10 days.", "Please give me 6 days."),
        edit("prompt", "prompt.personnel.1", "Keep 7 days back.", "Keep 1 days back."),
        wording("personnel", 2),
        edit("tool", "row.leave_account.Otto.days", 4, 7),
        edit("tool", "row.leave_account.Otto.year", 2027, decoy=True),
        edit("tool", "row.book_leave.6.state", "refused"),
        edit("model", "model.personnel.name", "m2", decoy=True),
        *sampling("personnel"),
    ),
)

OFFICES: Final = (_CLAIMS, _LABELS, _PURCHASES, _CUSTOMERS, _LEAVE)
REWORDABLE: Final = (_CLAIMS, _CUSTOMERS)
