"""Statements whose code computes a text from a value: formats, dates, units, codes, tables, templates."""

import base64
import hashlib
import html
import json
import re
import textwrap
from datetime import date, timedelta
from typing import Final
from urllib.parse import quote

from tests.bench.truth.agent import Agent, as_text, fields
from tests.bench.truth.brain import ORDERS
from tests.bench.truth.statements import Statement, content_of, question, safe_call
from traces.core.json_types import JSONValue

_GLOSSARY: Final = {"billing": "Abrechnung", "shipping": "Versand", "technical": "Technik"}
_NUMERALS: Final = ("zero", "one", "two", "three", "four", "five")


def say(agent: Agent, style: str, text: str, part: str = "") -> str:
    return as_text(content_of(agent.run.model(f"{agent.place}{part}", question(style, text))))


def extracted_ids(agent: Agent) -> JSONValue:
    answer = say(agent, "writer", agent.text())
    ids = sorted(set(re.findall(r"[A-C]-\d+|\d{3,}", answer + agent.fragment())))
    return safe_call(agent, "convert", {"ids": [*ids], "first": ids[0] if ids else None})


def padded(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    amount = integer(record.get("amount"))
    return say(agent, "writer", f"{'Total':<12}{amount:>12,.2f}\n{'VAT':<12}{amount * 0.081:>12,.2f}", ".end")


def due_date(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    day = _day(record.get("date")) + timedelta(days=14)
    return say(agent, "writer", f"Pay until {day.isoformat()}, a {day:%A}.", ".end")


def age(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    days = (date(2026, 4, 1) - _day(record.get("date"))).days
    text = "today" if not days else f"{days} days ago" if days < 14 else f"{days // 7} weeks ago"
    return say(agent, "critic", f"It was ordered {text}.", ".end")


def pounds(agent: Agent) -> JSONValue:
    result = safe_call(agent, "get_order", {"order_id": agent.random.choice(ORDERS), "about": agent.fragment()})
    weight = float(next(iter(re.findall(r"[\d.]+", as_text(fields(result).get("weight", "0")))), "0"))
    return say(agent, "writer", f"Parcel of {weight * 2.2046:.1f} lb, {weight * 1000:.0f} g.")


def foreign_currency(agent: Agent) -> JSONValue:
    amount = integer(fields(say(agent, "extractor", agent.text())).get("amount"))
    return safe_call(agent, "convert", {"amount": round(amount * 0.93, 2), "currency": "EUR", "cents": amount * 100})


def compact_json(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return say(agent, "writer", f"```json\n{text}\n```", ".end")


def encoded(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    return safe_call(agent, "convert", {"data": base64.b64encode(text.encode()).decode()})


def hashed(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    key = hashlib.sha256(text.encode()).hexdigest()[:10]
    result = safe_call(agent, "get_order", {"order_id": ORDERS[0], "idempotency_key": key})
    return say(agent, "writer", f"[{key}] {as_text(result)}", ".end")


def rendered_page(agent: Agent) -> JSONValue:
    result = fields(safe_call(agent, "get_order", {"order_id": agent.fragment()}))
    lines = [f"Dear customer, your order is {result.get('state', 'unknown')}."]
    if integer(result.get("total")) > 200:
        lines.append("It is insured.")
    lines += [f" - {name.title()}: {item}" for name, item in result.items() if name in ("date", "weight")]
    return say(agent, "critic", "\n".join(lines))


def numbered_lines(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text()) + "\n" + agent.fragment()
    return say(agent, "critic", "\n".join(f"{no:03}: {line}" for no, line in enumerate(text.splitlines(), 1)), ".end")


def csv_rows(agent: Agent) -> JSONValue:
    results = [safe_call(agent, "get_order", {"order_id": order, "about": agent.fragment()}) for order in ORDERS[:2]]
    rows = [";".join(as_text(item) for item in fields(result).values()) for result in results]
    return say(agent, "writer", "\n".join(["id;state;total", *rows]))


def markdown_table(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    rows = [f"| {name} | {item} |" for name, item in record.items()]
    return say(agent, "writer", "\n".join(["| field | value |", "|---|---|", *rows]), ".end")


def masked(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    return say(agent, "writer", re.sub(r"([A-C])-\d+", r"\1-****", text), ".end")


def slug(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    name = re.sub(r"\W+", "-", text.lower()).strip("-")[:40]
    return safe_call(agent, "convert", {"url": f"https://desk.example/{name}?q={quote(text[-12:])}"})


def acronym(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    return say(agent, "critic", "Code " + "".join(word[0].upper() for word in text.split()), ".end")


def yes_or_no(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    return say(
        agent, "writer", f"Urgent: {'yes' if record.get('urgent') else 'no'}. Note: {record.get('note')}", ".end"
    )


def shortened(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    return say(agent, "critic", textwrap.shorten(text, 30, placeholder=" [...]"), ".end")


def wrapped(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text())
    return say(agent, "critic", textwrap.fill(text, 24, initial_indent="> ", subsequent_indent="> "), ".end")


def escaped(agent: Agent) -> JSONValue:
    text = html.escape(agent.fragment()) + f"<answer>{html.escape(say(agent, 'writer', agent.text()))}</answer>"
    inner = next(iter(re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)), "")
    return say(agent, "writer", inner.upper(), ".end")


def numerals(agent: Agent) -> JSONValue:
    count = len(say(agent, "writer", agent.text())) % 6
    return say(agent, "writer", f"There are {_NUMERALS[count]} parcels; this is the {count}th.", ".end")


def merged_records(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    result = fields(safe_call(agent, "get_order", {"order_id": record.get("order_id", "none")}))
    return say(agent, "writer", json.dumps({**record, **result}, indent=1), ".end")


def translated(agent: Agent) -> JSONValue:
    word = say(agent, "router", agent.text())
    return say(agent, "writer", f"Abteilung: {_GLOSSARY.get(word, 'Allgemein')}", ".end")


def check_digit(agent: Agent) -> JSONValue:
    digits = re.sub(r"\D", "", say(agent, "writer", agent.text()))
    digit = sum(int(d) * (1 + place % 2) for place, d in enumerate(digits)) % 10
    return safe_call(agent, "convert", {"reference": f"{digits}-{digit}"})


def integer(value: JSONValue) -> int:
    return value if isinstance(value, int) else 0


def _day(value: JSONValue) -> date:
    try:
        return date.fromisoformat(as_text(value))
    except ValueError:
        return date(2026, 1, 1)


FORMATS: Final[tuple[Statement, ...]] = (
    extracted_ids,
    padded,
    due_date,
    age,
    pounds,
    foreign_currency,
    compact_json,
    encoded,
    hashed,
    rendered_page,
    numbered_lines,
    csv_rows,
    markdown_table,
    masked,
    slug,
    acronym,
    yes_or_no,
    shortened,
    wrapped,
    escaped,
    numerals,
    merged_records,
    translated,
    check_digit,
)
