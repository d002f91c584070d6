"""Patches that code applies and tests until all pass, and delegates that agree over a board which all of them see."""

import re
from collections.abc import Mapping
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- release train: a trace names a module, a fixer patches its lines, code runs the tests, a scribe writes notes


def _diagnose(request: Request) -> str:
    frames = re.findall(r"at (\w+)\.py", request.last)
    if request.rule(r"Blame the (\w+) frame\.", "last") == "first":
        frames.reverse()
    module = frames[-1] if frames else "core"
    hint = find(r"suspect (\w+)", request.last)
    return f"Module: {hint or module}"


def _patch(request: Request) -> str:
    lines = dict(re.findall(r"^(\w+) = (-?\d+)$", request.last, re.MULTILINE))
    failures = re.findall(r"^FAIL \w+: (\w+) is -?\d+, expected (-?\d+)$", request.last, re.MULTILINE)
    if "Fix one test at a time." in request.system:
        failures = failures[:1]
    locked = request.rule(r"Never touch (\w+)\.")
    step = 5 if request.model == "m2" else 1
    return (
        "\n".join(
            f"-{name} = {lines[name]}\n+{name} = {int(wanted) // step * step}"
            for name, wanted in failures
            if name in lines and name != locked
        )
        or "NO PATCH"
    )


def _note(request: Request) -> str:
    passed, total = number(r"Passed: (\d+) of", request.last), number(r"Passed: \d+ of (\d+)", request.last)
    builds, touched = number(r"Builds: (\d+)", request.last), find(r"^Touched: (.+)$", request.last, "nothing")
    title = request.rule(r"Call it a (\w+)\.", "fix")
    state = "is ready" if total and passed == total else f"is not ready, {total - passed} failing"
    count = f" It took {builds} builds." if "Count the builds." in request.system else ""
    return f"The {title} of {touched} {state}.{count}"


def _run_tests(values: Mapping[str, int], tests: list[JSONObject]) -> list[str]:
    lines = []
    for test in tests:
        name, wanted = str(test.get("line")), int(real(test.get("expected")))
        value = values.get(name)
        is_passed = value == wanted
        lines.append(
            f"ok {test.get('name')}" if is_passed else f"FAIL {test.get('name')}: {name} is {value}, expected {wanted}"
        )
    return lines


def _release(runtime: Runtime) -> str:
    settings = runtime.settings
    report = fields(runtime.tool("get_report", {"build": find(r"build (\w+)", user(settings), "nightly")}))
    module = find(r"Module: (\w+)", say(runtime, "diagnoser", f"{user(settings)}\n{report.get('trace')}"), "core")
    source = fields(runtime.tool("read_module", {"module": module}))
    tests = items(fields(runtime.tool("list_tests", {"module": module})).get("tests"))
    values = {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+)", str(source.get("source")))}
    touched: list[str] = []
    builds = 1
    output = _run_tests(values, tests)
    while builds <= int(real(settings["code.fixer+scribe.builds"], 3)):
        failing = [line for line in output if line.startswith("FAIL")]
        if not failing:
            break
        shown = failing[-1:] if settings["code.fixer.show"] == "last failure" else output
        file = [f"{name} = {value}" for name, value in values.items()]
        patch = say(runtime, "fixer", "\n".join([*file, "", *shown]))
        changes = re.findall(r"^\+(\w+) = (-?\d+)$", patch, re.MULTILINE)
        if not changes:
            break
        for name, value in changes:
            values[name] = int(value)
            touched += [] if name in touched else [name]
        output = _run_tests(values, tests)
        builds += 1
    passed = sum(line.startswith("ok") for line in output)
    return say(runtime, "scribe", f"Passed: {passed} of {len(output)}\nTouched: {', '.join(touched)}\nBuilds: {builds}")


def _test(name: str, line: str, expected: int) -> JSONObject:
    return {"name": name, "line": line, "expected": expected}


_RELEASE: Final = Program(
    name="release train",
    group="patched lines, test output",
    program=_release,
    final="scribe",
    model=model_of({"diagnoser": _diagnose, "fixer": _patch, "scribe": _note}),
    menu=(),
    settings={
        **prompts(
            diagnoser=("You are the diagnoser. Name the module.", "Blame the last frame.", "", ""),
            fixer=("You are the fixer. Patch the file.", "Fix all tests at once.", "", "", ""),
            scribe=("You are the scribe. Write the notes.", "Call it a fix.", "Count the builds.", "", ""),
        ),
        "user.0": "Repair the build nightly.",
        "user.1": "",
        "code.fixer.show": "all",
        "code.fixer+scribe.builds": 3,
        **rows(
            "get_report",
            nightly={"trace": "at ports.py line 3\nat limits.py line 9", "host": "ci-4"},
            weekly={"trace": "at limits.py line 2\nat ports.py line 5", "host": "ci-4"},
        ),
        **rows(
            "read_module",
            limits={"source": "depth = 3; width = 8; retries = 2", "owner": "Mara"},
            ports={"source": "listen = 80; admin = 81", "owner": "Jon"},
        ),
        **rows(
            "list_tests",
            limits={
                "tests": [_test("t_depth", "depth", 7), _test("t_width", "width", 8), _test("t_retry", "retries", 6)]
            },
            ports={"tests": [_test("t_listen", "listen", 443), _test("t_admin", "admin", 81)]},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Repair the build weekly.", "Mend the build nightly."),
        edit("upstream", "user.1", "I suspect ports here.", "It is urgent."),
        edit("prompt", "prompt.diagnoser.1", "Blame the first frame."),
        edit("prompt", "prompt.diagnoser.2", "Read the trace twice.", decoy=True),
        wording("diagnoser", 3),
        edit("prompt", "prompt.fixer.1", "Fix one test at a time."),
        edit("prompt", "prompt.fixer.2", "Never touch retries.", "Never touch width."),
        edit("prompt", "prompt.fixer.3", "Keep the file tidy.", decoy=True),
        wording("fixer", 4),
        edit("model", "model.fixer.name", "m2"),
        edit("prompt", "prompt.scribe.1", "Call it a patch.", "Call it a hotfix."),
        edit("prompt", "prompt.scribe.2", "Skip the builds."),
        wording("scribe", 3),
        edit("model", "model.scribe.name", "m2", decoy=True),
        edit("upstream", "code.fixer.show", "last failure"),
        edit("upstream", "code.fixer+scribe.builds", 0),
        edit(
            "tool",
            "row.read_module.limits.source",
            "depth = 7; width = 8; retries = 2",
            "depth = 3; width = 4; retries = 2",
        ),
        edit("tool", "row.read_module.limits.owner", "Ines", decoy=True),
        edit("tool", "row.get_report.nightly.host", "ci-9", decoy=True),
        edit(
            "tool",
            "row.list_tests.limits.tests",
            [_test("t_depth", "depth", 7), _test("t_width", "width", 9), _test("t_retry", "retries", 6)],
            [_test("t_depth", "depth", 7), _test("t_width", "width", 8), _test("t_burst", "burst", 4)],
        ),
        *sampling("diagnoser", "fixer"),
    ),
)

# ---- river treaty: a chair calls delegates, each posts its demand and a remark to a board, code compares with the flow

_PARTIES: Final = ("north", "south", "coast")


def _chair(request: Request) -> str:
    posts = dict(re.findall(r"^(\w+) wants (\d+)", request.last, re.MULTILINE))
    order = request.rule(r"Begin with the (\w+)\.")
    parties = sorted(_PARTIES, key=lambda party: party != order)
    missing = [party for party in parties if party not in posts]
    if missing:
        return f"Next: {missing[0]}"
    ranked = sorted(parties, key=lambda party: -int(posts[party]))
    if request.model == "m2":
        ranked.reverse()
    return f"Next: {ranked[0]}"


def _speak(request: Request) -> str:
    party = request.rule(r"Speak for the (\w+)\.", "north")
    own = number(rf"^{party} wants (\d+)", request.last, -1)
    if own < 0:
        need = number(r"^Need: (\d+)", request.last)
        remark = "it is a dry year" if "Mention the drought." in request.system else "we share the river"
        return f"We want {need}, for {remark}."
    step = int(request.rule(r"Give way by (\d+)\.", "10"))
    if "dry year" in request.last:
        step *= 2
    floor = number(r"^Least: (\d+)", request.last)
    return f"We want {max(own - step, floor)}, and hope for peace."


def _draft(request: Request) -> str:
    shares = re.findall(r"^(\w+): (\d+) %$", request.last, re.MULTILINE)
    if not shares:
        return "There is nothing to sign."
    if "excess" in request.last:
        excess = number(r"excess (\d+)", request.last)
        return f"The talks failed with {excess} too much."
    unit = request.rule(r"Speak of (\w+)\.", "percent")
    law = request.rule(r"Cite the (\w+) pact\.", "old")
    talks = f" after {find(r'Talks: (.+)', request.last, '0')} talks" if "Count the talks." in request.system else ""
    terms = ", ".join(f"{party} {share} {unit}" for party, share in shares)
    return f"Agreed{talks} under the {law} pact: {terms}."


def _treaty(runtime: Runtime) -> str:
    settings = runtime.settings
    river = find(r"river (\w+)", user(settings), "Ard")
    flow = real(fields(runtime.tool("get_flow", {"river": river})).get("flow")) - real(settings["code.drafter.reserve"])
    board: dict[str, int] = {}
    remarks: list[str] = []
    talks = 0
    while talks < 7 and (len(board) < len(_PARTIES) or sum(board.values()) > flow):
        memory = [f"{party} wants {want}" for party, want in board.items()]
        if settings["code.north+south+coast.remarks"] == "shown":
            memory += remarks
        party = find(r"Next: (\w+)", say(runtime, "chair", "\n".join([user(settings), *memory])), "north")
        if party not in _PARTIES:
            break
        need = fields(runtime.tool("get_need", {"party": party}))
        brief = [f"Need: {need.get('need')}", f"Least: {need.get('least')}"]
        post = say(runtime, party, "\n".join([*brief, *memory]))
        board[party] = number(r"want (\d+)", post, board.get(party, 0))
        remarks.append(f"{party} said: {find(r', (?:for|and) (.+)', post, 'nothing')}")
        talks += 1
    total = max(sum(board.values()), 1)
    lines = [f"{party}: {round(100 * want / total)} %" for party, want in board.items()]
    result = [f"excess {total - flow:.0f}"] if total > flow else []
    return say(runtime, "drafter", "\n".join([*lines, *result, f"Talks: {talks}"]))


def _delegate(party: str) -> tuple[str, ...]:
    return "You are the delegate.", f"Speak for the {party}.", "Give way by 10.", "", ""


_TREATY: Final = Program(
    name="river treaty",
    group="board that delegates share",
    program=_treaty,
    final="drafter",
    model=model_of({"chair": _chair, "delegate": _speak, "drafter": _draft}),
    menu=(),
    settings={
        **prompts(
            chair=("You are the chair. Call a delegate.", "Begin with the north.", "", ""),
            north=_delegate("north"),
            south=_delegate("south"),
            coast=_delegate("coast"),
            drafter=("You are the drafter. Write the treaty.", "Count the talks.", "Cite the old pact.", "", ""),
        ),
        "user.0": "Share the river Ard.",
        "user.1": "",
        "code.drafter.reserve": 0,
        "code.north+south+coast.remarks": "shown",
        **rows("get_flow", Ard={"flow": 100, "gauge": "mill"}, Bel={"flow": 80, "gauge": "weir"}),
        **rows(
            "get_need",
            north={"need": 50, "least": 20, "crop": "oats"},
            south={"need": 45, "least": 25, "crop": "vines"},
            coast={"need": 30, "least": 15, "crop": "rice"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Share the river Bel.", "Divide the river Ard."),
        edit("upstream", "user.1", "Be fair to all.", "Be brief.", decoy=True),
        edit("prompt", "prompt.chair.1", "Begin with the coast.", "Begin with the south."),
        edit("prompt", "prompt.chair.2", "Chair with patience.", decoy=True),
        wording("chair", 3),
        edit("model", "model.chair.name", "m2"),
        edit("prompt", "prompt.north.2", "Give way by 4.", "Give way by 15."),
        edit("prompt", "prompt.north.3", "Mention the drought."),
        wording("north", 4),
        edit("prompt", "prompt.south.2", "Give way by 6."),
        edit("prompt", "prompt.south.3", "Speak of the vines.", decoy=True),
        wording("south", 4),
        edit("prompt", "prompt.coast.3", "Mention the drought.", "Mention the harbour."),
        wording("coast", 4),
        edit("prompt", "prompt.drafter.1", "Skip the talks."),
        edit("prompt", "prompt.drafter.2", "Cite the new pact.", "Cite the river pact."),
        edit("prompt", "prompt.drafter.3", "Speak of parts."),
        wording("drafter", 4),
        edit("upstream", "code.drafter.reserve", 10, 20),
        edit("upstream", "code.north+south+coast.remarks", "hidden", decoy=True),
        edit("tool", "row.get_flow.Ard.flow", 90, 130),
        edit("tool", "row.get_flow.Ard.gauge", "bridge", decoy=True),
        edit("tool", "row.get_need.north.need", 60, 42),
        edit("tool", "row.get_need.south.least", 40),
        edit("tool", "row.get_need.coast.need", 36),
        edit("tool", "row.get_need.coast.crop", "reed", decoy=True),
        *sampling("chair", "north", "coast"),
    ),
)

BOARDS: Final[tuple[Program, ...]] = (_RELEASE, _TREATY)
