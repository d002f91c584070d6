"""A digest of documents by map and reduce, and an ensemble whose rankings code adds up."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- grants: one model reads each document, code packs the extracts into batches, others pick and word the best


def _extract(request: Request) -> str:
    text = request.last
    name, amount = find(r"The (\w+) fund", text), find(r"(\d[\d,]*) euros", text)
    deadline = find(r"until (\d{4}-\d\d-\d\d)", text, "open")
    oldest = request.rule(r"Skip what is dated before (\d{4})\.", "1900")
    topic = request.rule(r"Only what concerns (\w+)\.")
    if not name or find(r"\((\d{4})-", text, "2026") < oldest or topic not in text.lower():
        return "nothing"
    if request.model == "m2":
        deadline = "open"
    return f"fund {name}, {amount.replace(',', '') or '0'}, {deadline}"


def _pick(request: Request) -> str:
    funds = re.findall(r"^fund (\w+), (\d+), (\S+)$", request.last, re.MULTILINE)
    if "Prefer early deadlines." in request.system:
        funds.sort(key=lambda fund: fund[2])
    else:
        funds.sort(key=lambda fund: -int(fund[1]))
    most = int(request.rule(r"Keep the best (\d)\.", "9"))
    return "\n".join(f"fund {name}, {amount}, {deadline}" for name, amount, deadline in funds[:most]) or "nothing"


def _word_grants(request: Request) -> str:
    funds = re.findall(r"^fund (\w+), (\d+), (\S+)$", request.last, re.MULTILINE)
    if not funds:
        return "I know of no grant."
    funds.sort(key=lambda fund: -int(fund[1]))
    most = int(request.rule(r"Name (\d) at most\.", "1"))
    parts = [f"{name} with {int(amount):,} euros" for name, amount, _ in funds[:most]]
    if "State the deadline." in request.system:
        parts = [f"{part} until {fund[2]}" for part, fund in zip(parts, funds, strict=False)]
    return f"Try {' and '.join(parts)}."


def _grants(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    documents = runtime.retrieve("archive", question, number(r"(\d)", str(settings["code.archive.hits"])))
    extracts = [say(runtime, "extractor", f"Document:\n{text}") for text in documents]
    extracts = [text for text in extracts if text.startswith("fund")]
    budget = number(r"(\d+)", str(settings["code.picker.budget"]))
    batches: list[list[str]] = []
    for text in extracts:
        if not batches or sum(map(len, batches[-1])) + len(text) > budget:
            batches.append([])
        batches[-1].append(text)
    picks = [say(runtime, "picker", "\n".join(batch)) for batch in batches]
    return say(runtime, "editor", f"{question}\n\n" + "\n".join(picks))


_GRANTS: Final = Program(
    name="grant digest",
    group="extracts in batches",
    program=_grants,
    final="editor",
    model=model_of({"extractor": _extract, "picker": _pick, "editor": _word_grants}),
    menu=(),
    settings={
        **prompts(
            extractor=("You are the extractor. One line for each fund.", "Skip what is dated before 2024.", "", ""),
            picker=("You are the picker.", "Keep the best 2.", "", ""),
            editor=("You are the editor. Answer the question.", "Name 2 at most.", "State the deadline.", ""),
        ),
        "user.0": "Hello.",
        "user.1": "Which grants pay for a solar roof of a school?",
        "user.2": "",
        "code.archive.hits": 4,
        "code.picker.budget": 100,
        "doc.amber.date": "2025-03-01",
        "doc.amber.text": "The Amber fund pays 40,000 euros for a solar roof, until 2027-01-31.",
        "doc.birch.date": "2025-09-12",
        "doc.birch.text": "Solar for every school: The Birch fund grants 25,000 euros until 2026-12-15.",
        "doc.cedar.date": "2022-05-20",
        "doc.cedar.text": "The Cedar fund had 90,000 euros for a school roof until 2022-12-31.",
        "doc.delta.date": "2026-02-02",
        "doc.delta.text": "For a school with solar on its roof, The Delta fund adds 12,500 euros until 2027-06-30.",
        "doc.ember.date": "2026-04-04",
        "doc.ember.text": "The Ember fund helps a museum with 70,000 euros until 2026-11-30.",
        "doc.fjord.date": "2025-01-08",
        "doc.fjord.text": "A solar farm may ask The Fjord fund for 55,000 euros until 2026-10-01.",
    },
    edits=(
        edit("upstream", "user.0", "Hi.", "Good morning.", decoy=True),
        edit(
            "upstream",
            "user.1",
            "Which grants pay for a museum?",
            "Which grants pay for a solar farm?",
            "Which grants will pay for a solar roof of a school?",
        ),
        edit("upstream", "user.2", "Kind regards.", "Thanks.", decoy=True),
        edit("prompt", "prompt.extractor.1", "Skip what is dated before 2020.", "Skip what is dated before 2026."),
        edit("prompt", "prompt.extractor.2", "Only what concerns solar.", "Only what concerns every."),
        wording("extractor", 3),
        edit("model", "model.extractor.name", "m2"),
        edit("prompt", "prompt.picker.1", "Keep the best 1.", "Keep the best 3."),
        edit("prompt", "prompt.picker.2", "Prefer early deadlines.", "Prefer large amounts.", decoy=True),
        wording("picker", 3),
        edit("model", "model.picker.name", "m2", decoy=True),
        edit("prompt", "prompt.editor.1", "Name 1 at most.", "Name 3 at most."),
        edit("prompt", "prompt.editor.2", "", "State the deadline, please."),
        wording("editor", 3),
        edit("upstream", "code.archive.hits", 2, 6),
        edit("upstream", "code.picker.budget", 30, 200, decoy=True),
        edit("retrieval", "doc.amber.text", "The Amber fund pays 20,000 euros for a solar roof, until 2027-01-31."),
        edit(
            "retrieval",
            "doc.birch.text",
            "Solar for every school: The Birch fund grants 45,000 euros until 2026-12-15.",
            "Solar for every school: The Birch fund grants 25,000 euros until 2027-03-15.",
        ),
        edit("retrieval", "doc.delta.date", "2026-03-03", "2025-02-02", decoy=True),
        edit("retrieval", "doc.ember.text", "The Ember fund closed its museum programme.", decoy=True),
        *sampling("extractor", "picker", "editor"),
    ),
)

# ---- dinner: three models rank the same dishes by their own prompts, code adds up the places, a host announces


def _rank_dishes(request: Request) -> str:
    dishes = re.findall(r"^(\w+): (\d+) euros, (\d+) minutes, (\w+)", request.last, re.MULTILINE)
    weight = float(request.rule(r"A minute is worth ([\d.]+) euros\.", "0"))
    bonus = int(request.rule(r"Vegan food is worth (\d+) euros\.", "0"))
    avoid = request.rule(r"Never put (\w+) first\.")

    def cost(dish: tuple[str, str, str, str]) -> float:
        name, price, minutes, kind = dish
        penalty = 99 if name == avoid else 0
        return int(price) + weight * int(minutes) - (bonus if kind == "vegan" else 0) + penalty

    order = sorted(dishes, key=cost)
    if request.model == "m2":
        order.reverse()
    return "; ".join(f"{place}. {dish[0]}" for place, dish in enumerate(order, 1)) or "nothing"


def _announce(request: Request) -> str:
    table = re.findall(r"^(\w+) (\d+) points$", request.last, re.MULTILINE)
    if not table:
        return "The kitchen stays cold."
    best, points = table[0]
    lead = int(points) - int(table[1][1]) if len(table) > 1 else int(points)
    need = int(request.rule(r"Ask again below a lead of (\d)\.", "0"))
    if lead < need:
        return f"Please vote again on {best} and {table[1][0]}."
    tail = f" with {points} points" if "State the points." in request.system else ""
    return f"We cook {best}{tail}."


def _dinner(runtime: Runtime) -> str:
    settings = runtime.settings
    result = fields(runtime.tool("get_dishes", {"season": find(r"\bin (\w+)", user(settings), "spring")}))
    dishes = [
        f"{dish.get('name')}: {real(dish.get('price')):.0f} euros, {real(dish.get('minutes')):.0f} minutes, "
        f"{dish.get('kind')}"
        for dish in items(result.get("dishes"))
    ]
    points: dict[str, int] = {}
    for voter in ("vera", "otto", "ines"):
        ranking = re.findall(r"\d\. (\w+)", say(runtime, voter, "Rank these dishes:\n" + "\n".join(dishes)))
        for place, name in enumerate(ranking):
            gain = len(ranking) - place if settings["code.host.count"] == "places" else int(place == 0)
            points[name] = points.get(name, 0) + gain
    table = sorted(points.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = table[: number(r"(\d)", str(settings["code.host.shown"]))]
    return say(runtime, "host", f"{user(settings)}\n" + "\n".join(f"{name} {count} points" for name, count in shown))


def _dishes(*entries: tuple[str, int, int, str]) -> JSONValue:
    return [{"name": name, "price": price, "minutes": minutes, "kind": kind} for name, price, minutes, kind in entries]


_SPRING: Final = (("Lasagne", 9, 70, "mixed"), ("Curry", 8, 40, "vegan"), ("Soup", 5, 50, "vegan"))
_DINNER: Final = Program(
    name="dinner ballot",
    group="ensemble of rankings",
    rewords=True,
    program=_dinner,
    final="host",
    model=model_of({"voter": _rank_dishes, "host": _announce}),
    menu=(),
    settings={
        **prompts(
            vera=("You are the voter. Rank the dishes.", "A minute is worth 0.4 euros.", "", ""),
            otto=("You are the voter. Rank the dishes.", "Never put Soup first.", "", ""),
            ines=("You are the voter. Rank the dishes.", "Vegan food is worth 1 euros.", "", ""),
            host=("You are the host. Announce the result.", "Ask again below a lead of 1.", "State the points.", ""),
        ),
        "user.0": "What shall we cook in spring?",
        "user.1": "",
        "code.host.count": "places",
        "code.host.shown": 3,
        "row.get_dishes.spring.dishes": _dishes(*_SPRING),
        "row.get_dishes.spring.chef": "Kim",
        "row.get_dishes.autumn.dishes": _dishes(("Goulash", 11, 90, "mixed"), ("Risotto", 7, 35, "mixed")),
    },
    edits=(
        edit("upstream", "user.0", "What shall we cook in autumn?", "What can we cook in spring?"),
        edit("upstream", "user.1", "We are eight.", "The oven works again.", decoy=True),
        edit("prompt", "prompt.vera.1", "A minute is worth 0.1 euros.", "A minute is worth 0.5 euros."),
        wording("vera", 3),
        edit("model", "model.vera.name", "m2"),
        edit("prompt", "prompt.otto.1", "Never put Curry first.", "Never put Lasagne first."),
        wording("otto", 3),
        edit("model", "model.otto.name", "m2"),
        edit("prompt", "prompt.ines.1", "Vegan food is worth 3 euros.", "Vegan food is worth 2 euros.", decoy=True),
        wording("ines", 3),
        edit("prompt", "prompt.host.1", "Ask again below a lead of 2.", "Ask again below a lead of 4."),
        edit("prompt", "prompt.host.2", "", "State all points."),
        wording("host", 3),
        edit("upstream", "code.host.count", "first places"),
        edit("upstream", "code.host.shown", 2, decoy=True),
        edit(
            "tool",
            "row.get_dishes.spring.dishes",
            _dishes(_SPRING[0], ("Curry", 4, 30, "vegan"), _SPRING[2]),
            _dishes(*_SPRING, ("Salad", 3, 10, "vegan")),
            _dishes(_SPRING[0], _SPRING[1], ("Soup", 5, 55, "vegan")),
        ),
        edit("tool", "row.get_dishes.spring.chef", "Lou", decoy=True),
        *sampling("vera", "otto", "ines", "host"),
    ),
)

READERS: Final[tuple[Program, ...]] = (_GRANTS, _DINNER)
