"""A writer whose JSON code validates with backoff, and a coder whose function code tests."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Edit,
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONObject, JSONValue

# ---- crane webhook: an agent looks up a crane and writes an order, code validates it, waits longer each time, gives up


def _rigger(request: Request) -> str | ToolCall:
    text = request.spoken
    known = {name: value for result in request.results for name, value in result.items()}
    for purpose, key, value in (
        ("load limit", "crane", find(r"crane (\w+)", text, "K1")),
        ("wind", "place", known.get("place")),
    ):
        name = request.tool(purpose)
        if name and not any(call == name for call in _tools_called(request)):
            return name, {key: str(value)}
    load = number(r"(\d+) tons", text, 1)
    if "too heavy" in text:
        load = min(load, int(real(known.get("limit"), 1)))
    wind = int(real(known.get("wind")))
    slow = wind > int(request.rule(r"Lift slowly above wind (\d)\.", "9")) or "too fast" in text
    order: JSONObject = {"crane": known.get("name", "none"), "load": load, "speed": "slow" if slow else "fast"}
    if request.rule(r"Name the (crew)\.") or "crew is missing" in text:
        order["crew"] = "night" if "night" in text else "day"
    return json.dumps(order)


def _tools_called(request: Request) -> list[str]:
    calls = [call for message in request.messages for call in items(message.get("tool_calls"))]
    return [str(call["name"]) for call in calls]


def _foreman(request: Request) -> str:
    load = number(r"Load: (\d+)", request.last, 1)
    half = load // 2 if request.model != "m2" else load // 4
    return json.dumps({"crane": find(r"Crane: (\w+)", request.last, "none"), "load": half, "speed": "slow"})


def _clerk(request: Request) -> str:
    order = json_in(request.last)
    state = find(r"^State: (\w+)", request.last)
    if state != "sent":
        return request.rule(r"If it fails, say: ([\w ]+)\.", "The order failed") + "."
    crew = f" with the {order['crew']} crew" if "crew" in order else ""
    waited = number(r"^Waited: (\d+)", request.last)
    delay = f" It took {waited} seconds." if waited > int(request.rule(r"Mention waits above (\d+)\.", "99")) else ""
    return f"Crane {order.get('crane')} lifts {order.get('load')} tons {order.get('speed')}{crew}.{delay}"


_TOOLS: Final = {"limit": "Returns the load limit of a crane.", "wind": "Returns the wind of a place."}


def _faults(order: JSONObject, known: JSONObject, settings: dict[str, JSONValue]) -> list[str]:
    faults = []
    margin = real(settings["margin"])
    if real(order.get("load")) > real(known.get("limit")) - margin:
        faults.append("load is too heavy")
    if order.get("speed") == "fast" and real(known.get("wind")) >= real(settings["gust"]):
        faults.append("speed is too fast")
    if settings["crew"] == "required" and "crew" not in order:
        faults.append("crew is missing")
    return faults


def _webhook(runtime: Runtime) -> str:
    settings = runtime.settings
    tools: list[JSONValue] = [tool(str(settings[f"tool.{name}"]), text, "key") for name, text in _TOOLS.items()]
    rules = {name: settings[f"code.rigger.{name}"] for name in ("margin", "gust", "crew")}
    conversation: list[JSONValue] = [user_message(user(settings))]
    known: JSONObject = {}
    order: JSONObject = {}
    waited, state, attempts = 0.0, "failed", 0
    while attempts < real(settings["code.rigger.attempts"]):
        message = runtime.model("rigger", [system_message(runtime, "rigger"), *conversation], tools)
        conversation.append(message)
        calls = items(message.get("tool_calls"))
        for call in calls:
            result = runtime.tool(str(call["name"]), fields(call["arguments"]), str(call["id"]))
            known |= fields(result)
            conversation.append({"role": "tool", "content": json.dumps(result), "tool_call_id": call["id"]})
        if calls:
            continue
        attempts += 1
        order = json_in(text_of(message))
        faults = _faults(order, known, rules)
        if not faults:
            state = "sent"
            break
        waited += real(settings["code.clerk.pause"]) * 2 ** (attempts - 1)
        shown = faults if settings["code.rigger.feedback"] == "all" else faults[:1]
        conversation.append(user_message(f"Attempt {attempts} was refused: {'; '.join(shown)}."))
    if state == "failed" and settings["code.foreman.rescue"] == "on":
        reply = say(runtime, "foreman", f"Crane: {order.get('crane')}\nLoad: {order.get('load')}")
        order, state = json_in(reply), "sent"
    return say(runtime, "clerk", f"Order: {json.dumps(order)}\nState: {state}\nWaited: {waited:.0f}")


_WEBHOOK: Final = Program(
    name="crane webhook",
    group="attempts with backoff",
    program=_webhook,
    final="clerk",
    model=model_of({"rigger": _rigger, "foreman": _foreman, "clerk": _clerk}),
    menu=(),
    settings={
        **prompts(
            rigger=("You are the rigger. Write JSON.", "Lift slowly above wind 5.", "", "", ""),
            foreman=("You are the foreman. Write JSON.", "", "", ""),
            clerk=("You are the clerk.", "If it fails, say: Call the yard.", "Mention waits above 3.", "", "", ""),
        ),
        "user.0": "Lift 14 tons with the crane K1 tonight at night.",
        "user.1": "",
        "tool.limit": "get_crane",
        "tool.wind": "get_wind",
        "code.rigger.margin": 0,
        "code.rigger.gust": 6,
        "code.rigger.crew": "optional",
        "code.rigger.attempts": 3,
        "code.rigger.feedback": "all",
        "code.clerk.pause": 2,
        "code.foreman.rescue": "off",
        **rows(
            "get_crane",
            K1={"name": "Titan", "limit": 12, "place": "quay", "built": 2004},
            K2={"name": "Gnome", "limit": 20, "place": "dock", "built": 2015},
        ),
        **rows("find_crane", K1={"name": "Titan", "limit": 12, "place": "quay", "built": 2004}),
        **rows("get_wind", quay={"wind": 4, "from": "west"}, dock={"wind": 6, "from": "north"}),
    },
    edits=(
        edit(
            "upstream", "user.0", "Lift 14 tons with the crane K2 tonight at night.", "Lift 9 tons with the crane K1."
        ),
        edit("upstream", "user.1", "Please hurry.", decoy=True),
        edit("prompt", "prompt.rigger.1", "Lift slowly above wind 3."),
        edit("prompt", "prompt.rigger.2", "Name the crew."),
        wording("rigger", 3),
        edit("model", "model.foreman.name", "m2", decoy=True),
        edit("prompt", "prompt.clerk.1", "If it fails, say: Sorry.", decoy=True),
        edit("prompt", "prompt.clerk.2", "Mention waits above 1."),
        edit("prompt", "prompt.clerk.3", "Sign as Port."),
        wording("clerk", 4),
        edit("tool", "tool.limit", "find_crane", decoy=True),
        edit("upstream", "code.rigger.margin", 2),
        edit("upstream", "code.rigger.gust", 3),
        edit("upstream", "code.rigger.crew", "required"),
        edit("upstream", "code.rigger.attempts", 1),
        edit("upstream", "code.rigger.feedback", "first", decoy=True),
        edit("upstream", "code.clerk.pause", 5),
        edit("upstream", "code.foreman.rescue", "on", decoy=True),
        edit("tool", "row.get_crane.K1.limit", 13, 15),
        edit("tool", "row.get_crane.K1.built", 2005, decoy=True),
        edit("tool", "row.get_wind.quay.wind", 7),
        edit("tool", "row.get_wind.quay.from", "south", decoy=True),
        *sampling("rigger", "clerk"),
    ),
)

# ---- slug function: a coder writes steps, code runs test cases through them, failures go back, a reviewer reports


def _coder(request: Request) -> str:
    steps = ["strip", "lower"] if "small letters" in request.spoken else ["strip"]
    if request.model == "m2":
        steps.insert(0, "reverse")
    separator = "dash" if "dash" in request.spoken or request.rule(r"Prefer (dashes)\.") else "underscore"
    lesson = request.last.count("got") and request.last
    if lesson and "two blanks" in lesson:
        steps.append("squeeze")
    if (lesson and "!" in lesson) or request.rule(r"Drop (punctuation)\."):
        steps.append("letters")
    if lesson and re.search(r"wanted \w+-\w+", lesson):
        separator = "dash"
    return "CODE " + ", ".join([*steps, separator])


def _run(steps: list[str], text: str) -> str:
    for step in steps:
        match step:
            case "strip":
                text = text.strip()
            case "lower":
                text = text.lower()
            case "reverse":
                text = text[::-1]
            case "squeeze":
                text = re.sub(r" +", " ", text)
            case "letters":
                text = re.sub(r"[^\w ]", "", text)
            case "dash" | "underscore":
                text = text.replace(" ", "-" if step == "dash" else "_")
            case _:
                pass
    return text


def _reviewer(request: Request) -> str:
    passed, total = number(r"(\d+) of \d+ passed", request.last), number(r"\d+ of (\d+) passed", request.last)
    steps = find(r"CODE (.+)", request.last, "nothing").split(", ")
    verdict = (
        "Merge" if total and passed * 100 >= total * int(request.rule(r"Ask for (\d+) percent\.", "100")) else "Wait"
    )
    detail = f" of {len(steps)} steps" if request.rule(r"Count the (steps)\.") else ""
    tries = find(r"^Rounds: (.+)", request.last)
    rounds = f" after {tries} rounds" if request.rule(r"Tell the (rounds)\.") else ""
    return f"{verdict} the function{detail}{rounds}, {passed} tests pass."


def _slug(runtime: Runtime) -> str:
    settings = runtime.settings
    issue = fields(runtime.tool("get_issue", {"id": find(r"#(\w+)", user(settings), "7")}))
    cases = [case.split(" => ") for case in str(issue.get("tests", "")).split(" | ") if " => " in case]
    code = say(runtime, "coder", f"{issue.get('title', '')}\n{issue.get('body', '')}")
    rounds, passed = 1, 0
    total = 0
    while True:
        steps = find(r"CODE (.+)", code).split(", ")
        failures, passed, total = [], 0, 0
        for text, wanted in cases[: int(real(settings["code.coder+reviewer.cases"]))]:
            text, total = text.replace("~", " "), total + 1
            got = _run(steps, text)
            if got == wanted or (settings["code.coder+reviewer.compare"] == "loose" and got.lower() == wanted.lower()):
                passed += 1
            else:
                hint = " (two blanks)" if "  " in text else ""
                failures.append(f"'{text}'{hint} got {got} wanted {wanted}")
        if not failures or rounds >= real(settings["code.coder+reviewer.rounds"]):
            break
        rounds += 1
        shown = failures[: int(real(settings["code.coder.shown"]))]
        head = f"{issue.get('body', '')}\n" if settings["code.coder.body"] == "repeated" else ""
        code = say(runtime, "coder", f"{head}Your {code}\n" + "\n".join(shown))
    return say(runtime, "reviewer", f"{code}\n{passed} of {total} passed\nRounds: {rounds}")


_TESTS: Final = "~My Dog => my-dog | Big~~Fox => big-fox | Oh no! => oh-no | a b => a-b"
_ISSUES: Final[dict[str, JSONObject]] = {
    "7": {"title": "Slugs", "body": "Write small letters.", "tests": _TESTS, "author": "Kim"},
    "8": {"title": "Names", "body": "Join with dashes.", "tests": "A B => A-B | C D => C-D", "author": "Lee"},
}
_SLUG: Final = Program(
    name="slug function",
    group="code with test runs",
    program=_slug,
    final="reviewer",
    model=model_of({"coder": _coder, "reviewer": _reviewer}),
    menu=(),
    settings={
        **prompts(
            coder=("You are the coder.", "", "", "", ""),
            reviewer=("You are the reviewer.", "Count the steps.", "", "", "", ""),
        ),
        "user.0": "Please solve #7.",
        "user.1": "",
        "code.coder+reviewer.cases": 4,
        "code.coder+reviewer.compare": "exact",
        "code.coder+reviewer.rounds": 2,
        "code.coder.shown": 4,
        "code.coder.body": "repeated",
        **rows("get_issue", **_ISSUES),
    },
    edits=(
        edit("upstream", "user.0", "Please solve #8."),
        edit("upstream", "user.1", "It is urgent.", decoy=True),
        edit("prompt", "prompt.coder.1", "Prefer dashes.", decoy=True),
        edit("prompt", "prompt.coder.2", "Drop punctuation.", decoy=True),
        wording("coder", 3),
        edit("model", "model.coder.name", "m2"),
        edit("prompt", "prompt.reviewer.1", ""),
        edit("prompt", "prompt.reviewer.2", "Tell the rounds."),
        edit("prompt", "prompt.reviewer.3", "Ask for 20 percent.", decoy=True),
        wording("reviewer", 4),
        edit("upstream", "code.coder+reviewer.cases", 2),
        edit("upstream", "code.coder+reviewer.compare", "loose", decoy=True),
        edit("upstream", "code.coder+reviewer.rounds", 1),
        edit("upstream", "code.coder.shown", 1, 2),
        edit("upstream", "code.coder.body", "dropped"),
        edit("tool", "row.get_issue.7.title", "Slugs with dashes", decoy=True),
        edit("tool", "row.get_issue.7.body", "Write words."),
        edit("tool", "row.get_issue.7.tests", _TESTS.replace("Oh no!", "Oh no"), _TESTS.replace("a-b", "a_b")),
        edit("tool", "row.get_issue.7.author", "Max", decoy=True),
        Edit(
            category="model",
            variants=((("model.coder.max_tokens", 300), ("model.reviewer.max_tokens", 300)),),
            decoy=True,
        ),
        *sampling("coder", "reviewer"),
    ),
)

LOOPS: Final[tuple[Program, ...]] = (_WEBHOOK, _SLUG)
