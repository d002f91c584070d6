"""A shop whose cart code keeps over the turns, a browser that follows links, and claims that code computes."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, json_in, real, tool
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

# ---- cart: each turn gives orders that code carries out, the cart is shown to the next turn, a cashier closes

_GOODS: Final = ("lamp", "chair", "rug", "vase")


def _order(request: Request) -> str:
    said = request.last.partition("\nCart:")[0].lower()
    cart = find(r"^Cart: (.+)$", request.last)
    names = [name for name in _GOODS if name in said]
    orders = []
    for name in names:
        amount = number(rf"(\d+) {name}", said, int(request.rule(r"Without a number, take (\d)\.", "1")))
        drop = "not" in said or "without" in said
        if drop and name in cart:
            orders.append(f"REMOVE {name}")
        elif not drop:
            orders.append(f"ADD {amount} {name}")
    gift = request.rule(r"To every lamp, add a (\w+)\.")
    if gift and any("lamp" in order and order.startswith("ADD") for order in orders):
        orders.append(f"ADD 1 {gift}")
    if "coupon" in said and request.model != "m2":
        orders.append(f"COUPON {find(r'coupon ([a-z]+[0-9]+)', said, 'none')}")
    return "; ".join(orders) or "NOTHING"


def _check_out(request: Request) -> str:
    total, goods = find(r"Total: ([\d.]+)", request.last, "0"), find(r"Goods: (.+)$", request.last, "nothing")
    days = number(r"Delivery: (\d+) days", request.last)
    if float(total) == 0:
        return "Your cart is empty."
    unit = request.rule(r"Prices are in (\w+)\.", "euros")
    wrap = " We wrap it." if "Offer to wrap vases." in request.system and "vase" in goods else ""
    when = f" It comes in {days} days." if "Give the days." in request.system else ""
    return f"{goods}: {total} {unit}.{when}{wrap}"


def _cart(runtime: Runtime) -> str:
    settings = runtime.settings
    cart: dict[str, int] = {}
    prices: dict[str, float] = {}
    coupon = "none"
    for text in (user(settings), str(settings["turn.1"]), str(settings["turn.2"])):
        shown = ", ".join(f"{count} {name}" for name, count in cart.items()) or "empty"
        answer = say(runtime, "clerk", f"{text}\nCart: {shown}")
        for count, name in re.findall(r"ADD (\d+) (\w+)", answer):
            prices[name] = real(fields(runtime.tool("get_price", {"product": name})).get("price"))
            cart[name] = int(count) + (cart.get(name, 0) if settings["code.cashier.again"] == "add up" else 0)
        for name in re.findall(r"REMOVE (\w+)", answer):
            cart.pop(name, None)
        coupon = find(r"COUPON (\w+)", answer, coupon)
    total = sum(prices[name] * count for name, count in cart.items())
    if coupon != "none":
        total *= 1 - real(fields(runtime.tool("get_coupon", {"code": coupon})).get("percent")) / 100
    parcel = fields(runtime.tool("get_delivery", {"country": str(settings["code.cashier+get_delivery.country"])}))
    total += 0 if total >= real(parcel.get("free_from"), 1000) else real(parcel.get("fee"))
    goods = ", ".join(f"{count} {name}" for name, count in cart.items())
    return say(runtime, "cashier", f"Goods: {goods}\nTotal: {total:.2f}\nDelivery: {parcel.get('days')} days")


_CART: Final = Program(
    name="home shop",
    group="cart over turns",
    program=_cart,
    final="cashier",
    model=model_of({"clerk": _order, "cashier": _check_out}),
    menu=(),
    settings={
        **prompts(
            clerk=("You are the clerk. Note orders.", "Without a number, take 1.", "", "", ""),
            cashier=("You are the cashier. Close the sale.", "Prices are in euros.", "Give the days.", "", ""),
        ),
        "user.0": "I would like 2 lamps and a chair.",
        "user.1": "",
        "turn.1": "And a rug, please.",
        "turn.2": "I have the coupon may10.",
        "code.cashier.again": "replace",
        "code.cashier+get_delivery.country": "Norway",
        **rows(
            "get_price",
            lamp={"price": 40, "shelf": "A"},
            chair={"price": 75, "shelf": "B"},
            rug={"price": 110, "shelf": "C"},
            vase={"price": 20, "shelf": "D"},
        ),
        **rows("get_coupon", may10={"percent": 10, "ends": "June"}, may25={"percent": 25, "ends": "July"}),
        **rows(
            "get_delivery",
            Norway={"fee": 12, "free_from": 300, "days": 3, "carrier": "Posten"},
            Sweden={"fee": 9, "free_from": 200, "days": 5, "carrier": "Nord"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I would like 4 lamps and a chair.", "I would like 2 lamps."),
        edit("upstream", "user.1", "My cat likes warm light.", "Hurry, please.", decoy=True),
        edit("upstream", "turn.1", "And not the chair, please.", "And 3 vases, please.", "Also a rug, please."),
        edit("upstream", "turn.2", "I have the coupon may25.", "That is all.", "Here is my coupon may10."),
        edit("prompt", "prompt.clerk.1", "Without a number, take 2."),
        edit("prompt", "prompt.clerk.2", "To every lamp, add a vase.", "To every sofa, add a vase."),
        wording("clerk", 3),
        edit("model", "model.clerk.name", "m2"),
        edit("prompt", "prompt.cashier.1", "Prices are in crowns."),
        edit("prompt", "prompt.cashier.2", "Hide the days."),
        edit("prompt", "prompt.cashier.3", "Offer to wrap vases.", decoy=True),
        wording("cashier", 4),
        edit("upstream", "code.cashier.again", "add up", decoy=True),
        edit("upstream", "code.cashier+get_delivery.country", "Sweden"),
        edit("tool", "row.get_price.lamp.price", 55, 32),
        edit("tool", "row.get_price.chair.price", 60),
        edit("tool", "row.get_price.rug.shelf", "F", decoy=True),
        edit("tool", "row.get_coupon.may10.percent", 20),
        edit("tool", "row.get_coupon.may10.ends", "August", decoy=True),
        edit("tool", "row.get_delivery.Norway.fee", 20),
        edit("tool", "row.get_delivery.Norway.days", 6),
        edit("tool", "row.get_delivery.Norway.carrier", "Brink", decoy=True),
        *sampling("clerk", "cashier"),
    ),
)

# ---- browser: one agent that opens pages with a tool and follows the link that fits the question


def _browse(request: Request) -> str | ToolCall:
    name = request.tool("page")
    question = request.last.lower()
    if not name:
        return "I cannot open pages."
    if not request.called:
        return name, {"page": request.rule(r"Start at (\w+)\.", "home")}
    page = request.latest_result
    found = find(rf"({request.rule(r'Look for the (fee|hours|phone)', 'fee')}: [\w :]+)", str(page.get("text")))
    for topic in ("fee", "hours", "phone"):
        if topic in question:
            found = find(rf"({topic}: [\w :]+)", str(page.get("text")))
    if found:
        source = f" ({page.get('title')})" if "Name the page." in request.system else ""
        warning = " This may be out of date." if real(page.get("year"), 2026) < 2024 else ""
        return f"The {found}{source}.{warning}"
    most = int(request.rule(r"Open (\d) pages at most\.", "4"))
    links = [link for link in str(page.get("links", "")).split(", ") if link]
    seen = {str(call) for call in re.findall(r"'page': '(\w+)'", str([m.get("tool_calls") for m in request.messages]))}
    fresh = [link for link in links if link not in seen]
    if request.model == "m2":
        fresh.reverse()
    best = [link for link in fresh if any(word in link for word in re.findall(r"[a-z]{4,}", question))]
    if len(request.called) >= most or not fresh:
        return "I did not find it."
    return name, {"page": (best or fresh)[0]}


def _browser(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool("open", str(settings["tool.open"]), "page")]
    return text_of(converse(runtime, "browser", [user_message(user(settings))], tools, turns=7)[-1])


_BROWSER: Final = Program(
    name="museum site",
    group="links followed",
    program=_browser,
    final="browser",
    model=model_of({"browser": _browse}),
    menu=(),
    settings={
        **prompts(browser=("You are the browser. Find the answer.", "Start at home.", "Open 4 pages at most.", "", "")),
        "user.0": "I plan a trip.",
        "user.1": "What is the fee of a visit?",
        "user.2": "",
        "tool.open": "Opens a page of the site.",
        **rows(
            "open",
            home={"title": "Welcome", "text": "A museum of ships.", "links": "news, visit, about", "year": 2026},
            news={"title": "News", "text": "New hall. hours: 10 to 16", "links": "home, visit", "year": 2026},
            visit={"title": "Visit", "text": "hours: 9 to 17", "links": "tickets, home", "year": 2026},
            tickets={"title": "Tickets", "text": "fee: 14 euros", "links": "home", "year": 2025},
            about={"title": "About", "text": "phone: 555 01", "links": "team, archive", "year": 2026},
            archive={"title": "Archive", "text": "fee: 9 euros", "links": "home", "year": 2019},
            team={"title": "Team", "text": "Seven people.", "links": "home", "year": 2026},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I plan a journey.", "We plan a trip.", decoy=True),
        edit("upstream", "user.1", "What are the hours of a visit?", "What is the phone number?", "What is the fee?"),
        edit("upstream", "user.2", "Thanks.", "Bye.", decoy=True),
        edit("prompt", "prompt.browser.1", "Start at about.", "Start at visit."),
        edit("prompt", "prompt.browser.2", "Open 2 pages at most.", "Open 9 pages at most."),
        edit("prompt", "prompt.browser.3", "Name the page.", "Name the colour."),
        wording("browser", 4),
        edit("model", "model.browser.name", "m2", decoy=True),
        edit("tool", "tool.open", "Opens a file of the site.", "Opens one page of the site."),
        edit("tool", "row.open.visit.text", "hours: 9 to 17; fee: 11 euros", "hours: 8 to 17"),
        edit("tool", "row.open.home.links", "archive, news", "visit, news"),
        edit("tool", "row.open.tickets.text", "fee: 16 euros", "fee on request"),
        edit("tool", "row.open.tickets.year", 2020),
        edit("tool", "row.open.news.title", "Stories", decoy=True),
        edit("tool", "row.open.archive.text", "fee: 7 euros", decoy=True),
        *sampling("browser"),
    ),
)

# ---- claims: facts as JSON, a payment that code computes, a sub-agent above a limit, a letter

_DAMAGES: Final = ("water", "fire", "theft")


def _extract(request: Request) -> str:
    text = request.last.lower()
    kind = next((kind for kind in _DAMAGES if kind in text), "other")
    amount = number(r"(\d+) euros", text)
    if request.model == "m2":
        amount = round(amount, -3)
    owned = number(r"(\d+) years old", text)
    facts = [f'"kind": "{kind}"', f'"amount": {amount}', f'"age": {owned}']
    if "State who claims." in request.system:
        name = find(r"i am (\w+)", text, "unknown")
        facts.append(f'"by": "{name}"')
    return f"{{{', '.join(facts)}}}"


def _assess(request: Request) -> str | ToolCall:
    name = request.tool("history")
    if not name:
        return "Refuse it."
    if not request.called:
        return name, {"policy": find(r"Policy (\w+)", request.spoken, "none")}
    earlier = int(real(request.latest_result.get("claims")))
    most = int(request.rule(r"Accept up to (\d) earlier claims\.", "2"))
    return "Accept it." if earlier <= most else "Refuse it."


def _letter(request: Request) -> str:
    sum_paid, verdict = find(r"Payment: ([\d.]+)", request.last, "0"), find(r"Assessor: (\w+)", request.last, "none")
    hello = request.rule(r"Write (Dear \w+)\.", "Dear customer")
    if verdict == "Refuse":
        return f"{hello}, we cannot pay your claim."
    if float(sum_paid) <= 0:
        return f"{hello}, the damage is below your own share."
    when = request.rule(r"It is paid within (\d+) days\.", "14")
    return f"{hello}, we pay {sum_paid} euros within {when} days."


def _claim(runtime: Runtime) -> str:
    settings = runtime.settings
    facts = json_in(say(runtime, "extractor", user(settings)))
    terms = fields(runtime.tool("get_terms", {"kind": str(facts.get("kind", "other"))}))
    worth = real(facts.get("amount"))
    if settings["code.writer+assessor.age"] == "deducted":
        worth *= 1 - min(real(facts.get("age")) * real(terms.get("yearly")) / 100, 0.8)
    payment = max(0.0, min(worth - real(terms.get("share")), real(terms.get("most"), 9999)))
    verdict = "none"
    if payment > real(settings["code.assessor+get_history+writer.limit"], 1000):
        tools: list[JSONValue] = [tool("get_history", str(settings["tool.history"]), "policy")]
        task = f"Policy {settings['user.1']}. Payment {payment:.2f} for {facts.get('kind')}."

        def work() -> str:
            return text_of(converse(runtime, "assessor", [user_message(task)], tools)[-1])

        verdict = runtime.agent("assessor", task, work)
    return say(runtime, "writer", f"Claim: {facts.get('kind')}\nPayment: {payment:.2f}\nAssessor: {verdict}")


_CLAIM: Final = Program(
    name="damage claims",
    group="payments computed",
    program=_claim,
    final="writer",
    model=model_of({"extractor": _extract, "assessor": _assess, "writer": _letter}),
    menu=(),
    settings={
        **prompts(
            extractor=("You are the extractor. Read the claim.", "", ""),
            assessor=("You are the assessor. Look at the history.", "Accept up to 2 earlier claims.", ""),
            writer=(
                "You are the writer. Answer the customer.",
                "Write Dear customer.",
                "It is paid within 14 days.",
                "",
            ),
        ),
        "user.0": "Policy",
        "user.1": "P17",
        "user.2": "has water damage of 2400 euros to a floor 6 years old.",
        "user.3": "",
        "tool.history": "Reads the history of a policy.",
        "code.writer+assessor.age": "deducted",
        "code.assessor+get_history+writer.limit": 1000,
        **rows(
            "get_terms",
            water={"share": 200, "most": 3000, "yearly": 5, "text": "pipes"},
            fire={"share": 500, "most": 8000, "yearly": 2, "text": "all"},
            theft={"share": 100, "most": 900, "yearly": 8, "text": "locks"},
        ),
        **rows("get_history", P17={"claims": 1, "since": 2019}, P18={"claims": 5, "since": 2022}),
    },
    edits=(
        edit("upstream", "user.0", "My policy", "The policy", decoy=True),
        edit("upstream", "user.1", "P18"),
        edit(
            "upstream",
            "user.2",
            "has fire damage of 2400 euros to a floor 6 years old.",
            "has water damage of 2700 euros to a floor 6 years old.",
            "shows water damage of 2400 euros to a floor 6 years old.",
        ),
        edit("upstream", "user.3", "It was raining.", "Please be quick.", decoy=True),
        edit("prompt", "prompt.extractor.1", "State who claims.", decoy=True),
        wording("extractor", 2),
        edit("model", "model.extractor.name", "m2"),
        edit("prompt", "prompt.assessor.1", "Accept up to 0 earlier claims.", "Accept up to 3 earlier claims."),
        wording("assessor", 2),
        edit("model", "model.assessor.name", "m2", decoy=True),
        edit("prompt", "prompt.writer.1", "Write Dear member."),
        edit("prompt", "prompt.writer.2", "It is paid within 30 days."),
        wording("writer", 3),
        edit("tool", "tool.history", "Reads the past of a policy.", "Reads the full history of a policy."),
        edit("upstream", "code.writer+assessor.age", "left out"),
        edit("upstream", "code.assessor+get_history+writer.limit", 2500, 800, decoy=True),
        edit("tool", "row.get_terms.water.share", 300, 600),
        edit("tool", "row.get_terms.water.yearly", 3),
        edit("tool", "row.get_terms.water.most", 1200, 2900),
        edit("tool", "row.get_terms.water.text", "roofs", decoy=True),
        edit("tool", "row.get_history.P17.claims", 4, 2),
        edit("tool", "row.get_history.P17.since", 2020, decoy=True),
        *sampling("extractor", "assessor", "writer"),
    ),
)

COUNTERS: Final[tuple[Program, ...]] = (_CART, _BROWSER, _CLAIM)
