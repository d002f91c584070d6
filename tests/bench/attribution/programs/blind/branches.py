"""Agents whose code branches: on a stated certainty, on the language of a letter, on the error of a query."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Edit, Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- claims: an uncertain first label goes to an expert; a desk that refuses passes the claim to the other label

_DESKS: Final = ("glass", "water", "theft")


def _classify(request: Request) -> str:
    words = re.findall(r"[a-z]+", request.last.lower())
    hints = re.findall(r"Count (\w+) as (\w+)\.", request.system)
    votes = {desk: sum(word in words for word, label in hints if label == desk) for desk in _DESKS}
    ranked = sorted(_DESKS, key=lambda desk: -votes[desk])
    sure = 100 * votes[ranked[0]] // max(sum(votes.values()), 1)
    sure -= 15 if request.model == "m2" else 0
    return f"First {ranked[0]}, second {ranked[1]}, certainty {sure} of 100."


def _weigh(request: Request) -> str:
    pair = next(iter(re.findall(r"Is it (\w+) or (\w+)\?", request.last)), ("unknown", "unknown"))
    strong = re.findall(r"Prefer (\w+)\.", request.system)
    chosen = next((label for label in strong if label in pair), pair[0])
    return f"I decide for {chosen}."


def _settle(request: Request) -> str:
    desk = request.rule(r"You handle (\w+)\.")
    facts: dict[str, str] = dict(re.findall(r"(\w+)=([\w ]+?)(?:;|$)", request.last))
    damage = int(next(iter(re.findall(r"damage of (\d+) francs", request.last)), "0"))
    if desk not in facts.get("covers", "").split():
        return "Not covered here."
    share = int(request.rule(r"Pay (\d+) percent\.", "100"))
    paid = max(damage * share // 100 - int(facts.get("deductible", "0")), 0)
    paid = min(paid, int(request.rule(r"Pay at most (\d+) francs\.", "9999")))
    return f"For the {desk} damage we pay {paid} francs."


def _claims(runtime: Runtime) -> str:
    letter = user(runtime.settings)
    first = say(runtime, "triage", letter)
    labels = re.findall(r"(?:First|second) (\w+)", first)
    certainty = int((re.findall(r"certainty (-?\d+)", first) or ["0"])[0])
    if certainty < 60:
        word = re.findall(r"decide for (\w+)", say(runtime, "expert", f"{letter}\nIs it {labels[0]} or {labels[1]}?"))
        labels.sort(key=lambda label: label not in word)
    number = (re.findall(r"policy (\w+)", letter) or ["none"])[0]
    policy = runtime.tool("get_policy", {"number": number})
    terms = "; ".join(f"{name}={value}" for name, value in policy.items()) if isinstance(policy, dict) else ""
    answer = ""
    for label in labels:
        answer = say(runtime, label, f"{letter}\n{terms}")
        if "Not covered" not in answer:
            break
    return answer


_CLAIMS: Final = Program(
    name="claims",
    group="certainty",
    most=4,
    program=_claims,
    final="glass",
    model=model_of({"sorter": _classify, "expert": _weigh, "adjuster": _settle}),
    menu=(),
    settings={
        **prompts(
            triage=(
                "You are the sorter.",
                "Count window as glass.",
                "Count pane as glass.",
                "Count wet as water.",
                "Count lock as theft.",
                "",
                "",
            ),
            expert=("You are the expert.", "Prefer water.", ""),
            glass=("You are the adjuster.", "You handle glass.", "Pay at most 2000 francs.", "", ""),
            water=("You are the adjuster.", "You handle water.", "Pay 80 percent.", "", ""),
            theft=("You are the adjuster.", "You handle theft.", "", ""),
        ),
        "user.0": "My window is broken, one pane is gone and the floor is wet.",
        "user.1": "It is a damage of 900 francs under policy K20.",
        "user.2": "",
        **rows(
            "get_policy",
            K20={"covers": "glass water", "deductible": 200, "since": 2019},
            K31={"covers": "water theft", "deductible": 100, "since": 2021},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "My window is broken and the floor is wet.",
            "One pane is gone, my window is broken, the floor is wet.",
        ),
        edit("upstream", "user.1", "It is a damage of 1100 francs under policy K20.", "I have policy K20."),
        edit("upstream", "user.2", "I have photos.", "The police came.", decoy=True),
        edit("prompt", "prompt.triage.2", "Count hail as glass.", "Count pane as theft."),
        edit("prompt", "prompt.triage.5", "Count floor as water.", "Count broken as theft."),
        wording("triage", 6),
        edit("model", "model.triage.name", "m2"),
        edit("prompt", "prompt.expert.1", "Prefer glass.", "Prefer theft."),
        wording("expert", 2),
        edit("model", "model.expert.name", "m2", decoy=True),
        edit("prompt", "prompt.glass.2", "Pay at most 600 francs.", "Pay at most 1500 francs."),
        edit("prompt", "prompt.glass.3", "Pay 90 percent."),
        wording("glass", 4),
        edit("prompt", "prompt.water.2", "Pay 60 percent."),
        edit("tool", "row.get_policy.K20.deductible", 300, 250),
        Edit(
            category="tool",
            variants=((("row.get_policy.K31.deductible", 150), ("row.get_policy.K31.since", 2022)),),
            decoy=True,
        ),
        edit("tool", "row.get_policy.K20.covers", "water", "glass"),
        edit("tool", "row.get_policy.K20.since", 2018, decoy=True),
        *sampling("triage", "expert", "glass"),
    ),
)

# ---- a hotline: letters in other languages are translated, and the key of a search is cut to ten characters

_GREETINGS: Final = {"Hello": "english", "Salut": "french", "Hallo": "german"}
_WORDS: Final = ("badge", "card", "cost", "renewal", "loss")
_PHRASES: Final = {
    "german": {"A ": "Ein ", " costs ": " kostet ", "Ask at the desk": "Fragen Sie am Schalter", "page": "Seite"},
    "french": {"A ": "Un ", " costs ": " coute ", "Ask at the desk": "Demandez au guichet", "page": "page"},
}


def _detect(request: Request) -> str:
    known = [name for word, name in _GREETINGS.items() if word in request.last]
    known += [name for word, name in re.findall(r"(\w+) sounds (\w+)\.", request.system) if word in request.last]
    if len(set(known)) > 1:
        likely = known[-1 if request.model == "m2" else 0]
        known = [request.rule(r"Call mixed letters (\w+)\.", likely)]
    return f"Language: {(known or ['english'])[0]}"


def _translate(request: Request) -> str:
    words = re.findall(r"\w+", request.last)
    glossary: dict[str, str] = dict(re.findall(r"(\w+) means (\w+)\.", request.system))
    found = [glossary[word] for word in words if word in glossary]
    return f"Keywords: {' '.join(dict.fromkeys(found))}"


def _inform(request: Request) -> str:
    facts: dict[str, str] = dict(re.findall(r"^(\w+): (.+)$", request.last, re.MULTILINE))
    if "price" not in facts:
        return "Ask at the desk."
    price = int(facts["price"]) + int(request.rule(r"Add (\d+) francs postage\.", "0"))
    place = f", page {facts.get('page')}" if "Name the page." in request.system else ""
    return f"A {facts.get('thing', 'thing')} costs {price} francs{place}."


def _interpret(request: Request) -> str:
    language, _, text = request.last.partition("\n")
    for english, other in _PHRASES.get(language.removeprefix("Into "), {}).items():
        text = text.replace(english, other)
    currency = request.rule(r"Write (\w+) for francs\.", "francs")
    return text.replace("francs", currency)


def _hotline(runtime: Runtime) -> str:
    letter = user(runtime.settings)
    language = (re.findall(r"Language: (\w+)", say(runtime, "detector", letter)) or ["english"])[0]
    if language == "english":
        key = " ".join(word for word in _WORDS if word in letter.lower())
    else:
        key = say(runtime, "translator", f"From {language}:\n{letter}").removeprefix("Keywords: ")
    entry = runtime.tool("search_faq", {"query": key[:10].strip()})
    lines = [f"{name}: {value}" for name, value in entry.items()] if isinstance(entry, dict) else []
    answer = say(runtime, "helper", "\n".join([*lines, f"asked about: {key}"]))
    return answer if language == "english" else say(runtime, "interpreter", f"Into {language}\n{answer}")


_HOTLINE: Final = Program(
    name="hotline",
    group="languages",
    most=5,
    program=_hotline,
    final="interpreter",
    model=model_of({"detector": _detect, "translator": _translate, "helper": _inform, "interpreter": _interpret}),
    menu=(),
    settings={
        **prompts(
            detector=("You are the detector.", "Ausweis sounds german.", "", ""),
            translator=(
                "You are the translator.",
                "Ausweis means badge.",
                "kostet means cost.",
                "Verlust means loss.",
                "",
            ),
            helper=("You are the helper.", "", "", ""),
            interpreter=("You are the interpreter.", "Write Franken for francs.", ""),
        ),
        "user.0": "Hallo, was kostet mir ein neuer Ausweis?",
        "user.1": "",
        "row.search_faq.cost badge.thing": "badge",
        "row.search_faq.cost badge.price": 30,
        "row.search_faq.cost badge.page": 4,
        "row.search_faq.badge cost.thing": "badge",
        "row.search_faq.badge cost.price": 35,
        "row.search_faq.badge cost.page": 5,
        "row.search_faq.badge loss.thing": "new badge",
        "row.search_faq.badge loss.price": 50,
        "row.search_faq.loss badge.thing": "new badge",
        "row.search_faq.loss badge.price": 50,
        "row.search_faq.cost card.thing": "card",
        "row.search_faq.cost card.price": 12,
        "row.search_faq.cost card.page": 9,
    },
    edits=(
        edit("upstream", "user.0", "Hello, what is the cost of a badge?", "Hallo, nach dem Verlust: Ausweis neu?"),
        edit("upstream", "user.1", "Salut und danke.", "Ich warte gern.", "Danke."),
        edit("prompt", "prompt.detector.1", "kostet sounds german.", decoy=True),
        edit("prompt", "prompt.detector.2", "Call mixed letters french.", "Call mixed letters english."),
        wording("detector", 3),
        edit("model", "model.detector.name", "m2"),
        edit("prompt", "prompt.translator.1", "Ausweis means card.", "Ausweis means permit."),
        edit("prompt", "prompt.translator.2", "kostet means price.", ""),
        edit("prompt", "prompt.translator.3", "Verlust means missing.", decoy=True),
        edit("prompt", "prompt.translator.4", "neuer means new.", "mir means me.", "danke means thanks."),
        edit("prompt", "prompt.helper.1", "Add 2 francs postage.", "Add 5 francs postage."),
        edit("prompt", "prompt.helper.2", "Name the page."),
        wording("helper", 3),
        edit("prompt", "prompt.interpreter.1", "Write CHF for francs.", ""),
        wording("interpreter", 2),
        edit("model", "model.interpreter.name", "m2", decoy=True),
        edit("tool", "row.search_faq.cost badge.price", 32, 28),
        edit("tool", "row.search_faq.cost badge.page", 6),
        edit("tool", "row.search_faq.cost card.price", 15, decoy=True),
        *sampling("detector", "translator", "helper", "interpreter"),
    ),
)

# ---- sales: a failed query is rewritten with its error, and code sorts and truncates the rows


def _compose(request: Request) -> str:
    task, _, errors = request.last.partition("\nErrors:")
    year = next(iter(re.findall(r"\b(20\d\d)\b", task)), "2025")
    column, table = request.rule(r"Name the money (\w+)\.", "revenue"), request.rule(r"Read the table (\w+)\.", "sales")
    for wrong, better in re.findall(r"no \w+ (\w+), try (\w+)", errors):
        column = better if column == wrong else column
        table = better if table == wrong else table
    order = "asc" if "worst" in task or request.model == "m2" else "desc"
    return f"select {column} from {table} in {year} {order};"


def _present(request: Request) -> str:
    regions = [(name, int(value)) for name, value in re.findall(r"(\w+) (\d+)", request.last.partition("Rows:")[2])]
    if not regions:
        return "There are no figures."
    named = regions[: int(request.rule(r"Name (\d+) regions\.", "1"))]
    weak = int(request.rule(r"Below (\d+) is weak\.", "0"))
    listing = ", ".join(f"{name} with {value}{' (weak)' if value < weak else ''}" for name, value in named)
    tries = f" after {failures} failed queries" if (failures := request.last.count("Failed")) else ""
    return f"{listing}{tries if 'Admit failures.' in request.system else ''}."


def _sales(runtime: Runtime) -> str:
    errors: list[str] = []
    found: list[tuple[str, int]] = []
    for _ in range(4):
        text = say(runtime, "analyst", f"{user(runtime.settings)}\nErrors:\n" + "\n".join(errors))
        query, order = next(iter(re.findall(r"(select \w+ from \w+ in \d+) (\w+);", text)), ("", ""))
        result = runtime.tool("run_query", {"query": query})
        rows_text = str(result.get("rows", "")) if isinstance(result, dict) else ""
        if rows_text:
            found = [(name, int(value)) for name, value in re.findall(r"(\w+) (\d+)", rows_text)]
            found.sort(key=lambda row: row[1], reverse=order == "desc")
            break
        errors.append(str(result.get("error", "empty")) if isinstance(result, dict) else "empty")
    top = "; ".join(f"{name} {value}" for name, value in found[:3])
    return say(runtime, "reporter", "\n".join([*(f"Failed: {error}" for error in errors), f"Rows: {top}"]))


_TABLES: Final[dict[str, JSONObject]] = {
    "select turnover from sales in 2023": {"error": "no column turnover, try revenue"},
    "select turnover from sales in 2024": {"error": "no column turnover, try revenue"},
    "select revenue from sales in 2024": {"rows": "west 18; north 44; south 35; east 27", "ms": 12},
    "select revenue from sales in 2023": {"rows": "west 22; north 31; south 39; east 25", "ms": 15},
    "select profit from sales in 2024": {"rows": "west 3; north 6; south 9; east 4", "ms": 9},
    "select revenue from orders in 2024": {"rows": "west 17; north 41; south 36; east 27", "ms": 31},
    "select turnover from orders in 2024": {"error": "no table orders, try sales"},
}
_QUERIES: Final[dict[str, JSONValue]] = {
    f"row.run_query.{query}.{name}": value for query, fields in _TABLES.items() for name, value in fields.items()
}
_REVENUE: Final = "row.run_query.select revenue from sales in 2024"
_SALES: Final = Program(
    name="sales",
    group="error retry",
    most=5,
    program=_sales,
    final="reporter",
    model=model_of({"analyst": _compose, "reporter": _present}),
    menu=(),
    settings={
        **prompts(
            analyst=("You are the analyst.", "Name the money turnover.", "Read the table sales.", "", ""),
            reporter=("You are the reporter.", "Name 2 regions.", "Below 30 is weak.", "", ""),
        ),
        "user.0": "Which regions sold most in 2024?",
        "user.1": "",
        **_QUERIES,
    },
    edits=(
        edit("upstream", "user.0", "Which regions sold most in 2023?", "Where did we sell most in 2024?"),
        edit("upstream", "user.1", "Show the worst ones too.", "It is for the board.", "Keep it short."),
        edit("prompt", "prompt.analyst.1", "Name the money revenue.", "Name the money profit."),
        edit("prompt", "prompt.analyst.2", "Read the table orders."),
        wording("analyst", 4),
        edit("model", "model.analyst.name", "m2"),
        edit("prompt", "prompt.reporter.1", "Name 3 regions.", "Name 4 regions."),
        edit("prompt", "prompt.reporter.2", "Below 40 is weak.", "Below 28 is weak."),
        edit("prompt", "prompt.reporter.3", "Admit failures."),
        wording("reporter", 4),
        edit("model", "model.reporter.max_tokens", 5, 50),
        edit("model", "model.reporter.name", "m2", decoy=True),
        edit(
            "tool", f"{_REVENUE}.rows", "west 18; north 33; south 35; east 27", "west 24; north 44; south 35; east 27"
        ),
        edit("tool", f"{_REVENUE}.ms", 14, 900, decoy=True),
        edit("tool", "row.run_query.select turnover from sales in 2024.error", "no column turnover, try profit"),
        edit("tool", "row.run_query.select turnover from orders in 2024.error", "no such table", decoy=True),
        *sampling("analyst", "reporter"),
    ),
)

BRANCHES: Final = (_CLAIMS, _HOTLINE, _SALES)
REWORDED: Final = (_CLAIMS, _SALES)
