"""Held-out agents whose code decides on a model's answer."""

import re
from collections import Counter
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.model import Request, model_of
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
from traces.core.json_types import JSONValue

# ---- a ward: the code looks a colour up in a table


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

# ---- a query: the code removes its fence and makes a table of the rows


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

# ---- drafts: a reviewer's mark decides whether the author continues, with part of the remark


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

DECIDING: Final = (_WARD, _QUERY, _COUNCIL, _DRAFTS)
REWORDED: Final = (_WARD, _COUNCIL)
