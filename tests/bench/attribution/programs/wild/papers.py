"""Invoices with a validator that sends errors back, and minutes of a meeting by map and reduce."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows
from tests.bench.attribution.programs.field.parsing import fields, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- invoices: a model reads fields, code checks them and sends errors back, another model books

_INVOICE: Final = (
    "{sender}\nInvoice {number} of 14.03.2026\nPaper and toner   {net} EUR\nVAT   {vat} EUR\n"
    "Total due {gross} EUR\nPayable in {days} days."
)


def _extract(request: Request) -> str:
    text, _, errors = request.last.partition("\nErrors: ")
    kind = request.rule(r"Take the (net|gross) amount\.", "gross")
    label = "Total due" if kind == "gross" else "Paper and toner"
    amount = find(rf"{label}\s+([\d.,]+)", text, "0")
    if "Example: 1.050,20 is 1050.20." in request.system or "amount" in errors:
        amount = amount.replace(".", "").replace(",", ".")
    date = find(r"of (\d\d\.\d\d\.\d{4})", text, "01.01.2000")
    if "Write dates as year-month-day." in request.system or "date" in errors:
        date = "-".join(reversed(date.split(".")))
    reply: JSONObject = {
        "supplier": find(r"^(\S+)" if request.model == "m2" else r"^(.+)$", text, "unknown"),
        "number": find(r"Invoice (\S+)", text, "none"),
        "date": date,
        "amount": amount,
        "days": number(r"Payable in (\d+)", text, 30),
    }
    return json.dumps(reply)


def _book(request: Request) -> str:
    amount = real(find(r"amount ([\d.]+)", request.last), 0.0)
    account = find(r"account (\d+)", request.last, "9999")
    if amount > int(request.rule(r"Amounts above (\d+) need a second signature\.", "100000")):
        return f"Book {amount:.2f} on {account}, signed by two."
    return f"Book {amount:.2f} on {account}."


def _errors(record: JSONObject, *, dates: bool) -> str:
    faults = []
    if not re.fullmatch(r"\d+(\.\d\d)?", str(record.get("amount"))):
        faults.append("amount is no number")
    if dates and not re.fullmatch(r"\d{4}-\d\d-\d\d", str(record.get("date"))):
        faults.append("date is in a wrong format")
    return "; ".join(faults)


def _invoices(runtime: Runtime) -> str:
    settings = runtime.settings
    text = str(settings["turn.0"])
    record = json_in(say(runtime, "extractor", text))
    for _ in range(number(r"(\d)", str(settings["code.extractor.retries"]))):
        if not (faults := _errors(record, dates=settings["code.extractor.dates"] == "checked")):
            break
        record = json_in(say(runtime, "extractor", f"{text}\nErrors: {faults}"))
    supplier = fields(runtime.tool("find_supplier", {"name": str(record.get("supplier", "unknown"))}))
    amount = real(str(record.get("amount")), 0.0)
    if settings["code.booker.discount"] == "on":
        amount -= amount * real(supplier.get("discount")) / 100
    booking = say(runtime, "booker", f"amount {amount:.2f} account {supplier.get('account', 'none')}")
    return f"{record.get('number')} of {record.get('date')}: {booking} Contact {supplier.get('contact', 'nobody')}."


_NORD: Final = {"sender": "Nordpapier", "number": "N-20931", "net": "1.210,00", "vat": "229,90", "days": 14}
_INVOICES: Final = Program(
    name="supplier invoices",
    group="validator in code",
    program=_invoices,
    final="booker",
    model=model_of({"extractor": _extract, "booker": _book}),
    menu=(),
    settings={
        **prompts(
            extractor=(
                "You are the extractor. Reply with JSON.",
                "Take the gross amount.",
                "Example: 1.050,20 is 1050.20.",
                "Write dates as year-month-day.",
                "",
            ),
            booker=("You are the booker. One sentence.", "Amounts above 2000 need a second signature.", ""),
        ),
        "user.0": "",
        "turn.0": _INVOICE.format(**_NORD, gross="1.439,90"),
        "code.extractor.retries": 2,
        "code.extractor.dates": "unchecked",
        "code.booker.discount": "off",
        **rows(
            "find_supplier",
            Nordpapier={"account": "4411", "discount": 2, "contact": "Frau Holm", "since": 2017},
            Westpapier={"account": "4412", "discount": 0, "contact": "Herr Abt", "since": 2020},
        ),
    },
    edits=(
        edit(
            "upstream",
            "turn.0",
            _INVOICE.format(**_NORD, gross="2.439,90"),
            _INVOICE.format(**{**_NORD, "sender": "Westpapier"}, gross="1.439,90"),
            _INVOICE.format(**{**_NORD, "days": 30}, gross="1.439,90"),
        ),
        edit("prompt", "prompt.extractor.1", "Take the net amount.", "Take the gross amount always."),
        edit("prompt", "prompt.extractor.2", "", "Example: 10 EUR is 10.00.", decoy=True),
        edit("prompt", "prompt.extractor.3", "Write dates as on the paper."),
        wording("extractor", 4),
        edit("model", "model.extractor.name", "m2", decoy=True),
        edit(
            "prompt", "prompt.booker.1", "Amounts above 1000 need a second signature.", "Amounts above 5000 are rare."
        ),
        wording("booker", 2),
        edit("upstream", "code.extractor.retries", 0, decoy=True),
        edit("upstream", "code.extractor.dates", "checked", decoy=True),
        edit("upstream", "code.booker.discount", "on"),
        edit("tool", "row.find_supplier.Nordpapier.account", "4499"),
        edit("tool", "row.find_supplier.Nordpapier.contact", "Frau Holm-Wirz"),
        edit("tool", "row.find_supplier.Nordpapier.discount", 3, decoy=True),
        edit("tool", "row.find_supplier.Nordpapier.since", 2016, decoy=True),
        edit("model", "model.extractor.max_tokens", 900, decoy=True),
        *sampling("extractor", "booker"),
    ),
)

# ---- minutes: code cuts the talk into parts, a model notes the tasks of each, another one merges the notes


def _note(request: Request) -> str:
    verbs = request.rule(r"A task begins with I (will|must)\.", "will")
    tasks = re.findall(rf"^(\w+): I {verbs} ([^.]+)\.", request.last, re.MULTILINE)
    if "Skip guesses." in request.system:
        tasks = [(who, what) for who, what in tasks if "maybe" not in what]
    if request.model == "m2":
        tasks = tasks[:1]
    return "\n".join(f"- {who}: {what}" for who, what in tasks) or "- nobody: nothing"


def _reduce(request: Request) -> str:
    tasks = [task for task in re.findall(r"^- (\w+: .+)$", request.last, re.MULTILINE) if "nothing" not in task]
    if "Name each task once." in request.system:
        tasks = list(dict.fromkeys(tasks))
    if request.rule(r"Sort by (\w+)\.") == "person":
        tasks.sort()
    most = int(request.rule(r"List at most (\d+) tasks\.", "20"))
    if request.temperature > 0.6:
        tasks.append("all: meet again")
    return "; ".join(tasks[:most]) or "no tasks"


def _minutes(runtime: Runtime) -> str:
    settings = runtime.settings
    lines = [str(settings[f"turn.{place}"]) for place in range(7) if settings[f"turn.{place}"]]
    size = number(r"(\d)", str(settings["code.scribe.lines"]), 3)
    parts = ["\n".join(lines[start : start + size]) for start in range(0, len(lines), size)]
    notes = [say(runtime, "scribe", part) for part in parts]
    if settings["code.editor.order"] == "latest first":
        notes.reverse()
    return "Tasks: " + say(runtime, "editor", "\n".join(notes))


_MINUTES: Final = Program(
    name="meeting minutes",
    group="parts of a talk",
    program=_minutes,
    final="editor",
    model=model_of({"scribe": _note, "editor": _reduce}),
    menu=(),
    settings={
        **prompts(
            scribe=("You are the scribe. List the tasks.", "A task begins with I will.", "", ""),
            editor=("You are the editor. Merge the lists.", "Name each task once.", "List at most 8 tasks.", "", ""),
        ),
        "user.0": "",
        "turn.0": "Ana: Welcome, the budget is open.",
        "turn.1": "Ben: I will ask finance for the figures.",
        "turn.2": "Ana: I will book the hall.",
        "turn.3": "Cem: It rained on Monday.",
        "turn.4": "Ben: I will ask finance for the figures.",
        "turn.5": "Cem: I will maybe draw a poster.",
        "turn.6": "",
        "code.scribe.lines": 3,
        "code.editor.order": "first to last",
    },
    edits=(
        edit("upstream", "turn.0", "Ana: Welcome, all of you.", "Ana: I will keep the minutes."),
        edit("upstream", "turn.1", "Ben: I must ask finance for the figures."),
        edit("upstream", "turn.2", "Ana: I will book the garden.", "Ana: The hall is too small."),
        edit("upstream", "turn.3", "Cem: The sun was out on Monday.", "Cem: Sorry, I am late.", decoy=True),
        edit("upstream", "turn.6", "Ana: I will send an invitation.", "Ana: Goodbye."),
        edit("prompt", "prompt.scribe.1", "A task begins with I must."),
        edit("prompt", "prompt.scribe.2", "Skip guesses.", "Skip jokes."),
        wording("scribe", 3),
        edit("model", "model.scribe.name", "m2"),
        edit("prompt", "prompt.editor.1", "Name tasks."),
        edit("prompt", "prompt.editor.2", "List at most 2 tasks.", "List at most 9 tasks."),
        edit("prompt", "prompt.editor.3", "Sort by person.", "Sort by nothing."),
        wording("editor", 4),
        edit("model", "model.editor.temperature", 0.9),
        edit("upstream", "code.scribe.lines", 2, 6, decoy=True),
        edit("upstream", "code.editor.order", "latest first"),
        edit("model", "model.editor.name", "m2", decoy=True),
        edit("model", "model.scribe.max_tokens", 900, decoy=True),
        *sampling("scribe"),
    ),
)

PAPERS: Final[tuple[Program, ...]] = (_INVOICES, _MINUTES)
