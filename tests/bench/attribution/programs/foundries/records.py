"""A table that code parses and merges by names from a mapper, and passages that code dates, cuts and has checked."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- table cleaning: a mapper names the columns, code parses, merges and averages, an auditor flags, a reporter tells


def _mapper(request: Request) -> str:
    columns = find(r"^Columns: (.+)$", request.last).split(", ")
    wanted = request.rule(r"The amount is in (\w+)\.", "paid")
    amount = next((name for name in columns if name.startswith(wanted)), columns[-1])
    person = "mail" if "mail" in columns and request.model != "m2" else columns[0]
    return json.dumps({"person": person, "amount": amount})


def _auditor(request: Request) -> str:
    pairs = re.findall(r"^(\S+)\t(-?[\d.]+)$", request.last, re.MULTILINE)
    limit = float(request.rule(r"Flag above (\d+)\.", "500"))
    flagged = [who for who, amount in pairs if float(amount) > limit]
    if "Flag refunds." in request.system:
        flagged += [who for who, amount in pairs if float(amount) < 0]
    return f"FLAG {', '.join(flagged) or 'nobody'}"


def _reporter(request: Request) -> str:
    facts = json_in(request.last)
    unit = request.rule(r"Amounts are in (\w+)\.", "francs")
    flagged = facts.get("flagged")
    tail = f" Check {flagged}." if flagged != "nobody" and "Name the flagged." in request.system else ""
    return f"{facts.get('rows')} customers paid {facts.get('mean')} {unit} on average.{tail}"


def _amount(text: str, comma: str) -> float | None:
    text = text.replace(".", "").replace(",", ".") if comma == "decimal" else text.replace(",", "")
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else None


def _clean(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"table (\w+)", user(settings), "orders")
    table = fields(runtime.tool("load_table", {"name": name}))
    columns = str(table.get("columns"))
    mapping = json_in(say(runtime, "mapper", f"Table: {name}\nColumns: {columns}"))
    person, amount = str(mapping.get("person")), str(mapping.get("amount"))
    totals: dict[str, float] = {}
    for row in items(table.get("rows")):
        key = str(row.get(person, "?")).strip()
        key = key.casefold() if settings["code.auditor.case"] == "folded" else key
        value = _amount(str(row.get(amount, "")), str(settings["code.auditor.comma"]))
        if value is None and settings["code.auditor.gaps"] == "skipped":
            continue
        merged = totals.get(key, 0.0) if settings["code.auditor.merge"] == "sum" else 0.0
        totals[key] = merged + (value or 0.0)
    lines = [f"{key}\t{value:.2f}" for key, value in totals.items()]
    flagged = find(r"FLAG (.+)$", say(runtime, "auditor", "\n".join(lines)), "nobody").strip()
    kept = {key: value for key, value in totals.items() if key not in flagged.split(", ")}
    chosen = kept if settings["code.reporter.outliers"] == "out" else totals
    values = sorted(chosen.values())
    if not values:
        return "The table is empty."
    mean = values[len(values) // 2] if settings["code.reporter.average"] == "median" else sum(values) / len(values)
    facts: JSONObject = {"rows": len(values), "mean": round(mean, 2), "flagged": flagged}
    return say(runtime, "reporter", json.dumps(facts))


def _orders(*entries: tuple[str, str, str]) -> list[JSONValue]:
    return [{"name": name, "mail": mail, "paid": paid, "tip": "1"} for name, mail, paid in entries]


_ORDERS: Final = (
    ("Cleo", "cleo@x.ch", "120,50"),
    ("Cleo", "Cleo@x.ch ", "80,00"),
    ("Dora", "dora@x.ch", "1.200,00"),
    ("Emil", "emil@x.ch", "60,25"),
    ("Finn", "finn@x.ch", "n/a"),
    ("Gus", "gus@x.ch", "-30,00"),
)
_CLEANING: Final = Program(
    name="table cleaning",
    group="rows merged and averaged",
    program=_clean,
    final="reporter",
    model=model_of({"mapper": _mapper, "auditor": _auditor, "reporter": _reporter}),
    menu=(),
    settings={
        **prompts(
            mapper=("You are the mapper. Map the columns.", "The amount is in paid.", ""),
            auditor=("You are the auditor. Flag odd ones.", "Flag above 900.", "", ""),
            reporter=("You are the reporter. Report.", "Amounts are in francs.", "Name the flagged.", ""),
        ),
        "user.0": "Clean the table orders.",
        "user.1": "",
        "code.auditor.case": "folded",
        "code.auditor.comma": "decimal",
        "code.auditor.gaps": "skipped",
        "code.auditor.merge": "sum",
        "code.reporter.outliers": "out",
        "code.reporter.average": "mean",
        **rows(
            "load_table",
            orders={"columns": "name, mail, paid, tip", "rows": _orders(*_ORDERS), "owner": "Hana"},
            gifts={"columns": "name, paid", "rows": _orders(("Ida", "ida@x.ch", "40,00")), "owner": "Jon"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Clean the table gifts."),
        edit("upstream", "user.1", "I need it for the board.", "Take your time.", decoy=True),
        edit("prompt", "prompt.mapper.1", "The amount is in tip."),
        wording("mapper", 2),
        edit("model", "model.mapper.name", "m2"),
        edit("prompt", "prompt.auditor.1", "Flag above 100.", "Flag above 2000."),
        edit("prompt", "prompt.auditor.2", "Flag refunds."),
        wording("auditor", 3),
        edit("prompt", "prompt.reporter.1", "Amounts are in euros."),
        edit("prompt", "prompt.reporter.2", "Name nobody."),
        wording("reporter", 3),
        edit("upstream", "code.auditor.case", "kept"),
        edit("upstream", "code.auditor.comma", "thousands"),
        edit("upstream", "code.auditor.gaps", "zero"),
        edit("upstream", "code.auditor.merge", "last"),
        edit("upstream", "code.reporter.outliers", "in"),
        edit("upstream", "code.reporter.average", "median"),
        edit(
            "tool", "row.load_table.orders.rows", _orders(*_ORDERS[:5]), _orders(*_ORDERS, ("Kai", "kai@x.ch", "15,00"))
        ),
        edit("tool", "row.load_table.orders.owner", "Lea", decoy=True),
        *sampling("mapper", "auditor", "reporter"),
    ),
)

# ---- policy desk: a search, code drops old passages and cuts the rest, a clerk answers, a checker marks the answer


def _policy_clerk(request: Request) -> str:
    passages = re.findall(r"^## (\w+)\n(.+)$", request.last, re.MULTILINE)
    days = [(name, found) for name, text in passages if (found := find(r"(\d+) days", text))]
    if not days:
        return "Our policies do not say."
    name, count = max(days, key=lambda entry: int(entry[1])) if "Be generous." in request.system else days[0]
    if request.model == "m2":
        name, count = days[-1]
    cited = f" See {name}." if "Cite it." in request.system else ""
    return f"You may return it within {count} days.{cited}"


def _checker(request: Request) -> str:
    answer, sources = find(r"^ANSWER: (.+)$", request.last), request.last.partition("SOURCES:")[2]
    numbers = re.findall(r"\d+", answer)
    mark = 9 if numbers and all(word in sources for word in numbers) else 4
    if "See" in answer:
        mark -= int(request.rule(r"Take off (\d) for a citation\.", "0"))
    return f"MARK {mark}"


def _policy(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    found = runtime.retrieve("policies", question, int(real(settings["search.top_k"], 3)))
    passages: list[tuple[str, str, int]] = []
    for text in found:
        year = number(r"\((\d{4})", text)
        if year >= int(real(settings["code.clerk.since"])):
            body = text.partition(") ")[2][: int(real(settings["code.clerk.cut"], 120))]
            passages.append((find(r"^\[(\w+)\]", text), body, year))
    if settings["code.clerk.order"] == "newest":
        passages.sort(key=lambda passage: -passage[2])
    heading = "## {}\n{}" if settings["code.clerk.form"] == "headings" else "{}: {}"
    shown = "\n".join(heading.format(name, body) for name, body, _ in passages)
    answer = say(runtime, "clerk", question, f"Passages:\n{shown}")
    sources = " ".join(body for _, body, _ in passages[: int(real(settings["code.checker.sources"], 9))])
    mark = number(r"MARK (\d+)", say(runtime, "checker", f"ANSWER: {answer}\nSOURCES: {sources}"), 0)
    if mark < int(real(settings["code.desk.least"], 5)):
        return "Please ask a colleague at the counter."
    return f"{answer} (as of {passages[0][2] if passages else 'today'})"


_POLICY: Final = Program(
    name="policy desk",
    group="passages cut and checked",
    program=_policy,
    final="clerk",
    model=model_of({"clerk": _policy_clerk, "checker": _checker}),
    menu=(),
    settings={
        **prompts(
            clerk=("You are the clerk. Answer from the passages.", "Be exact.", "Cite it.", ""),
            checker=("You are the checker. Mark the answer.", "Take off 1 for a citation.", ""),
        ),
        "user.0": "How many days may I return a lamp?",
        "user.1": "",
        "search.top_k": 3,
        "code.clerk.since": 2020,
        "code.clerk.cut": 120,
        "code.clerk.order": "newest",
        "code.clerk.form": "headings",
        "code.checker.sources": 9,
        "code.desk.least": 5,
        "doc.returns.date": "2023",
        "doc.returns.text": "A lamp you return must be unused; return any lamp within 30 days of the purchase.",
        "doc.lighting.date": "2021",
        "doc.lighting.text": "Every lamp has many days of light and a customer may return it within 45 days.",
        "doc.archive.date": "2016",
        "doc.archive.text": "How to return a lamp: within 10 days, said the old rule, and many days more by grace.",
        "doc.shipping.date": "2024",
        "doc.shipping.text": "Parcels arrive in 3 days by post.",
    },
    edits=(
        edit("upstream", "user.0", "How many days does a parcel need by post?"),
        edit("upstream", "user.1", "Kind regards.", decoy=True),
        edit("prompt", "prompt.clerk.1", "Be generous."),
        edit("prompt", "prompt.clerk.2", "Name no source."),
        wording("clerk", 3),
        edit("model", "model.clerk.name", "m2"),
        edit("prompt", "prompt.checker.1", "Take off 6 for a citation."),
        wording("checker", 2),
        edit("retrieval", "search.top_k", 1, 4),
        edit("upstream", "code.clerk.since", 2010, 2022, decoy=True),
        edit("upstream", "code.clerk.cut", 50),
        edit("upstream", "code.clerk.order", "as found"),
        edit("upstream", "code.clerk.form", "lines"),
        edit("upstream", "code.checker.sources", 0),
        edit("upstream", "code.desk.least", 9),
        edit("retrieval", "doc.returns.text", "A lamp you return must be unused; return any lamp within 14 days."),
        edit("retrieval", "doc.returns.date", "2020", "2018"),
        edit("retrieval", "doc.archive.text", "How to return a lamp: within 12 days, said the old rule.", decoy=True),
        *sampling("clerk", "checker"),
    ),
)

RECORDS: Final[tuple[Program, ...]] = (_CLEANING, _POLICY)
