"""Research: actions written as text, pages that are scored and sorted, a mailbox read page by page."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- peaks: the model writes its actions as text, and reads their results in a growing notepad

_PEAKS: Final = r"\b(Eiger|Niesen|Rigi)\b"


def _investigate(request: Request) -> str:
    peaks = list(dict.fromkeys(re.findall(_PEAKS, request.last.split("Notes:")[0])))
    if request.model == "m2":
        peaks.reverse()
    notes: dict[str, str] = dict(re.findall(r"^height\[(\w+)\] -> (\w+)$", request.last, re.MULTILINE))
    guesses: dict[str, str] = dict(re.findall(r"^old_map\[(\w+)\] -> (\w+)$", request.last, re.MULTILINE))
    for peak in peaks:
        if peak not in notes:
            return f"Thought: I do not know {peak} yet.\nAction: height[{peak}]"
        if not notes[peak].isdecimal() and peak not in guesses and "Use old maps." in request.system:
            return f"Thought: an old map may help.\nAction: old_map[{peak}]"
    heights = {peak: int(text) for peak in peaks if (text := guesses.get(peak, notes[peak])).isdecimal()}
    if not heights:
        return "Thought: there is nothing more to find.\nAnswer: none."
    best = (min if "Prefer the lower one." in request.system else max)(heights, key=lambda peak: heights[peak])
    return f"Thought: I have it all.\nAnswer: {best} with {heights[best]} metres."


def _invite(request: Request) -> str:
    peak, metres = next(iter(re.findall(r"to (\w+) \((\d+)\)", request.last)), ("", "0"))
    beds = int(next(iter(re.findall(r"Beds: (\d+)", request.last)), "0"))
    if not peak:
        return "We stay at home."
    hard = int(metres) > int(request.rule(r"Above (\d+) metres take a rope\.", "9999"))
    night = "We sleep in the hut." if beds >= int(request.rule(r"We are (\d+)\.", "1")) else "We come back at night."
    return f"We go up the {peak}{' with a rope' if hard else ''}. {night}"


def _peaks(runtime: Runtime) -> str:
    notes, answer = "", ""
    for _ in range(7):
        thought = say(runtime, "scout", f"{user(runtime.settings)}\nNotes:{notes}")
        if finding := re.search(r"Answer: (\w+)(?: with (\d+))?", thought):
            answer = f"{finding[1].upper()} ({finding[2]})" if finding[2] else ""
            break
        action = re.search(r"Action: (\w+)\[(\w+)\]", thought)
        if not action:
            break
        row = runtime.tool(action[1], {"peak": action[2]})
        metres = row.get("metres", "unknown") if isinstance(row, dict) else "unknown"
        notes += f"\n{action[1]}[{action[2]}] -> {metres}"
    hut = json.loads(result_text(runtime.tool("find_hut", {"peak": answer.split(" ")[0] or "NONE"})))
    return say(runtime, "leader", f"Invite the club to {answer}.\nBeds: {hut.get('beds', 0)}")


_TREK: Final = Program(
    name="peaks",
    group="text protocol",
    program=_peaks,
    final="leader",
    model=model_of({"scout": _investigate, "leader": _invite}),
    menu=(),
    settings={
        **prompts(
            scout=(
                "You are the scout.",
                "Write height[PEAK] or old_map[PEAK] as your action.",
                "Use old maps.",
                "",
                "",
            ),
            leader=("You are the leader.", "Above 2500 metres take a rope.", "We are 12.", ""),
        ),
        "user.0": "Which is the higher one, Niesen or Rigi?",
        "user.1": "",
        **rows(
            "height",
            Niesen={"metres": 2362, "survey": 2001},
            Rigi={"survey": 1998},
            Eiger={"metres": 3967, "survey": 2010},
        ),
        **rows("old_map", Rigi={"metres": 1797}, Niesen={"metres": 2360}),
        **rows("find_hut", NIESEN={"beds": 20}, RIGI={"beds": 8}, EIGER={"beds": 15}, NONE={"beds": 0}),
    },
    edits=(
        edit("upstream", "user.0", "Which is the higher one, Eiger or Rigi?", "What is higher, Niesen or Rigi?"),
        edit("upstream", "user.1", "We have all day.", "It may rain.", decoy=True),
        edit("prompt", "prompt.scout.2", "", decoy=True),
        edit("prompt", "prompt.scout.3", "Prefer the lower one."),
        wording("scout", 4),
        edit("model", "model.scout.name", "m2", decoy=True),
        edit("prompt", "prompt.leader.1", "Above 2000 metres take a rope."),
        edit("prompt", "prompt.leader.2", "We are 7.", "We are 30."),
        wording("leader", 3),
        edit("tool", "row.old_map.Rigi.metres", 2797, 1790),
        edit("tool", "row.height.Niesen.metres", None, 2762, 1762),
        edit("tool", "row.find_hut.NIESEN.beds", 10),
        *sampling("scout", "leader"),
    ),
)

# ---- a handbook: a model scores each page, and the two best are passed on in that order


def _score(request: Request) -> str:
    question, _, page = request.last.partition("\nPage: ")
    words = [word for word in ("abroad", "days", "parents") if word in question.lower() and word in page.lower()]
    score = 20 * len(words)
    for word, points in re.findall(r"Add (\w+) points for each (\w+)\.", request.system):
        score += int(word) if points in page.lower() else 0
    if request.model == "m2" and "2025" in page:
        score += 7
    return f"I would give it {min(score, 99)} points of 100."


def _cite(request: Request) -> str:
    pages = re.findall(r"\((\d)\) [^\n]*? (\d+) days", request.last)
    if not pages:
        return "The handbook does not say that."
    number, days = pages[0]
    if "Take the smallest number." in request.system:
        number, days = min(pages, key=lambda page: int(page[1]))
    doubt = f", but page {pages[1][0]} differs" if len({page[1] for page in pages}) > 1 else ""
    silent = "Do not mention doubts." in request.system
    return f"You may be away for {days} days{'' if silent else doubt} (page {number})."


def _handbook(runtime: Runtime) -> str:
    question = user(runtime.settings)
    pages = runtime.retrieve("search_handbook", "days abroad in a year", 4)
    scores: list[tuple[int, str]] = []
    for page in pages:
        answer = say(runtime, "ranker", f"{question}\nPage: {page}")
        scores.append((int((re.findall(r"(\d+) points", answer) or ["0"])[0]), page))
    best = [page for _, page in sorted(scores, key=lambda score: (-score[0], score[1]))[:2]]
    listing = "\n".join(f"({number}) {page}" for number, page in enumerate(best, 1))
    return say(runtime, "officer", f"{question}\n{listing}")


_HANDBOOK: Final = Program(
    name="handbook",
    group="scores",
    program=_handbook,
    final="officer",
    model=model_of({"ranker": _score, "officer": _cite}),
    menu=(),
    settings={
        **prompts(
            ranker=("You are the ranker.", "Add 15 points for each memo.", "Add 5 points for each rule.", ""),
            officer=("You are the officer.", "", "", ""),
        ),
        "user.0": "How many days may I work abroad?",
        "user.1": "",
        "doc.h1.text": "Rule 8: abroad means at most 20 days in a year.",
        "doc.h1.date": "2023-01-01",
        "doc.h2.text": "Memo: people abroad have up to 30 days in a year.",
        "doc.h2.date": "2025-03-01",
        "doc.h3.text": "Draft: abroad could soon mean 60 days in a year.",
        "doc.h3.date": "2024-06-01",
        "doc.h4.text": "Parents have 14 days in the year of a birth.",
        "doc.h4.date": "2025-01-01",
    },
    edits=(
        edit("upstream", "user.0", "How many days do parents have?", "For how many days may I work abroad?"),
        edit("upstream", "user.1", "I have a child.", "I am asking for a friend.", decoy=True),
        edit("prompt", "prompt.ranker.1", "Add 3 points for each memo.", "Add 10 points for each memo."),
        edit("prompt", "prompt.ranker.2", "Add 18 points for each draft.", "Add 16 points for each rule."),
        wording("ranker", 3),
        edit("model", "model.ranker.name", "m2"),
        edit("prompt", "prompt.officer.1", "Take the smallest number."),
        edit("prompt", "prompt.officer.2", "Do not mention doubts."),
        wording("officer", 3),
        edit("retrieval", "doc.h2.text", "Memo: people abroad have up to 20 days in a year."),
        edit("retrieval", "doc.h3.text", "Draft memo: abroad could soon mean 60 days in a year."),
        edit("retrieval", "doc.h4.text", "Parents have 16 days in the year of a birth.", decoy=True),
        *sampling("ranker", "officer"),
    ),
)

# ---- a mailbox: pages are read until one has no next page, or until there are enough urgent letters


def _label(request: Request) -> str:
    rules = re.findall(r"Mail about (\w+) is (\w+)\.", request.system)
    labels = [label for word, label in rules if word in request.last.lower()]
    return f"label = {(labels or ['later'])[0 if request.model == 'm1' else -1]}"


def _summarise(request: Request) -> str:
    lines = re.findall(r"^(\w+) \| (.+)$", request.last, re.MULTILINE)
    urgent = [subject for label, subject in lines if label == "URGENT"]
    if not urgent:
        return f"Nothing is urgent in {len(lines)} letters."
    call = len(urgent) >= int(request.rule(r"Call me from (\d+) urgent ones\.", "9"))
    subjects = urgent if "Name them all." in request.system else urgent[:1]
    return f"{'CALL' if call else 'Mail'}: {'; '.join(subjects)}."


def _mailbox(runtime: Runtime) -> str:
    lines: list[str] = []
    page: str | None = "first"
    while page:
        row = runtime.tool("list_mail", {"page": page})
        assert isinstance(row, dict)
        for subject in str(row.get("subjects", "")).split("; "):
            label = say(runtime, "labeller", f"Subject: {subject}").removeprefix("label = ").upper()
            if label != "SPAM":
                lines.append(f"{label} | {subject[:18].rstrip()}")
        urgent = sum(line.startswith("URGENT") for line in lines)
        page = str(row["next"]) if row.get("next") and urgent < 3 else None
    return say(runtime, "secretary", f"{user(runtime.settings)}\n" + "\n".join(lines))


_PAGES: Final[dict[str, JSONObject]] = {
    "first": {"subjects": "Server in Bern is down; You won a prize", "next": "p2", "unread": 2},
    "p2": {"subjects": "Invoice 88 is overdue; Lunch on Friday", "next": "p3", "unread": 1},
    "p3": {"subjects": "Prize draw for the server room key; Visit of the board", "unread": 2},
    "p4": {"subjects": "Server in Chur is down", "unread": 1},
}
_MAILBOX: Final = Program(
    name="mailbox",
    group="pages",
    program=_mailbox,
    final="secretary",
    model=model_of({"labeller": _label, "secretary": _summarise}),
    menu=(),
    settings={
        **prompts(
            labeller=("You are the labeller.", "Mail about prize is spam.", "Mail about server is urgent.", "", ""),
            secretary=("You are the secretary.", "Call me from 2 urgent ones.", "Name them all.", ""),
        ),
        "user.0": "What is new?",
        "user.1": "",
        **rows("list_mail", **_PAGES),
    },
    edits=(
        edit("upstream", "user.0", "Is there any news?", decoy=True),
        edit("upstream", "user.1", "I am on a train.", decoy=True),
        edit("prompt", "prompt.labeller.1", "Mail about prize is fun.", "Mail about lottery is spam."),
        edit("prompt", "prompt.labeller.3", "Mail about invoice is urgent.", "Mail about board is urgent."),
        wording("labeller", 4),
        edit("model", "model.labeller.name", "m2"),
        edit("prompt", "prompt.secretary.1", "Call me from 3 urgent ones.", "Call me from 1 urgent ones."),
        edit("prompt", "prompt.secretary.2", "", decoy=True),
        wording("secretary", 3),
        edit("tool", "row.list_mail.p2.subjects", "Invoice 88 is paid; Lunch on Friday", "Server in Thun is down"),
        edit("tool", "row.list_mail.p3.next", "p4"),
        edit("tool", "row.list_mail.p2.unread", 0, decoy=True),
        *sampling("labeller", "secretary"),
    ),
)

RESEARCH: Final = (_TREK, _HANDBOOK, _MAILBOX)
REWORDABLE: Final = (_TREK, _HANDBOOK)
