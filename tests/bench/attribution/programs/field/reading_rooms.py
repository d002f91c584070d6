"""Research: retrieval with query rewriting, re-ranking and citations, and a browser that reads long pages in parts."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
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

# ---- handbook: chat history -> two queries -> merged hits -> scores -> two passages -> answer -> footnotes

_LEAVE: Final = (
    "Parental leave. Employees who become parents may take {weeks} weeks of paid leave within the first two years "
    "after the birth or adoption. The leave may be split into at most {parts} parts. A request is sent to the people "
    "team {notice} weeks ahead. During the leave the salary is paid at {share} percent. The rules apply to all "
    "contracts, also to part-time and temporary ones, unless the law of the country is more generous."
)
_TRAVEL: Final = (
    "Travel. Trains are preferred to planes for journeys under six hours. Hotels are booked through the portal. The "
    "daily allowance abroad is {allowance} euros. Receipts are handed in within thirty days. Employees on leave do not "
    "travel for the company."
)


def _rewrite(request: Request) -> str:
    history, _, question = request.last.rpartition("\nNow: ")
    words = [word for word in re.findall(r"[a-z-]+", question.lower()) if len(word) > 3]
    if "Resolve references with the history." in request.system:
        words += [word for word in ("parental", "travel", "sick") if word in history.lower()]
    second = "weeks salary percent notice" if request.model == "m1" else "allowance receipts"
    return f'{{"queries": ["{" ".join(words)}", "{words[-1] if words else "leave"} {second}"]}}'


def _score(request: Request) -> str:
    question = request.last.partition("\n")[0].lower()
    lines = []
    for name, year, text in re.findall(r"^\[([\w-]+)\] \((\d{4})\S*\) (.+)$", request.last, re.MULTILINE):
        score = 3 * sum(word in text.lower() for word in re.findall(r"[a-z]{5,}", question))
        if "Prefer recent documents." in request.system:
            score += int(year) - 2020
        if "Ignore drafts." in request.system and "draft" in text.lower():
            score = 0
        lines.append(f"{name}: {score}")
    return "\n".join(lines)


def _cite(request: Request) -> str:
    question, _, passages = request.last.partition("\nPassages:\n")
    numbered = re.findall(r"^\[(\d)\] (.+)$", passages, re.MULTILINE)
    topics = (("weeks of", r"(\d+) weeks of paid leave"), ("percent", r"at (\d+) percent"), ("euros", r"(\d+) euros"))
    wanted = ("percent",) if re.search(r"paid|salary", question.lower()) else ("weeks of",)
    wanted = ("euros",) if "allowance" in question.lower() else wanted
    claims = [
        f"{value} {unit.split()[0]} [{mark}]"
        for unit, pattern in topics
        if unit in wanted
        for mark, text in numbered
        for value in [find(pattern, text)]
        if value
    ]
    if not claims:
        return "The handbook does not say."
    if "Name every source." in request.system:
        return f"The handbook says {' and '.join(claims)}."
    return f"The handbook says {claims[0]}."


def _handbook(runtime: Runtime) -> str:
    history = f"{runtime.settings['turn.0']}\n{runtime.settings['turn.1']}"
    question = user(runtime.settings)
    queries = json_in(say(runtime, "rewriter", f"{history}\nNow: {question}")).get("queries")
    hits: dict[str, str] = {}
    for query in queries if isinstance(queries, list) else [question]:
        for text in runtime.retrieve("handbook", str(query), 3):
            hits.setdefault(text[1 : text.index("]")], text)
    scores = say(runtime, "ranker", f"{question}\n" + "\n".join(hits.values()))
    ranks = {name: int(score) for name, score in re.findall(r"^([\w-]+): (\d+)$", scores, re.MULTILINE)}
    top = sorted(hits, key=lambda name: (-ranks.get(name, 0), name))[:2]
    passages = "\n".join(f"[{place}] {hits[name].partition(') ')[2]}" for place, name in enumerate(top, 1))
    answer = say(runtime, "librarian", f"{question}\nPassages:\n{passages}")
    marks = sorted(set(re.findall(r"\[(\d)\]", answer)))
    notes = "; ".join(f"{mark}: {top[int(mark) - 1]}" for mark in marks if int(mark) <= len(top))
    return f"{answer} ({notes})" if notes else answer


_HANDBOOK: Final = Program(
    name="handbook answers",
    group="re-ranked citations",
    most=5,
    program=_handbook,
    final="librarian",
    model=model_of({"query writer": _rewrite, "ranker": _score, "librarian": _cite}),
    menu=(),
    settings={
        **prompts(
            rewriter=(
                "You are the query writer. Return two search queries as JSON.",
                "Resolve references with the history.",
                "",
            ),
            ranker=(
                "You are the ranker. Give every document a score, one per line.",
                "Prefer recent documents.",
                "Ignore drafts.",
                "",
            ),
            librarian=("You are the librarian. Answer only from the passages and cite them.", "", "", ""),
        ),
        "user.0": "And how many weeks would I get, if I took it now?",
        "user.1": "",
        "turn.0": "User: I have a question about parental leave.",
        "turn.1": "Assistant: Of course, what would you like to know?",
        "doc.leave-2023.date": "2023-02-01",
        "doc.leave-2023.text": _LEAVE.format(weeks=14, parts=2, notice=8, share=80),
        "doc.leave-2025.date": "2025-01-15",
        "doc.leave-2025.text": _LEAVE.format(weeks=18, parts=3, notice=8, share=90),
        "doc.leave-2026.date": "2026-01-10",
        "doc.leave-2026.text": "DRAFT. " + _LEAVE.format(weeks=22, parts=4, notice=6, share=100),
        "doc.travel.date": "2025-06-30",
        "doc.travel.text": _TRAVEL.format(allowance=62),
        "doc.sick.date": "2024-03-03",
        "doc.sick.text": "Sick leave. Tell your lead before nine. A note is needed from the fourth day. The salary is "
        "paid in full for six weeks.",
        "doc.notice.date": "2024-11-05",
        "doc.notice.text": "Notice. Four weeks in the first year, six weeks in the second, eight weeks later; the "
        "weeks count from Monday.",
        "doc.bikes.date": "2022-08-08",
        "doc.bikes.text": "Bikes. The company leases bikes; the rate is taken from the salary each month.",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "And how many weeks do I get?",
            "And how much of my salary is paid?",
            "What is the daily allowance on a journey abroad?",
        ),
        edit("upstream", "user.1", "Thanks!", "Sorry to ask again.", decoy=True),
        edit("upstream", "turn.0", "User: I have a question about sick leave.", "User: Parental leave, please."),
        edit("upstream", "turn.1", "Assistant: Sure, go ahead.", decoy=True),
        edit("prompt", "prompt.rewriter.1", "Write short queries.", ""),
        wording("rewriter", 2),
        edit("model", "model.rewriter.name", "m2"),
        edit("prompt", "prompt.ranker.1", "Prefer precise documents.", ""),
        edit("prompt", "prompt.ranker.2", "Ignore documents without a title.", ""),
        wording("ranker", 3),
        edit("prompt", "prompt.librarian.1", "Name every source."),
        edit("prompt", "prompt.librarian.2", "Never guess.", "Use plain words.", decoy=True),
        edit("retrieval", "doc.leave-2025.text", _LEAVE.format(weeks=20, parts=3, notice=8, share=90)),
        edit("retrieval", "doc.leave-2025.date", "2021-01-15", "2025-02-15"),
        edit(
            "retrieval",
            "doc.leave-2026.text",
            _LEAVE.format(weeks=22, parts=4, notice=6, share=100),
            "DRAFT, not in force. " + _LEAVE.format(weeks=24, parts=4, notice=6, share=100),
        ),
        edit("retrieval", "doc.leave-2023.text", _LEAVE.format(weeks=14, parts=2, notice=12, share=80), decoy=True),
        edit("retrieval", "doc.travel.text", _TRAVEL.format(allowance=70), decoy=True),
        edit("retrieval", "doc.bikes.text", "Bikes. Parental trailers can be leased, too.", decoy=True),
        *sampling("rewriter", "ranker", "librarian"),
    ),
)

# ---- browser: search, open a page in parts of a fixed length, scroll until the figure shows, answer

_PART: Final = 420
_TOOLS: Final[list[JSONValue]] = [
    tool("web_search", "Search the web.", "query"),
    tool("open_page", "Open a page; long pages are cut.", "address", "part"),
]
_NAVIGATION: Final = "Home · News · About us · Contact · Accept all cookies · Subscribe to our letter · "
_FILLER: Final = (
    "The harbour of Fiskevik lies at the end of the fjord. It was built in 1897 and widened twice. In winter the boat "
    "runs on weekdays only; in summer it runs every day and carries bicycles. Dogs travel on the open deck. The "
    "crossing is calm in most weeks of the year. The café on board sells soup, waffles and coffee. "
)


def _browse(request: Request) -> str | ToolCall:
    place = find(r"ferry to (\w+)", request.spoken, "Fiskevik")
    if "web_search" not in request.called:
        season = " winter" if "Search for the season, too." in request.system else ""
        return "web_search", {"query": f"ferry {place}{season}"}
    hits = [hit for result in request.results[:1] for hit in items(result.get("hits"))]
    blocked = re.findall(r"Do not open (\w+)\.", request.system)
    hits = [hit for hit in hits if str(hit.get("site")) not in blocked] or [{"address": "none"}]
    if "Prefer official sites." in request.system:
        hits.sort(key=lambda hit: not hit.get("official"))
    page = str(hits[0].get("address"))
    parts = [result for result in request.results[1:] if "text" in result]
    text = " ".join(str(part["text"]) for part in parts)
    child = "child" in request.spoken.lower()
    price = find(r"[Cc]hildren pay NOK (\d+)" if child else r"[Aa]dults pay NOK (\d+)", text)
    patience = int(request.rule(r"Read at most (\d+) parts\.", "2"))
    if not price and len(request.results) - 1 < patience and not any(part.get("end") for part in parts):
        return "open_page", {"address": page, "part": str(len(request.results))}
    if not price:
        return f"I could not find the price on {page}."
    count = number(r"(\d) of us", request.spoken, 1)
    sail = find(r"last boat leaves at (\d\d[.:]\d\d)", text)
    last = f", last boat {sail}" if sail and request.model != "m1-mini" else ""
    return f"NOK {int(price) * count} in total{last} ({page})"


def _page_part(result: JSONValue, part: int) -> JSONObject:
    """Cut a page as the browser tool of the agent does."""
    page = fields(result)
    if "error" in page:
        return {"error": page["error"]}
    text = _NAVIGATION + str(page.get("text"))
    cut = text[(part - 1) * _PART : part * _PART]
    more = max(0, -(-len(text) // _PART) - part)
    return {"text": cut, "end": True} if not more else {"text": f"{cut} … [cut, {more} more]", "more": more}


def _browser(runtime: Runtime) -> str:
    conversation: list[JSONValue] = [user_message(user(runtime.settings))]
    for _ in range(8):
        message = runtime.model("browser", [system_message(runtime, "browser"), *conversation], _TOOLS)
        conversation.append(message)
        calls = items(message.get("tool_calls"))
        if not calls:
            break
        for call in calls:
            arguments = fields(call["arguments"])
            result = runtime.tool(str(call["name"]), arguments, str(call["id"]))
            if call["name"] == "open_page":
                result = _page_part(result, int(real(arguments.get("part"), 1)))
            conversation.append(_observation(result, str(call["id"])))
    return text_of(conversation[-1]) or "No answer after eight steps."


def _observation(result: JSONValue, call_id: str) -> JSONObject:
    return {"role": "tool", "content": json.dumps(result, ensure_ascii=False), "tool_call_id": call_id}


def _page(adults: int, children: int, boat: str, paragraphs: int) -> str:
    prices = f"Adults pay NOK {adults} and children pay NOK {children} each way. "
    return _FILLER * paragraphs + prices.replace(" and c", ". C") + f"The last boat leaves at {boat}. " + _FILLER


_BROWSER: Final = Program(
    name="ferry browser",
    group="pages in parts",
    most=4,
    program=_browser,
    final="browser",
    model=model_of({"browser": _browse}),
    menu=(),
    settings={
        **prompts(
            browser=(
                "You are the browser. Use the tools and answer in one line with the address.",
                "Read at most 4 parts.",
                "Prefer official sites.",
                "",
                "",
            )
        ),
        "user.0": "What does the ferry to Fiskevik cost? There are 3 of us.",
        "user.1": "",
        "row.web_search.ferry Fiskevik.hits": [
            {"title": "Fiskevik – Wikivoyage", "address": "wikivoyage/fiskevik", "site": "wikivoyage"},
            {"title": "Fjordbåtene: Fiskevik", "address": "fjordboat/fiskevik", "site": "fjordboat", "official": True},
            {"title": "Ferry tips", "address": "tips/ferries", "site": "tips"},
        ],
        "row.web_search.ferry Fiskevik winter.hits": [
            {"title": "Ferry tips", "address": "tips/ferries", "site": "tips"},
            {"title": "Fjordbåtene: Fiskevik", "address": "fjordboat/fiskevik", "site": "fjordboat", "official": True},
        ],
        "row.open_page.wikivoyage/fiskevik.text": _page(110, 50, "19:15", 0),
        "row.open_page.fjordboat/fiskevik.text": _page(128, 64, "20:40", 3),
        "row.open_page.fjordboat/fiskevik.visited": "2026-02-03T10:15:00Z",
        "row.open_page.tips/ferries.text": "Ferries are fun. " + _page(99, 40, "18:00", 0),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "What does the ferry to Fiskevik cost? There are 4 of us.",
            "What does the ferry to Fiskevik cost for a child?",
            "How much is the ferry to Fiskevik? There are 3 of us.",
        ),
        edit("upstream", "user.1", "We travel on a Sunday.", "Tusen takk!", decoy=True),
        edit("prompt", "prompt.browser.1", "Read at most 2 parts.", "Read at most 6 parts."),
        edit("prompt", "prompt.browser.2", "", "Prefer short pages."),
        edit("prompt", "prompt.browser.3", "Do not open fjordboat.", "Do not open wikivoyage."),
        wording("browser", 4),
        edit("model", "model.browser.name", "m1-mini"),
        edit("model", "model.browser.max_tokens", 200, 1000, decoy=True),
        edit("tool", "row.open_page.fjordboat/fiskevik.text", _page(134, 64, "20:40", 3), _page(128, 70, "20:40", 4)),
        edit("tool", "row.open_page.fjordboat/fiskevik.visited", "2026-02-04T08:00:00Z", decoy=True),
        edit("tool", "row.open_page.wikivoyage/fiskevik.text", _page(115, 50, "19:15", 0), decoy=True),
        edit(
            "tool",
            "row.web_search.ferry Fiskevik.hits",
            [
                {"title": "Fjordbåtene: Fiskevik", "address": "fjordboat/fiskevik", "site": "fjordboat"},
                {"title": "Ferry tips", "address": "tips/ferries", "site": "tips"},
            ],
            [
                {"title": "Fiskevik – Wikivoyage", "address": "wikivoyage/fiskevik", "site": "wikivoyage"},
                {"title": "Fjordbåtene: Fiskevik", "address": "fjordboat/fiskevik", "site": "fjordboat"},
            ],
        ),
        edit("tool", "row.open_page.fjordboat/fiskevik.error", "timeout after 30000 ms"),
        *sampling("browser"),
    ),
)

READING_ROOMS: Final = (_HANDBOOK, _BROWSER)
