"""Research in two rounds over an index, statements checked one by one, and reviews of each file of a change."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- research: queries, what each search taught, a second round for what is missing, a report

_TOPICS: Final = ("price", "range", "weight")


def _queries(request: Request) -> str:
    known = find(r"^Known: (.+)$", request.last)
    topics = request.rule(r"Research the ([\w, ]+)\.", "price").split(", ")
    thing = find(r"about the (\w+)", request.last, "van")
    open_topics = [topic for topic in topics if topic not in known]
    if request.model == "m2":
        open_topics = open_topics[:1]
    return "\n".join(f"- {thing} {topic}" for topic in open_topics) or "Enough."


def _learn(request: Request) -> str:
    query = find(r"^Query: (.+)$", request.last)
    topic = next((topic for topic in _TOPICS if topic in query), "price")
    texts = re.findall(r"^\[(\w+)\] \((\d{4})\S* (.+)$", request.last, re.MULTILINE)
    if "Trust new texts only." in request.system:
        texts = [text for text in texts if int(text[1]) >= 2025]
    values = [(name, find(rf"{topic} of (\d+)", text)) for name, _, text in texts]
    found = [(name, value) for name, value in values if value]
    if not found:
        return f"Nothing on the {topic}."
    name, value = found[-1] if "Take the last text." in request.system else found[0]
    source = f" [{name}]" if "Name the text." in request.system else ""
    return f"The {topic} is {value}{source}."


def _write_report(request: Request) -> str:
    found = dict(re.findall(r"The (\w+) is (\d+)", request.last))
    if not found:
        return "The texts say nothing."
    first = request.rule(r"Put the (\w+) first\.", "price")
    order = sorted(found, key=lambda topic: (topic != first, topic))
    text = ", ".join(f"{topic} {found[topic]}" for topic in order)
    verdict = ""
    if limit := request.rule(r"Above a price of (\d+) it is dear\."):
        verdict = " It is dear." if int(found.get("price", "0")) > int(limit) else " It is cheap."
    return f"Report: {text}.{verdict}"


def _research(runtime: Runtime) -> str:
    settings = runtime.settings
    notes: list[str] = []
    for _ in range(number(r"(\d)", str(settings["code.scout+search+student+author.rounds"]), 1)):
        known = ", ".join(find(r"The (\w+) is", note) for note in notes)
        plan = say(runtime, "scout", f"{user(settings)}\nKnown: {known}")
        queries = re.findall(r"^- (.+)$", plan, re.MULTILINE)
        if not queries:
            break
        for query in queries:
            texts = runtime.retrieve("search", query, int(real(settings["search.hits"], 2)))
            note = say(runtime, "student", "\n".join([f"Query: {query}", *texts]))
            if "is" in note and note not in notes:
                notes.append(note)
    return say(runtime, "author", "\n".join([user(settings), *notes]))


_RESEARCH: Final = Program(
    name="van research",
    group="research in rounds",
    program=_research,
    final="author",
    model=model_of({"scout": _queries, "student": _learn, "author": _write_report}),
    menu=(),
    settings={
        **prompts(
            scout=("You are the scout. Plan searches.", "Research the price, range.", "", ""),
            student=("You are the student. Learn from texts.", "", "Take the last text.", ""),
            author=("You are the author. Write the report.", "Put the price first.", "", ""),
        ),
        "user.0": "Tell me",
        "user.1": "about the van.",
        "user.2": "",
        "code.scout+search+student+author.rounds": 2,
        "search.hits": 2,
        "doc.d1.text": "The van has a price of 41000 and doors on both sides.",
        "doc.d1.date": "2025-03-01",
        "doc.d2.text": "A test showed that the van has a range of 320 in winter.",
        "doc.d2.date": "2024-01-15",
        "doc.d3.text": "The dealer asks a price of 43500 for the van.",
        "doc.d3.date": "2026-02-01",
        "doc.d4.text": "The van carries a weight of 900.",
        "doc.d4.date": "2025-06-01",
        "doc.d5.text": "The bus has a price of 90000 and a range of 250.",
        "doc.d5.date": "2025-07-01",
        "doc.d6.text": "The maker states a range of 400 for the van.",
        "doc.d6.date": "2026-01-10",
    },
    edits=(
        edit("upstream", "user.0", "Inform me", "Please tell me", decoy=True),
        edit("upstream", "user.1", "about the bus.", "all about the van."),
        edit("upstream", "user.2", "I am curious.", "Thank you.", decoy=True),
        edit(
            "prompt",
            "prompt.scout.1",
            "Research the price, range, weight.",
            "Research the range.",
            "Research the price, weight.",
        ),
        wording("scout", 2),
        edit("model", "model.scout.name", "m2", decoy=True),
        edit("prompt", "prompt.student.1", "Trust new texts only.", "Trust kind texts only."),
        edit("prompt", "prompt.student.2", "Take the first text.", "Take the best text."),
        wording("student", 3),
        edit("prompt", "prompt.author.1", "Put the range first."),
        edit("prompt", "prompt.author.2", "Above a price of 40000 it is dear.", "Above a price of 50000 it is dear."),
        wording("author", 3),
        edit("upstream", "code.scout+search+student+author.rounds", 1, decoy=True),
        edit("retrieval", "search.hits", 1, 4),
        edit("retrieval", "doc.d1.text", "The van has a price of 39000 and doors on both sides.", "The boat is blue."),
        edit("retrieval", "doc.d2.text", "A test showed that the van has a range of 280 in winter."),
        edit("retrieval", "doc.d4.text", "The van carries a weight of 950.", decoy=True),
        edit("retrieval", "doc.d5.date", "2025-08-01", decoy=True),
        *sampling("scout", "student", "author"),
    ),
)

# ---- statements: split, each checked against a record, code counts the verdicts, an editor decides


def _split(request: Request) -> str:
    said = find(r"^Speech: (.+)$", request.last)
    parts = [part.strip() for part in said.split(". ") if re.search(r"\d", part)]
    most = int(request.rule(r"Take (\d) statements at most\.", "5"))
    return "\n".join(f"* {part.rstrip('.')}" for part in parts[:most]) or "There are none."


def _verify(request: Request) -> str:
    claimed = number(r"Statement: \D*(\d+)", request.last, -1)
    value = number(r"Record: (\d+)", request.last, -1)
    if value < 0:
        return "Verdict: unknown"
    slack = int(request.rule(r"Allow (\d+) percent\.", "5"))
    if request.model == "m2":
        slack += 10
    return "Verdict: true" if abs(claimed - value) * 100 <= slack * value else f"Verdict: false, it is {value}"


def _headline(request: Request) -> str:
    wrong, total = number(r"False: (\d)", request.last), number(r"Checked: (\d)", request.last)
    if not total:
        return "Nothing could be checked."
    limit = int(request.rule(r"From (\d) errors on it misleads\.", "2"))
    start = "Misleading" if wrong >= limit else ("Partly wrong" if wrong else "Correct")
    facts = re.findall(r"it is (\d+)", request.last)
    named = f": rather {' and '.join(facts)}" if facts and "Give the right figures." in request.system else ""
    return f"{start}{named}."


def _speech(runtime: Runtime) -> str:
    settings = runtime.settings
    statements = re.findall(r"\* (.+)$", say(runtime, "splitter", f"Speech: {user(settings)}"), re.MULTILINE)
    verdicts = []
    for statement in statements:
        topic = next((word for word in ("jobs", "taxes", "schools", "trains") if word in statement.lower()), "none")
        record = fields(runtime.tool("get_record", {"topic": topic}))
        found = say(runtime, "checker", f"Statement: {statement}\nRecord: {record.get('value', 'none')}")
        verdicts.append(find(r"Verdict: ([\w ,]*\w)", found, "unknown"))
    known = [verdict for verdict in verdicts if not verdict.startswith("unknown")]
    wrong = [verdict for verdict in verdicts if verdict.startswith("false")]
    if settings["code.editor.unknown"] == "count as false":
        wrong = [verdict for verdict in verdicts if not verdict.startswith("true")]
        known = verdicts
    facts = "; ".join(dict.fromkeys(find(r"(it is \d+)", verdict) for verdict in wrong))
    return say(runtime, "editor", f"Checked: {len(known)}\nFalse: {len(wrong)}\nFacts: {facts}")


_SPEECH: Final = Program(
    name="speech check",
    group="statements checked one by one",
    rewords=True,
    controls=8,
    program=_speech,
    final="editor",
    model=model_of({"splitter": _split, "checker": _verify, "editor": _headline}),
    menu=(),
    settings={
        **prompts(
            splitter=("You are the splitter. List the statements.", "Take 4 statements at most.", ""),
            checker=("You are the checker. Compare with the record.", "Allow 5 percent.", "", ""),
            editor=("You are the editor. Sum up.", "From 2 errors on it misleads.", "Give the right figures.", ""),
        ),
        "user.0": "Dear friends.",
        "user.1": "We have 5000 new jobs. ",
        "user.2": "We run 120 trains a day. ",
        "user.3": "We built 14 schools. ",
        "user.4": "The sky has 7 colours.",
        "code.editor.unknown": "left out",
        **rows(
            "get_record",
            jobs={"value": 5100, "source": "office"},
            trains={"value": 90, "source": "railway"},
            schools={"value": 14, "source": "ministry"},
            taxes={"value": 21, "source": "bank"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "My dear friends.", "Ladies and gentlemen.", decoy=True),
        edit("upstream", "user.1", "We have 9000 new jobs. ", "There are 5000 new jobs. "),
        edit("upstream", "user.2", "We run 92 trains a day. ", "Taxes are at 30 percent. "),
        edit("upstream", "user.3", "We built 20 schools. ", "We have built 14 schools. "),
        edit("prompt", "prompt.splitter.1", "Take 1 statements at most.", "Take 9 statements at most."),
        wording("splitter", 2),
        edit("prompt", "prompt.checker.1", "Allow 40 percent.", "Allow 0 percent."),
        edit("prompt", "prompt.checker.2", "Judge kindly.", "Do not guess.", decoy=True),
        wording("checker", 3),
        edit("model", "model.checker.name", "m2", decoy=True),
        edit("prompt", "prompt.editor.1", "From 1 errors on it misleads."),
        edit("prompt", "prompt.editor.2", "Leave the figures out."),
        wording("editor", 3),
        edit("upstream", "code.editor.unknown", "count as false"),
        edit("tool", "row.get_record.trains.value", 70, 118),
        edit("tool", "row.get_record.jobs.value", 3000, 5050),
        edit("tool", "row.get_record.schools.source", "press", decoy=True),
        edit("tool", "row.get_record.taxes.value", 25, decoy=True),
        *sampling("splitter", "checker", "editor"),
    ),
)

# ---- review: each file is reviewed, code removes doubles and sorts, a lead accepts or rejects; marks by chance

_SMELLS: Final = {"eval(": "danger", "print(": "noise", "except:": "risk", "todo": "note"}


def _review(request: Request) -> str:
    lines = find(r"^Code: (.+)$", request.last).split(" ; ")
    skipped = request.rule(r"Do not report (\w+)\.")
    found = []
    for position, line in enumerate(lines, 1):
        for smell, kind in _SMELLS.items():
            if smell in line.lower() and kind != skipped:
                grade = "grave" if kind in {"danger", request.rule(r"Treat (\w+) as grave\.")} else "light"
                found.append(f"L{position} {grade} {kind}")
    if request.model == "m2":
        found = found[:1]
    return "\n".join(found) or "Looks good."


def _decide(request: Request) -> str:
    grave = len(re.findall(r" grave ", request.last))
    light = len(re.findall(r" light ", request.last))
    most = int(request.rule(r"Accept up to (\d) light findings\.", "2"))
    if grave:
        first = find(r"^(\S+ L\d+) grave", request.last, "one")
        return f"Rejected because of {first}."
    if light > most:
        return f"Changes requested: {light} findings."
    return f"Accepted with {light} findings." if "Count the findings." in request.system else "Accepted."


def _pull(runtime: Runtime) -> str:
    settings = runtime.settings
    names = str(
        fields(runtime.tool("list_files", {"change": find(r"change (\w+)", user(settings), "c7")})).get("files", "")
    )
    findings: list[str] = []
    for name in [name for name in names.split(", ") if name]:
        if name.endswith("test") and settings["code.read_file+reviewer+lead.tests"] == "skipped":
            continue
        text = fields(runtime.tool("read_file", {"name": name}))
        answer = say(runtime, "reviewer", f"File: {name}\nCode: {text.get('code')}")
        findings += [f"{name} {line}" for line in re.findall(r"^L\d+ .+$", answer, re.MULTILINE)]
    unique: dict[str, str] = {}
    for finding in findings:
        unique.setdefault(finding if settings["code.lead.doubles"] == "kept" else finding.split(" ")[-1], finding)
    ordered = sorted(unique.values(), key=lambda finding: " light " in finding)
    return say(runtime, "lead", "\n".join([user(settings), *ordered]))


def _code(*lines: str) -> JSONValue:
    return " ; ".join(lines)


_PULL: Final = Program(
    name="change review",
    group="reviews of each file",
    chance=Chance(rate=0.1, alternatives=((" light ", " grave "), ("Accepted", "Changes requested"))),
    controls=8,
    program=_pull,
    final="lead",
    model=model_of({"reviewer": _review, "lead": _decide}),
    menu=(),
    settings={
        **prompts(
            reviewer=("You are the reviewer. Report by line.", "Do not report note.", "", ""),
            lead=("You are the lead. Decide.", "Accept up to 2 light findings.", "Count the findings.", ""),
        ),
        "user.0": "Hi team,",
        "user.1": "please look at change c7.",
        "user.2": "",
        "code.read_file+reviewer+lead.tests": "skipped",
        "code.lead.doubles": "kept",
        **rows(
            "list_files", c7={"files": "main, tools, maintest", "author": "Ada"}, c8={"files": "tools", "author": "Max"}
        ),
        "row.read_file.main.code": _code("x = 1", "print(x)", "todo tidy"),
        "row.read_file.main.size": 3,
        "row.read_file.tools.code": _code("try", "except: pass"),
        "row.read_file.tools.size": 2,
        "row.read_file.maintest.code": _code("print(1)", "eval(y)"),
        "row.read_file.maintest.size": 2,
    },
    edits=(
        edit("upstream", "user.0", "Hello team,", "Dear all,", decoy=True),
        edit("upstream", "user.1", "please look at change c8.", "kindly look at change c7."),
        edit("upstream", "user.2", "Thanks!", "It is urgent.", decoy=True),
        edit("prompt", "prompt.reviewer.1", "Do not report noise.", "Do not report risk.", "Do not report danger."),
        edit("prompt", "prompt.reviewer.2", "Treat risk as grave.", "Treat noise as grave."),
        wording("reviewer", 3),
        edit("model", "model.reviewer.name", "m2", decoy=True),
        edit("prompt", "prompt.lead.1", "Accept up to 1 light findings.", "Accept up to 3 light findings."),
        edit("prompt", "prompt.lead.2", "Leave out the number."),
        wording("lead", 3),
        edit("upstream", "code.read_file+reviewer+lead.tests", "reviewed"),
        edit("upstream", "code.lead.doubles", "dropped", decoy=True),
        edit("tool", "row.list_files.c7.files", "main, tools, main", "main"),
        edit("tool", "row.list_files.c7.author", "Eve", decoy=True),
        edit("tool", "row.read_file.main.code", _code("x = 1", "eval(x)"), _code("x = 2", "print(x)", "todo tidy")),
        edit("tool", "row.read_file.tools.code", _code("try", "raise"), _code("except: pass", "except: pass")),
        edit("tool", "row.read_file.tools.size", 4, decoy=True),
        *sampling("reviewer", "lead"),
    ),
)

STUDIES: Final[tuple[Program, ...]] = (_RESEARCH, _SPEECH, _PULL)
