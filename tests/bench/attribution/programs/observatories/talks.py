"""An assistant that grants telescope time with native tools, and a log of a night over four turns."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    converse,
    edit,
    sampling,
    say,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

# ---- time allocation: an assistant with native tools, behind a limit of turns


def _allocator(request: Request) -> str | ToolCall:
    known = {name: value for result in request.results for name, value in result.items()}
    group = find(r"group (\w+)", request.last, "Nova")
    steps = (("rank", {"group": group}), ("free nights", {"group": group}), ("weather", {"month": known.get("month")}))
    for purpose, arguments in steps[: 3 if "Look at the weather." in request.system else 2]:
        name = request.tool(purpose)
        if name and name not in request.called:
            return name, {key: str(value) for key, value in arguments.items()}
    nights = int(real(known.get("nights")))
    if int(real(known.get("rank"), 9)) > int(request.rule(r"Grant up to rank (\d)\.", "3")):
        return f"No nights for {group}."
    if request.model == "m2":
        nights -= 1
    sky = f" Expect {known.get('sky', 'anything')}." if "Look at the weather." in request.system else ""
    return f"{nights} nights for {group} in {known.get('month', 'some month')}.{sky}{request.rule(r'Sign with (.)')}"


_PURPOSES: Final = {
    "rank": "Returns the rank of a group.",
    "nights": "Returns the free nights of a group.",
    "sky": "Returns the weather of a month.",
}


def _allocate(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool(str(settings[f"tool.{name}"]), text, "key") for name, text in _PURPOSES.items()]
    turns = int(real(settings["code.allocator.turns"], 6))
    last = converse(runtime, "allocator", [user_message(user(settings))], tools, turns)[-1]
    answer = text_of(last) if fields(last).get("role") == "assistant" else ""
    return f"{answer or 'The committee will decide.'}{settings['code.allocator.footer']}"


_TIME: Final = Program(
    name="time allocation",
    group="time allocation",
    program=_allocate,
    final="allocator",
    model=model_of({"allocator": _allocator}),
    menu=(),
    settings={
        **prompts(
            allocator=("You are the allocator.", "Grant up to rank 3.", "Look at the weather.", "", "", ""),
        ),
        "user.0": "How many nights does the group Nova get?",
        "user.1": "",
        "tool.rank": "get_rank",
        "tool.nights": "get_nights",
        "tool.sky": "get_sky",
        "code.allocator.turns": 6,
        "code.allocator.footer": "",
        **rows("get_rank", Nova={"rank": 2, "members": 9}, Pulsar={"rank": 5, "members": 4}),
        **rows("find_rank", Nova={"rank": 2, "members": 9}, Pulsar={"rank": 5, "members": 4}),
        **rows(
            "get_nights",
            Nova={"nights": 4, "month": "May", "dome": "west"},
            Pulsar={"nights": 2, "month": "June", "dome": "east"},
        ),
        **rows("get_sky", May={"sky": "clouds", "wind": 12}, June={"sky": "stars", "wind": 5}),
    },
    edits=(
        edit("upstream", "user.0", "How many nights does the group Pulsar get?"),
        edit("upstream", "user.1", "We are in a hurry.", decoy=True),
        edit("prompt", "prompt.allocator.1", "Grant up to rank 1."),
        edit("prompt", "prompt.allocator.2", "Be quick."),
        edit("prompt", "prompt.allocator.3", "Sign with *"),
        wording("allocator", 4),
        edit("model", "model.allocator.name", "m2"),
        edit("tool", "tool.rank", "find_rank", decoy=True),
        edit("upstream", "code.allocator.turns", 2, 3),
        edit("upstream", "code.allocator.footer", " Clear skies!"),
        edit("tool", "row.get_nights.Nova.nights", 3, 7),
        edit("tool", "row.get_sky.May.sky", "rain"),
        edit("tool", "row.get_rank.Nova.members", 11, decoy=True),
        edit("tool", "row.get_nights.Nova.dome", "north", decoy=True),
        edit("tool", "row.get_sky.May.wind", 15, decoy=True),
        edit("model", "model.allocator.max_tokens", 300, decoy=True),
        wording("allocator", 5),
        *sampling("allocator"),
    ),
)

# ---- night log: four turns; a clerk keeps notes, code folds them into every request


def _noter(request: Request) -> str:
    target, seeing = find(r"(?:at|to) (\w+) now", request.last), number(r"seeing (?:is )?(\d)", request.last)
    if request.rule(r"Note the (seeing)\.") and seeing:
        return f"seeing={seeing}"
    return f"target={target}" if target else "nothing"


def _logger(request: Request) -> str:
    target, seeing = find(r"target=(\w+)", request.last, "nothing"), number(r"seeing=(\d)", request.last, 9)
    speech = find(r"^Astronomer: (.+)", request.last)
    if "go on" in speech:
        limit = int(request.rule(r"Stop above seeing (\d)\.", "5")) - (request.model == "m2")
        return f"Stop {target}." if seeing > limit else f"Go on with {target}."
    if "long" in speech:
        return f"Expose {10 * min(seeing, 9)} seconds on {target}{request.rule(r'End with (.)', '.')}"
    return f"Logged {target}."


def _log(runtime: Runtime) -> str:
    settings = runtime.settings
    notes: list[str] = []
    answer = ""
    for turn in range(4):
        text = str(settings[f"turn.{turn}"])
        if not text:
            continue
        note = say(runtime, "noter", text)
        if note != "nothing":
            notes.append(note)
        kept = notes[-int(real(settings["code.logger.notes"], 9)) :]
        if settings["code.logger.order"] == "newest":
            kept = kept[::-1]
        answer = say(runtime, "logger", "\n".join([f"Notes: {' '.join(kept) or 'none'}", f"Astronomer: {text}"]))
    return answer


_LOG: Final = Program(
    name="night log",
    group="night log",
    program=_log,
    final="logger",
    model=model_of({"noter": _noter, "logger": _logger}),
    menu=(),
    settings={
        **prompts(
            noter=("You are the noter. Keep notes.", "Note the seeing.", "", ""),
            logger=("You are the logger. Answer.", "Stop above seeing 4.", "", "", ""),
        ),
        "user.0": "",
        "turn.0": "We point at Vega now.",
        "turn.1": "The seeing is 3.",
        "turn.2": "Do we go on?",
        "turn.3": "How long do we expose?",
        "code.logger.notes": 9,
        "code.logger.order": "oldest",
    },
    edits=(
        edit("upstream", "turn.0", "We point at Mizar now.", "We swing to Deneb now."),
        edit("upstream", "turn.1", "The seeing is 2.", "The seeing is 5."),
        edit("upstream", "turn.2", "Is it cold?", "Do we really go on?", decoy=True),
        edit("upstream", "turn.3", "Do we go on, then?", "Thank you."),
        edit("prompt", "prompt.noter.1", ""),
        wording("noter", 2),
        edit("prompt", "prompt.logger.1", "Stop above seeing 2.", decoy=True),
        edit("prompt", "prompt.logger.2", "End with !"),
        wording("logger", 3),
        edit("model", "model.logger.name", "m2", decoy=True),
        edit("upstream", "code.logger.notes", 1),
        edit("upstream", "code.logger.order", "newest", decoy=True),
        *sampling("noter", "logger"),
    ),
)

TALKS: Final[tuple[Program, ...]] = (_TIME, _LOG)
