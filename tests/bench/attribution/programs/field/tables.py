"""Data agents: SQL that is corrected after database errors, and a tool that returns its rows in pages."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Edit,
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONObject, JSONValue

# ---- analyst: schema and question -> SQL in a fenced block; an error goes back to the model; code formats the table

_REGIONS: Final = ("north", "south", "east", "west")


def _write_sql(request: Request) -> str:
    question = find(r"^Question: (.+)$", request.last).lower()
    columns = find(r"^orders\(([^)]*)\)", request.last).split(", ")
    hints = dict(re.findall(r'no such column: (\w+); did you mean "(\w+)"', request.last))
    amount = "amount" if "amount" in columns and request.model != "m2" else "revenue"
    amount = hints.get(amount, amount)
    measure = f"SUM({amount})" if re.search(r"revenue|sales|turnover", question) else "COUNT(*)"
    if "COUNT" in request.rule(r"Example: ([^.]*)\."):
        measure = "COUNT(*)"
    group = "region" if "region" in question else "month" if "month" in question else "customer"
    where = [f"region = '{region}'" for region in _REGIONS if region in question.split()]
    where += ["state <> 'cancelled'"] if "Leave out cancelled orders." in request.system else []
    where += [f"year = {year}" for year in re.findall(r"\b(20\d\d)\b", question)]
    if not re.search(r"\b20\d\d\b", question):
        where += [f"year = {year}" for year in re.findall(r"The current year is (\d{4})\.", request.system)]
    clause = f" WHERE {' AND '.join(where)}" if where else ""
    return f"```sql\nSELECT {group}, {measure} FROM orders{clause} GROUP BY {group}\n```"


def _explain(request: Request) -> str:
    lines = re.findall(r"^\d+\. (\w+): ([\d.,-]+)$", request.last, re.MULTILINE)
    if not lines:
        return "The database returned no rows."
    values = {name: float(value.replace(",", "")) for name, value in lines}
    best = max(values, key=lambda name: values[name])
    if "Name the weakest, too." in request.system:
        worst = min(values, key=lambda name: values[name])
        return f"{best} leads with {values[best]:,.0f}, {worst} is last with {values[worst]:,.0f}."
    return f"{best} leads with {values[best]:,.0f}."


def _analyst(runtime: Runtime) -> str:
    schema = fields(runtime.tool("describe_table", {"table": "orders"}))
    columns = schema.get("columns")
    listing = ", ".join(str(column) for column in columns) if isinstance(columns, list) else ""
    text, error, result = user(runtime.settings), "", dict[str, JSONValue]()
    for _ in range(3):
        answer = say(runtime, "sql", f"Schema:\norders({listing})\nQuestion: {text}{error}")
        statement = find(r"```sql\n(.+?)\n```", answer)
        result = fields(runtime.tool("run_sql", {"statement": statement}))
        if "error" not in result:
            break
        error = f"\nThe statement `{statement}` failed: {result['error']}"
    else:
        return "The question could not be turned into a valid statement."
    table = result.get("rows")
    pairs = [(str(row[0]), real(row[1])) for row in table if isinstance(row, list)] if isinstance(table, list) else []
    pairs.sort(key=lambda pair: -pair[1])
    body = "\n".join(f"{place}. {name}: {value:,.2f}" for place, (name, value) in enumerate(pairs[:3], 1))
    summary = say(runtime, "explainer", f"Question: {text}\nTop rows:\n{body}")
    share = 100 * pairs[0][1] / total if (total := sum(value for _, value in pairs)) else 0.0
    return f"{summary} Share: {share:.0f} %."


def _sql_rows(*statements: tuple[str, list[JSONValue]]) -> dict[str, JSONValue]:
    return {f"row.run_sql.{statement}.rows": table for statement, table in statements}


_BY_REGION: Final = "SELECT region, SUM(amount) FROM orders"
_NORTH: Final = "SELECT customer, SUM(amount) FROM orders"
_LIVE: Final = "WHERE state <> 'cancelled' AND year = 2025 GROUP BY region"
_ALL: Final = "WHERE year = 2025 GROUP BY region"
_2024: Final = "WHERE state <> 'cancelled' AND year = 2024 GROUP BY region"

_ANALYST: Final = Program(
    name="sales analyst",
    group="corrected SQL",
    most=4,
    program=_analyst,
    final="explainer",
    model=model_of({"SQL writer": _write_sql, "explainer": _explain}),
    menu=(),
    settings={
        **prompts(
            sql=(
                "You are the SQL writer. Return one SELECT statement in a fenced block.",
                "Leave out cancelled orders.",
                "The current year is 2025.",
                'Example: "Who bought most?" is SELECT customer, SUM(amount) FROM orders GROUP BY customer.',
                "",
            ),
            explainer=("You are the explainer. Say in one sentence what the rows show.", "", ""),
        ),
        "user.0": "Which region has the most sales?",
        "user.1": "",
        "row.describe_table.orders.columns": ["customer", "region", "amount", "state", "year", "month"],
        "row.describe_table.orders.owner": "finance",
        **_sql_rows(
            (f"{_BY_REGION} {_LIVE}", [["north", 81250], ["south", 90410.5], ["east", 40210], ["west", 12000]]),
            (f"{_BY_REGION} {_ALL}", [["north", 99250], ["south", 90410.5], ["east", 40210], ["west", 15500]]),
            (f"{_BY_REGION} {_2024}", [["north", 70000], ["south", 64000], ["east", 66000], ["west", 9000]]),
            (
                "SELECT region, COUNT(*) FROM orders WHERE state <> 'cancelled' AND year = 2025 GROUP BY region",
                [["north", 310], ["south", 207], ["east", 188], ["west", 44]],
            ),
            (
                f"{_NORTH} WHERE region = 'north' AND state <> 'cancelled' AND year = 2025 GROUP BY customer",
                [["Brøgger", 31200], ["Łącki", 50050]],
            ),
        ),
        f"row.run_sql.SELECT region, SUM(revenue) FROM orders {_LIVE}.error": (
            'no such column: revenue; did you mean "amount"?'
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Which region had the most sales in 2024?",
            "Which region has the most orders?",
            "In which region is the turnover highest?",
        ),
        edit("upstream", "user.1", "It is for the board.", "Please hurry.", decoy=True),
        edit("prompt", "prompt.sql.1", "", "Cancelled orders count."),
        edit("prompt", "prompt.sql.2", "The current year is 2024.", "The present year is 2025."),
        edit(
            "prompt",
            "prompt.sql.3",
            'Example: "Who bought most?" is SELECT customer, COUNT(*) FROM orders GROUP BY customer.',
            'Example: "Who paid most?" is SELECT customer, SUM(amount) FROM orders GROUP BY customer.',
        ),
        wording("sql", 4),
        edit("model", "model.sql.name", "m2", decoy=True),
        edit("prompt", "prompt.explainer.1", "Name the weakest, too."),
        wording("explainer", 2),
        edit(
            "tool",
            f"row.run_sql.{_BY_REGION} {_LIVE}.rows",
            [["south", 90410.5], ["north", 81250], ["west", 12000], ["east", 40210]],
            [["north", 91250], ["south", 90410.5], ["east", 40210], ["west", 12000]],
            [["north", 81250], ["south", 90410.5], ["east", 140210], ["west", 12000]],
        ),
        edit(
            "tool",
            f"row.run_sql.{_BY_REGION} {_ALL}.rows",
            [["north", 99250], ["south", 99990.5], ["east", 40210], ["west", 15500]],
            decoy=True,
        ),
        edit(
            "tool",
            "row.describe_table.orders.columns",
            ["customer", "region", "revenue", "state", "year", "month"],
            ["customer", "region", "amount", "state", "year", "month", "note"],
            decoy=True,
        ),
        edit("tool", f"row.run_sql.{_BY_REGION} {_LIVE}.error", "canceling statement due to statement timeout"),
        edit("tool", "row.describe_table.orders.owner", "controlling", decoy=True),
        edit("model", "model.explainer.max_tokens", 3),
        *sampling("sql", "explainer"),
    ),
)

# ---- tickets: the model follows cursors until it has seen enough; tools can be renamed; pages can fail

_PURPOSES: Final = {"list": "Lists tickets, one page per call.", "owner": "Tells who looks after a queue."}


def _count_tickets(request: Request) -> str | ToolCall:
    lister, owners = request.tool("one page per call"), request.tool("looks after")
    pages = [result for result in request.results if "tickets" in result]
    failures = [result for result in request.results if "error" in result]
    following = str(pages[-1].get("next", "")) if pages else "first"
    limit = int(request.rule(r"Read at most (\d+) pages\.", "9"))
    described = next((str(schema.get("description")) for schema in request.tools if schema.get("name") == lister), "")
    limit = min(limit, number(r"Returns (\d+) pages at most", described, 9))
    retries = int(request.rule(r"Try a page again (\d) times?\.", "0"))
    if len(failures) > retries:
        return f"Only {len(pages)} pages could be read."
    if lister and following and len(pages) < limit:
        return lister, {"cursor": "first-again" if failures and not pages else following, "size": "3"}
    tickets = [ticket for page in pages for ticket in items(page["tickets"])]
    urgent = [ticket for ticket in tickets if ticket.get("priority") in _levels(request)]
    queues = [str(ticket.get("queue")) for ticket in urgent]
    top = max(sorted(set(queues)), key=queues.count, default="none")
    owner = next((result for result in request.results if "person" in result), None)
    if owner is None and owners and top != "none":
        return owners, {"queue": top}
    oldest = min((str(ticket.get("opened")) for ticket in urgent), default="never")
    person = str(owner.get("person")) if owner else "nobody"
    return f"{len(urgent)} urgent tickets; most in {top} ({person}); the oldest is from {oldest}."


def _levels(request: Request) -> tuple[str, ...]:
    return ("urgent", "high") if "High counts as urgent." in request.system else ("urgent",)


def _tickets(runtime: Runtime) -> str:
    tools: list[JSONValue] = [
        tool(
            str(runtime.settings["tool.list"]), f"{_PURPOSES['list']}{runtime.settings['tool.limit']}", "cursor", "size"
        ),
        tool(str(runtime.settings["tool.owner"]), _PURPOSES["owner"], "queue"),
    ]
    talk: list[JSONValue] = [user_message(user(runtime.settings))]
    for _ in range(8):
        message = runtime.model("counter", [system_message(runtime, "counter"), *talk], tools)
        talk.append(message)
        calls = items(message.get("tool_calls"))
        if not calls:
            break
        for call in calls:
            result = runtime.tool(str(call["name"]), fields(call["arguments"]), str(call["id"]))
            content = json.dumps(result, ensure_ascii=False, sort_keys=True)
            talk.append({"role": "tool", "content": content, "tool_call_id": call["id"]})
    answer = text_of(talk[-1])
    urgent = number(r"^(\d+) urgent", answer)
    return f"{'ALERT' if urgent > 3 else 'Report'}: {answer}"


def _ticket(number: int, priority: str, queue: str, opened: str) -> JSONObject:
    return {"id": f"T-{number}", "priority": priority, "queue": queue, "opened": opened, "title": "It does not work"}


def _page(cursor: str, following: str, *tickets: JSONObject) -> dict[str, JSONValue]:
    page: dict[str, JSONValue] = {f"row.list_tickets.{cursor}.tickets": list(tickets)}
    page |= {f"row.list_tickets.{cursor}.next": following, f"row.list_tickets.{cursor}.total": 8}
    return page | {path.replace("list_tickets", "tickets_list", 1): value for path, value in page.items()}


_SECOND: Final = (
    _ticket(14, "urgent", "mail", "2026-04-02"),
    _ticket(15, "high", "network", "2026-04-01"),
    _ticket(16, "low", "mail", "2026-03-28"),
)


def _second(*tickets: JSONObject) -> tuple[tuple[str, JSONValue], ...]:
    return tuple((f"row.{name}.p2.tickets", list(tickets)) for name in ("list_tickets", "tickets_list"))


_TICKETS: Final = Program(
    name="ticket counter",
    group="cursors",
    most=4,
    program=_tickets,
    final="counter",
    model=model_of({"counter": _count_tickets}),
    menu=(),
    settings={
        **prompts(
            counter=(
                "You are the counter. Read the pages and report on urgent tickets.",
                "Read at most 5 pages.",
                "Try a page again 1 time.",
                "",
                "",
            )
        ),
        "user.0": "How many urgent tickets are there today?",
        "user.1": "",
        "tool.list": "list_tickets",
        "tool.owner": "queue_owner",
        "tool.limit": " Sorted by number.",
        **_page(
            "first",
            "p2",
            _ticket(11, "urgent", "mail", "2026-04-03"),
            _ticket(12, "low", "printing", "2026-04-03"),
            _ticket(13, "urgent", "network", "2026-04-02"),
        ),
        **_page(
            "first-again",
            "p2",
            _ticket(11, "urgent", "mail", "2026-04-03"),
            _ticket(12, "low", "printing", "2026-04-03"),
            _ticket(13, "urgent", "network", "2026-04-02"),
        ),
        **_page("p2", "p3", *_SECOND),
        **_page("p3", "", _ticket(17, "high", "network", "2026-03-27"), _ticket(18, "low", "mail", "2026-03-20")),
        **rows("queue_owner", mail={"person": "Ines", "phone": "41"}, network={"person": "Győző", "phone": "42"}),
        **rows("owner_of", mail={"person": "Ines", "phone": "41"}, network={"person": "Győző", "phone": "42"}),
    },
    edits=(
        edit("upstream", "user.0", "Count the urgent tickets, please.", decoy=True),
        edit("upstream", "user.1", "I need it by noon.", "The last report was wrong.", decoy=True),
        edit("prompt", "prompt.counter.1", "Read at most 1 pages.", "Read at most 2 pages."),
        edit("prompt", "prompt.counter.2", "Try a page again 3 times.", ""),
        edit("prompt", "prompt.counter.3", "High counts as urgent."),
        wording("counter", 4),
        edit("tool", "tool.list", "tickets_list", decoy=True),
        edit("tool", "tool.owner", "owner_of", decoy=True),
        edit("tool", "tool.limit", " Returns 1 pages at most.", " Returns 4 pages at most.", " Sorted by age."),
        Edit(
            category="tool",
            variants=(
                _second(_SECOND[0], _ticket(15, "urgent", "network", "2026-04-01"), _SECOND[2]),
                _second(_SECOND[2], _SECOND[1], _SECOND[0]),
                _second(_ticket(14, "low", "mail", "2026-04-02"), *_SECOND[1:]),
            ),
        ),
        edit("tool", "row.list_tickets.first.total", 9, 11, decoy=True),
        edit("tool", "row.list_tickets.first.error", "429 rate limit, retry after 2 s"),
        edit("tool", "row.list_tickets.p2.next", "", "p9"),
        edit("tool", "row.queue_owner.mail.person", "Noé"),
        edit("tool", "row.queue_owner.mail.phone", "47", decoy=True),
        *sampling("counter"),
    ),
)

TABLES: Final = (_ANALYST, _TICKETS)
