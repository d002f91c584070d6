"""An alert on a blackboard whose code wakes agents, and a draft whose claims are verified one by one."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- transient alert: agents write entries on a blackboard, code wakes the agent that an entry calls for


_ENTRY: Final = r"ENTRY (flare of [\d.]*\d|kind (?:variable star|\w+)|quiet)"


def _watcher(request: Request) -> str:
    rise = decimal(r"rise ([\d.]+)", request.last)
    limit = float(request.rule(r"Report from ([\d.]+) on\.", "1.0"))
    if request.model == "m2":
        limit += 2
    return f"ENTRY flare of {rise}" if rise >= limit else "ENTRY quiet"


def _classifier(request: Request) -> str:
    rise, days = decimal(r"flare of ([\d.]+)", request.last), number(r"days (\d+)", request.last)
    slow = days > int(request.rule(r"Slow is above (\d+) days\.", "20"))
    kind = "supernova" if slow else "nova" if rise > 2 else "variable star"
    name = request.rule(r"Say (\w+) instead of nova\.", "nova")
    return f"ENTRY kind {name if kind == 'nova' else kind}"


def _herald(request: Request) -> str:
    kind = find(r"^kind ([\w ]+)$", request.last)
    near = find(r"near (\w+)", request.last, "nowhere")
    if not kind:
        return "Nothing happened tonight."
    urgent = "Urgent: " if kind in request.rule(r"Hurry for a (\w+)\.") else ""
    return f"{urgent}a {kind} near {near}{request.rule(r'End with (.)', '.')}"


def _alert(runtime: Runtime) -> str:
    settings = runtime.settings
    place = find(r"field (\w+)", user(settings), "K2")
    curve = fields(runtime.tool("get_curve", {"field": place}))
    board: list[str] = [f"rise {curve.get('rise')}"]
    for _ in range(int(real(settings["code.watcher+classifier.rounds"]))):
        newest = board[-1]
        if newest.startswith("rise"):
            entry = say(runtime, "watcher", newest)
        elif "flare" in newest:
            days = f", days {curve.get('days')}" if settings["code.classifier.days"] else ""
            entry = say(runtime, "classifier", f"{newest}{days}")
        else:
            break
        board.append(find(_ENTRY, entry, "quiet"))
    shown = board[-1:] if settings["code.herald.board"] == "newest" else board
    return say(runtime, "herald", "\n".join([*shown, f"near {curve.get('near')}"]))


_ALERT: Final = Program(
    name="transient alert",
    group="transient alert",
    program=_alert,
    final="herald",
    model=model_of({"watcher": _watcher, "classifier": _classifier, "herald": _herald}),
    menu=(),
    settings={
        **prompts(
            watcher=("You are the watcher. Look at it.", "Report from 1.0 on.", "", ""),
            classifier=("You are the classifier. Name the kind.", "Slow is above 20 days.", "", "", ""),
            herald=("You are the herald. Tell the others.", "Hurry for a nova.", "", "", ""),
        ),
        "user.0": "Watch the field K2 tonight.",
        "user.1": "",
        "code.watcher+classifier.rounds": 4,
        "code.classifier.days": True,
        "code.herald.board": "all",
        **rows(
            "get_curve",
            K2={"rise": 2.4, "days": 12, "near": "Lyra", "frames": 40},
            K9={"rise": 0.3, "days": 2, "near": "Cygnus", "frames": 22},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Watch the field K9 tonight."),
        edit("upstream", "user.1", "The moon is new.", decoy=True),
        edit("prompt", "prompt.watcher.1", "Report from 3.0 on."),
        wording("watcher", 2),
        edit("prompt", "prompt.classifier.1", "Slow is above 9 days."),
        edit("prompt", "prompt.classifier.2", "Say guest instead of nova."),
        wording("classifier", 3),
        edit("prompt", "prompt.herald.1", ""),
        edit("prompt", "prompt.herald.2", "End with !"),
        wording("herald", 3),
        edit("model", "model.watcher.name", "m2"),
        edit("upstream", "code.watcher+classifier.rounds", 1),
        edit("tool", "row.get_curve.K2.days", 33, 60),
        edit("tool", "row.get_curve.K2.rise", 1.6, 0.4),
        edit("tool", "row.get_curve.K2.near", "Draco"),
        edit("upstream", "code.classifier.days", False, decoy=True),
        edit("upstream", "code.herald.board", "newest", decoy=True),
        edit("tool", "row.get_curve.K2.frames", 41, decoy=True),
        *sampling("watcher", "herald"),
    ),
)
_ALERT_REWORDED: Final = replace(
    _ALERT, name="transient alert, reworded", group="transient alert, reworded", rewords=True
)

# ---- fact check: code splits a draft into claims, a verifier checks each, code drops what fails, an editor finishes


def _drafter(request: Request) -> str:
    facts = [line for line in request.last.splitlines() if line.startswith("- ")]
    most = int(request.rule(r"Use (\d) facts\.", "3")) - (request.model == "m2")
    return " ".join(f"{fact.removeprefix('- ')}." for fact in facts[:most]) or "No facts."


def _verifier(request: Request) -> str:
    value, known = number(r"Claim: .*?(\d+)", request.last), number(r"Source: .*?(\d+)", request.last)
    share = int(request.rule(r"Forgive (\d+) percent\.", "0"))
    is_right = abs(value - known) * 100 <= share * max(known, 1)
    return "PASS" if is_right else "FAIL by " + str(abs(value - known))


def _editor(request: Request) -> str:
    claims = [line for line in request.last.splitlines() if line[:1].isdigit()]
    names = "; ".join(line.partition(" ")[2] for line in claims) or "nothing certain"
    dropped = number(r"^Dropped: (\d+)", request.last)
    note = f" {dropped} claims were dropped." if dropped and request.rule(r"Admit (what) is missing\.") else ""
    head = request.rule(r"Head it (\w+)", "Report")
    return f"{head}: {names}.{note}"


def _check(runtime: Runtime) -> str:
    settings = runtime.settings
    topic = find(r"about (\w+)", user(settings), "Saturn")
    page = fields(runtime.tool("get_notes", {"topic": topic}))
    source = fields(runtime.tool("get_source", {"topic": topic}))
    facts = [f"- {name} {page.get(name)}" for name in ("moons", "rings", "storms") if name in page]
    draft = say(runtime, "drafter", "\n".join([f"Topic: {topic}", *facts]))
    claims = [claim.strip(" .") for claim in draft.split(".") if any(map(str.isdigit, claim))]
    kept: list[str] = []
    for claim in claims:
        name = next((name for name in source if name in claim), "")
        verdict = say(runtime, "verifier", f"Claim: {claim}\nSource: {name} {source.get(name)}")
        if "PASS" in verdict or number(r"FAIL by (\d+)", verdict) <= real(settings["code.editor.slack"]):
            kept.append(f"{name} {find(rf'({name} [0-9]+)', claim).rpartition(' ')[2]}")
    if settings["code.editor.sort"] == "alphabet":
        kept.sort()
    numbered = [f"{index}. {claim}" for index, claim in enumerate(kept, 1)]
    return say(runtime, "editor", "\n".join([*numbered, f"Dropped: {len(claims) - len(kept)}"]))


_CHECK: Final = Program(
    name="fact check",
    group="fact check",
    program=_check,
    final="editor",
    model=model_of({"drafter": _drafter, "verifier": _verifier, "editor": _editor}),
    menu=(),
    settings={
        **prompts(
            drafter=("You are the drafter. Write a draft.", "Use 3 facts.", "", ""),
            verifier=("You are the verifier. Check it.", "Forgive 5 percent.", "", ""),
            editor=("You are the editor. Finish it.", "Admit what is missing.", "Head it Saturn", "", ""),
        ),
        "user.0": "Write about Saturn.",
        "user.1": "",
        "code.editor.slack": 0,
        "code.editor.sort": "draft",
        **rows(
            "get_notes",
            Saturn={"moons": 140, "rings": 7, "storms": 30, "author": "Hale"},
            Uranus={"moons": 27, "rings": 13, "storms": 4, "author": "Ives"},
        ),
        **rows(
            "get_source",
            Saturn={"moons": 145, "rings": 7, "storms": 24, "year": 2023},
            Uranus={"moons": 28, "rings": 13, "storms": 5, "year": 2022},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Write about Uranus."),
        edit("upstream", "user.1", "It is for a magazine.", decoy=True),
        edit("prompt", "prompt.drafter.1", "Use 2 facts.", "Use 1 facts."),
        wording("drafter", 2),
        edit("prompt", "prompt.verifier.1", "Forgive 1 percent.", "Forgive 30 percent."),
        wording("verifier", 2),
        edit("prompt", "prompt.editor.1", ""),
        edit("prompt", "prompt.editor.2", "Head it News"),
        wording("editor", 3),
        edit("model", "model.drafter.name", "m2"),
        edit("upstream", "code.editor.slack", 10),
        edit("tool", "row.get_notes.Saturn.moons", 120, 150),
        edit("tool", "row.get_source.Saturn.rings", 9),
        edit("upstream", "code.editor.sort", "alphabet", decoy=True),
        edit("tool", "row.get_notes.Saturn.author", "Noor", decoy=True),
        edit("tool", "row.get_source.Saturn.year", 2024, decoy=True),
        *sampling("drafter", "verifier"),
    ),
)
_CHECK_REWORDED: Final = replace(_CHECK, name="fact check, reworded", group="fact check, reworded", rewords=True)

CLAIMS: Final[tuple[Program, ...]] = (_ALERT, _ALERT_REWORDED, _CHECK, _CHECK_REWORDED)
