"""A plan of a night whose code fills a queue, and a catalogue whose code compares two sources."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- night plan: code sorts targets and fills the night, an observer judges each, a chief sums up


def _observer(request: Request) -> str:
    height, bright = number(r"height (\d+)", request.last), decimal(r"magnitude ([\d.]+)", request.last)
    low = int(request.rule(r"Refuse below (\d+) degrees\.", "20")) + (15 if request.model == "m2" else 0)
    if height < low:
        return "REFUSE too low"
    filter_name = "red" if bright > float(request.rule(r"Faint is above ([\d.]+)\.", "9.0")) else "blue"
    return f"TAKE with {filter_name}"


def _chief(request: Request) -> str:
    taken = [line.split(":")[0] for line in request.last.splitlines() if "TAKE" in line]
    left = number(r"^Left: (\d+)", request.last)
    spare = f" {left} minutes are left." if request.rule(r"Mention the (rest)\.") else ""
    first = find(r"^(\w+): TAKE with", request.last, "nothing")
    colour = find(r"TAKE with (\w+)", request.last, "no")
    return f"{len(taken)} targets, {first} first in {colour}.{spare}{request.rule(r'End with (.)')}"


def _plan(runtime: Runtime) -> str:
    settings = runtime.settings
    names = find(r"Observe ([\w, ]+)\.", user(settings), "Vega").split(", ")
    targets: dict[str, JSONObject] = {name: fields(runtime.tool("get_target", {"name": name})) for name in names}
    key = str(settings["code.observer.order"])
    queue = sorted(names, key=lambda name: -real(targets[name].get(key)))
    left = int(real(settings["code.observer.night"]))
    lines: list[str] = []
    for name in queue:
        minutes = int(real(targets[name].get("minutes")))
        if minutes > left:
            continue
        left -= minutes
        target = targets[name]
        verdict = say(
            runtime, "observer", f"{name}: height {target.get('height')}, magnitude {target.get('magnitude')}"
        )
        lines.append(f"{name}: {verdict}")
    return say(runtime, "chief", "\n".join([*lines, f"Left: {left}"]))


_NIGHT: Final = Program(
    name="night plan",
    group="night plan",
    program=_plan,
    final="chief",
    model=model_of({"observer": _observer, "chief": _chief}),
    menu=(),
    settings={
        **prompts(
            observer=("You are the observer. Judge it.", "Refuse below 25 degrees.", "Faint is above 6.", "", ""),
            chief=("You are the chief. Sum up the night.", "Mention the rest.", "", "", ""),
        ),
        "user.0": "Observe Vega, Deneb, Mizar, Algol.",
        "user.1": "",
        "code.observer.order": "height",
        "code.observer.night": 100,
        **rows(
            "get_target",
            Vega={"height": 70, "magnitude": 0.1, "minutes": 30, "seen": "May"},
            Deneb={"height": 60, "magnitude": 6.5, "minutes": 40, "seen": "June"},
            Mizar={"height": 35, "magnitude": 2.2, "minutes": 20, "seen": "March"},
            Algol={"height": 30, "magnitude": 8.1, "minutes": 25, "seen": "August"},
            Capella={"height": 80, "magnitude": 7.4, "minutes": 15, "seen": "April"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Observe Vega, Mizar.", "Observe Capella, Vega, Algol."),
        edit("upstream", "user.1", "The sky is clear.", decoy=True),
        edit("prompt", "prompt.observer.1", "Refuse below 40 degrees."),
        edit("prompt", "prompt.observer.2", "Faint is above 0.", "Faint is above 0.05."),
        wording("observer", 3),
        edit("prompt", "prompt.chief.1", ""),
        edit("prompt", "prompt.chief.2", "End with !"),
        wording("chief", 3),
        edit("model", "model.observer.name", "m2"),
        edit("upstream", "code.observer.order", "magnitude", "minutes"),
        edit("upstream", "code.observer.night", 60, 130),
        edit("tool", "row.get_target.Vega.minutes", 80, 45),
        edit("tool", "row.get_target.Mizar.height", 15, 90),
        edit("tool", "row.get_target.Vega.seen", "July", decoy=True),
        edit("tool", "row.get_target.Mizar.seen", "never", decoy=True),
        *sampling("observer", "chief"),
    ),
)

# ---- star catalogue: code compares two sources, an arbiter decides what they disagree about, a scribe writes

_VALUES: Final = ("distance", "mass", "heat")


def _arbiter(request: Request) -> str:
    old, new = number(r"old (\d+)", request.last), number(r"new (\d+)", request.last)
    rule = request.rule(r"Prefer the (\w+) source\.", "new")
    if request.model == "m2":
        rule = "mean"
    return f"VALUE {old if rule == 'old' else new if rule == 'new' else (old + new) // 2}"


def _scribe(request: Request) -> str:
    entries = [line for line in request.last.splitlines() if "=" in line]
    shown = entries[: int(request.rule(r"Name (\d) values\.", "3"))]
    doubts = number(r"^Disputed: (\d+)", request.last)
    mark = " It is disputed." if doubts > int(request.rule(r"Allow (\d) disputes\.", "9")) else ""
    source = request.rule(r"Cite as (\w+)")
    return f"{', '.join(shown)}.{mark}{source}"


def _catalogue(runtime: Runtime) -> str:
    settings = runtime.settings
    star = find(r"entry of (\w+)", user(settings), "Vega")
    old = fields(runtime.tool("read_old", {"star": star}))
    new = fields(runtime.tool("read_new", {"star": star}))
    lines: list[str] = []
    disputed = 0
    for name in _VALUES:
        before, after = int(real(old.get(name))), int(real(new.get(name)))
        value = before if settings["code.scribe.keeps"] == "old" else after
        if abs(after - before) * 100 > real(settings["code.arbiter.tolerance"]) * max(before, 1):
            disputed += 1
            value = number(r"VALUE (\d+)", say(runtime, "arbiter", f"{name}: old {before}, new {after}"))
        lines.append(f"{name}={value}")
    return say(runtime, "scribe", "\n".join([f"Star: {star}", *lines, f"Disputed: {disputed}"]))


_STARS: Final = Program(
    name="star catalogue",
    group="star catalogue",
    program=_catalogue,
    final="scribe",
    model=model_of({"arbiter": _arbiter, "scribe": _scribe}),
    menu=(),
    settings={
        **prompts(
            arbiter=("You are the arbiter. Decide.", "Prefer the new source.", "", ""),
            scribe=("You are the scribe. Write the entry.", "Name 3 values.", "Allow 1 disputes.", "", "", ""),
        ),
        "user.0": "Write the entry of Vega.",
        "user.1": "",
        "code.arbiter.tolerance": 10,
        "code.scribe.keeps": "new",
        **rows(
            "read_old",
            Vega={"distance": 250, "mass": 21, "heat": 9600, "page": 12},
            Deneb={"distance": 2600, "mass": 19, "heat": 8500, "page": 30},
        ),
        **rows(
            "read_new",
            Vega={"distance": 300, "mass": 22, "heat": 9700, "editor": "Ames"},
            Deneb={"distance": 2615, "mass": 15, "heat": 8525, "editor": "Birk"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Write the entry of Deneb."),
        edit("upstream", "user.1", "Thank you in advance.", decoy=True),
        edit("prompt", "prompt.arbiter.1", "Prefer the old source."),
        wording("arbiter", 2),
        edit("prompt", "prompt.scribe.1", "Name 2 values.", "Name 1 values."),
        edit("prompt", "prompt.scribe.2", "Allow 0 disputes."),
        edit("prompt", "prompt.scribe.3", "Cite as Gaia"),
        wording("scribe", 4),
        edit("model", "model.arbiter.name", "m2"),
        edit("upstream", "code.arbiter.tolerance", 0, 2),
        edit("upstream", "code.scribe.keeps", "old"),
        edit("tool", "row.read_old.Vega.mass", 30),
        edit("tool", "row.read_new.Vega.distance", 270, 410),
        edit("tool", "row.read_new.Vega.heat", 9900),
        edit("tool", "row.read_old.Vega.page", 14, decoy=True),
        edit("tool", "row.read_new.Vega.editor", "Cole", decoy=True),
        edit("model", "model.arbiter.max_tokens", 300, decoy=True),
        edit("model", "model.scribe.max_tokens", 300, decoy=True),
        wording("arbiter", 3),
        *sampling("arbiter", "scribe"),
    ),
)

NIGHTS: Final[tuple[Program, ...]] = (_NIGHT, _STARS)
