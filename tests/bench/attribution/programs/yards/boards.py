"""Specialists around a shared board, and voters whose votes code weighs."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Edit, Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- wreck survey: a planner fills a board with goals, code picks specialists by what the board lacks, a chronicler


def _planner(request: Request) -> str:
    goals = ["hull", "cargo"]
    if "danger" in request.last or "Always ask for risks." in request.system:
        goals.append("risk")
    if request.model == "m2":
        goals.reverse()
    return "GOALS " + ", ".join(goals)


def _diver(request: Request) -> str:
    length, depth = number(r"length: (\d+)", request.last), number(r"depth: (\d+)", request.last)
    limit = int(request.rule(r"A big wreck is above (\d+) metres\.", "60"))
    reach = "deep" if depth > int(request.rule(r"Deep is below (\d+) metres\.", "40")) else "shallow"
    return f"{'big' if length > limit else 'small'} wooden hull in {reach} water"


def _curator(request: Request) -> str:
    cargo = find(r"cargo: ([\w ,]+)", request.last, "nothing").split(", ")
    precious = request.rule(r"Precious are ([\w, ]+)\.").split(", ")
    treasures = [item for item in cargo if item in precious]
    return f"carried {', '.join(treasures)}" if treasures else "carried goods of little value"


def _warden(request: Request) -> str:
    deep = "deep water" in request.last
    current = number(r"current: (\d+)", request.last)
    strong = current >= int(request.rule(r"A strong current has (\d+) knots\.", "4"))
    return "no diving at all" if deep and strong else "diving with a guide" if deep or strong else "diving is free"


def _chronicler(request: Request) -> str:
    facts = [line.split(": ", 1)[1] for line in request.last.splitlines() if ": " in line]
    shown = facts[: int(request.rule(r"At most (\d) facts\.", "9"))]
    closing = " Ask the museum." if request.rule(r"Refer to the (museum)\.") else ""
    return f"The {find(r'^WRECK (.+)', request.last)}: {'; '.join(shown) or 'unknown'}.{closing}"


_SPECIALISTS: Final = {"hull": "diver", "cargo": "curator", "risk": "warden"}


def _survey(runtime: Runtime) -> str:
    settings = runtime.settings
    question = user(settings)
    name = find(r"wreck (\w+)", question, "Anna")
    board: dict[str, str] = {}
    goals = find(r"GOALS (.+)", say(runtime, "planner", question)).split(", ")
    if settings["code.diver+curator+warden.order"] == "name":
        goals.sort()
    for goal in goals[: int(real(settings["code.diver+curator+warden.steps"]))]:
        specialist = _SPECIALISTS.get(goal)
        if specialist is None:
            continue
        facts = fields(runtime.tool("get_wreck", {"name": name, "part": goal}))
        notes = [f"{key}: {value}" for key, value in facts.items()]
        seen = list(board.items())[-int(real(settings["code.warden.entries"])) :] if goal == "risk" else []
        notes += [f"board {key}: {value}" for key, value in seen]
        board[goal] = say(runtime, specialist, "\n".join(notes))
    lines = [f"{key}: {value}" for key, value in board.items() if key not in str(settings["code.chronicler.secret"])]
    if settings["code.chronicler.age"] == "shown":
        sunk = real(fields(runtime.tool("get_register", {"name": name})).get("sunk"))
        lines.append(f"age: sunk {int(2026 - sunk)} years ago")
    return say(runtime, "chronicler", "\n".join([f"WRECK {name}", *lines]))


_SURVEY: Final = Program(
    name="wreck survey",
    group="shared board",
    program=_survey,
    final="chronicler",
    model=model_of(
        {
            "planner": _planner,
            "diver": _diver,
            "curator": _curator,
            "warden": _warden,
            "chronicler": _chronicler,
        }
    ),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Fill the board.", "", "", ""),
            diver=("You are the diver.", "A big wreck is above 50 metres.", "Deep is below 30 metres.", "", ""),
            curator=("You are the curator.", "Precious are amber, silver.", "", ""),
            warden=("You are the warden.", "A strong current has 3 knots.", "", ""),
            chronicler=("You are the chronicler.", "", "", "", ""),
        ),
        "user.0": "Tell me about the wreck Anna and its danger.",
        "user.1": "",
        "code.diver+curator+warden.order": "plan",
        "code.diver+curator+warden.steps": 3,
        "code.warden.entries": 2,
        "code.chronicler.secret": "none",
        "code.chronicler.age": "hidden",
        **rows(
            "get_wreck",
            Anna={"length": 54, "depth": 34, "cargo": "rye, amber, rope", "current": 2, "flag": "Danish"},
            Brita={"length": 31, "depth": 12, "cargo": "salt, silver", "current": 5, "flag": "Swedish"},
        ),
        **rows("get_register", Anna={"sunk": 1782, "owner": "Holm"}, Brita={"sunk": 1811, "owner": "Berg"}),
    },
    edits=(
        edit("upstream", "user.0", "Tell me about the wreck Brita and its danger.", "Tell me about the wreck Anna."),
        edit("upstream", "user.1", "I love the sea.", decoy=True),
        edit("prompt", "prompt.planner.1", "Always ask for risks.", decoy=True),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.diver.1", "A big wreck is above 60 metres."),
        edit("prompt", "prompt.diver.2", "Deep is below 36 metres."),
        edit("prompt", "prompt.curator.1", "Precious are silver.", "Precious are amber, silver, rope."),
        edit("prompt", "prompt.warden.1", "A strong current has 2 knots."),
        edit("prompt", "prompt.chronicler.1", "At most 2 facts."),
        edit("prompt", "prompt.chronicler.2", "Refer to the museum."),
        Edit(
            category="prompt",
            variants=((("prompt.diver.3", "Stay calm and kind."), ("prompt.curator.2", "Stay calm and kind.")),),
            decoy=True,
        ),
        wording("chronicler", 3),
        edit("upstream", "code.diver+curator+warden.order", "name"),
        edit("upstream", "code.diver+curator+warden.steps", 2),
        edit("upstream", "code.warden.entries", 1),
        edit("upstream", "code.chronicler.secret", "cargo"),
        edit("upstream", "code.chronicler.age", "shown"),
        edit("tool", "row.get_wreck.Anna.length", 48),
        edit("tool", "row.get_wreck.Anna.cargo", "rye, rope", "rye, silver, rope"),
        edit("tool", "row.get_wreck.Anna.current", 4),
        edit("tool", "row.get_wreck.Anna.flag", "Dutch", decoy=True),
        edit("model", "model.chronicler.max_tokens", 300, decoy=True),
        *sampling("planner", "diver", "warden"),
    ),
)

# ---- mushroom vote: three voters read a guide and findings, code weighs their votes, an announcer


def _vote(request: Request, suspicion: int) -> str:
    text = request.last
    points = suspicion
    points += 2 if find(r"gills: (\w+)", text) == request.rule(r"Fear (\w+) gills\.", "white") else 0
    points += 1 if find(r"ring: (\w+)", text) == "yes" else 0
    points += 1 if "deadly" in text and request.model != "m2" else 0
    points -= 2 if find(r"smell: (\w+)", text) in request.rule(r"Trust the smell of ([\w, ]+)\.").split(", ") else 0
    verdict = "poison" if points >= 3 else "doubt" if points == 2 else "food"
    return f"VOTE {verdict} because of {points} points"


def _careful(request: Request) -> str:
    return _vote(request, 1)


def _plain(request: Request) -> str:
    return _vote(request, 0)


def _bold(request: Request) -> str:
    return _vote(request, -1)


def _announcer(request: Request) -> str:
    verdict, share = find(r"^Verdict: (\w+)", request.last), find(r"^Share: (\d+)", request.last)
    text = {"poison": "Do not eat it", "doubt": "Show it to an expert", "food": "You may eat it"}.get(
        verdict, "No vote"
    )
    sure = int(request.rule(r"Sure is from (\d+) percent\.", "101"))
    certainty = " for sure" if share and int(share) >= sure else ""
    title = request.rule(r"Start with (\w+)\.")
    return f"{title + ': ' if title else ''}{text}{certainty}."


def _ballot(runtime: Runtime) -> str:
    settings = runtime.settings
    finding = fields(runtime.tool("get_finding", {"id": find(r"finding (\w+)", user(settings), "F1")}))
    names = str(settings["code.careful+plain+bold.fields"]).split("+")
    text = "\n".join(f"{name}: {finding[name]}" for name in names if name in finding)
    guide = runtime.retrieve("guide", f"{finding.get('kind', 'mushroom')} gills", int(real(settings["search.top_k"])))
    tally: dict[str, float] = {}
    for voter in ("careful", "plain", "bold"):
        passages = guide if settings["code.careful+plain+bold.guide"] == "all" else guide[:1]
        vote = find(r"VOTE (\w+)", say(runtime, voter, "\n".join([text, *passages])), "none")
        weight = real(settings[f"code.announcer.{voter}"], 1.0)
        tally[vote] = tally.get(vote, 0.0) + weight
    total = sum(tally.values())
    best = max(tally.values())
    leaders = [vote for vote in tally if tally[vote] == best]
    verdict = leaders[0] if settings["code.announcer.tie"] == "first" else leaders[-1]
    share = round(100 * best / total)
    if share < real(settings["code.announcer.quorum"]):
        verdict = "doubt"
    return say(runtime, "announcer", f"Verdict: {verdict}\nShare: {share}")


_GUIDE: Final[JSONObject] = {
    "doc.cap.date": "2021",
    "doc.cap.text": "The death cap has white gills and a ring and is deadly",
    "doc.field.date": "2019",
    "doc.field.text": "The field mushroom has pink gills",
    "doc.horse.date": "2020",
    "doc.horse.text": "The horse mushroom smells of anise and has pale gills",
}
_BALLOT: Final = Program(
    name="mushroom vote",
    group="weighted votes",
    program=_ballot,
    final="announcer",
    model=model_of({"careful": _careful, "plain": _plain, "bold": _bold, "announcer": _announcer}),
    menu=(),
    settings={
        **prompts(
            careful=("You are the careful.", "Fear white gills.", "", "", ""),
            plain=("You are the plain.", "Fear white gills.", "", "", ""),
            bold=("You are the bold.", "Fear white gills.", "", "", ""),
            announcer=("You are the announcer.", "Sure is from 90 percent.", "", "", ""),
        ),
        "user.0": "Can I eat the finding F1?",
        "user.1": "",
        "search.top_k": 2,
        "code.careful+plain+bold.fields": "gills+ring+smell",
        "code.careful+plain+bold.guide": "all",
        "code.announcer.careful": 1,
        "code.announcer.plain": 1,
        "code.announcer.bold": 1,
        "code.announcer.tie": "first",
        "code.announcer.quorum": 50,
        **_GUIDE,
        **rows(
            "get_finding",
            F1={"kind": "cap", "gills": "white", "ring": "no", "smell": "anise", "place": "birches"},
            F2={"kind": "field", "gills": "pink", "ring": "yes", "smell": "nuts", "place": "meadow"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Can I eat the finding F2?"),
        edit("upstream", "user.1", "We are hungry.", decoy=True),
        edit("prompt", "prompt.careful.2", "Trust the smell of anise."),
        edit("prompt", "prompt.plain.2", "Trust the smell of anise."),
        edit("prompt", "prompt.bold.1", "Fear brown gills.", decoy=True),
        edit("prompt", "prompt.announcer.1", "Sure is from 60 percent."),
        edit("prompt", "prompt.announcer.2", "Start with Verdict."),
        Edit(
            category="prompt",
            variants=(
                (
                    ("prompt.careful.3", "Trust the smell of nuts, anise."),
                    ("prompt.plain.3", "Trust the smell of nuts, anise."),
                ),
            ),
        ),
        wording("bold", 3),
        wording("announcer", 3),
        edit("model", "model.plain.name", "m2"),
        edit("model", "model.bold.name", "m2", decoy=True),
        edit("prompt", "search.top_k", 1, 3, decoy=True),
        edit("upstream", "code.careful+plain+bold.guide", "first", decoy=True),
        edit("upstream", "code.careful+plain+bold.fields", "ring+smell"),
        edit("upstream", "code.announcer.bold", 3),
        edit("upstream", "code.announcer.tie", "last", decoy=True),
        edit("upstream", "code.announcer.quorum", 70),
        edit("retrieval", "doc.cap.text", "The death cap has white gills and a ring"),
        edit("retrieval", "doc.horse.text", "The horse mushroom has pale gills and a scent of almonds", decoy=True),
        edit("tool", "row.get_finding.F1.gills", "brown"),
        edit("tool", "row.get_finding.F1.ring", "yes"),
        edit("tool", "row.get_finding.F1.place", "oaks", decoy=True),
        *sampling("careful", "announcer"),
    ),
)
_BALLOT_AT_RANDOM: Final = replace(
    _BALLOT,
    name="mushroom vote, at random",
    group="weighted votes, at random",
    chance=Chance(rate=0.1, alternatives=(("VOTE poison", "VOTE food"), ("VOTE doubt", "VOTE poison"))),
)

BOARDS: Final[tuple[Program, ...]] = (_SURVEY, _BALLOT, _BALLOT_AT_RANDOM)
