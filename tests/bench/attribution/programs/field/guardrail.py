"""Pharmacy answers: a writer with a leaflet, a validator that overlooks things at a rate, redaction in code."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    edit,
    sampling,
    say,
    wording,
)

_ISSUES: Final = (
    ("promise", r"\bguarantee[ds]?\b", "will usually work"),
    ("dosage", r"\b\d+ (?:mg|ml)\b", "the amount on the label"),
    ("link", r"https?://\S+", "our help pages"),
)


_LEAFLET: Final = (
    "{name} is used for {use}. Read this leaflet before you take it and store it away from light. Caution: {caution}. "
    "Tell your pharmacist about other medicines that you take."
)


def _write(request: Request) -> str:
    text, _, remark = request.last.partition("\nReviewer: ")
    question, _, leaflet = text.partition("\nLeaflet: ")
    medicine = find(r"\b(Panadol|Nurofen|Aspirin)\b", question, "the product")
    amount = request.rule(r"The usual amount of [^.]*is (\d+ mg)\.", "200 mg")
    opening = "Hi!" if request.model == "m2" else "Dear customer,"
    text = f"{opening} take {amount} of {medicine} with a glass of water"
    if "child" in question.lower():
        text = f"{opening} please ask a doctor before you give {medicine} to a child"
    if caution := find(r"Caution: ([^.]+)\.", leaflet):
        text = f"{text}, but {caution}"
    closing = request.rule(r"Close with: ([^.]+)\.", "write to care@apotek.example if it gets worse")
    text = f"{text}; {closing}."
    for name, pattern, substitute in _ISSUES:
        if f"fix {name}" in remark:
            text = re.sub(pattern, substitute, text)
    return text


def _review(request: Request) -> str:
    forbidden = re.findall(r"Reject any (\w+)\.", request.system)
    hits = [name for name, pattern, _ in _ISSUES if name in forbidden and re.search(pattern, request.last)]
    if len(request.last.split()) > int(request.rule(r"Reject more than (\d+) words\.", "99")):
        hits.append("length")
    return f"REWRITE fix {', fix '.join(hits)}" if hits else "PASS nothing to change"


def _advice(runtime: Runtime) -> str:
    question, remark, draft = user(runtime.settings), "", ""
    leaflet = runtime.retrieve("leaflets", question, 1)[0]
    question = f"{question}\nLeaflet: {leaflet}"
    for _ in range(3):
        draft = say(runtime, "writer", f"{question}\nReviewer: {remark}" if remark else question)
        verdict = say(runtime, "validator", draft)
        if verdict.startswith("PASS"):
            break
        remark = verdict.removeprefix("REWRITE ")
    else:
        draft = "Please call our pharmacists."
    stock = fields(runtime.tool("stock_of", {"name": find(r"\b(Panadol|Nurofen|Aspirin)\b", draft, "nothing")}))
    count = number(r"(\d+)", str(stock.get("count", 0)))
    shelf = f" In stock at {stock.get('shop')}." if count > 3 else ""
    return re.sub(r"[\w.]+@[\w.]+\w", "[e-mail]", draft) + shelf


_ADVICE: Final = Program(
    name="guarded advice",
    group="guardrail by chance",
    most=4,
    program=_advice,
    final="writer",
    model=model_of({"pharmacy writer": _write, "validator": _review}),
    chance=Chance(rate=0.2, alternatives=(("REWRITE fix", "PASS despite"),)),
    menu=(),
    settings={
        **prompts(
            writer=(
                "You are the pharmacy writer. Answer in one sentence.",
                "The usual amount of a tablet is 400 mg.",
                "Close with: write to care@apotek.example if it gets worse.",
                "",
            ),
            validator=(
                "You are the validator. Reply PASS or REWRITE with reasons.",
                "Reject any promise.",
                "Reject any dosage.",
                "Reject more than 40 words.",
                "",
            ),
        ),
        "user.0": "How much Nurofen may I take for a headache?",
        "user.1": "",
        "model.validator.temperature": 0.7,
        "doc.nurofen.date": "2025-04-01",
        "doc.nurofen.text": _LEAFLET.format(
            name="Nurofen", use="headache and fever", caution="not on an empty stomach"
        ),
        "doc.aspirin.date": "2025-02-11",
        "doc.aspirin.text": _LEAFLET.format(name="Aspirin", use="pain and colds", caution="not before an operation"),
        "doc.panadol.date": "2024-12-20",
        "doc.panadol.text": _LEAFLET.format(name="Panadol", use="pain of all kinds", caution="not with alcohol"),
        **rows(
            "stock_of",
            Nurofen={"count": 7, "shop": "Bahnhofstrasse", "price": "9.80"},
            Panadol={"count": 2, "shop": "Bahnhofstrasse", "price": "7.20"},
            Aspirin={"count": 11, "shop": "Löwenplatz", "price": "6.10"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "How much Aspirin may I take for a headache?",
            "How much Nurofen may my child take for a headache?",
            "How much Panadol may I take for a headache?",
        ),
        edit("upstream", "user.1", "I am 34.", "Merci beaucoup à l’avance ☺", decoy=True),
        edit("prompt", "prompt.writer.1", "The usual amount of a tablet is 400 mg, says the label.", decoy=True),
        edit(
            "prompt",
            "prompt.writer.2",
            "Close with: we guarantee relief.",
            "Close with: read http://apotek.example/pain first.",
            "Close with: get well soon.",
        ),
        wording("writer", 3),
        edit("model", "model.writer.name", "m2"),
        edit("prompt", "prompt.validator.1", "Reject any link.", decoy=True),
        edit("prompt", "prompt.validator.2", "Reject any link.", ""),
        edit("prompt", "prompt.validator.3", "Reject more than 12 words."),
        edit("prompt", "prompt.validator.4", "Be brief.", "A reply has one line.", decoy=True),
        edit(
            "retrieval",
            "doc.nurofen.text",
            _LEAFLET.format(name="Nurofen", use="headache and fever", caution="only after a meal"),
            _LEAFLET.format(name="Nurofen", use="headache, fever and cramps", caution="not on an empty stomach"),
        ),
        edit(
            "retrieval",
            "doc.panadol.text",
            "Panadol or Nurofen for a headache? Nurofen may help a headache, too. Caution: never both.",
            "Panadol helps. Caution: not with beer.",
        ),
        edit("retrieval", "doc.aspirin.date", "2026-02-11", decoy=True),
        edit("tool", "row.stock_of.Nurofen.count", 1),
        edit("tool", "row.stock_of.Nurofen.shop", "Löwenplatz"),
        edit("tool", "row.stock_of.Nurofen.price", "10.40", decoy=True),
        edit("model", "model.validator.max_tokens", 60, 900, decoy=True),
        *sampling("writer", "validator"),
    ),
)

GUARDRAIL: Final[tuple[Program, ...]] = (_ADVICE,)
