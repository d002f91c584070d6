"""HELD OUT: programs that measure the product, and that nobody tunes it with.

Do not read this module, run it or look at its cases while attribution is developed; figures of the full benchmark are
all that may be taken from it. Its agents have other structures and other words than those of `development`.
"""

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of, parse
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.json_types import JSONValue

# ---- a ward: a colour becomes a line of a table in the code


def _triage(request: Request) -> str:
    fever = int(next(iter(re.findall(r"(\d+) degrees", request.last)), "36"))
    limit = int(request.rule(r"Fever begins at (\d+)\.", "38"))
    colour = "red" if fever >= limit else "amber" if "cough" in request.last and request.model == "m1" else "green"
    return f"Having read this I would tag the patient {colour}."


def _nurse(request: Request) -> str:
    minutes = int(next(iter(re.findall(r"within (\d+) min", request.last)), "240"))
    lead = int(request.rule(r"Come (\d+) minutes early\.", "0"))
    return f"Please be at the ward in {max(0, minutes - lead)} minutes."


_WAITS: Final = {"red": 5, "amber": 45, "green": 120}


def _ward(runtime: Runtime) -> str:
    tag = say(runtime, "triage", user(runtime.settings))
    colour = next((name for name in _WAITS if f" {name}" in tag), "green")
    return say(runtime, "nurse", f"To be seen within {_WAITS[colour]} min. Write to the patient.")


_WARD: Final = Program(
    name="ward",
    group="looked up",
    program=_ward,
    final="nurse",
    menu=(),
    model=model_of({"triage": _triage, "nurse": _nurse}),
    settings={
        **prompts(
            triage=("You are the triage.", "Fever begins at 38.", ""),
            nurse=("You are the nurse.", "Come 2 minutes early.", ""),
        ),
        "user.0": "I have a cough and 38 degrees.",
        "user.1": "",
    },
    edits=(
        edit("prompt", "prompt.triage.1", "Fever begins at 39.", "Fever begins at 37."),
        wording("triage", 2),
        edit("prompt", "prompt.nurse.1", "Come 10 minutes early."),
        wording("nurse", 2),
        edit("model", "model.triage.name", "m2"),
        *sampling("triage", "nurse"),
        edit("upstream", "user.0", "I have a cough and 37 degrees.", "I sleep badly."),
        edit("upstream", "user.1", "I am 40 years old.", decoy=True),
    ),
)

# ---- a query: the code takes it out of its fence, and makes a table of the rows


def _analyst(request: Request) -> str:
    year = next(iter(re.findall(r"\b(20\d\d)\b", request.last)), "2024")
    column = request.rule(r"Revenue is the column (\w+)\.", "gross")
    return f"This should work:\n```sql\nselect {column} from sales where year = {year}\n```"


def _explainer(request: Request) -> str:
    cells = re.findall(r"^(\w+)\s+(\d+)$", request.last, re.MULTILINE)
    if not cells:
        return "The database gave me nothing to explain."
    chosen = (min if request.model == "m2" else max)(cells, key=lambda cell: int(cell[1]))
    tax = int(request.rule(r"Deduct (\d+) percent of tax\.", "0"))
    return f"{chosen[0].capitalize()} was strongest: {int(chosen[1]) * (100 - tax) // 100} thousand."


def _query(runtime: Runtime) -> str:
    fenced = say(runtime, "analyst", user(runtime.settings))
    query = " ".join(re.findall(r"```sql\n(.*?)\n```", fenced, re.DOTALL))
    result = runtime.tool("run_sql", {"sql": query})
    lines = [f"{name:<12}{value}" for name, value in result.items()] if isinstance(result, dict) else []
    return say(runtime, "explainer", "Explain this:\n" + "\n".join(lines))


def _sql(column: str, year: int) -> str:
    return f"row.run_sql.select {column} from sales where year = {year}"


_QUERY: Final = Program(
    name="query",
    group="parsed",
    program=_query,
    final="explainer",
    menu=(),
    model=model_of({"analyst": _analyst, "explainer": _explainer}),
    settings={
        **prompts(
            analyst=("You are the analyst.", "Revenue is the column gross.", ""),
            explainer=("You are the explainer.", "", ""),
        ),
        "user.0": "Which region was strongest in 2024?",
        "user.1": "",
        f"{_sql('gross', 2024)}.north": 410,
        f"{_sql('gross', 2024)}.south": 380,
        f"{_sql('net', 2024)}.north": 290,
        f"{_sql('net', 2024)}.south": 333,
        f"{_sql('gross', 2023)}.north": 350,
        f"{_sql('gross', 2023)}.south": 372,
        f"{_sql('net', 2023)}.north": 201,
        f"{_sql('net', 2023)}.south": 199,
    },
    edits=(
        edit("prompt", "prompt.analyst.1", "Revenue is the column net."),
        wording("analyst", 2),
        edit("prompt", "prompt.explainer.1", "Deduct 10 percent of tax."),
        wording("explainer", 2),
        edit("model", "model.explainer.name", "m2"),
        *sampling("analyst", "explainer"),
        edit("upstream", "user.0", "Which region was strongest in 2023?"),
        edit("tool", f"{_sql('gross', 2024)}.south", 455),
        edit("upstream", "user.1", "It is for a slide.", decoy=True),
    ),
)

# ---- voters: three personas answer, the code counts


def _voter(request: Request) -> str:
    price = int(next(iter(re.findall(r"(\d+) crowns", request.last)), "0"))
    limit = int(request.rule(r"Pay no more than (\d+)\.", "100"))
    return f"My vote: {'accept' if price <= limit else 'decline'}, all things considered."


def _notary(request: Request) -> str:
    result = "accepted" if re.search(r"accept\D+([23])", request.last) else "declined"
    seal = " Sealed." if "Seal what you write." in request.system else ""
    return f"The offer is hereby {result}.{seal}"


def _council(runtime: Runtime) -> str:
    votes = [
        next(iter(re.findall(r"vote: (\w+)", say(runtime, voter, user(runtime.settings)))), "decline")
        for voter in ("frugal", "bold", "careful")
    ]
    counts = Counter(votes)
    return say(runtime, "notary", f"accept: {counts['accept']} / decline: {counts['decline']}")


_COUNCIL: Final = Program(
    name="council",
    group="counted",
    program=_council,
    final="notary",
    menu=(),
    model=model_of({"voter": _voter, "notary": _notary}),
    settings={
        **prompts(
            frugal=("You are the voter.", "Pay no more than 200.", ""),
            bold=("You are the voter.", "Pay no more than 900.", ""),
            careful=("You are the voter.", "Pay no more than 500.", ""),
            notary=("You are the notary.", "", ""),
        ),
        "user.0": "They ask for 450 crowns.",
        "user.1": "",
    },
    edits=(
        edit("prompt", "prompt.careful.1", "Pay no more than 400."),
        edit("prompt", "prompt.bold.1", "Pay no more than 300."),
        edit("prompt", "prompt.frugal.1", "Pay no more than 600.", "Pay no more than 100."),
        wording("careful", 2),
        edit("prompt", "prompt.notary.1", "Seal what you write."),
        wording("notary", 2),
        edit("upstream", "user.0", "They ask for 550 crowns.", "They ask for 420 crowns."),
        edit("upstream", "user.1", "The house has a garden.", decoy=True),
        *sampling("bold", "notary"),
    ),
)

# ---- drafts: a reviewer's mark decides whether the author goes on, with a part of the remark


def _author(request: Request) -> str:
    words = ["Fresh bread", "from our oven", "every morning"]
    if "shorter" in request.last:
        words = words[:2]
    if "price" in request.last or "Always name the price." in request.system:
        words.append("for three crowns")
    return f"{', '.join(words)}{request.rule(r'End with (!|...).', '.')}"


def _reviewer(request: Request) -> str:
    length = len(request.last.split())
    most = int(request.rule(r"At most (\d+) words\.", "99"))
    if length > most:
        return "Mark: 4 of 10. Remark: make it shorter please. Thank you."
    if "crowns" not in request.last and "A price has to be there." in request.system:
        return "Mark: 6 of 10. Remark: say what the price is. Thank you."
    return "Mark: 9 of 10. Remark: none. Thank you."


def _drafts(runtime: Runtime) -> str:
    talk: list[JSONValue] = [user_message(user(runtime.settings))]
    draft = ""
    for _ in range(3):
        draft = text_of(runtime.model("author", [system_message(runtime, "author"), *talk]))
        review = say(runtime, "reviewer", draft)
        if int(next(iter(re.findall(r"Mark: (\d+)", review)), "0")) >= 8:
            break
        remark = next(iter(re.findall(r"Remark: (.+?)\.", review)), "")
        talk = [talk[0], {"role": "assistant", "content": draft}, user_message(f"Once more, but {remark}!")]
    return draft


_DRAFTS: Final = Program(
    name="drafts",
    group="loop",
    program=_drafts,
    final="author",
    menu=(),
    model=model_of({"author": _author, "reviewer": _reviewer}),
    settings={
        **prompts(author=("You are the author.", "", ""), reviewer=("You are the reviewer.", "", "", "")),
        "user.0": "Advertise our bread.",
        "user.1": "",
    },
    edits=(
        edit("prompt", "prompt.author.1", "Always name the price."),
        wording("author", 2),
        edit("prompt", "prompt.reviewer.1", "At most 6 words."),
        wording("reviewer", 3),
        edit("prompt", "prompt.reviewer.2", "A price has to be there."),
        *sampling("author", "reviewer"),
        edit("upstream", "user.1", "Make it shorter than last year.", "It is for the window."),
    ),
)

# ---- a memory: old turns become a summary in the system prompt


def _archivist(request: Request) -> str:
    names = re.findall(r"allergic to (\w+)", request.last)
    kept = names[-1:] if "Keep only the latest." in request.system else names
    return f"Avoid: {', '.join(kept) or 'nothing'}."


def _cook(request: Request) -> str:
    avoided = request.rule(r"Avoid: ([\w, ]+)\.", "nothing")
    dishes = ["nut cake", "egg salad", "milk rice", "bean soup"]
    safe = [dish for dish in dishes if not any(word in dish for word in avoided.split(", "))]
    dish = safe[0 if request.model == "m1" else -1]
    return f"Tonight I suggest {dish}, for {request.rule(r'Cook for (.+?)[.]', 'one')}."


def _kitchen(runtime: Runtime) -> str:
    heard: list[str] = []
    answer, memory = "", ""
    for at in range(3):
        words = str(runtime.settings.get(f"turn.{at}") or "")
        opening = text_of(system_message(runtime, "cook"))
        request: list[JSONValue] = [{"role": "system", "content": f"{opening} {memory}".strip()}, user_message(words)]
        answer = text_of(runtime.model("cook", request))
        heard.append(words)
        memory = say(runtime, "archivist", "\n".join(heard))
    return answer


_KITCHEN: Final = Program(
    name="kitchen",
    group="memory",
    program=_kitchen,
    final="cook",
    menu=(),
    model=model_of({"archivist": _archivist, "cook": _cook}),
    settings={
        **prompts(cook=("You are the cook.", "", ""), archivist=("You are the archivist.", "", "")),
        "user.0": "",
        "turn.0": "Hello, I am allergic to nut things.",
        "turn.1": "My son is allergic to egg.",
        "turn.2": "What shall we eat?",
    },
    edits=(
        edit("prompt", "prompt.archivist.1", "Keep only the latest."),
        wording("archivist", 2),
        edit("prompt", "prompt.cook.1", "Cook for two people."),
        wording("cook", 2),
        edit("upstream", "turn.1", "My son is allergic to milk.", "My son likes trains."),
        edit("upstream", "turn.0", "Hello, I am allergic to nut things, sadly.", "Hello there."),
        edit("upstream", "turn.2", "And what do we eat?", decoy=True),
        edit("model", "model.cook.name", "m2"),
        *sampling("cook"),
    ),
)

# ---- invoices: rows of JSON, of which the code makes a sum and a reference number


def _extractor(request: Request) -> str:
    items = re.findall(r"(\d+) (\w+) at (\d+)", request.last)
    if "Leave samples out." in request.system:
        items = [item for item in items if item[1] != "samples"]
    rows_ = [{"what": what, "count": int(count), "each": int(price)} for count, what, price in items]
    return json.dumps({"items": rows_, "department": request.rule(r"Book it on (\w+)\.", "sales")})


def _controller(request: Request) -> str:
    state = parse(request.last[request.last.find("{") :])
    amount = int(next(iter(re.findall(r"Total (\d+)", request.last)), "0"))
    left = state.get("left")
    limit = left if isinstance(left, int) else 0
    if amount > limit:
        return f"{amount} is more than the budget of {limit} that is left."
    return f"{amount} is booked, {limit - amount} remain{' for now' if request.model == 'm2' else ''}."


def _invoices(runtime: Runtime) -> str:
    read = parse(say(runtime, "extractor", user(runtime.settings)))
    items = read.get("items")
    total = 0
    for item in items if isinstance(items, list) else []:
        assert isinstance(item, dict)
        count, each = item.get("count"), item.get("each")
        total += count * each if isinstance(count, int) and isinstance(each, int) else 0
    code = f"{str(read.get('department', ''))[:3].upper()}-{2026}"
    budget = runtime.tool("budget_of", {"account": code})
    return say(runtime, "controller", f"Total {total} on account {code}. State: {result_text(budget)}")


_INVOICES: Final = Program(
    name="invoices",
    group="computed",
    program=_invoices,
    final="controller",
    menu=(),
    model=model_of({"extractor": _extractor, "controller": _controller}),
    settings={
        **prompts(
            extractor=("You are the extractor.", "", "Book it on sales.", ""),
            controller=("You are the controller.", ""),
        ),
        "user.0": "Delivered: 12 chairs at 40, 3 desks at 210, 5 samples at 9.",
        "user.1": "",
        **rows(
            "budget_of",
            SAL_2026={"account": "SAL-2026", "left": 1400, "owner": "Ito"},
            MAR_2026={"account": "MAR-2026", "left": 900, "owner": "Diaz"},
        ),
    },
    edits=(
        edit("prompt", "prompt.extractor.1", "Leave samples out."),
        wording("extractor", 3),
        edit("prompt", "prompt.extractor.2", "Book it on marketing."),
        wording("controller", 1),
        edit("upstream", "user.0", "Delivered: 12 chairs at 45, 3 desks at 210, 5 samples at 9."),
        edit("upstream", "user.1", "It came on time.", decoy=True),
        edit("model", "model.controller.name", "m2"),
        edit("tool", "row.budget_of.SAL-2026.left", 1500, 700),
        edit("tool", "row.budget_of.SAL-2026.owner", "Meyer", decoy=True),
        *sampling("extractor", "controller"),
    ),
)

# ---- a garage: a dialogue in which a tool has another name, and the second message is another


def _mechanic(request: Request) -> str | ToolCall:
    looks, orders = request.tool("diagnosis"), request.tool("orders a part")
    if looks and not request.results:
        return looks, {"plate": next(iter(re.findall(r"[A-Z]{2} \d+", request.spoken)), "none")}
    part = next((each["part"] for each in request.results if "part" in each), "nothing")
    wants = "order" in request.last.lower()
    if wants and orders and orders not in request.called:
        return orders, {"part": str(part)}
    days = next((each["days"] for each in reversed(request.results) if "days" in each), None)
    if wants and days is not None:
        rush = request.rule(r"Promise it (\d+) days early\.", "0")
        return f"The {part} comes in {int(str(days)) - int(rush)} days."
    return f"It is the {part}." if request.model == "m1" else f"Sorry, it must be the {part}."


def _garage(runtime: Runtime) -> str:
    tools: list[JSONValue] = [
        {"name": str(runtime.settings["tool.look"]), "description": "reads the diagnosis of a car"},
        {"name": str(runtime.settings["tool.buy"]), "description": "orders a part"},
    ]
    talk: list[JSONValue] = []
    for at in range(2):
        talk = converse(runtime, "mechanic", [*talk, user_message(str(runtime.settings[f"turn.{at}"]))], tools)
    return text_of(talk[-1])


_GARAGE: Final = Program(
    name="garage",
    group="renamed, later turn",
    program=_garage,
    final="mechanic",
    menu=(),
    model=model_of({"mechanic": _mechanic}),
    settings={
        **prompts(mechanic=("You are the mechanic.", "", "")),
        "user.0": "",
        "turn.0": "My car ZH 4411 makes a noise.",
        "turn.1": "Then order it.",
        "tool.look": "obd_scan",
        "tool.buy": "order_part",
        "row.obd_scan.ZH 4411.part": "belt",
        "row.scan_v2.ZH 4411.part": "belt",
        "row.obd_scan.BE 77.part": "pump",
        "row.scan_v2.BE 77.part": "pump",
        **rows("order_part", belt={"days": 6}, pump={"days": 9}),
        **rows("purchase", belt={"days": 4}, pump={"days": 9}),
    },
    edits=(
        edit("tool", "tool.look", "scan_v2", decoy=True),
        edit("tool", "tool.buy", "purchase"),
        edit("upstream", "turn.1", "What did you say it was?", "Please order it."),
        edit("upstream", "turn.0", "My car BE 77 makes a noise.", "My car ZH 4411 makes a sound."),
        edit("prompt", "prompt.mechanic.1", "Promise it 2 days early."),
        wording("mechanic", 2),
        edit("model", "model.mechanic.name", "m2"),
        *sampling("mechanic"),
    ),
)

_PLAIN: Final = (_WARD, _QUERY, _COUNCIL, _DRAFTS, _KITCHEN, _INVOICES, _GARAGE)
_REWORDED: Final = (_WARD, _COUNCIL, _GARAGE)

HELD_OUT: Final[tuple[Program, ...]] = (
    *_PLAIN,
    *(replace(each, name=f"reworded {each.name}", group="reworded", rewords=True) for each in _REWORDED),
)
