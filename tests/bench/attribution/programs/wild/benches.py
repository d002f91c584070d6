"""A coding agent that runs tests until they pass, and a debate that a judge decides."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
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

# ---- code: read a file, write a patch, run the tests, look at their output, describe the change

_FILE: Final = "def price(net, rate={rate}):\n    return round(net * rate, {digits})"


def _patch(request: Request) -> str:
    file = find(r"def price\(net, rate=([\d.]+)\)", request.spoken, "1.0")
    digits = find(r"round\(net \* rate, (\d)\)", request.spoken, "2")
    rate = find(r"rate (?:should be|of) ([\d.]*\d)", request.spoken.split("File:")[0], file)
    if expected := re.findall(r"expected (\d) digits", request.spoken):
        digits = expected[-1]
    if "None" in request.last and "Handle None." not in request.system:
        return f"PATCH rate={rate} digits={digits} guard=yes"
    guard = "yes" if "Handle None." in request.system else "no"
    if request.model == "m2":
        digits = "2"
    name = request.rule(r"Name the variable (\w+)\.", "net")
    return f"PATCH rate={rate} digits={digits} guard={guard} name={name}"


def _describe(request: Request) -> str:
    patch = find(r"(rate=.+)$", request.last)
    count = find(r"(\d+) runs", request.last, "1")
    style = request.rule(r"Begin the title with (\w+)\.", "Fix")
    if "gave up" in request.last:
        return f"{style}: not finished, {count} runs"
    tail = f" after {count} runs" if "State the number of runs." in request.system else ""
    return f"{style}: price ({patch}){tail}"


def _test_output(runtime: Runtime, patch: str) -> str:
    digits = find(r"digits=(\d)", patch, "0")
    suite = fields(runtime.tool("run_tests", {"digits": digits}))
    faults = []
    if str(suite.get("digits", digits)) != digits:
        faults.append(f"FAILED test_round: expected {suite.get('digits')} digits")
    if suite.get("none") and "guard=yes" not in patch:
        faults.append("FAILED test_none: TypeError with None")
    return "\n".join(faults)


def _repair(runtime: Runtime) -> str:
    settings = runtime.settings
    file = fields(runtime.tool("read_file", {"path": "price"})).get("text", "")
    talk: list[JSONValue] = [user_message(f"{user(settings)}\nFile: {file}")]
    patch, faults, runs = "", "", 0
    while runs < number(r"(\d)", str(settings["code.coder+author.runs"])):
        runs += 1
        message = runtime.model("coder", [system_message(runtime, "coder"), *talk])
        patch = text_of(message)
        faults = _test_output(runtime, patch)
        if not faults:
            break
        shown = faults if settings["code.coder.output"] == "whole" else faults.split("\n")[0]
        talk = [*talk, message, user_message(shown)]
    state = "gave up" if faults else "passed"
    return say(runtime, "author", f"{state}, {runs} runs\n{patch}")


_REPAIR: Final = Program(
    name="bug fixer",
    group="tests until they pass",
    program=_repair,
    final="author",
    model=model_of({"coder": _patch, "author": _describe}),
    menu=(),
    settings={
        **prompts(
            coder=("You are the coder. Reply with a patch.", "Name the variable net.", "", ""),
            author=("You are the author. Write the title.", "Begin the title with Fix.", "", ""),
        ),
        "user.0": "The rate should be 1.081 since January.",
        "user.1": "",
        "code.coder+author.runs": 3,
        "code.coder.output": "whole",
        "row.read_file.price.text": _FILE.format(rate=1.077, digits=1),
        "row.read_file.price.mode": "644",
        **{
            f"row.run_tests.{digits}.{name}": value
            for digits in range(5)
            for name, value in (("digits", 2), ("none", False), ("seconds", 1.5 + digits / 10))
        },
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "The rate should be 1.026 since January.",
            "The rate is wrong.",
            "The rate should be 1.081 from January.",
        ),
        edit("upstream", "user.1", "Please hurry.", "It is ticket 88.", decoy=True),
        edit("prompt", "prompt.coder.1", "Name the variable value.", "Name the variable net as now."),
        edit("prompt", "prompt.coder.2", "Handle None.", "Handle dates."),
        wording("coder", 3),
        edit("model", "model.coder.name", "m2", decoy=True),
        edit("prompt", "prompt.author.1", "Begin the title with Correct.", "Begin the title with Fix always."),
        edit("prompt", "prompt.author.2", "State the number of runs.", "State the facts."),
        wording("author", 3),
        edit("model", "model.author.name", "m2", decoy=True),
        edit("upstream", "code.coder+author.runs", 1, 4),
        edit("upstream", "code.coder.output", "first line", decoy=True),
        edit(
            "tool",
            "row.read_file.price.text",
            _FILE.format(rate=1.077, digits=2),
            _FILE.format(rate=1.08, digits=1),
            decoy=True,
        ),
        edit("tool", "row.read_file.price.mode", "755", decoy=True),
        edit("tool", "row.run_tests.1.digits", 3, 1),
        edit("tool", "row.run_tests.2.none", True),
        edit("tool", "row.run_tests.1.seconds", 9.5, decoy=True),
        *sampling("coder", "author"),
    ),
)

# ---- debate: two sides argue in turn from facts, a judge names the winner, at times another one


def _argue(request: Request) -> str:
    facts = re.findall(r"Fact (\w+) weighs (\d+)\.", request.system)
    known = re.findall(r"argument (\w+)", request.last)
    free = [(int(weight), name) for name, weight in facts if name not in known]
    if not free:
        return "argument none of weight 0"
    weight, name = max(free)
    if request.temperature > 0.8:
        weight, name = min(free)
    return f"argument {name} of weight {weight}"


def _judge(request: Request) -> str:
    sums = {"pro": 0, "con": 0}
    for side, weight in re.findall(r"^(pro|con): argument \w+ of weight (\d+)", request.last, re.MULTILINE):
        sums[side] += int(weight)
    sums["con"] += int(request.rule(r"The burden of proof is (\d+)\.", "0"))
    if request.model == "m2":
        sums["pro"] += 2
    side = "pro" if sums["pro"] > sums["con"] else "con"
    return f"winner: {side} by {abs(sums['pro'] - sums['con'])}"


def _debate(runtime: Runtime) -> str:
    settings = runtime.settings
    motion, lines = user(settings), list[str]()
    for _ in range(number(r"(\d)", str(settings["code.pro+con+judge.rounds"]))):
        for side in ("pro", "con"):
            lines.append(f"{side}: " + say(runtime, side, "\n".join([motion, *lines])))
    if settings["code.judge.lines"] == "last round":
        lines = lines[-2:]
    verdict = say(runtime, "judge", "\n".join([motion, *lines]))
    winner = find(r"winner: (\w+)", verdict, "nobody")
    policy = fields(runtime.tool("get_policy", {"side": winner}))
    return f"Motion: {winner} wins, {policy.get('action', 'no action')}, fee {real(policy.get('fee')):.0f}."


_DEBATE: Final = Program(
    name="debate club",
    group="two sides and a judge",
    controls=8,
    program=_debate,
    final="judge",
    model=model_of({"pro side": _argue, "con side": _argue, "judge": _judge}),
    chance=Chance(rate=0.15, alternatives=(("winner: pro", "winner: con"), ("winner: con", "winner: pro"))),
    menu=(),
    settings={
        **prompts(
            pro=("You are the pro side. One argument.", "Fact safety weighs 7.", "Fact cost weighs 4.", "", ""),
            con=("You are the con side. One argument.", "Fact noise weighs 5.", "Fact delay weighs 4.", "", ""),
            judge=("You are the judge. Name the winner.", "The burden of proof is 1.", ""),
        ),
        "user.0": "Should we close the old bridge?",
        "user.1": "",
        "model.judge.temperature": 0.7,
        "code.pro+con+judge.rounds": 2,
        "code.judge.lines": "all",
        **rows(
            "get_policy",
            pro={"action": "close it", "fee": 120, "office": "roads"},
            con={"action": "keep it", "fee": 0, "office": "roads"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Should we close the old bridge now?", "Shall we close the bridge?", decoy=True),
        edit("upstream", "user.1", "Keep it short.", decoy=True),
        edit("prompt", "prompt.pro.1", "Fact safety weighs 5.", "Fact safety weighs 8."),
        edit("prompt", "prompt.pro.2", "Fact cost weighs 1.", "Fact cost weighs 3."),
        edit("prompt", "prompt.pro.3", "Fact speed weighs 6.", decoy=True),
        wording("pro", 4),
        edit("prompt", "prompt.con.1", "Fact noise weighs 9.", "Fact noise weighs 6."),
        edit("prompt", "prompt.con.3", "Fact history weighs 6.", "Fact trade weighs 8."),
        wording("con", 4),
        edit("prompt", "prompt.judge.1", "The burden of proof is 3.", "The burden of proof is 0."),
        wording("judge", 2),
        edit("model", "model.judge.name", "m2", decoy=True),
        edit("model", "model.pro.temperature", 0.9, decoy=True),
        edit("model", "model.con.temperature", 0.9, decoy=True),
        edit("upstream", "code.pro+con+judge.rounds", 1, decoy=True),
        edit("upstream", "code.judge.lines", "last round"),
        edit("tool", "row.get_policy.pro.fee", 150),
        edit("tool", "row.get_policy.pro.action", "close it at night"),
        edit("tool", "row.get_policy.con.action", "repair it", decoy=True),
        edit("tool", "row.get_policy.pro.office", "bridges", decoy=True),
        edit("model", "model.judge.max_tokens", 900, decoy=True),
    ),
)

BENCHES: Final[tuple[Program, ...]] = (_REPAIR, _DEBATE)
