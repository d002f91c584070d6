"""Statements whose code transforms values: sets, orders, positions, encodings, times, names made of contents."""

import base64
import codecs
import hashlib
import json
import re
import unicodedata
import uuid
from datetime import UTC, date, datetime, timedelta
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Final
from urllib.parse import urlencode

from tests.bench.truth.agent import Agent, as_text, fields
from tests.bench.truth.brain import ORDERS
from tests.bench.truth.formats import integer, say
from tests.bench.truth.statements import Statement, safe_call
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

_ORDER: Final = re.compile(r"(?P<series>[A-C])-(?P<number>\d+)")
_NUMBER: Final = re.compile(r"\d+")
_WIDE_DIGITS: Final = {0x30 + digit: 0xFF10 + digit for digit in range(10)}
_SIZES: Final = ((100, "small"), (300, "medium"), (10_000, "large"))
_SPACE: Final = uuid.NAMESPACE_URL


def positions(agent: Agent) -> JSONValue:
    first, second = say(agent, "router", agent.text()), agent.fragment()
    template = agent.random.choice(("{1} before {0}", "{0:>12}|{1:.5}", "{0!r} {1}"))
    return say(agent, "writer", f"{template.format(first, second)}, {first.title()} after", ".end")


def sorted_words(agent: Agent) -> JSONValue:
    words = sorted(say(agent, "writer", agent.text()).split(), key=str.lower, reverse=True)
    return say(agent, "critic", ", ".join(words), ".end")


def shared_words(agent: Agent) -> JSONValue:
    one, other = (set(say(agent, "writer", agent.text(), part).split()) for part in (".a", ".b"))
    text = f"both: {' '.join(sorted(one & other))}; one: {' '.join(sorted(one ^ other))}; all: {len(one | other)}"
    return say(agent, "writer", text, ".end")


def numbers_of_orders(agent: Agent) -> JSONValue:
    """Ids without their prefix, or with another one."""
    match = _ORDER.search(say(agent, "writer", agent.text()) + agent.fragment())
    if match is None:
        return say(agent, "writer", "No order is named.", ".end")
    style = agent.random.choice(("number {number} of series {series}", "{number}", "ORD{number}", "#{number}/{series}"))
    return say(agent, "writer", f"Look at {style.format(**match.groupdict())} first.", ".end")


def names_of_orders(agent: Agent) -> JSONValue:
    """Prefixes put before numbers that a text names."""
    numbers = [number for number in _NUMBER.findall(say(agent, "writer", agent.text())) if len(number) < 5]
    ids = [f"B-{int(number):04}" for number in numbers]
    return safe_call(agent, "convert", {"orders": [*ids], "last": ids[-1] if ids else "B-0000"})


def counters(agent: Agent) -> JSONValue:
    count = sum(len(as_text(value)) > 40 for value in agent.values)
    answer = say(agent, "writer", f"Call {len(agent.values)} of this case, {count} of them long: {agent.fragment()}")
    return f"{count + ('order' in answer)} so far"


def between_dates(agent: Agent) -> JSONValue:
    days = [_day(fields(say(agent, "extractor", agent.text(), part)).get("date")) for part in (".a", ".b")]
    weeks, rest = divmod(abs((days[1] - days[0]).days), 7)
    middle = min(days) + (max(days) - min(days)) / 2
    return say(agent, "writer", f"{weeks} weeks and {rest} days, middle {middle:%d.%m.%Y}, week {middle:%V}", ".end")


def appointments(agent: Agent) -> JSONValue:
    """Times as code writes them, computed from a date and an amount."""
    record = fields(say(agent, "extractor", agent.text()))
    amount = integer(record.get("amount"))
    start = datetime.combine(_day(record.get("date")), datetime.min.time(), UTC) + timedelta(minutes=amount)
    return safe_call(
        agent,
        "convert",
        {"start": start.isoformat(), "created_at": int(start.timestamp()), "call_back": f"in {amount % 90} minutes"},
    )


def receipts(agent: Agent) -> JSONValue:
    """Ids that code makes of a content."""
    text = say(agent, "writer", agent.text())
    sha = hashlib.sha256(text.encode()).hexdigest()
    names: tuple[JSONObject, ...] = (
        {"id": str(uuid.uuid5(_SPACE, text))},
        {"id": sha},
        {"id": f"rcpt_{base64.b32encode(bytes.fromhex(sha))[:14].decode().lower()}"},
        {"path": f"/tmp/order-{sha[:8]}.json"},
        {"url": f"http://127.0.0.1:{8000 + int(sha[:2], 16)}/orders"},
        {"etag": sha[:12]},
    )
    result = safe_call(agent, "convert", agent.random.choice(names))
    return say(agent, "writer", f"Receipt {sha[:8]}: {as_text(result)[:30]}", ".end")


def nested_json(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    text = json.dumps({"payload": json.dumps(record, ensure_ascii=True), "kind": "order"})
    return say(agent, "writer", text if agent.random.random() < 0.5 else json.dumps(text), ".end")


def decoded(agent: Agent) -> JSONValue:
    data = base64.urlsafe_b64encode(say(agent, "router", agent.text()).encode())
    half = base64.urlsafe_b64decode(data)[: len(data) // 2].decode()
    return say(agent, "writer", f"{half} / {data.decode()} / {codecs.encode(half, 'rot13')}", ".end")


def normalised(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text()).translate(_WIDE_DIGITS).replace("e", "e\u0301")
    form = agent.random.choice(("NFC", "NFKC", "NFD"))
    return say(agent, "writer", unicodedata.normalize(form, text), ".end")  # type: ignore[arg-type]  # one of its forms


def truncated(agent: Agent) -> JSONValue:
    """The first and last tokens of a text, as for a context window."""
    tokens = re.findall(r"\w+|[^\w\s]", say(agent, "writer", agent.text()))
    size = agent.random.choice((2, 4, 7))
    return say(agent, "critic", " ".join([*tokens[:size], "…", *tokens[-size:]]), ".end")


def caught(agent: Agent) -> JSONValue:
    """Exceptions as texts."""
    answer = say(agent, agent.random.choice(("router", "extractor")), agent.text())
    try:
        amount = int(fields(answer)["amount"])  # type: ignore[arg-type]  # which raises what is caught
        text = f"Rate: {1000 / (amount - 12):.2f}"
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        text = f"{type(error).__name__}: {error}"
    return say(agent, "writer", text, ".end")


def parsed_again(agent: Agent) -> JSONValue:
    """A model is asked again until its answer can be read."""
    question = agent.text()
    for attempt in range(3):
        answer = say(agent, "extractor" if attempt else "router", question)
        try:
            return as_text(fields(json.loads(answer)).get("queue"))
        except ValueError as error:
            question = f"{answer} is not valid: {error}. Answer in JSON."
    return "unreadable"


def memoised(agent: Agent) -> JSONValue:
    """Calls that code skips if it has made them."""
    cache: dict[str, str] = {}
    for _ in range(3):
        key = agent.fragment()[:12]
        if key not in cache:
            cache[key] = say(agent, "router", f"Sort this: {key}")
    return say(agent, "writer", f"{len(cache)} kinds: {', '.join(cache.values())}", ".end")


def thresholds(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    amount = integer(record.get("amount"))
    size = next((name for limit, name in _SIZES if amount < limit), "huge")
    agent.run.choose(agent.place, size)
    if size == "small":
        return say(agent, "writer", "Pay it.", ".small")
    return say(agent, "critic", f"A {size} amount ({amount / 42:.0%} of the limit).", ".end")


def completion_order(agent: Agent) -> JSONValue:
    """Parallel calls, whose results code lists as they come."""
    parts = agent.text().split()[:3]
    results = {part: say(agent, "router", f"Sort: {part}", f".{number}") for number, part in enumerate(parts)}
    lines = sorted((digest(text)[:3], part, text) for part, text in results.items())
    return say(agent, "writer", "\n".join(f"{part} -> {text}" for _, part, text in lines), ".end")


def defaults(agent: Agent) -> JSONValue:
    record = fields(say(agent, agent.random.choice(("extractor", "router")), agent.text()))
    text = f"{record.get('queue', 'no queue')}, {record.get('note') or 'no note'}, {record.get('amount', 0)} francs"
    return say(agent, "writer", text, ".end")


def representations(agent: Agent) -> JSONValue:
    value, amount = agent.value(), integer(fields(say(agent, "extractor", agent.text())).get("amount"))
    return say(agent, "writer", f"{value!r:.60} {amount:>8} {amount:e} {amount:x} {amount:+,}", ".end")


def columns(agent: Agent) -> JSONValue:
    rows = [as_text(value).split()[:3] for value in agent.values[-2:]] + [
        say(agent, "writer", agent.text()).split()[:3]
    ]
    return say(agent, "writer", "\n".join(" | ".join(column) for column in zip(*rows, strict=False)), ".end")


def queries(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    return safe_call(agent, "convert", {"query": urlencode({name: as_text(item) for name, item in record.items()})})


def similarities(agent: Agent) -> JSONValue:
    drafts = [say(agent, "writer", agent.text(), f".{number}") for number in range(3)]
    ratios = [SequenceMatcher(a=one, b=other).ratio() for one, other in pairwise(drafts)]
    return say(agent, "critic", " ".join(f"{ratio:.0%}" for ratio in ratios) + " similar", ".end")


def plurals(agent: Agent) -> JSONValue:
    count = len({*_ORDER.findall(say(agent, "writer", agent.text()) + agent.fragment())})
    noun = "order" if count == 1 else "orders"
    return say(agent, "writer", f"{count or 'No'} {noun} open", ".end")


def sentences(agent: Agent) -> JSONValue:
    text = say(agent, "writer", agent.text()) + " " + agent.fragment()
    parts = re.split(r"(?<=[.:?])\s+", text)
    return say(agent, "critic", f"{len(parts)} sentences. {parts[0]} […] {parts[-1][::-1]}", ".end")


def groups(agent: Agent) -> JSONValue:
    queues = [(say(agent, "router", f"{order}: {agent.fragment()}", f".{order}"), order) for order in ORDERS]
    lines = [
        f"{name}: {[order for _, order in items]}" for name, items in groupby(sorted(queues), lambda item: item[0])
    ]
    return say(agent, "writer", "\n".join(lines), ".end")


def _day(value: JSONValue) -> date:
    try:
        return date.fromisoformat(as_text(value))
    except ValueError:
        return date(2026, 1, 1)


TRANSFORMS: Final[tuple[Statement, ...]] = (
    positions,
    sorted_words,
    shared_words,
    numbers_of_orders,
    names_of_orders,
    counters,
    between_dates,
    appointments,
    receipts,
    nested_json,
    decoded,
    normalised,
    truncated,
    caught,
    parsed_again,
    memoised,
    thresholds,
    completion_order,
    defaults,
    representations,
    columns,
    queries,
    similarities,
    plurals,
    sentences,
    groups,
)
