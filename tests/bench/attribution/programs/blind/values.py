"""Agents whose code computes: steps of a plan that use earlier values, a median of answers, dates and weekdays."""

import re
from datetime import date, timedelta
from statistics import median
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Edit, Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- freight: a plan whose later steps use values of earlier ones; code converts pounds and foreign money

_CITIES: Final = r"\b(Lyon|Turin|Ulm)\b"
_KILOGRAMS: Final = {"lb": 0.4536, "kg": 1.0}


def _schedule(request: Request) -> str:
    count, thing = next(iter(re.findall(r"(\d+) (pump|fan|valve)", request.last)), ("1", "pump"))
    cities = re.findall(_CITIES, request.last)
    city = (cities or ["Ulm"])[-1 if request.model == "m2" else 0].upper()
    steps = [f"a = catalogue({thing})", f"b = kilograms(a.weight, a.unit, {count})"]
    if "Round up to tens." in request.system:
        steps.append("b = tens(b)")
    steps += [f"c = tariff({city})", "d = francs(b, c.rate, c.currency)"]
    if "Insure valuable things." in request.system:
        steps.append("e = premium(a.value)")
    return "\n".join(steps)


def _quote(request: Request) -> str:
    facts: dict[str, str] = dict(re.findall(r"^(\w+): (\w+)", request.last, re.MULTILINE))
    weight, price = int(facts.get("kilograms", "0")), int(facts.get("francs", "0"))
    price += int(request.rule(r"Add (\d+) francs for papers\.", "0")) + int(facts.get("premium", "0"))
    price = max(price, int(request.rule(r"Charge at least (\d+) francs\.", "0")))
    way = "rail" if weight > int(request.rule(r"Above (\d+) kilograms use rail\.", "999")) else "road"
    return f"{weight} kilograms go by {way} for {price} francs, {facts.get('days', '?')} days."


def _resolved(name: str, known: dict[str, JSONValue]) -> JSONValue:
    """The value of `a`, the field `a.weight`, or the name itself."""
    head, _, field = name.partition(".")
    value = known.get(head, name)
    return value.get(field) if field and isinstance(value, dict) else value


def _number(value: JSONValue) -> float:
    return float(value) if isinstance(value, int | float) else float(re.sub(r"\D", "", str(value)) or 0)


def _computed(runtime: Runtime, operation: str, values: list[JSONValue]) -> JSONValue:
    if operation == "kilograms":
        return round(_number(values[0]) * _KILOGRAMS.get(str(values[1]), 1.0) * _number(values[2]))
    if operation == "tens":
        return -(-int(_number(values[0])) // 10) * 10
    if operation == "francs":
        rate = 100.0
        if values[2] != "CHF":
            row = runtime.tool("exchange", {"currency": str(values[2])})
            rate = _number(row.get("cents", 100)) if isinstance(row, dict) else 100.0
        return round(_number(values[0]) * _number(values[1]) * rate / 100)
    if operation == "premium":
        return round(_number(values[0]) * 0.02)
    return runtime.tool(operation, {"key": str(values[0])})


def _freight(runtime: Runtime) -> str:
    known: dict[str, JSONValue] = {}
    plan = say(runtime, "planner", user(runtime.settings))
    for name, operation, listed in re.findall(r"(\w) = (\w+)\((.+?)\)", plan):
        values = [_resolved(each, known) for each in listed.split(", ")]
        known[name] = _computed(runtime, operation, values)
    facts = {
        "kilograms": known.get("b", 0),
        "francs": known.get("d", 0),
        "premium": known.get("e"),
        "days": _resolved("c.days", known),
    }
    return say(runtime, "clerk", "\n".join(f"{name}: {value}" for name, value in facts.items() if value is not None))


_FREIGHT: Final = Program(
    name="freight",
    group="plan with references",
    most=6,
    program=_freight,
    final="clerk",
    model=model_of({"planner": _schedule, "clerk": _quote}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner.", "Write one step a line.", "", "", ""),
            clerk=(
                "You are the clerk.",
                "Add 12 francs for papers.",
                "Charge at least 80 francs.",
                "Above 60 kilograms use rail.",
                "",
            ),
        ),
        "user.0": "Please send 3 pumps to Lyon.",
        "user.1": "",
        **rows(
            "catalogue",
            pump={"weight": 44, "unit": "lb", "value": 900, "shelf": 12},
            fan={"weight": 9, "unit": "kg", "value": 150, "shelf": 3},
            valve={"weight": 2, "unit": "kg", "value": 60, "shelf": 7},
        ),
        **rows(
            "tariff",
            LYON={"rate": 3, "currency": "EUR", "days": 2, "zone": "F4"},
            TURIN={"rate": 4, "currency": "EUR", "days": 3, "zone": "I1"},
            ULM={"rate": 2, "currency": "CHF", "days": 2, "zone": "D7"},
        ),
        **rows("exchange", EUR={"cents": 95, "bank": "SNB"}, USD={"cents": 88, "bank": "SNB"}),
    },
    edits=(
        edit("upstream", "user.0", "Please send 4 pumps to Lyon.", "We want 3 pumps in Lyon."),
        edit("upstream", "user.1", "Bill our office in Turin.", "Our office in Ulm pays."),
        edit("prompt", "prompt.planner.1", "Write short steps.", decoy=True),
        edit("prompt", "prompt.planner.2", "Round up to tens."),
        edit("prompt", "prompt.planner.3", "Insure valuable things."),
        wording("planner", 4),
        edit("model", "model.planner.name", "m2"),
        edit("model", "model.clerk.name", "m2", decoy=True),
        edit("prompt", "prompt.clerk.1", "Add 20 francs for papers.", ""),
        edit("prompt", "prompt.clerk.2", "Charge at least 90 francs.", "Charge at least 250 francs."),
        edit("prompt", "prompt.clerk.3", "Above 50 kilograms use rail.", "Above 70 kilograms use rail."),
        wording("clerk", 4),
        edit("tool", "row.catalogue.pump.weight", 50, 60),
        edit("tool", "row.catalogue.pump.unit", "kg"),
        edit("tool", "row.catalogue.pump.shelf", 14, decoy=True),
        edit("tool", "row.exchange.EUR.cents", 97, 101),
        edit("tool", "row.exchange.EUR.bank", "ECB", decoy=True),
        Edit(category="tool", variants=((("row.tariff.LYON.rate", 4), ("row.tariff.LYON.days", 1)),)),
        edit("tool", "row.tariff.LYON.zone", "F5", decoy=True),
        edit("tool", "row.tariff.TURIN.rate", 5, decoy=True),
        *sampling("planner", "clerk"),
    ),
)

# ---- rents: one answer for each document, the median of their numbers, and a document beside the question


def _extract(request: Request) -> str:
    text = request.last
    amount = next(iter(re.findall(r"(\d[\d']*) francs", text)), "")
    if not amount or (request.model == "m2" and "about" in text):
        return "There is no rent."
    if "furnished" in text and "Skip furnished flats." in request.system:
        return "I skip that one."
    value = int(amount.replace("'", ""))
    if "a week" in text:
        value *= int(request.rule(r"A month has (\d+) weeks\.", "1"))
    if "with heating" in text:
        value -= int(request.rule(r"Heating is (\d+) francs\.", "0"))
    return f"The rent is {value // 1000}'{value % 1000:03} a month."


def _judge(request: Request) -> str:
    facts = {name: int(value) for name, value in re.findall(r"^(\w+): (\d+)$", request.last, re.MULTILINE)}
    rent = int(next(iter(re.findall(r"I pay (\d+)", request.last)), "0"))
    middle, count = facts.get("median", 0), facts.get("offers", 0)
    if count < int(request.rule(r"Compare at least (\d+) offers\.", "1")) or not middle:
        return "There are too few offers to compare with."
    above = 100 * (rent - middle) // middle
    advice = "Ask for less" if above >= int(request.rule(r"Complain from (\d+) percent\.", "10")) else "That is fair"
    rule = next(iter(re.findall(r"within (\d+) days", request.last)), "")
    term = f" within {rule} days" if rule and advice == "Ask for less" else ""
    return f"{advice}{term}: most pay {middle} francs, you pay {above} percent more."


def _rents(runtime: Runtime) -> str:
    offers: list[tuple[int, str]] = []
    for document in runtime.retrieve("search_offers", "flat in the old town rent francs", 5):
        answer = say(runtime, "reader", f"Offer:\n{document}")
        if amount := re.search(r"(\d+)'(\d{3}) a month", answer):
            offers.append((int(amount[1] + amount[2]), document))
    law = runtime.retrieve("search_offers", "tenants law notice objection", 1)[0]
    middle = int(median(rent for rent, _ in offers)) if offers else 0
    figures = f"median: {middle}\noffers: {len(offers)}"
    return say(runtime, "adviser", f"Handbook: {law}\n\n{user(runtime.settings)}\n\n{figures}")


_RENTS: Final = Program(
    name="rents",
    group="median of documents",
    most=3,
    program=_rents,
    final="adviser",
    model=model_of({"reader": _extract, "adviser": _judge}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader.", "A month has 4 weeks.", "Heating is 150 francs.", "", ""),
            adviser=("You are the adviser.", "Compare at least 3 offers.", "Complain from 10 percent.", ""),
        ),
        "user.0": "I pay 1750 francs for my flat.",
        "user.1": "Is that too much?",
        "user.2": "",
        "doc.a1.text": "Flat in the old town, rent 1'480 francs.",
        "doc.a1.date": "2026-01-10",
        "doc.a2.text": "Flat in the old town, rent 1'700 francs with heating.",
        "doc.a2.date": "2026-01-12",
        "doc.a3.text": "Small flat in the old town, rent 390 francs a week, furnished.",
        "doc.a3.date": "2026-01-15",
        "doc.a4.text": "Flat in the old town, rent about 1'900 francs.",
        "doc.a4.date": "2026-01-18",
        "doc.a5.text": "Bright flat in the old town by the bridge, rent 1'610 francs.",
        "doc.a5.date": "2026-01-20",
        "doc.law.text": "Law for tenants: send an objection within 30 days after the notice.",
        "doc.law.date": "2024-07-01",
    },
    edits=(
        edit("upstream", "user.0", "I pay 1650 francs for my flat.", "For my flat I pay 1750 francs."),
        edit("upstream", "user.1", "Is that fair?", "Should I object?", decoy=True),
        edit("upstream", "user.2", "It has a view.", "I moved in last year.", decoy=True),
        edit("prompt", "prompt.reader.1", "A month has 5 weeks.", ""),
        edit("prompt", "prompt.reader.2", "Heating is 50 francs.", "Heating is 130 francs."),
        edit("prompt", "prompt.reader.3", "Skip furnished flats."),
        wording("reader", 4),
        edit("model", "model.reader.name", "m2"),
        edit("model", "model.reader.max_tokens", 40, decoy=True),
        edit("prompt", "prompt.adviser.1", "Compare at least 4 offers.", "Compare at least 6 offers."),
        edit("prompt", "prompt.adviser.2", "Complain from 15 percent.", "Complain from 5 percent."),
        wording("adviser", 3),
        edit(
            "retrieval", "doc.a1.text", "Flat in the old town, rent 1'530 francs.", "Flat in the old town, on request."
        ),
        edit(
            "retrieval",
            "doc.a4.text",
            "Flat in the old town, rent about 1'590 francs.",
            "Flat in the old town, rent about 1'500 francs.",
        ),
        Edit(
            category="retrieval",
            variants=(
                (
                    ("doc.a5.text", "Bright flat in the old town by the bridge, rent 1'520 francs."),
                    ("doc.a5.date", "2026-02-20"),
                ),
            ),
        ),
        edit("retrieval", "doc.law.text", "Law for tenants: send an objection within 60 days after the notice."),
        edit("retrieval", "doc.law.date", "2025-07-01", decoy=True),
        *sampling("reader", "adviser"),
    ),
)

# ---- a term: code adds the days that a model read to a date, and avoids closed days

_DATE: Final = r"\d{4}-\d\d-\d\d"


def _read_letter(request: Request) -> str:
    dates = re.findall(_DATE, request.last) or ["2026-03-02"]
    kind = next(iter(re.findall(r"\b(objection|payment|repair)\b", request.last)), "answer")
    days = request.rule(rf"An? {kind} has (\d+) days\.", "10")
    start = dates[-1] if "Count from the last date." in request.system or request.model == "m2" else dates[0]
    return f"Kind: {kind}. Start: {start}. Days: {days}."


def _lead_time(request: Request) -> str:
    kind = next(iter(re.findall(r"due for the (\w+)", request.last)), "answer")
    weekday = next(iter(re.findall(r"on a (\w+)", request.last)), "Monday")
    days = int(
        request.rule(rf"Remind (\d+) days before an? {kind}\.", request.rule(r"Else remind (\d+) days before\."))
    )
    days += int(request.rule(rf"Add (\d+) days before a {weekday}\.", "0"))
    return f"Remind them {days} days before."


def _remind(request: Request) -> str:
    facts: dict[str, str] = dict(re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE))
    letter = "by registered mail" if facts.get("kind") == request.rule(r"Register each (\w+)\.") else "by mail"
    moved = f" (moved by {facts['holiday']})" if "holiday" in facts and "Name holidays." in request.system else ""
    deadline = f"Send the {facts.get('kind')} {letter} until {facts.get('due')}{moved}."
    return f"{deadline} We remind you on {facts.get('reminder')}."


def _term(runtime: Runtime) -> str:
    reading = say(runtime, "reader", user(runtime.settings))
    kind, start, days = re.findall(rf"Kind: (\w+)\. Start: ({_DATE})\. Days: (\d+)", reading)[0]
    due, holiday = _open_day(runtime, date.fromisoformat(start) + timedelta(days=int(days)))
    advice = say(runtime, "timer", f"It is due for the {kind} on a {due:%A}.")
    before = int((re.findall(r"(\d+) days", advice) or ["0"])[0])
    facts = {"kind": kind, "due": f"{due:%A, %d %B %Y}", "reminder": f"{due - timedelta(days=before):%d %B}"}
    if holiday:
        facts["holiday"] = holiday
    return say(runtime, "secretary", "\n".join(f"{name}: {value}" for name, value in facts.items()))


def _open_day(runtime: Runtime, day: date) -> tuple[date, str]:
    """The first day on which the office is open, and the last holiday before it."""
    holiday = ""
    for _ in range(6):
        if day.weekday() < 5:
            row = runtime.tool("calendar", {"month": f"{day:%Y-%m}"})
            closed = str(row.get("closed", "")) if isinstance(row, dict) else ""
            if f"{day:%d}" not in closed.split():
                break
            holiday = str(row.get("reason", "")) if isinstance(row, dict) else ""
        day += timedelta(days=1)
    return day, holiday


_MONTHS: Final[dict[str, JSONObject]] = {
    "2026_03": {"closed": "16 19", "reason": "the fair", "office": "Chur"},
    "2026_04": {"closed": "03 06", "reason": "Easter", "office": "Chur"},
}
_TERM: Final = Program(
    name="term",
    group="dates",
    most=4,
    program=_term,
    final="secretary",
    model=model_of({"reader": _read_letter, "timer": _lead_time, "secretary": _remind}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader.", "An objection has 14 days.", "A payment has 30 days.", "", ""),
            timer=("You are the timer.", "Remind 5 days before an objection.", "Else remind 2 days before.", "", ""),
            secretary=("You are the secretary.", "Register each objection.", "", ""),
        ),
        "user.0": "The letter of 2026-03-02 came on 2026-03-04.",
        "user.1": "I want to raise an objection.",
        "user.2": "",
        **rows("calendar", **_MONTHS),
    },
    edits=(
        edit("upstream", "user.0", "The letter of 2026-03-03 came on 2026-03-04.", "On 2026-03-02 they wrote to me."),
        edit("upstream", "user.1", "It is about the payment.", "How do I make an objection?"),
        edit("upstream", "user.2", "Thank you for your help.", "I live in Chur.", decoy=True),
        edit("prompt", "prompt.reader.1", "An objection has 15 days.", "An objection has 30 days."),
        edit("prompt", "prompt.reader.2", "A payment has 20 days.", decoy=True),
        edit("prompt", "prompt.reader.3", "Count from the last date."),
        wording("reader", 4),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.timer.1", "Remind 7 days before an objection.", ""),
        edit("prompt", "prompt.timer.3", "Add 2 days before a Tuesday.", "Add 1 days before a Friday."),
        wording("timer", 4),
        edit("model", "model.timer.name", "m2", decoy=True),
        edit("prompt", "prompt.secretary.2", "Name holidays."),
        wording("secretary", 3),
        edit("tool", "row.calendar.2026-03.closed", "19", "16 17 19", "16 18 19"),
        edit("tool", "row.calendar.2026-03.reason", "the carnival", "a strike"),
        edit("tool", "row.calendar.2026-03.office", "Thun", decoy=True),
        edit("tool", "row.calendar.2026-04.closed", "03", decoy=True),
        *sampling("reader", "timer", "secretary"),
    ),
)

VALUES: Final = (_FREIGHT, _RENTS, _TERM)
REWORDED: Final = (_RENTS,)
