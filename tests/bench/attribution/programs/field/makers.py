"""Agents that act in steps: a coding agent with actions in tags, and a planner whose steps others execute."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real, tool
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
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

# ---- coder: actions in tags, long test output cut in the middle, patches until the tests pass

_FIXES: Final = {
    "decimal": ("float(text)", "Decimal(text)"),
    "round": ("float(text)", "round(float(text), 2)"),
    "strip": ("float(text)", "float(text.strip())"),
}


def _code(request: Request) -> str:
    seen = request.spoken
    if "<result of=run_tests>" not in seen:
        return "I start with the tests.\n<run_tests>head</run_tests>"
    module = find(r'File "src/(\w+)", line \d+, in (?!test_)', seen, "cart")
    if f"<result of=read {module}>" not in seen:
        return f"The failure comes from {module}.\n<read>{module}</read>"
    tries = re.findall(r"<result of=patch (\w+)-(\w+)>", seen)
    source = seen.rpartition(f"<result of=read {module}>")[2].partition("</result>")[0]
    kinds = ["strip"] if "could not convert" in seen else ["round", "decimal"]
    if "Never use float for money." in request.system and kinds[0] != "strip":
        kinds.reverse()
    failing = seen.count("FAILED")
    if tries and failing <= len(tries):
        style = f" Changed by {name}." if (name := request.rule(r"Add the author (\w+)\.")) else ""
        return f"The tests pass.\n<done>{module}: {tries[-1][1]} after {len(tries)} patches.{style}</done>"
    limit = int(request.rule(r"Stop after (\d) patches\.", "2"))
    rest = [kind for kind in kinds if (module, kind) not in tries]
    old = "float(text)"
    if len(tries) >= limit or not rest or old not in source:
        return f"I cannot fix this.\n<done>{module}: not fixed after {len(tries)} patches.</done>"
    return f"{rest[0].capitalize()} should help.\n<patch>{module}-{rest[0]}</patch>"


def _coder(runtime: Runtime) -> str:
    talk: list[JSONValue] = [user_message(user(runtime.settings))]
    for _ in range(9):
        message = runtime.model("coder", [system_message(runtime, "coder"), *talk])
        talk.append(message)
        text = text_of(message)
        if report := find(r"<done>(.+?)</done>", text):
            module, _, rest = report.partition(": ")
            return f"[{module}] {rest[0].upper()}{rest[1:]}"
        action, argument = find(r"<(\w+)>", text, "none"), find(r"<\w+>(.+?)</", text, "nothing")
        if action == "patch":
            module, _, kind = argument.partition("-")
            old, new = _FIXES.get(kind, ("", ""))
            result = fields(runtime.tool("apply_patch", {"patch": argument, "old": old, "new": new}))
            tests = fields(runtime.tool("run_tests", {"revision": argument}))
            shown = f"{result.get('state')}\n{_cut(str(tests.get('output', tests)))}"
            talk.append(user_message(f"<result of=patch {argument}>\n{shown}</result>"))
            continue
        name, parameter = ("run_tests", "revision") if action == "run_tests" else ("read_module", "name")
        result = fields(runtime.tool(name, {parameter: argument}))
        label = "run_tests" if action == "run_tests" else f"read {argument}"
        output = str(result.get("output") or result.get("source") or result.get("error"))
        talk.append(user_message(f"<result of={label}>\n{_cut(output)}</result>"))
    return "[?] Out of steps."


def _cut(text: str) -> str:
    """Keep the head and the tail of a long output, as terminals of agents do."""
    return text if len(text) <= 700 else f"{text[:250]}\n[… {len(text) - 650} characters …]\n{text[-400:]}"


def _failure(module: str, message: str, passing: int) -> str:
    dots = "\n".join(f"tests/test_{name}.py ........ [{share} %]" for name, share in (("api", 31), ("tax", 62)))
    return (
        f"============ test session starts ============\nplatform linux -- Python 3.12.1\n{dots}\n"
        + "    x = [line.total for line in cart.lines]  # the fixture's lines\n" * 12
        + f'File "tests/test_cart", line 18, in test_total\nFile "src/{module}", line 7, in parse\n'
        + f"E   {message}\nFAILED tests/test_cart.py::test_total\n1 failed, {passing} passed in 0.42s"
    )


_SOURCE: Final = (
    '"""Amounts as they are typed."""\n\nfrom decimal import Decimal\n\n\ndef parse(text):\n    return float(text)\n'
)

_CODER: Final = Program(
    name="patch coder",
    group="actions in tags",
    most=4,
    program=_coder,
    final="coder",
    model=model_of({"coder": _code}),
    menu=(),
    settings={
        **prompts(
            coder=(
                "You are the coder. Use one tag per reply: run_tests, read, patch or done.",
                "Stop after 2 patches.",
                "",
                "",
                "",
            )
        ),
        "user.0": "The total of the cart is off by a cent. Please fix it.",
        "user.1": "",
        "row.run_tests.head.output": _failure("money", "assert 0.30000000000000004 == 0.3", 24),
        "row.run_tests.head.seconds": 0.42,
        "row.run_tests.money-round.output": _failure("money", "assert 0.1 == Decimal('0.10')", 24),
        "row.run_tests.money-decimal.output": "25 passed in 0.40s",
        "row.run_tests.money-strip.output": "25 passed in 0.40s",
        "row.run_tests.cart-round.output": "25 passed in 0.41s",
        "row.run_tests.cart-decimal.output": "25 passed in 0.41s",
        **rows(
            "read_module",
            money={"source": _SOURCE, "lines": 7},
            cart={"source": _SOURCE.replace("Amounts", "Carts"), "lines": 7},
        ),
        **{
            f"row.apply_patch.{module}-{kind}.{field}": value
            for module in ("money", "cart")
            for kind in ("round", "decimal", "strip")
            for field, value in (("state", "applied"), ("lines", 1))
        },
    },
    edits=(
        edit("upstream", "user.0", "The cart's total has too many decimals. Please fix it.", decoy=True),
        edit("upstream", "user.1", "It broke with the last release.", "Keep the API.", decoy=True),
        edit("prompt", "prompt.coder.1", "Stop after 1 patches.", "Stop after 4 patches."),
        edit("prompt", "prompt.coder.2", "Never use float for money."),
        edit("prompt", "prompt.coder.3", "Add the author Kim."),
        wording("coder", 4),
        edit("model", "model.coder.name", "m1-2026-02", decoy=True),
        edit("model", "model.coder.max_tokens", 2000, decoy=True),
        edit(
            "tool",
            "row.run_tests.head.output",
            _failure("money", "ValueError: could not convert string to float: ' 0.10'", 24),
            _failure("cart", "assert 0.30000000000000004 == 0.3", 24),
            _failure("money", "assert 0.30000000000000004 == 0.3", 31),
        ),
        edit("tool", "row.run_tests.head.seconds", 0.61, decoy=True),
        edit("tool", "row.run_tests.money-round.output", "25 passed in 0.44s"),
        edit("tool", "row.run_tests.money-decimal.output", _failure("money", "TypeError: unsupported operand", 24)),
        edit("tool", "row.read_module.money.source", _SOURCE.replace("float(text)", "float(str(text))")),
        edit("tool", "row.apply_patch.money-round.lines", 2, decoy=True),
        *sampling("coder"),
    ),
)

# ---- journeys: a plan in JSON, one executor call per step with a scratchpad, a new plan after a failure, sums in code

_STEP_TOOLS: Final[dict[str, JSONValue]] = {
    "train": tool("find_train", "Find a train.", "route", "after"),
    "room": tool("find_room", "Find a hotel room.", "city", "nights"),
    "talk": tool("find_event", "Find an event.", "city"),
    "flight": tool("find_flight", "Find a flight.", "route"),
}


def _plan(request: Request) -> str:
    start, goal = find(r"from (\w+) to", request.last, "Graz"), find(r"from \w+ to (\w+)", request.last, "Linz")
    nights = number(r"(\d) nights?", request.last, 1)
    way = "flight" if "failed: train" in request.last or "Always fly." in request.system else "train"
    steps = [f'{{"kind": "{way}", "route": "{start}-{goal}"}}', f'{{"kind": "room", "city": "{goal}"}}']
    if "opera" in request.last.lower() or "Plan an evening out." in request.system:
        steps.append(f'{{"kind": "talk", "city": "{goal}"}}')
    if "Book the room first." in request.system:
        steps[:2] = steps[1::-1]
    return f'{{"nights": {nights}, "steps": [{", ".join(steps)}]}}'


def _execute(request: Request) -> str | ToolCall:
    if request.called:
        result = request.latest_result
        name = result.get("name", "nothing")
        if "error" in result:
            return f"Failed: {result['error']}"
        return f"Found {name} for {result.get('price', 0)} euros at {result.get('time', 'any time')}."
    step = json_in(request.last.partition("Step: ")[2])
    match step.get("kind"):
        case "train":
            after = "08:00" if "Never leave before eight." in request.system else "00:00"
            return "find_train", {"route": f"{step.get('route')} {after}", "class": "2"}
        case "flight":
            return "find_flight", {"route": str(step.get("route"))}
        case "room":
            stars = request.rule(r"Book (\d) stars\.", "3")
            return "find_room", {"city": f"{step.get('city')} {stars}", "currency": "EUR"}
        case "talk":
            return "find_event", {"city": str(step.get("city"))}
    return "Failed: unknown step"


def _compose(request: Request) -> str:
    total, budget = number(r"Total: (\d+)", request.last), number(r"Budget: (\d+)", request.last, 999)
    names = " + ".join(re.findall(r"Found ([^.]+?) for", request.last)) or "nothing"
    if total > budget:
        return f"Over budget by {total - budget} euros: {names}."
    tip = " Pack an umbrella." if "rain" in request.last and request.model == "m2" else ""
    return f"{names} for {total} euros.{tip}"


def _journey(runtime: Runtime) -> str:
    task, pad, total = user(runtime.settings), list[str](), 0.0
    wish = f"Task: {task}"
    for _ in range(2):
        plan, pad, total = json_in(say(runtime, "planner", wish)), [], 0.0
        failure = ""
        for place, step in enumerate(items(plan.get("steps")), 1):
            notes = "\n".join(pad) or "-"
            note = _one_step(runtime, f"Notes so far:\n{notes}\nStep: {_as_text(step)}", str(step["kind"]))
            pad.append(f"{place}. {note}")
            price = real(find(r"for ([\d.]+) euros", note), 0.0)
            total += price * (real(plan.get("nights"), 1) if step["kind"] == "room" else 1)
            if note.startswith("Failed"):
                failure = str(step["kind"])
                break
        if not failure:
            break
        wish = f"Task: {task}\nThe last plan failed: {failure} could not be done."
    else:
        return "Sorry, no plan works."
    budget = find(r"(\d+) euros", task, "999")
    return say(runtime, "composer", "\n".join([*pad, f"Total: {total:.0f}", f"Budget: {budget}"]))


def _as_text(step: dict[str, JSONValue]) -> str:
    return "{" + ", ".join(f'"{name}": "{value}"' for name, value in step.items()) + "}"


def _one_step(runtime: Runtime, text: str, kind: str) -> str:
    talk: list[JSONValue] = [system_message(runtime, "executor"), user_message(text)]
    message = runtime.model("executor", talk, [_STEP_TOOLS[kind]])
    calls = items(message.get("tool_calls"))
    if not calls:
        return text_of(message)
    result = runtime.tool(str(calls[0]["name"]), fields(calls[0]["arguments"]), str(calls[0]["id"]))
    content = "{" + ", ".join(f'"{name}": "{value}"' for name, value in fields(result).items()) + "}"
    talk += [message, {"role": "tool", "content": content, "tool_call_id": calls[0]["id"]}]
    return text_of(runtime.model("executor", talk, [_STEP_TOOLS[kind]]))


_JOURNEY: Final = Program(
    name="journey planner",
    group="new plan after a failure",
    most=5,
    program=_journey,
    final="composer",
    model=model_of({"planner": _plan, "executor": _execute, "composer": _compose}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Return the steps as JSON.", "", "", ""),
            executor=("You are the executor. Do one step with its tool.", "Book 3 stars.", "", ""),
            composer=("You are the composer. Write the offer.", "", ""),
        ),
        "user.0": "I go from Graz to Wien for 2 nights and have 300 euros.",
        "user.1": "",
        "row.find_train.Graz-Wien 00:00.name": "RJ 650",
        "row.find_train.Graz-Wien 00:00.price": 39,
        "row.find_train.Graz-Wien 00:00.time": "06:25",
        "row.find_train.Graz-Wien 08:00.name": "RJ 654",
        "row.find_train.Graz-Wien 08:00.price": 49,
        "row.find_train.Graz-Wien 08:00.time": "08:25",
        "row.find_flight.Graz-Wien.name": "OS 908",
        "row.find_flight.Graz-Wien.price": 119,
        "row.find_flight.Graz-Wien.time": "10:05",
        "row.find_room.Wien 3.name": "Gästehaus Süß",
        "row.find_room.Wien 3.price": 84,
        "row.find_room.Wien 3.rating": 8.1,
        "row.find_room.Wien 4.name": "Hotel Sacherl",
        "row.find_room.Wien 4.price": 132,
        "row.find_event.Wien.name": "La Bohème",
        "row.find_event.Wien.price": 60,
        "row.find_event.Wien.time": "19:00",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "I go from Graz to Wien for 2 nights and have 200 euros.",
            "I go from Graz to Wien for 3 nights and have 300 euros.",
            "I want to go from Graz to Wien for 2 nights with 300 euros.",
        ),
        edit("upstream", "user.1", "I love the opera.", "I travel alone."),
        edit("prompt", "prompt.planner.1", "Always fly."),
        edit("prompt", "prompt.planner.2", "Book the room first."),
        edit("prompt", "prompt.planner.3", "Plan an evening out."),
        edit("prompt", "prompt.executor.1", "Book 4 stars.", "Book what is cheap."),
        edit("prompt", "prompt.executor.2", "Never leave before eight."),
        wording("executor", 3),
        wording("composer", 1),
        edit("model", "model.composer.name", "m2", decoy=True),
        edit("model", "model.planner.name", "m2", decoy=True),
        edit("tool", "row.find_train.Graz-Wien 00:00.price", 44, 180),
        edit("tool", "row.find_train.Graz-Wien 00:00.time", "06:35", decoy=True),
        edit("tool", "row.find_train.Graz-Wien 00:00.error", "no seats left"),
        edit("tool", "row.find_room.Wien 3.price", 99),
        edit("tool", "row.find_room.Wien 3.rating", 7.4, 9.0, decoy=True),
        *sampling("planner", "executor", "composer"),
    ),
)

MAKERS: Final = (_CODER, _JOURNEY)
