"""Document work: summaries that are merged in a tree, and fields of invoices that code normalises and checks."""

import json
import re
from datetime import date
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- reviews: one summary per review, merged two by two up to one, verdict on the counts of the last

_REVIEWS: Final = ("r1", "r2", "r3", "r4", "r5", "r6")
_ASPECTS: Final = {
    "battery": r"battery|Akku|batterie",
    "screen": r"screen|display|écran|Bildschirm",
    "sound": r"sound|speaker|Ton\b",
    "price": r"price|expensive|cheap|teuer",
}
_BAD: Final = r"bad|poor|dead|weak|disappoint|schlecht|faible|too expensive|teuer|flickers"


def _map(request: Request) -> str:
    stars = number(r"^Stars: (\d)", request.last, 3)
    lines = []
    for sentence in re.split(r"(?<=[.!?])\s+", request.last.partition("\n\n")[2]):
        for aspect, pattern in _ASPECTS.items():
            if re.search(pattern, sentence):
                lines.append(f"{aspect} {'-' if re.search(_BAD, sentence) else '+'}1")
    if "Skip reviews with five stars." in request.system and stars == 5:
        return "none"
    if "Use the stars if the text is empty." in request.system and not lines:
        lines.append(f"price {'+' if stars > 3 else '-'}1")
    most = int(request.rule(r"At most (\d) points per review\.", "9"))
    return ", ".join(lines[:most]) or "none"


def _reduce(request: Request) -> str:
    counts: dict[str, int] = {}
    for aspect, value in re.findall(r"(\w+) ([+-]\d+)", request.last):
        counts[aspect] = counts.get(aspect, 0) + int(value)
    if request.model == "m1-mini":
        counts = {aspect: max(-2, min(2, value)) for aspect, value in counts.items()}
    return ", ".join(f"{aspect} {value:+d}" for aspect, value in sorted(counts.items()) if value) or "none"


def _recommend(request: Request) -> str:
    counts = {aspect: int(value) for aspect, value in re.findall(r"(\w+) ([+-]\d+)", request.last)}
    if not counts:
        return "No clear picture."
    worst = min(sorted(counts), key=lambda aspect: counts[aspect])
    limit = -int(request.rule(r"Warn from (\d) complaints\.", "2"))
    best = max(sorted(counts), key=lambda aspect: counts[aspect])
    praise = f"; people like the {best}" if counts[best] > 0 and "Add what people like." in request.system else ""
    return f"Warn about the {worst}{praise}." if counts[worst] <= limit else f"No warning{praise}."


def _reviews(runtime: Runtime) -> str:
    points = []
    for name in _REVIEWS:
        review = fields(runtime.tool("load_review", {"id": name}))
        text = f"Stars: {review.get('stars', 3)}\nBy: {review.get('by', '?')}\n\n{review.get('text', '')}"
        points.append(say(runtime, "mapper", text))
    while len(points) > 1:
        pairs = [points[place : place + 2] for place in range(0, len(points), 2)]
        points = [say(runtime, "reducer", "\n---\n".join(pair)) if len(pair) > 1 else pair[0] for pair in pairs]
    verdict = say(runtime, "adviser", f"{user(runtime.settings)}\nCounts: {points[0]}")
    return f"{len(_REVIEWS)} reviews. {verdict}"


_SAME: Final = "Good value. The screen is sharp."
_LONG: Final = (
    "I bought this laptop in October for my studies and have used it every day since. It came well packed. The "
    "keyboard is quiet and the lid is stiff. The battery is weak: after a lecture it is almost empty! The sound is "
    "fine for films. I would buy it again if the shop had a better power supply. The manual is in six languages."
)

_DIGEST: Final = Program(
    name="review digest",
    group="merged in a tree",
    most=5,
    program=_reviews,
    final="adviser",
    model=model_of({"mapper": _map, "reducer": _reduce, "adviser": _recommend}),
    menu=(),
    settings={
        **prompts(
            mapper=("You are the mapper. List the points of one review.", "", "", ""),
            reducer=("You are the reducer. Merge two lists of points.", "", ""),
            adviser=("You are the adviser. Give one line of advice.", "Warn from 2 complaints.", "", ""),
        ),
        "user.0": "Should the page carry a warning?",
        "user.1": "",
        **rows(
            "load_review",
            r1={"stars": 4, "by": "Anna", "text": _SAME},
            r2={"stars": 2, "by": "Jürgen", "text": "Der Akku ist schlecht. Der Ton ist gut."},
            r3={"stars": 4, "by": "Anna", "text": _SAME},
            r4={"stars": 3, "by": "K.", "text": _LONG},
            r5={"stars": 5, "by": "Zoé", "text": "L'écran est superbe. La batterie est faible."},
            r6={"stars": 1, "by": "—", "text": ""},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Do we need a warning on the page?", decoy=True),
        edit("upstream", "user.1", "The page is for students.", decoy=True),
        edit("prompt", "prompt.mapper.1", "Skip reviews with five stars."),
        edit("prompt", "prompt.mapper.2", "Use the stars if the text is empty.", "At most 1 points per review."),
        wording("mapper", 3),
        wording("reducer", 1),
        edit("model", "model.reducer.name", "m1-mini"),
        edit("prompt", "prompt.adviser.1", "Warn from 3 complaints.", "Warn from 4 complaints."),
        edit("prompt", "prompt.adviser.2", "Add what people like."),
        wording("adviser", 3),
        edit(
            "tool", "row.load_review.r1.text", "Good value. The screen flickers, a poor thing.", "The battery is bad."
        ),
        edit("tool", "row.load_review.r2.text", "Der Ton ist gut.", "Der Akku ist schlecht. Der Ton ist schlecht."),
        edit("tool", "row.load_review.r3.by", "Anja", decoy=True),
        edit(
            "tool",
            "row.load_review.r4.text",
            _LONG.replace("The battery is weak: after a lecture it is almost empty!", "It is light!"),
        ),
        edit("tool", "row.load_review.r5.stars", 4),
        edit("tool", "row.load_review.r6.stars", 2, 5),
        edit("tool", "row.load_review.r3.stars", 5, decoy=True),
        *sampling("mapper", "reducer", "adviser"),
    ),
)

# ---- invoices: fields as JSON, dates, amounts and units in code, errors go back, a clerk books by the vendor's terms

_MONTHS: Final = {"januar": 1, "février": 2, "march": 3, "mars": 3, "april": 4, "mai": 5, "june": 6}
_LETTER: Final = (
    "Seifenmanufaktur Öhlinger GmbH · Am Graben 4 · 4020 Linz\nUID ATU 5512\n\nRechnung Nr. {number}\n"
    "Datum: {date}\n\nSehr geehrte Damen und Herren,\nfür Ihre Bestellung vom Februar stellen wir in Rechnung:\n\n"
    "{lines}\n\nZwischensumme {net}\nUSt 20 % {tax}\nGesamt: {total}\n\nBitte zahlen Sie ohne Abzug. "
    "Es gelten unsere Geschäftsbedingungen. Gerichtsstand ist Linz.\n"
)
_LINES: Final = "Olivenseife 120 kg\nLavendelöl 12 kg"


def _letter(**changes: str) -> str:
    standard = {"number": "2026-077", "date": "3. März 2026", "net": "1.000,00 €", "tax": "200,00 €"}
    return _LETTER.format(**{**standard, "lines": _LINES, "total": "1.200,00 €", **changes})


def _extract(request: Request) -> str:
    letter, _, complaint = request.last.partition("\nThe last answer was wrong: ")
    total = find(r"Gesamt: ([^\n]+)", letter, "0")
    example = request.rule(r"Example: \"Brutto ([^\"]+)\" is the total")
    total = find(r"Brutto ([^\n]+)", letter, total) if example else total
    day = find(r"Datum: ([^\n]+)", letter, "?")
    if "Write dates as YYYY-MM-DD." in request.system or "date" in complaint:
        numbers = re.findall(r"\d+", day)
        day = f"{numbers[-1]}-03-{int(numbers[0]):02d}" if len(numbers) > 1 else day
    record: JSONObject = {
        "vendor": find(r"UID (ATU \d+)", letter, "unknown").replace(" ", ""),
        "number": find(r"Rechnung Nr\. (\S+)", letter, "?"),
        "date": day,
        "total": total,
        "weights": [f"{value} {unit}" for value, unit in re.findall(r"(\d+) (kg|t|lb)\b", letter)],
    }
    if request.temperature > 0.8 and "net" not in complaint:
        record["total"] = find(r"Zwischensumme ([^\n]+)", letter, total)
    return f"Here is the record:\n{json.dumps(record, ensure_ascii=False)}"


def _book(request: Request) -> str:
    facts = dict(re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE))
    total = real(facts.get("total"))
    account = request.rule(r"Soap goes to account (\d+)\.", "0000")
    if total > int(request.rule(r"Ask the manager above (\d+)\.", "5000")):
        return f"ASK manager about {total:.2f} on {account}"
    heavy = real(facts.get("kilos")) > int(request.rule(r"Tell the store above (\d+) kilos\.", "500"))
    return f"BOOK {total:.2f} on {account}, due {facts.get('due', '?')}{', tell the store' if heavy else ''}"


def _amount(text: str) -> float:
    """Return an amount with either decimal mark."""
    digits = re.sub(r"[^\d.,]", "", text)
    if re.search(r",\d\d$", digits):
        digits = digits.replace(".", "").replace(",", ".")
    return real(digits.replace(",", ""))


def _day(text: str) -> date | None:
    if match := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text):
        return date(int(match[1]), int(match[2]), int(match[3]))
    if match := re.fullmatch(r"(\d\d?)\.(\d\d?)\.(\d{4})", text):
        return date(int(match[3]), int(match[2]), int(match[1]))
    if match := re.fullmatch(r"(\d\d?)\.? (\w+) (\d{4})", text):
        month = _MONTHS.get(match[2].lower())
        return date(int(match[3]), month, int(match[1])) if month else None
    return None


def _kilos(texts: JSONValue) -> float:
    factors = {"kg": 1.0, "t": 1000.0, "lb": 0.45}
    pairs = [str(text).split() for text in texts] if isinstance(texts, list) else []
    return sum(real(pair[0]) * factors.get(pair[1], 0) for pair in pairs if len(pair) == 2)


def _invoices(runtime: Runtime) -> str:
    letter, complaint, record = user(runtime.settings), "", dict[str, JSONValue]()
    for _ in range(2):
        record = json_in(say(runtime, "extractor", letter + complaint))
        if _day(str(record.get("date"))):
            break
        complaint = f"\nThe last answer was wrong: date {record.get('date')!r} is none."
    day = _day(str(record.get("date")))
    vendor = fields(runtime.tool("get_vendor", {"id": str(record.get("vendor"))}))
    if day is None or "error" in vendor:
        return f"Manual: {record.get('number')} ({'date' if day is None else 'vendor'})"
    due = date.fromordinal(day.toordinal() + int(real(vendor.get("days"), 30)))
    total = _amount(str(record.get("total"))) * (1 - real(vendor.get("discount")) / 100)
    facts = f"vendor: {vendor.get('name')}\ntotal: {total:.2f}\nkilos: {_kilos(record.get('weights')):.0f}\ndue: {due}"
    return f"{record.get('number')}: {say(runtime, 'clerk', facts)}"


_INVOICES: Final = Program(
    name="invoice intake",
    group="fields that code normalises",
    most=4,
    program=_invoices,
    final="clerk",
    model=model_of({"extractor": _extract, "clerk": _book}),
    menu=(),
    settings={
        **prompts(
            extractor=(
                "You are the extractor. Return vendor, number, date, total and weights as JSON.",
                'Example: "Summe 12,50 €" is the total 12,50 €.',
                "",
                "",
            ),
            clerk=(
                "You are the clerk. Book the invoice.",
                "Soap goes to account 5100.",
                "Ask the manager above 1500.",
                "Tell the store above 200 kilos.",
                "",
            ),
        ),
        "user.0": _letter(),
        "user.1": "",
        **rows(
            "get_vendor",
            ATU5512={"name": "Öhlinger", "days": 14, "discount": 0, "since": "2017"},
            ATU5521={"name": "Oehlinger", "days": 30, "discount": 2, "since": "2024"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            _letter(total="1.020,00 €"),
            _letter(date="3.3.2026"),
            _letter(date="13. März 2026"),
            _letter(lines="Olivenseife 1 t\nLavendelöl 12 kg"),
            _letter(lines="Olivenseife 120 kg\nLavendelöl 12 kg\nBrutto 1.440,00 €"),
        ),
        edit("upstream", "user.1", "PS: Danke für Ihre Treue!", "Seite 1 von 1", decoy=True),
        edit("prompt", "prompt.extractor.1", 'Example: "Brutto 12,50 €" is the total 12,50 €.', decoy=True),
        edit("prompt", "prompt.extractor.2", "Write dates as YYYY-MM-DD.", decoy=True),
        wording("extractor", 3),
        edit("model", "model.extractor.temperature", 1.0),
        edit("model", "model.extractor.name", "m2", decoy=True),
        edit("prompt", "prompt.clerk.1", "Soap goes to account 5110.", "Soaps go to account 5100."),
        edit("prompt", "prompt.clerk.2", "Ask the manager above 1100.", "Ask the manager above 1400."),
        edit("prompt", "prompt.clerk.3", "Tell the store above 100 kilos."),
        wording("clerk", 4),
        edit("tool", "row.get_vendor.ATU5512.days", 30),
        edit("tool", "row.get_vendor.ATU5512.discount", 3, 10),
        edit("tool", "row.get_vendor.ATU5512.since", "2018", decoy=True),
        edit("tool", "row.get_vendor.ATU5512.error", "vendor is blocked"),
        *sampling("clerk"),
    ),
)

PAPERS: Final = (_DIGEST, _INVOICES)
