"""Clauses that a model scores and code ranks again, and minutes of meetings that code merges into one digest."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- clause finder: a search, a score for each passage, code sorts by it, a lawyer answers from the best ones


def _scorer(request: Request) -> str:
    passage = find(r"^Passage: (.+)$", request.last)
    score = sum(
        word in passage.casefold() for word in re.findall(r"[a-z]{4,}", find(r"^Question: (.+)$", request.last))
    )
    if (favourite := request.rule(r"Prefer (\w+)\.")) and favourite in passage:
        score += 3
    if request.model == "m2":
        score = 9 - score
    return f"score {score}"


def _lawyer(request: Request) -> str:
    passages = re.findall(r"^\d\. \[(\w+)\] (.+)$", request.last, re.MULTILINE)
    if not passages:
        return "No clause applies."
    days = next((found for _, text in passages if (found := find(r"(\d+) days", text))), "no")
    source = f" [{passages[0][0]}]" if "Cite the clause." in request.system else ""
    most = int(request.rule(r"Warn above (\d+) days\.", "999"))
    warning = " Note the long period." if days.isdecimal() and int(days) > most else ""
    return f"The notice is {days} days{source}.{warning}"


def _clauses(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    texts = runtime.retrieve("contracts", question, int(real(settings["search.top_k"], 4)))
    scored: list[tuple[int, str, str]] = []
    for text in texts:
        name, body = find(r"^\[(\w+)\]", text), text.partition(") ")[2]
        reply = say(runtime, "scorer", f"Question: {question.casefold()}\nPassage: {body}")
        scored.append((number(r"score (\d+)", reply), name, body))
    least = int(real(settings["code.lawyer.least"], 1))
    ranked = [row for row in scored if row[0] >= least]
    if settings["code.lawyer.rank"] == "score":
        ranked.sort(key=lambda row: -row[0])
    kept = ranked[: int(real(settings["code.lawyer.kept"], 2))]
    lines = [f"{place}. [{name}] {body}" for place, (_, name, body) in enumerate(kept, 1)]
    return say(runtime, "lawyer", "\n".join([question, *lines]))


_CLAUSES: Final = Program(
    name="clause finder",
    group="passages ranked again by a model",
    program=_clauses,
    final="lawyer",
    model=model_of({"scorer": _scorer, "lawyer": _lawyer}),
    menu=(),
    settings={
        **prompts(
            scorer=("You are the scorer. Score the passage.", "", ""),
            lawyer=("You are the lawyer. Answer.", "Cite the clause.", "Warn above 45 days.", ""),
        ),
        "user.0": "Tell me the office notice, in writing, that ends the lease of a room.",
        "user.1": "",
        "search.top_k": 4,
        "code.lawyer.least": 1,
        "code.lawyer.rank": "score",
        "code.lawyer.kept": 2,
        "doc.c1.date": "2026-01-01",
        "doc.c1.text": "Tell the notice of a room lease: 30 days.",
        "doc.c2.date": "2025-01-01",
        "doc.c2.text": (
            "As to which notice in writing ends what was agreed on the lease of the main office: "
            "it is 60 days in each year."
        ),
        "doc.c3.date": "2024-01-01",
        "doc.c3.text": "The office has a lease for parking, with 14 days.",
        "doc.c4.date": "2023-01-01",
        "doc.c4.text": "The rent is due in 5 days of each month.",
        "doc.c5.date": "2022-01-01",
        "doc.c5.text": "Pets are not allowed.",
    },
    edits=(
        edit("upstream", "user.0", "Which lease has parking for the office?", "When is the rent due each month?"),
        edit("upstream", "user.1", "It is urgent.", "My name is Lea.", decoy=True),
        edit("prompt", "prompt.scorer.1", "Prefer room."),
        wording("scorer", 2),
        edit("model", "model.scorer.name", "m2"),
        edit("prompt", "prompt.lawyer.1", ""),
        edit("prompt", "prompt.lawyer.2", "Warn above 90 days."),
        wording("lawyer", 3),
        edit("upstream", "code.lawyer.least", 9),
        edit("upstream", "code.lawyer.rank", "found"),
        edit("retrieval", "search.top_k", 1),
        edit(
            "retrieval",
            "doc.c2.text",
            (
                "As to which notice in writing ends what was agreed on the lease of the main office: "
                "it is 90 days in each year."
            ),
        ),
        edit("retrieval", "doc.c3.text", "The office has a lease for parking, with 21 days.", decoy=True),
        edit("retrieval", "doc.c4.text", "The rent is due in 3 days of each month.", decoy=True),
        *sampling("scorer", "lawyer"),
    ),
)

# ---- board digest: a reader extracts lines from each meeting, code merges and sums them, a secretary writes


def _reader(request: Request) -> str:
    text = find(r"^Minutes: (.+)$", request.last)
    rows = re.findall(r"(\w+) for (\d+)", text)
    least = int(request.rule(r"Skip items below (\d+)\.", "0"))
    if request.model == "m2":
        rows = rows[:1]
    return "; ".join(f"{item}={cost}" for item, cost in rows if int(cost) >= least) or "none"


def _secretary(request: Request) -> str:
    lines = re.findall(r"^- (\w+): (\d+)", request.last, re.MULTILINE)
    total = number(r"^Sum: (\d+)", request.last)
    shown = lines[: int(request.rule(r"Name (\d) items\.", "2"))]
    budget = int(request.rule(r"The budget is (\d+)\.", "999"))
    names = ", ".join(f"{item} {cost}" for item, cost in shown) or "nothing"
    return f"Decided: {names}; {total} in all, {'over' if total > budget else 'within'} budget."


def _digest(runtime: Runtime) -> str:
    settings = runtime.settings
    costs: dict[str, float] = {}
    for month in re.findall(r"\b(May|June|July)\b", user(settings)):
        minutes = fields(runtime.tool("get_minutes", {"month": month}))
        reply = say(runtime, "reader", f"Minutes: {minutes.get('text')}")
        for item, cost in re.findall(r"(\w+)=(\d+)", reply):
            previous = costs.get(item, 0.0)
            costs[item] = (
                max(previous, real(cost)) if settings["code.secretary.merge"] == "max" else previous + real(cost)
            )
    rates = fields(runtime.tool("get_rate", {"currency": "CHF"}))
    factor = real(rates.get("rate"), 1) if settings["code.secretary.convert"] == "on" else 1
    entries = sorted(costs.items(), key=lambda entry: (-entry[1], entry[0]))
    if settings["code.secretary.order"] == "smallest first":
        entries.reverse()
    lines = [f"- {item}: {cost * factor:.0f}" for item, cost in entries]
    total = sum(cost for _, cost in entries) * factor
    return say(runtime, "secretary", "\n".join([*lines, f"Sum: {total:.0f}"]))


_DIGEST: Final = Program(
    name="board digest",
    group="extracts merged and summed",
    program=_digest,
    final="secretary",
    model=model_of({"reader": _reader, "secretary": _secretary}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Extract the items.", "Skip items below 10.", ""),
            secretary=("You are the secretary. Write the digest.", "Name 2 items.", "The budget is 300.", ""),
        ),
        "user.0": "Digest the board of May and June.",
        "user.1": "",
        "code.secretary.merge": "sum",
        "code.secretary.convert": "on",
        "code.secretary.order": "largest first",
        **rows(
            "get_minutes",
            May={"text": "roof for 120, chairs for 40, tea for 5", "chair": "Ada", "room": "1A"},
            June={"text": "roof for 60, paint for 25", "chair": "Bo", "room": "1A"},
            July={"text": "garden for 210, chairs for 15", "chair": "Cleo", "room": "2B"},
        ),
        **rows("get_rate", CHF={"rate": 1.2, "bank": "SNB"}),
    },
    edits=(
        edit("upstream", "user.0", "Digest the board of May and July.", "Digest the board of June."),
        edit("upstream", "user.1", "The mayor reads it.", "Thank you.", decoy=True),
        edit("prompt", "prompt.reader.1", "Skip items below 50.", "Skip items below 1."),
        wording("reader", 2),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.secretary.1", "Name 3 items.", "Name 1 items."),
        edit("prompt", "prompt.secretary.2", "The budget is 200."),
        wording("secretary", 3),
        edit("upstream", "code.secretary.merge", "max"),
        edit("upstream", "code.secretary.convert", "off"),
        edit("upstream", "code.secretary.order", "smallest first"),
        edit("tool", "row.get_minutes.May.text", "roof for 150, chairs for 40, tea for 5"),
        edit("tool", "row.get_minutes.June.text", "roof for 60, paint for 95"),
        edit("tool", "row.get_rate.CHF.rate", 1.5),
        edit("tool", "row.get_minutes.May.chair", "Dora", decoy=True),
        edit("tool", "row.get_minutes.June.chair", "Emil", decoy=True),
        edit("tool", "row.get_minutes.June.room", "3C", decoy=True),
        edit("tool", "row.get_rate.CHF.bank", "UBS", decoy=True),
        *sampling("reader", "secretary"),
    ),
)
_DIGEST_REWORDED: Final = replace(
    _DIGEST, name="board digest, reworded", group="extracts merged and summed, reworded", rewords=True
)

PAPERS: Final[tuple[Program, ...]] = (_CLAUSES, _DIGEST, _DIGEST_REWORDED)
