"""Receipts summed by code, and prices whose largest change code looks for."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- claims: a reader turns each receipt into fields, code sums them in cents, a controller decides


def _read_receipt(request: Request) -> str:
    text = request.last.lower()
    amount = decimal(r"([\d.]+) eur", text)
    kinds = request.rule(r"Kinds are ([\w, ]+)\.", "travel, meal, other").split(", ")
    kind = next((kind for kind in kinds if kind in text), kinds[-1])
    tip = decimal(r"tip ([\d.]+)", text) if "Add the tip." in request.system else 0.0
    if request.model == "m2" and kind == "meal":
        kind = kinds[-1]
    return f'{{"kind": "{kind}", "amount": {amount + tip:.2f}}}'


def _control(request: Request) -> str:
    total = number(r"^Total: (\d+) cents$", request.last)
    limit = int(request.rule(r"Pay up to (\d+) cents\.", "20000"))
    largest = find(r"^Largest: (\w+)", request.last, "NONE")
    verdict = "paid" if total <= limit else "sent to the manager"
    why = f" The largest part is {largest}." if "Name the largest part." in request.system else ""
    name = find(r"^Claimant: (.+)$", request.last, "someone")
    return f"The claim of {name} is {verdict}.{why}"


def _claims(runtime: Runtime) -> str:
    settings = runtime.settings
    claim = fields(runtime.tool("get_claim", {"claim": find(r"(C\d+)", user(settings), "C1")}))
    sums: dict[str, int] = {}
    for receipt in items(claim.get("receipts"))[: int(real(settings["code.reader.most"], 9))]:
        answer = json_in(say(runtime, "reader", f"{receipt.get('text')} ({receipt.get('day')})"))
        kind = str(answer.get("kind"))
        cents = round(real(answer.get("amount")) * 100)
        if cents >= int(real(settings["code.controller.least"])):
            sums[kind] = sums.get(kind, 0) + cents
    total = max(sums.values(), default=0) if settings["code.controller.total"] == "most" else sum(sums.values())
    largest = max(sums, key=lambda kind: sums[kind], default="none")
    largest = largest.upper() if settings["code.controller.form"] == "capitals" else largest[:1].upper()
    lines = [f"Claimant: {claim.get('name')}", f"Total: {total} cents", f"Largest: {largest}"]
    return say(runtime, "controller", user(settings), "\n".join(lines))


def _receipts(*texts: str) -> list[JSONValue]:
    return [{"text": text, "day": f"2026-03-0{number + 1}"} for number, text in enumerate(texts)]


_CLAIMS: Final = Program(
    name="expense claims",
    group="receipts summed in cents",
    program=_claims,
    final="controller",
    model=model_of({"reader": _read_receipt, "controller": _control}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Read the receipt.", "Kinds are travel, meal, other.", "Add the tip.", ""),
            controller=(
                "You are the controller. Decide.",
                "Pay up to 14000 cents.",
                "Name the largest part.",
                "",
            ),
        ),
        "user.0": "Check the claim C1.",
        "user.1": "",
        "code.reader.most": 9,
        "code.controller.least": 0,
        "code.controller.total": "sum",
        "code.controller.form": "capitals",
        **rows(
            "get_claim",
            C1={
                "name": "Ada Berg",
                "receipts": _receipts("travel by train 84.50 EUR", "meal 32.00 EUR tip 4.00", "meal 21.00 EUR"),
                "office": "Lund",
            },
            C2={"name": "Bo Dahl", "receipts": _receipts("travel by bus 12.00 EUR"), "office": "Lund"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Check the claim C2."),
        edit("upstream", "user.1", "It is for March.", "Thank you.", decoy=True),
        edit("prompt", "prompt.reader.1", "Kinds are train, meal, other."),
        edit("prompt", "prompt.reader.2", "Leave out the tip."),
        wording("reader", 3),
        edit("model", "model.reader.name", "m2", decoy=True),
        edit("prompt", "prompt.controller.1", "Pay up to 20000 cents.", "Pay up to 30000 cents."),
        edit("prompt", "prompt.controller.2", "Be brief."),
        wording("controller", 3),
        edit("upstream", "code.reader.most", 1, 2),
        edit("upstream", "code.controller.least", 5000, 3300),
        edit("upstream", "code.controller.total", "most"),
        edit("upstream", "code.controller.form", "initial"),
        edit("tool", "row.get_claim.C1.name", "Eva Falk"),
        edit(
            "tool",
            "row.get_claim.C1.receipts",
            _receipts("travel by train 60.00 EUR", "meal 32.00 EUR tip 4.00", "meal 21.00 EUR"),
            _receipts("travel by train 14.50 EUR", "meal 32.00 EUR tip 4.00"),
        ),
        edit("tool", "row.get_claim.C1.office", "Malmo", decoy=True),
        *sampling("reader", "controller"),
    ),
)

# ---- prices: code finds the largest change, an analyst judges it, a mailer writes below a subject that code cut


def _analyse(request: Request) -> str:
    change, article = decimal(r"^Change: (-?[\d.]+) %$", request.last), find(r"^Article: (\w+)", request.last, "none")
    alarm = float(request.rule(r"Alarm from (\d+) percent on\.", "10"))
    low = float(request.rule(r"A fall of (\d+) percent is a chance\.", "99"))
    if change >= alarm:
        return f"ALARM {article} rises sharply this week"
    if change <= -low and request.model == "m1":
        return f"CHANCE {article} is cheap now"
    return f"CALM {article} stays as it was"


def _write_mail(request: Request) -> str:
    subject, price = find(r"^Subject: (.+)$", request.last, "none"), find(r"^Price: ([\d.]+)", request.last, "?")
    greeting = request.rule(r"Begin with (\w+)\.", "Hello")
    money = f" It costs {price}." if "State the price." in request.system else ""
    return f"{greeting}. {subject}.{money}"


def _watch(runtime: Runtime) -> str:
    settings = runtime.settings
    shelf = find(r"prices of (\w+)", user(settings), "tea")
    listing = items(fields(runtime.tool("list_prices", {"shelf": shelf})).get("prices"))
    changes: list[tuple[float, str, float]] = []
    for item in listing:
        before, after = real(item.get("before")), real(item.get("after"))
        share = 100 * (after - before) / before if before else 0.0
        changes.append((share, str(item.get("article")), after))
    rank = abs if settings["code.analyst.rank"] == "both ways" else float
    changes.sort(key=lambda row: rank(row[0]), reverse=True)
    share, article, after = changes[int(real(settings["code.analyst.place"]))] if len(changes) > 1 else (0.0, "none", 0)
    digits = int(real(settings["code.analyst.digits"], 1))
    judgement = say(runtime, "analyst", f"Article: {article}\nChange: {share:.{digits}f} %")
    subject = judgement[: int(real(settings["code.mailer.cut"], 40))].strip()
    if settings["code.mailer.mark"] == "off":
        subject = subject.partition(" ")[2]
    return say(runtime, "mailer", f"Subject: {subject}\nPrice: {after}")


def _prices(**pairs: tuple[float, float]) -> list[JSONValue]:
    return [{"article": name, "before": before, "after": after} for name, (before, after) in pairs.items()]


_WATCH: Final = Program(
    name="price watch",
    group="largest change found by code",
    program=_watch,
    final="mailer",
    model=model_of({"analyst": _analyse, "mailer": _write_mail}),
    menu=(),
    settings={
        **prompts(
            analyst=(
                "You are the analyst. Judge.",
                "Alarm from 20 percent on.",
                "A fall of 15 percent is a chance.",
                "",
            ),
            mailer=("You are the mailer. Write it.", "Begin with Dear.", "State the price.", ""),
        ),
        "user.0": "Watch the prices of tea.",
        "user.1": "",
        "code.analyst.rank": "rise",
        "code.analyst.place": 0,
        "code.analyst.digits": 1,
        "code.mailer.cut": 40,
        "code.mailer.mark": "on",
        "row.list_prices.tea.prices": _prices(assam=(4.0, 5.0), sencha=(8.0, 6.0), mate=(5.0, 5.5)),
        "row.list_prices.tea.source": "till",
        "row.list_prices.nuts.prices": _prices(pecan=(9.0, 9.0), walnut=(6.0, 4.8)),
    },
    edits=(
        edit("upstream", "user.0", "Watch the prices of nuts."),
        edit("upstream", "user.1", "Every Monday.", decoy=True),
        edit("prompt", "prompt.analyst.1", "Alarm from 30 percent on.", "Alarm from 26 percent on."),
        edit("prompt", "prompt.analyst.2", "A fall of 30 percent is a chance.", decoy=True),
        wording("analyst", 3),
        edit("model", "model.analyst.name", "m2", decoy=True),
        edit("prompt", "prompt.mailer.1", "Begin with Hi."),
        edit("prompt", "prompt.mailer.2", "Hide the price."),
        wording("mailer", 3),
        edit("upstream", "code.analyst.rank", "both ways", decoy=True),
        edit("upstream", "code.analyst.place", 1, -1),
        edit("upstream", "code.analyst.digits", 0, 2, decoy=True),
        edit("upstream", "code.mailer.cut", 20, 12),
        edit("upstream", "code.mailer.mark", "off"),
        edit(
            "tool",
            "row.list_prices.tea.prices",
            _prices(assam=(4.0, 4.2), sencha=(8.0, 6.0), mate=(5.0, 5.5)),
            _prices(assam=(4.0, 5.0), sencha=(8.0, 6.0), mate=(5.0, 7.5)),
            _prices(assam=(4.0, 5.2), sencha=(8.0, 6.0), mate=(5.0, 5.5)),
        ),
        edit("tool", "row.list_prices.tea.source", "web", decoy=True),
        *sampling("analyst", "mailer"),
    ),
)

FIGURES: Final[tuple[Program, ...]] = (_CLAIMS, _WATCH)
