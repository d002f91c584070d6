"""An analyst whose queries are repeated after errors, and answers from passages that a model marks one by one."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import items, tool
from tests.bench.attribution.programs.later.reading import find, number
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
from traces.core.json_types import JSONValue

# ---- loans: a tool for queries whose errors the model sees, a tool for the schema, a report of the rows


def _ask_database(request: Request) -> str | ToolCall:
    query, schema = request.tool("query"), request.tool("columns")
    table = next((name for name in ("loans", "fines") if name in request.last.lower()), "loans")
    branch = find(r"\bbranch (\w+)", request.last, "North")
    failed = "error" in request.latest_result
    if not query:
        return "I cannot query anything."
    if "run_sql" not in request.called:
        column = "due" if request.model == "m2" else request.rule(r"The date is in (\w+)\.", "due_on")
        return query, {"query": f"select title, {column} from {table} where branch = {branch}"}
    if failed and schema and schema not in request.called:
        return schema, {"table": table}
    columns = next((str(result["columns"]) for result in request.results if "columns" in result), "")
    if columns and len(request.called) < 3:
        column = columns.split(" ")[-1]
        return query, {"query": f"select title, {column} from {table} where branch = {branch}"}
    found = items(request.latest_result.get("rows"))
    lines = [f"{row.get('title')} | {row.get('value')}" for row in found]
    return "\n".join([f"Rows: {len(lines)}", *lines])


def _report(request: Request) -> str:
    lines = re.findall(r"^(.+) \| (\S+)$", request.last, re.MULTILINE)
    if not lines:
        return "Nothing is known of it."
    if "Sort by date." in request.system:
        lines.sort(key=lambda line: line[1])
    most = int(request.rule(r"List (\d) at most\.", "9"))
    text = ", ".join(f"{title} ({value})" for title, value in lines[:most])
    more = f" and {len(lines) - most} more" if len(lines) > most and "Count the rest." in request.system else ""
    start = request.rule(r"Begin with the word (\w+)\.", "Open")
    return f"{start}: {text}{more}."


def _loans(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool("run_sql", str(settings["tool.sql"]), "query")]
    if settings["tool.schema"]:
        tools.append(tool("get_schema", str(settings["tool.schema"]), "table"))
    talk = converse(runtime, "analyst", [user_message(user(settings))], tools)
    answer = text_of(talk[-1])
    if settings["code.reporter.rows"] == "first two":
        answer = "\n".join(answer.split("\n")[:3])
    return say(runtime, "reporter", f"{user(settings)}\n{answer}")


def _rows(**values: str) -> JSONValue:
    return [{"title": title, "value": value} for title, value in values.items()]


_LOANS: Final = Program(
    name="library loans",
    group="queries tried again",
    program=_loans,
    final="reporter",
    model=model_of({"analyst": _ask_database, "reporter": _report}),
    menu=(),
    settings={
        **prompts(
            analyst=("You are the analyst. Query the database.", "The date is in due_on.", "", ""),
            reporter=("You are the reporter. List what is open.", "List 2 at most.", "Count the rest.", "", ""),
        ),
        "user.0": "Good morning!",
        "user.1": "Which loans are open at branch North?",
        "user.2": "",
        "tool.sql": "Runs a query.",
        "tool.schema": "Lists the columns of a table.",
        "code.reporter.rows": "all",
        **rows("get_schema", loans={"columns": "title branch due_date"}, fines={"columns": "title branch amount"}),
        **{
            f"row.run_sql.select title, {column} from {table} where branch = {branch}.rows": table_rows
            for column, table, branch, table_rows in (
                ("due_date", "loans", "North", _rows(Emma="2026-05-09", Dune="2026-05-02", Ulysses="2026-05-06")),
                ("due_date", "loans", "South", _rows(Emma="2026-06-01", Macbeth="2026-05-30")),
                ("returned_on", "loans", "North", _rows(Persuasion="2026-04-30", Dune="2026-04-01")),
                ("amount", "fines", "North", _rows(Emma="3.50", Solaris="1.00")),
            )
        },
    },
    edits=(
        edit("upstream", "user.0", "Hello!", "Hi,", decoy=True),
        edit(
            "upstream",
            "user.1",
            "Which loans are open at branch South?",
            "Which fines are open at branch North?",
            "What loans are open at branch North?",
        ),
        edit("upstream", "user.2", "Be quick.", "Thank you.", decoy=True),
        edit("prompt", "prompt.analyst.1", "The date is in returned_on.", "The date is in due_at."),
        edit("prompt", "prompt.analyst.2", "Never guess a column.", "Use short queries.", decoy=True),
        wording("analyst", 3),
        edit("model", "model.analyst.name", "m2", decoy=True),
        edit("prompt", "prompt.reporter.1", "List 1 at most.", "List 3 at most."),
        edit("prompt", "prompt.reporter.2", "", "Count the rest. Count it twice."),
        edit("prompt", "prompt.reporter.3", "Sort by date.", "Begin with the word Due."),
        wording("reporter", 4),
        edit("tool", "tool.sql", "Executes a query.", "Runs a statement."),
        edit("tool", "tool.schema", "", "Lists columns of a table."),
        edit("upstream", "code.reporter.rows", "first two"),
        edit("tool", "row.get_schema.loans.columns", "title branch returned_on", "title branch state due_date"),
        edit(
            "tool",
            "row.run_sql.select title, due_date from loans where branch = North.rows",
            _rows(Emma="2026-05-19", Dune="2026-05-02", Ulysses="2026-05-06"),
            _rows(Emma="2026-05-09", Ulysses="2026-05-06"),
            _rows(Emma="2026-05-09", Dune="2026-05-02", Ulysses="2026-05-16"),
        ),
        edit("tool", "row.run_sql.select title, amount from fines where branch = North.rows", _rows(), decoy=True),
        *sampling("analyst", "reporter"),
    ),
)

# ---- plants: passages marked one by one, the best ones kept by code, an answer from them


def _search_words(request: Request) -> str:
    words = [word for word in re.findall(r"[a-z]+", request.last.lower()) if len(word) > 3]
    added = request.rule(r"Add the word (\w+)\.")
    return " ".join([*words, added]).strip()


def _mark(request: Request) -> str:
    question, _, passage = request.last.partition("\nPassage: ")
    words = {word for word in re.findall(r"[a-z]+", question.lower()) if len(word) > 3}
    mark = sum(word in passage.lower() for word in words)
    year = number(r"\((\d{4})", passage, 2000)
    if year >= int(request.rule(r"One more point from (\d{4}) on\.", "2100")):
        mark += 1
    if request.model == "m2":
        mark = 9 - mark
    return f"Mark: {mark}"


def _advise(request: Request) -> str:
    advice = re.findall(r"every (\d+) days", request.last)
    names = re.findall(r"^\[(\w+)\]", request.last, re.MULTILINE)
    if not advice:
        return "The guides say nothing about it."
    most = int(request.rule(r"Compare (\d) guides\.", "1"))
    text = " or ".join(f"every {days} days" for days in advice[:most])
    source = f" See {names[0]}." if "Name the first guide." in request.system and names else ""
    return f"Water it {text}.{source}"


def _plants(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    query = say(runtime, "seeker", question)
    passages = runtime.retrieve("guides", query, number(r"(\d)", str(settings["code.guides.hits"])))
    marks = [number(r"Mark: (\d)", say(runtime, "judge", f"{question}\nPassage: {text}")) for text in passages]
    order = sorted(range(len(passages)), key=lambda place: -marks[place])
    if settings["code.gardener.order"] == "as found":
        order.sort()
    kept = [passages[place] for place in order[: number(r"(\d)", str(settings["code.gardener.kept"]))]]
    return say(runtime, "gardener", f"{question}\n" + "\n".join(kept))


_PLANTS: Final = Program(
    name="plant guides",
    group="a mark for each passage",
    program=_plants,
    final="gardener",
    model=model_of({"seeker": _search_words, "judge": _mark, "gardener": _advise}),
    menu=(),
    settings={
        **prompts(
            seeker=("You are the seeker. Write search words.", "", ""),
            judge=("You are the judge. Mark one passage.", "One more point from 2025 on.", ""),
            gardener=(
                "You are the gardener. Advise from the guides.",
                "Compare 2 guides.",
                "Name the first guide.",
                "",
            ),
        ),
        "user.0": "Hi,",
        "user.1": "when should I water my fern in winter?",
        "user.2": "",
        "code.guides.hits": 3,
        "code.gardener.kept": 2,
        "code.gardener.order": "by mark",
        "doc.moss.date": "2021-02-01",
        "doc.moss.text": "Water a fern in winter: every 12 days, says the guild.",
        "doc.leaf.date": "2025-03-04",
        "doc.leaf.text": "The fern needs water every 9 days.",
        "doc.root.date": "2024-10-10",
        "doc.root.text": "In winter, water the cactus every 30 days.",
        "doc.stem.date": "2019-07-07",
        "doc.stem.text": "A fern likes shade.",
        "doc.bark.date": "2023-07-07",
        "doc.bark.text": "The orchid wants water every 7 days in summer.",
    },
    edits=(
        edit("upstream", "user.0", "Hello,", "Dear gardener,", decoy=True),
        edit(
            "upstream",
            "user.1",
            "when should I water my cactus in winter?",
            "when should I water my orchid in summer?",
            "when must I water my fern in winter?",
        ),
        edit("upstream", "user.2", "It is for my aunt.", "Thanks.", decoy=True),
        edit("prompt", "prompt.seeker.1", "Add the word summer.", "Add the word cactus."),
        wording("seeker", 2),
        edit("prompt", "prompt.judge.1", "One more point from 2024 on.", "One more point from 2030 on."),
        wording("judge", 2),
        edit("model", "model.judge.name", "m2"),
        edit("prompt", "prompt.gardener.1", "Compare 1 guides.", "Compare 3 guides."),
        edit("prompt", "prompt.gardener.2", "", "Name the first guide, please."),
        wording("gardener", 3),
        edit("model", "model.gardener.name", "m2", decoy=True),
        edit("upstream", "code.guides.hits", 1, 5),
        edit("upstream", "code.gardener.kept", 1, 3),
        edit("upstream", "code.gardener.order", "as found"),
        edit("retrieval", "doc.leaf.text", "The fern needs water every 8 days.", "Feed a fern every 40 days."),
        edit("retrieval", "doc.moss.text", "Water a fern in winter: every 14 days, says the guild."),
        edit("retrieval", "doc.moss.date", "2025-02-01", "2022-02-01", decoy=True),
        edit("retrieval", "doc.bark.text", "The orchid wants water every 5 days in summer.", decoy=True),
        *sampling("seeker", "judge", "gardener"),
    ),
)

QUERIES: Final[tuple[Program, ...]] = (_LOANS, _PLANTS)
