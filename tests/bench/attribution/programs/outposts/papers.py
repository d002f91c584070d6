"""Passages that are marked and ranked again with converted values, and clauses that sub-agents review."""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import decimal, find, number
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
from traces.core.json_types import JSONObject, JSONValue

# ---- almanac: a query, passages, a mark for each, the best with metres and ages that code computes, an answer

_FEET: Final = 0.3048


def _query(request: Request) -> str:
    words = [word for word in re.findall(r"[a-z]{4,}", request.last.lower()) if word not in {"please", "what", "ship"}]
    if "Add the word survey." in request.system:
        words.append("survey")
    if request.model == "m2":
        words = words[:2]
    return f"Query: {' '.join(words)}"


def _mark(request: Request) -> str:
    question, _, passage = request.last.lower().partition("\npassage: ")
    mark = sum(word in passage for word in set(re.findall(r"[a-z]{4,}", question.partition("?")[0])))
    favourite = request.rule(r"Prefer the (\w+)\.")
    if favourite and favourite in passage:
        mark += 4
    if request.model == "m2" and "fathoms" in passage:
        mark -= 1
    return f"Mark: {max(mark, 0)}"


def _pilot(request: Request) -> str:
    passages = re.findall(r"^\((\d)\) ([\d.]+) m, (\d+) days old, (\w+)$", request.last, re.MULTILINE)
    draught = decimal(r"draught of ([\d.]+)", request.last, 5.0)
    if not passages:
        return "The almanac has no depth."
    at, metres, age, source = passages[0]
    if "Take the least depth." in request.system:
        at, metres, age, source = min(passages, key=lambda passage: float(passage[1]))
    spare = float(request.rule(r"Keep (\d) m spare\.", "1"))
    verdict = "You can enter" if float(metres) - spare >= draught else "Stay outside"
    old = int(request.rule(r"Warn after (\d+) days\.", "900"))
    warning = " The survey is old." if int(age) > old else ""
    cited = f" ({source}, passage {at})" if "Name the source." in request.system else ""
    return f"{verdict}: {metres} m{cited}.{warning}"


def _metres(text: str) -> float | None:
    match = re.search(r"(\d+) (feet|fathoms|metres)", text)
    if match is None:
        return None
    return int(match[1]) * {"feet": _FEET, "fathoms": 6 * _FEET, "metres": 1.0}[match[2]]


def _almanac(runtime: Runtime) -> str:
    settings = runtime.settings
    query = find(r"Query: (.+)$", say(runtime, "searcher", user(settings)), "depth")
    passages = runtime.retrieve("almanac", query, int(real(settings["code.almanac.hits"], 4)))
    marked = []
    for passage in passages:
        text = passage.partition(") ")[2]
        mark = number(r"Mark: (\d+)", say(runtime, "marker", f"{user(settings)}\nPassage: {text}"))
        marked.append((mark, passage))
    if settings["code.pilot.rank"] == "by mark":
        marked.sort(key=lambda pair: -pair[0])
    today = date.fromisoformat(str(fields(runtime.tool("get_day", {"port": "Kelling"})).get("day")))
    lines: list[str] = []
    for _, passage in marked:
        metres, day = _metres(passage), find(r"\((\d{4}-\d\d-\d\d)\)", passage)
        if metres is not None and day:
            age = (today - date.fromisoformat(day)).days
            name = find(r"^.(\w+)", passage)
            lines.append(f"({len(lines) + 1}) {metres:.1f} m, {age} days old, {name}")
    return say(runtime, "pilot", "\n".join([user(settings), *lines[: int(real(settings["code.pilot.shown"], 3))]]))


_ALMANAC: Final = Program(
    name="harbour almanac",
    group="ranked again, depths in metres",
    program=_almanac,
    final="pilot",
    model=model_of({"searcher": _query, "marker": _mark, "pilot": _pilot}),
    menu=(),
    settings={
        **prompts(
            searcher=("You are the searcher. Write a query.", "", "", ""),
            marker=("You are the marker. Mark the passage.", "", "", ""),
            pilot=(
                "You are the pilot. Advise the ship.",
                "Name the source.",
                "Warn after 400 days.",
                "Keep 1 m spare.",
                "",
                "",
            ),
        ),
        "user.0": "What is the depth of the channel at Kelling?",
        "user.1": "The ship has a draught of 5.2 metres.",
        "user.2": "",
        "code.almanac.hits": 4,
        "code.pilot.rank": "by mark",
        "code.pilot.shown": 3,
        "row.get_day.Kelling.day": "2026-05-20",
        "row.get_day.Kelling.tide": "spring",
        "doc.chart.date": "2025-09-01",
        "doc.chart.text": "Kelling channel, depth 24 feet.",
        "doc.guide.date": "2022-04-11",
        "doc.guide.text": "The pier at Kelling has a depth of 3 fathoms, says an old survey.",
        "doc.log.date": "2026-01-15",
        "doc.log.text": "Kelling: the channel was dredged.",
        "doc.list.date": "2024-12-02",
        "doc.list.text": "Survey of the Torby channel: depth 9 metres.",
        "doc.news.date": "2026-03-03",
        "doc.news.text": "The ferry sails at noon.",
    },
    edits=(
        edit(
            "upstream", "user.0", "What is the depth of the pier at Torby?", "What is the depth of the Kelling survey?"
        ),
        edit("upstream", "user.1", "The ship has a draught of 6.8 metres.", "The ship has a draught of 7.0 metres."),
        edit("upstream", "user.2", "Thank you.", "All the best.", decoy=True),
        edit("prompt", "prompt.searcher.1", "Add the word survey.", decoy=True),
        edit("prompt", "prompt.searcher.2", "Write few words.", decoy=True),
        wording("searcher", 3),
        edit("prompt", "prompt.marker.1", "Prefer the survey.", "Prefer the pier."),
        edit("prompt", "prompt.marker.2", "Read it slowly.", decoy=True),
        wording("marker", 3),
        edit("model", "model.marker.name", "m2", decoy=True),
        edit("prompt", "prompt.pilot.1", "Hide the source."),
        edit("prompt", "prompt.pilot.2", "Warn after 200 days."),
        edit("prompt", "prompt.pilot.3", "Keep 3 m spare.", "Keep 4 m spare."),
        edit("prompt", "prompt.pilot.4", "Take the least depth."),
        wording("pilot", 5),
        edit("model", "model.pilot.name", "m2", decoy=True),
        edit("upstream", "code.almanac.hits", 1, 2),
        edit("upstream", "code.pilot.rank", "as found"),
        edit("upstream", "code.pilot.shown", 2, decoy=True),
        edit("tool", "row.get_day.Kelling.day", "2026-12-01", "2027-01-09"),
        edit("tool", "row.get_day.Kelling.tide", "neap", decoy=True),
        edit("retrieval", "doc.chart.text", "Kelling channel, depth 19 feet.", "Kelling channel, depth 27 feet."),
        edit("retrieval", "doc.chart.date", "2023-09-01", "2025-03-01"),
        edit("retrieval", "doc.log.text", "Kelling: the channel was widened.", decoy=True),
        edit(
            "retrieval",
            "doc.guide.text",
            "The pier at Kelling has a depth of 4 fathoms, says an old survey.",
            decoy=True,
        ),
        *sampling("searcher", "marker", "pilot"),
    ),
)

# ---- leases: a sub-agent with a tool for each clause, risks weighed by code, counsel above a limit, a letter by a date


def _review(request: Request) -> str | ToolCall:
    name = request.tool("standard")
    topic = find(r"^Topic: (\w+)", request.last, "other")
    if name and not request.called:
        return name, {"topic": topic}
    own, usual = number(r"(\d+)", request.last.partition("\n")[2]), number(r"(\d+)", str(request.latest_result))
    gap = abs(own - usual)
    grades = ("none", "low", "high")
    grade = grades[min(gap // int(request.rule(r"A gap of (\d+) is one grade\.", "2")), 2)]
    if topic == request.rule(r"Always flag (\w+)\."):
        grade = "high"
    if request.model == "m2" and grade == "low":
        grade = "none"
    return f"Risk of {topic}: {grade}, {own} against {usual}."


def _counsel(request: Request) -> str:
    risky = re.findall(r"^(\w+): high", request.last, re.MULTILINE)
    if request.model == "m2":
        risky = risky[:1]
    tone = request.rule(r"Strike (\w+) clauses first\.", "rent")
    order = sorted(risky, key=lambda topic: topic != tone)
    return f"Strike {' and '.join(order)}." if order else "Ask for a talk."


def _letter(request: Request) -> str:
    advice, due = find(r"^Counsel: (.+)$", request.last), find(r"^By: (.+)$", request.last, "soon")
    score = number(r"^Weight: (\d+)", request.last)
    hello = request.rule(r"Address the (\w+)\.", "tenant")
    if score == 0:
        return f"Dear {hello}, sign the lease."
    body = f"{advice} Reply by {due}." if advice else f"Mind the weight of {score}. Sign by {due}."
    low = " Small gaps remain." if "Mention small gaps." in request.system and ": low" in request.last else ""
    return f"Dear {hello}, {body}{low}"


_WEIGHTS: Final = {"none": 0, "low": 1, "high": 3}


def _leases(runtime: Runtime) -> str:
    settings = runtime.settings
    lease = fields(runtime.tool("open_lease", {"number": find(r"lease (\w+)", user(settings), "L1")}))
    tools: list[JSONValue] = [tool("get_standard", str(settings["tool.get_standard"]), "topic")]
    graded: list[tuple[str, str]] = []
    for clause in items(lease.get("clauses")):
        task = f"Topic: {clause.get('topic')}\n{clause.get('text')}"
        answer = runtime.agent("reviewer", task, partial(_reviewed, runtime, task, tools))
        topic, grade = find(r"Risk of (\w+)", answer, "other"), find(r"Risk of \w+: (\w+)", answer, "none")
        graded.append((topic, grade))
    double = str(settings["code.counsel+secretary.double"])
    weight = sum(_WEIGHTS.get(grade, 0) * (2 if topic == double else 1) for topic, grade in graded)
    due = date.fromisoformat(str(lease.get("received", "2026-06-01"))) + timedelta(
        days=int(real(settings["code.secretary.days"], 14))
    )
    lines = [f"{topic}: {grade}" for topic, grade in graded]
    if weight > real(settings["code.counsel.limit"]):
        lines.append(f"Counsel: {say(runtime, 'counsel', chr(10).join(lines))}")
    return say(runtime, "secretary", "\n".join([*lines, f"Weight: {weight}", f"By: {due.day}/{due.month}/{due.year}"]))


def _reviewed(runtime: Runtime, task: str, tools: Sequence[JSONValue]) -> str:
    return text_of(converse(runtime, "reviewer", [user_message(task)], tools)[-1])


def _clauses(rent: int, notice: int, deposit: int) -> list[JSONValue]:
    texts = {
        "rent": f"The rent rises by {rent} percent.",
        "notice": f"Notice is {notice} months.",
        "deposit": f"The deposit is {deposit} rents.",
    }
    clauses: list[JSONObject] = [{"topic": topic, "text": text} for topic, text in texts.items()]
    return list(clauses)


_LEASES: Final = Program(
    name="lease review",
    group="clauses weighed, counsel asked",
    program=_leases,
    final="secretary",
    model=model_of({"reviewer": _review, "counsel": _counsel, "secretary": _letter}),
    menu=(),
    settings={
        **prompts(
            reviewer=("You are the reviewer. Grade the clause.", "A gap of 2 is one grade.", "", "", ""),
            counsel=("You are the counsel. Advise.", "Strike rent clauses first.", "", ""),
            secretary=(
                "You are the secretary. Write the letter.",
                "Address the tenant.",
                "Mention small gaps.",
                "",
                "",
            ),
        ),
        "user.0": "Review the lease L1.",
        "user.1": "",
        "tool.get_standard": "Looks up the standard of a topic.",
        "code.counsel.limit": 5,
        "code.secretary.days": 14,
        "code.counsel+secretary.double": "deposit",
        **rows(
            "open_lease",
            L1={"clauses": _clauses(4, 9, 5), "received": "2026-06-18", "house": "Mill Lane 4"},
            L2={"clauses": _clauses(3, 3, 4), "received": "2026-06-25", "house": "Quay 11"},
        ),
        **rows(
            "get_standard",
            rent={"usual": 2, "source": "board"},
            notice={"usual": 3, "source": "law"},
            deposit={"usual": 3, "source": "law"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Review the lease L2.", "Read the lease L1."),
        edit("upstream", "user.1", "We move in soon.", "Thanks a lot.", decoy=True),
        edit("prompt", "prompt.reviewer.1", "A gap of 3 is one grade.", "A gap of 1 is one grade."),
        edit("prompt", "prompt.reviewer.2", "Always flag rent.", "Always flag deposit."),
        edit("prompt", "prompt.reviewer.3", "Grade without haste.", decoy=True),
        wording("reviewer", 4),
        edit("model", "model.reviewer.name", "m2"),
        edit("prompt", "prompt.counsel.1", "Strike notice clauses first.", decoy=True),
        edit("prompt", "prompt.counsel.2", "Advise in one line.", decoy=True),
        wording("counsel", 3),
        edit("model", "model.counsel.name", "m2", decoy=True),
        edit("prompt", "prompt.secretary.1", "Address the client.", "Address the owner."),
        edit("prompt", "prompt.secretary.2", "Skip small gaps."),
        wording("secretary", 3),
        edit("tool", "tool.get_standard", "Finds the standard of any topic.", decoy=True),
        edit("upstream", "code.counsel.limit", 9),
        edit("upstream", "code.secretary.days", 30, 7),
        edit("upstream", "code.counsel+secretary.double", "none"),
        edit("tool", "row.open_lease.L1.clauses", _clauses(4, 4, 5), _clauses(9, 9, 5)),
        edit("tool", "row.open_lease.L1.received", "2026-07-02"),
        edit("tool", "row.open_lease.L1.house", "Mill Lane 6", decoy=True),
        edit("tool", "row.get_standard.notice.usual", 8, 6),
        edit("tool", "row.get_standard.rent.usual", 4),
        edit("tool", "row.get_standard.notice.source", "court", decoy=True),
        *sampling("reviewer", "counsel", "secretary"),
    ),
)

PAPERS: Final[tuple[Program, ...]] = (_ALMANAC, _LEASES)
