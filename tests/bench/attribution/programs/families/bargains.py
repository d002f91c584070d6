"""Agents that bargain in two currencies, and a supervisor that names the worker to ask next."""

import re
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

# ---- bargain: two agents with histories of their own; code converts each bid; a clerk writes the contract

_ROUNDS: Final = 6


def _bid(request: Request) -> str:
    price, bid = number(r"asks (\d+) CHF", request.last, 2000), number(r"Your last bid: (\d+) CHF", request.last)
    limit, step = int(request.rule(r"Never pay more than (\d+) CHF\.", "900")), int(request.rule(r"by (\d+) CHF", "60"))
    if request.model == "m2":
        step += 20
    if price <= min(limit, bid + step):
        return f"Deal at {price} CHF."
    return f"I bid {min(bid + step, limit)} CHF." if bid < limit else "That is too much for me. I walk away."


def _ask(request: Request) -> str:
    listed, price = number(r"list price (\d+)", request.last, 1000), number(r"Your last price: (\d+)", request.last)
    bid, cut = number(r"bids (\d+) EUR", request.last), int(request.rule(r"Come down by (\d+) EUR", "40"))
    floor = listed * (100 - int(request.rule(r"Grant up to (\d+) % off\.", "15"))) // 100
    if "Be quick with old stock." in request.system and number(r"in stock since (\d{4})", request.last) < 2024:
        floor -= 50
    if bid >= max(floor, price - cut):
        return f"I accept {bid} EUR."
    return f"I ask {max(price - cut, floor)} EUR."


def _contract(request: Request) -> str:
    price, weeks = find(r"Price: (.+)$", request.last, "none"), number(r"Delivery: (\d+) weeks", request.last)
    if price == "none":
        return "No contract: the parties did not agree."
    place = request.rule(r"Deliver to the (\w+)\.", "shop")
    return f"Sold for {price}, to the {place} in {weeks} weeks."


def _bargain(runtime: Runtime) -> str:
    rate = real(fields(runtime.tool("exchange_rate", {"currency": "CHF"})).get("per_euro"), 1.0)
    item = fields(runtime.tool("stock", {"item": "bike"}))
    price, bid, deal = int(real(item.get("price"))), int(real(runtime.settings["user.1"])), "none"
    for number_of_round in range(1, _ROUNDS + 1):
        heading = f"{user(runtime.settings)}\nRound {number_of_round}. The seller asks {round(price * rate)} CHF."
        answer = say(runtime, "buyer", f"{heading} Your last bid: {bid} CHF.")
        if "Deal" in answer:
            deal = f"{price:,.2f} EUR"
        if "Deal" in answer or "walk away" in answer:
            break
        bid = number(r"bid (\d+) CHF", answer, bid)
        described = f"{item.get('name')}: list price {item.get('price')} EUR, in stock since {item.get('since')}."
        reply = say(runtime, "seller", f"{described} Your last price: {price} EUR. A buyer bids {int(bid / rate)} EUR.")
        price = number(r"(?:ask|accept) (\d+) EUR", reply, price)
        if "accept" in reply:
            deal = f"{price:,.2f} EUR"
            break
    return say(runtime, "clerk", f"Price: {deal}\nDelivery: {item.get('weeks')} weeks")


_BARGAIN: Final = Program(
    name="bicycle bargain",
    group="bargain in two currencies",
    program=_bargain,
    final="clerk",
    model=model_of({"buyer": _bid, "seller": _ask, "clerk": _contract}),
    menu=(),
    settings={
        **prompts(
            buyer=("You are the buyer.", "Never pay more than 900 CHF.", "Raise a bid by 60 CHF.", ""),
            seller=("You are the seller.", "Come down by 40 EUR at a time.", "Grant up to 15 % off.", "", ""),
            clerk=("You are the clerk. Write the contract.", "Deliver to the shop.", ""),
        ),
        "user.0": "I need a bicycle for my daughter.",
        "user.1": "640",
        **rows("exchange_rate", CHF={"per_euro": 0.94, "day": "2026-03-02"}),
        **rows("stock", bike={"name": "Road bike", "price": 1000, "since": 2023, "weeks": 2, "colour": "red"}),
    },
    edits=(
        edit("upstream", "user.0", "I need a bicycle for my son.", "A bicycle, please.", decoy=True),
        edit("upstream", "user.1", "700", "580"),
        edit("prompt", "prompt.buyer.1", "Never pay more than 820 CHF.", "Never pay more than 700 CHF."),
        edit("prompt", "prompt.buyer.2", "Raise a bid by 90 CHF.", "Raise a bid by 30 CHF."),
        wording("buyer", 3),
        edit("prompt", "prompt.seller.1", "Come down by 70 EUR at a time.", "Come down by 20 EUR at a time."),
        edit("prompt", "prompt.seller.2", "Grant up to 8 % off.", "Grant up to 25 % off."),
        edit("prompt", "prompt.seller.3", "Be quick with old stock."),
        wording("seller", 4),
        edit("prompt", "prompt.clerk.1", "Deliver to the home.", "Deliver to the station."),
        wording("clerk", 2),
        edit("tool", "row.exchange_rate.CHF.per_euro", 0.99, 1.08),
        edit("tool", "row.exchange_rate.CHF.day", "2026-03-03", decoy=True),
        edit("tool", "row.stock.bike.price", 1100, 950),
        edit("tool", "row.stock.bike.weeks", 5),
        edit("tool", "row.stock.bike.colour", "blue", decoy=True),
        edit("model", "model.buyer.name", "m2"),
        *sampling("buyer", "seller"),
    ),
)

# ---- supervisor: it reads the shared notes and names the next expert and task, until it is done

_TURNS: Final = 6
_FACTS: Final = {
    "tax": ("import duty", "duty"),
    "law": ("licence", "licence"),
    "freight": ("sea freight", "freight"),
    "money": ("loan", "loan"),
}


def _supervise(request: Request) -> str:
    notes, goods = re.findall(r"^\[([\w ]+)\]", request.last, re.MULTILINE), find(r"import (\w+)", request.last, "it")
    fields_to_ask = request.rule(r"Ask about ([\w, ]+)\.", "tax").split(", ")
    suffix = request.rule(r"Call each of them an? (\w+)\.", "expert")
    if "Check the licence of food." in request.system and goods in {"coffee", "cheese"}:
        fields_to_ask = [*fields_to_ask, "law"]
    if request.model == "m2":
        fields_to_ask = fields_to_ask[:2]
    rest = [name for name in dict.fromkeys(fields_to_ask) if f"{name} {suffix}" not in notes]
    if not rest:
        return "FINISH: all is known."
    return f"NEXT: {rest[0]} {suffix}: find the {_FACTS.get(rest[0], ('facts', ''))[0]} for {goods}"


def _consult(request: Request) -> str:
    record, subject = find(r"^Data: (.+)$", request.last), find(r"for (\w+)$", request.spoken, "it")
    value = find(r"'value': ([\d.]+)", record, "0")
    unit = find(r"'unit': '(\w+)'", record, "none")
    if "Round up to full hundreds." in request.system and unit == "euros":
        value = str(-(-int(float(value)) // 100) * 100)
    return f"For {subject} it is {value} {unit}."


def _conclude(request: Request) -> str:
    costs = [float(value) for value in re.findall(r"it is ([\d.]+) euros", request.last)]
    percent = [float(value) for value in re.findall(r"it is ([\d.]+) percent", request.last)]
    worth = float(request.rule(r"The goods are worth (\d+) euros\.", "5000"))
    total = sum(costs) + sum(percent) * worth / 100
    advice = "Import it" if total < 0.4 * worth else "Leave it"
    days = find(r"it is ([\d.]+) days", request.last)
    return f"{advice}: {total:.0f} euros of costs." + (f" The papers take {days} days." if days else "")


def _import(runtime: Runtime) -> str:
    notes: list[str] = []
    for _ in range(_TURNS):
        order = say(runtime, "supervisor", "\n".join((user(runtime.settings), *notes)))
        match = re.search(r"NEXT: ([\w ]+): (.+)", order)
        if not match:
            break
        name, task = match.groups()

        def work(name: str = name, task: str = task) -> str:
            kind = name.split()[0]
            found = fields(runtime.tool("registry", {"entry": _FACTS.get(kind, ("", kind))[1]}))
            messages: list[JSONValue] = [
                system_message(runtime, "consultant"),
                user_message(task),
                user_message(f"Data: {found}"),
            ]
            return text_of(runtime.model("consultant", messages))

        notes.append(f"[{name}] {runtime.agent(name, task, work)}")
    return say(runtime, "closer", "\n".join(notes) or "Nothing was found out.")


_IMPORT: Final = Program(
    name="import advice",
    group="supervisor and experts",
    program=_import,
    final="closer",
    model=model_of({"supervisor": _supervise, "consultant": _consult, "closer": _conclude}),
    menu=(),
    settings={
        **prompts(
            supervisor=("You are the supervisor.", "Ask about tax, freight.", "Call each of them an expert.", "", ""),
            consultant=("You are the consultant. Answer from the data.", "", ""),
            closer=("You are the closer. Advise the importer.", "The goods are worth 5000 euros.", ""),
        ),
        "user.0": "I want to import coffee.",
        "user.1": "",
        **rows(
            "registry",
            duty={"value": 12, "unit": "percent", "source": "customs"},
            freight={"value": 640, "unit": "euros", "source": "carrier"},
            licence={"value": 30, "unit": "days", "source": "office"},
            loan={"value": 310, "unit": "euros", "source": "bank"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I want to import cheese.", "I would like to import coffee.", decoy=True),
        edit("upstream", "user.1", "Thanks for your help.", decoy=True),
        edit("prompt", "prompt.supervisor.1", "Ask about freight, tax, money.", "Ask about tax.", "Ask about freight."),
        edit(
            "prompt",
            "prompt.supervisor.2",
            "Call each of them a specialist.",
            "Call each of them an adviser.",
            decoy=True,
        ),
        edit("prompt", "prompt.supervisor.3", "Check the licence of food."),
        wording("supervisor", 4),
        edit("prompt", "prompt.consultant.1", "Round up to full hundreds."),
        wording("consultant", 2),
        edit("prompt", "prompt.closer.1", "The goods are worth 3000 euros.", "The goods are worth 9000 euros."),
        wording("closer", 2),
        edit("model", "model.supervisor.name", "m2", decoy=True),
        edit("tool", "row.registry.duty.value", 19, 3),
        edit("tool", "row.registry.freight.value", 1900, 480),
        edit("tool", "row.registry.loan.value", 900, decoy=True),
        edit("tool", "row.registry.freight.source", "broker", decoy=True),
        *sampling("supervisor", "consultant"),
    ),
)

BARGAINS: Final = (_BARGAIN, _IMPORT)
