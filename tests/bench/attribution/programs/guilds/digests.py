"""Minutes condensed in parts and put to a vote, queries that a database corrects, passages ranked again and cited."""

import re
from collections import Counter
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- council: a point per part, three voters choose the headline, code counts the votes, an editor writes

_VOTERS: Final = ("cashier", "resident", "planner")


def _point(request: Request) -> str:
    sums = re.findall(r"(\w+) for (\d+) crowns", request.last)
    least = int(request.rule(r"Skip sums under (\d+)\.", "0"))
    kept = [(name, int(amount)) for name, amount in sums if int(amount) >= least]
    if request.model == "m2":
        kept = kept[:1]
    mood = "disputed" if "against" in request.last else "agreed"
    return "\n".join(f"- {name} {amount} {mood}" for name, amount in kept) or "- nothing"


def _vote(request: Request) -> str:
    options = re.findall(r"^(\d+)\) (\w+) (\d+) (\w+)$", request.last, re.MULTILINE)
    if not options:
        return "VOTE 0"
    liked = request.rule(r"Prefer (\w+)\.", "dear")
    ranked = sorted(options, key=lambda option: -int(option[2]))
    if liked == "cheap":
        ranked.reverse()
    if liked in {"disputed", "agreed"}:
        ranked = [option for option in ranked if option[3] == liked] or ranked
    named = [option for option in ranked if option[1] == liked]
    return f"VOTE {(named or ranked)[0][0]}"


def _headline(request: Request) -> str:
    first, rest = find(r"^First: (.+)$", request.last, "nothing"), find(r"^Rest: (.+)$", request.last)
    town = request.rule(r"Begin with (\w+):", "Council")
    more = f" Also: {rest}." if rest and "Mention the rest." in request.system else ""
    return f"{town}: {first} leads the agenda.{more}"


def _council(runtime: Runtime) -> str:
    settings = runtime.settings
    minutes = fields(runtime.tool("get_minutes", {"meeting": find(r"meeting of (\w+)", user(settings), "May")}))
    parts = str(minutes.get("text")).split(" / ")
    points = [line[2:] for part in parts for line in say(runtime, "noter", part).splitlines() if line[:2] == "- "]
    points = [point for point in points if point != "nothing"]
    if settings["code.cashier+resident+planner+editor.order"] == "last first":
        points.reverse()
    ballot = "\n".join(f"{place}) {point}" for place, point in enumerate(points, 1))
    weights = {"cashier": 1, "planner": 1, "resident": int(real(settings["code.editor.weight"], 1))}
    votes: Counter[int] = Counter()
    for voter in _VOTERS:
        votes[number(r"VOTE (\d+)", say(runtime, voter, ballot))] += weights[voter]
    winner = min(votes, key=lambda place: (-votes[place], place))
    first = points[winner - 1] if 0 < winner <= len(points) else "nothing"
    rest = ", ".join(point.split(" ")[0] for point in points if point != first)
    return say(runtime, "editor", f"First: {first}\nRest: {rest}")


_COUNCIL: Final = Program(
    name="council minutes",
    group="votes on parts",
    program=_council,
    final="editor",
    model=model_of({"noter": _point, **dict.fromkeys(_VOTERS, _vote), "editor": _headline}),
    menu=(),
    settings={
        **prompts(
            noter=("You are the noter. Note the sums.", "Skip sums under 50.", "", ""),
            cashier=("You are the cashier. Vote.", "Prefer dear.", ""),
            resident=("You are the resident. Vote.", "Prefer disputed.", ""),
            planner=("You are the planner. Vote.", "Prefer school.", ""),
            editor=("You are the editor. Write it.", "Begin with Council:", "Mention the rest.", ""),
        ),
        "user.0": "Sum up the meeting of May.",
        "user.1": "",
        "code.cashier+resident+planner+editor.order": "as noted",
        "code.editor.weight": 1,
        **rows(
            "get_minutes",
            May={
                "text": "The bridge for 900 crowns was agreed. / Some were against: school for 700 crowns and park for "
                "120 crowns. / A bench for 30 crowns.",
                "clerk": "Ode",
            },
            June={"text": "The library for 400 crowns. / All were against a tower for 650 crowns.", "clerk": "Ode"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Sum up the meeting of June.", "Condense the meeting of May."),
        edit("upstream", "user.1", "Thank you.", "For the paper, please.", decoy=True),
        edit("prompt", "prompt.noter.1", "Skip sums under 800.", "Skip sums under 10."),
        edit("prompt", "prompt.noter.2", "Write short lines.", decoy=True),
        wording("noter", 3),
        edit("model", "model.noter.name", "m2"),
        edit("prompt", "prompt.cashier.1", "Prefer cheap.", decoy=True),
        edit("prompt", "prompt.resident.1", "Prefer agreed.", "Prefer park."),
        edit("prompt", "prompt.planner.1", "Prefer bridge.", "Prefer park."),
        wording("planner", 2),
        edit("prompt", "prompt.editor.1", "Begin with Village:", "Begin with Town:"),
        edit("prompt", "prompt.editor.2", "Drop the rest."),
        wording("editor", 3),
        edit("model", "model.editor.name", "m2", decoy=True),
        edit("upstream", "code.cashier+resident+planner+editor.order", "last first"),
        edit("upstream", "code.editor.weight", 3, 2, decoy=True),
        edit(
            "tool",
            "row.get_minutes.May.text",
            "The bridge for 900 crowns was agreed. / Some were against: school for 700 crowns. / A bench: 30 crowns.",
            "Many were against the bridge for 900 crowns. / Agreed: school for 700 crowns and park for 120 crowns.",
        ),
        edit("tool", "row.get_minutes.May.clerk", "Bo", decoy=True),
        *sampling("noter", "resident", "editor"),
    ),
)

# ---- clinic: a query for a database, its error goes back until it runs, figures that code scales, an explainer


def _query(request: Request) -> str:
    question = request.spoken.lower()
    what = next((name for name in ("visits", "costs", "waits") if name in question), "visits")
    by = next((name for name in ("ward", "month") if name in question), request.rule(r"Group by (\w+)\.", "ward"))
    verb = request.rule(r"Aggregate with (\w+)\.", "count")
    for wrong, right in re.findall(r"no function (\w+), use (\w+)", request.spoken):
        verb = right if verb == wrong else verb
    for wrong, right in re.findall(r"no column (\w+), use (\w+)", request.spoken):
        by = right if by == wrong else by
    if request.model == "m2" and "Error:" not in request.spoken:
        verb = "tally"
    return f"QUERY {verb} {what} by {by}"


def _explain(request: Request) -> str:
    lines = re.findall(r"^([\w ]+) = (\d+)$", request.last, re.MULTILINE)
    tries = number(r"^Tries: (\d+)$", request.last, 1)
    if not lines:
        return "The database gave no figures."
    top = max(lines, key=lambda line: int(line[1]))
    if "Report the lowest." in request.system:
        top = min(lines, key=lambda line: int(line[1]))
    limit = int(request.rule(r"Warn above (\d+)\.", "999"))
    warning = " This is too much." if int(top[1]) > limit else ""
    effort = f" ({tries} tries)" if "State the tries." in request.system else ""
    return f"{top[0]}: {top[1]}.{warning}{effort}"


def _clinic(runtime: Runtime) -> str:
    settings = runtime.settings
    messages = [user(settings)]
    result: dict[str, JSONValue] = {}
    tries = 0
    while tries < int(real(settings["code.explainer+analyst.tries"], 3)):
        tries += 1
        query = find(r"QUERY (.+)$", say(runtime, "analyst", *messages), "none")
        result = fields(runtime.tool("run_query", {"query": query}))
        if "error" not in result:
            break
        messages.append(f"Error: {result['error']}")
    table = items(result.get("rows"))
    if settings["code.explainer.order"] == "by name":
        table = sorted(table, key=lambda line: str(line.get("name")))
    scale = real(settings["code.explainer.scale"], 1)
    figures = [f"{line.get('name')} = {round(real(line.get('value')) * scale)}" for line in table]
    return say(runtime, "explainer", "\n".join([*figures, f"Tries: {tries}"]))


def _table(query: str, source: str, **values: int) -> dict[str, JSONValue]:
    lines: list[JSONValue] = [{"name": name, "value": value} for name, value in values.items()]
    return {f"row.run_query.{query}.rows": lines, f"row.run_query.{query}.source": source}


_CLINIC: Final = Program(
    name="clinic queries",
    group="queries corrected",
    program=_clinic,
    final="explainer",
    model=model_of({"analyst": _query, "explainer": _explain}),
    menu=(),
    settings={
        **prompts(
            analyst=("You are the analyst. Write a query.", "Group by month.", "Aggregate with total.", "", ""),
            explainer=(
                "You are the explainer. Answer.",
                "Report the highest.",
                "Warn above 90.",
                "State the tries.",
                "",
            ),
        ),
        "user.0": "How many visits were there by ward?",
        "user.1": "",
        "code.explainer+analyst.tries": 3,
        "code.explainer.order": "as stored",
        "code.explainer.scale": 1,
        "row.run_query.total visits by ward.error": "no function total, use sum",
        "row.run_query.tally visits by ward.error": "no function tally, use sum",
        "row.run_query.total costs by ward.error": "no function total, use sum",
        "row.run_query.total visits by month.error": "no column month, use quarter; no function total, use sum",
        **_table("sum visits by ward", "ledger", eyes=40, heart=95, skin=62),
        **_table("mean visits by ward", "ledger", eyes=12, heart=19, skin=31),
        **_table("sum costs by ward", "ledger", eyes=310, heart=220, skin=90),
        **_table("sum visits by quarter", "ledger", spring=77, autumn=120),
    },
    edits=(
        edit("upstream", "user.0", "What were the costs by ward?", "How many visits were there by month?"),
        edit("upstream", "user.1", "It is for the board.", "Please.", decoy=True),
        edit("prompt", "prompt.analyst.1", "Group by ward.", decoy=True),
        edit("prompt", "prompt.analyst.2", "Aggregate with mean.", "Aggregate with sum."),
        edit("prompt", "prompt.analyst.3", "Think before you write.", decoy=True),
        wording("analyst", 4),
        edit("model", "model.analyst.name", "m2"),
        edit("prompt", "prompt.explainer.1", "Report the lowest."),
        edit("prompt", "prompt.explainer.2", "Warn above 100.", "Warn above 30."),
        edit("prompt", "prompt.explainer.3", "Hide the tries."),
        wording("explainer", 4),
        edit("upstream", "code.explainer+analyst.tries", 1),
        edit("upstream", "code.explainer.order", "by name", decoy=True),
        edit("upstream", "code.explainer.scale", 2, 0.5),
        edit("tool", "row.run_query.total visits by ward.error", "no function total, use mean"),
        edit(
            "tool",
            "row.run_query.sum visits by ward.rows",
            [{"name": "eyes", "value": 40}, {"name": "heart", "value": 45}, {"name": "skin", "value": 62}],
            [{"name": "eyes", "value": 40}, {"name": "heart", "value": 98}, {"name": "skin", "value": 62}],
        ),
        edit("tool", "row.run_query.sum visits by ward.source", "copy", decoy=True),
        *sampling("analyst", "explainer"),
    ),
)

# ---- orchard: passages marked by a model, the best ones kept and numbered by code, citations turned into names


def _mark(request: Request) -> str:
    question, _, passage = request.last.partition("\nPassage: ")
    words = set(re.findall(r"[a-z]{4,}", question.lower()))
    mark = 3 * sum(word in passage.lower() for word in words)
    if "Value recent passages." in request.system:
        mark += 4 if "(2026" in passage else 0
    disliked = request.rule(r"Mark down (\w+)\.")
    if disliked and disliked in passage.lower():
        mark -= 5
    return f"MARK {mark + (1 if request.model == 'm2' else 0)}"


def _cite(request: Request) -> str:
    passages = re.findall(r"^\[(\d+)\] (.+)$", request.last, re.MULTILINE)
    if not passages:
        return "I found nothing about it."
    most = int(request.rule(r"Use (\d) sources?\.", "1"))
    advice = [(place, find(r"(?:should|must|can) ([^.]+)", text, "look it up")) for place, text in passages[:most]]
    reader = request.rule(r"Address the (\w+)", "reader").title()
    return f"{reader}, {' and '.join(f'{words} [{place}]' for place, words in advice)}."


def _orchard(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    top_k = settings["search.top_k"]
    passages = runtime.retrieve("index", question, top_k if isinstance(top_k, int) else 4)
    marks = [number(r"MARK (-?\d+)", say(runtime, "marker", f"{question}\nPassage: {text}")) for text in passages]
    least = real(settings["code.writer.least"])
    ranked = sorted(range(len(passages)), key=lambda place: -marks[place])
    if settings["code.writer.rank"] == "as found":
        ranked.sort()
    kept = [passages[place] for place in ranked if marks[place] >= least][: int(real(settings["code.writer.keep"], 2))]
    texts = [re.sub(r"^\[\w+\] \([\d-]+\) ", "", text) for text in kept]
    answer = say(
        runtime, "writer", "\n".join([f"Question: {question}", *(f"[{n}] {t}" for n, t in enumerate(texts, 1))])
    )
    for place, text in enumerate(kept, 1):
        name = find(r"^.(\w+)", text)
        answer = answer.replace(f"[{place}]", f"({name})")
    return answer


_ORCHARD: Final = Program(
    name="orchard answers",
    group="passages ranked again",
    program=_orchard,
    final="writer",
    model=model_of({"marker": _mark, "writer": _cite}),
    menu=(),
    settings={
        **prompts(
            marker=("You are the marker. Mark the passage.", "Value recent passages.", "", ""),
            writer=("You are the writer. Answer.", "Use 2 sources.", "Address the gardener.", "", ""),
        ),
        "user.0": "When do I prune young apple trees?",
        "user.1": "",
        "search.top_k": 4,
        "code.writer.least": 3,
        "code.writer.rank": "by mark",
        "code.writer.keep": 2,
        "doc.apples.date": "2021-02-01",
        "doc.apples.text": "Apple trees: you should prune young trees in March.",
        "doc.frost.date": "2026-01-10",
        "doc.frost.text": "In a late frost you must wait with young apple trees until April.",
        "doc.pears.date": "2026-03-03",
        "doc.pears.text": "Pears can be cut in May, the trees of a garden as well.",
        "doc.tools.date": "2019-05-05",
        "doc.tools.text": "To prune, you should clean the saw first.",
        "doc.birds.date": "2020-01-01",
        "doc.birds.text": "Birds like hedges.",
    },
    edits=(
        edit("upstream", "user.0", "When do I prune pears?", "When may I prune young apple trees?"),
        edit("upstream", "user.1", "Many thanks.", "I have a saw.", decoy=True),
        edit("retrieval", "search.top_k", 1, 2),
        edit("retrieval", "doc.apples.text", "Apple trees: you should prune young trees in February."),
        edit("retrieval", "doc.frost.text", "In a late frost you must wait with young apple trees until June."),
        edit("retrieval", "doc.frost.date", "2020-01-10"),
        edit("retrieval", "doc.birds.text", "Birds like old hedges.", decoy=True),
        edit("prompt", "prompt.marker.1", "Value all passages."),
        edit("prompt", "prompt.marker.2", "Mark down frost.", "Mark down birds."),
        wording("marker", 3),
        edit("model", "model.marker.name", "m2", decoy=True),
        edit("prompt", "prompt.writer.1", "Use 1 source."),
        edit("prompt", "prompt.writer.2", "Address the pupil."),
        edit("prompt", "prompt.writer.3", "Cite every source.", decoy=True),
        wording("writer", 4),
        edit("upstream", "code.writer.least", 13, 0),
        edit("upstream", "code.writer.rank", "as found"),
        edit("upstream", "code.writer.keep", 1),
        *sampling("marker", "writer"),
    ),
)

DIGESTS: Final[tuple[Program, ...]] = (
    _COUNCIL,
    replace(
        _COUNCIL,
        name="council minutes, by chance",
        group="votes on parts, by chance",
        chance=Chance(rate=0.1, alternatives=(("VOTE 1", "VOTE 2"), ("VOTE 2", "VOTE 1"))),
        controls=8,
    ),
    _CLINIC,
    _ORCHARD,
)
