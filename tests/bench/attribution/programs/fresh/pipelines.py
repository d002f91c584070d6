"""Pipelines: a binary search, a state that agents patch until it is stable, a report assembled by code."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, model_of, parse
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- builds: the verdict on the middle build decides which half is searched next


def _inspect(request: Request) -> str:
    facts = {name: int(number) for name, number in re.findall(r"(\w+): (\d+)", request.last)}
    failures = facts.get("failed", 0) + (facts.get("flaky", 0) if request.model == "m2" else 0)
    bad = failures > int(request.rule(r"More than (\d+) failures are bad\.", "0"))
    slow = facts.get("seconds", 0) > int(request.rule(r"Over (\d+) seconds is bad\.", "9999"))
    return f"With {failures} failures, my verdict is {'bad' if bad or slow else 'good'}."


def _accuse(request: Request) -> str:
    facts: dict[str, str] = dict(re.findall(r"(\w+)=([\w-]+)", request.last))
    exempt_author = request.rule(r"Never name (\w+)\.", "nobody")
    author = "the team" if facts.get("author") == exempt_author else facts.get("author", "somebody")
    act = "Revert" if int(facts.get("files", "0")) < int(request.rule(r"Revert below (\d+) files\.", "10")) else "Fix"
    return f"{act} {facts.get('build')} by {author}."


def _bisect(runtime: Runtime) -> str:
    low, high = 1, 8
    while low < high:
        middle = (low + high) // 2
        log = runtime.tool("run_suite", {"build": f"b{middle}"})
        lines = [f"{name}: {value}" for name, value in log.items()] if isinstance(log, dict) else []
        verdict = say(runtime, "inspector", f"{user(runtime.settings)}\n" + "\n".join(lines))
        low, high = (low, middle) if "verdict is bad" in verdict else (middle + 1, high)
    info = runtime.tool("build_info", {"build": f"b{low}"})
    facts = [f"{name}={value}" for name, value in info.items()] if isinstance(info, dict) else []
    return say(runtime, "herald", f"build={low} {' '.join(facts)}")


_LOGS: Final[dict[str, JSONObject]] = {
    f"b{number}": {"failed": failed, "flaky": number % 3, "seconds": 40 + 5 * number}
    for number, failed in enumerate((0, 1, 1, 2, 4, 5, 9, 9), 1)
}
_INFOS: Final[dict[str, JSONObject]] = {
    f"b{number}": {"author": author, "files": 3 * number}
    for number, author in enumerate(("Ada", "Kim", "Ada", "Kim", "Lea", "Kim", "Ada", "Lea"), 1)
}
_BUILDS: Final = Program(
    name="builds",
    group="halves",
    program=_bisect,
    final="herald",
    model=model_of({"inspector": _inspect, "herald": _accuse}),
    menu=(),
    settings={
        **prompts(
            inspector=("You are the inspector.", "More than 3 failures are bad.", "", ""),
            herald=("You are the herald.", "Revert below 10 files.", "", ""),
        ),
        "user.0": "Is this build good?",
        "user.1": "",
        **rows("run_suite", **_LOGS),
        **rows("build_info", **_INFOS),
    },
    edits=(
        edit("upstream", "user.0", "Can we ship this build?", decoy=True),
        edit("upstream", "user.1", "It is for the fair.", decoy=True),
        edit("prompt", "prompt.inspector.1", "More than 1 failures are bad.", "More than 4 failures are bad."),
        edit("prompt", "prompt.inspector.2", "Over 55 seconds is bad.", "Over 75 seconds is bad."),
        wording("inspector", 3),
        edit("model", "model.inspector.name", "m2"),
        edit("prompt", "prompt.herald.1", "Revert below 16 files.", "Revert below 12 files."),
        edit("prompt", "prompt.herald.2", "Never name Lea.", "Never name Kim."),
        wording("herald", 3),
        edit("tool", "row.run_suite.b4.failed", 7),
        edit("tool", "row.run_suite.b5.failed", 3),
        edit("tool", "row.run_suite.b6.seconds", 71, decoy=True),
        edit("tool", "row.build_info.b5.files", 8),
        *sampling("inspector", "herald"),
    ),
)

# ---- a feast: agents patch a shared state, round after round, until no patch changes it


def _plan(request: Request) -> str:
    state = _state_in(request.last)
    guests = int(next(iter(re.findall(r"(\d+) guests", request.last)), "10"))
    most = state.get("most")
    if isinstance(most, int):
        guests = min(guests, most)
    large = guests > int(request.rule(r"The hall is for more than (\d+)\.", "40"))
    return f"Take this: {json.dumps({'guests': str(guests), 'room': 'hall' if large else 'garden'})}"


def _cater(request: Request) -> str:
    state = _state_in(request.last)
    guests, room = _number(state, "guests"), state.get("room")
    menu = "buffet" if guests > int(request.rule(r"A buffet from (\d+) on\.", "30")) else "dinner"
    price = int(request.rule(rf"A {menu} is (\d+) francs\.", "20"))
    patch: JSONObject = {"menu": menu, "cost": f"{guests * price + (100 if room == 'HALL' else 0)}"}
    return f"I suggest {json.dumps(patch)}"


def _audit(request: Request) -> str:
    state, budget = _state_in(request.last), int(request.rule(r"Spend up to (\d+) francs\.", "1000"))
    guests, cost = _number(state, "guests"), _number(state, "cost")
    if cost <= budget or not guests:
        return "It is all right: {}"
    fewer = guests - (10 if request.model == "m1" else 6)
    return f"That is too much: {json.dumps({'most': str(max(fewer, 1))})}"


def _announce(request: Request) -> str:
    state = _state_in(request.last)
    place = str(state.get("room", "")).lower()
    hour = request.rule(r"We begin at (\w+)\.", "noon")
    return f"We invite {state.get('guests')} guests to a {state.get('menu')} in the {place} at {hour}."


def _state_in(text: str) -> JSONObject:
    """The first JSON object of a text."""
    return parse(text[text.find("{") : text.rfind("}") + 1])


def _number(state: JSONObject, name: str) -> int:
    value = state.get(name)
    return value if isinstance(value, int) else 0


def _normal(value: JSONValue) -> JSONValue:
    """Digits as a number, and the name of a room in capitals."""
    text = str(value)
    if text.isdecimal():
        return int(text)
    return text.upper() if text in {"hall", "garden"} else value


def _feast(runtime: Runtime) -> str:
    state: JSONObject = {}
    for _ in range(5):
        before = dict(state)
        for node in ("planner", "caterer", "treasurer"):
            answer = say(runtime, node, f"{user(runtime.settings)}\nState: {json.dumps(state)}")
            state |= {name: _normal(value) for name, value in _state_in(answer).items()}
        if state == before:
            break
    return say(runtime, "host", f"State: {json.dumps(state)}")


_FEAST: Final = Program(
    name="feast",
    group="shared state",
    program=_feast,
    final="host",
    model=model_of({"planner": _plan, "caterer": _cater, "treasurer": _audit, "host": _announce}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner.", "The hall is for more than 40.", ""),
            caterer=(
                "You are the caterer.",
                "A buffet from 35 on.",
                "A buffet is 20 francs.",
                "A dinner is 30 francs.",
                "",
            ),
            treasurer=("You are the treasurer.", "Spend up to 900 francs.", ""),
            host=("You are the host.", "We begin at six.", ""),
        ),
        "user.0": "We expect 44 guests.",
        "user.1": "",
    },
    edits=(
        edit("upstream", "user.0", "We expect 50 guests.", "We now expect 44 guests.", "We expect 36 guests."),
        edit("upstream", "user.1", "It is in June.", "There will be music.", decoy=True),
        edit("prompt", "prompt.planner.1", "The hall is for more than 20.", "The hall is for more than 42."),
        wording("planner", 2),
        edit("prompt", "prompt.caterer.1", "A buffet from 30 on."),
        edit("prompt", "prompt.caterer.2", "A buffet is 18 francs.", "A buffet is 24 francs."),
        edit("prompt", "prompt.caterer.3", "A dinner is 26 francs."),
        wording("caterer", 4),
        edit("prompt", "prompt.treasurer.1", "Spend up to 1050 francs.", "Spend up to 990 francs."),
        wording("treasurer", 2),
        edit("model", "model.treasurer.name", "m2"),
        edit("prompt", "prompt.host.1", "We begin at seven."),
        *sampling("planner", "caterer", "treasurer"),
    ),
)

# ---- a report: sections follow an outline, a second source fills gaps, and code assembles the text


def _outline(request: Request) -> str:
    topics = re.findall(r"\b(traffic|housing|schools)\b", request.last.lower())
    if "Leave housing out." in request.system:
        topics = [topic for topic in topics if topic != "housing"]
    titles = [f"- {topic} in the valley" for topic in dict.fromkeys(topics)]
    return "\n".join(titles[::-1] if request.model == "m2" else titles)


def _describe(request: Request) -> str:
    topic = next(iter(re.findall(r"Section: (\w+)", request.last)), "it")
    facts = {name: int(number) for name, number in re.findall(r'"(\w+)": (\d+)', request.last)}
    if "now" not in facts:
        return f"Of {topic.lower()} there are no figures."
    limit = int(request.rule(r"Call (\d+) percent a change\.", "5"))
    growth = 100 * (facts["now"] - facts.get("before", facts["now"])) // max(facts.get("before", 1), 1)
    trend = "grows" if growth >= limit else "shrinks" if growth <= -limit else "stays"
    suffix = " by old figures" if "archived" in facts and "Admit old figures." in request.system else ""
    return f"{topic.capitalize()} {trend}{suffix}, now at {facts['now']}."


def _entitle(request: Request) -> str:
    trends = re.findall(r"(\w+) (grows|shrinks)", request.last)
    if not trends:
        return "A QUIET YEAR"
    topic, trend = trends[-1 if "Put the last thing first." in request.system else 0]
    return f"{topic} {trend}".upper()


def _report(runtime: Runtime) -> str:
    sections: list[str] = []
    for title in re.findall(r"- (.+)", say(runtime, "planner", user(runtime.settings))):
        topic = title.split()[0]
        figures = runtime.tool("statistics", {"topic": topic})
        if isinstance(figures, dict) and "error" in figures:
            figures = runtime.tool("archive", {"key": topic[:4].upper()})
        sections.append(say(runtime, "writer", f"Section: {title.title()}\nFigures: {result_text(figures)}"))
    headline = say(runtime, "editor", " ".join(sections))
    return "\n".join([f"# {headline}", *(f"{number}. {text}" for number, text in enumerate(sections, 1))])


_REPORT: Final = Program(
    name="report",
    group="assembly",
    program=_report,
    final="editor",
    model=model_of({"planner": _outline, "writer": _describe, "editor": _entitle}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner.", "", ""),
            writer=("You are the writer.", "Call 5 percent a change.", "", ""),
            editor=("You are the editor.", "", ""),
        ),
        "user.0": "Write about traffic and housing.",
        "user.1": "",
        **rows(
            "statistics",
            traffic={"now": 412, "before": 400, "station": 7},
            schools={"now": 31, "before": 36, "station": 2},
        ),
        **rows("archive", HOUS={"now": 96, "before": 80, "archived": 2019}, TRAF={"now": 399, "archived": 2019}),
    },
    edits=(
        edit("upstream", "user.0", "Write about traffic, housing and schools.", "Please write on traffic and housing."),
        edit("upstream", "user.1", "It is for the mayor.", "Take your time.", decoy=True),
        edit("prompt", "prompt.planner.1", "Leave housing out."),
        wording("planner", 2),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.writer.1", "Call 2 percent a change.", "Call 25 percent a change."),
        edit("prompt", "prompt.writer.2", "Admit old figures."),
        wording("writer", 3),
        edit("prompt", "prompt.editor.1", "Put the last thing first.", decoy=True),
        wording("editor", 2),
        edit("tool", "row.statistics.traffic.now", 430, 380),
        edit("tool", "row.statistics.traffic.station", 9, decoy=True),
        edit("tool", "row.archive.HOUS.now", 99, 70),
        *sampling("planner", "writer", "editor"),
    ),
)

PIPELINES: Final = (_BUILDS, _FEAST, _REPORT)
REWORDABLE: Final = (_FEAST,)
