"""A power bill that code renders from a template, a ledger read page by page, and a batch of questions with a cache."""

import json
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- power bill: an intake reads the request, code computes the bill by flags, a template, a writer


def _intake(request: Request) -> str:
    text = request.last
    refund_words = request.rule(r"A refund is meant by ([\w, ]+)\.", "refund").split(", ")
    wish = "refund" if any(word in text for word in refund_words) else "explain"
    if request.model == "m2" and "high" in text:
        wish = "complain"
    return json.dumps({"customer": find(r"\b(C\d+)\b", text, "C0"), "wish": wish})


def _writer(request: Request) -> str:
    bill, wish = find(r"^Bill: ([\d.]+ \w+)", request.last, "nothing"), find(r"^Wish: (\w+)", request.last)
    usage = find(r"^Usage: (\d+ \w+)", request.last, "nothing")
    detail = f" for {usage}" if request.rule(r"State the (usage)\.") else ""
    limit = int(request.rule(r"Refund up to (\d+)\.", "50"))
    offer = ""
    if wish == "refund":
        offer = " We refund it." if decimal(r"^Bill: ([\d.]+)", request.last) <= limit else " We cannot refund it."
    elif wish == "complain":
        offer = " We are sorry."
    greeting = request.rule(r"Greet with (\w+)", "Dear")
    return f"{greeting} customer, your bill is {bill}{detail}.{offer}"


_LETTER: Final = "Bill: {amount} {unit}\nUsage: {usage} kWh\nWish: {wish}\nTariff: {tariff}"


def _bill(runtime: Runtime) -> str:
    settings = runtime.settings
    facts = json_in(say(runtime, "intake", user(settings)))
    meter = fields(runtime.tool("get_meter", {"customer": str(facts.get("customer", "C0"))}))
    usage, cents = real(meter.get("kwh")), real(meter.get("cents"))
    if settings["code.letter+writer.night"] == "on":
        usage -= real(meter.get("night")) / 2
    if usage > real(settings["code.letter+writer.band"]):
        cents *= 1.1
    amount = usage * cents / 100
    if settings["code.letter+writer.rounding"] == "whole":
        amount = float(round(amount))
    variables: JSONObject = {
        "amount": f"{amount:.2f}",
        "unit": "EUR",
        "usage": int(usage),
        "wish": facts.get("wish"),
        "tariff": meter.get("tariff"),
    }
    letter = runtime.prompt("letter", str(settings["code.letter+writer.template"]), variables)
    return f"{say(runtime, 'writer', letter)}{settings['code.writer.footer']}"


_POWER: Final = Program(
    name="power bill",
    group="rendered template",
    program=_bill,
    final="writer",
    model=model_of({"intake": _intake, "writer": _writer}),
    menu=(),
    settings={
        **prompts(
            intake=("You are the intake. Answer with JSON.", "A refund is meant by refund, back.", "", ""),
            writer=("You are the writer. Write to the customer.", "State the usage.", "Refund up to 90.", "", "", ""),
        ),
        "user.0": "I am C7, my bill is high, I want my money back.",
        "user.1": "",
        "code.letter+writer.night": "off",
        "code.letter+writer.band": 900,
        "code.letter+writer.rounding": "cents",
        "code.letter+writer.template": _LETTER,
        "code.writer.footer": "",
        **rows(
            "get_meter",
            C7={"kwh": 420, "cents": 31, "night": 120, "tariff": "green", "read": "May"},
            C9={"kwh": 260, "cents": 29, "night": 80, "tariff": "basic", "read": "June"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "I am C9, my bill is high, I want my money back.", "I am C7, why is my bill high?"),
        edit("upstream", "user.1", "Please hurry.", decoy=True),
        edit("prompt", "prompt.intake.1", "A refund is meant by refund."),
        wording("intake", 2),
        edit("prompt", "prompt.writer.1", ""),
        edit("prompt", "prompt.writer.2", "Refund up to 200."),
        edit("prompt", "prompt.writer.3", "Greet with Hello"),
        wording("writer", 4),
        edit("model", "model.intake.name", "m2"),
        edit("upstream", "code.letter+writer.night", "on"),
        edit("upstream", "code.letter+writer.band", 300),
        edit("upstream", "code.letter+writer.rounding", "whole"),
        edit("upstream", "code.letter+writer.template", _LETTER.replace("Tariff", "Plan"), decoy=True),
        edit("upstream", "code.writer.footer", " Your power company"),
        edit("tool", "row.get_meter.C7.kwh", 610),
        edit("tool", "row.get_meter.C7.cents", 24),
        edit("tool", "row.get_meter.C7.tariff", "night", decoy=True),
        edit("tool", "row.get_meter.C7.night", 90, decoy=True),
        edit("tool", "row.get_meter.C7.read", "April", decoy=True),
        *sampling("intake", "writer"),
    ),
)

# ---- ledger pages: code reads pages up to a budget, converts amounts, sums them by the labels of a model


def _labeller(request: Request) -> str:
    travel = request.rule(r"Travel are ([\w, ]+)\.").split(", ")
    lines = []
    for payee in request.last.splitlines():
        label = "travel" if any(word and word in payee for word in travel) else "office"
        if request.model == "m2" and "Cloud" in payee:
            label = "software"
        lines.append(f"{payee} -> {label}")
    return "\n".join(lines)


def _controller(request: Request) -> str:
    lines = [line for line in request.last.splitlines() if line.startswith("* ")]
    shown = "; ".join(line.removeprefix("* ") for line in lines[: int(request.rule(r"Name (\d) labels\.", "2"))])
    total = decimal(r"^Total: ([\d.]+)", request.last)
    alarm = " Over budget." if total > float(request.rule(r"The budget is (\d+)\.", "1000")) else ""
    return f"{shown or 'Nothing'}.{alarm}{request.rule(r'End with (.)')}"


def _ledger(runtime: Runtime) -> str:
    settings = runtime.settings
    cursor = find(r"from page (\w+)", user(settings), "p1")
    rates = fields(runtime.tool("get_rates", {"base": "EUR"}))
    sums: dict[str, float] = {}
    for _ in range(int(real(settings["code.get_page+labeller.pages"]))):
        page = fields(runtime.tool("get_page", {"cursor": cursor}))
        lines = items(page.get("lines"))
        if settings["code.labeller.pending"] == "skipped":
            lines = [line for line in lines if line.get("state") != "pending"]
        answer = say(runtime, "labeller", "\n".join(str(line.get("payee")) for line in lines))
        for line in lines:
            rate = real(rates.get(str(line.get("currency"))), 1.0) or 1.0
            label = find(rf"^{line.get('payee')} -> (\w+)", answer, "unknown")
            sums[label] = sums.get(label, 0.0) + real(line.get("amount")) / rate
        cursor = str(page.get("next", ""))
        if not cursor:
            break
    order = sorted(sums, key=lambda label: -sums[label])
    if settings["code.controller.order"] == "name":
        order.sort()
    digits = int(real(settings["code.controller.digits"]))
    shown = [f"* {label} {sums[label]:.{digits}f}" for label in order]
    return say(runtime, "controller", "\n".join([*shown, f"Total: {sum(sums.values()):.2f}"]))


def _paid(payee: str, amount: int, currency: str, state: str = "booked") -> JSONObject:
    return {"payee": payee, "amount": amount, "currency": currency, "state": state}


_FIRST: Final[list[JSONValue]] = [_paid("Rail", 120, "EUR"), _paid("Cloud", 220, "USD")]
_SECOND: Final[list[JSONValue]] = [_paid("Desk shop", 300, "EUR"), _paid("Hotel", 450, "CHF", "pending")]
_LEDGER: Final = Program(
    name="ledger pages",
    group="pages and currencies",
    program=_ledger,
    final="controller",
    model=model_of({"labeller": _labeller, "controller": _controller}),
    menu=(),
    settings={
        **prompts(
            labeller=("You are the labeller. Label each line.", "Travel are Rail, Hotel.", "", ""),
            controller=("You are the controller. Report.", "Name 2 labels.", "The budget is 1000.", "", "", ""),
        ),
        "user.0": "Check the ledger from page p1.",
        "user.1": "",
        "code.get_page+labeller.pages": 3,
        "code.labeller.pending": "kept",
        "code.controller.order": "sum",
        "code.controller.digits": 2,
        **rows("get_rates", EUR={"EUR": 1, "USD": 1.1, "CHF": 0.9, "at": "noon"}),
        **rows(
            "get_page",
            p1={"lines": _FIRST, "next": "p2", "size": 2},
            p2={"lines": _SECOND, "next": "p3", "size": 2},
            p3={"lines": [_paid("Taxi", 40, "USD")], "next": "", "size": 1},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Check the ledger from page p2."),
        edit("upstream", "user.1", "It is for the board.", decoy=True),
        edit("prompt", "prompt.labeller.1", "Travel are Rail, Hotel, Taxi.", "Travel are Rail."),
        wording("labeller", 2),
        edit("prompt", "prompt.controller.1", "Name 1 labels."),
        edit("prompt", "prompt.controller.2", "The budget is 1200."),
        edit("prompt", "prompt.controller.3", "End with !"),
        wording("controller", 4),
        edit("model", "model.labeller.name", "m2"),
        edit("upstream", "code.get_page+labeller.pages", 1, 2),
        edit("upstream", "code.labeller.pending", "skipped"),
        edit("upstream", "code.controller.order", "name"),
        edit("upstream", "code.controller.digits", 0),
        edit("tool", "row.get_rates.EUR.USD", 1.25),
        edit("tool", "row.get_rates.EUR.CHF", 1.0),
        edit("tool", "row.get_page.p2.lines", [_paid("Desk shop", 380, "EUR"), _SECOND[1]]),
        edit("tool", "row.get_page.p1.next", ""),
        edit("tool", "row.get_rates.EUR.at", "midnight", decoy=True),
        edit("tool", "row.get_page.p2.size", 5, decoy=True),
        edit("model", "model.controller.max_tokens", 300, decoy=True),
        wording("controller", 5),
        *sampling("labeller", "controller"),
    ),
)

# ---- question batch: code answers what it knows from a cache, a small model the rest, a large one below a certainty

_KNOWN: Final = {"opening": ("9 to 5", 90), "parking": ("behind the house", 60), "pets": ("dogs only", 40)}


def _quick(request: Request) -> str:
    topic = next((topic for topic in _KNOWN if topic in request.last), "")
    reply, sure = _KNOWN.get(topic, ("no idea", 5))
    if topic in request.rule(r"Doubt yourself about ([\w, ]+)\."):
        sure -= 30
    if request.model == "m2":
        sure += 15
    return f"{reply} | {sure}"


def _expert(request: Request) -> str:
    article = find(r"^Article: (.+)", request.last, "nothing")
    lead = request.rule(r"Begin with (\w+)")
    return f"{lead} {article}".strip()


def _digest(request: Request) -> str:
    answers = [line.partition(". ")[2] for line in request.last.splitlines() if line[:1].isdigit()]
    joiner = request.rule(r"Join by (\w+)\.", "and")
    from_cache = number(r"^Cached: (\d+)", request.last)
    note = f" {from_cache} asked twice." if from_cache and request.rule(r"Admit (repeats)\.") else ""
    return f"{f' {joiner} '.join(answers)}.{note}"


def _batch(runtime: Runtime) -> str:
    settings = runtime.settings
    questions = [part.strip() for part in find(r": ([^?]+)\?", user(settings)).split(",")]
    cache: dict[str, str] = {}
    answers: list[str] = []
    repeated = 0
    for question in questions:
        key = question.lower() if settings["code.quick.key"] == "lower" else question
        if key in cache:
            repeated += 1
            if settings["code.digest.repeats"] == "dropped":
                continue
        else:
            reply, _, sure = say(runtime, "quick", f"Question: {question}").partition(" | ")
            if int(real(sure)) < real(settings["code.get_article+expert.threshold"]):
                article = fields(runtime.tool("get_article", {"topic": question.lower()}))
                text = str(article.get("text", "unknown"))[: int(real(settings["code.expert.cut"]))]
                reply = say(runtime, "expert", f"Question: {question}\nArticle: {text}")
            cache[key] = reply
        answers.append(cache[key])
    numbered = [f"{index}. {answer}" for index, answer in enumerate(answers, 1)]
    return say(runtime, "digest", "\n".join([*numbered, f"Cached: {repeated}"]))


_BATCH: Final = Program(
    name="question batch",
    group="cache and fallback",
    program=_batch,
    final="digest",
    model=model_of({"quick": _quick, "expert": _expert, "digest": _digest}),
    menu=(),
    settings={
        **prompts(
            quick=("You are the quick. Answer.", "", "", ""),
            expert=("You are the expert. Answer from the article.", "", "", ""),
            digest=("You are the digest. Put it together.", "Join by and.", "Admit repeats.", "", ""),
        ),
        "user.0": "Answer: opening, pets, Opening, parking?",
        "user.1": "",
        "code.quick.key": "lower",
        "code.digest.repeats": "dropped",
        "code.get_article+expert.threshold": 50,
        "code.expert.cut": 60,
        **rows(
            "get_article",
            pets={"text": "dogs on a lead, cats in a basket", "author": "Lea"},
            parking={"text": "two places in the yard", "author": "Max"},
            opening={"text": "from nine to five, in May until six", "author": "Ida"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Answer: parking, pets?", "Answer: opening, parking, Opening?"),
        edit("upstream", "user.1", "Be brief.", decoy=True),
        edit("prompt", "prompt.quick.1", "Doubt yourself about parking."),
        wording("quick", 2),
        edit("prompt", "prompt.expert.1", "Begin with Note"),
        wording("expert", 2),
        edit("prompt", "prompt.digest.1", "Join by plus."),
        edit("prompt", "prompt.digest.2", ""),
        wording("digest", 3),
        edit("model", "model.quick.name", "m2"),
        edit("upstream", "code.quick.key", "exact"),
        edit("upstream", "code.digest.repeats", "kept"),
        edit("upstream", "code.get_article+expert.threshold", 30, 70),
        edit("upstream", "code.expert.cut", 14),
        edit("tool", "row.get_article.pets.text", "no pets at all"),
        edit("tool", "row.get_article.pets.author", "Kim", decoy=True),
        edit("tool", "row.get_article.parking.text", "by the gate", decoy=True),
        edit("model", "model.expert.max_tokens", 300, decoy=True),
        *sampling("quick", "expert", "digest"),
    ),
)

ACCOUNTS: Final[tuple[Program, ...]] = (_POWER, _LEDGER, _BATCH)
