"""A newsroom of four agents, and answers that are marked one by one."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import decimal, find
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- news: a scout picks topics, two reporters write, code joins them, a chief closes


def _scout(request: Request) -> str:
    topics = re.findall(r"^- (\w+) \((\d+)\)$", request.last, re.MULTILINE)
    least = int(request.rule(r"Skip below (\d+) readers\.", "0"))
    order = sorted(topics, key=lambda topic: -int(topic[1])) if "Most read first." in request.system else topics
    return f"TOPICS {', '.join(name for name, readers in order if int(readers) >= least) or 'none'}"


def _report(request: Request) -> str:
    topic, fact = find(r"^Topic: (\w+)", request.last, "nothing"), find(r"^Fact: (.+)$", request.last, "is quiet")
    tone = request.rule(r"Write in a (\w+) tone\.", "plain")
    mark = {"plain": ".", "loud": "!", "soft": " ..."}.get(tone, ".")
    lead = f"{topic} {fact}" if request.model == "m1" else f"{fact} says {topic}"
    return f"{lead}{mark}"


def _chief(request: Request) -> str:
    pieces = re.findall(r"^\d\. (.+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Print (\d) pieces\.", "2"))
    title = request.rule(r"Title it (\w+)\.", "News")
    dropped = f" ({len(pieces) - most} held)" if len(pieces) > most and "Count the held." in request.system else ""
    return f"{title}: {' / '.join(pieces[:most]) or 'empty'}{dropped}"


def _newsroom(runtime: Runtime) -> str:
    settings = runtime.settings
    city = find(r"for (\w+)", user(settings), "Oslo")
    topics = items(fields(runtime.tool("list_topics", {"city": city})).get("topics"))
    listing = "\n".join(f"- {topic.get('name')} ({topic.get('readers')})" for topic in topics)
    topic_names = find(r"TOPICS (.+)", say(runtime, "scout", listing), "none").split(", ")
    pieces: list[str] = []
    for place, topic in enumerate(topic_names[: int(real(settings["code.reporter.most"], 4))]):
        fact = fields(runtime.tool("get_fact", {"topic": topic})).get("fact", "is quiet")
        node = "second" if place % 2 and settings["code.second.shares"] == "yes" else "first"
        pieces.append(say(runtime, node, f"Topic: {topic}\nFact: {fact}"))
    if settings["code.chief.order"] == "short first":
        pieces.sort(key=len)
    numbered = "\n".join(f"{place}. {piece}" for place, piece in enumerate(pieces, 1))
    return say(runtime, "chief", user(settings), numbered)


def _topics(**readers: int) -> list[JSONValue]:
    return [{"name": name, "readers": count} for name, count in readers.items()]


_NEWSROOM: Final = Program(
    name="newsroom",
    group="several agents at once",
    program=_newsroom,
    final="chief",
    model=model_of({"scout": _scout, "first reporter": _report, "second reporter": _report, "chief": _chief}),
    menu=(),
    settings={
        **prompts(
            scout=("You are the scout. Pick topics.", "Skip below 200 readers.", "Most read first.", ""),
            first=("You are the first reporter. Write.", "Write in a plain tone.", ""),
            second=("You are the second reporter. Write.", "Write in a soft tone.", ""),
            chief=("You are the chief. Close it.", "Print 2 pieces.", "Title it Today.", "Count the held.", ""),
        ),
        "user.0": "Make the page for Oslo.",
        "user.1": "",
        "code.reporter.most": 4,
        "code.second.shares": "yes",
        "code.chief.order": "as written",
        "row.list_topics.Oslo.topics": _topics(trams=300, opera=500, ports=250, parks=120),
        "row.list_topics.Oslo.week": 9,
        "row.list_topics.Bergen.topics": _topics(rain=900, ports=400),
        **rows(
            "get_fact",
            trams={"fact": "run late", "by": "Ola"},
            opera={"fact": "opens again", "by": "Ida"},
            ports={"fact": "are full", "by": "Ola"},
            parks={"fact": "are green", "by": "Ida"},
            rain={"fact": "falls all day", "by": "Per"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Make the page for Bergen."),
        edit("upstream", "user.1", "It prints at noon.", decoy=True),
        edit("prompt", "prompt.scout.1", "Skip below 100 readers.", "Skip below 400 readers."),
        edit("prompt", "prompt.scout.2", "Keep the order."),
        wording("scout", 3),
        edit("prompt", "prompt.first.1", "Write in a loud tone."),
        edit("prompt", "prompt.second.1", "Write in a loud tone."),
        wording("first", 2),
        wording("second", 2),
        edit("model", "model.first.name", "m2"),
        edit("model", "model.second.name", "m2"),
        edit("prompt", "prompt.chief.1", "Print 1 pieces.", "Print 3 pieces."),
        edit("prompt", "prompt.chief.2", "Title it Week."),
        edit("prompt", "prompt.chief.3", "Be short."),
        wording("chief", 4),
        edit("upstream", "code.reporter.most", 2, 1),
        edit("upstream", "code.second.shares", "no"),
        edit("upstream", "code.chief.order", "short first"),
        edit(
            "tool",
            "row.list_topics.Oslo.topics",
            _topics(trams=600, opera=500, ports=250, parks=120),
            _topics(trams=300, opera=500, ports=150, parks=120),
        ),
        edit("tool", "row.list_topics.Oslo.week", 10, decoy=True),
        edit("tool", "row.get_fact.opera.fact", "closes early"),
        edit("tool", "row.get_fact.ports.fact", "are empty", decoy=True),
        edit("tool", "row.get_fact.opera.by", "Eli", decoy=True),
        *sampling("first", "chief"),
    ),
)

# ---- grading: a judge marks each answer, code averages the marks, a coach tells the pupil


def _mark(request: Request) -> str:
    answer, expected = find(r"^Answer: (.+)$", request.last, "").lower(), find(r"^Key: (.+)$", request.last, "").lower()
    if answer == expected:
        return "MARK 10"
    partly = int(request.rule(r"A near answer gets (\d)\.", "5"))
    near = expected[:3] in answer and request.model == "m1"
    return f"MARK {partly if near else 0}"


def _coach(request: Request) -> str:
    mean, weak = decimal(r"^Mean: ([\d.]+)$", request.last), find(r"^Weakest: (.+)$", request.last, "none")
    level = float(request.rule(r"Pass from (\d) on\.", "5"))
    verdict = "passed" if mean >= level else "try again"
    advice = f" Repeat {weak}." if "Advise." in request.system and weak != "none" else ""
    name = find(r"^Pupil: (\w+)", request.last, "You")
    praise = " Well done." if mean >= float(request.rule(r"Praise from (\d) on\.", "11")) else ""
    return f"{name}: {verdict}.{praise}{advice}"


def _grading(runtime: Runtime) -> str:
    settings = runtime.settings
    sheet = fields(runtime.tool("get_sheet", {"pupil": find(r"sheet of (\w+)", user(settings), "Mia")}))
    marks: list[tuple[float, str]] = []
    for entry in items(sheet.get("answers")):
        text = str(entry.get("answer"))
        text = text.strip() if settings["code.judge.trim"] == "yes" else text[:4]
        mark_text = say(runtime, "judge", f"Question: {entry.get('topic')}\nAnswer: {text}\nKey: {entry.get('key')}")
        marks.append((decimal(r"MARK (\d+)", mark_text), str(entry.get("topic"))))
    marks = marks[int(real(settings["code.coach.skips"])) :]
    values = [mark for mark, _ in marks]
    mean = min(values, default=0.0) if settings["code.coach.rule"] == "least" else sum(values) / max(1, len(values))
    weakest = min(marks, default=(0.0, "none"))[1]
    weakest = weakest[:1] if settings["code.coach.form"] == "initial" else weakest
    return say(runtime, "coach", f"Pupil: {sheet.get('pupil')}\nMean: {mean:.1f}\nWeakest: {weakest}")


def _answers(*rows_of_sheet: tuple[str, str, str]) -> list[JSONValue]:
    return [{"topic": topic, "answer": answer, "key": key} for topic, answer, key in rows_of_sheet]


_SHEET: Final = (("rivers", "Danube", "danube"), ("towns", "Vienna old", "vienna"), ("hills", "Rax", "schneeberg"))
_GRADING: Final = Program(
    name="answer grading",
    group="marks averaged by code",
    program=_grading,
    final="coach",
    model=model_of({"judge": _mark, "coach": _coach}),
    menu=(),
    settings={
        **prompts(
            judge=("You are the judge. Mark it.", "A near answer gets 6.", ""),
            coach=("You are the coach. Tell the pupil.", "Pass from 5 on.", "Advise.", "Praise from 9 on.", ""),
        ),
        "user.0": "Mark the sheet of Mia.",
        "user.1": "",
        "code.judge.trim": "yes",
        "code.coach.skips": 0,
        "code.coach.rule": "mean",
        "code.coach.form": "as read",
        "row.get_sheet.Mia.pupil": "Mia",
        "row.get_sheet.Mia.answers": _answers(*_SHEET),
        "row.get_sheet.Mia.room": "R4",
        "row.get_sheet.Tom.pupil": "Tom",
        "row.get_sheet.Tom.answers": _answers(("rivers", "Elbe", "elbe")),
    },
    edits=(
        edit("upstream", "user.0", "Mark the sheet of Tom."),
        edit("upstream", "user.1", "It counts double.", "Thanks.", decoy=True),
        edit("prompt", "prompt.judge.1", "A near answer gets 2.", "A near answer gets 4."),
        wording("judge", 2),
        edit("model", "model.judge.name", "m2"),
        edit("prompt", "prompt.coach.1", "Pass from 7 on.", "Pass from 6 on."),
        edit("prompt", "prompt.coach.2", "Say no more."),
        edit("prompt", "prompt.coach.3", "Praise from 5 on."),
        wording("coach", 4),
        edit("upstream", "code.judge.trim", "cut"),
        edit("upstream", "code.coach.skips", 1, 2),
        edit("upstream", "code.coach.rule", "least"),
        edit("upstream", "code.coach.form", "initial"),
        edit(
            "tool",
            "row.get_sheet.Mia.answers",
            _answers(*_SHEET[:2], ("hills", "Schneeberg", "schneeberg")),
            _answers(("rivers", "Inn", "danube"), *_SHEET[1:]),
        ),
        edit("tool", "row.get_sheet.Mia.pupil", "Pia"),
        edit("tool", "row.get_sheet.Mia.room", "R9", decoy=True),
        *sampling("judge", "coach"),
    ),
)

TEAMS: Final[tuple[Program, ...]] = (_NEWSROOM, _GRADING)
